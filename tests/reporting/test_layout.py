"""The live display always fits, and gives up its least important lines first."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.report import Progress, Report, Table, Text
from ringmaster.reporting.layout import Line, RunningGame, View, compose
from ringmaster.reporting.rate import Estimate
from ringmaster.reporting.text import width

TABLE = Table(
    headers=("parameter", "value"),
    rows=tuple((f"p{i}", str(i)) for i in range(6)),
    title="iteration 12/2000",
)
VIEW = View(
    heading="tune: spsa",
    description="What it is for.",
    progress=Progress(1000, 4000, phase="tuning"),
    started=100.0,
    completed_this_run=500,
    report=Report((TABLE,)),
    running=[RunningGame(f"0_{i:03d}", ("a", "b"), 12.0, 40 + i) for i in range(4)],
    results=[f"result {i}" for i in range(30)],
    warnings=["a warning"],
    parallel=4,
    hint="Ctrl-X to stop",
)
ESTIMATE = Estimate(12.3, 244.0)


def texts(view: View = VIEW, columns: int = 80, rows: int = 60) -> list[str]:
    return [line.text for line in compose(view, ESTIMATE, 165.0, columns, rows)]


def test_everything_is_shown_where_there_is_room() -> None:
    lines = texts()
    assert lines[0].startswith("tune: spsa")
    assert lines[0].endswith("4 games at a time, 1 min 05 s")
    assert "1000/4000 games  25%  12.3 games/s  4 min 04 s left  tuning" in lines[1]
    assert "What it is for." in lines
    assert "iteration 12/2000" in lines
    assert "0_003  a v b" in "\n".join(lines)
    assert lines[-1] == "Ctrl-X to stop"
    assert [line for line in lines if line.startswith("result")] == list(VIEW.results)


def test_results_are_shortened_first_and_the_latest_stay() -> None:
    lines = texts(rows=30)
    assert len(lines) == 30
    results = [line for line in lines if line.startswith("result")]
    assert 3 <= len(results) < 30
    assert results == list(VIEW.results)[-len(results) :]
    assert sum(line.startswith("0_") for line in lines) == 4
    assert "p5" in "\n".join(lines)


def test_games_in_progress_are_shortened_before_tables() -> None:
    lines = texts(rows=20)
    assert not [line for line in lines if line.startswith("result")]
    assert "… and 2 more" in lines
    assert "p5" in "\n".join(lines)


def test_tables_are_cut_last() -> None:
    lines = texts(rows=10)
    assert lines[0].startswith("tune: spsa")
    assert "iteration 12/2000" in lines
    assert "…" in lines
    assert not [line for line in lines if line.startswith(("0_", "result"))]
    assert lines[-1] == "Ctrl-X to stop"


def test_a_tall_report_leaves_the_other_sections_their_least() -> None:
    view = dataclasses.replace(
        VIEW, report=Report((Text(tuple(map(str, range(100)))),)), results=[]
    )
    lines = texts(view, rows=24)
    assert len(lines) == 24
    assert "…" in lines
    assert "a warning" in lines
    assert sum(line.startswith("0_") for line in lines) == 2


@given(st.integers(1, 60), st.integers(1, 130), st.integers(0, 40), st.integers(0, 40))
def test_no_terminal_is_too_small(rows: int, columns: int, running: int, results: int) -> None:
    view = dataclasses.replace(
        VIEW,
        running=[RunningGame("技巧", ("x" * 200, "技" * 90), 1.0)] * running,
        results=["r" * 300] * results,
    )
    lines = texts(view, columns, rows)
    assert 1 <= len(lines) <= rows
    assert all(width(line) <= columns for line in lines)
    assert lines[0].startswith("tune: spsa"[: max(0, columns - 1)])


def test_the_last_game_in_progress_line_counts_those_left_out() -> None:
    view = dataclasses.replace(
        VIEW, results=[], report=Report(), description="", running=["g"] * 50
    )
    lines = texts(view, rows=24)
    shown = lines.count("g")
    assert f"… and {50 - shown} more" in lines


@pytest.mark.parametrize(("completed", "filled"), [(0, 0), (2000, 20), (3999, 39), (4000, 40)])
def test_the_bar_is_full_only_when_all_is_done(completed: int, filled: int) -> None:
    view = dataclasses.replace(VIEW, progress=Progress(completed, 4000))
    line = compose(view, ESTIMATE, 165.0, 120, 40)[1]
    assert line.style == "bar"
    assert line.text.count("━") == 40
    assert line.filled == filled


def test_a_competition_without_limit_has_no_bar_and_no_time_left() -> None:
    view = dataclasses.replace(VIEW, progress=Progress(17, None))
    assert texts(view)[1] == "17 games  12.3 games/s"


def test_more_games_than_wanted_are_no_more_than_100_percent() -> None:
    # number_of_games was lowered between runs
    view = dataclasses.replace(VIEW, progress=Progress(50, 40))
    assert "50/40 games  100%" in texts(view)[1]


def test_a_total_of_nothing_is_no_error() -> None:
    view = dataclasses.replace(VIEW, progress=Progress(0, 0))
    assert texts(view)[1].startswith("0/0 games")


def test_unknown_rates_are_dashes() -> None:
    line = compose(VIEW, Estimate(), 165.0, 80, 40)[1]
    assert "–  – left" in line.text


def test_hostile_lines_are_harmless() -> None:
    evil = "\x1b[2Jx\ny\u202e"
    view = View(
        heading=evil,
        progress=Progress(0, 1, label=evil, phase=evil, warnings=(evil,)),
        started=0.0,
        description=evil,
        report=Report((Text((evil,)),)),
        running=[RunningGame(evil, (evil, evil)), evil],
        results=[evil],
        warnings=[evil],
        hint=evil,
    )
    for line in compose(view, Estimate(), 1.0, 80, 40):
        assert isinstance(line, Line)
        assert line.text.isprintable()
