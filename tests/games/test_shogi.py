from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Ending, Game
from ringmaster.games.sfen import START_SFEN
from ringmaster.games.shogi import ShogiGame
from tests.contracts.game_contract import GameContract
from tests.requirements import package

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
    game = ShogiGame(sfen)
    with pytest.raises(IllegalMove) as caught:
        game.play(move)
    return caught.value.reason


class TestShogiFulfilsTheContract(GameContract):
    def new_game(self) -> Game:
        return ShogiGame()

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        cshogi = package("cshogi")
        board = cshogi.Board(game.position())
        legal = sorted(cshogi.move_to_usi(move) for move in board.legal_moves)
        wrong = ["P*5e", "7g7f+", "5i5h", "2b8h+", "8h2b", "p*5e", "5a5b", "B*5e", "1a1i"]
        tries = [*rng.sample(legal, min(3, len(legal))), *rng.sample(wrong, 3)]
        rng.shuffle(tries)
        return tries


class Oracle:
    """Shogi with cshogi's legal moves, and repetition by a list of all positions."""

    def __init__(self, sfen: str) -> None:
        cshogi = package("cshogi")
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
def test_random_games_agree_with_an_independent_library_at_every_ply(seed: int) -> None:
    rng = random.Random(seed)
    sfen = rng.choice(STARTS)
    oracle = Oracle(sfen)
    game = ShogiGame(sfen)
    # Some players shuffle back and forth, so that positions repeat.
    shuffling = rng.random() < 0.5
    played: list[str] = []
    for _ in range(rng.choice((20, 80, 200))):
        assert game.position() == oracle.board.sfen()
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


@pytest.mark.slow
@given(seeds)
def test_legality_of_every_string_agrees_with_the_oracle(seed: int) -> None:
    rng = random.Random(seed)
    sfen = rng.choice(STARTS)
    game, oracle = ShogiGame(sfen), Oracle(sfen)
    for _ in range(rng.randrange(40)):
        legal = oracle.legal()
        if oracle.ending() is not None:
            break
        move = rng.choice(legal)
        game.play(move)
        oracle.push(move)
    legal = oracle.legal()
    sfen = game.position()
    squares = [file + rank for file in "123456789" for rank in "abcdefghi"]
    moves = [a + b + c for a in squares for b in squares if a != b for c in ("", "+")]
    moves += [f"{piece}*{square}" for piece in "PLNSGBR" for square in squares]
    for move in {*rng.sample(moves, 400), *legal}:
        trial = ShogiGame(sfen)
        if move in legal:
            trial.play(move)
        else:
            with pytest.raises(IllegalMove) as caught:
                trial.play(move)
            assert caught.value.reason
            assert trial.position() == sfen


@pytest.mark.parametrize(
    ("sfen", "move", "reason"),
    [
        (None, "p*5e", "a drop is written with a capital, P*5e"),
        (None, "7g7f\n", "not a move in USI notation"),
        (None, "P*5e", "Black has no pawn in hand"),
        (None, "5e5d", "there is no piece on 5e"),
        (None, "3c3d", "the piece on 3c is White's"),
        (None, "7g7e", "the pawn on 7g cannot do that"),
        (None, "7g7f+", "a piece promotes only in the enemy's camp"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*5i", "there is a piece on 5i"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*4e+", "a piece is dropped unpromoted"),
        ("4k4/9/9/9/9/9/9/9/4K4 b N 1", "N*1b", "a knight on 1b could never move"),
        ("4k4/9/9/9/9/5P3/9/9/4K4 b P 1", "P*4e", "Black has a pawn on file 4 already"),
        ("4k4/9/9/9/4r4/9/9/9/4K4 b P 1", "5i5h", "it leaves the king in check"),
        ("4k4/9/9/9/4r4/9/4G4/9/4K4 b - 1", "5g4g", "it leaves the king in check"),
        ("7nk/9/7G1/9/9/9/9/9/4K4 b P 1", "P*1b", "a pawn must not be dropped to give mate"),
        ("4k4/P8/9/9/9/9/9/9/4K4 b - 1", "9b9a", "a pawn has to promote on 9a"),
        ("4k4/G8/9/9/9/9/9/9/4K4 b - 1", "9b9a+", "a gold does not promote"),
    ],
)
def test_a_refusal_gives_the_reason(sfen: str | None, move: str, reason: str) -> None:
    assert why_refused(sfen, move) == reason


def test_a_side_without_moves_has_lost_without_check() -> None:
    game = ShogiGame("8k/6+R2/9/9/9/9/9/9/4K4 w - 1")
    assert not game.in_check()
    assert game.ending() == Ending(0, "stalemate")


