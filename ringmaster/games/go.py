"""The rules of Go as GTP engines play them, on a board fast enough for instant engines.

Self-capture allowed (of a single stone too), only the simple ko forbidden, two
passes in a row end the game: what Gomill's ringmaster does; other rules are in
`go_rules`.  Counting takes all stones to be alive.  Who wins is left to the
caller, who knows of komi and of the players' own scoring; vertices and
handicaps are in `vertices`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Ending, Game
from ringmaster.games.text import cut
from ringmaster.games.vertices import (
    check_size,
    fixed_handicap,
    format_vertex,
    max_fixed_handicap,
    max_free_handicap,
    parse_vertex,
)
from ringmaster.model.jobs import Scoring

__all__ = [
    "GoGame",
    "fixed_handicap",
    "format_vertex",
    "max_fixed_handicap",
    "max_free_handicap",
    "parse_vertex",
]

_SCORE: Final = Ending(None, "score")
_NAMES: Final = ("black", "white")


class Chain:
    """Stones of one colour joined along lines; `liberties` is a set of points
    as the bits of a number, never 0 between moves."""

    __slots__ = ("colour", "liberties", "points")

    def __init__(self, colour: int, liberties: int, points: list[int]) -> None:
        self.colour = colour
        self.liberties = liberties
        self.points = points


class _Geometry:
    """What depends on the size of the board only.

    Points are numbered row by row from A1 with one unused number after each
    row, so that shifting a set of points (bits) never wraps onto the next row.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.stride = size + 1
        self.points = tuple(r * self.stride + c for r in range(size) for c in range(size))
        self.bits = tuple(1 << p for p in range(size * self.stride))
        self.board = sum(self.bits[p] for p in self.points)
        self.others = tuple(self.board & ~bit for bit in self.bits)
        inside = set(self.points)
        self.neighbours = tuple(
            tuple(q for q in (p - self.stride, p - 1, p + 1, p + self.stride) if q in inside)
            if p in inside
            else ()
            for p in range(size * self.stride)
        )
        self.names = {p: format_vertex((p % self.stride, p // self.stride)) for p in self.points}
        self.numbers = {name: p for p, name in self.names.items()}
        self.numbers.update({name.lower(): p for name, p in self.numbers.items()})

    def grow(self, points: int) -> int:
        """Return `points` with their neighbours; bits off the board may be set."""
        stride = self.stride
        return points | points << 1 | points >> 1 | points << stride | points >> stride

    def reach(self, stones: int, empty: int) -> int:
        """Return the points of `empty` that a path over empty points joins to `stones`."""
        reached = self.grow(stones) & empty
        while True:
            further = self.grow(reached) & empty
            if further == reached:
                return reached
            reached = further


@cache
def _geometry(size: int) -> _Geometry:
    return _Geometry(size)


class GoGame(Game):
    """A game of Go on a board of 2 to 25 lines."""

    colours = _NAMES

    __slots__ = ("_at", "_first", "_geometry", "_handicap", "_ko", "_passes", "_side")

    def __init__(self, size: int, setup: Sequence[str] = (), to_move: int = 0) -> None:
        """Start from the black stones of `setup` (vertices), `to_move` (0 Black,
        1 White) to play.

        Raises ValueError for a size, a vertex or a number of stones that is not
        possible, or a vertex that is given twice.
        """
        super().__init__()
        check_size(size)
        self._geometry = _geometry(size)
        self._at: list[Chain | None] = [None] * len(self._geometry.bits)
        self._ko = -1
        self._passes = 0
        self._side = self._first = 1 if to_move else 0
        self._handicap = len(setup)
        if len(setup) > max_free_handicap(size):
            raise ValueError(f"{len(setup)} handicap stones do not fit on a {size}x{size} board")
        for vertex in setup:
            point = parse_vertex(vertex, size)
            if point is None:
                raise ValueError("a handicap stone cannot be a pass")
            p = self._geometry.numbers[format_vertex(point)]
            if self._at[p] is not None:
                raise ValueError(f"handicap stone {format_vertex(point)} is given twice")
            self._put(p, 0)

    @property
    def size(self) -> int:
        """Lines of the board."""
        return self._geometry.size

    @property
    def to_move(self) -> int:
        return self._side

    def play(self, move: str) -> None:
        geometry = self._geometry
        p = geometry.numbers.get(move)
        if p is None:
            if move[:5].lower() != "pass":
                raise self._refusal(move)
            self._ko = -1
            self._passes += 1
            self.moves.append("pass")
        else:
            if self._at[p] is not None or p == self._ko:
                raise self._refusal(move)
            self._ko = self._put(p, self._side)
            self._passes = 0
            self.moves.append(geometry.names[p])
        self._side ^= 1

    def ending(self) -> Ending | None:
        return _SCORE if self._passes >= 2 else None

    def resume(self) -> None:
        """Let play go on after two passes, as it does to clear dead stones away."""
        self._passes = 0

    def area_score(self) -> tuple[int, int]:
        """Return Black's and White's area, in points: stones, all taken to be
        alive, and the empty regions that border on one colour only."""
        stones, regions = self._count()
        return stones[0] + regions[0], stones[1] + regions[1]

    def territory_score(self) -> tuple[int, int]:
        """Return Black's and White's points by territory: the empty regions that
        border on one colour only, and a point for each stone the other side has
        lost; all stones on the board are taken to be alive."""
        stones, regions = self._count()
        played = self.stones_played()
        lost = played[0] - stones[0], played[1] - stones[1]
        return regions[0] + lost[1], regions[1] + lost[0]

    def stones_played(self) -> tuple[int, int]:
        """Return how many stones each side has put on the board, handicap
        stones included."""
        counts = [self._handicap, 0]
        for number, move in enumerate(self.moves):
            if move != "pass":
                counts[(number + self._first) % 2] += 1
        return counts[0], counts[1]

    def _count(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the stones on the board, and the points of the regions that
        border on one colour only."""
        geometry = self._geometry
        bits = geometry.bits
        stones = [0, 0]
        for p, chain in enumerate(self._at):
            if chain is not None:
                stones[chain.colour] |= bits[p]
        black, white = stones
        empty = geometry.board & ~(black | white)
        from_black = geometry.reach(black, empty)
        from_white = geometry.reach(white, empty)
        return (
            (black.bit_count(), white.bit_count()),
            ((from_black & ~from_white).bit_count(), (from_white & ~from_black).bit_count()),
        )

    def margin(self, komi: float, compensation: float = 0.0, *, scoring: Scoring = "area") -> float:
        """Return Black's points less White's, less `komi` and `compensation`
        (points for White for handicap stones); 0 is jigo."""
        black, white = self.area_score() if scoring == "area" else self.territory_score()
        return black - white - komi - compensation

    def stones(self) -> tuple[set[str], set[str]]:
        """Return the vertices of Black's and White's stones."""
        found: tuple[set[str], set[str]] = (set(), set())
        for p, chain in enumerate(self._at):
            if chain is not None:
                found[chain.colour].add(self._geometry.names[p])
        return found

    @property
    def ko(self) -> str | None:
        """Vertex that the side to move may not play because of ko, or None."""
        return None if self._ko < 0 else self._geometry.names[self._ko]

    def position(self) -> str:
        """Return the board from its top row down, X for Black, O for White and
        numbers for empty points: "3x3 3/1XO/3 black to move, ko at A2"."""
        size, stride = self.size, self._geometry.stride
        rows = []
        for row in reversed(range(size)):
            text, empty = "", 0
            for chain in self._at[row * stride : row * stride + size]:
                if chain is None:
                    empty += 1
                else:
                    text += f"{empty or ''}{'XO'[chain.colour]}"
                    empty = 0
            rows.append(f"{text}{empty or ''}")
        ko = f", ko at {self.ko}" if self._ko >= 0 else ""
        return f"{size}x{size} {'/'.join(rows)} {_NAMES[self._side]} to move{ko}"

    def _put(self, p: int, colour: int) -> int:
        """Put a stone on the empty point `p`, take what has lost its last
        liberty, the other side first; return the point of a ko, or -1."""
        at = self._at
        bits = self._geometry.bits
        neighbours = self._geometry.neighbours
        bit = bits[p]
        others = self._geometry.others[p]
        liberties = 0
        chain: Chain | None = None
        captured: list[Chain] = []
        for q in neighbours[p]:
            near = at[q]
            if near is None:
                liberties |= bits[q]
            elif near.colour != colour:
                if near.liberties != bit:
                    near.liberties &= others
                elif near not in captured:
                    captured.append(near)
            elif chain is None:
                chain = near
            elif near is not chain:
                if len(near.points) > len(chain.points):
                    chain, near = near, chain
                chain.liberties |= near.liberties
                chain.points += near.points
                for r in near.points:
                    at[r] = chain
        if chain is None:
            chain = Chain(colour, liberties, [p])
        else:
            chain.liberties = (chain.liberties | liberties) & others
            chain.points.append(p)
        at[p] = chain
        for taken in captured:
            self._take(taken)
        if not chain.liberties:
            self._take(chain)
        elif len(captured) == 1 and len(chain.points) == 1:
            # Ko: a lone stone that took a lone stone and could be taken back at once.
            points = captured[0].points
            if len(points) == 1 and chain.liberties == bits[points[0]]:
                return points[0]
        return -1

    def _take(self, chain: Chain) -> None:
        """Take a chain off the board."""
        at = self._at
        neighbours = self._geometry.neighbours
        for p in chain.points:
            at[p] = None
        for p in chain.points:
            bit = self._geometry.bits[p]
            for q in neighbours[p]:
                near = at[q]
                if near is not None:
                    near.liberties |= bit

    def _refusal(self, move: str, reason: str = "") -> IllegalMove:
        """Make the error for a move; without a reason it is found."""
        p = self._geometry.numbers.get(move)
        if reason:
            pass
        elif p is None:
            try:
                parse_vertex(move, self.size)
                reason = "not a vertex"
            except ValueError as error:
                reason = str(error)
        elif self._at[p] is not None:
            reason = "the point is occupied"
        else:
            reason = "it retakes the ko at once"
        return IllegalMove(cut(move, 40), self.position(), reason)
