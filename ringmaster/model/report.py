"""Report data without a layout: tables, texts, charts and progress.

Competitions build them; `reporting` makes text, terminal displays and pages of them.
Coordinates of charts are plain numbers in the units that the labels name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

Align = Literal["left", "right"]
LEFT: Align = "left"
RIGHT: Align = "right"
Cell = str | int | float | None


class Table(msgspec.Struct, frozen=True):
    """Rows under headers, with `title` above and `notes` below.

    A cell of None is empty.  A float has the table's format; write a cell with another
    precision as a string.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    align: tuple[Align, ...] = ()


class Column(msgspec.Struct, frozen=True):
    """A column of a listing.

    key      of its values, and in JSON
    header   in tables; None for a column of JSON only
    show     returns the cell of a value; None values are empty cells
    live     whether the live display has it
    in_data  whether JSON has it
    """

    key: str
    header: str | None = None
    show: Callable[[Any], Cell] = str
    align: Align = RIGHT
    live: bool = False
    in_data: bool = True


class Listing(msgspec.Struct, frozen=True):
    """Rows of values, shown as a table in reports and as objects in JSON.

    rows  values by the columns' keys; a missing value is None
    """

    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]

    def table(self, title: str = "", notes: Sequence[str] = (), *, live: bool = False) -> Table:
        """Return the table of the report, or of the live display; columns without any value
        are left out."""
        used = [
            (column, column.header)
            for i, column in enumerate(self.columns)
            if column.header is not None
            and (column.live or not live)
            and (i == 0 or any(row.get(column.key) is not None for row in self.rows))
        ]
        return Table(
            headers=tuple(header for _, header in used),
            rows=tuple(
                tuple(
                    None if row.get(column.key) is None else column.show(row[column.key])
                    for column, _ in used
                )
                for row in self.rows
            ),
            title=title,
            notes=tuple(notes),
            align=tuple(column.align for column, _ in used),
        )

    def data(self) -> list[dict[str, Any]]:
        """Return the rows as JSON data."""
        keys = [column.key for column in self.columns if column.in_data]
        return [{key: row.get(key) for key in keys} for row in self.rows]


class Text(msgspec.Struct, frozen=True):
    """Lines of plain text."""

    lines: tuple[str, ...]


class Report(msgspec.Struct, frozen=True):
    """Blocks from top to bottom."""

    blocks: tuple[Table | Text, ...] = ()


class Progress(msgspec.Struct, frozen=True):
    """Progress of a competition; `total` is None without a limit, `label` names the unit."""

    completed: int
    total: int | None
    label: str = "games"
    phase: str = ""


#: Role of a piece in its chart; pieces of one role look alike in all charts.
Role = Literal["main", "aside", "average", "estimate", "good", "bad", "neutral"]


class Series(msgspec.Struct, frozen=True):
    """A line through points (x, y), or the points alone."""

    name: str
    points: tuple[tuple[float, float], ...]
    role: Role = "main"
    joined: bool = True


class Band(msgspec.Struct, frozen=True):
    """The area between two lines, as points (x, low, high)."""

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

    low, high  None for an open end; both None for an unknown interval
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
    bounds  allowed range of y; visible values beyond it are marked
    x_names, y_names  names of the values 0, 1, … of a categorical axis
    """

    title: str
    pieces: tuple[Piece, ...]
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    bounds: tuple[float, float] | None = None
    x_names: tuple[str, ...] = ()
    y_names: tuple[str, ...] = ()


class Compared(msgspec.Struct, frozen=True):
    """A row of a comparison: a value, its 95 % interval (may be infinite), its text."""

    name: str
    value: float
    low: float
    high: float
    text: str = ""


class Comparison(msgspec.Struct, frozen=True):
    """Values in rows from the top down; `mark` is a value of x for comparison."""

    title: str
    rows: tuple[Compared, ...]
    x_label: str = ""
    note: str = ""
    mark: float | None = None


class HeatMap(msgspec.Struct, frozen=True):
    """Values of cells: one row for each name of y, the first at the bottom; None: unknown.

    value_label  the quantity with its unit
    texts        of the cells for a pointer, by row; () for the values themselves
    """

    title: str
    x_names: tuple[str, ...]
    y_names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    value_label: str
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    texts: tuple[tuple[str, ...], ...] = ()


class BarSeries(msgspec.Struct, frozen=True):
    """One value for each name of its bars."""

    name: str
    values: tuple[float | None, ...]
    role: Role = "main"


class Bars(msgspec.Struct, frozen=True):
    """Bars by name, those of several series beside or (stacked) above each other."""

    title: str
    names: tuple[str, ...]
    series: tuple[BarSeries, ...]
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    stacked: bool = False


class TreeNode(msgspec.Struct, frozen=True):
    """A node of a search tree; `share` is its part (0 to 1) of its parent's visits."""

    name: str
    text: str
    share: float
    children: tuple[TreeNode, ...] = ()


class Tree(msgspec.Struct, frozen=True):
    """A search tree from its root."""

    title: str
    root: TreeNode
    note: str = ""


AnyChart = Chart | Comparison | HeatMap | Bars | Tree


class ChartGroup(msgspec.Struct, frozen=True):
    """Charts of one kind, shown side by side; `text` explains them.

    key  its name in `Results.plot`, and its anchor on a page: "trajectory", "visits"
    """

    title: str
    charts: tuple[AnyChart, ...]
    text: str = ""
    key: str = ""