#: White's king goes to and fro before Black's rook.
SHUFFLE = "8k/9/9/9/9/9/9/8R/K8 w - 1"
CHECKING = "1a2a 1h2h 2a1a 2h1h"
#: The same, but one of Black's moves gives no check.
PAUSING = "1a2a 1h3h 2a1a 3h1h"


def test_the_fourth_occurrence_of_a_position_is_a_draw() -> None:
    game = ShogiGame()
    cycle = "2h3h 8b7b 3h2h 7b8b "
    play_all(game, cycle * 2 + "2h3h 8b7b 3h2h")
    assert game.ending() is None
    game.play("7b8b")
    assert game.ending() == Ending(None, "repetition")


def test_pieces_in_hand_make_a_position_another_one() -> None:
    # Black gives a pawn away in each round, with the board as before.
    sfen = "4k4/9/9/9/9/9/9/9/4K4 b 4P4p 1"
    game = ShogiGame(sfen)
    for round in (1, 2, 3):
        play_all(game, "P*5b 5a5b 5i4i 5b4a 4i5i 4a5a")
        assert game.position().split()[0] == sfen.split()[0]
        assert game.position().split()[2].endswith(f"{4 + round}p")
        assert game.ending() is None


def test_perpetual_check_loses_at_the_fourth_occurrence() -> None:
    game = ShogiGame(SHUFFLE)
    play_all(game, f"{CHECKING} {CHECKING} 1a2a 1h2h 2a1a")
    assert game.ending() is None
    game.play("2h1h")
    assert game.ending() == Ending(1, "perpetual check")


def test_perpetual_check_loses_even_if_the_other_side_repeats() -> None:
    game = ShogiGame("8k/9/9/9/9/9/9/7R1/K8 b - 1")
    play_all(game, f"2h1h {CHECKING} {CHECKING} 1a2a 1h2h")
    assert game.ending() is None
    game.play("2a1a")
    assert game.ending() == Ending(1, "perpetual check")


@pytest.mark.parametrize("rounds", [(PAUSING, CHECKING, CHECKING), (CHECKING, PAUSING, CHECKING)])
def test_one_move_without_check_makes_repetition_a_draw(
    rounds: tuple[str, ...],
) -> None:
    game = ShogiGame(SHUFFLE)
    play_all(game, " ".join(rounds))
    assert game.ending() == Ending(None, "repetition")


def test_moves_before_the_first_occurrence_do_not_count() -> None:
    game = ShogiGame("8k/9/9/9/9/9/9/6R2/K8 b - 1")
    play_all(game, "3h2h 1a1b 2h1h " + "1b2b 1h2h 2b1b 2h1h " * 3)
    assert game.ending() == Ending(1, "perpetual check")


def flipped(sfen: str) -> str:
    """Return the same position with the sides changed."""
    board, side, hands, number = sfen.split()
    ranks = ["".join(re.findall(r"\+?.", rank)[::-1]) for rank in board.split("/")]
    turned = "/".join(reversed(ranks)).swapcase()
    return f"{turned} {'bw'[side == 'b']} {hands.swapcase()} {number}"


def entered(hand: str, camp: str = "+P+P+P+P+P4/1K1+R+P4/+P+P+P6") -> str:
    """Return a position with Black's king in the enemy's camp.

    By default ten pieces in the camp count 14 points.  All other pieces are in White's hand.
    """
    board = f"{camp}/9/9/9/9/9/k8"
    all_of = {"R": 2, "B": 2, "G": 4, "S": 4, "N": 4, "L": 4, "P": 18}
    used = (board + "".join(p * int(n or 1) for n, p in re.findall(r"([0-9]*)(.)", hand))).upper()
    left = {piece: count - used.count(piece) for piece, count in all_of.items()}
    others = "".join(f"{count}{piece.lower()}" for piece, count in left.items() if count)
    return f"{board} b {hand}{others} 1"


WIN_0 = Ending(0, "declaration")


