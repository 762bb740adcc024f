"""A Go position for the demo engine: two sets of points, played forward.

Points are bits of a number, counted row by row from A1 with one unused bit after
each row, so that shifts do not wrap.  Positions are values, which makes undo and
looking ahead cheap.  `ringmaster.games.go` is the referee's board: it alternates
colours, keeps its chains to itself and has no way back, so it does not serve here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

BLACK, WHITE = 0, 1


class Geometry:
    """What depends on the size of the board only; points are bit numbers."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.stride = size + 1
        self.points = tuple(r * self.stride + c for r in range(size) for c in range(size))
        self.board = sum(1 << p for p in self.points)
        self.neighbours = {p: self.grow(1 << p) & self.board & ~(1 << p) for p in self.points}
        up = self.stride
        self.diagonals = {
            p: sum(1 << q for q in (p - up - 1, p - up + 1, p + up - 1, p + up + 1) if q >= 0)
            & self.board
            for p in self.points
        }
        #: Lines from the edge, 1 on the edge.
        self.line = {
            p: 1 + min(p % up, p // up, size - 1 - p % up, size - 1 - p // up) for p in self.points
        }
        #: Points at most three steps away.
        self.vicinity = {
            p: self.grow(self.grow(self.grow(1 << p) & self.board) & self.board) & self.board
            for p in self.points
        }

    def grow(self, points: int) -> int:
        """Return `points` and their neighbours; bits off the board may be set."""
        return points | points << 1 | points >> 1 | points << self.stride | points >> self.stride

    def flood(self, seed: int, within: int) -> int:
        """Return what steps inside `within` join to `seed`."""
        reached = seed
        while True:
            further = self.grow(reached) & within
            if further == reached:
                return reached
            reached = further


@cache
def geometry(size: int) -> Geometry:
    """Return the geometry of a board of `size` lines."""
    return Geometry(size)


def bits(points: int) -> Iterator[int]:
    """Yield the points of a set in ascending order."""
    while points:
        low = points & -points
        yield low.bit_length() - 1
        points ^= low


class Position(NamedTuple):
    """Stones and the point, as a set, that ko forbids to play on."""

    black: int = 0
    white: int = 0
    ko: int = 0

    def play(self, board: Geometry, point: int, colour: int) -> Position | None:
        """Return the position after a stone, None if the move is not legal.

        Suicide is not legal here; a referee may allow it.
        """
        bit = 1 << point
        if not board.board & bit or (self.black | self.white | self.ko) & bit:
            return None
        own, other = (self.white, self.black) if colour else (self.black, self.white)
        own |= bit
        empty = board.board & ~(own | other)
        taken = 0
        near = board.neighbours[point] & other
        while near:
            chain = board.flood(near & -near, other)
            near &= ~chain
            if not board.grow(chain) & empty:
                taken |= chain
        other &= ~taken
        chain = board.flood(bit, own)
        liberties = board.grow(chain) & (empty | taken)
        if not liberties:
            return None
        ko = 0
        if taken.bit_count() == 1 and chain == bit and liberties == taken:
            ko = taken
        return Position(other, own, ko) if colour else Position(own, other, ko)

    def area(self, board: Geometry) -> tuple[int, int]:
        """Return Black's and White's area, all stones taken to be alive."""
        empty = board.board & ~(self.black | self.white)
        black = board.flood(self.black, self.black | empty) & empty
        white = board.flood(self.white, self.white | empty) & empty
        return (
            (self.black | black & ~white).bit_count(),
            (self.white | white & ~black).bit_count(),
        )


class Chain(NamedTuple):
    """Joined stones of one colour, and their liberties."""

    stones: int
    liberties: int


def chains(board: Geometry, stones: int, empty: int) -> dict[int, Chain]:
    """Return the chain of each stone, by point."""
    found: dict[int, Chain] = {}
    while stones:
        joined = board.flood(stones & -stones, stones)
        stones ^= joined
        chain = Chain(joined, board.grow(joined) & empty)
        for point in bits(joined):
            found[point] = chain
    return found
