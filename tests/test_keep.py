"""The verbs backup, restore and fsck, and the daily copies."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ringmaster.cli import run
from ringmaster.errors import StoreUnwritable
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.storage import copies
from ringmaster.storage.copies import DailyCopies
from ringmaster.storage.lock import competition_lock
from ringmaster.storage.store import Store
from tests.program import (
    CE_TUNER,
    CLOP_TUNER,
    MC_TUNER,
    PLAYOFF,
    SPSA,
    SWISS,
    TEXEL,
    environment,
    living_engines,
    ringmaster,
    shown,
    write_control_file,
)
from tests.recorded import CHESS, NOW, add, open_store, recorded, ticket, won, write

DAY = 86_400.0


@pytest.fixture
def control(tmp_path: Path) -> Path:
    games = [(ticket(number=n), won(f"0_{n}")) for n in range(6)]
    control = recorded(write(tmp_path), games)
    loaded = LoadedCompetition(control)
    with closing(Store.open(loaded.paths.status)) as store:
        loaded.restore(store, loaded.compare(store))
        with store.transaction() as transaction:
            transaction.save_state(loaded.competition.state())
    return control


def play_more(control: Path, *numbers: int) -> None:
    with closing(open_store(control)) as store:
        add(store, [(ticket(number=n), won(f"0_{n}")) for n in numbers])


def games(status: Path) -> list[str]:
    with closing(Store.open_readonly(status)) as store:
        return [game.result.id for game in store.games()]


def said(capsys: pytest.CaptureFixture[str], *words: str | Path, status: int = 0) -> str:
    assert run([str(word) for word in words]) == status, capsys.readouterr().err
    return capsys.readouterr().out


def damage(control: Path, statement: str) -> None:
    with closing(sqlite3.connect(control.with_suffix(".status"))) as connection:
        assert connection.execute(statement).rowcount
        connection.commit()


# backup and restore


def test_copy_is_put_back_and_the_former_file_is_kept(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = control.with_name("copy.status")
    assert said(capsys, control, "backup", copy) == f"6 recorded results: {copy}\n"
    play_more(control, 6, 7)
    answer = said(capsys, control, "restore", copy)
    assert answer.startswith("restored: 6 recorded results\n")
    assert len(games(control.with_suffix(".status"))) == 6
    (former,) = control.with_suffix(".backups").glob("before-restore-*.status")
    assert str(former) in answer
    assert len(games(former)) == 8


def test_wal_without_its_file_does_not_stay_beside_a_restored_copy(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, status = control.with_name("copy.status"), control.with_suffix(".status")
    said(capsys, control, "backup", copy)
    status.unlink()
    wal = Path(f"{status}-wal")
    wal.write_bytes(bytes(5000))
    said(capsys, control, "restore", copy)
    assert len(games(status)) == 6
    assert not wal.exists()
    (kept,) = control.with_suffix(".backups").glob("before-restore-*.status-wal")
    assert kept.read_bytes() == bytes(5000)


def test_copies_are_listed(control: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there are no copies" in said(capsys, control, "restore")
    said(capsys, control, "backup")
    play_more(control, 6)
    said(capsys, control, "backup")
    first, second = said(capsys, control, "restore").splitlines()
    assert first.split()[0] == "6"
    assert second.split()[0] == "7"


def test_copy_during_a_run_is_whole_and_nothing_is_put_back_or_repaired(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with competition_lock(control.with_suffix(".status")), closing(open_store(control)) as store:
        add(store, [(ticket(number=6), won("0_6"))])
        said(capsys, control, "backup")
        for verb in (["restore", str(control)], ["fsck"]):
            assert run([str(control), *verb]) == 1
            assert "is being run" in capsys.readouterr().err
    (copy,) = control.with_suffix(".backups").iterdir()
    assert len(games(copy)) == 7


@pytest.mark.parametrize("bad", ["missing", "text", "damaged"])
def test_bad_copy_is_refused_and_nothing_changes(
    control: Path, capsys: pytest.CaptureFixture[str], bad: str
) -> None:
    copy = control.with_name("copy.status")
    if bad == "text":
        copy.write_text("results")
    elif bad == "damaged":
        said(capsys, control, "backup", copy)
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("UPDATE results SET plies = 1 WHERE seq = 2")
            connection.commit()
    before = control.with_suffix(".status").read_bytes()
    assert run([str(control), "restore", str(copy)]) == 1
    assert control.with_suffix(".status").read_bytes() == before


def test_backup_never_writes_over_a_file(control: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(control), "backup", str(control)]) == 1
    assert "exists already" in capsys.readouterr().err


# daily copies


def test_one_copy_a_day_is_kept_of_the_last_three(control: Path) -> None:
    status = control.with_suffix(".status")
    now = [float(NOW)]
    with closing(Store.open(status)) as store:
        daily = DailyCopies(store._connection, status, pytest.fail, lambda: now[0])
        for day in range(5):
            now[0] = NOW + day * DAY
            for _ in range(3):
                daily.write_if_due()
    kept = sorted(copies.folder_of(status).iterdir())
    days = [time.strftime("%Y%m%d", time.localtime(NOW + day * DAY)) for day in (2, 3, 4)]
    assert [path.name for path in kept] == [f"daily-{day}.status" for day in days]
    assert all(len(games(path)) == 6 for path in kept)


def test_copy_that_fails_is_a_warning_once_a_day(
    control: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = control.with_suffix(".status")

    def full(*_: object) -> None:
        raise StoreUnwritable("cannot write the copy: No space left on device")

    monkeypatch.setattr(copies, "write_copy", full)
    warnings: list[str] = []
    with closing(Store.open(status)) as store:
        daily = DailyCopies(store._connection, status, warnings.append)
        daily.write_if_due()
        daily.write_if_due()
    (warning,) = warnings
    assert "No space left" in warning


def test_reset_leaves_the_copies(control: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, control, "backup")
    said(capsys, control, "reset", "--yes")
    assert not control.with_suffix(".status").exists()
    (copy,) = control.with_suffix(".backups").iterdir()
    said(capsys, control, "restore", copy)
    assert len(games(control.with_suffix(".status"))) == 6


# fsck


def test_sound_file_is_left_as_it_is(control: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, control, "fsck")
    assert said(capsys, control, "fsck").splitlines()[:2] == [
        "event.status: 6 recorded results, sound",
        "event.hist: complete",
    ]
    assert not control.with_suffix(".backups").exists()


def test_damaged_result_is_left_out_and_the_file_is_kept(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = control.with_suffix(".status")
    damage(control, "UPDATE results SET plies = 1 WHERE seq = 2")
    damaged = status.read_bytes()
    answer = said(capsys, control, "fsck")
    assert "results: damaged at row 2" in answer
    assert "repaired: 5 results are whole" in answer
    assert "lost: 1 result (in the stored state: 1)" in answer
    (former,) = control.with_suffix(".backups").glob("damaged-*.status")
    assert former.read_bytes() == damaged
    assert games(status) == ["0_0", "0_2", "0_3", "0_4", "0_5"]
    assert "6/10 games" in said(capsys, control, "show")


@pytest.mark.parametrize(
    ("column", "status", "issued", "told"),
    [
        ("plies = 1", 0, ["0_6"], "lost: 1 result (to be played again: 1)\n"),
        ("ticket = '{'", 1, [], "lost: 1 result\na tune cannot go on without 1 result"),
    ],
)
def test_damaged_result_after_the_state_is_played_again_if_its_ticket_is_whole(
    control: Path,
    capsys: pytest.CaptureFixture[str],
    column: str,
    status: int,
    issued: list[str],
    told: str,
) -> None:
    play_more(control, 6, 7)
    damage(control, f"UPDATE results SET {column} WHERE seq = 7")
    answer = said(capsys, control, "fsck", status=status)
    assert all(line in answer for line in told.splitlines())
    with closing(Store.open_readonly(control.with_suffix(".status"))) as store:
        assert [issue.game_id for issue in store.issues()] == issued


def test_damaged_state_is_rebuilt_from_the_results(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = said(capsys, control, "show")
    damage(control, "UPDATE state SET data = replace(data, '6', '7')")
    assert run([str(control), "show"]) == 1
    assert "ringmaster event.ctl fsck" in capsys.readouterr().err
    assert "the state is rebuilt from the results" in said(capsys, control, "fsck")
    assert said(capsys, control, "show") == before


def test_history_with_missing_lines_is_written_anew(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, control, "fsck")
    hist = control.with_suffix(".hist")
    lines = hist.read_text().splitlines(keepends=True)
    assert len(lines) == 6
    hist.write_text("".join(lines[:3]) + "a note of mine\n" + lines[5])
    assert "event.hist: it lacked 2 lines and is written anew" in said(capsys, control, "fsck")
    assert hist.read_text() == "".join(lines)
    (former,) = control.parent.glob("event.hist.*")
    assert "a note of mine" in former.read_text()


def test_lines_of_the_history_may_have_another_order_and_stand_between_others(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, control, "fsck")
    hist = control.with_suffix(".hist")
    lines = hist.read_text().splitlines(keepends=True)
    hist.write_text("a tree\n" * 9 + "".join(lines[::-1]) + "a note of mine\n" + lines[0])
    assert "event.hist: complete" in said(capsys, control, "fsck")
    hist.write_text("".join([*lines[::-1], lines[1]]).replace(lines[0], "a note\n"))
    assert "event.hist: it lacked 1 line and" in said(capsys, control, "fsck")


def test_missing_records_of_games_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = CHESS.replace('game = "chess"', 'game = "chess"\nrecord_files = "single"')
    games = [(ticket(number=n), won(f"0_{n}")) for n in range(3)]
    control = recorded(write(tmp_path, source), games)
    assert "no record of game 0_0 and 2 more" in said(capsys, control, "fsck")
    control.with_suffix(".games").mkdir()
    control.with_suffix(".games").joinpath("0_0.pgn").touch()
    assert "no record of game 0_1 and 1 more" in said(capsys, control, "fsck")
    for n in (1, 2):
        control.with_suffix(".games").joinpath(f"0_{n}.pgn").touch()
    assert "event.games: complete" in said(capsys, control, "fsck")


#: Checks two competitions, the first to import modules, and prints the peak of the second.
MEASURED = """
import sys, tracemalloc
from ringmaster.cli import run
run([sys.argv[1], "fsck"])
tracemalloc.start()
run([sys.argv[2], "fsck"])
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_damaged", [False, True])
def test_memory_of_a_check_does_not_grow_with_the_games(tmp_path: Path, is_damaged: bool) -> None:
    def checked(name: str, games: int) -> str:
        folder = tmp_path / name
        folder.mkdir()
        played = ((ticket(number=n), won(f"0_{n}")) for n in range(games))
        control = recorded(write(folder), played)
        run([str(control), "fsck"])
        if is_damaged:
            damage(control, "UPDATE results SET plies = 1 WHERE seq = 2")
        return str(control)

    def peak(name: str, games: int) -> int:
        words = [
            sys.executable,
            "-c",
            MEASURED,
            checked(f"first {name}", 100),
            checked(name, games),
        ]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), check=True)
        return int(done.stdout.splitlines()[-1])

    # results that are kept would take 15 MB
    assert peak("many", 11_000) < peak("few", 1000) + 2_000_000


