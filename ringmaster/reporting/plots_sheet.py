"""Arrange charts on one picture (PNG, SVG) or on the pages of a PDF."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from ringmaster.model.report import AnyChart, Bars, ChartGroup, Comparison, HeatMap, Tree
from ringmaster.reporting.plots import frame, handle, inches, keys
from ringmaster.reporting.plots_style import PALETTE, SMALL, TEXT, drawing, new_figure, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches: the width of a sheet, its margin, the gap between charts.
WIDE, MARGIN, GAP = 11.0, 0.35, 0.12
#: Inches: the height of a page of a PDF (letter format, nearly A4).
HIGH = 8.5
#: Dots an inch of a PNG, and the most dots of its height.
DOTS, MOST_DOTS = 120, 30_000
#: The most rows of a comparison on one page.
MOST_ROWS = 22

#: Metadata of each format, without date and version.
_BARE: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_BARE)


@dataclass
class _Row:
    """Charts side by side, or the head of a group, with their height in inches."""

    height: float
    charts: list[AnyChart] = field(default_factory=list)
    columns: int = 1
    head: ChartGroup | None = None


def write_sheets(
    groups: Sequence[ChartGroup], title: str, format: str, stream: BinaryIO
) -> list[str]:
    """Write all charts in one of FORMATS; return warnings.  Raises OSError."""
    with drawing() as notes:
        if format == "pdf":
            _write_pages(groups, title, stream)
        else:
            rows = [row for group in groups for row in _rows(group)]
            figure = _sheet(rows, title, None)
            dots = dots_an_inch(figure.get_size_inches()[1])
            figure.savefig(stream, format=format, dpi=dots, metadata=_BARE[format])
    return notes


def make_figure(groups: Sequence[ChartGroup], title: str) -> Figure:
    """Return a figure of all charts, one below the other."""
    with drawing():
        figure = _sheet([row for group in groups for row in _rows(group)], title, None)
        # makes all artists while the style holds
        figure.draw_without_rendering()
    return figure


def dots_an_inch(high: float) -> float:
    """Return the dots an inch of a PNG of some height in inches."""
    return min(DOTS, MOST_DOTS / high)


def _write_pages(groups: Sequence[ChartGroup], title: str, stream: BinaryIO) -> None:
    from matplotlib.backends.backend_pdf import PdfPages

    # closing writes the file
    with PdfPages(stream, metadata=_BARE["pdf"]) as pages:
        for rows in _pages(groups):
            pages.savefig(_sheet(rows, title, HIGH))


def _rows(group: ChartGroup, most: int | None = None) -> Iterator[_Row]:
    """Yield the head of a group and the rows of its charts.

    A wide chart has its own row; a chart of more than `most` lines is in parts.
    """
    lines = len(_wrapped(group))
    yield _Row(0.38 + 0.16 * lines + (0.26 if keys(group) else 0), head=group)
    small = [chart for chart in group.charts if not _is_wide(chart)]
    columns = 2 if len(small) == 4 else min(3, len(small))
    for wide, charts in groupby(group.charts, _is_wide):
        row = [part for chart in charts for part in _parts(chart, most)]
        step = 1 if wide else columns
        for i in range(0, len(row), step):
            beside = row[i : i + step]
            yield _Row(max(inches(chart, _width(step)) for chart in beside), beside, step)


def _is_wide(chart: AnyChart) -> bool:
    """Whether a chart needs the whole width."""
    many = isinstance(chart, HeatMap) and len(chart.x_names) > 12
    return many or isinstance(chart, Comparison | Tree)


def _parts(chart: AnyChart, most: int | None) -> Iterator[AnyChart]:
    """Yield a chart, or parts of at most `most` rows."""
    match chart:
        case Comparison(rows=rows) if most is not None and len(rows) > most:
            for i in range(0, len(rows), most):
                yield msgspec.structs.replace(chart, rows=rows[i : i + most])
        case Bars(names=names, series=series) if most is not None:
            # bars beside each other need more room
            step = most if chart.stacked else 2 * most // (1 + len(series))
            for i in range(0, len(names), step):
                yield msgspec.structs.replace(
                    chart,
                    names=names[i : i + step],
                    series=tuple(
                        msgspec.structs.replace(s, values=s.values[i : i + step]) for s in series
                    ),
                )
        case _:
            yield chart


def _pages(groups: Sequence[ChartGroup]) -> list[list[_Row]]:
    """Return the rows by pages; a head is never the last row of a page."""
    room = HIGH - 2 * MARGIN - 0.3
    pages: list[list[_Row]] = []
    left = 0.0
    for group in groups:
        head, *rows = _rows(group, MOST_ROWS)
        for i, row in enumerate(rows):
            needed = row.height + GAP + (head.height if i == 0 else 0)
            if not pages or needed > left:
                # repeat the legend on every page
                pages.append([head, row])
                left = room - head.height - row.height - GAP
                continue
            pages[-1] += [head, row] if i == 0 else [row]
            left -= needed
    return pages


def _width(columns: int) -> float:
    return (WIDE - 2 * MARGIN - (columns - 1) * GAP) / columns


def _sheet(rows: Sequence[_Row], title: str, high: float | None) -> Figure:
    """Draw rows from the top down.

    high  the height of the sheet; None: as high as its rows
    """
    top = MARGIN + 0.3
    if high is None:
        high = top + sum(row.height + (GAP if row.head is None else 0) for row in rows)
        high = max(high + MARGIN - GAP, 2.0)
    figure = new_figure(WIDE, high)
    figure.text(
        MARGIN / WIDE,
        1 - (MARGIN + 0.1) / high,
        shortened(title, 100),
        fontsize=12,
        fontweight="bold",
        va="center",
    )
    for row in rows:
        if row.head is not None:
            _head(figure, row.head, top, high)
            top += row.height
            continue
        wide = _width(row.columns)
        for i, chart in enumerate(row.charts):
            left = MARGIN + i * (wide + GAP)
            frame(figure, chart, (left, top, wide))
        top += row.height + GAP
    return figure


def _wrapped(group: ChartGroup) -> list[str]:
    return textwrap.wrap(shortened(group.text, 600), 150)


def _head(figure: Figure, group: ChartGroup, top: float, high: float) -> None:
    x = MARGIN / WIDE
    text = shortened(group.title, 90)
    figure.text(x, 1 - (top + 0.18) / high, text, fontsize=11, va="center")
    top += 0.34
    for line in _wrapped(group):
        y = 1 - (top + 0.06) / high
        figure.text(x, y, line, fontsize=TEXT, va="center", color=PALETTE["muted"])
        top += 0.16
    looks = keys(group)
    if looks:
        legend = figure.legend(
            [handle(key) for key in looks],
            [shortened(key.name, 40) for key in looks],
            loc="upper left",
            bbox_to_anchor=(x, 1 - top / high),
            ncols=len(looks),
            frameon=False,
            fontsize=SMALL,
            borderaxespad=0,
            borderpad=0,
            handlelength=1.8,
            columnspacing=1.6,
        )
        legend.set_zorder(1)
