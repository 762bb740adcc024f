"""Draw single charts with matplotlib; `plots_sheet` and `plots_page` arrange them.

matplotlib's global state (pyplot, the user's style) does not change.  The same charts give the
same bytes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ringmaster.errors import RingmasterError
from ringmaster.model.report import (
    Band,
    Chart,
    ChartGroup,
    Comparison,
    Interval,
    Level,
    Piece,
    Role,
    Series,
    Whiskers,
)
from ringmaster.reporting.text import ELLIPSIS, sanitise, width

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

NOT_INSTALLED = (
    "pictures need matplotlib, which is not installed: pip install 'ringmaster-engines[plots]'"
)
#: A warning about boxes in place of letters.
MISSING_LETTERS = (
    "some names have letters that are missing from matplotlib's fonts and shown as boxes; "
    "the page (.html) and .svg use the viewer's fonts"
)

#: Fonts with Chinese and Japanese letters, the best ones first.
_EASTERN = (
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "Source Han Sans JP",
    "IPAexGothic",
    "IPAGothic",
    "TakaoGothic",
    "VL Gothic",
    "Hiragino Sans",
    "Hiragino Kaku Gothic ProN",
    "Yu Gothic",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
)

#: Colours by role, all different: the page replaces them by its own.
PALETTE = {
    "ink": "#1b1f24",
    "muted": "#66707c",
    "grid": "#e3e6ea",
    "outside": "#eceef2",
    "main": "#2563b0",
    "aside": "#7d838b",
    "average": "#cf5f0c",
    "estimate": "#177a48",
}

#: Points (1/72 inch).
SMALL, TEXT, TITLE = 7.5, 8.0, 9.5
#: The share by which intervals may widen the range of a chart.
_WIDEN = 0.6
#: Inches of a comparison: a row, and the space below the rows.
ROW, BELOW = 0.27, 0.55
#: The most columns of a row's name and of the text behind it.
NAME_COLUMNS, TEXT_COLUMNS = 40, 44


@contextmanager
def drawing() -> Iterator[list[str]]:
    """Set matplotlib's defaults and ours; yield a list that has warnings after the block.

    Raises RingmasterError without matplotlib.
    """
    try:
        import matplotlib
        from matplotlib import font_manager
    except ImportError:
        raise RingmasterError(NOT_INSTALLED) from None
    notes: list[str] = []
    with matplotlib.rc_context(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matplotlib.rcdefaults()
        installed = set(font_manager.fontManager.get_font_names())
        matplotlib.rcParams.update(
            {
                "font.family": ["DejaVu Sans", *(f for f in _EASTERN if f in installed)],
                "font.size": TEXT,
                "text.parse_math": False,
                "text.color": PALETTE["ink"],
                "axes.edgecolor": PALETTE["muted"],
                "axes.labelcolor": PALETTE["muted"],
                "axes.linewidth": 0.6,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.axisbelow": True,
                "axes.grid": True,
                "grid.color": PALETTE["grid"],
                "grid.linewidth": 0.6,
                "xtick.color": PALETTE["muted"],
                "ytick.color": PALETTE["muted"],
                "xtick.labelsize": SMALL,
                "ytick.labelsize": SMALL,
                "xtick.major.width": 0.6,
                "ytick.major.width": 0.6,
                "svg.fonttype": "none",
                "svg.hashsalt": "ringmaster",
                "pdf.fonttype": 42,
            }
        )
        yield notes
    messages = [str(warning.message) for warning in caught]
    if any("missing from" in message for message in messages):
        notes.append(MISSING_LETTERS)


def new_figure(wide: float, high: float) -> Figure:
    """Return an empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(wide, high))


def inches(chart: Chart | Comparison, wide: float) -> float:
    """Return the height of a chart of some width in inches, with its title."""
    if isinstance(chart, Comparison):
        title = 0.3 if chart.title or chart.note else 0.08
        return title + ROW * max(1, len(chart.rows)) + BELOW
    return 0.72 + (0.38 if wide < 6 else 0.22) * wide