@pytest.mark.parametrize("verb", ["report", "export"])
def test_ticket_before_the_state_that_cannot_be_read_is_a_damaged_file(
    control: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    with closing(open_store(control)) as store:
        add(store, [({"m": [], "i": 6}, won("0_6"))])
        with store.transaction() as transaction:
            snapshot = store.snapshot()
            assert snapshot is not None
            transaction.save_state(snapshot[1])
    assert run([str(control), verb]) == 1
    assert "is damaged: a game's ticket cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_any_damage_is_refused_by_a_run_and_repaired_or_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int, is_cut: bool
) -> None:
    played = [(ticket(number=n), won(f"0_{n}", detail="d" * 200)) for n in range(60)]
    control = recorded(write(tmp_path), played)
    status = control.with_suffix(".status")
    rng = random.Random(seed)
    data = bytearray(status.read_bytes())
    start = rng.randrange(4096 if is_cut else 100, len(data))
    if is_cut:
        del data[start:]
    else:
        damaged = rng.randbytes(rng.choice([1, 16, 512, 4096]))
        data[start : start + len(damaged)] = damaged[: len(data) - start]
    changed = bytes(data) != status.read_bytes()
    status.write_bytes(data)
    assert run([str(control), "show"]) in (0, 1)
    capsys.readouterr()
    repaired = run([str(control), "fsck"])
    assert repaired in (0, 1), capsys.readouterr().err
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    if "repaired" in told.out or "sound" in told.out:
        there = games(status)
        assert len(set(there)) == len(there)
        assert set(there) <= {f"0_{n}" for n in range(60)}
        assert "event.status: " in said(capsys, control, "fsck")
    else:
        assert "is damaged" in told.err or "is not a status file" in told.err
    assert changed or "sound" in told.out


