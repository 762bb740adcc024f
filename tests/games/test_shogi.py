from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Ending, Game
from ringmaster.games.sfen import START_SFEN
from ringmaster.games.shogi import ShogiGame, new_shogi_game
from tests.contracts.game_contract import GameContract

seeds = st.integers(0, 1 << 32)

#: Positions from which random play soon drops, promotes, repeats or enters.
STARTS = (
    START_SFEN,
    "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1",
    "ln1gk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PP1PPPP1P/1SG4R1/LN2KGSNL b Bb 19",
    "4+P+P+P2/2K1+R+P3/2+P+P5/9/9/9/6+p+p1/5+p+rk1/6+p+p+p w 2B4G4S4N4L6P 200",
    "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "9/9/4k4/9/9/9/4R4/9/4K4 w r 40",
)


def play_all(game: ShogiGame, moves: str) -> ShogiGame:
    for move in moves.split():
        game.play(move)
    return game


def why_refused(sfen: str | None, move: str) -> str:
    game = new_shogi_game(sfen)
    with pytest.raises(IllegalMove) as caught:
        game.play(move)
    return caught.value.reason


class TestShogiFulfilsTheContract(GameContract):
    def new_game(self) -> Game:
        return new_shogi_game()

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        cshogi = pytest.importorskip("cshogi")
        board = cshogi.Board(game.position())
        legal = sorted(cshogi.move_to_usi(move) for move in board.legal_moves)
        wrong = ["P*5e", "7g7f+", "5i5h", "2b8h+", "8h2b", "p*5e", "5a5b", "B*5e", "1a1i"]
        tries = [*rng.sample(legal, min(3, len(legal))), *rng.sample(wrong, 3)]
        rng.shuffle(tries)
        return tries


class Oracle:
    """Shogi on cshogi's legal moves; repetition told from the whole history,
    written down position by position."""

    def __init__(self, sfen: str) -> None:
        cshogi = pytest.importorskip("cshogi")
        self.usi = cshogi.move_to_usi
        self.board: Any = cshogi.Board(sfen)
        self.history = [(self._key(), False)]

    def _key(self) -> str:
        return str(self.board.sfen()).rsplit(" ", 1)[0]

    def legal(self) -> list[str]:
        return sorted(self.usi(move) for move in self.board.legal_moves)

    def push(self, move: str) -> None:
        self.board.push_usi(move)
        self.history.append((self._key(), self.board.is_check()))

    def ending(self) -> Ending | None:
        side = int(self.board.turn)
        if not self.legal():
            return Ending(1 - side, "mate" if self.board.is_check() else "stalemate")
        same = [i for i, (key, _) in enumerate(self.history) if key == self.history[-1][0]]
        if len(same) < 4:
            return None
        since = [check for _, check in self.history[same[0] + 1 :]]
        # the last move is the other side's, the one before it this side's
        theirs, ours = all(since[::-2]), all(since[-2::-2])
        if theirs == ours:
            return Ending(None, "repetition")
        return Ending(side if theirs else 1 - side, "perpetual check")


@given(seeds)
@settings(max_examples=120)
def test_random_games_agree_with_an_independent_library_at_every_ply(seed: int) -> None:
    rng = random.Random(seed)
    sfen = rng.choice(STARTS)
    oracle = Oracle(sfen)
    game = new_shogi_game(sfen)
    # Some players shuffle back and forth, so that positions repeat.
    shuffling = rng.random() < 0.5
    played: list[str] = []
    for _ in range(rng.choice((20, 80, 200))):
        assert game.sfen() == oracle.board.sfen()
        assert game.to_move == int(oracle.board.turn)
        ending = oracle.ending()
        assert game.ending() == ending
        legal = oracle.legal()
        if ending is not None:
            break
        move = rng.choice(legal)
        if shuffling and len(played) >= 2 and "*" not in played[-2]:
            back = played[-2][2:4] + played[-2][:2]
            if back in legal and rng.random() < 0.9:
                move = back
        game.play(move)
        oracle.push(move)
        played.append(move)


