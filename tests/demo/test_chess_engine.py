"""The demo chess engine: its protocol, its moves and its options."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.demo.chess_engine import ChessEngine, PlainRules
from ringmaster.demo.universal import UniversalEngine
from tests.demo.scripted import QuietConsole, ScriptedConsole, best, with_options

WORDS = (
    *("uci", "isready", "ucinewgame", "stop", "debug", "setoption", "name", "value", "Seed"),
    *("Noise", "-1", "0", "1", "99", "9999999999999", "position", "startpos", "fen", "moves"),
    *("8/8/8/8/8/8/8/8", "4k3/8/8/8/8/8/8/4K2R", "w", "KQkq", "-", "e2e4", "e7e8q", "0000"),
    *("e1g1", "nodes", "eval", "features"),
)
OPENINGS = Path(__file__).parent.parent.parent / "controlfiles" / "openings.epd"


def new_engine(**options: int) -> UniversalEngine:
    return with_options(ChessEngine(QuietConsole()), options)


def go(engine: UniversalEngine, limits: str) -> list[str]:
    """Return all lines of a search, including early ones."""
    assert isinstance(engine.console, ScriptedConsole)
    engine.console.written.clear()
    answer = engine.handle(f"go {limits}")
    return engine.console.written + answer


def epd_lines() -> list[str]:
    return OPENINGS.read_text(encoding="ascii").splitlines()


def self_play(white: UniversalEngine, black: UniversalEngine, fen: str, plies: int) -> list[str]:
    """Play up to `plies`, checking every move with python-chess."""
    board, moves = chess.Board(fen), list[str]()
    players = [black, white]
    while len(moves) < plies and not board.is_game_over() and not board.is_repetition(3):
        played = f" moves {' '.join(moves)}" if moves else ""
        move = best(players[board.turn], f"fen {fen}{played}")
        # By name: python-chess also takes a king that takes its rook for legal.
        assert move in {legal.uci() for legal in board.legal_moves}, (board.fen(), move)
        board.push_uci(move)
        moves.append(move)
    return moves


def opening(number: int) -> str:
    return " ".join(epd_lines()[number].split()[:4]) + " 0 1"


def test_uci_lists_every_option_with_its_range() -> None:
    engine = new_engine()
    answer = engine.handle("uci")
    assert answer[0].startswith("id name ringmaster demo")
    assert "option name KnightValue type spin default 320 min 50 max 900" in answer
    assert sum(line.startswith("option name ") for line in answer) == len(engine.options)
    assert answer[-1] == "uciok"


@pytest.mark.parametrize(
    "line",
    [
        "setoption name Hash Size value 3",
        "setoption name Mobility value 401",
        "setoption name Mobility value 1_0",
        "setoption Mobility",
    ],
)
def test_wrong_option_is_reported_and_ignored(line: str) -> None:
    engine = new_engine()
    before = dict(engine.values)
    (answer,) = engine.handle(line)
    assert answer.startswith("info string ")
    assert engine.values == before


@pytest.mark.parametrize(
    ("fen", "score"),
    [("6k1/5ppp/8/8/8/8/8/R5K1 w", "mate 1"), ("7k/8/8/8/8/2r5/r7/6K1 w", "mate -1")],
)
def test_mates_of_either_side_are_announced(fen: str, score: str) -> None:
    engine = new_engine()
    engine.handle(f"position fen {fen} - - 0 1")
    assert any(f" score {score} " in line for line in go(engine, "depth 4"))


@pytest.mark.parametrize("fen", ["7k/8/8/8/8/8/r7/1r4K1 w", "7k/5Q2/6K1/8/8/8/8/8 b"])
def test_mated_or_stalemated_side_has_no_move(fen: str) -> None:
    engine = new_engine()
    engine.handle(f"position fen {fen} - - 0 1")
    assert go(engine, "depth 3") == ["bestmove (none)"]


def test_castling_is_written_as_two_steps_of_the_king() -> None:
    engine = new_engine(KingShield=80)
    games = [self_play(engine, engine, opening(number), 40) for number in (23, 27, 39)]
    assert {"e1g1", "e1c1", "e8g8", "e8c8"} <= set(chain.from_iterable(games))


def test_bad_positions_are_reported_and_change_nothing() -> None:
    engine = new_engine()
    engine.handle("position startpos moves e2e4")
    before = go(engine, "depth 1")[-1]
    for text in ("position", "position foo", "position fen", "position fen 8/8 w - -"):
        (answer,) = engine.handle(text)
        assert answer.startswith("info string ")
    assert go(engine, "depth 1")[-1] == before


def test_illegal_move_ends_the_list_of_moves() -> None:
    engine = new_engine()
    (answer,) = engine.handle("position startpos moves e2e4 e7e5 e4e5 g8f6")
    assert "e4e5" in answer
    other = new_engine()
    other.handle("position startpos moves e2e4 e7e5")
    assert go(engine, "depth 1")[-1] == go(other, "depth 1")[-1]


def test_fen_without_counters_or_with_high_ones_is_taken() -> None:
    engine = new_engine()
    for counters in ("", "170 9", "0 99999"):
        assert best(engine, f"fen 4k3/8/8/8/8/8/4P3/4K3 w - - {counters}") != "(none)"


def test_a_position_that_goes_on_or_goes_back_gives_the_same_move() -> None:
    engine = new_engine()
    moves = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"
    first = best(engine, f"startpos moves {moves}")
    best(engine, f"startpos moves {moves} b5a4 g8f6")
    assert best(engine, f"startpos moves {moves}") == first


def test_same_seed_gives_the_same_game_and_another_seed_another() -> None:
    fen = opening(3)
    first, again, other = (
        self_play(new_engine(Seed=seed), new_engine(Seed=seed), fen, 50) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("number", [0, 100, 300])
def test_every_move_of_a_game_is_legal_and_games_end(number: int) -> None:
    engine = new_engine(Seed=number)
    assert len(self_play(engine, engine, opening(number), 300)) < 300


def test_side_that_is_ahead_mates_rather_than_repeats() -> None:
    engine = new_engine()
    for fen in (
        "8/8/8/3k4/8/8/8/KQ6 w - - 0 1",
        "8/8/8/3k4/8/8/8/KRR5 w - - 0 1",
        "8/8/8/3k4/8/8/8/KR6 w - - 0 1",
        "8/8/2k5/8/8/8/6PP/6K1 w - - 0 1",
    ):
        board = chess.Board(fen)
        for move in self_play(engine, engine, fen, 200):
            board.push_uci(move)
        assert board.is_checkmate(), (fen, board.fen())


@pytest.mark.slow
def test_fallback_on_python_chess_gives_the_same_moves() -> None:
    fast = new_engine(Seed=5)
    slow = ChessEngine(QuietConsole(), PlainRules())
    slow.handle("setoption name Seed value 5")
    fens = [
        opening(7),
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 12 1",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    ]
    for fen in fens:
        found = []
        for engine in (fast, slow):
            assert engine.handle(f"position fen {fen}") == []
            found.append([re.sub(" time [0-9]+", "", line) for line in go(engine, "depth 2")])
            found[-1] += engine.handle("eval") + engine.handle("features")
        assert found[0] == found[1]
    first = self_play(fast, fast, opening(8), 12)
    assert self_play(slow, slow, opening(8), 12) == first


def test_node_limit_is_kept_and_gives_the_same_move_again() -> None:
    engine = new_engine()
    moves = set()
    for _ in range(2):
        engine.handle("position startpos moves d2d4 d7d5")
        *infos, move = go(engine, "nodes 700")
        assert all(int(line.split()[line.split().index("nodes") + 1]) <= 700 for line in infos)
        moves.add(move)
    assert len(moves) == 1
    assert go(engine, "nodes 1")[-1].startswith("bestmove ")


@pytest.mark.parametrize(
    "limits", ["movetime 20", "wtime 300 btime 300 winc 0", "wtime -5 btime -5", "movetime 0 nodes"]
)
def test_time_limits_end_the_search(limits: str) -> None:
    assert go(new_engine(), limits)[-1].startswith("bestmove ")


def test_stop_ends_an_endless_search_and_isready_is_answered_meanwhile() -> None:
    console = ScriptedConsole([None, "isready", None, None, "stop", "isready"])
    answer = ChessEngine(console).handle("go infinite")
    assert "readyok" in console.written
    assert answer[-1].startswith("bestmove ")
    assert list(console.lines) == ["isready"]


def test_no_bestmove_before_stop_even_if_there_is_nothing_to_search() -> None:
    console = ScriptedConsole([None, "isready", "stop"])
    engine = ChessEngine(console)
    engine.handle("position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")
    assert engine.handle("go infinite") == ["bestmove (none)"]
    assert console.written == ["readyok"]


def test_quit_and_end_of_input_end_a_search() -> None:
    engine = ChessEngine(ScriptedConsole([None, "quit"]))
    assert engine.handle("go infinite")[-1].startswith("bestmove ")
    assert engine.quit
    engine = ChessEngine(ScriptedConsole())
    assert engine.handle("go depth 30")[-1].startswith("bestmove ")


def test_commands_sent_too_early_are_carried_out_after_the_search() -> None:
    setting = "setoption name KnightValue value 111"
    console = ScriptedConsole(
        ["go depth 3", setting, "position startpos moves e2e4", "go depth 1", "quit"]
    )
    engine = ChessEngine(console)
    engine.serve()
    assert engine.values["KnightValue"] == 111
    assert sum(line.startswith("bestmove") for line in console.written) == 2
    assert any("depth 3" in line for line in console.written)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join) | st.text(), max_size=8)
)
def test_any_text_at_all_leaves_the_engine_at_work(lines: list[str]) -> None:
    engine = new_engine()
    for line in lines:
        engine.handle(line)
    engine.handle("position startpos")
    assert engine.handle("isready") == ["readyok"]
    assert go(engine, "nodes 40")[-1].startswith("bestmove ")


def test_openings_are_legal_varied_and_undecided() -> None:
    lines = epd_lines()
    assert len(lines) == 1000
    positions, names = set(), set()
    for line in lines:
        board, operations = chess.Board.from_epd(line)
        assert board.is_valid()
        assert not board.is_check()
        assert not board.is_game_over()
        positions.add(board.epd())
        names.add(operations["id"])
    assert len(positions) == len(names) == 1000