def frame(
    figure: Figure, chart: Chart | Comparison, box: tuple[float, float, float, float]
) -> Axes:
    """Draw a chart into a box of a figure.

    box  left, top, width and height in inches, from the upper left corner
    """
    left, top, wide, high = box
    if isinstance(chart, Comparison):
        names = max([_columns(row.name) for row in chart.rows], default=0)
        before = 0.25 + 0.072 * min(names, NAME_COLUMNS)
        texts = max([width(shortened(row.text, TEXT_COLUMNS)) for row in chart.rows], default=0)
        after = 0.2 + 0.068 * texts
        above, below = 0.3 if chart.title or chart.note else 0.08, BELOW - 0.05
    else:
        before, after, below = (0.66 if chart.y_label else 0.53), 0.1, 0.42
        above = 0.42 if chart.note else 0.26
    across, down = figure.get_size_inches()
    axes = figure.add_axes(
        (
            (left + before) / across,
            1 - (top + high - below) / down,
            (wide - before - after) / across,
            (high - above - below) / down,
        )
    )
    _titles(axes, chart, wide - 0.1, before)
    if isinstance(chart, Comparison):
        _draw_comparison(axes, chart)
    else:
        _draw_chart(axes, chart)
    return axes


def _titles(axes: Axes, chart: Chart | Comparison, wide: float, before: float) -> None:
    def line(text: str, above: float, size: float, **style: Any) -> None:
        axes.annotate(
            shortened(text, round(wide * 72 / (0.58 * size))),
            (0, 1),
            (-72 * before, above),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=size,
            annotation_clip=False,
            **style,
        )

    if chart.note:
        line(chart.note, 6, SMALL, color=PALETTE["muted"])
    if chart.title:
        line(chart.title, 18 if chart.note else 7, TITLE, fontweight="bold")
    axes.set_xlabel(shortened(chart.x_label, 80), fontsize=SMALL, labelpad=2)
    if isinstance(chart, Chart):
        axes.set_ylabel(shortened(chart.y_label, 30), fontsize=SMALL, labelpad=2)


def shortened(text: str, columns: int) -> str:
    """Return printable text of at most `columns`."""
    return sanitise(text, max(columns, len(ELLIPSIS)))


def _columns(text: str) -> int:
    return width(shortened(text, NAME_COLUMNS))


# charts


def _draw_chart(axes: Axes, chart: Chart) -> None:
    limits = y_limits(chart)
    right = x_limits(chart)
    for order, piece in enumerate(chart.pieces, 2):
        _draw(axes, piece, PALETTE[piece.role], order, limits, right)
    axes.set_ylim(*limits)
    axes.set_xlim(*right)
    if chart.bounds is not None:
        low, high = chart.bounds
        for one, other in ((limits[0], low), (high, limits[1])):
            if one < other:
                axes.axhspan(one, other, color=PALETTE["outside"], linewidth=0, zorder=1)
    _ticks(axes.xaxis, 6 if axes.bbox.width > 72 * 4 else 4)
    _ticks(axes.yaxis, 5)


def _draw(
    axes: Axes,
    piece: Piece,
    colour: str,
    order: int,
    limits: tuple[float, float],
    right: tuple[float, float],
) -> None:
    match piece:
        case Series(points=points, joined=joined):
            x, y = _coordinates(points, 2)
            if joined:
                axes.plot(x, y, color=colour, linewidth=1.2, zorder=order)
            else:
                axes.plot(x, y, "o", color=colour, markersize=2, alpha=0.6, zorder=order)
        case Band(points=points):
            x, low, high = _coordinates(points, 3)
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, zorder=order)
        case Whiskers(points=points):
            x, y, low, high = _coordinates(points, 4)
            axes.vlines(x, low, high, color=colour, linewidth=0.9, zorder=order)
            axes.plot(x, y, "o", color=colour, markersize=3, zorder=order)
        case Level():
            ends = (
                right[0] if piece.first is None else piece.first,
                right[1] if piece.last is None else piece.last,
            )
            whole = piece.first is None and piece.last is None
            style: Any = (0, (4, 3)) if whole else "-"
            axes.plot(
                ends,
                (piece.value, piece.value),
                color=colour,
                linestyle=style,
                linewidth=0.9 if whole else 1.8,
                zorder=order,
            )
        case Interval(along="x"):
            axes.axvline(piece.value, color=colour, linewidth=1.2, zorder=order)
            if piece.low is not None or piece.high is not None:
                low_end = right[0] if piece.low is None else max(piece.low, right[0])
                high_end = right[1] if piece.high is None else min(piece.high, right[1])
                axes.axvspan(low_end, high_end, color=colour, alpha=0.15, linewidth=0, zorder=order)
        case Interval():
            _draw_interval(axes, piece, colour, order, limits, right)