SOURCES = [PLAYOFF, SPSA, SWISS, MC_TUNER, CE_TUNER, CLOP_TUNER, TEXEL]


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.split('"')[1])
@pytest.mark.parametrize("lost", ["state", "results"])
def test_every_competition_goes_on_after_a_repair(tmp_path: Path, source: str, lost: str) -> None:
    if (source, lost) == (TEXEL, "results"):
        pytest.skip("without its state and a result, a texel tune needs a copy")
    total = {TEXEL: 20, SWISS: 600}.get(source, 100)
    control = write_control_file(tmp_path, source, total)
    assert ringmaster(control, "-q", "-g", "40").returncode == 0
    before = shown(control)
    statements: Sequence[str] = {
        "state": ["UPDATE state SET data = data || ' '"],
        "results": [
            "UPDATE state SET data = data || ' '",
            "UPDATE results SET detail = detail || ' ' WHERE seq % 7 = 5",
        ],
    }[lost]
    for statement in statements:
        damage(control, statement)
    answer = ringmaster(control, "fsck")
    if (source, lost) in ((TEXEL, "state"), (SWISS, "results")):
        # the scores of a pass are deleted; a round follows from the results before it
        assert answer.returncode == 1
        assert "the state cannot be rebuilt" in answer.stderr
        assert "ringmaster event.ctl restore" in answer.stderr
        return
    assert answer.returncode == 0, answer.stderr + answer.stdout
    assert "the state is rebuilt" in answer.stdout
    if lost == "state":
        assert shown(control)["games"] == before["games"]
        assert shown(control)["verdict"] == before["verdict"]
    done = ringmaster(control, "-q")
    assert done.returncode == 0, done.stderr
    games = shown(control)["games"]
    assert games["total"] in (games["completed"], None)
    assert os.path.exists(control.with_suffix(".report"))
    assert living_engines(control) == []
