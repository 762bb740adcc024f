"""Parameters on a logarithmic scale, in every tune that plays games."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from tests.competitions.settings_of import Refused, call, make, uci
from tests.requirements import package

SETTINGS = {
    "spsa": {"number_of_games": 400},
    "clop_tuner": {"number_of_games": 400, "opponent": "other"},
    "optuna_tuner": {"sampler": "random", "number_of_trials": 20, "games_per_trial": 8},
}
TYPES = [
    "spsa",
    "clop_tuner",
    pytest.param("optuna_tuner", marks=pytest.mark.optional),
]


def tune(type_name: str, *parameters: Any, **settings: Any) -> Any:
    return make(
        type_name,
        game="chess",
        players={"e": uci(), "other": uci("other")},
        player="e",
        parameters=list(parameters),
        seed=3,
        **{**SETTINGS[type_name], **settings},
    )


def parameter(code: str = "X", **arguments: Any) -> Any:
    return call("Parameter", code, **{"start": 50, "min": 1, "max": 1000, **arguments})


def play(tune: Any, games: int) -> list[dict[str, Any]]:
    """Play games that the larger value of X wins more often; return the values of all sides."""
    values, luck = [], random.Random(1)
    for _ in range(games):
        job = tune.next_job()
        if not isinstance(job, GameJob):
            break
        sides = [side for side in job.parameters if side]
        values += sides
        x = [math.sqrt(side.get("X", 50)) for side in job.parameters]
        winner = int(luck.random() * sum(x) > x[0])
        score = ("1-0", "0-1")[winner]
        result = GameResult(job.id, 0, "win", winner=winner, reason="mate", score=score)
        tune.record_result(job.ticket, result)
    return values


@pytest.mark.parametrize("type_name", TYPES)
def test_values_are_within_the_bounds_whole_and_spread_by_factors(type_name: str) -> None:
    if type_name == "optuna_tuner":
        package("optuna")
    one = tune(type_name, parameter(scale="log", integer=True), parameter("Y", scale="log"))
    values = play(one, 400)
    assert all(1 <= side["X"] <= 1000 and side["X"] == int(side["X"]) for side in values)
    assert all(1 <= side["Y"] <= 1000 for side in values)
    assert min(side["Y"] for side in values) < 25
    report = one.summary().data()["parameters"]
    assert 50 < report[0]["engine_value"] <= 1000
    assert one.summary().report


def test_perturbation_of_a_parameter_is_a_distance_at_its_start() -> None:
    one = tune("spsa", parameter(scale="log", c_end=10, r_end=0.002), method="classic", gamma=0.0)
    plus, minus = sorted(side["X"] for side in play(one, 1))[::-1]
    assert plus == pytest.approx(50 * 1.2, rel=1e-3)
    assert minus == pytest.approx(50 / 1.2, rel=1e-3)


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"min": 0}, "a logarithmic scale cannot contain 0; expected a number above 0, or"),
        ({"min": -5}, "a logarithmic scale cannot contain -5"),
        ({"min": 50, "max": 51, "integer": True}, "50 to 51 has fewer than three values"),
        ({"scale": "ln"}, "scale"),
        ({"min": 50, "max": 50}, "parameters.0"),
    ],
)
def test_scale_that_does_not_fit_the_range_is_refused(
    type_name: str, arguments: dict[str, Any], message: str
) -> None:
    if type_name == "optuna_tuner":
        package("optuna")
    with pytest.raises(Refused) as refused:
        tune(type_name, parameter(**{"scale": "log", **arguments}))
    assert message in str(refused.value)
