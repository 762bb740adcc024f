"""`positions`: labelled positions from a competition's games, and statistics of a set."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chess
import pytest

from ringmaster.cli import REPORTED, USAGE, run
from ringmaster.formats.pgn_writer import write_pgn
from ringmaster.formats.shogi_records import write_csa, write_kif
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import GameRecord, MoveRecord
from tests.formats.shogi_records import make_record, random_game
from tests.recorded import GO, SHOGI, recorded, ticket, won, write

GAMES = 12


def chess_record(number: int, scored: bool = True) -> GameRecord:
    """Return a game of random moves; each has its ply as its score."""
    rng, board = random.Random(number), chess.Board()
    while len(board.move_stack) < 60 and any(board.legal_moves):
        board.push(rng.choice(list(board.legal_moves)))
    moves = tuple(
        MoveRecord(move.uci(), i % 2, score=i if scored else None, depth=3)
        for i, move in enumerate(board.move_stack)
    )
    return GameRecord(
        game_id=f"0_{number}",
        event="event",
        date="2024-03-09",
        codes=("a", "b"),
        names=("A", "B"),
        settings=GameSettings("chess"),
        opening=Opening(None, tuple(move.move for move in moves[:2])),
        moves=moves,
        score=score_of(number),
        reason="mate",
    )


def score_of(number: int) -> str:
    return ("1-0", "0-1", "1/2-1/2")[number % 3]


def event(folder: Path, *, missing: Sequence[int] = (), scored: bool = True) -> Path:
    """Return a played match: its games 10 and 11 are a forfeit and a void game."""
    control = write(folder)
    results = []
    for number in range(GAMES):
        fields: dict[str, Any] = {"score": score_of(number)}
        if number == 10:
            fields |= {"reason": "time", "forfeit": True}
        elif number == 11:
            fields |= {"outcome": "void", "score": "*"}
        elif number % 3 == 2:
            fields |= {"outcome": "draw"}
        winner = number % 3 if fields.get("outcome") is None else None
        result = won(f"0_{number}", winner, **fields)
        results.append((ticket("0", number), result))
    recorded(control, results)
    games = folder / "event.games"
    games.mkdir()
    for number in range(GAMES - 1):
        if number not in missing:
            text = write_pgn(chess_record(number, scored))
            (games / f"0_{number}.pgn").write_text(text)
    return control


@pytest.fixture
def control(tmp_path: Path) -> Path:
    return event(tmp_path)


def words(out: str) -> list[str]:
    """Return the lines of a report with single spaces."""
    return [" ".join(line.split()) for line in out.splitlines()]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_the_games_that_count_become_a_set_beside_the_control_file(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(control), "positions"]) == 0
    out, err = capsys.readouterr()
    target = control.with_name("event.positions.plain")
    assert err == f"ringmaster: wrote 100 positions to {target}\n"
    assert words(out)[:3] == ["games", "used 10", "left out: lost by a fault or on time 1"]
    assert "positions 100" in words(out)
    assert "mean result of White by score, all and by who is to move" in words(out)
    for block in target.read_text().split("\ne\n")[:-1]:
        fields = dict(line.split(" ", 1) for line in block.split("\n"))
        ply = int(fields["ply"])
        assert ply >= 8
        # each move's score is its ply, from the mover's view
        assert int(fields["score"]) == ply
        assert chess.Board(fields["fen"]).is_legal(chess.Move.from_uci(fields["move"]))


def test_the_same_seed_gives_the_same_set_and_another_a_different_one(control: Path) -> None:
    texts = []
    for name, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        path = control.with_name(f"{name}.epd")
        assert run([str(control), "positions", "-q", "-o", str(path), "--seed", seed]) == 0
        texts.append(path.read_text())
    assert texts[0] == texts[1] != texts[2]
    assert 'id "0_3";' in texts[0]


def test_most_takes_a_random_part_of_the_whole(control: Path, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.bar", tmp_path / "part.bar"
    assert run([str(control), "positions", "-q", "-o", str(whole)]) == 0
    assert run([str(control), "positions", "-q", "-o", str(part), "--most", "30"]) == 0
    assert len(lines(part)) == 30
    assert set(lines(part)) < set(lines(whole))
    assert run([str(control), "positions", "-q", "-o", str(part), "--most", "1000"]) == 0
    assert lines(part) == lines(whole)


def test_positions_of_one_player(control: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.epd"
    assert run([str(control), "positions", "-q", "-o", str(path), "--players", "b"]) == 0
    # without pairs, player a has White in every game
    assert {line.split()[1] for line in lines(path)} == {"b"}


def test_options_bound_the_plies_and_the_scores(control: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.plain"
    given = ["--per-game", "all", "--all-moves"]
    given += ["--first-ply", "20", "--last-plies", "10", "--score-cap", "45"]
    assert run([str(control), "positions", "-q", "-o", str(path), *given]) == 0
    plies = {int(line.split()[1]) for line in lines(path) if line.startswith("ply ")}
    assert plies == set(range(20, 46))


def test_exchanges_are_resolved_on_demand(control: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.epd"
    assert run([str(control), "positions", "-q", "-o", str(path), "--resolve"]) == 0
    assert lines(path)


def test_a_set_goes_to_standard_output_with_its_statistics_beside_it(
    control: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run([str(control), "positions", "-o", "-", "--format", "bar", "--most", "5"]) == 0
    out, err = capfdbinary.readouterr()
    assert len(out.splitlines()) == 5
    assert err.startswith(b"games\nused ")
    assert not list(control.parent.glob("*.positions.*"))


def test_missing_records_are_counted_and_the_collected_file_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = event(tmp_path, missing=(0, 1, 2, 3))
    text = "".join(write_pgn(chess_record(number)) for number in (1, 2))
    (tmp_path / "event.games.pgn").write_text(text)
    assert run([str(control), "positions"]) == 0
    out, err = capsys.readouterr()
    assert "used 8" in words(out)
    assert "2 of 11 game records are not in" in err


def test_a_record_that_cannot_be_read_is_left_out(
    control: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (control.parent / "event.games" / "0_0.pgn").write_text("1. Ke2 1-0")
    assert run([str(control), "positions"]) == 0
    assert "left out: with an unreadable record" in capsys.readouterr().out


def test_without_scores_only_some_formats_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = event(tmp_path, scored=False)
    path = tmp_path / "a.plain"
    path.write_text("what was there")
    assert run([str(control), "positions", "-o", str(path)]) == REPORTED
    err = capsys.readouterr().err
    assert "there is no position to write" in err
    assert "--format epd needs no scores" in err
    assert path.read_text() == "what was there"
    assert run([str(control), "positions", "-o", str(tmp_path / "a.epd")]) == 0
    assert "without a score" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--format", "psv"], "psv is not for chess"),
        (["--format", "xyz"], "there is no format 'xyz'; choose from plain, epd, bar"),
        (["--resolve", "--all-moves"], "exclude each other"),
        (["--players", "z"], "the player 'z' has no games; players with games: a, b"),
        (["--output", "event.ctl"], "belongs to the competition itself"),
        (["--output", "a.epd.gz"], "would not be packed; leave out .gz"),
        (["--output", "a.pgn"], "would be mistaken for a .pgn file"),
    ],
)
def test_impossible_sets_are_refused(
    control: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(control.parent)
    before = sorted(control.parent.iterdir())
    assert run(["event.ctl", "positions", *words]) == USAGE
    assert expected in capsys.readouterr().err
    assert sorted(control.parent.iterdir()) == before


def test_match_that_was_not_played_and_match_of_go_have_no_positions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(write(tmp_path)), "positions"]) == REPORTED
    assert "no game has been recorded yet" in capsys.readouterr().err
    assert run([str(write(tmp_path, GO)), "positions"]) == USAGE
    assert "labelled positions are for chess and shogi" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csa", "kifu"])
def test_shogi_is_packed_and_surveyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    control = write(tmp_path, SHOGI)
    recorded(control, [(ticket("0", 0), won("0_0")), (ticket("0", 1), won("0_1", 1))])
    (tmp_path / "event.games").mkdir()
    for number in range(2):
        moves = random_game(random.Random(number), None, 60)
        played = [MoveRecord(m, i % 2, score=10 * i) for i, m in enumerate(moves)]
        record = make_record(played, score=("1-0", "0-1")[number], reason="mate")
        text = (write_csa if suffix == "csa" else write_kif)(record)
        (tmp_path / "event.games" / f"0_{number}.{suffix}").write_text(text)
    path = tmp_path / "a.psv"
    assert run([str(control), "positions", "-q", "-o", str(path), "--all-moves"]) == 0
    assert path.stat().st_size == 20 * 40
    capsys.readouterr()
    assert run(["positions", str(path)]) == 0
    out = capsys.readouterr().out
    assert "psv" in out
    assert "positions 20" in words(out)
    assert "won by Black 10 50.0%" in words(out)
