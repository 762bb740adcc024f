"""The adaptive method: contract, posterior by plain integration, and parameters without
effect."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.landscapes import LossFunction
from ringmaster.tuners.simulation import FixedDraws, SimulatedPlayers, SimulatedTune, simulate
from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.adaptive import FIRST_C, HARMLESS, PROBED, WIDTHS, Adaptive, stride
from ringmaster.tuners.spsa.method import Memory, Method
from ringmaster.tuners.spsa.perturbation import Counting, sides
from ringmaster.tuners.spsa.posterior import (
    ELO,
    ELO_SPREAD,
    LOCATION,
    LOCATION_MEDIAN,
    LOCATION_SPREAD,
    PRIOR_DEVIATIONS,
    PRIOR_SHARES,
)
from ringmaster.tuners.spsa.regression import C
from tests.contracts.tuner_contract import Make, TunerContract
from tests.tuners.spsa.spaces import of_each, space_of


class TestAdaptive(TunerContract):
    @pytest.fixture
    def make(self) -> Make:
        return Adaptive


def simulated(
    method: Method, elo: Array, optimum: Array, replicates: int, iterations: int, seed: int
) -> Memory:
    """Return the memory of tunes; elo is lost at half a range from the optimum, (n,)."""
    space, rng = method.space, np.random.default_rng(seed)
    memory = method.start((replicates,))

    def loss(theta: Array) -> Array:
        return np.asarray((elo * np.square(2 * (theta - optimum) / space.width)).sum(axis=-1))

    for k in range(1, iterations + 1):
        theta, c = method.centre(memory), method.c(k, memory)
        delta, sign = rng.choice([-1.0, 1.0], (2, 1, *theta.shape))
        middle, c = method.place(np.array([float(k)]), memory, theta, c, delta, sign)
        plus, minus = (side[0] for side in sides(space, middle, c, delta, delta * 0, "stochastic"))
        win = 1 / (1 + 10 ** ((loss(plus) - loss(minus)) / 400)) - 0.305
        u = rng.random((2, replicates))
        result = (u < win).sum(axis=0) - 1.0 * (u > win + 0.61).sum(axis=0)
        method.learn(memory, k, plus, minus, delta[0], result, 2)
    return memory


def masses(one: Memory, i: int, o: Array, tau: float) -> Array:
    """Return how likely each e and o of a parameter are by its results alone and the prior
    of o, (grid, len(o)); all to the same factor."""
    assert np.all(one["first"] == 0)
    _, games, squares = one["totals"]
    v = (squares + 2) / (games + 4)
    a, b, d, p, q = one["sums"][:, :5, i].sum(axis=0)
    mass = np.zeros((len(ELO), len(o)))
    for row, e in enumerate(ELO):
        beta = 4 * e / C
        # log likelihood of a line: −Σ(s − g·β·d·(o−m))²/(2·g·v)
        fit = 2 * beta * (o * p - q) - beta**2 * (o**2 * a - 2 * o * b + d)
        mass[row] = np.exp(fit / (2 * v) - o**2 / (2 * tau**2)) / tau
    return mass


def test_estimate_and_interval_are_those_of_plain_integration() -> None:
    """Over a fine grid of e and o, all τ and all locations of e, one after the other."""
    space = space_of((40, 0, 100), (50, 0, 100))
    method = Adaptive(space)
    memory = simulated(method, np.array([40.0, 3.0]), np.array([65.0, 40.0]), 1, 300, seed=2)
    (one,) = of_each(memory)
    o = np.linspace(-20, 20, 80_001)
    mass = np.zeros((len(ELO), len(o)))
    for tau, of_tau in zip(PRIOR_DEVIATIONS, PRIOR_SHARES, strict=True):
        first, second = masses(one, 0, o, tau), masses(one, 1, o, tau)
        for location in LOCATION:
            share = np.exp(-np.square(np.log(ELO / location)) / (2 * ELO_SPREAD**2))
            share /= share.sum()
            other = (share * second.sum(axis=1)).sum()
            distance = math.log(location / LOCATION_MEDIAN) / LOCATION_SPREAD
            prior = of_tau * math.exp(-(distance**2) / 2)
            mass += prior * other * share[:, np.newaxis] * first
    mass /= mass.sum()
    elo = mass * ELO[:, np.newaxis]
    best, stake = (elo * o).sum() / elo.sum(), elo.sum()
    off = (elo * (o - best) ** 2).sum() / stake
    posterior = method.posterior(one)
    assert (posterior.x[0], posterior.deviation[0]) == pytest.approx((best, off**0.5), rel=2e-3)
    interval = method.intervals(one)[0]
    below = np.cumsum(mass.sum(axis=0))
    low, high = np.clip(40 + 50 * np.interp([0.025, 0.975], below, o), 0, 100)
    # quantiles of 128 points
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.004 * (high - low))
    assert interval.optimum == method.estimate(one)[0]
    x = (interval.optimum - 40) / 50
    gain = ELO[:, np.newaxis] * (o**2 - (o - x) ** 2)
    mean = (mass * gain).sum()
    assert interval.elo_at_stake == pytest.approx(mean, rel=0.01)
    deviation = ((mass * gain**2).sum() - mean**2) ** 0.5
    assert interval.elo_deviation == pytest.approx(deviation, rel=0.01)


def test_theta_follows_its_aim_calmly_and_stays_there() -> None:
    method = Adaptive(space_of((40, 0, 100)))
    memory = simulated(method, np.array([400.0]), np.array([65.0]), 1, 400, seed=2)
    memory["theta"][:] = 40.0
    aim = 40 + 50 * method.posterior(memory).x
    steps = []
    for _ in range(60):
        before = memory["theta"].copy()
        memory["totals"][:, 0] += 3 - memory["totals"][:, 0] % 4
        method.learn(memory, 399, aim, aim, np.ones(1), np.zeros(1), 0)
        steps.append(float(((memory["theta"] - before) / (aim - before)).item()))
    assert max(steps) < 0.25
    assert memory["theta"] == pytest.approx(aim, abs=0.05)


def test_updates_of_theta_become_rarer() -> None:
    assert [stride(n) for n in (0, 15, 16, 255, 256, 511, 512)] == [1, 1, 2, 2, 4, 4, 8]
    for results in range(256, 10**5, 97):
        assert results / 128 < stride(results) <= results / 64


@pytest.mark.slow
def test_perturbation_begins_small_grows_to_a_third_of_the_range_and_narrows() -> None:
    method = Adaptive(space_of((40, 0, 100)))
    assert method.c(1) == pytest.approx([50 * FIRST_C])
    assert WIDTHS[0] * 50 == pytest.approx(100 / 3)
    elo, optimum = np.array([400.0]), np.array([60.0])
    lengths = (40, 1000, 4000)
    c = [simulated(method, elo, optimum, 5, n, seed=3)["c"].mean() for n in lengths]
    assert 50 * FIRST_C < c[0] < 33.4
    assert c[0] > c[1] > c[2] > 1
    weak = simulated(method, np.array([0.0]), optimum, 5, 100, seed=3)["c"]
    assert weak == pytest.approx(100 / 3)


def test_fixed_perturbation_is_kept_and_the_others_are_chosen() -> None:
    space = space_of((40, 0, 100), (40, 0, 100), (4, 0, 9, True))
    method = Adaptive(space, np.array([3.0, np.nan, 0.1]))
    assert method.c(1) == pytest.approx([3.0, 8.0, 0.5])
    memory = simulated(method, np.full(3, 400.0), np.array([50.0, 60.0, 5.0]), 1, 1500, seed=4)
    assert memory["c"][0, [0, 2]] == pytest.approx([3.0, 0.5])
    assert memory["c"][0, 1] < 33
    assert np.all(memory["shift"] <= memory["c"] / 5 + 1e-12)


@pytest.mark.parametrize("n", [1, 4])
def test_some_parameter_has_a_signal_exactly_when_theta_leaves_the_start(n: int) -> None:
    method = Adaptive(space_of(*[(70, 0, 200)] * n))
    memory = simulated(method, np.full(n, 10.0), np.full(n, 100.0), 20, 300, seed=15)
    left = [
        "weak results: θ goes 0% of the way from the start" not in method.remarks(one)
        for one in of_each(memory)
    ]
    assert set(left) == {True, False}
    signals = [any(i.signal for i in method.intervals(one)) for one in of_each(memory)]
    assert signals == left


@pytest.mark.slow
def test_parameters_without_effect_do_not_wander_far_and_seldom_show_a_signal() -> None:
    space = space_of(*[(70, 0, 200)] * 4)
    method = Adaptive(space)
    memory = simulated(method, np.zeros(4), np.full(4, 100.0), 60, 2000, seed=5)
    signals = [i.signal for one in of_each(memory) for i in method.intervals(one)]
    # 240 parameters at 9 %: standard error 1.9 %
    assert np.mean(signals) <= 0.13
    assert np.mean(np.abs(method.estimate(memory) - 70)) < 40
    assert np.mean([i.high - i.low for i in method.intervals(of_each(memory)[0])]) > 100


@pytest.mark.slow
def test_the_more_parameters_have_no_effect_the_less_they_wander() -> None:
    """What is learnt of all of them is that none matters.  Each by itself: a ratio of 1."""
    off = []
    for n in (2, 40):
        method = Adaptive(space_of(*[(100, 0, 200)] * n))
        memory = simulated(method, np.zeros(n), np.full(n, 100.0), 240 // n, 1500, seed=9)
        off_start = np.abs(method.estimate(memory) - 100)
        # of the tunes that have left the start
        off.append(np.mean(off_start[off_start.any(axis=-1)]))
    assert off[1] < 0.85 * off[0]


@pytest.mark.slow
def test_steep_parameter_among_many_without_effect_is_found() -> None:
    method = Adaptive(space_of(*[(130, 0, 200)] * 40))
    elo = np.array([0.0] * 39 + [40.0])
    memory = simulated(method, elo, np.full(40, 80.0), 4, 3000, seed=10)
    assert method.estimate(memory)[:, -1] == pytest.approx(80, abs=12)


@pytest.mark.slow
def test_intervals_hold_the_optimum_in_about_95_of_100_tunes() -> None:
    space = space_of(*[(70, 0, 200)] * 3)
    method, optimum = Adaptive(space), np.array([100.0, 60.0, 120.0])
    memory = simulated(method, np.array([20.0, 20.0, 60.0]), optimum, 50, 4000, seed=6)
    intervals = [method.intervals(one) for one in of_each(memory)]
    held = [
        i.low <= best <= i.high for row in intervals for i, best in zip(row, optimum, strict=True)
    ]
    assert np.mean(held) >= 0.92
    signals = [i.signal for row in intervals for i in row]
    assert np.mean(signals) > 0.9
    at_stake = np.mean([[i.elo_at_stake for i in row] for row in intervals], axis=0)
    assert at_stake == pytest.approx([20 * 0.09, 20 * 0.01, 60 * 0.25], abs=1.5)


def test_optimum_beyond_a_bound_is_estimated_at_the_bound() -> None:
    space = Space(np.array([50.0]), np.array([0.0]), np.array([100.0]), np.array([False]))
    method = Adaptive(space)
    memory = simulated(method, np.array([60.0]), np.array([130.0]), 10, 3000, seed=7)
    assert np.all(method.estimate(memory) > 90)
    for one in of_each(memory):
        (interval,) = method.intervals(one)
        assert 50 < interval.low <= interval.high == 100


def test_range_far_from_zero_gives_the_same_estimate() -> None:
    near, far = Adaptive(space_of((4, 0, 10))), Adaptive(space_of((1e6 + 4, 1e6, 1e6 + 10)))
    elo = np.array([50.0])
    intervals = [
        method.estimate(simulated(method, elo, np.array([offset + 7.0]), 1, 500, seed=8))[0]
        - offset
        for method, offset in ((near, 0.0), (far, 1e6))
    ]
    assert intervals[0] == pytest.approx(intervals[1], abs=1e-6)


def test_estimates_after_ten_million_games_keep_their_precision() -> None:
    """The sums of 10⁷ games at one d: an optimum 0.01 half ranges off is found."""
    space = space_of((50, 0, 100))
    method = Adaptive(space)
    games, d, o, beta = 1e7, 0.5, 0.01, 4 * 20.0 / C
    memory = method.start()
    m = 0.02  # half of the games at θ ± m
    weight = games * d * d
    spread = weight * m * m
    score = weight * beta * o
    memory["sums"][0, :, 0] = [weight, 0, spread, score, -beta * spread]
    memory["totals"][:] = [games / 2, games, 0.4 * games]
    posterior = method.posterior(memory)
    assert 50 + 50 * posterior.x == pytest.approx([50.5], abs=0.05)
    low, high = (50 + 50 * posterior.quantile(p) for p in (0.025, 0.975))
    assert 50.2 < low < 50.5 < high < 50.8
    assert method.intervals(memory)[0].signal


def narrow_basin(theta: Array) -> Array:
    """Return the Elo lost far from 50 ± 3 of [0, 100], where the loss is flat."""
    lost = 300 * -np.expm1(-np.square((theta - 50) / 3).sum(axis=-1) / 2)
    return np.asarray(lost)


def probed(method: Method, loss: Callable[[Array], Array], iterations: int) -> Memory:
    """Return the memory of a tune whose results are the expected ones."""
    memory = method.start()
    rng = np.random.default_rng(12)
    for k in range(1, iterations + 1):
        delta, sign = rng.choice([-1.0, 1.0], (2, len(method.space)))
        centre, c = method.centre(memory), method.c(k, memory)
        middle, c = method.place(np.array([float(k)]), memory, centre, c, delta, sign)
        plus, minus = (
            s.reshape(-1) for s in sides(method.space, middle, c, delta, delta, "nearest")
        )
        expected = 4 / (1 + 10 ** ((loss(plus) - loss(minus)) / 400)) - 2
        method.learn(memory, k, plus, minus, delta, np.asarray(expected), 2)
    return memory


def test_width_shrinks_to_a_narrow_basin_and_theta_finds_its_optimum() -> None:
    method = Adaptive(space_of((52, 0, 100), (49, 0, 100)))
    memory = probed(method, narrow_basin, 400)
    assert np.all(WIDTHS[memory["first"].astype(int)] * 50 >= 0.5)
    assert np.all(WIDTHS[memory["first"].astype(int)] * 50 <= 3)
    assert np.all(memory["c"] <= 3)
    assert method.estimate(memory) == pytest.approx([50, 50], abs=0.3)


def test_a_probe_that_gives_up_a_width_late_does_not_throw_its_results_away() -> None:
    method = Adaptive(space_of((70, 0, 100)))
    memory = simulated(method, np.array([60.0]), np.array([40.0]), 1, 1000, seed=2)
    (one,) = of_each(memory)
    assert not one["first"].any()
    before = method.posterior(one)
    one["probes"][:] = 0
    # 0.27 of W − L a game at the widest width
    one["probes"][0] = 30, 0.27 * (30 + HARMLESS)
    there = np.full(1, 40.0)
    while not one["first"].any():
        k = one["totals"][0] + 1
        method.learn(one, k, there, there, np.ones(1), np.asarray(0.0), 0)
    after = method.posterior(one)
    assert 50 * np.abs(after.x - before.x) < 2
    assert after.deviation < 1.5 * before.deviation


def test_results_at_the_width_count_even_where_narrower_probes_lost_more() -> None:
    """As with decisive games: two widths lost too much, the widest and the narrow ones less."""
    method = Adaptive(space_of((70, 0, 100)))
    memory = method.start()
    memory["probes"][:3] = [[20, 1], [20, 9], [20, 15]]
    d = 50 * WIDTHS[2] * np.ones(1)
    for k in range(1, 101):
        if not method.is_probe(k):
            method.learn(memory, k, 70 + d, 70 - d, np.ones(1), np.asarray(-1.0), 2)
    assert memory["first"].tolist() == [2]
    assert method.posterior(memory).x < -0.1


def test_width_of_a_parabola_is_a_third_of_the_range() -> None:
    method = Adaptive(space_of((70, 0, 100), (20, 0, 100)))
    memory = probed(method, lambda theta: np.square((theta - 50) / 5).sum(axis=-1), 60)
    assert np.all(memory["first"] == 0)


@pytest.mark.slow
def test_ranges_far_too_wide_leave_no_tune_worse_than_its_start() -> None:
    method = Adaptive(space_of((52, 0, 100), (49, 0, 100), (48, 0, 100), (51, 0, 100)))
    players = SimulatedPlayers(
        LossFunction(np.full(4, 50.0), lambda u: narrow_basin(50 + 50 * u)), FixedDraws(0.5)
    )
    course = simulate(SimulatedTune(method, 2500, Counting()), players, 32, seed=1)
    assert np.median(course.estimate[-1]) < 2
    assert np.quantile(course.estimate[-1], 0.9) <= course.start[0]


def test_probes_become_rarer_and_try_each_width_in_turn() -> None:
    space = space_of((50, 0, 100))
    method, c = Adaptive(space), np.zeros(1)
    probes = [k for k in range(1, 10_001) if method.is_probe(k)]
    assert len([k for k in probes if k <= 100]) == 26
    assert len(probes) == 80
    tried = WIDTHS[:PROBED]
    for k, width in zip(probes, [*tried[1:], *tried], strict=False):
        ones = np.ones(1)
        middle, d = method.place(np.array([float(k)]), method.start(), space.start, c, ones, ones)
        assert (middle - d, middle + d) == (
            pytest.approx(np.array([[50.0]])), pytest.approx(np.array([[50 + 50 * width]])),
        )  # fmt: skip


def test_integers_take_no_part_in_probes_below_half_a_step() -> None:
    method = Adaptive(space_of((4, 0, 9, True), (50, 0, 100)))
    c = method.start()["c"]
    probes = [k for k in range(1, 100) if method.is_probe(k)]
    delta = np.ones((len(probes), 2))
    k = np.array(probes, dtype=np.float64)
    _, d = method.place(k, method.start(), method.space.start, c, delta, delta)
    assert np.all((d[:, 0] == 0) | (d[:, 0] >= 0.25))
    assert np.any(d[:, 0] == 0)
    assert np.all(d[:, 1] > 0)
    high, low = sides(method.space, np.array([4.0, 50.0]), d, delta, delta * 0.9, "stochastic")
    assert np.all(high[d[:, 0] == 0, 0] == low[d[:, 0] == 0, 0])


def test_theta_remains_at_the_start_at_first_and_leaves_it_gradually() -> None:
    method = Adaptive(space_of((40, 0, 100)))
    (interval,) = method.intervals(method.start())
    assert interval.elo_at_stake == 0
    memory = simulated(method, np.array([20.0]), np.array([70.0]), 40, 60, seed=11)
    words = {word for one in of_each(memory) for word in method.remarks(one)}
    assert "weak results: θ goes 0% of the way from the start" in words
    assert len(words) > 2
    theta = method.centre(memory)[:, 0]
    assert {value == 40 for value in theta} == {True, False}
    assert theta.min() >= 40 - 5


def test_parameters_that_cannot_be_narrowed_learn_in_a_narrow_basin_too() -> None:
    """An integer with three values, and a parameter with a fixed perturbation."""
    where = space_of((52, 0, 100), (0, 0, 2, True), (0.2, 0, 1))
    method = Adaptive(where, np.array([np.nan, np.nan, 0.25]))

    def loss(theta: Array) -> Array:
        integer, fixed = theta[..., 1], theta[..., 2]
        return narrow_basin(theta[..., :1]) + 40 * np.square(integer - 2) + 100 * fixed

    memory = probed(method, loss, 4000)
    assert memory["first"][0] > 2
    estimate = method.estimate(memory)
    assert estimate[0] == pytest.approx(50, abs=0.5)
    assert estimate[1] > 1
    assert estimate[2] < 0.2
