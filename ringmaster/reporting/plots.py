"""Draw a chart with matplotlib into a box of a figure; `plots_sheet` arranges boxes.

matplotlib's global state (pyplot, the user's style) does not change.  The same charts give the
same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    Role,
    Series,
)
from ringmaster.reporting import plots_lines, plots_shapes
from ringmaster.reporting.plots_style import PALETTE, SMALL, TITLE, Room, shortened

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def room(chart: AnyChart, wide: float) -> Room:
    """Return the division of a chart's box of some width in inches."""
    match chart:
        case Chart():
            return plots_lines.chart_room(chart, wide)
        case Comparison():
            return plots_shapes.comparison_room(chart)
        case Bars():
            return plots_shapes.bars_room(chart, wide)
        case HeatMap():
            return plots_shapes.heat_room(chart, wide)
    return plots_shapes.tree_room(chart)


def inches(chart: AnyChart, wide: float) -> float:
    """Return the height of a chart of some width in inches, with its title."""
    _, _, above, below, body = room(chart, wide)
    return above + body + below


def frame(figure: Figure, chart: AnyChart, box: tuple[float, float, float]) -> Axes:
    """Draw a chart into a box of a figure.

    box  left, top and width in inches, from the upper left corner; its height is `inches`
    """
    left, top, wide = box
    before, after, above, _, body = room(chart, wide)
    across, down = figure.get_size_inches()
    axes = figure.add_axes(
        (
            (left + before) / across,
            1 - (top + above + body) / down,
            (wide - before - after) / across,
            body / down,
        )
    )
    _titles(axes, chart, wide - 0.1, before, above)
    match chart:
        case Chart():
            plots_lines.draw_chart(axes, chart, wide)
        case Comparison():
            plots_shapes.draw_comparison(axes, chart)
        case Bars():
            plots_shapes.draw_bars(axes, chart, wide)
        case HeatMap():
            plots_shapes.draw_heat(axes, chart, wide)
        case _:
            plots_shapes.draw_tree(axes, chart)
    return axes


def _titles(axes: Axes, chart: AnyChart, wide: float, before: float, above: float) -> None:
    def line(text: str, down: float, size: float, **style: Any) -> None:
        axes.annotate(
            shortened(text, round(wide * 72 / (0.58 * size))),
            (0, 1),
            (-72 * before, 72 * above - down),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=size,
            annotation_clip=False,
            **style,
        )

    if chart.title:
        line(chart.title, 12, TITLE, fontweight="bold")
    if chart.note:
        line(chart.note, 23 if chart.title else 11, SMALL, color=PALETTE["muted"])


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
