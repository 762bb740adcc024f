"""Charts as pictures: in place, the same each time."""

from __future__ import annotations

import io
import logging
import re
import sys
from typing import Any

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.report import (
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
from ringmaster.reporting import plots_sheet
from ringmaster.reporting.plots import frame, inches
from ringmaster.reporting.plots_lines import x_limits, y_limits
from ringmaster.reporting.plots_shapes import _cell_texts
from ringmaster.reporting.plots_sheet import HIGH, make_figure, write_sheets
from ringmaster.reporting.plots_style import (
    MISSING_LETTERS,
    drawing,
    new_figure,
    short_name,
    tick_texts,
)
from ringmaster.reporting.text import width

ROLES: tuple[Role, ...] = ("main", "aside", "average", "estimate", "good", "bad", "neutral")
HOSTILE = (
    "</text></svg><script>alert(1)</script><img src=x onerror=alert(2)> $a_{b$ & \"q' \x1b[31m"
)


def course(title: str = "Value", low: float | None = 20, high: float | None = 90) -> Chart:
    return Chart(
        title,
        (
            Band("perturbation", tuple((float(x), x - 5.0, x + 5.0) for x in range(60))),
            Level("start", 10),
            Series("θ", tuple((float(x), float(x)) for x in range(60))),
            Level("mean", 45, "average", 30, 60),
            Interval("estimate", 60, low, high),
        ),
        "games",
        "",
        "10 → 60",
        (0, 100),
    )


def gains(title: str = "Gain") -> Chart:
    points = tuple((float(x), 3.0 - x, 2.0 - x, 4.0 - x) for x in range(6))
    pieces = (
        Level("no gain", 0),
        Whiskers("results", points),
        Interval("optimum", 3, 2, None, along="x"),
    )
    return Chart(title, pieces, "value", "Elo a unit")


def comparison(rows: int = 3, name: str = "player") -> Comparison:
    compared = [
        Compared(f"{name} {i}", i * 10.0, i * 10 - 15.0, float("inf") if i == 1 else i * 10 + 20.0)
        for i in range(rows)
    ]
    return Comparison("", tuple(compared), "Elo", mark=0)


def shapes(names: int = 5, name: str = "a name") -> list[ChartGroup]:
    """Return groups of heat maps, bars and trees."""
    all_names = tuple(f"{name} {i}" for i in range(names))
    cells = tuple(tuple(None if x == y else x - y for x in range(names)) for y in range(names))
    values = tuple(float(i % 3) for i in range(names))
    series = tuple(BarSeries(f"{name} {r}", values, r) for r in ROLES)
    node = TreeNode(name, "1 visit", 1 / names)
    root = TreeNode("root", name, 1.0, (node,) * (names - 1) + (TreeNode(name, "", 0.1, (node,)),))
    return [
        ChartGroup(
            "Visits",
            (
                HeatMap(name, all_names, all_names, cells, name, name, name, name),
                Bars("Stacked", all_names, series, "of", "games", stacked=True),
                Bars("Beside", all_names, series[:2], "of", "games", "noted"),
                Bars("Standing", tuple(map(str, range(names))), series[:1], "moves", "games"),
            ),
            key="visits",
        ),
        ChartGroup("Tree", (Tree(name, root, "noted"),), key="tree"),
        ChartGroup(
            "Categories",
            (
                Chart("by x", (Whiskers("score", ((0, 1, 0, 2),)),), x_names=all_names),
                Chart("by y", (Series("value", ((0, 1), (1, 2))),), y_names=all_names),
            ),
        ),
    ]


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


# pictures


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF-")]
)
def test_picture_is_of_its_format_and_the_same_each_time(format: str, start: bytes) -> None:
    first = sheet(groups(), format)
    assert first.startswith(start)
    assert first == sheet(groups(), format)
    assert str(matplotlib.__version__).encode() not in first


