"""The style of matplotlib drawings: fonts, colours by role, printable text, ticks."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ringmaster.model.report import AnyChart
from ringmaster.reporting.text import ELLIPSIS, clusters, cut, sanitise, width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

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

#: Colours by role.
PALETTE = {
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

#: The most columns of a name; inches of a column of SMALL letters.
NAME_COLUMNS, COLUMN = 40, 0.064
#: Points (1/72 inch).
SMALL, TEXT, TITLE = 7.5, 8.0, 9.5


@contextmanager
def quiet_fonts() -> Iterator[None]:
    """Keep matplotlib from reporting its cache of fonts, and fonts without a bold face."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def drawing() -> Iterator[list[str]]:
    """Set matplotlib's defaults and ours; yield a list that has warnings after the block."""
    with quiet_fonts():
        import matplotlib
        from matplotlib import font_manager

    notes: list[str] = []
    with quiet_fonts(), matplotlib.rc_context(), warnings.catch_warnings(record=True) as caught:
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
    """Return an empty figure of a size in inches, which notebooks display."""
    from ringmaster.reporting.plots_figure import ShownFigure

    return ShownFigure(figsize=(wide, high))


def shortened(text: str, columns: int) -> str:
    """Return printable text of at most `columns`."""
    return sanitise(text, max(columns, len(ELLIPSIS)))


def short_name(name: str, columns: int = NAME_COLUMNS) -> str:
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


def fitting_columns(wide: float) -> int:
    """Return the most columns of names before a chart of some width in inches."""
    return max(8, min(NAME_COLUMNS, int(0.36 * wide / COLUMN)))


class Room(NamedTuple):
    """The division of a chart's box, in inches: margins and the height of the axes."""

    before: float
    after: float
    above: float
    below: float
    body: float


def title_room(chart: AnyChart) -> float:
    """Return the inches of a title with its note."""
    return 0.06 + 0.2 * bool(chart.title) + 0.16 * bool(chart.note)


def name_columns(names: Sequence[str], columns: int = NAME_COLUMNS) -> int:
    """Return the columns of the longest name, as shown in at most `columns`."""
    return max([width(short_name(name, columns)) for name in names], default=0)


def label_axes(axes: Axes, x_label: str, y_label: str) -> None:
    """Name both axes."""
    axes.set_xlabel(shortened(x_label, 80), fontsize=SMALL, labelpad=2)
    axes.set_ylabel(shortened(y_label, 30), fontsize=SMALL, labelpad=2)


def axes_inches(axes: Axes) -> tuple[float, float]:
    """Return width and height of axes."""
    box = axes.get_window_extent()
    return box.width / axes.figure.dpi, box.height / axes.figure.dpi


# ticks


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


def number_ticks(axis: Axis, most: int, *, whole: bool = False) -> None:
    """Set up to about `most` ticks at round numbers.

    whole  whether only at integers
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

    low, high = sorted(axis.get_view_interval())
    ticks = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], integer=whole).tick_values(low, high)
    values = [float(value) for value in ticks if low <= value <= high]
    axis.set_major_locator(FixedLocator(values))
    axis.set_major_formatter(FixedFormatter(tick_texts(values)))


def name_ticks(axis: Axis, names: Sequence[str], room: float, columns: int = NAME_COLUMNS) -> None:
    """Set a tick with a name at 0, 1, …; leave some out where they would overlap.

    room     inches of one name along the axis
    columns  the most of a name
    """
    from matplotlib.axis import XAxis

    needed = 0.16
    if isinstance(axis, XAxis):
        # half of the first name has room before the axis
        columns = max(8, min(columns, int(0.25 * room * len(names) / COLUMN)))
        needed = 0.08 + COLUMN * name_columns(names, columns)
    step = max(1, math.ceil(needed / room))
    axis.set_ticks(
        range(0, len(names), step), [short_name(name, columns) for name in names[::step]]
    )
    axis.set_tick_params(length=0, labelcolor=PALETTE["ink"])
