"""The demo shogi engine: its protocol, its moves and its options."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.demo.shogi_engine import ShogiEngine
from ringmaster.games.shogi import ShogiGame
from tests.demo.scripted import QuietConsole

WORDS = (
    *("usi", "isready", "usinewgame", "stop", "setoption", "name", "value", "Seed", "gameover"),
    *("Noise", "-1", "0", "1", "9999999999999", "position", "startpos", "sfen", "moves"),
    *("9/9/9/9/9/9/9/9/9", "4k4/9/9/9/9/9/9/9/4K4", "b", "w", "-", "7g7f", "P*5e", "8h2b+"),
)


def new_engine(**options: int) -> ShogiEngine:
    engine = ShogiEngine(QuietConsole())
    for name, value in options.items():
        assert engine.handle(f"setoption name {name} value {value}") == []
    return engine


def best(engine: ShogiEngine, position: str, limit: str = "depth 1") -> str:
    assert engine.handle(f"position {position}") == []
    answer = engine.handle(f"go {limit}")
    assert answer[-1].startswith("bestmove ")
    return answer[-1].removeprefix("bestmove ")


def test_mate_in_one_is_found() -> None:
    # a gold dropped before the king, guarded by the pawn
    assert best(new_engine(), "sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "depth 2") == "G*5b"


def test_side_that_is_mated_resigns() -> None:
    assert best(new_engine(), "sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1") == "resign"


def test_free_rook_is_taken() -> None:
    assert best(new_engine(Noise=0), "sfen 4k4/9/9/9/4r4/4P4/9/9/4K4 b - 1") == "5f5e"


def test_values_of_pieces_decide() -> None:
    # a pawn may take a rook or a bishop
    position = "sfen 4k4/9/9/2b3r2/2P3P2/9/9/9/4K4 b - 1"
    assert best(new_engine(Noise=0, RookValue=2500, BishopValue=50), position) == "3e3d"
    assert best(new_engine(Noise=0, RookValue=50, BishopValue=2500), position) == "7e7d"


def test_seeds_play_differently_and_each_the_same_again() -> None:
    moves = [best(new_engine(Noise=200, Seed=seed), "startpos") for seed in range(8)]
    assert len(set(moves)) > 1
    assert moves == [best(new_engine(Noise=200, Seed=seed), "startpos") for seed in range(8)]


@pytest.mark.parametrize(
    "line",
    [
        "position",
        "position sfen x",
        "position startpos moves 7g7f 9a9a",
        "setoption name No value 1",
    ],
)
def test_what_cannot_be_taken_is_complained_of(line: str) -> None:
    (answer,) = new_engine().handle(line)
    assert answer.startswith("info string ")


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_words_are_answered(words: list[str]) -> None:
    engine = new_engine()
    assert isinstance(engine.handle(" ".join(words)), list)
    assert engine.handle("isready") == ["readyok"]


def test_games_against_itself_are_legal_to_the_end() -> None:
    sides = [new_engine(Seed=1, Noise=100), new_engine(Seed=2, Noise=100)]
    game = ShogiGame()
    while game.ending() is None and len(game.moves) < 200:
        position = "startpos" + (" moves " + " ".join(game.moves) if game.moves else "")
        game.play(best(sides[game.to_move], position))
    assert len(game.moves) > 30
