"""Settings of the methods, and derived settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ringmaster.competitions.spsa.methods import DEFAULTS
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import Blog, Classic, Constant, WeatherFactory, autoselect
from tests.competitions.settings_of import Refused, call
from tests.competitions.test_spsa import parameter, spsa

#: A value of each setting that only some methods have.
VALUES: dict[str, Any] = {
    "alpha": 0.5,
    "gamma": 0.2,
    "A": 100,
    "A_ratio": 0.2,
    "k_counts": "pairs",
    "update": "nominal",
    "elo_per_parameter": 1,
    "precision": 1,
    "draw_ratio": 0.3,
    "epsilon": 0.001,
    "annealing": call("Annealing", games=100),
    "a": 2,
    "c": 2,
}


def bare(code: str = "x", **settings: Any) -> Any:
    return call("Parameter", code, **{"start": 100, "min": 0, "max": 200, **settings})


@pytest.mark.parametrize("method", DEFAULTS)
@pytest.mark.parametrize("name", VALUES)
def test_setting_is_refused_by_exactly_the_methods_without_it(method: str, name: str) -> None:
    def make_tune() -> Any:
        return spsa(method=method, **{name: VALUES[name]})

    if name in DEFAULTS[method]:
        make_tune()
        return
    with pytest.raises(Refused) as refused:
        make_tune()
    assert str(refused.value).startswith(f"{name}: {name} has no meaning with method {method!r}")


def test_ranges_and_the_number_of_games_suffice() -> None:
    tune = spsa(method="adaptive", parameters=[bare(), bare("y", integer=True)])
    assert isinstance(tune.tuner.method, Adaptive)
    assert tune.summary().warnings == [
        "without openings, the games of a tune are all much the same"
    ]


def test_c_end_is_the_perturbation_that_the_adaptive_method_uses() -> None:
    tune = spsa(method="adaptive", parameters=[bare(c_end=7), bare("y")])
    c = tune.tuner.method.c(1)
    assert c[0] == 7
    assert c[1] != 7


@pytest.mark.parametrize(
    ("method", "changes", "unused"),
    [
        ("adaptive", {"r_end": 0.01}, "r_end"),
        ("classic", {"c_end": 4, "step": 3}, "step"),
        ("weather_factory", {"step": 3, "r_end": 0.1}, "r_end"),
        ("weather_factory", {"step": 3, "c_end": 2}, "c_end"),
    ],
)
def test_unused_argument_of_a_parameter_file_gives_a_warning(
    method: str, changes: dict[str, Any], unused: str
) -> None:
    lines = spsa(method=method, parameters=[bare(**changes)]).summary().warnings
    assert any(line.startswith(f"{unused} has no effect") for line in lines)


@pytest.mark.parametrize(
    ("method", "missing"),
    [("classic", "c_end"), ("blog", "c_end"), ("weather_factory", "step")],
)
def test_missing_perturbation_is_reported_at_its_parameter(method: str, missing: str) -> None:
    with pytest.raises(Refused) as refused:
        spsa(method=method, parameters=[parameter(), bare()])
    line = f"parameters.1.{missing}: parameter 'x': {missing!r} is missing"
    assert line in str(refused.value)


def test_number_of_games_is_required_unless_derived() -> None:
    for method in ("adaptive", "classic", "blog", "weather_factory"):
        with pytest.raises(Refused, match="number_of_games: 'number_of_games' is missing"):
            spsa(method=method, number_of_games=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": 5, "A_ratio": 0.1}, "A_ratio: A and A_ratio both set the stability constant"),
        (
            {"games_per_iteration": 8},
            "number_of_games: 20 is not a multiple of games_per_iteration (8)",
        ),
        ({"opponent": "e"}, "opponent: opponent has no meaning with pairing 'self_play'"),
        ({"pairing": "reference"}, "opponent: 'opponent' is missing"),
        ({"pairing": "reference", "opponent": "x"}, "opponent: there is no player 'x'"),
        ({"pairing": "reference", "opponent": []}, "opponent: the list of opponents is empty"),
        ({"pairing": "reference", "opponent": ["e", "e"]}, "opponent: 'e' is listed twice"),
        (
            {"parameters": [parameter(frozen=True)]},
            "parameters: every parameter is frozen: there is nothing to tune",
        ),
        (
            {"parameters": [parameter(gtp="a", environ="b")]},
            "parameters.0.environ: parameter 'Mobility' is sent to engines in two ways, gtp "
            "and environ",
        ),
        (
            {
                "method": "constant",
                "precision": 1e-9,
                "number_of_games": None,
                "parameters": [bare()],
            },
            "number_of_games: this precision needs",
        ),
    ],
)
def test_contradicting_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        spsa(**changes)
    assert message in str(refused.value)


def test_classic_sequences_are_those_of_the_settings() -> None:
    tune = spsa(parameters=[bare(c_end=8)], number_of_games=2000, A_ratio=0.3, k_counts="games")
    gains = tune.schedule.gains
    assert isinstance(gains, Classic)
    assert (gains.N, gains.A, gains.alpha, gains.gamma) == (2000, 600, 0.602, 0.101)
    assert gains.r_end.tolist() == [0.002]
    assert gains.c(2000).tolist() == [8]
    assert spsa(number_of_games=2000).schedule.gains.A == 100
    assert spsa(A=7).schedule.gains.A == 7


def test_constant_method_derives_its_settings_and_reports_them() -> None:
    tune = spsa(method="constant", parameters=[bare(), bare("y")], number_of_games=None)
    selected = autoselect(tune.tuner.space)
    gains = tune.schedule.gains
    assert isinstance(gains, Constant)
    assert gains.c(1).tolist() == selected.c.tolist() == [200 / 6] * 2
    assert gains.R(1).tolist() == selected.r.tolist()
    assert 2 * tune.iterations == selected.games
    (line,) = tune.setup().notices
    assert f"{selected.games:,} games" in line
    assert tune.summary().progress.total == selected.games


def test_constant_method_prefers_settings_of_the_control_file() -> None:
    changes = [bare(c_end=50), bare("y", r_end=0.001)]
    tune = spsa(method="constant", parameters=changes, number_of_games=None)
    selected = autoselect(tune.tuner.space)
    gains = tune.schedule.gains
    assert gains.c(1).tolist() == [50, selected.c[1]]
    assert gains.R(1).tolist() == [selected.r[0], 0.001]
    # λ is proportional to 1/(r·c²): the second one takes r/0.001 times as long
    expected = 3 * max(
        selected.lambdas[0] * (selected.c[0] / 50) ** 2, selected.lambdas[1] * selected.r[1] / 0.001
    )
    assert 2 * tune.iterations == pytest.approx(expected, abs=2)
    fewer = spsa(method="constant", parameters=changes, number_of_games=100)
    assert fewer.iterations == 50
    assert fewer.setup().notices[1] == "number_of_games is 100 instead"


def test_blog_uses_c_end_as_s_and_r_end_as_a_factor_of_epsilon() -> None:
    tune = spsa(
        method="blog",
        parameters=[bare(c_end=8), bare("y", c_end=4, r_end=3)],
        epsilon=0.01,
        annealing=call("Annealing", s=2, epsilon=10, games=100),
        number_of_games=400,
    )
    gains = tune.schedule.gains
    assert isinstance(gains, Blog)
    assert gains.c(0).tolist() == [16, 8]
    assert gains.c(100).tolist() == gains.c(400).tolist() == [8, 4]
    assert gains.R(0) == pytest.approx(np.array([0.05, 0.15]))
    assert gains.R(100) == pytest.approx(np.array([0.005, 0.015]))
    assert gains.c(50) == pytest.approx(np.array([8, 4]) * np.sqrt(2))
    assert tune.schedule.counting.counts == "games"


def test_weather_factory_has_its_own_defaults_and_derives_step_from_c_end() -> None:
    tune = spsa(
        method="weather_factory", parameters=[bare(step=5), bare("y", c_end=4)], number_of_games=400
    )
    gains = tune.schedule.gains
    assert isinstance(gains, WeatherFactory)
    assert (gains.a, gains.c0, gains.A, gains.alpha, gains.gamma) == (1, 1, 1e5, 0.601, 0.102)
    assert gains.c(400) == pytest.approx(np.array([5 / 400**0.102, 4]))
    assert tune.schedule.counting.counts == "games"
