"""Numbers in charts of recorded games."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.competition import Competition
from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.competitions.spsa.report import TuneCharts
from ringmaster.competitions.tournaments.matchup_charts import MOST_POINTS, thinned
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import GameJob, Ticket
from ringmaster.model.report import (
    Band,
    Chart,
    ChartGroup,
    Comparison,
    Interval,
    Level,
    Piece,
    Series,
    Whiskers,
)
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import NELO as C
from tests import recorded
from tests.recorded import won, write

History = list[tuple[Ticket, GameResult]]
Winner = Callable[[GameJob], int | None]

TUNE = recorded.TUNE.replace("number_of_games", 'method = "classic"\nnumber_of_games')
TINY = TUNE.replace("100_000", "4")


def drawn(game_id: str) -> GameResult:
    return GameResult(game_id, 0, "draw", reason="repetition", score="1/2-1/2")


def void(game_id: str) -> GameResult:
    return GameResult(game_id, 0, "void", reason="crash")


def play(competition: Competition, games: int, winner: Winner) -> History:
    """Play games; `winner` returns the winning seat of a job, None for a draw."""
    history: History = []
    while len(history) < games and (job := competition.next_job()) is not None:
        seat = winner(job)
        result = drawn(job.id) if seat is None else won(job.id, seat)
        competition.record_result(job.ticket, result)
        history.append((job.ticket, result))
    return history


def higher(code: str) -> Winner:
    """Return a function that lets the higher value of a parameter win."""

    def winner(job: GameJob) -> int | None:
        first, second = (side[code] for side in job.parameters)
        return None if first == second else 0 if first > second else 1

    return winner


def tune(folder: Path, source: str = TUNE) -> SpsaCompetition:
    competition = LoadedCompetition(write(folder, source)).competition
    assert isinstance(competition, SpsaCompetition)
    return competition


def chart(groups: list[ChartGroup], title: str, name: str) -> Chart:
    (group,) = [group for group in groups if group.title == title]
    (selected,) = [chart for chart in group.charts if chart.title == name]
    assert isinstance(selected, Chart)
    return selected


def piece(chart: Chart, name: str) -> Any:
    (selected,) = [piece for piece in chart.pieces if piece.name == name]
    return selected


def test_tune_without_results_has_nothing_to_draw(tmp_path: Path) -> None:
    competition = tune(tmp_path)
    assert competition.charts([]) == []
    job = competition.next_job()
    assert job is not None
    assert competition.charts([(job.ticket, void(job.id))]) == []


def test_every_parameter_has_its_course_from_its_start_to_its_estimate(tmp_path: Path) -> None:
    competition = tune(tmp_path)
    history = play(competition, 400, higher("x"))
    groups = competition.charts(history)
    assert [c.title for c in groups[0].charts] == ["x", "n"]
    course = chart(groups, "Parameters", "x")
    theta = piece(course, "θ").points
    assert theta[0] == (0.0, 5.0)
    assert theta[-1][0] == 400
    assert theta[-1][1] == pytest.approx(competition.tuner.theta[0], rel=1e-6)
    assert theta[-1][1] > 5
    assert piece(course, "estimate").value == competition.tuner.estimate()[0]
    mean = piece(course, "mean of the last half")
    assert (mean.first, mean.last) == (200, 400)
    assert mean.value == competition.tuner.averages.mean()[0]
    assert course.bounds == (-1e6, 1e6)


def test_band_is_as_wide_as_the_sides_were_apart(tmp_path: Path) -> None:
    competition = tune(tmp_path)
    history = play(competition, 400, higher("x"))
    apart = []
    for ticket, _ in history:
        first, second = competition.describe(ticket).parameters
        apart.append(abs(first["x"] - second["x"]))
    band = piece(chart(competition.charts(history), "Parameters", "x"), "perturbation")
    widths = [high - low for _, low, high in band.points]
    assert widths == pytest.approx(apart)


def test_results_by_value_measure_the_gain_in_elo(tmp_path: Path) -> None:
    competition = tune(tmp_path)
    history = play(competition, 2000, higher("x"))
    value_chart = chart(competition.charts(history), "Results by value", "x")
    points = piece(value_chart, "results (95 %)").points
    assert 2 <= len(points) <= 14
    # every game is won, so a part's slope is C/2·Σ|d|/Σd²: with d = c, C/(2c)
    c = [
        abs(p[0]["x"] - p[1]["x"]) / 2
        for t, _ in history
        if (p := competition.describe(t).parameters)
    ]
    for x, gain, low, high in points:
        assert C / (2 * max(c)) - 1e-6 <= gain <= C / (2 * min(c)) + 1e-6
        assert low < gain < high
        assert 5 <= x <= competition.tuner.theta[0]


@pytest.mark.slow
def test_optimum_that_the_results_show_is_marked_and_the_line_goes_through_it(
    tmp_path: Path,
) -> None:
    source = TUNE.replace(
        'Parameter("x", start=5, min=-1e6, max=1e6, c_end=1)',
        'Parameter("x", start=5, min=-100, max=100, c_end=5, r_end=0.01)',
    ).replace("100_000", "8000")
    competition = tune(tmp_path, source)
    random_ = random.Random(1)

    def near_forty(job: GameJob) -> int:
        first, second = (-0.2 * (side["x"] - 40) ** 2 for side in job.parameters)
        return 0 if random_.random() < 1 / (1 + 10 ** ((second - first) / 400)) else 1

    groups = competition.charts(play(competition, 8000, near_forty))
    value_chart = chart(groups, "Results by value", "x")
    mark = piece(value_chart, "fitted optimum")
    assert isinstance(mark, Interval)
    assert mark.along == "x"
    assert mark.low is not None
    assert mark.high is not None
    assert mark.low < 40 < mark.high
    (x1, y1), (x2, y2) = piece(value_chart, "fit").points
    assert y1 + (y2 - y1) * (mark.value - x1) / (x2 - x1) == pytest.approx(0, abs=1e-9)
    estimate = piece(chart(groups, "Parameters", "x"), "estimate")
    assert (estimate.low, estimate.high) == (mark.low, mark.high)
    assert "no signal yet" in chart(groups, "Parameters", "n").note


def test_closing_match_is_compared_and_has_its_course(tmp_path: Path) -> None:
    competition = tune(tmp_path, TINY.replace("games=4)", "games=40)"))
    random_ = random.Random(2)

    def tuned(job: GameJob) -> int:
        best = 0 if job.players[0].code in ("e+", "e:tuned") else 1
        # the tune itself moves away from its start
        return best if job.players[best].code == "e+" or random_.random() < 0.8 else 1 - best

    history = play(competition, 44, tuned)
    groups = competition.charts(history)
    (group,) = [g for g in groups if g.title == "Closing match"]
    assert group.key == "closing"
    compared = group.charts[0]
    assert isinstance(compared, Comparison)
    (row,) = compared.rows
    assert row.name == "e:tuned v e:start"
    assert row.low < row.value < row.high
    assert row.text.endswith(", 40 games")
    course = chart(groups, "Closing match: in the course of the games", "e:tuned v e:start")
    assert piece(course, "Elo").points[-1] == (40, row.value)
    assert piece(course, "95 % interval").points[-1] == (40, row.low, row.high)


def test_against_a_reference_a_steps_gain_is_that_of_both_sides(tmp_path: Path) -> None:
    competition = tune(tmp_path)
    play(competition, 2, lambda job: None)  # θ stays at the start
    charts = TuneCharts(competition.parameters, competition.tuner)
    for i in range(100):
        # θ⁺ and θ⁻ in turn; θ⁺ wins, θ⁻ loses
        sign = (1.0, -1.0)[i % 2]
        charts.add([5 + sign, 5], None, sign)
    groups = charts.charts()
    # every step of 1 up is worth a whole game: W − L = 1·slope/C
    (point,) = piece(chart(groups, "Results by value", "x"), "results (95 %)").points
    assert point[:2] == pytest.approx((5.0, C))
    band = piece(chart(groups, "Parameters", "x"), "perturbation")
    assert [high - low for _, low, high in band.points] == pytest.approx([2.0] * 100)


def test_parameter_that_came_in_later_is_drawn_from_then_on(tmp_path: Path) -> None:
    competition = tune(tmp_path)
    history = play(competition, 20, higher("x"))
    charts = TuneCharts(competition.parameters, competition.tuner)
    for i, (ticket, _) in enumerate(history):
        plus, minus = ([x, math.nan if i < 10 else n] for x, n in (ticket["p"], ticket["m"]))
        charts.add(plus, minus, 1.0)
    groups = charts.charts()
    band = piece(chart(groups, "Parameters", "n"), "perturbation")
    assert all(math.isfinite(end) for point in band.points for end in point)
    results = piece(chart(groups, "Results by value", "n"), "results (95 %)")
    assert all(math.isfinite(value) for point in results.points for value in point)


@given(st.integers(0, 3000))
def test_thinned_points_are_in_order_and_have_the_last(count: int) -> None:
    thinned_points = thinned(list(range(count)))
    assert len(thinned_points) <= MOST_POINTS
    assert thinned_points == sorted(thinned_points)
    assert thinned_points[-1:] == list(range(count))[-1:]
    assert len(thinned_points) == count or len(thinned_points) > MOST_POINTS / 2 - 1


# all tunes


def test_every_piece_of_a_chart_is_in_order_of_x(tmp_path: Path) -> None:
    competition = tune(tmp_path)
    for group in competition.charts(play(competition, 3000, higher("x"))):
        for each in group.charts:
            assert isinstance(each, Chart | Comparison)
            for part in each.pieces if isinstance(each, Chart) else ():
                assert_ordered(part)


def assert_ordered(part: Piece) -> None:
    if isinstance(part, Series | Band | Whiskers):
        x = [point[0] for point in part.points]
        assert x == sorted(x)
    elif isinstance(part, Level) and part.first is not None and part.last is not None:
        assert part.first <= part.last
