"""Chart data: what a competition has to show, without a picture.

Competitions build these from what they know and from the recorded results;
`reporting` draws them.  Coordinates are plain numbers in the units that the labels
name.
"""

from __future__ import annotations

from typing import Literal

import msgspec

#: What a piece is in its chart; pieces of one role look alike in all charts.
Role = Literal["main", "aside", "average", "estimate"]


class Series(msgspec.Struct, frozen=True):
    """A line through points (x, y), or the points alone."""

    name: str
    points: tuple[tuple[float, float], ...]
    role: Role = "main"
    joined: bool = True


class Band(msgspec.Struct, frozen=True):
    """What lies between two lines, as points (x, low, high)."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    role: Role = "main"


class Whiskers(msgspec.Struct, frozen=True):
    """Measurements (x, y, low, high) with their 95 % intervals."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]
    role: Role = "main"


class Level(msgspec.Struct, frozen=True):
    """A value of y that holds from one x to another (None: to the edge)."""

    name: str
    value: float
    role: Role = "aside"
    first: float | None = None
    last: float | None = None


class Interval(msgspec.Struct, frozen=True):
    """A value with its 95 % interval, along y at the right edge, or along x.

    low, high  None where the interval has no end; both are where none is known
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    role: Role = "estimate"
    along: Literal["x", "y"] = "y"


Piece = Series | Band | Whiskers | Level | Interval


class Chart(msgspec.Struct, frozen=True):
    """Pieces in one frame, the first one at the bottom.

    note    a second line of the title
    bounds  where y must be; what lies beyond is marked as such where it is in sight
    """

    title: str
    pieces: tuple[Piece, ...]
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    bounds: tuple[float, float] | None = None


class Compared(msgspec.Struct, frozen=True):
    """A row of a comparison: a value with its 95 % interval, whose ends may be
    infinite, and the value as text."""

    name: str
    value: float
    low: float
    high: float
    text: str = ""


class Comparison(msgspec.Struct, frozen=True):
    """Values side by side, a row each, from the top down; `mark` is a value of x
    to compare them with."""

    title: str
    rows: tuple[Compared, ...]
    x_label: str = ""
    note: str = ""
    mark: float | None = None


class ChartGroup(msgspec.Struct, frozen=True):
    """Charts of one kind, to be shown side by side; `text` says how to read them."""

    title: str
    charts: tuple[Chart | Comparison, ...]
    text: str = ""
