"""Reports of a tune, and states of earlier versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ringmaster.competitions.spsa.report import _with_error
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import call, won
from tests.competitions.test_spsa import KINDS, parameter, play_out, spsa, tune_of


def text(tune: Any) -> str:
    return render_report(tune.report(), heading="x", description=None)


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
    assert render_report(tune.live_report(), heading="x", description=None)
    summary = json.loads(json.dumps(tune.summary(), allow_nan=False))
    first, _, frozen = summary["parameters"]
    assert {"code", "start", "value", "mean", "estimate", "engine_value"} <= set(first)
    assert {"low", "high", "elo_at_stake", "signal", "slope", "games_to_halve"} <= set(first)
    assert frozen == {
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
    (one,) = tune.summary()["parameters"]
    assert one["engine_value"] == 10 * tune.parameters[0].played_value(one["estimate"])
    assert tune.estimated() == {"Mobility": one["engine_value"] // 10}


@pytest.mark.parametrize("rule", ["last", "mean"])
def test_estimate_follows_the_setting(rule: str) -> None:
    tune = spsa(estimate=rule, number_of_games=200)
    winning(tune, 200, 90)
    one = tune.summary()["parameters"][0]
    assert one["value"] != one["mean"]
    assert one["estimate"] == one["value" if rule == "last" else "mean"]
    assert "the setting `estimate` asks for" in text(tune)


def test_estimate_of_a_tune_without_results_is_its_start() -> None:
    for rule in ("auto", "last", "mean"):
        assert spsa(estimate=rule).estimated() == {"Mobility": 50, "Space": 50}


def test_report_explains_the_last_value_as_estimate_while_theta_drifts() -> None:
    tune = spsa(parameters=[parameter(r_end=0.001)], number_of_games=400)
    winning(tune, 400, 1000)
    assert "the last value: θ still moves in one direction" in text(tune)
    assert tune.summary()["estimate"] == "last"


def test_parameter_without_a_signal_is_marked() -> None:
    tune = spsa(parameters=[parameter()], number_of_games=20)
    play_out(tune, 4)
    assert "signal not yet" in text(tune)


def test_significant_optimum_is_shown_with_its_interval() -> None:
    tune = spsa(parameters=[parameter(c_end=20, r_end=0.02)], number_of_games=600)
    winning(tune, 600, 50)
    one = tune.summary()["parameters"][0]
    assert one["signal"]
    assert one["low"] < one["optimum"] < one["high"]
    assert f"{one['low']:.4g} to {one['high']:.4g}" in text(tune)


def test_adaptive_method_shows_optimum_interval_and_stake_without_a_signal_too() -> None:
    """The optimum is the method's own estimate, and not the regression's."""
    tune = spsa(method="adaptive", parameters=[parameter(c_end=None, r_end=None)])
    play_out(tune, 4)
    one = tune.summary()["parameters"][0]
    shown = text(tune)
    assert not one["signal"]
    assert "signal not yet: the effect of this parameter alone may be chance" in shown
    row = next(line for line in reversed(shown.splitlines()) if line.startswith("Mobility"))
    assert f"{one['estimate']:.4g}" in row
    assert f"{one['low']:.4g} to {one['high']:.4g}" in row
    assert f"{one['elo_at_stake']:+.1f}" in row


def test_elo_at_stake_is_the_gain_from_the_start_to_the_estimate() -> None:
    tune = spsa(parameters=[parameter(c_end=20, r_end=0.02)], number_of_games=600)
    winning(tune, 600, 60)
    one = tune.summary()["parameters"][0]
    off = [place - one["optimum"] for place in (one["start"], one["estimate"])]
    assert one["elo_at_stake"] == pytest.approx(one["curvature"] * (off[0] ** 2 - off[1] ** 2))
    assert f"{one['elo_at_stake']:+.1f} in all" in text(tune)


def test_games_to_halve_use_the_next_perturbation() -> None:
    tune = spsa(parameters=[parameter(c_end=5, r_end=0.3)], number_of_games=600, gamma=0.5)
    winning(tune, 600, 50)
    (fit,), (average,) = tune.tuner.fits(), tune.tuner.regression.fits()
    assert tune.summary()["parameters"][0]["games_to_halve"] == fit.games_to_halve
    assert fit.games_to_halve > average.games_to_halve


def test_derived_settings_are_in_the_report() -> None:
    tune = spsa(
        method="constant", parameters=[parameter(c_end=None, r_end=None)], number_of_games=None
    )
    assert tune.notices()[0].split(" (")[0] in " ".join(text(tune).split())


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
    (row,) = tune.summary()["parameters"]
    assert row["slope_error"] == pytest.approx(error)
    assert _with_error(fit.slope, error) in text(tune)
    assert "Elo/unit: gain by a higher value, at the mean of the played values, ± 95 %" in text(
        tune
    )
    charts = {group.title: group.charts for group in tune.charts(history)}
    (chart,) = charts["Results by value"]
    assert fit.optimum is None
    assert f"± {error:.2g} Elo a unit (95 %)" in chart.note


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (0.0, 20.3, "+0 ± 20"),
        (0.27, 0.213, "+0.27 ± 0.21"),
        (-0.001, 0.2, "+0.00 ± 0.20"),
        (1234.0, 956.0, "+1230 ± 960"),
        (-3.2e-5, 1.2e-5, "-0.000032 ± 0.000012"),
        (1e-9, 1.2e-10, "+1e-09 ± 1.2e-10"),
        (2.0, 0.0, "+2"),
    ],
)
def test_slope_is_shown_to_the_second_digit_of_its_error(
    value: float, error: float, expected: str
) -> None:
    assert _with_error(value, error) == expected


def test_report_fits_a_hundred_columns() -> None:
    codes = ("Pawn Structure (Middle Game)", "Passed Pawns (Endgame)")
    tuned = [parameter(code, max=1000, c_end=200) for code in codes]
    tune = spsa(parameters=tuned, number_of_games=600)
    winning(tune, 600, 700)
    lines = text(tune).splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith(f"{codes[0]}  ") and "yes" in line for line in lines)
