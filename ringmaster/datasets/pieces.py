"""The pieces of chess and shogi as numbers, and how they move, for work on many boards at
once.

A board is a row of squares as FEN and SFEN have them: from the rank that is furthest from
the first player, each rank from that player's left.  0 is an empty square; `colour` is
added for a piece of the second player.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

Step = tuple[int, int]

_ORTHOGONAL: tuple[Step, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))
_DIAGONAL: tuple[Step, ...] = ((-1, -1), (-1, 1), (1, -1), (1, 1))
#: Directions as (rank, file): forward for the first player is −1.
DIRECTIONS: tuple[Step, ...] = _ORTHOGONAL + _DIAGONAL
_GOLD: tuple[Step, ...] = (*_ORTHOGONAL, (-1, -1), (-1, 1))


@dataclass(frozen=True)
class Piece:
    """How a piece of the first player takes.

    letter  as FEN or SFEN has it for the first player
    steps   to the next square
    slides  as far as the way is free
    jumps   over whatever is between
    value   in pawns, roughly
    """

    letter: str
    steps: tuple[Step, ...] = ()
    slides: tuple[Step, ...] = ()
    jumps: tuple[Step, ...] = ()
    value: float = 0.0


@dataclass(frozen=True)
class PieceSet:
    """The pieces of a game.

    size    squares of a side of the board
    colour  what is added for the second player
    pieces  by their numbers
    king    number of the king
    """

    size: int
    colour: int
    pieces: dict[int, Piece]
    king: int
    hand: tuple[int, ...] = field(default=())

    @cached_property
    def values(self) -> npt.NDArray[np.float32]:
        """Values by number, negative for the second player."""
        values = np.zeros(2 * self.colour, dtype=np.float32)
        for number, piece in self.pieces.items():
            values[number], values[number + self.colour] = piece.value, -piece.value
        return values

    @cached_property
    def rays(self) -> npt.NDArray[np.intp]:
        """Squares by (square, direction, distance − 1); one past the last off the board."""
        n = self.size
        rays = np.full((n * n, len(DIRECTIONS), n - 1), n * n, dtype=np.intp)
        for square in range(n * n):
            for i, (dr, dc) in enumerate(DIRECTIONS):
                r, c = divmod(square, n)
                for distance in range(n - 1):
                    r, c = r + dr, c + dc
                    if not (0 <= r < n and 0 <= c < n):
                        break
                    rays[square, i, distance] = r * n + c
        return rays

    @cached_property
    def attackers(self) -> npt.NDArray[np.bool_]:
        """Whether a piece attacks the king of a side, by (side, number, direction from
        the king, 1 when it stands next to the king else 0)."""
        table = np.zeros((2, 2 * self.colour, len(DIRECTIONS), 2), dtype=np.bool_)
        for number, piece in self.pieces.items():
            for i, (dr, dc) in enumerate(DIRECTIONS):
                # the piece looks back along the way from the king
                for side, back in ((1, (-dr, -dc)), (0, (dr, -dc))):
                    code = number if side else number + self.colour
                    slides = back in piece.slides
                    table[side, code, i, 0] = slides
                    table[side, code, i, 1] = slides or back in piece.steps
        return table

    @cached_property
    def jumps(self) -> npt.NDArray[np.intp]:
        """Squares from which a knight attacks the king of a side, by (side, square, which),
        one past the last where there is none."""
        n = self.size
        (steps,) = (piece.jumps for piece in self.pieces.values() if piece.jumps)
        table = np.full((2, n * n, len(steps)), n * n, dtype=np.intp)
        for square in range(n * n):
            r, c = divmod(square, n)
            for i, (dr, dc) in enumerate(steps):
                for side, (a, b) in ((1, (r - dr, c - dc)), (0, (r + dr, c - dc))):
                    if 0 <= a < n and 0 <= b < n:
                        table[side, square, i] = a * n + b
        return table

    @cached_property
    def knight(self) -> int:
        """Number of the piece that jumps."""
        (number,) = (number for number, piece in self.pieces.items() if piece.jumps)
        return number


_KNIGHT = tuple((a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b))

CHESS = PieceSet(
    size=8,
    colour=8,
    pieces={
        1: Piece("P", steps=((-1, -1), (-1, 1)), value=1),
        2: Piece("N", jumps=_KNIGHT, value=3),
        3: Piece("B", slides=_DIAGONAL, value=3),
        4: Piece("R", slides=_ORTHOGONAL, value=5),
        5: Piece("Q", slides=DIRECTIONS, value=9),
        6: Piece("K", steps=DIRECTIONS),
    },
    king=6,
)

#: What promotion adds to the number of a piece of shogi.
PROMOTED = 8
SHOGI = PieceSet(
    size=9,
    colour=16,
    pieces={
        1: Piece("P", steps=((-1, 0),), value=1),
        2: Piece("L", slides=((-1, 0),), value=3),
        3: Piece("N", jumps=((-2, -1), (-2, 1)), value=4),
        4: Piece("S", steps=((-1, 0), *_DIAGONAL), value=5),
        5: Piece("G", steps=_GOLD, value=6),
        6: Piece("B", slides=_DIAGONAL, value=8),
        7: Piece("R", slides=_ORTHOGONAL, value=10),
        8: Piece("K", steps=DIRECTIONS),
        9: Piece("+P", steps=_GOLD, value=4),
        10: Piece("+L", steps=_GOLD, value=5),
        11: Piece("+N", steps=_GOLD, value=6),
        12: Piece("+S", steps=_GOLD, value=6),
        14: Piece("+B", steps=_ORTHOGONAL, slides=_DIAGONAL, value=10),
        15: Piece("+R", steps=_DIAGONAL, slides=_ORTHOGONAL, value=12),
    },
    king=8,
    #: the order of USI's hands
    hand=(7, 6, 5, 4, 3, 2, 1),
)
