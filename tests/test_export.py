"""`export`: formats, outputs and errors."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import ringmaster
from ringmaster.cli import run
from ringmaster.errors import OBEYED, visible
from ringmaster.export.result_files import export_results
from ringmaster.model.results import EngineUsage
from ringmaster.results import Game, Results
from ringmaster.storage.entries import PendingRecord
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.records import GameRecords
from tests.program import PLAYOFF, environment, write_control_file
from tests.program import ringmaster as run_ringmaster
from tests.recorded import GO, SHOGI, TUNE, add, open_store, recorded, ticket, won, write
from tests.test_results import histories

HOSTILE = 'it said "1,2"\r\nthen\n\r=HYPERLINK("x")\0\x1b[2Jé\u2028end'

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def control(tmp_path: Path) -> Path:
    """A playoff of three results, one of them void."""
    void = won("0_1", outcome="void", winner=None, score="*", reason="crash", faulty=0)
    history = [
        (ticket("0", 0, pair=0), won("0_0", detail=HOSTILE, builds=(2, 1))),
        (ticket("0", 1, pair=0), void),
        (ticket("0", 1, pair=0), won("0_1", 1, attempt=1, reason="time", forfeit=True, faulty=0)),
    ]
    return recorded(write(tmp_path), history)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def export(control: Path, *arguments: str) -> Path:
    """Export to a file beside the control file; returns it."""
    target = control.parent / "out"
    assert run([str(control), "export", "--output", str(target), *arguments]) == 0
    return target


def test_csv_has_a_row_a_game_and_all_that_is_known_of_it(control: Path) -> None:
    data = export(control).read_bytes()
    assert data.startswith(b"game_id,attempt,matchup,player_1,player_2,colour_1,colour_2,winner,")
    first, second = rows_of(data.decode())
    assert first == {
        "game_id": "0_0",
        "attempt": "0",
        "matchup": "0",
        "player_1": "a",
        "player_2": "b",
        "colour_1": "white",
        "colour_2": "black",
        "winner": "a",
        "outcome": "win",
        "score": "1-0",
        "reason": "mate",
        "detail": visible(HOSTILE),
        "forfeit": "false",
        "faulty": "",
        "opening": "book.epd:1",
        "level": "",
        "plies": "31",
        "seconds": "11.5",
        "finished": "2023-11-14T22:13:20Z",
        "record": "",
        "name_1": "Alpha 1",
        "cpu_time_1": "1.5",
        "thinking_1": "6.0",
        "slowest_1": "0.75",
        "peak_memory_1": "23000000",
        "build_1": "2",
        "disputed_1": "false",
        "name_2": "Beta",
        "cpu_time_2": "",
        "thinking_2": "5.5",
        "slowest_2": "0.5",
        "peak_memory_2": "",
        "build_2": "1",
        "disputed_2": "false",
        "host": "",
        "host_speed": "",
        "host_load": "",
    }
    assert (second["player_1"], second["player_2"], second["winner"]) == ("b", "a", "a")
    assert (second["attempt"], second["forfeit"], second["faulty"]) == ("1", "true", "b")


def test_games_of_go_have_their_level_and_who_disputed_the_score(tmp_path: Path) -> None:
    source = GO.replace("handicap=2", "handicap_ladder=True")
    disputing = (EngineUsage(), EngineUsage(disputed=True))
    history = [
        (ticket() | {"h": "a Black, 2 stones"}, won("0_0", usage=disputing)),
        (ticket(number=1) | {"h": "even, komi 6.5"}, won("0_1")),
    ]
    rows = rows_of(export(recorded(write(tmp_path, source), history)).read_text())
    assert [(row["level"], row["disputed_1"], row["disputed_2"]) for row in rows] == [
        ("a Black, 2 stones", "false", "true"),
        ("even, komi 6.5", "false", "false"),
    ]


def test_void_games_are_exported_on_request(control: Path) -> None:
    rows = rows_of(export(control, "--void").read_bytes().decode())
    assert [(row["game_id"], row["attempt"], row["outcome"]) for row in rows] == [
        ("0_0", "0", "win"),
        ("0_1", "0", "void"),
        ("0_1", "1", "win"),
    ]


def test_json_lines_have_the_columns_of_csv(tmp_path: Path) -> None:
    moves = {"k": 1, "p": [1.5, 2], "m": [0.5, 1]}
    history = [({**moves, "g": 0}, won("1a")), ({**moves, "g": 1}, won("1b", detail=HOSTILE))]
    control = recorded(write(tmp_path, TUNE), history)
    lines = export(control, "--format", "jsonl").read_bytes().split(b"\n")
    first, second = (json.loads(line) for line in lines[:2])
    assert lines[2:] == [b""]
    assert (first["param_1.x"], first["param_2.n"], second["param_1.x"]) == (1.5, 1, 0.5)
    assert (second["detail"], second["cpu_time_2"], second["forfeit"]) == (HOSTILE, None, False)
    (row, _) = rows_of(export(control).read_bytes().decode())
    assert list(row) == list(first)
    assert (row["param_1.x"], row["param_1.n"], row["param_2.n"]) == ("1.5", "2", "1")


#: Text as a spreadsheet, a terminal and an editor might obey it, and its cell.
CELLS = {
    "=HYPERLINK(1)": "'=HYPERLINK(1)",
    "+cmd": "'+cmd",
    "-a-b": "'-a-b",
    "@SUM(A1)": "'@SUM(A1)",
    "\t=1": "'\t=1",
    "\r=1": "\\x0d=1",
    "－1": "'－1",
    "-12": "-12",
    "+1.5e3": "+1.5e3",
    "1-0": "1-0",
    "Großer Gegner 技": "Großer Gegner 技",
    "two\nlines": "two\nlines",
    "\x1b]0;pwn\x07\0\x7f\x9b": "\\x1b]0;pwn\\x07\\x00\\x7f\\x9b",
    "\u202egnp\u2069\u200f\u061c\u2028": "\\u202egnp\\u2069\\u200f\\u061c\\u2028",
}


def test_text_is_nothing_that_is_obeyed_unless_raw(tmp_path: Path) -> None:
    history = [
        (ticket("0", number), won(f"0_{number}", detail=text)) for number, text in enumerate(CELLS)
    ]
    control = recorded(write(tmp_path), history)
    rows = rows_of(export(control).read_bytes().decode())
    assert [row["detail"] for row in rows] == list(CELLS.values())
    rows = rows_of(export(control, "--raw").read_bytes().decode())
    assert [row["detail"] for row in rows] == list(CELLS)
    text = export(control, "--format", "jsonl").read_bytes().decode()
    assert not re.search(f"[{OBEYED}]", text)
    assert "Großer Gegner 技" in text
    assert [json.loads(line)["detail"] for line in text.split("\n")[:-1]] == list(CELLS)
    text = export(control, "--format", "jsonl", "--raw").read_bytes().decode()
    assert "\u202egnp" in text
    assert [json.loads(line)["detail"] for line in text.split("\n")[:-1]] == list(CELLS)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_every_recorded_result_can_be_read_back(history: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        control = recorded(write(Path(folder)), history)
        rows = list(ringmaster.load(control).iter_rows(void=True))
        lines = export(control, "--format", "jsonl", "--void").read_text().split("\n")[:-1]
        table = rows_of(export(control, "--void", "--raw").read_bytes().decode())
    assert [json.loads(line) for line in lines] == rows
    assert len(table) == len(rows) == len(history)
    for cells, row in zip(table, rows, strict=True):
        for name, value in row.items():
            if isinstance(value, bool):
                assert cells[name] == ("true" if value else "false")
            elif value is None:
                assert cells[name] == ""
            else:
                assert type(value)(cells[name]) == value


def test_file_name_tells_the_format(control: Path) -> None:
    for name in ("a.jsonl", "a.JSONL", "a.csv", "a.txt"):
        assert run([str(control), "export", "-o", str(control.parent / name)]) == 0
    texts = [(control.parent / name).read_bytes().decode() for name in ("a.jsonl", "a.txt")]
    assert texts[0] == (control.parent / "a.JSONL").read_bytes().decode()
    assert texts[1] == (control.parent / "a.csv").read_bytes().decode()
    assert [text[0] for text in texts] == ["{", "g"]


def test_competition_without_games_exports_a_header_only(tmp_path: Path, capfd: Captured) -> None:
    control = write(tmp_path)
    assert run([str(control), "export"]) == 0
    (header,) = capfd.readouterr().out.splitlines()
    assert header.endswith("host_load")
    for format in ("jsonl", "pgn"):
        assert run([str(control), "export", "--format", format]) == 0
    assert capfd.readouterr() == ("", "")
    assert os.listdir(tmp_path) == ["event.ctl"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["export", "--format", "xlsx"], "choose from csv, jsonl, pgn, sgf"),
        (["export", "--format", "sgf"], "did you mean --format pgn?"),
        (["export", "-o", "event.status"], "belongs to the competition itself"),
        (["export", "-o", "event.games/0_0.pgn"], "belongs to the competition itself"),
        (["export", "-o", "link"], "belongs to the competition itself"),
        (["export", "-o", "hard"], "belongs to the competition itself"),
        (["export", "-o", "other.ctl"], "would be mistaken for a .ctl file"),
        (["export", "-o", "OTHER.CTL"], "would be mistaken for a .ctl file"),
        (["export", "-o", "other.tree.jsonl"], "would be mistaken for a .tree.jsonl file"),
    ],
)
def test_impossible_export_is_refused_and_writes_nothing(
    control: Path,
    capfd: Captured,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    expected: str,
) -> None:
    folder = control.parent
    monkeypatch.chdir(folder)
    (folder / "link").symlink_to("event.log")
    os.link(folder / "event.status", folder / "hard")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert run(["event.ctl", *arguments]) == 2
    captured = capfd.readouterr()
    assert expected in captured.err
    assert captured.out == ""
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_folder_as_status_file_is_reported(tmp_path: Path, capfd: Captured) -> None:
    control = write(tmp_path)
    (tmp_path / "event.status").mkdir()
    assert run([str(control), "export"]) == 1
    assert "event.status: it is a folder" in capfd.readouterr().err


@pytest.mark.parametrize("tampered", [{}, {"m": []}, {"m": "0", "i": "x", "b": 7}, {"m": None}])
def test_ticket_that_ringmaster_has_not_written_is_a_damaged_file(
    tmp_path: Path, capfd: Captured, tampered: dict[str, Any]
) -> None:
    control = recorded(write(tmp_path), [(tampered, won("0_0"))])
    assert run([str(control), "export"]) == 1
    assert "event.status is damaged: a game's ticket cannot be read" in capfd.readouterr().err


def test_failed_export_leaves_the_old_file(control: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = export(control)
    before = sorted(os.listdir(control.parent))
    target.write_text("precious")

    def fail(self: Results, void: bool) -> Iterator[Game]:
        raise RuntimeError("told to fail")
        yield

    monkeypatch.setattr(Results, "_recorded", fail)
    with pytest.raises(RuntimeError, match="told to fail"):
        export_results(ringmaster.load(control), "csv", target)
    assert target.read_text() == "precious"
    assert sorted(os.listdir(control.parent)) == before


def test_file_that_is_replaced_keeps_its_mode(control: Path) -> None:
    out = control.parent / "out"
    out.write_text("old")
    out.chmod(0o600)
    assert export(control).read_text().startswith("game_id,")
    assert out.stat().st_mode & 0o777 == 0o600


def test_link_is_not_followed(control: Path, capfd: Captured) -> None:
    real = control.parent / "real.csv"
    real.write_text("old")
    (control.parent / "out").symlink_to("real.csv")
    assert run([str(control), "export", "--output", str(control.parent / "out")]) == 1
    assert "it is a symbolic link, which is not followed" in capfd.readouterr().err
    assert real.read_text() == "old"


def test_device_stays_a_device(control: Path) -> None:
    assert run([str(control), "export", "-o", "/dev/null"]) == 0
    assert not Path("/dev/null").is_file()


def test_output_that_cannot_be_written_is_an_error(control: Path, capfd: Captured) -> None:
    folder = control.parent
    for target in ("/dev/full", folder, folder / "none" / "out.csv"):
        assert run([str(control), "export", "-o", str(target)]) == 1
        message = capfd.readouterr().err
        assert message.startswith(f"ringmaster: cannot write {target}: ")
        assert len(message.splitlines()) == 1


@pytest.mark.process
def test_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    history = [(ticket("0", n), won(f"0_{n}", detail="x" * 500)) for n in range(1000)]
    control = recorded(write(tmp_path), history)
    for format in ("csv", "jsonl"):
        process = subprocess.Popen(
            [sys.executable, "-m", "ringmaster", str(control), "export", "--format", format],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait() == 0


def test_records_come_in_the_order_of_finishing_and_missing_ones_are_counted(
    control: Path, capfd: Captured
) -> None:
    store = open_store(control)
    history = [(ticket("0", n), won(f"0_{n}")) for n in (5, 4, 3, 2)]
    add(store, history)
    with store.transaction() as transaction:
        transaction.add_pending(PendingRecord("event.games", "0_2.pgn", "waiting é\n\n"))
    store.close()
    for folder, name in (
        ("games", "0_0"),
        ("void", "0_1_0"),
        ("games", "0_1"),
        ("games", "0_4"),
        ("games", "0_5"),
    ):
        path = control.with_suffix(f".{folder}") / f"{name}.pgn"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'\ufeff[Round "{name}"]\r\n\r\n*\n\n\n', newline="")

    def game(name: str) -> bytes:
        return f'[Round "{name}"]\r\n\r\n*\n\n'.encode()

    data = export(control, "--format", "pgn").read_bytes()
    message = capfd.readouterr().err
    assert data == game("0_0") + game("0_1") + game("0_5") + game("0_4") + "waiting é\n\n".encode()
    folder = control.with_suffix(".games")
    assert message == f"ringmaster: 1 of 6 game records are not in {folder} and were left out\n"
    data = export(control, "--format", "pgn", "--void").read_bytes()
    assert data.count(b"[Round") == 5
    assert game("0_0") + game("0_1_0") + game("0_1") in data
    assert "1 of 7 game records" in capfd.readouterr().err


def test_record_that_cannot_be_read_is_an_error(control: Path, capfd: Captured) -> None:
    (control.with_suffix(".games") / "0_0.pgn").mkdir(parents=True)
    target = control.parent / "out.pgn"
    assert run([str(control), "export", "-o", str(target)]) == 1
    assert "cannot read" in capfd.readouterr().err
    assert not target.exists()


def test_go_records_make_a_collection(tmp_path: Path) -> None:
    from sgfmill import sgf, sgf_grammar

    history = [(ticket("0", n), won(f"0_{n}", score=f"B+{n}.5")) for n in range(2)]
    control = recorded(write(tmp_path, GO), history)
    control.with_suffix(".games").mkdir()
    for n in range(2):
        path = control.with_suffix(".games") / f"0_{n}.sgf"
        path.write_text(f"(;FF[4]GM[1]SZ[9]RE[B+{n}.5];B[aa];W[bb])\n")
    data = export(control, "--format", "sgf").read_bytes()
    trees = sgf_grammar.parse_sgf_collection(data)
    games = [sgf.Sgf_game.from_coarse_game_tree(tree) for tree in trees]
    assert [game.get_root().get("RE") for game in games] == ["B+0.5", "B+1.5"]
    assert run([str(control), "export", "--format", "pgn"]) == 2


def test_shogi_records_of_each_format_make_a_file_and_the_others_are_counted(
    tmp_path: Path, capfd: Captured
) -> None:
    from rsshogi.record import Record

    from ringmaster.formats.shogi_records import write_csa, write_kif
    from tests.formats.shogi_records import make_record

    control = write(tmp_path, SHOGI)
    store = open_store(control)
    add(store, [(ticket("0", n), won(f"0_{n}")) for n in range(4)])
    record = make_record(["7g7f", "3c3d"], score="0-1", reason="resignation")
    with store.transaction() as transaction:
        waiting = PendingRecord("event.games", "0_3.kifu", write_kif(record))
        transaction.add_pending(waiting)
    store.close()
    folder = control.with_suffix(".games")
    folder.mkdir()
    (folder / "0_0.csa").write_text(write_csa(record))
    (folder / "0_1.kifu").write_text(write_kif(record))
    (folder / "0_2.csa").write_text(write_csa(record))
    names = [game.record_name for game in ringmaster.load(control).games]
    assert names[:3] == ["event.games/0_0.csa", "event.games/0_1.kifu", "event.games/0_2.csa"]
    text = export(control, "--format", "csa").read_text()
    assert text == f"{write_csa(record)}/\n{write_csa(record)}"
    assert [len(each.moves) for each in Record.from_csa_games_str(text)] == [2, 2]
    assert capfd.readouterr().err == (
        "ringmaster: 2 of 4 game records are in kif, not csa, and were left out; "
        "--format kif has them\n"
    )
    target = control.parent / "all.kifu"
    assert run([str(control), "export", "-o", str(target)]) == 0
    assert target.read_text() == f"{write_kif(record)}\n" * 2
    assert "2 of 4 game records are in csa, not kif" in capfd.readouterr().err
    assert run([str(control), "export", "--format", "pgn"]) == 2
    assert "did you mean --format csa?" in capfd.readouterr().err


#: What an engine may say to pass for the beginning or the end of a record.
FALSE_STARTS = (
    '[Event "x"]\n[GameId "0_1"]\n\n1. e4 *\n',
    "(;FF[4]GM[1]\nGN[0_1]\n;B[aa])",
    "'CSA encoding=UTF-8\nV2.2\n'game 0_1\n/\ngame 0_1\n%TORYO",
    "#KIF version=2.0 encoding=UTF-8\n*game 0_1\ngame 0_1",
    " /\n\r\n/\r*game 0_1\u2028#KIF \u2028/",
)


def _written(format: str, game_id: str, comment: str) -> str:
    from ringmaster.formats.pgn_writer import write_pgn
    from ringmaster.formats.sgf import write_sgf
    from ringmaster.formats.shogi_records import write_csa, write_kif
    from ringmaster.model.jobs import GameSettings
    from ringmaster.model.results import MoveRecord
    from tests.formats.shogi_records import make_record

    write, game, move = {
        "pgn": (write_pgn, "chess", "e2e4"),
        "sgf": (write_sgf, "go", "A1"),
        "csa": (write_csa, "shogi", "7g7f"),
        "kif": (write_kif, "shogi", "7g7f"),
    }[format]
    settings = GameSettings(game=game)  # type: ignore[arg-type]
    moves = [MoveRecord(move, 0, comment=comment)]
    names = (comment, comment)
    return write(make_record(moves, game_id=game_id, settings=settings, names=names))


@pytest.mark.parametrize(
    ("format", "source"), [("pgn", None), ("sgf", GO), ("csa", SHOGI), ("kif", SHOGI)]
)
def test_collected_file_stands_in_for_files_that_are_not_there(
    tmp_path: Path, capfd: Captured, format: str, source: str | None
) -> None:
    control = write(tmp_path) if source is None else write(tmp_path, source)
    store = open_store(control)
    suffix = "kifu" if format == "kif" else format
    records = GameRecords(store, OutputPaths(control), "both", lambda line: None)
    texts = {}
    for n, comment in enumerate(FALSE_STARTS):
        add(store, [(ticket("0", n), won(f"0_{n}"))])
        text = texts[f"0_{n}"] = _written(format, f"0_{n}", comment)
        pending = PendingRecord("event.games", f"0_{n}.{suffix}", text)
        with store.transaction() as transaction:
            pending = transaction.add_pending(pending)
        records.write([pending])
    records.finish()
    records.close()
    store.close()
    singles = control.with_suffix(".games")
    for n in range(len(FALSE_STARTS)):
        assert (singles / f"0_{n}.{suffix}").read_text() == texts[f"0_{n}"]
    whole = export(control, "--format", format).read_bytes()
    shutil.rmtree(singles)
    assert export(control, "--format", format).read_bytes() == whole
    assert capfd.readouterr().err == ""
    # a game that neither has
    store = open_store(control)
    add(store, [(ticket("0", 9), won("0_9"))])
    store.close()
    assert export(control, "--format", format).read_bytes() == whole
    collected = control.with_suffix(f".games.{suffix}")
    assert f"1 of 6 game records are not in {singles} or {collected}" in capfd.readouterr().err


def test_file_of_a_game_goes_before_its_part_of_the_collected_file(control: Path) -> None:
    control.with_suffix(".games").mkdir()
    (control.with_suffix(".games") / "0_0.pgn").write_text(
        '[Event "single"]\n[GameId "0_0"]\n\n*\n'
    )
    control.with_suffix(".games.pgn").write_text(
        '[Event "old"]\n[GameId "0_1"]\n\n*\n\n[Event "collected"]\r\n[GameId "0_0"]\n\n*\n\n'
        '[Event "collected"]\r\n[GameId "0_1"]\r\n\r\n*\r\n'
    )
    data = export(control, "--format", "pgn").read_text()
    assert data.split("\n\n")[:4:2] == [
        '[Event "single"]\n[GameId "0_0"]',
        '[Event "collected"]\n[GameId "0_1"]',
    ]


@pytest.mark.slow
@pytest.mark.process
def test_games_that_were_really_played_can_be_read_from_one_file(tmp_path: Path) -> None:
    import chess.pgn

    control = write_control_file(tmp_path, PLAYOFF, 4)
    assert run_ringmaster(control, "-q", "-j", "2").returncode == 0
    done = run_ringmaster(control, "export", "--format", "pgn")
    assert done.stderr == ""
    games = []
    stream = io.StringIO(done.stdout)
    while (game := chess.pgn.read_game(stream)) is not None:
        assert game.errors == []
        games.append(game)
    rows = rows_of(run_ringmaster(control, "export").stdout)
    assert [row["game_id"] for row in rows] == [game.headers["GameId"] for game in games]
    assert [row["score"] for row in rows] == [game.headers["Result"] for game in games]
    assert len(rows) == 12
    for row in rows:
        assert (tmp_path / row["record"]).is_file()
        assert float(row["cpu_time_1"]) >= 0
