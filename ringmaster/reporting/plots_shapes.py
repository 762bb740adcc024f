"""Draw charts of rows, bars, cells and nodes: comparisons, bars, heat maps, search trees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ringmaster.model.report import Bars, Comparison, HeatMap, Tree, TreeNode
from ringmaster.reporting.plots_style import (
    COLUMN,
    NAME_COLUMNS,
    PALETTE,
    SMALL,
    TEXT,
    Room,
    axes_inches,
    fitting_columns,
    label_axes,
    name_columns,
    name_ticks,
    number_ticks,
    short_name,
    shortened,
    title_room,
)
from ringmaster.reporting.text import width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches of a row of a comparison, of bars, of a tree.
_ROW, _BAR, _NODE = 0.27, 0.2, 0.19
#: The most columns of the text behind a row.
TEXT_COLUMNS = 44


def _name_rows(axes: Axes, names: Sequence[str], columns: int = NAME_COLUMNS) -> None:
    """Name rows from the top down, each name in at most `columns`."""
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [short_name(name, columns) for name in names])
    axes.tick_params(axis="y", length=0, labelcolor=PALETTE["ink"], labelsize=TEXT)
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)


def _text_behind(axes: Axes, text: str, y: int) -> None:
    axes.annotate(
        shortened(text, TEXT_COLUMNS),
        (1, y),
        (6, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        color=PALETTE["ink"],
        annotation_clip=False,
    )


# comparisons


def comparison_room(chart: Comparison) -> Room:
    """Return the division of a comparison's box."""
    before = 0.25 + 0.072 * name_columns([row.name for row in chart.rows])
    texts = max([width(shortened(row.text, TEXT_COLUMNS)) for row in chart.rows], default=0)
    return Room(
        before, 0.2 + 0.068 * texts, title_room(chart), 0.55, _ROW * max(1, len(chart.rows))
    )


