"""The fit of each parameter: its results, their errors, and missing signals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.method import Method
from ringmaster.tuners.spsa.perturbation import sides
from ringmaster.tuners.spsa.regression import C, Lines, Regression, lines, weight_to_halve
from tests.tuners.spsa.spaces import classic, space_of


def noiseless(
    space: Space, e: float, optimum: float, midpoints: Array, d: float, repeats: int = 1
) -> Regression:
    """Return a regression of expected scores, each so many times."""
    regression = Regression(space)
    for i, m in enumerate(midpoints):
        sign = 1 if i % 2 else -1
        plus, minus = np.array([m + sign * d]), np.array([m - sign * d])
        elo = -e * ((plus[0] - optimum) ** 2 - (minus[0] - optimum) ** 2)
        regression.add(plus, minus, 2 * elo / C, 2)
    state = regression.state()
    state["sums"] = [[repeats * x for x in row] for row in state["sums"]]
    regression.restore(state | {k: repeats * state[k] for k in ("games", "squares")})
    return regression


@given(
    offset=st.sampled_from([0.0, 1e6, -1e6]),
    optimum=st.floats(-4, 4),
    elo=st.floats(20, 200),
)
def test_expected_scores_give_back_the_parabola(offset: float, optimum: float, elo: float) -> None:
    space = space_of((offset + 1, offset - 5, offset + 5))
    e, o = elo / 25, offset + optimum
    regression = noiseless(space, e, o, offset + np.linspace(-4, 4, 41), 0.5, 5000)
    (fit,) = regression.fits()
    assert fit.curvature == pytest.approx(e, rel=1e-6)
    assert fit.optimum is not None
    assert fit.optimum - offset == pytest.approx(optimum, abs=1e-6)
    # the mean of the midpoints is the offset
    assert fit.slope == pytest.approx(2 * e * optimum, rel=1e-5, abs=1e-6)
    assert fit.elo_at_stake == pytest.approx(e * (optimum - 1) ** 2, rel=1e-4, abs=1e-6)
    assert fit.low is not None
    assert fit.high is not None
    assert fit.low <= fit.optimum <= fit.high
    assert fit.signal


def test_optimum_beyond_a_bound_is_reported_with_the_elo_of_the_bound() -> None:
    space = space_of((0, -5, 5))
    (fit,) = noiseless(space, 2.0, 9.0, np.linspace(-4, 4, 41), 0.5, 5000).fits()
    assert fit.optimum == pytest.approx(9.0)
    assert (fit.low, fit.high) == (5, 5)
    assert fit.elo_at_stake == pytest.approx(2.0 * (81 - 16), rel=1e-6)


def test_minimum_of_strength_is_not_an_optimum() -> None:
    (fit,) = noiseless(space_of((0, -5, 5)), -2.0, 1.0, np.linspace(-4, 4, 41), 0.5, 5000).fits()
    assert fit.optimum is None
    assert fit.signal


def test_slope_is_seen_where_theta_has_not_moved() -> None:
    (fit,) = noiseless(space_of((0, -5, 5)), 0.5, 4.0, np.zeros(20), 0.5, 1000).fits()
    assert fit.slope == pytest.approx(2 * 0.5 * 4.0)
    assert fit.signal
    assert (fit.curvature, fit.optimum, fit.games_to_halve) == (None, None, None)


@pytest.mark.parametrize("results", [0, 1, 50])
def test_nothing_and_draws_alone_are_no_signal(results: int) -> None:
    regression = Regression(space_of((0, -5, 5), (1, 0, 2)))
    for k in range(results):
        m = 0.01 * k
        regression.add(np.array([m + 1, 2.0]), np.array([m - 1, 2.0]), 0.0, 2)
    for fit in regression.fits():
        assert fit.slope == 0
        assert not fit.signal
        assert fit.optimum is None
        assert fit.elo_at_stake is None
    # the second was never perturbed
    assert regression.fits()[1].slope_error == math.inf


def test_a_single_win_is_no_signal() -> None:
    regression = Regression(space_of((0, -5, 5)))
    regression.add(np.array([1.0]), np.array([-1.0]), 2.0, 2)
    (fit,) = regression.fits()
    assert fit.slope > 0
    assert not fit.signal


@given(st.permutations(range(12)))
def test_order_of_results_does_not_matter(order: list[int]) -> None:
    space = space_of((0, -8, 8), (16, 0, 32))
    # numbers that add without rounding
    iterations = [
        (np.array([i / 4, 16.0 + i]), np.array([-2.0, i / 2]), i % 5 - 2) for i in range(12)
    ]
    one, other = Regression(space), Regression(space)
    for i in range(12):
        one.add(*iterations[i], 2)
        other.add(*iterations[order[i]], 2)
    assert one.state() == other.state()


def test_restored_regression_continues_exactly() -> None:
    space = space_of((0.1, -5, 5))
    regression = noiseless(space, 1.0, 2.0, np.linspace(-3, 3, 30), 0.3)
    resumed = Regression(space)
    resumed.restore(json.loads(json.dumps(regression.state())))
    for each in (regression, resumed):
        each.add(np.array([1.1]), np.array([0.7]), -1.0, 2)
    assert resumed.state() == regression.state()
    assert resumed.fits() == regression.fits()


def test_ten_million_games_leave_the_interval_its_digits() -> None:
    space = space_of((1e6, 1e6 - 5, 1e6 + 5))
    rng = np.random.default_rng(4)
    d = rng.choice([-1.0, 1.0], 100) * 0.5
    m = rng.uniform(-0.01, 0.01, 100)
    # each of 100 iterations 50,000 times: the sums as the regression has them
    score = 2 * d * (4 * 100 / C) * (0.003 - m)
    sums = np.array([2 * d**2, 2 * d**2 * m, 2 * d**2 * m**2, d * score, d * m * score])
    fitted = lines(space, 5e4 * sums.sum(axis=1)[:, np.newaxis], 1e7, np.array(1e7))
    zero, low, high = fitted.interval()
    assert zero[0] == pytest.approx(0.003, rel=1e-9)
    assert low[0] < 0.003 < high[0] < low[0] + 0.003


@given(st.floats(1e-3, 1e6), st.floats(0.01, 100), st.floats(-10, 10))
def test_weight_to_halve_is_at_most_three_times_the_present_weight(
    weight: float, width: float, distance: float
) -> None:
    spread = weight * width**2
    more = weight_to_halve(weight, spread, distance)
    assert 0 < more <= 3 * weight

    def variance(x: float) -> float:
        # the same from sums about the zero: weight at −distance, x at 0
        total = weight + x
        mean = -distance * weight / total
        square = spread + weight * distance**2 - total * mean**2
        return 1 / total + mean**2 / square

    assert variance(more) == pytest.approx(variance(0) / 4, rel=1e-6)


def test_theta_already_at_the_optimum_needs_three_times_its_games() -> None:
    space = space_of((0, -5, 5))
    (fit,) = noiseless(space, 2.0, 0.0, np.linspace(-4, 4, 41), 0.5, 500).fits()
    assert fit.games_to_halve == pytest.approx(3 * 41 * 500 * 2, rel=1e-6)
    # wider perturbations say more a game
    (wide,) = noiseless(space, 2.0, 0.0, np.linspace(-4, 4, 41), 0.5, 500).fits(np.array([1.0]))
    assert wide.games_to_halve == pytest.approx(3 * 41 * 500 * 2 / 4, rel=1e-6)


def simulated(
    method: Method, e: Array, optimum: float, replicates: int, iterations: int, seed: int
) -> Lines:
    """Return the fits of tunes by a gain method; e is Elo lost at half a range, (n,)."""
    space, rng = method.space, np.random.default_rng(seed)
    memory = method.start((replicates,))
    sums, squares = np.zeros((replicates, 5, len(space))), np.zeros(replicates)
    half = space.width / 2

    def loss(theta: Array) -> Array:
        return np.asarray((e * np.square((theta - optimum) / half)).sum(axis=-1))

    for k in range(1, iterations + 1):
        theta = method.centre(memory)
        delta = rng.choice([-1.0, 1.0], theta.shape)
        plus, minus = sides(space, theta, method.c(k), delta, delta, "stochastic")
        win = 1 / (1 + 10 ** ((loss(plus) - loss(minus)) / 400)) - 0.305
        u = rng.random((2, replicates))
        result = (u < win).sum(axis=0) - 1.0 * (u > win + 0.61).sum(axis=0)
        method.learn(memory, k, plus, minus, delta, result, 2)
        d, m = (plus - minus) / 2, (plus + minus) / 2 - space.start
        w, s = 2 * d * d, d * result[:, np.newaxis]
        sums += np.stack([w, w * m, w * m * m, s, s * m], axis=-2)
        squares += result * result
    return lines(space, sums, 2.0 * iterations, squares)


def test_parameters_without_effect_show_a_signal_in_one_tune_of_twenty() -> None:
    """θ is a random walk then; normal quantiles would find a curvature in one of three."""
    space = space_of(*[(100, 0, 200)] * 4)
    method = classic(space, 3000, c=1 / 6, r=0.004, A=300)
    fitted = simulated(method, np.zeros(4), 100.0, 250, 3000, seed=1)
    # 1000 parameters: standard error 0.7 %
    assert np.mean(fitted.signal) == pytest.approx(0.05, abs=0.025)
    assert np.mean(fitted.visible) < 0.045
    assert np.mean(fitted.b > 1.96 * fitted.b_error) > 0.2


def test_intervals_of_parameters_that_matter_hold_the_optimum() -> None:
    space = space_of(*[(40, 0, 200)] * 3)
    method = classic(space, 3000, c=1 / 6, r=0.004, A=300)
    fitted = simulated(method, np.full(3, 100.0), 120.0, 150, 3000, seed=2)
    assert np.mean(fitted.visible) > 0.9
    _, low, high = fitted.interval()
    held = ((low <= 80) & (high >= 80))[fitted.visible]
    assert np.mean(held) == pytest.approx(0.95, abs=0.04)