@pytest.mark.slow
def test_drawing_does_not_change_the_users_matplotlib() -> None:
    with matplotlib.rc_context({"font.size": 31, "axes.grid": False}):
        plain = sheet(groups(), "svg")
        assert matplotlib.rcParams["font.size"] == 31
    assert plain == sheet(groups(), "svg")
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_frames_are_on_the_sheet_and_do_not_overlap(count: int) -> None:
    with drawing():
        rows = [row for group in groups(count) for row in plots_sheet._rows(group)]
        figure = plots_sheet._sheet(rows, "title", None)
        boxes = [axes.get_tightbbox() for axes in figure.axes]
        wide, high = figure.bbox.size
    assert len(boxes) == 2 * count + 1
    check_boxes(boxes, wide, high)


def check_boxes(boxes: list[Any], wide: float, high: float) -> None:
    for i, box in enumerate(boxes):
        assert box.x0 >= 0, f"{i}: {box}"
        assert box.y0 >= 0, f"{i}: {box}"
        assert box.x1 <= wide, f"{i}: {box}"
        assert box.y1 <= high, f"{i}: {box}"
        for other in boxes[:i]:
            assert not box.overlaps(other), f"{i}: {box} and {other}"


@pytest.mark.slow
@pytest.mark.parametrize("names", [1, 2, 5, 30])
@pytest.mark.parametrize(
    "name", ["a", "an engine with a very long name of version 17.1-dev (64 bit)"]
)
def test_shapes_and_their_legends_are_on_the_sheet_and_do_not_overlap(
    names: int, name: str
) -> None:
    with drawing():
        rows = [row for group in shapes(names, name) for row in plots_sheet._rows(group)]
        figure = plots_sheet._sheet(rows, "title", None)
        figure.draw_without_rendering()
        boxes = [axes.get_tightbbox() for axes in figure.axes]
        legends = [legend.get_window_extent() for legend in figure.legends]
        wide, high = figure.bbox.size
    assert len(boxes) == 7
    check_boxes(boxes, wide, high)
    check_boxes(legends, wide, high)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 6, 40])
def test_pages_have_room_for_their_rows_and_every_chart_is_on_one(count: int) -> None:
    chart_groups = [*groups(count), ChartGroup("Many", (comparison(100),)), *shapes(count)]
    with drawing():
        pages = plots_sheet._pages(chart_groups)
        for rows in pages:
            used = sum(row.height + (plots_sheet.GAP if row.head is None else 0) for row in rows)
            assert used <= HIGH - 2 * plots_sheet.MARGIN - 0.3
            assert rows[0].head is not None
            assert rows[-1].head is None
    shown = [chart for rows in pages for row in rows for chart in row.charts]
    titles = [c.title for c in shown if isinstance(c, Chart)]
    assert titles == [*[f"p{i}" for i in range(count)] * 2, "by x", "by y"]
    bars = [len(c.names) for c in shown if isinstance(c, Bars)]
    assert sum(bars) == 3 * count
    compared = [row.name for c in shown if isinstance(c, Comparison) for row in c.rows]
    assert compared == [f"player {i}" for n in (3, 100) for i in range(n)]
    if count == 1:
        assert len(re.findall(rb"/Type /Page\b", sheet(chart_groups, "pdf"))) == len(pages)


def test_cell_shows_its_text_else_its_value_else_nothing() -> None:
    texts = (("61.2 % of 80 games",),)
    chart = HeatMap("t", ("x",), ("y",), ((61.25,),), "% of the points", texts=texts)
    shown = [_cell_texts(chart, inches) for inches in (3.0, 0.5, 0.1)]
    assert shown == [[["61.2 % of 80 games"]], [["61.2"]], []]


def test_letters_missing_from_all_fonts_are_reported() -> None:
    stream = io.BytesIO()
    # Linear A, which nobody has a font for
    chart_groups = [ChartGroup("P", (course("\U00010600\U00010601"),))]
    assert write_sheets(chart_groups, "t", "png", stream) == [MISSING_LETTERS]


# a machine may have no font for the name
@pytest.mark.filterwarnings("ignore:Glyph")
def test_matplotlib_does_not_report_its_fonts(caplog: pytest.LogCaptureFixture) -> None:
    # a font that is installed has no bold face, or a name is in no font
    figure = make_figure([ChartGroup("P", (course("価値"),))], "spsa: tune")
    figure.texts[0].set_family("Nobody's Font")
    figure.savefig(io.BytesIO())
    assert caplog.messages == []
    logging.getLogger("matplotlib").warning("restored")
    assert caplog.messages == ["restored"]


