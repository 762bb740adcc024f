"""Estimates, intervals and errors of a tune as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import call, won
from tests.competitions.test_spsa import KINDS, parameter, play_out, spsa, tune_of


def text(tune: Any) -> str:
    return render_report(tune.summary().report, heading="x", description=None)


def winning(tune: Any, games: int, target: float) -> None:
    """Let the side nearer to `target` win every game."""
    for _ in range(games):
        job = tune.next_job()
        off = [abs(next(iter(values.values())) - target) for values in job.parameters]
        tune.record_result(job.ticket, won(job, job.players[0 if off[0] < off[1] else 1].code))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("games", [0, 1, 8, 100])
def test_tune_can_be_reported_at_any_time(kind: str, games: int) -> None:
    tune = tune_of(kind, verify=call("Verify", games=2))
    play_out(tune, games)
    assert "Contempt" in text(tune)
    assert render_report(tune.summary(live=True).report, heading="x", description=None)
    summary = json.loads(json.dumps(tune.summary().data(), allow_nan=False))
    first, _, frozen = summary["parameters"]
    assert {"code", "start", "value", "mean", "estimate", "engine_value"} <= set(first)
    assert {"low", "high", "elo_at_stake", "signal", "slope", "games_to_halve"} <= set(first)
    assert frozen.keys() == first.keys()
    assert {key: value for key, value in frozen.items() if value is not None} == {
        "code": "Contempt",
        "start": 7,
        "value": 7,
        "engine_value": 7,
        "estimate": 7,
        "frozen": True,
    }
    assert summary["iterations"]["planned"] == tune.iterations


def test_engine_value_is_the_delivered_value_of_the_estimate() -> None:
    tune = spsa(parameters=[parameter(transform=lambda v: 10 * v)])
    play_out(tune)
    (one,) = tune.summary().data()["parameters"]
    assert one["engine_value"] == 10 * tune.parameters[0].played_value(one["estimate"])
    assert tune.estimated() == {"Mobility": one["engine_value"] // 10}


@pytest.mark.parametrize("rule", ["last", "mean"])
def test_estimate_follows_the_setting(rule: str) -> None:
    tune = spsa(estimate=rule, number_of_games=200)
    winning(tune, 200, 90)
    one = tune.summary().data()["parameters"][0]
    assert one["value"] != one["mean"]
    assert one["estimate"] == one["value" if rule == "last" else "mean"]


def test_estimate_of_a_tune_without_results_is_its_start() -> None:
    for rule in ("auto", "last", "mean"):
        assert spsa(estimate=rule).estimated() == {"Mobility": 50, "Space": 50}


def test_last_value_is_the_estimate_while_theta_drifts() -> None:
    tune = spsa(parameters=[parameter(r_end=0.001)], number_of_games=400)
    winning(tune, 400, 1000)
    assert tune.summary().data()["estimate"] == "last"


def test_significant_optimum_is_shown_with_its_interval() -> None:
    tune = spsa(parameters=[parameter(c_end=20, r_end=0.02)], number_of_games=600)
    winning(tune, 600, 50)
    one = tune.summary().data()["parameters"][0]
    assert one["signal"]
    assert one["low"] < one["optimum"] < one["high"]


def test_adaptive_method_has_an_interval_and_a_stake_without_a_signal_too() -> None:
    tune = spsa(method="adaptive", parameters=[parameter(c_end=None, r_end=None)])
    play_out(tune, 4)
    one = tune.summary().data()["parameters"][0]
    assert not one["signal"]
    assert one["low"] < one["estimate"] < one["high"]
    assert one["elo_at_stake"] is not None


def test_elo_at_stake_is_the_gain_from_the_start_to_the_estimate() -> None:
    tune = spsa(parameters=[parameter(c_end=20, r_end=0.02)], number_of_games=600)
    winning(tune, 600, 60)
    one = tune.summary().data()["parameters"][0]
    off = [place - one["optimum"] for place in (one["start"], one["estimate"])]
    assert one["elo_at_stake"] == pytest.approx(one["curvature"] * (off[0] ** 2 - off[1] ** 2))


def test_games_to_halve_use_the_next_perturbation() -> None:
    tune = spsa(parameters=[parameter(c_end=5, r_end=0.3)], number_of_games=600, gamma=0.5)
    winning(tune, 600, 50)
    (fit,), (average,) = tune.tuner.fits(), tune.tuner.regression.fits()
    assert tune.summary().data()["parameters"][0]["games_to_halve"] == fit.games_to_halve
    assert fit.games_to_halve > average.games_to_halve


@pytest.mark.parametrize("method", ["classic", "adaptive"])
def test_error_of_a_slope_is_a_95_percent_interval_in_report_chart_and_data(method: str) -> None:
    tune = spsa(parameters=[parameter(max=1000, c_end=200)], number_of_games=200, method=method)
    history = []
    for _ in range(60):
        job = tune.next_job()
        values = [next(iter(played.values())) for played in job.parameters]
        result = won(job, job.players[0 if values[0] > values[1] else 1].code)
        tune.record_result(job.ticket, result)
        history.append((job.ticket, result))
    (fit,) = tune.tuner.fits()
    error = 1.959963984540054 * fit.slope_error
    (row,) = tune.summary().data()["parameters"]
    assert row["slope_error"] == pytest.approx(error)
    charts = {group.title: group.charts for group in tune.charts(history)}
    (chart,) = charts["Results by value"]
    assert fit.optimum is None
    assert f"± {error:.2g} Elo a unit (95 %)" in chart.note


def test_report_fits_a_hundred_columns() -> None:
    codes = ("Pawn Structure (Middle Game)", "Passed Pawns (Endgame)")
    tuned = [parameter(code, max=1000, c_end=200) for code in codes]
    tune = spsa(parameters=tuned, number_of_games=600)
    winning(tune, 600, 700)
    lines = text(tune).splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith(f"{codes[0]}  ") and "yes" in line for line in lines)
