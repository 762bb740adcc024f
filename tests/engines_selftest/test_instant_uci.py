"""instant_uci.py plays whole legal games, and decided ones by its options."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import chess
import pytest

from tests.engines_selftest.driver import ENGINES, Driver

PROGRAM = "instant_uci.py"


def play(white: Driver, black: Driver, epd: str | None = None) -> chess.Board:
    """Play a game to its end; fails at an illegal move."""
    board = chess.Board()
    if epd is not None:
        board.set_epd(epd)
    start = "startpos" if epd is None else f"fen {board.fen()}"
    moves: list[str] = []
    while not board.is_game_over() and not board.is_repetition(3):
        engine = white if board.turn == chess.WHITE else black
        position = f"position {start}" + (" moves " + " ".join(moves) if moves else "")
        answer = engine.ask(position, "go nodes 1")
        move = answer.removeprefix("bestmove ")
        board.push_uci(move)
        moves.append(move)
        assert board.halfmove_clock < 100
    return board


def ready(engine: Driver, **options: int) -> None:
    for name, value in options.items():
        engine.send(f"setoption name {name} value {value}")
    assert engine.ask("isready") == "readyok"


@pytest.mark.parametrize("plies", [40, 100, 200])
def test_built_in_games_are_legal_and_end_in_mate(plies: int) -> None:
    with Driver(PROGRAM, "--plies", str(plies)) as engine:
        board = play(engine, engine)
        assert board.ply() == plies
        assert board.is_checkmate()


def test_another_number_of_plies_is_the_beginning_of_a_game() -> None:
    with Driver(PROGRAM, "--plies", "1") as engine:
        assert engine.ask("position startpos", "go") == "bestmove e2e4"
        assert engine.ask("position startpos moves e2e4", "go") == "bestmove (none)"


@pytest.mark.parametrize("outcome", ["white", "black", "draw"])
def test_outcomes_are_what_they_are_called(outcome: str) -> None:
    with Driver(PROGRAM, "--outcome", outcome) as engine:
        board = play(engine, engine)
        assert board.ply() <= 10
        if outcome == "draw":
            assert board.is_repetition(3)
        else:
            assert board.is_checkmate()
            assert (board.turn == chess.BLACK) == (outcome == "white")


def test_a_script_is_played_from_the_flag_or_a_file(tmp_path: object) -> None:
    with Driver(PROGRAM, "--moves", "d2d4 d7d5") as engine:
        assert engine.ask("position startpos moves d2d4", "go") == "bestmove d7d5"
    file = f"{tmp_path}/game.txt"
    with open(file, "w", encoding="ascii") as stream:
        stream.write("c2c4\ne7e5\n")
    with Driver(PROGRAM, "--script", file) as engine:
        assert engine.ask("position startpos moves c2c4", "go") == "bestmove e7e5"


def test_the_handshake_declares_an_option_of_each_type() -> None:
    with Driver(PROGRAM) as engine:
        lines = engine.ask("uci", until=b"uciok\n").splitlines()
        kinds = {line.split(" type ")[1].split()[0] for line in lines if " type " in line}
        assert kinds == {"spin", "check", "combo", "string", "button"}
        assert "option name Hash type spin default 16 min 1 max 1024" in lines
        assert engine.ask("setoption name Nonsense value 3") == "No such option: Nonsense"
        assert engine.ask("isready") == "readyok"


def test_info_lines_come_before_the_move() -> None:
    with Driver(PROGRAM, "--info", "3") as engine:
        engine.send("position startpos", "go depth 3")
        lines = engine.read(b"bestmove e2e4\n").splitlines()
        assert [line.split()[:3] for line in lines[:-1]] == [
            [b"info", b"depth", b"%d" % i] for i in (1, 2, 3)
        ]


def test_the_end_of_the_input_and_quit_end_it() -> None:
    with Driver(PROGRAM) as engine:
        engine.close_input()
        assert engine.status() == 0
    with Driver(PROGRAM) as engine:
        engine.send("quit")
        assert engine.status() == 0


def start_positions(count: int) -> list[str]:
    listed = subprocess.run(
        [sys.executable, "-I", "-S", str(ENGINES / PROGRAM), "--openings", str(count)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=20,
    )
    return listed.stdout.splitlines()


def test_all_decided_lines_hold_from_all_start_positions() -> None:
    from tests.engines_selftest.lines import BLACK_WINS, DRAW, LEVELS, WHITE_WINS

    epds = start_positions(1024)
    assert len(set(epds)) == 1024
    for number, epd in enumerate(epds):
        board = chess.Board()
        board.set_epd(epd)
        assert board.is_valid()
        # all levels with all lines in the first positions, then one of each in turn
        games = list(product(LEVELS, (WHITE_WINS, BLACK_WINS, DRAW)))
        for level, line in games if number < 8 else [games[number % len(games)]]:
            game = board.copy()
            for move in (level, *line):
                assert not game.is_game_over()
                assert not game.is_repetition(3)
                game.push_uci(move)
            assert game.is_repetition(3) if line == DRAW else game.is_checkmate()
            assert line == DRAW or (game.turn == chess.BLACK) == (line == WHITE_WINS)


def duel(white: dict[str, int], black: dict[str, int], epds: list[str]) -> list[str]:
    with (
        Driver(PROGRAM, "--outcome", "by-option") as first,
        Driver(PROGRAM, "--outcome", "by-option") as second,
    ):
        ready(first, **white)
        ready(second, **black)
        results = []
        for epd in epds:
            board = play(first, second, epd)
            assert board.ply() <= 10
            results.append(board.result(claim_draw=True))
        return results


def test_the_stronger_options_win_more_and_the_same_options_the_same() -> None:
    epds = start_positions(60)
    strong, weak = {"Strength": 600, "Width": 700}, {"Strength": 400, "Width": 400}
    results = duel(strong, weak, epds)
    assert duel(strong, weak, epds) == results
    swapped = duel(weak, strong, epds)
    assert results.count("1-0") > 2 * results.count("0-1")
    assert swapped.count("0-1") > 2 * swapped.count("1-0")
    equal = duel({"Seed": 1}, {"Seed": 2}, epds)
    assert {"1-0", "0-1", "1/2-1/2"} == set(equal)


@pytest.mark.parametrize("program", ["instant_uci.py", "fault_uci.py", "fault_gtp.py"])
def test_help_lists_the_flags_and_wrong_ones_are_refused(program: str) -> None:
    with Driver(program, "--help") as engine:
        text = engine.rest().decode()
        assert text.startswith(f"usage: {program}")
        assert engine.status() == 0
        assert all(len(line) <= 100 for line in text.splitlines())
    for wrong in (["--nonsense"], ["stray"]):
        with Driver(program, *wrong) as engine:
            assert b"unknown flag" in engine.read(b"\n", errors=True)
            assert engine.status() == 2


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--plies"], b"--plies needs N"),
        (["--plies", "x"], b"--plies x: invalid literal"),
        (["--outcome", "red"], b"choose white, black, draw, by-option"),
    ],
)
def test_a_wrong_value_is_explained(flags: list[str], complaint: bytes) -> None:
    with Driver(PROGRAM, *flags) as engine:
        assert complaint in engine.read(b"\n", errors=True)
        assert engine.status() == 2
