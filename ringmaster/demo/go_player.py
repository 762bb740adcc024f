"""Positions and moves of the demo Go engine, one ply ahead by weighted features.

Points are bits, row by row from A1, with one unused bit after each row so that shifts do
not wrap.  Positions are values, unlike the referee's board (`ringmaster.games.go`),
which makes undo and lookahead cheap.  There is no search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from ringmaster.demo.console import Option

BLACK, WHITE = 0, 1


class Geometry:
    """Tables of a board size; points are bit numbers."""

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
        """Return the points connected to `seed` inside `within`."""
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
    """Stones, and the point forbidden by ko, as bits."""

    black: int = 0
    white: int = 0
    ko: int = 0

    def play(self, board: Geometry, point: int, colour: int) -> Position | None:
        """Return the position after a move, None if it is illegal; suicide is illegal."""
        bit = 1 << point
        if not board.board & bit or (self.black | self.white | self.ko) & bit:
            return None
        own, other = (self.white, self.black) if colour else (self.black, self.white)
        own |= bit
        empty = board.board & ~(own | other)
        captured = 0
        near = board.neighbours[point] & other
        while near:
            chain = board.flood(near & -near, other)
            near &= ~chain
            if not board.grow(chain) & empty:
                captured |= chain
        other &= ~captured
        chain = board.flood(bit, own)
        liberties = board.grow(chain) & (empty | captured)
        if not liberties:
            return None
        ko = 0
        if captured.bit_count() == 1 and chain == bit and liberties == captured:
            ko = captured
        return Position(other, own, ko) if colour else Position(own, other, ko)

    def area(self, board: Geometry) -> tuple[int, int]:
        """Return Black's and White's area, with all stones alive."""
        empty = board.board & ~(self.black | self.white)
        black = board.flood(self.black, self.black | empty) & empty
        white = board.flood(self.white, self.white | empty) & empty
        return (
            (self.black | black & ~white).bit_count(),
            (self.white | white & ~black).bit_count(),
        )


class Chain(NamedTuple):
    """Connected stones of one colour, and their liberties."""

    stones: int
    liberties: int


def chains(board: Geometry, stones: int, empty: int) -> dict[int, Chain]:
    """Return the chain of each stone, by point."""
    features: dict[int, Chain] = {}
    while stones:
        joined = board.flood(stones & -stones, stones)
        stones ^= joined
        chain = Chain(joined, board.grow(joined) & empty)
        for point in bits(joined):
            features[point] = chain
    return features


WEIGHTS = (
    # for each captured stone; put into atari; saved from atari
    Option("Capture", 30, -100, 200),
    Option("Atari", 10, -100, 200),
    Option("Escape", 25, -100, 200),
    # subtracted for each own stone left with one liberty
    Option("SelfAtari", 30, -100, 200),
    # for each liberty of the played chain, up to four; for each chain left with two
    Option("Liberties", 4, -50, 50),
    Option("Pressure", 3, -50, 50),
    # for connecting own chains; cutting enemy chains; bending round an enemy stone
    Option("Connect", 6, -100, 100),
    Option("Cut", 10, -100, 100),
    Option("Hane", 8, -100, 100),
    # for a point near the last move; on the third or fourth line; on the first line
    Option("Near", 6, -100, 100),
    Option("HighLine", 5, -100, 100),
    Option("FirstLine", -12, -100, 100),
    # for a point near own stones only
    Option("OwnArea", -20, -100, 100),
)

#: A random number up to Noise, a function of position and seed.
NOISE = (Option("Noise", 3, 0, 1000), Option("Seed", 0, 0, 999_999_999))

_WORD = (1 << 64) - 1


def is_eye(board: Geometry, point: int, own: int, other: int) -> bool:
    """Return whether an empty point is an own eye."""
    if board.neighbours[point] & ~own:
        return False
    diagonals = board.diagonals[point]
    false = (diagonals & other).bit_count()
    return false == 0 or (false == 1 and board.line[point] > 1)


def choose(
    board: Geometry,
    position: Position,
    colour: int,
    last: int | None,
    values: Mapping[str, int],
) -> tuple[int | None, str]:
    """Return the point to play, None for a pass, and the reason.

    last    point of the last move, None after a pass
    values  option values by name, for all of WEIGHTS and NOISE
    """
    own, other = position.black, position.white
    if colour:
        own, other = other, own
    empty = board.board & ~(own | other)
    own_chains = chains(board, own, empty)
    other_chains = chains(board, other, empty)
    noise = values["Noise"]
    seed = (values["Seed"] * 0xD1342543DE82EF95 + position.black * 3 + position.white * 5) & _WORD
    # Boards have up to 650 bits: all of them count.
    seed ^= (position.black ^ position.white << 1) % 0xFFFFFFFFFFFFFFC5
    vicinity = 0 if last is None else board.vicinity[last]
    best: tuple[int, int, dict[str, int]] | None = None
    for point in bits(empty & ~position.ko):
        if is_eye(board, point, own, other):
            continue
        bit = 1 << point
        around = board.neighbours[point]
        joined = {own_chains[q] for q in bits(around & own)}
        touched = {other_chains[q] for q in bits(around & other)}
        features = dict.fromkeys(("Capture", "Atari", "Escape", "SelfAtari", "Pressure"), 0)
        captured = 0
        for chain in touched:
            left = (chain.liberties & ~bit).bit_count()
            if left == 0:
                captured |= chain.stones
            elif left == 1:
                features["Atari"] += chain.stones.bit_count()
            elif left == 2:
                features["Pressure"] += 1
        stones = bit
        liberties = around & empty
        for chain in joined:
            stones |= chain.stones
            liberties |= chain.liberties
        liberties = (liberties | board.grow(stones) & captured) & ~bit
        count = liberties.bit_count()
        if count == 0:
            continue
        features["Capture"] = captured.bit_count()
        if count == 1:
            features["SelfAtari"] = -stones.bit_count()
        else:
            for chain in joined:
                if chain.liberties == bit:
                    features["Escape"] += chain.stones.bit_count()
        features["Liberties"] = min(count, 4)
        features["Connect"] = len(joined) > 1
        features["Cut"] = len(touched) > 1
        features["Hane"] = _is_hane(board, around, board.diagonals[point], own, other)
        features["Near"] = vicinity >> point & 1
        line = board.line[point]
        features["HighLine"] = line in (3, 4)
        features["FirstLine"] = line == 1
        nearby = board.vicinity[point]
        features["OwnArea"] = bool(nearby & own) and not nearby & other
        value = sum(values[name] * amount for name, amount in features.items())
        if noise:
            mixed = (seed + point * 0x9E3779B97F4A7C15) & _WORD
            mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9 & _WORD
            mixed = (mixed ^ mixed >> 29) * 0x94D049BB133111EB & _WORD
            value += (mixed >> 32) % (2 * noise + 1) - noise
        if best is None or value > best[0]:
            best = (value, point, features)
    if best is None:
        return None, "pass: only own eyes are left"
    value, point, features = best
    reasons = [f"{name} {values[name] * amount:+d}" for name, amount in features.items() if amount]
    return point, f"value {value}: {', '.join(reasons) or 'nothing in particular'}"


def _is_hane(board: Geometry, around: int, diagonals: int, own: int, other: int) -> bool:
    """Return whether a stone bends round an enemy stone from an own diagonal stone."""
    return bool(diagonals & own & board.grow(around & other)) and not around & own
