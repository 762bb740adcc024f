"""Draw charts with matplotlib: on one picture (PNG, SVG), on the pages of a PDF, in a notebook.

Each chart is measured once and fills its box.  matplotlib's constrained layout would need more
than a minute for 400 charts.  matplotlib's global state (pyplot, the user's
style) does not change.  The same charts give the same bytes.
"""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ringmaster.model.report import (
    AnyChart,
    Band,
    Bars,
    Chart,
    ChartGroup,
    Comparison,
    HeatMap,
    Interval,
    Level,
    Piece,
    Series,
    Tree,
    TreeNode,
    Whiskers,
)
from ringmaster.reporting.text import ELLIPSIS, clusters, cut, sanitise, width

#: A warning about boxes in place of letters.
MISSING_LETTERS = (
    "some names have letters that are missing from matplotlib's fonts and shown as boxes; "
    "the page (.html) and .svg use the viewer's fonts"
)
#: Colours by role.
_PALETTE = {
    "outside": "#eceef2",
    "main": "#2563b0",
    "aside": "#7d838b",
    "average": "#cf5f0c",
    "estimate": "#177a48",
    "good": "#3f9f63",
    "bad": "#c03a2b",
    "neutral": "#b9c0c8",
}
_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.formatter.useoffset": False,
    "grid.color": _PALETTE["outside"],
    "svg.fonttype": "none",
    "svg.hashsalt": "ringmaster",
    "pdf.fonttype": 42,
}
#: Metadata of each format, without date and version.
_BARE: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_BARE)

#: Inches: the width of a sheet, the height of a page of a PDF (letter format, nearly A4), and
#: the margin at the sides.
_WIDE, _HIGH, _MARGIN = 11.0, 8.5, 0.3
#: The most dots of a PNG's height.
_MOST_DOTS = 30_000
#: Inches of a column of letters, and the most columns of a name.
_COLUMN, _NAME = 0.068, 28
#: The place of the interval at the right edge, as a part of the axes.
_EDGE = 0.975

_Range = tuple[float, float]
#: Left, bottom, right and top.
_Box = tuple[float, float, float, float]


def write_sheets(
    groups: Sequence[ChartGroup], title: str, format: str, stream: BinaryIO
) -> list[str]:
    """Write all charts in one of FORMATS; return warnings.  Raises OSError."""
    rows = [row for group in groups for row in _rows(group)]
    with _drawing() as notes:
        if format == "pdf":
            # closing writes the file
            with PdfPages(stream, metadata=_BARE["pdf"]) as pages:
                for page in _pages(rows):
                    pages.savefig(_sheet(page, title, _HIGH))
        else:
            _sheet(rows, title).savefig(stream, format=format, metadata=_BARE[format])
    return notes


def make_figure(groups: Sequence[ChartGroup], title: str) -> Figure:
    """Return a figure of all charts, one below the other, which a notebook displays."""
    with _drawing():
        figure = _sheet([row for group in groups for row in _rows(group)], title)
        # makes all artists while the style holds
        figure.draw_without_rendering()
    return figure