def _draw_interval(
    axes: Axes,
    piece: Interval,
    colour: str,
    order: int,
    limits: tuple[float, float],
    right: tuple[float, float],
) -> None:
    x = right[1] - 0.025 * (right[1] - right[0])
    axes.plot([x], [piece.value], "D", color=colour, markersize=4, zorder=order + 20)
    if piece.low is None and piece.high is None:
        return
    low = limits[0] if piece.low is None else max(piece.low, limits[0])
    high = limits[1] if piece.high is None else min(piece.high, limits[1])
    axes.plot([x, x], [low, high], color=colour, linewidth=1.4, zorder=order + 19)
    # an arrow where the interval continues beyond the picture
    for end, inside, outwards in ((low, piece.low, "v"), (high, piece.high, "^")):
        goes_on = inside is None or inside != end
        marker: Any = outwards if goes_on else "_"
        axes.plot(
            [x], [end], marker, color=colour, markersize=4.5, clip_on=False, zorder=order + 19
        )


def _coordinates(points: Sequence[tuple[float, ...]], count: int) -> list[list[float]]:
    return [[point[i] for point in points] for i in range(count)]


def _heights(piece: Piece) -> list[float]:
    """Return the y values of a piece that must be visible."""
    match piece:
        case Series(points=points):
            return [y for _, y in points]
        case Band(points=points):
            return [end for _, low, high in points for end in (low, high)]
        case Whiskers(points=points):
            return [y for _, y, _, _ in points]
        case Level(value=value):
            return [value]
        case Interval(along="y", value=value):
            return [value]
    return []


def y_limits(chart: Chart) -> tuple[float, float]:
    """Return the range of y: all values, and parts of long intervals."""
    heights = [y for piece in chart.pieces for y in _heights(piece) if math.isfinite(y)]
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    ends: list[float] = []
    for piece in chart.pieces:
        if isinstance(piece, Interval) and piece.along == "y":
            ends += [end for end in (piece.low, piece.high) if end is not None]
        elif isinstance(piece, Whiskers):
            ends += [end for _, _, *both in piece.points for end in both]
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        room = max(abs(low), abs(high), 1.0) * 0.05 if chart.bounds is None else 0.0
        if chart.bounds is not None:
            room = (chart.bounds[1] - chart.bounds[0]) / 20 or 1.0
        low, high = low - room, high + room
    span = high - low
    finite = [end for end in ends if math.isfinite(end)]
    low_end = max(min([low, *finite]), low - _WIDEN * span)
    high_end = min(max([high, *finite]), high + _WIDEN * span)
    room = 0.06 * (high_end - low_end)
    return low_end - room, high_end + room


def x_limits(chart: Chart) -> tuple[float, float]:
    """Return the range of x, with room for marks at the right edge."""
    values: list[float] = []
    room = 0.0
    for piece in chart.pieces:
        if isinstance(piece, Series | Band | Whiskers):
            values += [point[0] for point in piece.points]
        elif isinstance(piece, Interval) and piece.along == "x":
            values.append(piece.value)
        elif isinstance(piece, Interval):
            room = 0.06
    low, high = min(values, default=0.0), max(values, default=1.0)
    if any(isinstance(piece, Whiskers) for piece in chart.pieces):
        span = (high - low) or max(abs(high), 1.0) * 0.1
        return low - 0.05 * span, high + 0.05 * span
    span = (high - low) or 1.0
    return low, low + span * (1 + room)


# comparisons