@pytest.mark.parametrize("name", ["一" * 100, "e" * 100 + ".epd:17", "a v b"])
def test_long_name_keeps_its_start_and_its_end(name: str) -> None:
    short = short_name(name, 20)
    assert width(short) <= 20
    if name != short:
        assert short[:3] == name[:3]
        assert short[-3:] == name[-3:]


def test_svg_keeps_letters_as_text() -> None:
    stream = io.BytesIO()
    write_sheets([ChartGroup("P", (course("飛車の価値"),))], "t", "svg", stream)
    assert "飛車の価値" in stream.getvalue().decode()


def test_very_high_sheet_has_fewer_dots() -> None:
    assert plots_sheet.dots_an_inch(100) == plots_sheet.DOTS
    assert plots_sheet.dots_an_inch(1000) * 1000 <= plots_sheet.MOST_DOTS


# ranges and numbers


def test_range_holds_all_values() -> None:
    low, high = y_limits(course())
    assert low < -5
    assert high > 90
    assert x_limits(course())[0] == 0
    assert x_limits(course())[1] > 59


def test_infinite_interval_does_not_dwarf_the_course() -> None:
    low, high = y_limits(course(low=-1e6, high=1e6))
    assert high - low < 250
    assert y_limits(course(low=None, high=None)) == pytest.approx((-9.1, 68.1), abs=1)


def test_constant_course_has_a_range() -> None:
    chart = Chart("p", (Level("start", 5), Series("θ", ((0, 5.0),))), bounds=(0, 10))
    assert y_limits(chart) == pytest.approx((4.44, 5.56))
    free = Chart("p", (Series("θ", ((0, 0.0),)),))
    low, high = y_limits(free)
    assert low < 0 < high
    assert x_limits(free) == (0, 1)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0, 5, 10], ["0", "5", "10"]),
        ([-5, -2.5, 0, 2.5], ["−5", "−2.5", "0", "2.5"]),
        ([0, 10_000, 20_000], ["0", "10k", "20k"]),
        ([0, 2500, 5000, 7500, 10_000], ["0", "2.5k", "5k", "7.5k", "10k"]),
        ([0, 250_000, 500_000, 1_000_000], ["0", "0.25M", "0.5M", "1M"]),
        ([100_000.5, 100_001, 100_001.5], ["100000.5", "100001", "100001.5"]),
        ([0, 0.00005, 0.0001], ["0", "5e−5", "1e−4"]),
        ([0, 2e9], ["0", "2e9"]),
        ([0.1, 0.2, 0.30000000000000004], ["0.1", "0.2", "0.3"]),
        ([], []),
    ],
)
def test_ticks_are_short(values: list[float], texts: list[str]) -> None:
    assert tick_texts(values) == texts


@given(st.integers(-50, 50), st.sampled_from([1, 2, 2.5, 5]), st.integers(-6, 9), st.integers(2, 8))
def test_ticks_are_all_different(first: int, step: float, power: int, count: int) -> None:
    texts = tick_texts([(first + i) * step * 10.0**power for i in range(count)])
    assert len(set(texts)) == count


@pytest.mark.slow
def test_hostile_text_in_pictures_is_drawn_as_text() -> None:
    chart = Chart(HOSTILE, (Series(HOSTILE, ((0, 1), (1, 2))),), HOSTILE, HOSTILE, HOSTILE)
    hostile = [
        ChartGroup(HOSTILE, (chart,), HOSTILE),
        ChartGroup(HOSTILE, (comparison(name=HOSTILE),)),
        *shapes(name=HOSTILE),
    ]
    for format in ("png", "svg", "pdf"):
        sheet(hostile, format)


def test_clipped_interval_ends_in_an_arrow() -> None:
    with drawing():
        figure = new_figure(4, inches(course(), 4))
        axes = frame(figure, course(low=None, high=1e6), (0, 0, 4))
        markers = [line.get_marker() for line in axes.lines]
    assert "v" in markers
    assert "^" in markers
