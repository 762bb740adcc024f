"""The regression, the samples and the state of CLOP."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ringmaster.tuners.clop import PLACES, PRIOR, Axis, Clop, Regression, fit
from tests.tuners.clop_tunes import CLOP_FUNCTIONS, simulated_regrets

LINE = Axis(-1.0, 1.0)


def play(tuner: Clop, games: int, seed: int = 1) -> None:
    """Play games with a best place in the middle of the upper half of each parameter."""
    rng = np.random.default_rng([seed, len(tuner)])
    for number in range(len(tuner), len(tuner) + games):
        places = tuner.ask(number)
        loss = sum((place / PLACES - 0.75) ** 2 for place in places)
        tuner.tell(places, float(rng.random() < 1 / (1 + math.exp(6 * loss - 1))))


# axes


@given(
    st.integers(1, 1000),
    st.integers(1, 10**6),
    st.booleans(),
    st.booleans(),
    st.integers(0, PLACES - 1),
)
def test_every_place_is_a_value_within_the_bounds(
    low: int, width: int, integer: bool, logarithmic: bool, place: int
) -> None:
    axis = Axis(float(low), float(low + width), integer, logarithmic)
    value = axis.played(place)
    assert low <= value <= low + width
    assert isinstance(value, int) == integer
    assert axis.exact(axis.coordinate(value)) == pytest.approx(value)
    assert -1 - 1e-9 <= axis.coordinate(value) <= 1 + 1e-9


def test_integers_have_equal_shares_of_the_places() -> None:
    axis = Axis(0, 4, integer=True)
    counts = np.bincount([axis.played(place) for place in range(0, PLACES, 1000)])
    assert counts == pytest.approx(len(counts) * [counts.mean()], rel=1e-3)


# the regression


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_regression_finds_the_maximum_of_the_posterior(seed: int, n: int, pairs: bool) -> None:
    rng = np.random.default_rng(seed)
    games = int(rng.integers(1, 200))
    x, w = rng.uniform(-1, 1, (games, n)), rng.uniform(0, 1, games)
    y = rng.choice([0.0, 0.5, 1.0], games)
    regression = Regression(n, pairs)
    features = regression.features(x)

    def loss(c: np.ndarray) -> float:
        q = features @ c
        return float(w @ (np.logaddexp(0, q) - y * q) + PRIOR / 2 * c @ c)

    def slope(c: np.ndarray) -> np.ndarray:
        return features.T @ (w * (1 / (1 + np.exp(-features @ c)) - y)) + PRIOR * c

    c, hessian = regression.maximise(x, y, w, np.zeros(regression.size))
    best = minimize(loss, np.zeros(regression.size), jac=slope, options={"gtol": 1e-8})
    assert loss(c) <= best.fun + 1e-7
    assert np.abs(slope(c)).max() < 1e-3
    assert np.linalg.eigvalsh(hessian).min() > PRIOR / 2


def test_coefficients_of_a_quadratic_are_split_into_its_parts() -> None:
    regression = Regression(3, all_pairs=True)
    rng = np.random.default_rng(1)
    c, x = rng.normal(size=regression.size), rng.normal(size=(5, 3))
    constant, slope, bend = regression.split(c)
    expected = constant + x @ slope + np.einsum("ni,ij,nj->n", x, bend, x)
    assert regression.features(x) @ c == pytest.approx(expected)


def test_fit_weighs_games_by_the_equation() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (2000, 2))
    y = (rng.random(2000) < 1 / (1 + np.exp(4 * np.square(x).sum(axis=1) - 1))).astype(float)
    rounds = fit(x, y, 3.0, True)
    assert len(rounds.mean) > 1
    strengths = rounds.strengths(x)
    assert rounds.log_weights(x) == pytest.approx(np.minimum(strengths.min(axis=1), 0))
    # m is the mean of the first round's q under equal weights
    q = strengths[:, 0] * rounds.scale[0] + rounds.mean[0]
    assert q.mean() == pytest.approx(rounds.mean[0])
    p = 1 / (1 + np.exp(-q))
    assert rounds.scale[0] == pytest.approx(3 / math.sqrt((p * (1 - p)).sum()))


@pytest.mark.parametrize("points", [0.0, 0.5, 1.0])
def test_equal_results_leave_all_samples_alike(points: float) -> None:
    tuner = Clop([LINE, LINE], seed=1)
    for number in range(300):
        tuner.tell(tuner.ask(number), points)
    weight, share = tuner.local()
    assert weight > 250
    assert share == pytest.approx(points)
    assert not any(finding.signal for finding in tuner.findings())
    assert tuner.estimate() == pytest.approx([0, 0], abs=0.2)


def test_draws_make_the_model_as_sure_as_they_are() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (1000, 1))
    decided = (rng.random(1000) < 0.5).astype(float)
    drawn = np.where(rng.random(1000) < 0.64, 0.5, decided)
    ratio = fit(x, drawn, 3.0, True).scale[0] / fit(x, decided, 3.0, True).scale[0]
    assert ratio == pytest.approx(0.6, abs=0.05)


# samples


@pytest.mark.slow
def test_samples_have_the_density_of_the_weight() -> None:
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (3000, 1))
    y = (rng.random(3000) < 1 / (1 + np.exp(6 * np.square(x[:, 0] - 0.3)))).astype(float)
    rounds = fit(x, y, 3.0, True)
    start = np.full((20_000, 1), 0.3)
    ends = np.array([1.0])
    drawn = rounds.draw(start, -ends, ends, rng.random((6, 1, 31, 20_000)))
    edges = np.linspace(-1, 1, 41)
    grid = np.linspace(-1, 1, 4001)
    weights = np.exp(rounds.log_weights(grid[:, np.newaxis]))
    density = np.histogram(grid, edges, weights=weights)[0]
    counts = np.histogram(drawn, edges)[0]
    assert counts / counts.sum() == pytest.approx(density / density.sum(), abs=0.006)


def test_sample_depends_on_its_number_not_on_the_order() -> None:
    one, other = Clop([LINE] * 2, seed=4), Clop([LINE] * 2, seed=4)
    play(one, 100)
    play(other, 100)
    numbers = [100, 200, 150]
    forwards = [one.ask(number) for number in numbers]
    assert [other.ask(number) for number in numbers[::-1]] == forwards[::-1]


@pytest.mark.parametrize("halted", [0, 1, 9, 64, 130])
def test_restored_tuner_goes_on_as_an_uninterrupted_one(halted: int) -> None:
    axes = [LINE, Axis(1, 300, True, True), Axis(0.1, 5.0, False, True)]
    whole, first = Clop(axes, seed=2, all_pairs=False), Clop(axes, seed=2, all_pairs=False)
    for tuner in (whole, first):
        play(tuner, halted)
    later = Clop(axes, seed=2, all_pairs=False)
    later.restore(json.loads(json.dumps(first.state())))
    for tuner in (whole, later):
        play(tuner, 60)
    assert json.dumps(later.state()) == json.dumps(whole.state())
    assert later.ask(500) == whole.ask(500)
    assert later.estimate() == whole.estimate()


# estimates


@pytest.mark.slow
def test_estimate_of_six_parameters_does_not_rest_on_single_samples() -> None:
    best = np.array([-0.5, -0.3, -0.1, 0.1, 0.3, 0.5])

    def elo_lost(values: list[float]) -> float:
        return float(150 * np.square(np.array(values) - best).sum())

    def play_until(games: int) -> list[float]:
        for number in range(len(tuner), games):
            places = tuner.ask(number)
            elo = 200 - elo_lost(tuner.played(places))
            tuner.tell(places, float(chance.random() < 1 / (1 + 10 ** (-elo / 400))))
        return tuner.estimate() or []

    tuner, chance = Clop([LINE] * 6, seed=2), np.random.default_rng(2)
    estimate = play_until(1000)
    assert elo_lost(estimate) < 0.4 * elo_lost([0.0] * 6)
    assert all(f.low < f.estimate < f.high for f in tuner.findings())
    assert play_until(1050) == pytest.approx(estimate, abs=0.15)


# published figures


@pytest.mark.slow
def test_regret_on_log_is_the_published_one() -> None:
    """0.0058 after 1,000 games (CLOP's paper, LOG)."""
    regrets = simulated_regrets("log", 1, (1000,), replicates=40)[:, 0]
    error = regrets.std() / math.sqrt(len(regrets))
    assert regrets.mean() < 0.0058 + 2.5 * error
    assert regrets.mean() < 0.012


@pytest.mark.slow
def test_regret_falls_with_the_number_of_games() -> None:
    regrets = simulated_regrets("rosenbrock", 2, (200, 1000), replicates=4).mean(axis=0)
    assert regrets[1] < regrets[0] / 2


@pytest.mark.parametrize("name", CLOP_FUNCTIONS)
def test_no_value_is_better_than_the_optimum_of_a_function(name: str) -> None:
    function = CLOP_FUNCTIONS[name]
    n, optimum = function.count or 1, np.array(function.optimum)
    axes = [np.linspace(-1, 1, 20_001 if n == 1 else 301)] * n
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
    lost = function.strength(optimum) - function.strength(grid)
    assert lost.min() >= -1e-11
    assert np.abs(grid[lost.argmin()] - optimum).max() < 0.01