def _draw_comparison(axes: Axes, chart: Comparison) -> None:
    main, muted = PALETTE["main"], PALETTE["muted"]
    limits = row_limits(chart)
    heights = range(len(chart.rows))
    lows = [max(row.low, limits[0]) for row in chart.rows]
    highs = [min(row.high, limits[1]) for row in chart.rows]
    axes.hlines(heights, lows, highs, color=main, linewidth=1.4, zorder=3)
    ends: dict[Any, list[tuple[float, int]]] = {}
    for y, (row, low, high) in enumerate(zip(chart.rows, lows, highs, strict=True)):
        # an arrow where the interval continues beyond the picture
        ends.setdefault("|" if low == row.low else "<", []).append((low, y))
        ends.setdefault("|" if high == row.high else ">", []).append((high, y))
    for marker, places in ends.items():
        x, at = zip(*places, strict=True)
        axes.plot(x, at, marker, color=main, markersize=4.5, clip_on=False, zorder=3)
    axes.plot([row.value for row in chart.rows], heights, "o", color=main, markersize=5, zorder=4)
    for y, row in enumerate(chart.rows):
        axes.annotate(
            shortened(row.text, TEXT_COLUMNS),
            (1, y),
            (6, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=PALETTE["ink"],
            annotation_clip=False,
        )
    if chart.mark is not None:
        axes.axvline(chart.mark, color=muted, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
    axes.set_xlim(*limits)
    axes.set_ylim(len(chart.rows) - 0.5, -0.5)
    axes.set_yticks(
        range(len(chart.rows)), [shortened(row.name, NAME_COLUMNS) for row in chart.rows]
    )
    axes.tick_params(axis="y", length=0, labelcolor=PALETTE["ink"], labelsize=TEXT)
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)
    _ticks(axes.xaxis, 8)


def row_limits(chart: Comparison) -> tuple[float, float]:
    """Return the range of x of a comparison."""
    values = [row.value for row in chart.rows if math.isfinite(row.value)]
    values += [] if chart.mark is None else [chart.mark]
    ends = [end for row in chart.rows for end in (row.low, row.high) if math.isfinite(end)]
    low, high = min(values + ends, default=0.0), max(values + ends, default=1.0)
    room = 0.05 * ((high - low) or max(abs(high), 1.0))
    return low - room, high + room


# numbers


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return short, different texts of numbers in one unit, for ticks."""
    most = max(map(abs, values), default=0.0)
    if not math.isfinite(most) or most == 0:
        return [f"{value:g}" for value in values]
    if most >= 1e9 or most < 1e-3:
        return [_exponential(value) for value in values]
    unit, letter = (1e6, "M") if most >= 1e6 else (1e3, "k") if most >= 1e4 else (1.0, "")
    step = min((abs(b - a) for a, b in pairwise(values) if b != a), default=most)
    digits = _digits(values, unit, step)
    if digits > 2 and letter:
        unit, letter = 1.0, ""
        digits = _digits(values, unit, step)

    def text(value: float) -> str:
        number = f"{value / unit:.{digits}f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
        # a plain zero needs no unit
        return "0" if number in ("0", "-0") else f"{number}{letter}".replace("-", "\N{MINUS SIGN}")

    return [text(value) for value in values]


def _exponential(value: float) -> str:
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    text = "0" if not value else f"{mantissa}e{int(exponent)}"
    return text.replace("-", "\N{MINUS SIGN}")


def _digits(values: Sequence[float], unit: float, step: float) -> int:
    """Return the number of decimals that distinguishes numbers `step` apart."""

    def off(digits: int) -> float:
        return max(abs(round(value / unit, digits) * unit - value) for value in values)

    return next((digits for digits in range(10) if off(digits) < 1e-3 * step), 10)


def _ticks(axis: Axis, most: int) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

    low, high = sorted(axis.get_view_interval())
    ticks = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    values = [float(value) for value in ticks if low <= value <= high]
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FixedFormatter(tick_texts(values)))


# legends


@dataclass(frozen=True)
class Key:
    """The look of a piece in a legend."""

    name: str
    role: Role
    look: str


def keys(group: ChartGroup) -> list[Key]:
    """Return the legend of a group's charts, each look once."""
    looks: dict[Key, None] = {}
    for chart in group.charts:
        for piece in chart.pieces if isinstance(chart, Chart) else ():
            looks[Key(piece.name, piece.role, _look(piece))] = None
    return list(looks)


def _look(piece: Piece) -> str:
    match piece:
        case Band():
            return "band"
        case Series(joined=True):
            return "line"
        case Level(first=None, last=None):
            return "dashes"
        case Level():
            return "bar"
        case Interval(along="x"):
            return "upright"
        case Interval():
            return "diamond"
    return "dots"


def handle(key: Key) -> Artist:
    """Return a sample of a look."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colour = PALETTE[key.role]
    if key.look == "band":
        return Patch(color=colour, alpha=0.2, linewidth=0)
    styles: dict[str, dict[str, Any]] = {
        "line": {"linewidth": 1.2},
        "dashes": {"linewidth": 0.9, "linestyle": (0, (4, 3))},
        "bar": {"linewidth": 1.8},
        "upright": {"linewidth": 0, "marker": "|", "markersize": 9, "markeredgewidth": 1.2},
        "diamond": {"linewidth": 0, "marker": "D", "markersize": 4},
        "dots": {"linewidth": 0, "marker": "o", "markersize": 3},
    }
    return Line2D([], [], color=colour, **styles[key.look])
