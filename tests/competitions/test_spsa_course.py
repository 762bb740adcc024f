"""The course of tuned values in one line of text."""

from __future__ import annotations

from ringmaster.competitions.spsa.report import BARS, course_text
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import ENCODING_ERRORS
from tests.competitions.test_spsa import parameter, play_out, spsa


def test_bars_rise_with_the_values() -> None:
    assert course_text([float(k) for k in range(8)], 10.0) == "↑ ▁▂▃▄▅▆▇█"
    assert course_text([1.0], 10.0) is None


def test_trend_compares_the_last_two_quarters() -> None:
    up = [float(k) for k in range(16)]
    arrows = [
        str(course_text(values, 10.0))[0]
        for values in (up, up[::-1], [0.0] * 4 + [10.0] * 12, up[:7])
    ]
    assert arrows == ["↑", "↓", "→", " "]


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