@given(seeds)
@settings(max_examples=25)
def test_every_string_that_could_be_a_move_is_judged_as_the_oracle_judges_it(seed: int) -> None:
    rng = random.Random(seed)
    sfen = rng.choice(STARTS)
    game, oracle = new_shogi_game(sfen), Oracle(sfen)
    for _ in range(rng.randrange(40)):
        legal = oracle.legal()
        if oracle.ending() is not None:
            break
        move = rng.choice(legal)
        game.play(move)
        oracle.push(move)
    legal = oracle.legal()
    sfen = game.sfen()
    squares = [file + rank for file in "123456789" for rank in "abcdefghi"]
    moves = [a + b + c for a in squares for b in squares if a != b for c in ("", "+")]
    moves += [f"{piece}*{square}" for piece in "PLNSGBR" for square in squares]
    for move in {*rng.sample(moves, 400), *legal}:
        trial = new_shogi_game(sfen)
        if move in legal:
            trial.play(move)
        else:
            with pytest.raises(IllegalMove) as caught:
                trial.play(move)
            assert caught.value.reason
            assert trial.sfen() == sfen


@pytest.mark.parametrize(
    ("sfen", "move", "reason"),
    [
        (None, "p*5e", "a drop is written with a capital, P*5e"),
        (None, "0000", "not a move in USI notation"),
        (None, "7g7f\n", "not a move in USI notation"),
        (None, "P*5e", "Black has no pawn in hand"),
        (None, "5e5d", "there is no piece on 5e"),
        (None, "3c3d", "the piece on 3c is White's"),
        (None, "7g7e", "the pawn on 7g cannot do that"),
        (None, "9i9g", "the lance on 9i cannot do that"),
        (None, "7g7f+", "a piece promotes only in the enemy's camp"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*5i", "there is a piece on 5i"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*4e+", "a piece is dropped unpromoted"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*1a", "a pawn on 1a could never move"),
        ("4k4/9/9/9/9/9/9/9/4K4 b N 1", "N*1b", "a knight on 1b could never move"),
        ("4k4/9/9/9/9/9/9/9/4K4 w n 1", "N*1h", "a knight on 1h could never move"),
        ("4k4/9/9/9/9/5P3/9/9/4K4 b P 1", "P*4e", "Black has a pawn on file 4 already"),
        ("4k4/9/9/9/4r4/9/9/9/4K4 b P 1", "P*1e", "it leaves the king in check"),
        ("4k4/9/9/9/4r4/9/9/9/4K4 b P 1", "5i5h", "it leaves the king in check"),
        ("4k4/9/9/9/4r4/9/4G4/9/4K4 b - 1", "5g4g", "it leaves the king in check"),
        ("7nk/9/7G1/9/9/9/9/9/4K4 b P 1", "P*1b", "a pawn must not be dropped to give mate"),
        ("4k4/P8/9/9/9/9/9/9/4K4 b - 1", "9b9a", "a pawn has to promote on 9a"),
        ("4k4/9/N8/9/9/9/9/9/4K4 b - 1", "9c8a", "a knight has to promote on 8a"),
        ("4k4/G8/9/9/9/9/9/9/4K4 b - 1", "9b9a+", "a gold does not promote"),
        ("4k4/+P8/9/9/9/9/9/9/4K4 b - 1", "9b9a+", "a promoted pawn does not promote"),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 1", "5i5h+", "a king does not promote"),
    ],
)
def test_a_refusal_says_why(sfen: str | None, move: str, reason: str) -> None:
    assert why_refused(sfen, move) == reason


def test_a_pawn_may_be_dropped_to_give_check() -> None:
    game = new_shogi_game("8k/9/9/9/9/9/9/9/4K4 b P 1")
    game.play("P*1b")
    assert game.in_check()
    assert game.ending() is None


def test_promotion_is_the_players_choice_where_it_is_not_forced() -> None:
    sfen = "4k4/9/9/P3S4/9/9/9/9/4K4 b - 1"
    assert "9c" not in new_shogi_game(sfen).sfen()
    for move, piece in (("9d9c", "P8"), ("9d9c+", "+P8"), ("5d5c", "4S4"), ("5d5c+", "4+S4")):
        assert new_shogi_game(sfen).ending() is None
        game = new_shogi_game(sfen)
        game.play(move)
        assert game.sfen().split("/")[2] == piece


def test_mate_wins_for_the_side_that_gave_it() -> None:
    mate = play_all(new_shogi_game("8k/9/8P/9/9/9/9/9/4K4 b G 1"), "G*1b")
    assert mate.ending() == Ending(0, "mate")


def test_a_side_that_cannot_move_has_lost_though_it_is_not_in_check() -> None:
    game = new_shogi_game("8k/6+R2/9/9/9/9/9/9/4K4 w - 1")
    assert not game.in_check()
    assert game.ending() == Ending(0, "stalemate")
