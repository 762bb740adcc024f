"""The demo shogi engine: its protocol, its moves and its options."""

from __future__ import annotations

from ringmaster.demo.shogi_engine import ShogiEngine
from ringmaster.demo.universal import UniversalEngine
from ringmaster.games.shogi import ShogiGame
from tests.demo.scripted import QuietConsole, best, with_options


def new_engine(**options: int) -> UniversalEngine:
    return with_options(ShogiEngine(QuietConsole()), options)


def test_mate_in_one_is_found() -> None:
    # a gold dropped before the king, guarded by the pawn
    assert best(new_engine(), "sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "depth 2") == "G*5b"


def test_side_that_is_mated_resigns() -> None:
    assert best(new_engine(), "sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1") == "resign"


def test_values_of_pieces_decide() -> None:
    # a pawn may take a rook or a bishop
    position = "sfen 4k4/9/9/2b3r2/2P3P2/9/9/9/4K4 b - 1"
    assert best(new_engine(Noise=0, RookValue=2500, BishopValue=50), position) == "3e3d"
    assert best(new_engine(Noise=0, RookValue=50, BishopValue=2500), position) == "7e7d"


def test_games_against_itself_are_legal_to_the_end() -> None:
    sides = [new_engine(Seed=1, Noise=100), new_engine(Seed=2, Noise=100)]
    game = ShogiGame()
    while game.ending() is None and len(game.moves) < 200:
        position = "startpos" + (" moves " + " ".join(game.moves) if game.moves else "")
        game.play(best(sides[game.to_move], position))
    assert len(game.moves) > 30
