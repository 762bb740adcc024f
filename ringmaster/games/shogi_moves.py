"""What the formats of shogi records share: moves as they tell them, and how a
game ended in terms of the side to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rsshogi.core import Board

from ringmaster.games.sfen import START_SFEN, normalise_sfen
from ringmaster.games.shogi import USI_MOVES
from ringmaster.games.text import shown
from ringmaster.model.record import GameRecord, MoveRecord


class Step(NamedTuple):
    """A move in a position.

    side    0 Black, 1 White
    start   file and rank as digits, "77"; "" for a drop
    target  likewise
    piece   what it is before the move, as SFEN calls Black's: "P", "+R"
    promotes  whether it promotes
    """

    side: int
    start: str
    target: str
    piece: str
    promotes: bool

    @property
    def piece_after(self) -> str:
        """What the piece is after the move."""
        return "+" + self.piece if self.promotes else self.piece


def start_of(record: GameRecord) -> str:
    """Return the start position, as USI writes it.  Raises ValueError."""
    fen = record.opening.fen
    return START_SFEN if fen is None else normalise_sfen(fen)


def take_step(board: Board, move: str) -> Step:
    """Play a move on `board` and return it.  Raises ValueError, the position
    unchanged, for one that is not legal."""
    found = USI_MOVES.get(move)
    if found is None or not board.is_legal_move(found):
        raise ValueError(f"{shown(move)} is not legal here")
    side = 0 if board.turn.is_black() else 1
    if found.is_drop():
        step = Step(side, "", _digits(move[2:4]), move[0], False)
    else:
        piece = board.piece_on(found.from_sq).piece_type.to_usi()
        start, target = _digits(move[:2]), _digits(move[2:4])
        step = Step(side, start, target, piece, found.is_promotion())
    board.apply_move(found)
    return step


def line_of(board: Board, moves: Iterable[str]) -> Iterator[Step]:
    """Yield the moves of an engine's line for as long as they are legal; `board`
    stays as it is."""
    board = board.copy()
    for move in moves:
        try:
            yield take_step(board, move)
        except ValueError:
            return


def expected_line(move: MoveRecord) -> tuple[str, ...]:
    """Return what the mover expects after its move: a line begins with it, unless
    the engine has changed its mind since."""
    return move.pv[1:] if move.pv and move.pv[0] == move.move else ()


#: A mate in formats that have no other word for it: so much less its plies, which
#: readers can hold in 16 bits.
MATE_SCORE: Final = 32_000


def black_score(move: MoveRecord, side: int) -> int | None:
    """Return the score from Black's side in centipawns, a mate in 3 plies as
    ±31,997; None if there is none."""
    if move.mate is not None:
        distance = MATE_SCORE - min(abs(move.mate), 1000)
        score = -distance if move.mate <= 0 else distance
    elif move.score is not None:
        score = move.score
    else:
        return None
    return -score if side else score


_DETAILS: Final = ("nodes", "seldepth", "nps", "hashfull", "tbhits", "left")


def details(move: MoveRecord, wanted: tuple[str, ...]) -> str:
    """Return what is known of the search beside score, depth and time, as far as
    it is wanted: "nodes 1234, nps 5678"."""
    if not wanted:
        return ""
    parts = []
    for field in _DETAILS:
        value = getattr(move, field)
        if field in wanted and value is not None:
            parts.append(f"{field} {value:.3f}s" if field == "left" else f"{field} {value}")
    return ", ".join(parts)


#: Faults of a player that is not at its move as well.
_FAULTS: Final = ("refused", "crash", "hang", "protocol", "start", "setup", "perpetual check")
_TIME: Final = ("time", "stall")
_ILLEGAL: Final = ("illegal move", "illegal declaration")


def how_it_ended(record: GameRecord, to_move: int) -> str:
    """Return how a game ended, as records tell it of the side to move.

    "lost"          it has no move left, or has resigned, or has lost otherwise
    "time"          it has overstepped the time
    "illegal"       it has made an illegal move or declaration
    "won"           it has declared, rightly
    "black fault", "white fault"  a player has lost by a fault, whoever is to move
    "repetition", "impasse", "draw"
    "stopped"       without a result, or with one that has no word of its own
    """
    if record.score == "1/2-1/2":
        return record.reason if record.reason in ("repetition", "impasse") else "draw"
    if record.score not in ("1-0", "0-1"):
        return "stopped"
    loser = 1 if record.score == "1-0" else 0
    if record.reason in _FAULTS:
        return ("black fault", "white fault")[loser]
    if loser != to_move:
        return "won" if record.reason == "declaration" else "stopped"
    if record.reason in _TIME:
        return "time"
    return "illegal" if record.reason in _ILLEGAL else "lost"


def _digits(square: str) -> str:
    """Return "7g" as "77"."""
    return square[0] + _DIGITS[square[1]]


_DIGITS: Final = dict(zip("abcdefghi", "123456789", strict=True))