def draw_comparison(axes: Axes, chart: Comparison) -> None:
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
        _text_behind(axes, row.text, y)
    if chart.mark is not None:
        axes.axvline(chart.mark, color=muted, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
    axes.set_xlim(*limits)
    axes.set_ylim(len(chart.rows) - 0.5, -0.5)
    _name_rows(axes, [row.name for row in chart.rows])
    number_ticks(axes.xaxis, 8)
    label_axes(axes, chart.x_label, "")


def row_limits(chart: Comparison) -> tuple[float, float]:
    """Return the range of x of a comparison."""
    values = [row.value for row in chart.rows if math.isfinite(row.value)]
    values += [] if chart.mark is None else [chart.mark]
    ends = [end for row in chart.rows for end in (row.low, row.high) if math.isfinite(end)]
    low, high = min(values + ends, default=0.0), max(values + ends, default=1.0)
    room = 0.05 * ((high - low) or max(abs(high), 1.0))
    return low - room, high + room


# bars


def bars_room(chart: Bars, wide: float) -> Room:
    """Return the division of the box of bars of some width in inches."""
    above = title_room(chart) + 0.15 * _legend_lines(chart, wide)
    if _lies(chart):
        beside = 1 if chart.stacked else len(chart.series)
        body = (_BAR + 0.11 * (beside - 1)) * len(chart.names)
        names = name_columns(chart.names, fitting_columns(wide))
        return Room(0.2 + 0.072 * names, 0.5, above, 0.45, body)
    return Room(0.66, 0.1, above, 0.45, 0.2 + (0.32 if wide < 6 else 0.2) * wide)


def _lies(chart: Bars) -> bool:
    """Whether bars lie, for the room that their names need; bars of numbers stand."""
    return not all(name[:1].isnumeric() for name in chart.names)


def _legend_columns(chart: Bars, wide: float) -> int:
    names = name_columns([series.name for series in chart.series])
    return max(1, int((wide - 0.2) / (0.42 + COLUMN * names)))


def _legend_lines(chart: Bars, wide: float) -> int:
    if len(chart.series) < 2:
        return 0
    return math.ceil(len(chart.series) / _legend_columns(chart, wide))


def draw_bars(axes: Axes, chart: Bars, wide: float) -> None:
    """Draw bars upwards, or from the left where their names need the room."""
    lies, count = _lies(chart), len(chart.names)
    thick = 0.72 if chart.stacked else 0.76 / len(chart.series)
    draw = axes.barh if lies else axes.bar
    bottom = [0.0] * count
    whole = all(value is None or value == int(value) for s in chart.series for value in s.values)
    for number, series in enumerate(chart.series):
        values = [value or 0.0 for value in series.values]
        colour = PALETTE[series.role]
        if chart.stacked:
            draw(range(count), values, thick, bottom, color=colour, zorder=2)
            bottom = [a + b for a, b in zip(bottom, values, strict=True)]
        else:
            shift = (number - (len(chart.series) - 1) / 2) * thick
            draw([i + shift for i in range(count)], values, thick, color=colour, zorder=2)
    axes.spines["bottom" if lies else "left"].set_visible(False)
    if lies:
        _name_rows(axes, chart.names, fitting_columns(wide))
        number_ticks(axes.xaxis, 5, whole=whole)
        label_axes(axes, chart.y_label, "")
        if len(chart.series) == 1:
            _bar_texts(axes, chart)
    else:
        axes.set_xlim(-0.6, count - 0.4)
        if not any(value for series in chart.series for value in series.values):
            axes.set_ylim(0, 1)
        axes.grid(False, axis="x")
        name_ticks(axes.xaxis, chart.names, (wide - 0.76) / count)
        number_ticks(axes.yaxis, 5, whole=whole)
        label_axes(axes, chart.x_label, chart.y_label)
    if len(chart.series) > 1:
        _legend(axes, chart, wide)


def _bar_texts(axes: Axes, chart: Bars) -> None:
    """Write the value of each lying bar behind its end."""
    for y, value in enumerate(chart.series[0].values):
        axes.annotate(
            _number(value),
            (value or 0.0, y),
            (3 if (value or 0.0) >= 0 else -3, 0),
            textcoords="offset points",
            ha="left" if (value or 0.0) >= 0 else "right",
            va="center",
            fontsize=SMALL,
            color=PALETTE["muted" if value is None else "ink"],
            annotation_clip=False,
        )


def _number(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def _legend(axes: Axes, chart: Bars, wide: float) -> None:
    from matplotlib.patches import Patch

    figure = axes.figure
    box, whole = axes.get_position(), figure.bbox
    across, down = whole.width / figure.dpi, whole.height / figure.dpi
    legend = figure.legend(
        [Patch(color=PALETTE[series.role], linewidth=0) for series in chart.series],
        [short_name(series.name) for series in chart.series],
        loc="lower left",
        bbox_to_anchor=(box.x0 - bars_room(chart, wide).before / across, box.y1 + 0.04 / down),
        ncols=_legend_columns(chart, wide),
        frameon=False,
        fontsize=SMALL,
        borderaxespad=0,
        borderpad=0,
        labelspacing=0.25,
        handlelength=1.2,
        handleheight=0.6,
        columnspacing=1.4,
    )
    legend.set_zorder(1)


# heat maps


def heat_room(chart: HeatMap, wide: float) -> Room:
    """Return the division of a heat map's box of some width in inches."""
    names = name_columns(chart.y_names, fitting_columns(wide))
    before = 0.2 + COLUMN * names + 0.17 * bool(chart.y_label)
    below = 0.25 + 0.17 * bool(chart.x_label)
    row = min(0.3, max(0.16, 6 / len(chart.y_names)))
    body = min(max(1.0, row * len(chart.y_names)), 5.6)
    return Room(before, 0.85, title_room(chart), below, body)


def draw_heat(axes: Axes, chart: HeatMap, wide: float) -> None:
    """Draw cells with their texts where these have room, and a scale."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("values", ["#f1f5fb", PALETTE["main"]])
    colours.set_bad(PALETTE["outside"])
    values = [[math.nan if v is None else v for v in row] for row in chart.values]
    known = [value for row in values for value in row if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    # 100 columns of a score stay comparable between pictures
    if chart.value_label.endswith("%") and low >= 0 and high <= 100:
        low, high = 0.0, 100.0
    shades = axes.imshow(
        values,
        cmap=colours,
        vmin=low,
        vmax=high,
        aspect="auto",
        origin="lower",
        interpolation="none",
        zorder=2,
    )
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    across, down = axes_inches(axes)
    cell = across / len(chart.x_names), down / len(chart.y_names)
    name_ticks(axes.xaxis, chart.x_names, cell[0])
    name_ticks(axes.yaxis, chart.y_names, cell[1], fitting_columns(wide))
    label_axes(axes, chart.x_label, chart.y_label)
    bar = axes.inset_axes((1 + 0.12 / across, 0, 0.1 / across, 1))
    axes.figure.colorbar(shades, cax=bar)
    bar.set_ylabel(shortened(chart.value_label, 30), fontsize=SMALL, labelpad=2)
    bar.tick_params(length=2)
    bar.grid(False)
    number_ticks(bar.yaxis, 5)
    texts = _cell_texts(chart, cell[0])
    if not texts or cell[1] < 0.13:
        return
    for y, row in enumerate(texts):
        for x, text in enumerate(row):
            dark = values[y][x] > low + 0.6 * (high - low)
            axes.text(
                x,
                y,
                text,
                ha="center",
                va="center",
                fontsize=SMALL,
                color="white" if dark else PALETTE["ink"],
                zorder=3,
            )


def _cell_texts(chart: HeatMap, wide: float) -> list[list[str]]:
    """Return the texts of cells of some width in inches, else their values, else []."""
    values = [["" if v is None else _number(v) for v in row] for row in chart.values]
    texts = [[shortened(text, NAME_COLUMNS) for text in row] for row in chart.texts]
    for rows in filter(None, (texts, values)):
        if wide >= 0.06 + COLUMN * max((len(text) for row in rows for text in row), default=0):
            return rows
    return []


# search trees


#: The most nodes of a drawn tree.
MOST_NODES = 28


def tree_room(chart: Tree) -> Room:
    """Return the division of a tree's box."""
    rows, more = _nodes(chart)
    names = max(2 * depth + name_columns([node.name]) for depth, node, _ in rows)
    texts = max(width(shortened(node.text, TEXT_COLUMNS)) for _, node, _ in rows)
    above = title_room(chart)
    return Room(
        0.2 + 0.072 * names, 0.2 + 0.068 * texts, above, 0.45, _NODE * (len(rows) + bool(more))
    )


def _nodes(chart: Tree) -> tuple[list[tuple[int, TreeNode, float]], int]:
    """Return the nodes with most visits, from the root down, with depth and share of all visits;
    and the number of the others."""

    def walk(node: TreeNode, depth: int, share: float) -> Iterator[tuple[int, TreeNode, float]]:
        yield depth, node, share
        for child in sorted(node.children, key=lambda child: -child.share):
            yield from walk(child, depth + 1, share * child.share)

    nodes = list(walk(chart.root, 0, 1.0))
    # a child has no more visits than its parent, which thus is among them, too
    order = sorted(range(len(nodes)), key=lambda i: (-nodes[i][2], i))[:MOST_NODES]
    return [nodes[i] for i in sorted(order)], len(nodes) - len(order)


def draw_tree(axes: Axes, chart: Tree) -> None:
    """Draw a row for each node, indented by its depth, with a bar of its share of all visits."""
    rows, more = _nodes(chart)
    names = [
        "\N{NO-BREAK SPACE}" * 3 * depth + shortened(node.name, NAME_COLUMNS)
        for depth, node, _ in rows
    ]
    axes.barh(
        range(len(rows)),
        [100 * share for _, _, share in rows],
        0.7,
        color=PALETTE["main"],
        zorder=2,
    )
    for y, (_, node, _) in enumerate(rows):
        _text_behind(axes, node.text, y)
    if more:
        names.append(f"… and {more:,} more nodes")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names, ha="left")
    before = tree_room(chart).before
    axes.tick_params(
        axis="y", length=0, labelcolor=PALETTE["ink"], labelsize=TEXT, pad=72 * before - 8
    )
    axes.grid(False, axis="y")
    axes.set_xlim(0, 100)
    number_ticks(axes.xaxis, 5)
    label_axes(axes, "share of all visits, %", "")
