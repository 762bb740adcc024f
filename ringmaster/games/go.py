"""The rules of Go for GTP engines, on a board fast enough for instant engines.

As in Gomill's ringmaster, self-capture is allowed, simple ko is forbidden, and two passes in
a row end the game; `StrictGoGame` has other rules.  Scores take all stones to be alive.

A vertex is (column, row), both from 0 at the lower left corner A1.  Source of the fixed
handicaps: GTP 2 specification, section 4.1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from ringmaster.errors import IllegalMove, cut
from ringmaster.games.clean_text import shown
from ringmaster.games.game import Ending, Game
from ringmaster.model.go_rules import KoRule, Rules

Point = tuple[int, int]

MIN_SIZE, MAX_SIZE = 2, 25
_COLUMNS: Final = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


def format_vertex(point: Point | None) -> str:
    """Return "D4" for (3, 3), "pass" for None."""
    return "pass" if point is None else f"{_COLUMNS[point[0]]}{point[1] + 1}"


def parse_vertex(text: str, size: int) -> Point | None:
    """Return the point of a vertex in upper or lower case, None for a pass.

    Raises ValueError for anything else.
    """
    # not upper(): "paß" in upper case is "PASS"
    if text[:5].lower() == "pass":
        return None
    column, row = text[:1].upper(), text[1:]
    if not (len(text) <= 3 and text.isascii() and column.isalpha() and row.isdigit()):
        raise ValueError(f"{shown(text)} is not a vertex such as D4")
    if column == "I":
        raise ValueError(f"{shown(text)} is not a vertex: the letter I is left out")
    point = _COLUMNS.index(column), int(row) - 1
    if format_vertex(point) != text.upper():
        raise ValueError(f"{shown(text)} is not a vertex such as D4")
    if not (point[0] < size and 0 <= point[1] < size):
        raise ValueError(f"{shown(text)} is not on a {size}x{size} board")
    return point


def max_fixed_handicap(size: int) -> int:
    """Return the largest number of stones that `fixed_handicap` can place, 0 for none."""
    if size < 7:
        return 0
    return 4 if size == 7 or size % 2 == 0 else 9


def max_free_handicap(size: int) -> int:
    """Return the largest number of freely placed stones: all points but one."""
    return size * size - 1


def fixed_handicap(size: int, n: int) -> tuple[str, ...]:
    """Return the vertices of `n` handicap stones (at least 2) in the standard layout.

    Raises ValueError where the layout has fewer places.
    """
    most = max_fixed_handicap(size)
    if not 2 <= n <= most:
        allowed = f"takes 2 to {most}" if most else "has none"
        raise ValueError(f"{n} fixed handicap stones on {size}x{size}, which {allowed}")
    low = 3 if size >= 13 else 2
    high, middle = size - 1 - low, size // 2
    corners = [(low, low), (high, high), (low, high), (high, low)]
    sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
    points = corners[:n] + sides[: max(0, n - n % 2 - 4)]
    # the odd stone, from five on, goes to the middle
    if n >= 5 and n % 2:
        points.append((middle, middle))
    return tuple(map(format_vertex, points))


_SCORE: Final = Ending(None, "score")
_NAMES: Final = ("black", "white")


class Chain:
    """Stones of one colour joined along lines.

    liberties  a set of points as the bits of a number, never 0 between moves
    """

    __slots__ = ("colour", "liberties", "points")

    def __init__(self, colour: int, liberties: int, points: list[int]) -> None:
        self.colour = colour
        self.liberties = liberties
        self.points = points


class Geometry:
    """Tables for one board size.

    Points are numbered row by row from A1.  One unused number follows each row, so that a
    shifted set of points (bits) never wraps onto the next row.
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
        """Return `points` and their neighbours; bits off the board may be set."""
        stride = self.stride
        return points | points << 1 | points >> 1 | points << stride | points >> stride

    def reach(self, stones: int, empty: int) -> int:
        """Return the points of `empty` joined to `stones` by a path over empty points."""
        reached = self.grow(stones) & empty
        while True:
            further = self.grow(reached) & empty
            if further == reached:
                return reached
            reached = further


_geometry = cache(Geometry)


