"""Go vertices as GTP writes them, and the standard places of handicap stones.

A point is (column, row), both counted from 0 at the lower left corner A1.  The
layout of fixed handicaps is that of the GTP 2 specification, section 4.1.1.
"""

from __future__ import annotations

from typing import Final

from ringmaster.games.text import shown

Point = tuple[int, int]

MIN_SIZE, MAX_SIZE = 2, 25
_COLUMNS: Final = "ABCDEFGHJKLMNOPQRSTUVWXYZ"


def check_size(size: int) -> None:
    """Raise ValueError for a board size that GTP cannot name."""
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise ValueError(f"board size {size} is not between {MIN_SIZE} and {MAX_SIZE}")


def format_vertex(point: Point | None) -> str:
    """Return "D4" for (3, 3), "pass" for None."""
    return "pass" if point is None else f"{_COLUMNS[point[0]]}{point[1] + 1}"


def parse_vertex(text: str, size: int) -> Point | None:
    """Return the point, or None for a pass; upper or lower case.

    Raises ValueError, saying what is wrong, for anything else.
    """
    # Lower, not upper: "paß" in upper case is "PASS".
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
    """Return the most stones `fixed_handicap` has places for; 0 means none."""
    if size < 7:
        return 0
    return 4 if size == 7 or size % 2 == 0 else 9


def max_free_handicap(size: int) -> int:
    """Return the most stones that may be placed freely: all points but one."""
    return size * size - 1


def fixed_handicap(size: int, n: int) -> tuple[str, ...]:
    """Return the vertices of `n` handicap stones (at least 2) in the standard layout.

    Raises ValueError when the layout has no place for so many.
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
    # From five stones on, the middle takes the odd one.
    if n >= 5 and n % 2:
        points.append((middle, middle))
    return tuple(map(format_vertex, points))
