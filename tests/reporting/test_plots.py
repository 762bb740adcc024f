"""Charts as pictures: in place, the same each time."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from typing import Any

import matplotlib
import pytest

from ringmaster.model.report import (
    AnyChart,
    Band,
    Bars,
    BarSeries,
    Chart,
    ChartGroup,
    Compared,
    Comparison,
    HeatMap,
    Interval,
    Level,
    Role,
    Series,
    Tree,
    TreeNode,
    Whiskers,
)
from ringmaster.reporting.plots import MISSING_LETTERS, make_figure, write_sheets

ROLES: tuple[Role, ...] = ("main", "aside", "average", "estimate", "good", "bad", "neutral")
HOSTILE = (
    "</text></svg><script>alert(1)</script><img src=x onerror=alert(2)> $a_{b$ & \"q' \x1b[31m"
)
LONG = "an engine with a very long name of version 17.1-dev (64 bit)"


def course(title: str = "Value", low: float | None = 20, high: float | None = 90) -> Chart:
    pieces = (
        Band("perturbation", tuple((float(x), x - 5.0, x + 5.0) for x in range(60))),
        Level("start", 10),
        Series("θ", tuple((float(x), float(x)) for x in range(60))),
        Level("mean", 45, "average", 30, 60),
        Interval("estimate", 60, low, high),
    )
    return Chart(title, pieces, "games", "", "10 → 60", (0, 100))


def gains(title: str = "Gain") -> Chart:
    points = tuple((float(x), 3.0 - x, 2.0 - x, 4.0 - x) for x in range(6))
    optimum = Interval("optimum", 3, 2, None, along="x")
    return Chart(title, (Level("no gain", 0), Whiskers("results", points), optimum), "value", "Elo")


def comparison(rows: int = 3, name: str = "player") -> Comparison:
    compared = [
        Compared(f"{name} {i}", i * 10.0, i * 10 - 15.0, float("inf") if i == 1 else i * 10 + 20.0)
        for i in range(rows)
    ]
    return Comparison("", tuple(compared), "Elo", mark=0)


def shapes(names: int = 5, name: str = "a name") -> list[ChartGroup]:
    """Return groups of heat maps, bars, trees and charts of categories."""
    all_names = tuple(f"{name} {i}" for i in range(names))
    cells = tuple(tuple(None if x == y else x - y for x in range(names)) for y in range(names))
    values = tuple(float(i % 3) for i in range(names))
    series = tuple(BarSeries(f"{name} {role}", values, role) for role in ROLES)
    node = TreeNode(name, "1 visit", 1 / names)
    root = TreeNode("root", name, 1.0, (node,) * (names - 1) + (TreeNode(name, "", 0.1, (node,)),))
    charts: list[tuple[AnyChart, ...]] = [
        (
            HeatMap(name, all_names, all_names, cells, name, name, name, name),
            Bars("Stacked", all_names, series, name, "games", stacked=True),
            Bars("Beside", all_names, series[:2], "of", name, "noted"),
        ),
        (Tree(name, root, "noted"),),
        (
            Chart("by x", (Whiskers("score", ((0, 1, 0, 2),)),), name, name, x_names=all_names),
            Chart("by y", (Series("value", ((0, 1), (1, 2))),), y_names=all_names),
        ),
    ]
    return [ChartGroup(name, group) for group in charts]


def groups(count: int = 5) -> list[ChartGroup]:
    return [
        ChartGroup("Parameters", tuple(course(f"p{i}") for i in range(count)), "How to read it."),
        ChartGroup("Results", tuple(gains(f"p{i}") for i in range(count))),
        ChartGroup("Ratings", (comparison(),), "Error bars."),
    ]


def sheet(chart_groups: list[ChartGroup], format: str) -> bytes:
    stream = io.BytesIO()
    assert write_sheets(chart_groups, "spsa: tune", format, stream) == []
    return stream.getvalue()


def alone(chart: AnyChart) -> Any:
    """Return the axes of a single chart."""
    return make_figure([ChartGroup("G", (chart,))], "title").axes[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF-")]
)
def test_picture_is_of_its_format_and_the_same_for_every_user(format: str, start: bytes) -> None:
    chart_groups = [*groups(2), *shapes(2)]
    with matplotlib.rc_context({"font.size": 31, "axes.grid": False}):
        first = sheet(chart_groups, format)
        assert matplotlib.rcParams["font.size"] == 31
    assert first.startswith(start)
    assert first == sheet(chart_groups, format)
    assert str(matplotlib.__version__).encode() not in first
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.slow
@pytest.mark.parametrize(
    "chart_groups",
    [
        *[groups(count) for count in (1, 4, 7)],
        *[shapes(names, name) for names in (1, 5, 30) for name in ("a", LONG)],
    ],
)
def test_charts_titles_and_legends_are_on_the_sheet_and_do_not_overlap(
    chart_groups: Sequence[ChartGroup],
) -> None:
    figure = make_figure(chart_groups, "title")
    assert len(figure.axes) == sum(len(group.charts) for group in chart_groups)
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    boxes += [text.get_window_extent() for text in figure.texts if text.get_text()]
    boxes += [legend.get_window_extent() for legend in figure.legends]
    wide, high = figure.bbox.size
    for i, box in enumerate(boxes):
        assert box is not None
        assert min(box.x0, box.y0) >= 0, f"{i}: {box}"
        assert box.x1 <= wide, f"{i}: {box}"
        assert box.y1 <= high, f"{i}: {box}"
        for other in boxes[:i]:
            assert not box.overlaps(other), f"{i}: {box} and {other}"


@pytest.mark.slow
def test_pdf_has_all_charts_on_pages_of_one_size_unless_a_chart_is_higher() -> None:
    pdf = sheet([*groups(7), ChartGroup("Many", (comparison(50),))], "pdf")
    heights = re.findall(rb"/MediaBox \[ 0 0 792 (\S+) \]", pdf)
    assert len(heights) == len(re.findall(rb"/Type /Page\b", pdf)) > 3
    assert set(heights[:-1]) == {b"612"}
    assert float(heights[-1]) > 50 * 15


def test_letters_missing_from_all_fonts_are_reported() -> None:
    stream = io.BytesIO()
    # Linear A, which nobody has a font for
    chart_groups = [ChartGroup("P", (course("\U00010600\U00010601"),))]
    assert write_sheets(chart_groups, "t", "png", stream) == [MISSING_LETTERS]


def test_svg_keeps_letters_as_text_and_both_ends_of_a_long_name() -> None:
    chart = Comparison("飛車の価値", (Compared(LONG, 1, 0, 2), Compared("一" * 40 + "7", 1, 0, 2)))
    stream = io.BytesIO()
    write_sheets([ChartGroup("P", (chart,))], "t", "svg", stream)
    text = stream.getvalue().decode()
    assert "飛車の価値" in text
    assert re.search(r">an engine[^<]*…[^<]*\(64 bit\)<", text)
    assert re.search(">一+…一+7<", text)


@pytest.mark.slow
def test_very_high_sheet_has_fewer_dots() -> None:
    # its dots are counted, not drawn
    dots = make_figure([ChartGroup("", (comparison(930),))], "title").bbox
    assert dots.height <= 30_000
    assert dots.width < 1320


@pytest.mark.slow
@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_hostile_text_is_drawn_as_text(format: str) -> None:
    chart = Chart(HOSTILE, (Series(HOSTILE, ((0, 1), (1, 2))),), HOSTILE, HOSTILE, HOSTILE)
    pages = [ChartGroup(HOSTILE, (chart,), HOSTILE), ChartGroup(HOSTILE, (comparison(2, HOSTILE),))]
    picture = sheet([*pages, *shapes(2, HOSTILE)], format)
    assert b"<script" not in picture
    assert b"\x1b[31m" not in picture or format == "png"


# ranges


def test_range_holds_all_values_and_the_ends_of_short_intervals() -> None:
    axes = alone(course())
    low, high = axes.get_ylim()
    assert low < -5
    assert high > 90
    first, last = axes.get_xlim()
    assert first < 0
    assert last > 60
    constant = alone(Chart("p", (Series("θ", ((0, 0.0),)),)))
    low, high = constant.get_ylim()
    assert low < 0 < high


@pytest.mark.parametrize(("low", "high"), [(-1e6, 1e6), (None, 1e6), (-1e6, None)])
def test_interval_beyond_the_picture_ends_in_arrows_and_does_not_dwarf_the_course(
    low: float | None, high: float | None
) -> None:
    axes = alone(course(low=low, high=high))
    bottom, top = axes.get_ylim()
    assert top - bottom < 250
    markers = [line.get_marker() for line in axes.lines]
    assert markers.count("v") == markers.count("^") == 1


def test_interval_inside_the_picture_and_an_unknown_interval_have_no_arrows() -> None:
    for axes in (alone(course()), alone(course(low=None, high=None)), alone(comparison(1))):
        assert not {"v", "^", "<", ">"} & {line.get_marker() for line in axes.lines}