class GoGame(Game):
    """A game of Go on a board of 2 to 25 lines."""

    colours = _NAMES

    __slots__ = ("_first", "_handicap", "_ko", "_passes", "_side", "chains", "geometry")

    def __init__(self, size: int, setup: Sequence[str] = (), to_move: int = 0) -> None:
        """Start a game.

        setup    vertices of black stones
        to_move  0 Black, 1 White

        Raises ValueError for an impossible size, vertex or number of stones, and for a
        repeated vertex.
        """
        super().__init__()
        # GTP cannot name the points of others
        if not MIN_SIZE <= size <= MAX_SIZE:
            raise ValueError(f"board size {size} is not between {MIN_SIZE} and {MAX_SIZE}")
        self.geometry = _geometry(size)
        #: The chain on each point, by its number.
        self.chains: list[Chain | None] = [None] * len(self.geometry.bits)
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
            p = self.geometry.numbers[format_vertex(point)]
            if self.chains[p] is not None:
                raise ValueError(f"handicap stone {format_vertex(point)} is given twice")
            self._put(p, 0)

    @property
    def size(self) -> int:
        """Lines of the board."""
        return self.geometry.size

    @property
    def to_move(self) -> int:
        return self._side

    def play(self, move: str) -> None:
        geometry = self.geometry
        p = geometry.numbers.get(move)
        if p is None:
            if move[:5].lower() != "pass":
                raise self._refusal(move)
            self._ko = -1
            self._passes += 1
            self.moves.append("pass")
        else:
            if self.chains[p] is not None or p == self._ko:
                raise self._refusal(move)
            self._ko = self._put(p, self._side)
            self._passes = 0
            self.moves.append(geometry.names[p])
        self._side ^= 1

    def ending(self) -> Ending | None:
        return _SCORE if self._passes >= 2 else None

    def area_score(self) -> tuple[int, int]:
        """Return Black's and White's area in points: stones, and empty regions that border
        on one colour only."""
        stones, regions = self._count()
        return stones[0] + regions[0], stones[1] + regions[1]

    def territory_score(self) -> tuple[int, int]:
        """Return Black's and White's territory in points: empty regions that border on one
        colour only, and one point for each captured stone."""
        stones, regions = self._count()
        played = self.stones_played()
        lost = played[0] - stones[0], played[1] - stones[1]
        return regions[0] + lost[1], regions[1] + lost[0]

    def stones_played(self) -> tuple[int, int]:
        """Return the number of stones placed by each side, handicap stones included."""
        counts = [self._handicap, 0]
        for number, move in enumerate(self.moves):
            if move != "pass":
                counts[(number + self._first) % 2] += 1
        return counts[0], counts[1]

    def _count(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the stones of both sides, and the sizes of their one-coloured regions."""
        geometry = self.geometry
        bits = geometry.bits
        stones = [0, 0]
        for p, chain in enumerate(self.chains):
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

    def margin(self, komi: float, rules: Rules) -> float:
        """Return Black's points less White's, 0 for jigo.

        komi  White's points for moving second, without those for handicap stones
        """
        is_area = rules.scoring == "area"
        black, white = self.area_score() if is_area else self.territory_score()
        points = black - white - komi - rules.handicap_points(self._handicap)
        if rules.button and "pass" in self.moves:
            passed = (self.moves.index("pass") + self._first) % 2
            points += -0.5 if passed else 0.5
        return points

    def stones(self) -> tuple[set[str], set[str]]:
        """Return the vertices of Black's and White's stones."""
        vertices: tuple[set[str], set[str]] = (set(), set())
        for p, chain in enumerate(self.chains):
            if chain is not None:
                vertices[chain.colour].add(self.geometry.names[p])
        return vertices

    @property
    def ko(self) -> str | None:
        """Vertex forbidden by ko, or None."""
        return None if self._ko < 0 else self.geometry.names[self._ko]

    def position(self) -> str:
        """Return the board from its top row down: "3x3 3/1XO/3 black to move, ko at A2".

        X is Black, O is White, and numbers count empty points.
        """
        size, stride = self.size, self.geometry.stride
        rows = []
        for row in reversed(range(size)):
            text, empty = "", 0
            for chain in self.chains[row * stride : row * stride + size]:
                if chain is None:
                    empty += 1
                else:
                    text += f"{empty or ''}{'XO'[chain.colour]}"
                    empty = 0
            rows.append(f"{text}{empty or ''}")
        ko = f", ko at {self.ko}" if self._ko >= 0 else ""
        return f"{size}x{size} {'/'.join(rows)} {_NAMES[self._side]} to move{ko}"

    def _put(self, p: int, colour: int) -> int:
        """Put a stone on the empty point `p`, and return the point of a ko, or -1.

        Chains without liberties are removed, the other side's first.
        """
        at = self.chains
        bits = self.geometry.bits
        neighbours = self.geometry.neighbours
        bit = bits[p]
        others = self.geometry.others[p]
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
        for captive in captured:
            self._remove(captive)
        if not chain.liberties:
            self._remove(chain)
        elif len(captured) == 1 and len(chain.points) == 1:
            # ko: a single stone has captured a single stone, and can be recaptured at once
            points = captured[0].points
            if len(points) == 1 and chain.liberties == bits[points[0]]:
                return points[0]
        return -1

    def _remove(self, chain: Chain) -> None:
        at = self.chains
        neighbours = self.geometry.neighbours
        for p in chain.points:
            at[p] = None
        for p in chain.points:
            bit = self.geometry.bits[p]
            for q in neighbours[p]:
                near = at[q]
                if near is not None:
                    near.liberties |= bit

    def _refusal(self, move: str, reason: str = "") -> IllegalMove:
        """Return the error for a move; "" derives the reason from the position."""
        p = self.geometry.numbers.get(move)
        if reason:
            pass
        elif p is None:
            try:
                parse_vertex(move, self.size)
                reason = "not a vertex"
            except ValueError as error:
                reason = str(error)
        elif self.chains[p] is not None:
            reason = "the point is occupied"
        else:
            reason = "it retakes the ko at once"
        return IllegalMove(cut(move, 40), self.position(), reason)


class StrictGoGame(GoGame):
    """Go with a superko rule, or without self-capture, or both."""

    __slots__ = ("_ko_rule", "_seen", "_stones", "_suicide")

    def __init__(
        self,
        size: int,
        setup: Sequence[str] = (),
        to_move: int = 0,
        *,
        ko_rule: KoRule,
        suicide: bool,
    ) -> None:
        super().__init__(size, setup, to_move)
        self._ko_rule = ko_rule
        self._suicide = suicide
        self._stones = self._stones_by_point()
        self._seen = {self._key()}

    def play(self, move: str) -> None:
        p = self.geometry.numbers.get(move)
        before, ko, passes = self._stones, self._ko, self._passes
        super().play(move)
        self._stones = self._stones_by_point()
        refusal = ""
        if p is not None and self.chains[p] is None and not self._suicide:
            refusal = "self-capture is not allowed"
        elif p is not None and self._ko_rule != "simple" and self._key() in self._seen:
            refusal = f"it brings back an earlier position ({self._ko_rule} superko)"
        if refusal:
            self._take_back(before)
            self._ko, self._passes = ko, passes
            raise self._refusal(move, refusal)
        self._seen.add(self._key())

    def _stones_by_point(self) -> bytes:
        """Return 1 for a black stone, 2 for a white one and 0 for none, of each point."""
        return bytes(0 if chain is None else chain.colour + 1 for chain in self.chains)

    def _key(self) -> tuple[bytes, int]:
        """Return the part of the position that must not recur."""
        return self._stones, self._side if self._ko_rule == "situational" else 0

    def _take_back(self, stones: bytes) -> None:
        """Take back the last move, before which the board had some stones."""
        self._stones = stones
        self._side ^= 1
        self.moves.pop()
        self.chains = [None] * len(stones)
        # chains in the making have liberties at least where their other stones will be
        for p, stone in enumerate(stones):
            if stone:
                self._put(p, stone - 1)


def new_go_game(
    size: int,
    setup: Sequence[str] = (),
    to_move: int = 0,
    *,
    ko_rule: KoRule = "simple",
    suicide: bool = True,
) -> GoGame:
    """Return a game with these rules; arguments and errors as for GoGame.

    ko_rule  "positional": no stone may bring back an earlier position;
             "situational": none with the same side to move.  Passing is always
             allowed
    suicide  whether self-capture is allowed
    """
    if ko_rule == "simple" and suicide:
        return GoGame(size, setup, to_move)
    return StrictGoGame(size, setup, to_move, ko_rule=ko_rule, suicide=suicide)