@pytest.mark.parametrize(
    ("rule", "sfen", "ending", "why"),
    [
        ("27", entered("RB4P"), WIN_0, ""),
        ("27", entered("RB3P"), None, "Black has 27 points, not 28"),
        ("27", flipped(entered("RB3P")), Ending(1, "declaration"), ""),
        ("27", flipped(entered("RB2P")), None, "White has 26 points, not 27"),
        ("24", entered("RB7P"), WIN_0, ""),
        ("24", entered("RB6P"), Ending(None, "impasse"), ""),
        ("24", flipped(entered("R5P")), Ending(None, "impasse"), ""),
        ("24", entered("R4P"), None, "Black has 23 points, not 24"),
        (
            "27",
            entered("RB9P", camp="1+P+P+P+P4/1K1+R+P4/+P+P+P6"),
            None,
            "Black has 9 pieces beside its king in the enemy's camp, not 10",
        ),
        ("27", START_SFEN, None, "Black's king is not in the enemy's camp"),
        (
            "27",
            entered("B9P").replace("1K1", "rK1").replace("1r", ""),
            None,
            "Black is in check",
        ),
        ("trial", entered("RB4P"), None, "there is no declaration under the rules of this game"),
        ("none", entered("RB4P"), None, "there is no declaration under the rules of this game"),
    ],
)
def test_a_declaration_is_judged_by_its_rule(
    rule: str, sfen: str, ending: Ending | None, why: str
) -> None:
    game = ShogiGame(sfen, entering_king=rule)
    assert game.declare() == ending
    assert game.why_not_declare() == why


def test_the_giver_of_a_handicap_counts_the_missing_pieces() -> None:
    full = flipped(entered("3P"))
    assert ShogiGame(full).why_not_declare() == "White has 17 points, not 27"
    # the same without Black's rook and bishop: 17 points and the 10 of the odds
    board, side, hands, number = full.split()
    odds = re.sub("R", "", re.sub("2B", "B", hands))
    assert odds != hands
    assert ShogiGame(f"{board} {side} {odds} {number}").declare() == Ending(1, "declaration")


@pytest.mark.parametrize(
    ("sfen", "move", "winner"),
    [
        ("9/4K4/9/9/9/9/9/9/k8 b - 1", "5b5a", 0),
        ("9/9/9/9/9/9/9/4k4/K8 w - 1", "5h5i", 1),
    ],
)
def test_a_king_on_the_other_kings_first_square_wins_by_trial(
    sfen: str, move: str, winner: int
) -> None:
    game = ShogiGame(sfen, entering_king="trial")
    assert game.ending() is None
    game.play(move)
    assert game.ending() == Ending(winner, "trial")
    other = ShogiGame(sfen)
    other.play(move)
    assert other.ending() is None


def test_only_the_king_wins_by_trial() -> None:
    game = ShogiGame("9/9/9/9/9/9/9/k8/4G3K b G 1", entering_king="trial")
    game.play("G*5a")
    assert game.ending() is None


@pytest.mark.parametrize(
    ("sfen", "problem"),
    [
        ("", "an SFEN has 4 fields"),
        (START_SFEN.replace("/9", "", 1), "the board has 8 ranks, not 9"),
        (START_SFEN.replace("1r5b1", "1r5b"), "rank b, '1r5b', has 8 squares, not 9"),
        (START_SFEN.replace("gk", "+gk"), "has an invalid character"),
        (START_SFEN.replace(" b ", " x "), "the side to move is 'x', not b or w"),
        (START_SFEN.replace(" - ", " 0P "), "the pieces in hand are '0P'"),
        (START_SFEN.replace(" - ", " p "), "there are 19 pawns, of at most 18"),
        (START_SFEN.replace("gkg", "g1g"), "White has no king"),
        ("4k4/9/9/9/9/4P4/4P4/9/4K4 b - 1", "Black has two pawns on file 5"),
        ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "a pawn on 9a could never move"),
        ("4k4/9/9/9/9/9/9/9/4K3l b - 1", "a lance on 1i could never move"),
        ("4k4/9/4R4/9/9/9/9/9/4K4 b - 1", "the side that is not to move is in check"),
    ],
)
def test_a_wrong_sfen_is_refused_with_the_reason(sfen: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        ShogiGame(sfen)


@given(st.text(max_size=80))
def test_any_text_is_a_valid_sfen_or_refused(text: str) -> None:
    problem = ""
    try:
        ShogiGame(text)
    except ValueError as error:
        problem = str(error)
    assert problem.isprintable()


@pytest.mark.parametrize(
    ("written", "sfen"),
    [
        ("4k4/9/9/9/9/9/9/9/4K4 b -", "4k4/9/9/9/9/9/9/9/4K4 b - 1"),
        (" 4k4/9/9/9/9/9/9/9/4K4  w  p1P2r  0 ", "4k4/9/9/9/9/9/9/9/4K4 w P2rp 1"),
        ("4k4/11111112/9/9/9/9/9/9/4K4 b - 9999", "4k4/9/9/9/9/9/9/9/4K4 b - 9999"),
    ],
)
def test_an_sfen_is_normalised_to_usis_form(written: str, sfen: str) -> None:
    assert ShogiGame(written).position() == sfen
