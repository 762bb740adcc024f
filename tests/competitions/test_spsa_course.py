"""The course of tuned values in one line of text."""

from __future__ import annotations

import itertools

from ringmaster.competitions.spsa.report import BARS, MOST_POINTS, Course, bars, trend
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import ENCODING_ERRORS
from tests.competitions.test_spsa import parameter, play_out, spsa


def test_course_keeps_few_equally_spaced_values_however_long() -> None:
    course = Course()
    for k in range(10_000):
        course.record(["a", "b"], [float(k), -k])
    values = course.values("a")
    steps = {after - before for before, after in itertools.pairwise(values)}
    assert MOST_POINTS / 2 <= len(values) <= MOST_POINTS
    assert len(steps) == 1
    assert values[-1] > 9_800
    assert course.values("b")[-1] < -9_800
    assert course.values("removed") == []


def test_bars_rise_with_the_values() -> None:
    assert bars([float(k) for k in range(8)], 10.0) == "▁▂▃▄▅▆▇█"
    assert len(bars([float(k % 7) for k in range(100)], 10.0)) == BARS
    assert bars([1.0], 10.0) == ""


def test_trend_compares_the_last_two_quarters() -> None:
    up = [float(k) for k in range(16)]
    assert trend(up, 10.0) == "↑"
    assert trend(up[::-1], 10.0) == "↓"
    assert trend([0.0] * 4 + [10.0] * 12, 10.0) == "→"
    assert trend(up[:7], 10.0) == ""


def test_live_report_has_a_line_with_course_trend_and_interval_a_parameter() -> None:
    tune = spsa(parameters=[parameter()], number_of_games=200)
    play_out(tune, 100)
    (table,) = tune.summary(live=True).report.blocks
    assert table.headers == ("parameter", "start", "value", "course", "optimum 95 %")
    ((code, _, _, course, interval),) = table.rows
    arrow, _, line = str(course).partition(" ")
    assert code == "Mobility"
    assert arrow in ("↑", "→", "↓")
    assert len(line) == BARS
    assert interval
    assert b"?" not in render_report(tune.summary(live=True).report).encode(
        "ascii", ENCODING_ERRORS
    )
