"""Charts as JSON-ready data for the page's scripts: columns of numbers, clean texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from ringmaster.model.report import Band, Chart, ChartGroup, Series, Whiskers
from ringmaster.reporting.text import sanitise

#: Columns of the longest text in a chart, and of the longest text about a group.
_TEXT, _LONG_TEXT = 300, 2000
#: Numbers of all charts of a page; a number takes about seven bytes.
_NUMBERS = 150_000
#: Significant digits: a pixel more or less.
_DIGITS = 6


def groups_data(groups: Sequence[ChartGroup]) -> list[dict[str, Any]]:
    """Return groups of charts as data, with the names of the fields of their types.

    The type of each part is its `kind`.  Numbers have six significant digits, null if they are
    not finite.  Long series of a page with many charts are thinned.
    """
    lengths = [
        len(piece.points)
        for group in groups
        for chart in group.charts
        if isinstance(chart, Chart)
        for piece in chart.pieces
        if isinstance(piece, Series | Band | Whiskers)
    ]
    plain = partial(_plain, most=_most_points(lengths))
    return [
        {
            "key": group.key or f"group-{number}",
            "title": plain(group.title),
            "text": sanitise(group.text, _LONG_TEXT),
            "charts": plain(group.charts),
        }
        for number, group in enumerate(groups, 1)
    ]


def _most_points(lengths: list[int]) -> int:
    """Return the most points of a piece, so that all pieces keep to the budget."""
    left, count = _NUMBERS // 3, len(lengths)
    for length in sorted(lengths):
        if length * count > left:
            return max(50, left // count)
        left -= length
        count -= 1
    return max(lengths, default=0)


def _plain(value: Any, most: int) -> Any:
    """Return a value of a chart as data.

    most  most points of a piece, which become columns
    """
    if isinstance(value, str):
        return sanitise(value, _TEXT)
    if isinstance(value, tuple):
        return [_plain(one, most) for one in value]
    if not isinstance(value, msgspec.Struct):
        return value if isinstance(value, bool) else _number(value)
    fields = msgspec.structs.asdict(value)
    data: dict[str, Any] = {"kind": type(value).__name__.lower()}
    if "points" in fields:
        points = _thinned(fields.pop("points"), most)
        data["columns"] = [[*map(_number, column)] for column in zip(*points, strict=True)]
    return data | {name: _plain(one, most) for name, one in fields.items()}


def _thinned(points: Sequence[Any], most: int) -> Sequence[Any]:
    """Return at most `most` points at equal steps, with the first and the last."""
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return [points[round(i * step)] for i in range(most)]


def _number(value: float | None) -> float | int | None:
    """Return a number with six significant digits, an integer where it is whole."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded
