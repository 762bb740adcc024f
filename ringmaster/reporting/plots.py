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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import matplotlib
from matplotlib import font_manager
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

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
from ringmaster.reporting.text import ELLIPSIS, clusters, cut, pad, sanitise, width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: A warning about boxes in place of letters.
MISSING_LETTERS = (
    "some names have letters that are missing from matplotlib's fonts and shown as boxes; "
    "the page (.html) and .svg use the viewer's fonts"
)
#: Colours by role.
_PALETTE = {
    "ink": "#1b1f24",
    "muted": "#66707c",
    "grid": "#e3e6ea",
    "outside": "#eceef2",
    "main": "#2563b0",
    "aside": "#7d838b",
    "average": "#cf5f0c",
    "estimate": "#177a48",
    "good": "#3f9f63",
    "bad": "#c03a2b",
    "neutral": "#b9c0c8",
}
#: Sizes of letters in points.
_SMALL, _TEXT, _TITLE = 7.5, 8.0, 9.5
_STYLE = {
    "font.size": _TEXT,
    "text.parse_math": False,
    "text.color": _PALETTE["ink"],
    "axes.edgecolor": _PALETTE["muted"],
    "axes.labelcolor": _PALETTE["muted"],
    "axes.labelsize": _SMALL,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.formatter.useoffset": False,
    "axes.titlelocation": "left",
    "axes.titlesize": _TITLE,
    "grid.color": _PALETTE["grid"],
    "grid.linewidth": 0.6,
    "xtick.color": _PALETTE["muted"],
    "ytick.color": _PALETTE["muted"],
    "xtick.labelsize": _SMALL,
    "ytick.labelsize": _SMALL,
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
#: Dots an inch of a PNG and of a notebook's picture, and the most dots of a PNG's height.
_DOTS, _NOTEBOOK_DOTS, _MOST_DOTS = 120, 100, 30_000
#: The most columns of a name, and of the text behind a row.
_NAME, _ROW_TEXT = 28, 44
#: The most nodes of a drawn tree.
MOST_NODES = 28
#: The part of the range of values by which intervals may widen a chart, on each side.
_WIDEN = 0.6


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
                    pages.savefig(_sheet(page, title))
        else:
            figure = _sheet(rows, title)
            dots = min(_DOTS, _MOST_DOTS / figure.get_size_inches()[1])
            figure.savefig(stream, format=format, dpi=dots, metadata=_BARE[format])
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
        self.savefig(stream, format="png", dpi=_NOTEBOOK_DOTS)
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
        matplotlib.rcParams.update({**_STYLE, "font.family": ["DejaVu Sans", *eastern]})
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
    def head_height(self) -> float:
        """Inches of the group's title and text."""
        return 0.4 + 0.16 * len(_wrapped(self.group)) if self.head else 0.0

    @property
    def chart_height(self) -> float:
        """Inches of the charts with their titles and labels."""
        return max(_inches(chart, _WIDE / self.columns) for chart in self.charts)

    @property
    def height(self) -> float:
        """Inches of the whole row."""
        return self.head_height + self.chart_height + (0.45 if self.legend else 0.1)


def _rows(group: ChartGroup) -> Iterator[_Row]:
    """Yield the rows of a group; a wide chart has its own."""
    small = sum(not _is_wide(chart) for chart in group.charts)
    columns = 2 if small == 4 else min(3, small)
    rows: list[tuple[int, tuple[AnyChart, ...]]] = []
    for wide, charts in groupby(group.charts, _is_wide):
        beside, step = tuple(charts), 1 if wide else columns
        rows += [(step, beside[i : i + step]) for i in range(0, len(beside), step)]
    for number, (step, charts) in enumerate(rows):
        yield _Row(group, charts, step, head=number == 0, legend=number == len(rows) - 1)


def _is_wide(chart: AnyChart) -> bool:
    """Whether a chart needs the whole width."""
    many = isinstance(chart, HeatMap) and len(chart.x_names) > 12
    return many or isinstance(chart, Comparison | Tree)


def _inches(chart: AnyChart, wide: float) -> float:
    """Return the height of a chart of some width, with its title and labels."""
    match chart:
        case Comparison(rows=rows):
            return 0.9 + 0.27 * len(rows)
        case Tree():
            return 0.9 + 0.2 * len(_nodes(chart))
        case HeatMap(y_names=names):
            return 1.0 + min(max(1.0, 0.3 * len(names)), 5.6)
        case Bars(names=names, series=series, stacked=stacked) if _lies(chart):
            return 0.9 + (0.2 + 0.11 * (not stacked) * (len(series) - 1)) * len(names)
    return 0.9 + 0.32 * min(wide, 6)


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


def _sheet(rows: Sequence[_Row], title: str) -> Figure:
    """Draw rows from the top down, on a sheet of their height."""
    high = 0.6 + sum(row.height for row in rows)
    figure = _ShownFigure(figsize=(_WIDE, high), dpi=_DOTS)

    def write(text: str, top: float, size: float) -> None:
        figure.text(_MARGIN / _WIDE, 1 - top / high, text, fontsize=size, va="top")

    write(_shortened(title, 100), 0.2, 13)
    top = 0.5
    drawn: list[Axes] = []
    for row in rows:
        if row.head:
            write(_shortened(row.group.title, 90), top + 0.1, _TITLE + 1)
            write("\n".join(_wrapped(row.group)), top + 0.31, _TEXT)
        wide = (_WIDE - 2 * _MARGIN) / row.columns
        for i, chart in enumerate(row.charts):
            left, upper = _MARGIN + i * wide, top + row.head_height
            box = Bbox.from_extents(
                left, high - upper - row.chart_height, left + wide - 0.15, high - upper
            )
            drawn.append(_place(figure, chart, box))
        top += row.height
        if row.legend:
            _add_legend(figure, drawn, 1 - (top - 0.08) / high)
            drawn = []
    return figure


def _place(figure: Figure, chart: AnyChart, box: Bbox) -> Axes:
    """Draw a chart into a box in inches, so that its labels end at the edges of the box."""
    size = figure.get_size_inches()
    titles = [_shortened(text, int(box.width / 0.085)) for text in (chart.title, chart.note)]
    lines = [text for text in titles if text]
    x0, y0, x1, y1 = box.padded(0, -0.05).extents
    y1 -= 0.06 + 0.17 * len(lines)
    axes = figure.add_axes(_part(size, (x0 + 0.6, y0 + 0.4, x1, y1)))
    _draw(axes, chart)
    # a renderer of the figure's own would have all its dots
    tight = axes.get_tightbbox(RendererAgg(10, 10, figure.dpi), for_layout_only=True).transformed(
        figure.dpi_scale_trans.inverted()
    )
    around = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
    inner = (
        x0 + around.x0 - tight.x0,
        y0 + around.y0 - tight.y0,
        x1 + around.x1 - tight.x1,
        y1,
    )
    axes.set_position(_part(size, inner))
    axes.set_title("\n".join(lines))
    return axes


def _part(size: Any, extents: tuple[float, float, float, float]) -> tuple[float, ...]:
    """Return left, bottom, width and height as parts of a figure of some size in inches."""
    x0, y0, x1, y1 = extents
    wide, high = size
    return x0 / wide, y0 / high, max(x1 - x0, 0.5) / wide, max(y1 - y0, 0.3) / high


def _wrapped(group: ChartGroup) -> list[str]:
    return textwrap.wrap(_shortened(group.text, 600), 150)


def _add_legend(figure: Figure, drawn: Sequence[Axes], bottom: float) -> None:
    """Add a legend of several axes, each look once."""
    looks: dict[str, Any] = {}
    for axes in drawn:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            looks.setdefault(name, handle)
    if looks:
        figure.legend(
            list(looks.values()),
            list(looks),
            loc="lower left",
            bbox_to_anchor=(_MARGIN / _WIDE, bottom),
            ncols=max(1, 130 // (8 + max(map(width, looks)))),
            frameon=False,
            fontsize=_SMALL,
            borderaxespad=0,
            borderpad=0,
        )


# charts


def _draw(axes: Axes, chart: AnyChart) -> None:
    """Draw a chart without its titles."""
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


def _draw_chart(axes: Axes, chart: Chart) -> None:
    x_range, y_range = _ranges(chart)
    for order, piece in enumerate(chart.pieces, 2):
        _draw_piece(axes, piece, x_range, y_range, order)
    axes.set_xlim(*x_range)
    axes.set_ylim(*y_range)
    if chart.bounds is not None:
        low, high = chart.bounds
        for first, last in ((y_range[0], low), (high, y_range[1])):
            if first < last:
                axes.axhspan(first, last, color=_PALETTE["outside"], linewidth=0, zorder=1)
    _label(axes, chart.x_label, chart.y_label)
    if chart.x_names:
        axes.set_xlim(-0.5, len(chart.x_names) - 0.5)
        _name_ticks(axes.xaxis, chart.x_names)
    if chart.y_names:
        axes.set_ylim(-0.5, len(chart.y_names) - 0.5)
        _name_ticks(axes.yaxis, chart.y_names)


def _draw_piece(
    axes: Axes,
    piece: Piece,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    order: int,
) -> None:
    style: dict[str, Any] = {"color": _PALETTE[piece.role], "zorder": order}
    named = {**style, "label": short_name(piece.name)}
    match piece:
        case Series(points=points):
            x, y = _coordinates(points, 2)
            if piece.joined:
                axes.plot(x, y, linewidth=1.2, **named)
            else:
                axes.plot(x, y, "o", markersize=2, alpha=0.6, **named)
        case Band(points=points):
            x, low, high = _coordinates(points, 3)
            axes.fill_between(x, low, high, alpha=0.2, linewidth=0, **named)
        case Whiskers(points=points):
            x, y, low, high = _coordinates(points, 4)
            axes.plot(x, y, "o", markersize=3, **named)
            _draw_intervals(axes, "y", x, [*zip(low, high, strict=True)], y_range, style)
        case Level(value=value, first=None, last=None):
            axes.plot(x_range, (value, value), linewidth=0.9, linestyle=(0, (4, 3)), **named)
        case Level(value=value):
            first = x_range[0] if piece.first is None else piece.first
            last = x_range[1] if piece.last is None else piece.last
            axes.plot((first, last), (value, value), linewidth=1.8, **named)
        case Interval(along="x"):
            axes.axvline(piece.value, linewidth=1.2, **named)
            if piece.low is not None or piece.high is not None:
                low, high = _ends(piece)
                axes.axvspan(
                    max(low, x_range[0]), min(high, x_range[1]), alpha=0.15, linewidth=0, **style
                )
        case Interval():
            place = x_range[1] - 0.025 * (x_range[1] - x_range[0])
            style["zorder"] = named["zorder"] = order + 20
            axes.plot([place], [piece.value], "D", markersize=4, **named)
            if piece.low is not None or piece.high is not None:
                _draw_intervals(axes, "y", [place], [_ends(piece)], y_range, style)


def _ends(piece: Interval) -> tuple[float, float]:
    low = -math.inf if piece.low is None else piece.low
    return low, math.inf if piece.high is None else piece.high


def _draw_intervals(
    axes: Axes,
    along: Literal["x", "y"],
    places: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    limits: tuple[float, float],
    style: dict[str, Any],
) -> None:
    """Draw intervals along an axis, with arrows where they continue beyond the limits."""
    arrows, end = ("v^", "_") if along == "y" else ("<>", "|")
    inside = [(max(low, limits[0]), min(high, limits[1])) for low, high in intervals]
    draw = axes.vlines if along == "y" else axes.hlines
    draw(places, *zip(*inside, strict=True), linewidth=1.2, **style)
    for side, arrow in enumerate(arrows):
        for marker in (arrow, end):
            ends = [
                (place, seen[side])
                for place, seen, whole in zip(places, inside, intervals, strict=True)
                if (seen[side] == whole[side]) == (marker == end)
            ]
            x, y = _coordinates(ends if along == "y" else [pair[::-1] for pair in ends], 2)
            axes.plot(x, y, marker, markersize=4.5, clip_on=False, **style)


def _coordinates(points: Sequence[tuple[float, ...]], count: int) -> list[list[float]]:
    return [[point[i] for point in points] for i in range(count)]


def _draw_comparison(axes: Axes, chart: Comparison) -> None:
    values = [row.value for row in chart.rows]
    values += [] if chart.mark is None else [chart.mark]
    ends = [end for row in chart.rows for end in (row.low, row.high)]
    limits = _range(values, ends, math.inf, 0.05)
    style: dict[str, Any] = {"color": _PALETTE["main"], "zorder": 3}
    places = range(len(chart.rows))
    intervals = [(row.low, row.high) for row in chart.rows]
    _draw_intervals(axes, "x", places, intervals, limits, style)
    axes.plot([row.value for row in chart.rows], places, "o", markersize=5, **style)
    if chart.mark is not None:
        axes.axvline(chart.mark, color=_PALETTE["muted"], linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_xlim(*limits)
    _name_rows(axes, [row.name for row in chart.rows], [row.text for row in chart.rows])
    _label(axes, chart.x_label, "")


def _lies(chart: Bars) -> bool:
    """Whether bars lie, for the room that their names need; bars of numbers stand."""
    return not all(name[:1].isnumeric() for name in chart.names)


def _draw_bars(axes: Axes, chart: Bars) -> None:
    """Draw bars upwards, or from the left where their names need the room."""
    lies, count = _lies(chart), len(chart.names)
    thick = 0.72 if chart.stacked else 0.76 / len(chart.series)
    draw = axes.barh if lies else axes.bar
    starts = [0.0] * count
    for number, series in enumerate(chart.series):
        values = [value or 0.0 for value in series.values]
        shift = 0.0 if chart.stacked else (number - (len(chart.series) - 1) / 2) * thick
        places = [place + shift for place in range(count)]
        name = short_name(series.name) if len(chart.series) > 1 else None
        draw(places, values, thick, starts, color=_PALETTE[series.role], label=name)
        if chart.stacked:
            starts = [a + b for a, b in zip(starts, values, strict=True)]
    if lies:
        one = chart.series[0].values if len(chart.series) == 1 else ()
        _name_rows(axes, chart.names, ["unknown" if v is None else _number(v) for v in one])
        _label(axes, chart.y_label, "")
    else:
        _name_ticks(axes.xaxis, chart.names)
        axes.grid(False, axis="x")
        _label(axes, chart.x_label, chart.y_label)
    if all(value is None or value == int(value) for s in chart.series for value in s.values):
        (axes.xaxis if lies else axes.yaxis).set_major_locator(MaxNLocator(5, integer=True))


def _draw_heat_map(axes: Axes, chart: HeatMap) -> None:
    """Draw cells with their texts where there are few of them, and a scale."""
    colours = LinearSegmentedColormap.from_list("values", ["#f1f5fb", _PALETTE["main"]])
    colours.set_bad(_PALETTE["outside"])
    values = [[math.nan if v is None else v for v in row] for row in chart.values]
    known = [value for row in values for value in row if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    # scores in percent stay comparable between pictures
    if chart.value_label.endswith("%") and low >= 0 and high <= 100:
        low, high = 0.0, 100.0
    shades = axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto", origin="lower")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    _name_ticks(axes.xaxis, chart.x_names)
    _name_ticks(axes.yaxis, chart.y_names)
    _label(axes, chart.x_label, chart.y_label)
    scale = axes.inset_axes((1.02, 0, 0.02, 1))
    axes.figure.colorbar(shades, cax=scale, label=_shortened(chart.value_label, 30))
    if len(chart.x_names) > 12:
        return
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            colour = "white" if value > low + 0.6 * (high - low) else _PALETTE["ink"]
            text = "" if math.isnan(value) else _number(value)
            axes.text(x, y, text, ha="center", va="center", fontsize=_SMALL, color=colour)


def _draw_tree(axes: Axes, chart: Tree) -> None:
    """Draw a row for each node, indented by its depth, with a bar of its share of all visits."""
    nodes = _nodes(chart)
    names = ["   " * depth + short_name(node.name, 24) for depth, node, _ in nodes]
    columns = max(map(width, names))
    axes.barh(range(len(nodes)), [100 * share for *_, share in nodes], 0.7, color=_PALETTE["main"])
    _name_rows(axes, [""] * len(nodes), [node.text for _, node, _ in nodes])
    # padded names of equal letters are aligned at their left, which shows the depth
    labels = [pad(name, columns).replace(" ", "\N{NO-BREAK SPACE}") for name in names]
    axes.set_yticks(range(len(names)), labels, fontfamily="DejaVu Sans Mono")
    axes.set_xlim(0, 100)
    _label(axes, "share of all visits, %", "")


def _nodes(chart: Tree) -> list[tuple[int, TreeNode, float]]:
    """Return the nodes with most visits, from the root down: depth, node, share of all visits."""

    def walk(node: TreeNode, depth: int, share: float) -> Iterator[tuple[int, TreeNode, float]]:
        yield depth, node, share
        for child in sorted(node.children, key=lambda child: -child.share):
            yield from walk(child, depth + 1, share * child.share)

    nodes = list(walk(chart.root, 0, 1.0))
    # a child has no more visits than its parent, which thus is among them, too
    order = sorted(range(len(nodes)), key=lambda i: (-nodes[i][2], i))[:MOST_NODES]
    return [nodes[i] for i in sorted(order)]


# ranges, names and numbers


def _range(
    values: Sequence[float], ends: Sequence[float], widen: float, room: float
) -> tuple[float, float]:
    """Return a range that holds all values, and parts of long intervals.

    ends   of intervals, which widen the range by at most `widen` of it on each side
    room   as a part of the range, on each side
    """
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        margin = 0.05 * max(abs(low), abs(high), 1.0)
        low, high = low - margin, high + margin
    most = widen * (high - low)
    inside = [end for end in ends if math.isfinite(end)]
    low = max(min([low, *inside]), low - most)
    high = min(max([high, *inside]), high + most)
    margin = room * (high - low)
    return low - margin, high + margin


def _ranges(chart: Chart) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges of x and y of a chart."""
    x_values: list[float] = []
    y_values: list[float] = []
    ends: list[float] = []
    for piece in chart.pieces:
        match piece:
            case Series(points=points) | Band(points=points):
                x_values += [x for x, *_ in points]
                y_values += [y for _, *ys in points for y in ys]
            case Whiskers(points=points):
                x_values += [x for x, *_ in points]
                y_values += [y for _, y, *_ in points]
                ends += [end for _, _, *both in points for end in both]
            case Interval(along="x", value=value):
                x_values.append(value)
            case Interval(value=value):
                y_values.append(value)
                ends += _ends(piece)
            case Level(value=value):
                y_values.append(value)
    return _range(x_values, (), 0.0, 0.04), _range(y_values, ends, _WIDEN, 0.06)


def _label(axes: Axes, x_label: str, y_label: str) -> None:
    axes.set_xlabel(_shortened(x_label, 80))
    axes.set_ylabel(_shortened(y_label, 40))


def _name_ticks(axis: Axis, names: Sequence[str]) -> None:
    """Name the places 0, 1, … of an axis, at most 40 of them."""
    step = math.ceil(len(names) / 40)
    shown = [short_name(name) for name in names[::step]]
    is_crowded = axis.axis_name == "x" and max(map(len, shown), default=0) * len(shown) > 40
    axis.set_ticks(range(0, len(names), step), shown)
    axis.set_tick_params(
        length=0, labelcolor=_PALETTE["ink"], labelrotation=90 if is_crowded else 0
    )


def _name_rows(axes: Axes, names: Sequence[str], texts: Sequence[str] = ()) -> None:
    """Name rows from the top down; put a text behind each."""
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [short_name(name) for name in names])
    axes.tick_params(axis="y", length=0, labelcolor=_PALETTE["ink"])
    axes.grid(False, axis="y")
    if any(texts):
        behind = axes.secondary_yaxis("right")
        behind.set_yticks(range(len(names)), [_shortened(text, _ROW_TEXT) for text in texts])
        behind.tick_params(length=0, labelcolor=_PALETTE["ink"])
        behind.spines["right"].set_visible(False)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def _shortened(text: str, columns: int) -> str:
    """Return printable text of at most `columns`."""
    return sanitise(text, max(columns, len(ELLIPSIS)))


def short_name(name: str, columns: int = _NAME) -> str:
    """Return a printable name of at most `columns`, with its start and its end."""
    name = sanitise(name[:1000])
    if width(name) <= columns:
        return name
    end = ""
    for cluster in reversed(list(clusters(name))):
        if width(cluster + end) > columns // 2 - 2:
            break
        end = cluster + end
    return cut(name, columns - width(end)) + end