class _ShownFigure(Figure):
    """A figure with a picture of itself for IPython, also without `%matplotlib`."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=self.dpi)
        return stream.getvalue()


@contextmanager
def _drawing() -> Iterator[list[str]]:
    """Set matplotlib's defaults and ours; yield a list that has warnings after the block."""
    notes: list[str] = []
    with matplotlib.rc_context(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matplotlib.rcdefaults()
        # the families that have Chinese and Japanese letters
        installed = font_manager.fontManager.get_font_names()
        eastern = sorted(name for name in installed if "CJK" in name or "Gothic" in name)
        matplotlib.rcParams.update(_STYLE | {"font.family": ["DejaVu Sans", *eastern]})
        yield notes
    if any("missing from" in str(warning.message) for warning in caught):
        notes.append(MISSING_LETTERS)


# sheets


@dataclass(frozen=True)
class _Row:
    """Charts side by side, in `columns` of equal width.

    head    the group, if its title stands above this row
    legend  whether the legend of the group stands below this row
    """

    group: ChartGroup
    charts: tuple[AnyChart, ...]
    columns: int
    head: bool
    legend: bool

    @property
    def text(self) -> list[str]:
        """Lines of the group's text."""
        return textwrap.wrap(_shortened(self.group.text, 600), 150)

    @property
    def head_height(self) -> float:
        """Inches of the group's title and text."""
        return 0.4 + 0.16 * len(self.text) if self.head else 0.0

    @property
    def chart_height(self) -> float:
        """Inches of the charts with their titles and labels."""
        return max(_inches(chart, _WIDE / self.columns) for chart in self.charts)

    @property
    def height(self) -> float:
        """Inches of the whole row."""
        return self.head_height + self.chart_height + (0.5 if self.legend else 0.1)


def _rows(group: ChartGroup) -> Iterator[_Row]:
    """Yield the rows of a group, of one chart each if a chart needs the whole width."""
    charts = group.charts
    is_wide = any(isinstance(chart, Comparison | Tree) for chart in charts)
    columns = 1 if is_wide else 2 if len(charts) == 4 else min(3, len(charts))
    for i in range(0, len(charts), columns):
        yield _Row(group, charts[i : i + columns], columns, i == 0, i + columns >= len(charts))


def _inches(chart: AnyChart, wide: float) -> float:
    """Return the height of a chart of some width, with its title and labels."""
    match chart:
        case Comparison(rows=rows):
            return 0.9 + 0.27 * len(rows)
        case Tree(root=root):
            return 0.9 + 0.2 * len(list(_nodes(root)))
        case HeatMap(x_names=columns, y_names=names):
            return 1.0 + min(max(1.0, 0.3 * len(names)), 5.6) + _turned(columns)
        case Bars(names=names, series=series, stacked=stacked):
            bars = 1 if stacked else len(series)
            return 0.9 + max(1.2, (0.1 + 0.11 * bars) * len(names))
        case Chart(x_names=columns):
            return 0.9 + 0.32 * min(wide, 6) + _turned(columns)


def _pages(rows: Sequence[_Row]) -> list[list[_Row]]:
    """Return rows by pages; a row higher than a page has a page of its own height."""
    pages: list[list[_Row]] = []
    left = 0.0
    for row in rows:
        if not pages or row.height > left:
            pages.append([])
            left = _HIGH - 0.6
        pages[-1].append(row)
        left -= row.height
    return pages


def _sheet(rows: Sequence[_Row], title: str, least_height: float = 0.0) -> Figure:
    """Draw rows from the top down, on a sheet of their height."""
    high = max(least_height, 0.6 + sum(row.height for row in rows))
    figure = _ShownFigure(figsize=(_WIDE, high), dpi=min(120, _MOST_DOTS / high))

    def write(text: str, top: float, size: str) -> None:
        figure.text(_MARGIN / _WIDE, 1 - top / high, text, fontsize=size, va="top")

    write(_shortened(title, 100), 0.2, "xx-large")
    top = 0.5
    drawn: list[Axes] = []
    for row in rows:
        if row.head:
            write(_shortened(row.group.title, 90), top + 0.1, "x-large")
            write("\n".join(row.text), top + 0.31, "medium")
        wide = (_WIDE - 2 * _MARGIN) / row.columns
        for i, chart in enumerate(row.charts):
            left, upper = _MARGIN + i * wide, high - top - row.head_height
            box = (left, upper - row.chart_height, left + wide - 0.15, upper)
            drawn.append(_place(figure, chart, box))
        top += row.height
        if row.legend:
            _add_legend(figure, drawn, 1 - (top - 0.4) / high)
            drawn = []
    return figure


def _place(figure: Figure, chart: AnyChart, box: _Box) -> Axes:
    """Draw a chart into a box in inches, so that its labels end at the edges of the box."""
    size = figure.get_size_inches()
    x0, y0, x1, y1 = box
    texts = [text for text in (chart.title, chart.note) if text]
    y1 -= 0.11 + 0.17 * len(texts)
    left, bottom = x0 + 0.6, y0 + 0.4
    axes = figure.add_axes(_part(size, (left, bottom, x1, y1)))
    match chart:
        case Chart():
            _draw_chart(axes, chart)
        case Comparison():
            _draw_comparison(axes, chart)
        case Bars():
            _draw_bars(axes, chart)
        case HeatMap():
            _draw_heat_map(axes, chart)
        case Tree():
            _draw_tree(axes, chart)
    # a renderer of the figure's own would have all its dots
    renderer = RendererAgg(10, 10, figure.dpi)  # type: ignore[no-untyped-call]
    dots: Any = axes.get_tightbbox(renderer, for_layout_only=True)
    tight = dots.transformed(figure.dpi_scale_trans.inverted())
    inner = (left + x0 - tight.x0, bottom + y0 - tight.y0, x1 + x1 - tight.x1, y1)
    axes.set_position(_part(size, inner))
    for axis, room in ((axes.xaxis, inner[2] - inner[0]), (axes.yaxis, inner[3] - inner[1])):
        axis.set_label_text(_shortened(axis.get_label_text(), int(room / _COLUMN)))
    title = "\n".join(_shortened(text, int((x1 - x0) / _COLUMN)) for text in texts)
    figure.text(x0 / size[0], (y1 + 0.07) / size[1], title, va="bottom")
    return axes


def _part(size: Any, box: _Box) -> _Box:
    """Return left, bottom, width and height as parts of a figure of some size in inches."""
    (x0, y0, x1, y1), (wide, high) = box, size
    return x0 / wide, y0 / high, max(x1 - x0, 0.5) / wide, max(y1 - y0, 0.3) / high


def _add_legend(figure: Figure, drawn: Sequence[Axes], top: float) -> None:
    """Add a legend of several axes, each look once, in two lines at most."""
    looks: dict[str, Any] = {}
    for axes in drawn:
        handles, names = axes.get_legend_handles_labels()
        looks |= zip(names, handles, strict=True)
    if looks:
        figure.legend(
            list(looks.values())[:8],
            list(looks)[:8],
            loc="upper left",
            bbox_to_anchor=(_MARGIN / _WIDE, top),
            ncols=4,
            frameon=False,
        )


# charts


def _draw_chart(axes: Axes, chart: Chart) -> None:
    axes.margins(0.04, 0.06)
    for order, piece in enumerate(chart.pieces, 2):
        _draw_piece(axes, piece, order)
    _label(axes, chart.x_label, chart.y_label)
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(_widened(axes.get_ylim(), _ends(chart), 0.6))
    if chart.x_names:
        axes.set_xlim(-0.5, len(chart.x_names) - 0.5)
        _name_ticks(axes, "x", chart.x_names)
    if chart.y_names:
        axes.set_ylim(-0.5, len(chart.y_names) - 0.5)
        _name_ticks(axes, "y", chart.y_names)
    for order, piece in enumerate(chart.pieces, 2):
        _draw_uncertainty(axes, piece, order)
    if chart.bounds is not None:
        bottom, top = axes.get_ylim()
        low, high = chart.bounds
        for span in ((min(bottom, low), low), (high, max(high, top))):
            axes.axhspan(*span, color=_PALETTE["outside"], linewidth=0, zorder=1)


def _draw_piece(axes: Axes, piece: Piece, order: int) -> None:
    """Draw a piece without its intervals."""
    style: dict[str, Any] = {
        "color": _PALETTE[piece.role],
        "zorder": order,
        "label": _short_name(piece.name),
    }
    match piece:
        case Series(points=points, joined=True):
            axes.plot(*np.reshape(points, (-1, 2)).T, linewidth=1.2, **style)
        case Series(points=points):
            axes.plot(*np.reshape(points, (-1, 2)).T, "o", markersize=2, alpha=0.6, **style)
        case Band(points=points):
            x, low, high = np.reshape(points, (-1, 3)).T
            axes.fill_between(x, low, high, alpha=0.2, linewidth=0, **style)
        case Whiskers(points=points):
            axes.plot(*np.reshape(points, (-1, 4)).T[:2], "o", markersize=3, **style)
        case Level(value=value, first=None):
            axes.axhline(value, linewidth=0.9, linestyle="--", **style)
        case Level(value=value):
            part: Any = (piece.first, piece.last)
            axes.plot(part, (value, value), linewidth=1.8, **style)
        case Interval(value=value, along="x"):
            axes.axvline(value, linewidth=1.2, **style)
        case Interval(value=value):
            style["transform"] = axes.get_yaxis_transform()
            axes.plot([_EDGE], [value], "D", markersize=4, **style)


def _draw_uncertainty(axes: Axes, piece: Piece, order: int) -> None:
    """Draw the intervals of a piece inside the limits of the axes."""
    style: dict[str, Any] = {"color": _PALETTE[piece.role], "zorder": order}
    match piece:
        case Whiskers(points=points):
            places = [x for x, *_ in points]
            _draw_intervals(axes, places, [(low, high) for *_, low, high in points], style)
        case Interval(low=None, high=None):
            pass
        case Interval(along="x"):
            left, right = axes.get_xlim()
            first = left if piece.low is None else max(left, piece.low)
            last = right if piece.high is None else min(right, piece.high)
            axes.axvspan(first, last, alpha=0.15, linewidth=0, **style)
        case Interval(low=low, high=high):
            interval = (-math.inf if low is None else low, math.inf if high is None else high)
            style["transform"] = axes.get_yaxis_transform()
            _draw_intervals(axes, [_EDGE], [interval], style)


def _draw_intervals(
    axes: Axes,
    places: Sequence[float],
    intervals: Sequence[_Range],
    style: dict[str, Any],
    along: Literal["x", "y"] = "y",
) -> None:
    """Draw intervals along an axis, with arrows where they continue beyond its limits."""
    upright = along == "y"
    limits = axes.get_ylim() if upright else axes.get_xlim()
    draw = axes.vlines if upright else axes.hlines
    inside = [(max(low, limits[0]), min(high, limits[1])) for low, high in intervals]
    draw(places, *np.reshape(inside, (-1, 2)).T, linewidth=1.2, **style)
    for place, interval, seen in zip(places, intervals, inside, strict=True):
        for whole, end, arrow in zip(interval, seen, "v^" if upright else "<>", strict=True):
            if end != whole:
                x, y = (place, end) if upright else (end, place)
                axes.plot(x, y, arrow, markersize=4.5, clip_on=False, in_layout=False, **style)


def _draw_comparison(axes: Axes, chart: Comparison) -> None:
    style: dict[str, Any] = {"color": _PALETTE["main"], "zorder": 3}
    places = range(len(chart.rows))
    intervals = [(row.low, row.high) for row in chart.rows]
    axes.plot([row.value for row in chart.rows], places, "o", markersize=5, **style)
    if chart.mark is not None:
        axes.axvline(chart.mark, color=_PALETTE["aside"], linewidth=0.9, linestyle="--")
    ends = [end for interval in intervals for end in interval]
    axes.set_xlim(_widened(axes.get_xlim(), ends, math.inf))
    _draw_intervals(axes, places, intervals, style, along="x")
    _name_rows(axes, [row.name for row in chart.rows], [row.text for row in chart.rows])
    _label(axes, chart.x_label, "")


def _draw_bars(axes: Axes, chart: Bars) -> None:
    """Draw bars from the left, for the room that their names need."""
    count = len(chart.series)
    thick = 0.72 if chart.stacked else 0.76 / count
    starts = [0.0] * len(chart.names)
    for number, series in enumerate(chart.series):
        values = [value or 0.0 for value in series.values]
        shift = 0.0 if chart.stacked else (number - (count - 1) / 2) * thick
        places = [place + shift for place in range(len(values))]
        label = _short_name(series.name) if count > 1 else None
        axes.barh(places, values, thick, starts, color=_PALETTE[series.role], label=label)
        if chart.stacked:
            starts = [a + b for a, b in zip(starts, values, strict=True)]
    one = chart.series[0].values if count == 1 else ()
    _name_rows(axes, chart.names, ["unknown" if v is None else _number(v) for v in one])
    _label(axes, chart.y_label, chart.x_label)


def _draw_heat_map(axes: Axes, chart: HeatMap) -> None:
    """Draw cells, with their values where there is room, and a scale."""
    colours = LinearSegmentedColormap.from_list("values", ["#f1f5fb", _PALETTE["main"]])
    colours.set_bad(_PALETTE["outside"])
    values = np.array(chart.values, dtype=float)
    cells = axes.imshow(values, cmap=colours, aspect="auto", origin="lower")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    _name_ticks(axes, "x", chart.x_names)
    _name_ticks(axes, "y", chart.y_names)
    _label(axes, chart.x_label, chart.y_label)
    scale = axes.inset_axes((1.02, 0, 0.02, 1))
    axes.figure.colorbar(cells, cax=scale, label=_shortened(chart.value_label, 30))
    if axes.bbox.width > 0.5 * axes.figure.dpi * len(chart.x_names):
        shades: Any = cells.norm(values)
        for (y, x), value in np.ndenumerate(values):
            if math.isfinite(value):
                colour = "white" if shades[y, x] > 0.6 else "black"
                axes.text(x, y, _number(value), ha="center", va="center", color=colour)


def _draw_tree(axes: Axes, chart: Tree) -> None:
    """Draw a bar of each node's share of all visits, and its name indented by its depth."""
    nodes = list(_nodes(chart.root))
    axes.barh(range(len(nodes)), [100 * share for *_, share in nodes], 0.7, color=_PALETTE["main"])
    texts = [f"{'– ' * depth}{_short_name(node.name)}  {node.text}" for depth, node, _ in nodes]
    _name_rows(axes, [""] * len(nodes), texts)
    axes.set_xlim(0, 100)
    _label(axes, "share of all visits, %", "")


def _nodes(
    node: TreeNode, depth: int = 0, share: float = 1.0
) -> Iterator[tuple[int, TreeNode, float]]:
    """Yield nodes with 2 % of all visits, from the root down: depth, node, share of the visits."""
    if share >= 0.02:
        yield depth, node, share
        for child in node.children:
            yield from _nodes(child, depth + 1, share * child.share)


# ranges, names and numbers


def _ends(chart: Chart) -> Iterator[float]:
    """Yield the ends of all intervals along y."""
    for piece in chart.pieces:
        match piece:
            case Whiskers(points=points):
                for *_, low, high in points:
                    yield from (low, high)
            case Interval(low=low, high=high, along="y"):
                yield from (end for end in (low, high) if end is not None)


def _widened(limits: _Range, ends: Iterable[float], most: float) -> _Range:
    """Widen limits for the ends of intervals, on each side by at most a part of the limits."""
    low, high = limits
    room, middle = most * (high - low), (low + high) / 2
    # marks stand off the edges
    inside = [end + 0.05 * (end - middle) for end in ends if math.isfinite(end)]
    return max(min([low, *inside]), low - room), min(max([high, *inside]), high + room)


def _label(axes: Axes, x_label: str, y_label: str) -> None:
    axes.set(xlabel=_shortened(x_label, 80), ylabel=_shortened(y_label, 40))


def _name_ticks(axes: Axes, along: Literal["x", "y"], names: Sequence[str]) -> None:
    """Name the places 0, 1, … of an axis, at most 40 of them."""
    step = math.ceil(len(names) / 40)
    shown = [_short_name(name) for name in names[::step]]
    (axes.xaxis if along == "x" else axes.yaxis).set_ticks(range(0, len(names), step), shown)
    axes.tick_params(along, length=0, labelrotation=90 if along == "x" and _turned(names) else 0)


def _turned(names: Sequence[str]) -> float:
    """Return the inches of names that are turned because they lack room below an axis."""
    longest = max(map(len, names), default=0)
    return _COLUMN * min(longest, _NAME) if longest * len(names) > 30 else 0.0


def _name_rows(axes: Axes, names: Sequence[str], texts: Sequence[str]) -> None:
    """Name rows from the top down; put a text behind each."""
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [_short_name(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    if any(texts):
        behind = axes.secondary_yaxis("right")
        behind.set_yticks(range(len(texts)), [_shortened(text, 44) for text in texts])
        behind.tick_params(length=0)
        behind.spines["right"].set_visible(False)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def _shortened(text: str, columns: int) -> str:
    """Return printable text of at most `columns`."""
    return sanitise(text, max(columns, len(ELLIPSIS)))


def _short_name(name: str) -> str:
    """Return a printable name of at most 28 columns, with its start and its end."""
    name = sanitise(name[:1000])
    if width(name) <= _NAME:
        return name
    end = "".join(list(clusters(name))[-_NAME // 3 :])
    return cut(name, _NAME - width(end)) + end
