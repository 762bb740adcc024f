"""Charts as JSON-ready data for the page's scripts: columns of numbers, clean texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any

from ringmaster.model.report import (
    Band,
    Bars,
    Chart,
    ChartGroup,
    Comparison,
    HeatMap,
    Interval,
    Level,
    Series,
    Tree,
    TreeNode,
    Whiskers,
)
from ringmaster.reporting.text import sanitise

#: Columns of the longest text in a chart.
_TEXT = 300
#: Numbers of all charts of a page; a number takes about seven bytes.
_NUMBERS = 150_000
#: Significant digits: a pixel more or less.
_DIGITS = 6


def groups_data(groups: Sequence[ChartGroup]) -> list[dict[str, Any]]:
    """Return groups of charts as data.

    Numbers have six significant digits, null if they are not finite.  Long series of a page with
    many charts are thinned.
    """
    lengths = [
        len(piece.points)
        for group in groups
        for chart in group.charts
        if isinstance(chart, Chart)
        for piece in chart.pieces
        if isinstance(piece, Series | Band | Whiskers)
    ]
    most = _most_points(lengths)
    return [
        {
            "key": group.key or f"group-{number}",
            "title": _text(group.title),
            "text": _text(group.text, 2000),
            "charts": [_data(chart, most) for chart in group.charts],
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


def _data(chart: Any, most: int) -> dict[str, Any]:
    if isinstance(chart, Chart):
        return {
            **_frame(chart, "chart"),
            "bounds": None if chart.bounds is None else _numbers(chart.bounds),
            "x_names": [*map(_text, chart.x_names)],
            "y_names": [*map(_text, chart.y_names)],
            "pieces": [_piece(piece, most) for piece in chart.pieces],
        }
    return _figure(chart)


def _frame(chart: Any, kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "title": _text(chart.title),
        "note": _text(chart.note),
        "x_label": _text(getattr(chart, "x_label", "")),
        "y_label": _text(getattr(chart, "y_label", "")),
    }


def _piece(piece: Any, most: int) -> dict[str, Any]:
    data: dict[str, Any] = {
        "kind": type(piece).__name__.lower(),
        "name": _text(piece.name),
        "role": piece.role,
    }
    if isinstance(piece, Series | Band | Whiskers):
        points = _thinned(piece.points, most)
        data["columns"] = [_numbers(column) for column in zip(*points, strict=True)]
        if isinstance(piece, Series):
            data["joined"] = piece.joined
    elif isinstance(piece, Level):
        data |= {"value": _number(piece.value), "first": piece.first, "last": piece.last}
    elif isinstance(piece, Interval):
        data |= {
            "value": _number(piece.value),
            "low": _number(piece.low),
            "high": _number(piece.high),
            "along": piece.along,
        }
    return data


def _thinned(points: Sequence[Any], most: int) -> Sequence[Any]:
    """Return at most `most` points at equal steps, with the first and the last."""
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return [points[round(i * step)] for i in range(most)]


@singledispatch
def _figure(chart: Any) -> dict[str, Any]:
    raise TypeError(f"no chart: {chart!r}")


@_figure.register
def _comparison(chart: Comparison) -> dict[str, Any]:
    # an infinite end of an interval is null
    return {
        **_frame(chart, "comparison"),
        "mark": _number(chart.mark),
        "rows": [
            {
                "name": _text(row.name),
                "value": _number(row.value),
                "low": _number(row.low),
                "high": _number(row.high),
                "text": _text(row.text),
            }
            for row in chart.rows
        ],
    }


@_figure.register
def _heat_map(chart: HeatMap) -> dict[str, Any]:
    return {
        **_frame(chart, "heatmap"),
        "x_names": [*map(_text, chart.x_names)],
        "y_names": [*map(_text, chart.y_names)],
        "values": [_numbers(row) for row in chart.values],
        "value_label": _text(chart.value_label),
        "texts": [[*map(_text, row)] for row in chart.texts],
    }


@_figure.register
def _bars(chart: Bars) -> dict[str, Any]:
    return {
        **_frame(chart, "bars"),
        "names": [*map(_text, chart.names)],
        "stacked": chart.stacked,
        "series": [
            {"name": _text(one.name), "role": one.role, "values": _numbers(one.values)}
            for one in chart.series
        ],
    }


@_figure.register
def _tree(chart: Tree) -> dict[str, Any]:
    return {**_frame(chart, "tree"), "root": _node(chart.root)}


def _node(node: TreeNode) -> dict[str, Any]:
    return {
        "name": _text(node.name),
        "text": _text(node.text),
        "share": _number(node.share),
        "children": [_node(child) for child in node.children],
    }


def _numbers(values: Iterable[float | None]) -> list[float | int | None]:
    return [_number(value) for value in values]


def _number(value: float | None) -> float | int | None:
    """Return a number with six significant digits, an integer where it is whole."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded


def _text(text: str, limit: int = _TEXT) -> str:
    return sanitise(text, limit)
