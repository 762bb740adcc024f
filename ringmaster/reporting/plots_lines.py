"""Draw charts of two number axes: lines, bands, whiskers, levels and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ringmaster.model.report import Band, Chart, Interval, Level, Piece, Series, Whiskers
from ringmaster.reporting.plots_style import (
    COLUMN,
    PALETTE,
    Room,
    axes_inches,
    fitting_columns,
    label_axes,
    name_columns,
    name_ticks,
    number_ticks,
    title_room,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The share by which intervals may widen the range of a chart.
_WIDEN = 0.6


def chart_room(chart: Chart, wide: float) -> Room:
    """Return the division of a chart's box of some width in inches."""
    names = name_columns(chart.y_names, fitting_columns(wide))
    before = (0.66 if chart.y_label else 0.53) + COLUMN * max(0, names - 5)
    above = title_room(chart)
    body = 0.3 + (0.38 if wide < 6 else 0.22) * wide - above
    return Room(before, 0.1, above, 0.42, body)


def draw_chart(axes: Axes, chart: Chart, wide: float) -> None:
    """Draw a chart into its axes in a box of some width in inches."""
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
    across, down = axes_inches(axes)
    if chart.x_names:
        axes.set_xlim(-0.5, len(chart.x_names) - 0.5)
        name_ticks(axes.xaxis, chart.x_names, across / len(chart.x_names))
    else:
        number_ticks(axes.xaxis, 6 if axes.bbox.width > 72 * 4 else 4)
    if chart.y_names:
        axes.set_ylim(-0.5, len(chart.y_names) - 0.5)
        name_ticks(axes.yaxis, chart.y_names, down / len(chart.y_names), fitting_columns(wide))
    else:
        number_ticks(axes.yaxis, 5)
    label_axes(axes, chart.x_label, chart.y_label)


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
