"""Chess960 on both backends, with python-chess as the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import IllegalMove
from ringmaster.games.chess import (
    Chess960Game,
    ReferenceChess960Game,
    chess_rules,
    start_fen,
)
from ringmaster.games.game import Game
from tests.contracts.game_contract import GameContract
from tests.games.test_chess import oracle_ending

AnyChess960 = Chess960Game | ReferenceChess960Game
both = pytest.mark.parametrize("make", [Chess960Game, ReferenceChess960Game])
seeds = st.integers(0, 1 << 32)

#: Strings that are castling in one way of writing or the other, or no move at all.
CASTLING = ("e1g1", "e1c1", "e1h1", "e1a1", "e8g8", "e8a8", "f1g1", "b1a1", "b1c1", "c8b8")


class Chess960Contract(GameContract):
    make: Callable[..., AnyChess960]

    def new_game(self) -> Game:
        return self.make()

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        board = chess.Board(game.position(), chess960=True)
        legal = [move.uci() for move in board.legal_moves]
        tries = [*rng.sample(legal, min(3, len(legal))), *rng.sample(CASTLING, 3), "d5d6"]
        rng.shuffle(tries)
        return tries


class TestFastChess960FulfilsTheContract(Chess960Contract):
    make = Chess960Game


class TestReferenceChess960FulfilsTheContract(Chess960Contract):
    make = ReferenceChess960Game


def random_start(rng: random.Random) -> str:
    """Return a start position, perhaps with fewer pieces and rooks on the edge.

    The notation is X-FEN or Shredder-FEN.
    """
    board = chess.Board.from_chess960_pos(rng.randrange(960))
    if rng.random() < 0.5:
        for square in list(board.piece_map()):
            if board.piece_type_at(square) != chess.KING and rng.random() < 0.5:
                board.remove_piece_at(square)
        edge = list(chess.SquareSet(chess.BB_RANK_1 | chess.BB_RANK_8))
        for square in rng.sample(edge, 3):
            if board.piece_at(square) is None:
                white = chess.square_rank(square) == 0
                board.set_piece_at(square, chess.Piece(chess.ROOK, white))
        board.castling_rights = board.clean_castling_rights()
        if not board.is_valid():
            board = chess.Board.from_chess960_pos(rng.randrange(960))
    return board.fen(shredder=rng.random() < 0.5)


@pytest.mark.slow
@given(seeds)
@settings(deadline=None)
def test_random_games_agree_with_python_chess_at_every_ply(seed: int) -> None:
    rng = random.Random(seed)
    fen = random_start(rng)
    board = chess.Board(fen, chess960=True)
    games = (Chess960Game(fen), ReferenceChess960Game(fen))
    for _ in range(rng.choice((20, 100))):
        ending = oracle_ending(board)
        for game in games:
            assert game.position() == board.fen()
            assert game.to_move == (0 if board.turn else 1)
            assert game.ending() == ending
        legal = [move.uci() for move in board.legal_moves]
        if ending is not None or not legal:
            break
        castling = [move.uci() for move in board.legal_moves if board.is_castling(move)]
        move = rng.choice(castling if castling and rng.random() < 0.5 else legal)
        tried = rng.choice(CASTLING)
        for game in games:
            if tried not in legal:
                with pytest.raises(IllegalMove):
                    game.play(tried)
            game.play(move)
        board.push_uci(move)


@both
@pytest.mark.parametrize(
    ("fen", "written"),
    [
        # the outermost rook is K or Q, an inner one has its file
        ("4k3/8/8/8/8/8/8/R1R1K2R w HC - 0 1", "4k3/8/8/8/8/8/8/R1R1K2R w KC - 0 1"),
        ("4k3/8/8/8/8/8/8/R1R1K2R w KC - 0 1", "4k3/8/8/8/8/8/8/R1R1K2R w KC - 0 1"),
        ("rkr5/8/8/8/8/8/8/5RKR w HFca - 3 9", "rkr5/8/8/8/8/8/8/5RKR w KQkq - 3 9"),
        ("rkr5/8/8/8/8/8/8/5RKR w KQkq - 3 9", "rkr5/8/8/8/8/8/8/5RKR w KQkq - 3 9"),
    ],
)
def test_x_fen_and_shredder_fen_are_read_and_x_fen_is_written(
    make: type[AnyChess960], fen: str, written: str
) -> None:
    assert make(fen).position() == written


@both
@pytest.mark.parametrize(
    ("fen", "message"),
    [
        ("4k3/8/8/8/8/8/8/4K3 w KQ - 0 1", "castling rights do not fit"),
        ("4k3/8/8/8/8/8/8/R3K2R w BG - 0 1", "castling rights do not fit"),
        ("rnbqkbqnbnrbr/8/8/8/8/8/8/4K3 w k - 0 1", "expected 8 columns"),
        ("8/8/8/3kK3/8/8/8/8 w - - 0 1", "the side that is not to move is in check"),
    ],
)
def test_an_invalid_position_is_refused(make: type[AnyChess960], fen: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(fen)


@both
def test_castling_in_standard_notation_is_refused_with_the_remedy(
    make: type[AnyChess960],
) -> None:
    game = make("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1")
    with pytest.raises(IllegalMove, match="castling is written e1h1, king takes rook"):
        game.play("e1g1")
    game.play("e1h1")
    assert game.position() == "4k3/8/8/8/8/8/8/R4RK1 b - - 1 1"


def test_a_king_already_on_its_castling_square_takes_its_rook() -> None:
    game = chess_rules(chess960=True)("4k3/8/8/8/8/8/8/6KR w K - 0 1")
    game.play("g1h1")
    assert game.position() == "4k3/8/8/8/8/8/8/5RK1 b - - 1 1"


def test_the_start_positions_are_numbered_as_by_scharnagl() -> None:
    assert start_fen(518) == chess.STARTING_FEN
    assert len({start_fen(number) for number in range(960)}) == 960
    with pytest.raises(ValueError, match="960"):
        start_fen(960)
