"""Simulated tunes: the same steps as the tuner of real games makes."""

from __future__ import annotations

import numpy as np
import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.simulation import (
    GROUP,
    FixedDraws,
    GameOutcomes,
    Shaped,
    SimulatedPlayers,
    SimulatedTune,
    _score,
    simulate,
)
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.course import Averages
from ringmaster.tuners.spsa.method import Classic, GainMethod, Method
from ringmaster.tuners.spsa.perturbation import Counting, sides

N = 200


def space(integer: bool = False) -> Space:
    return Space(
        np.array([150.0, 40.0]), np.zeros(2), np.full(2, 200.0), np.array([integer, False])
    )


def classic(ranges: Space) -> Method:
    full = np.ones(2)
    return GainMethod(ranges, Classic(20 * full, 0.05 * full, N, 0.602, 0.101, 20, ranges.least_c))


def players(**kw: object) -> SimulatedPlayers:
    full = np.full(2, 100.0)
    return SimulatedPlayers(Shaped(full, np.array([8.0, 30.0]), full), FixedDraws(0.3), **kw)  # type: ignore[arg-type]


@pytest.mark.parametrize("in_flight", [1, 3])
@pytest.mark.parametrize("method", [classic, Adaptive])
@pytest.mark.parametrize("integer", [False, True])
def test_each_replicate_equals_a_plain_restatement(
    in_flight: int, method: type[Adaptive], integer: bool
) -> None:
    """Restated for one replicate, an iteration at a time."""
    ranges = space(integer)
    course = simulate(
        SimulatedTune(method(ranges), N, Counting(), in_flight=in_flight), players(), 4, seed=5
    )
    drawn = GameOutcomes(
        5,
        4,
        parameters=2,
        games=2,
        draws=FixedDraws(0.3),
        rounded=integer,
        shifted=method is Adaptive,
    ).draw(N)
    elo, one = players().elo, method(ranges)
    memory = one.start()
    averages = Averages(ranges.start)
    playing = []
    for k in range(1, N + 1):
        at = (k - 1, 3)
        theta, c = one.centre(memory), one.c(k, memory)
        middle, c = one.place(
            np.array([float(k)]), memory, theta, c, drawn.delta[at], drawn.signs[at]
        )
        plus, minus = (
            side.reshape(-1)
            for side in sides(ranges, middle, c, drawn.delta[at], drawn.u[at], "stochastic")
        )
        result = _score(elo.loss(minus) - elo.loss(plus), drawn.won[at], drawn.lost[at])
        playing.append((k, plus, minus, drawn.delta[at], result))
        while len(playing) >= in_flight or (k == N and playing):
            before = one.centre(memory)
            one.learn(memory, *playing.pop(0), 2)
            averages.add(one.centre(memory), one.centre(memory) - before)
    assert course.last[-1, 3] == pytest.approx(float(elo.loss(one.centre(memory))), rel=1e-9)
    assert course.mean[-1, 3] == pytest.approx(float(elo.loss(averages.mean())), rel=1e-9)


def test_more_replicates_leave_the_others_as_they_are() -> None:
    tune = SimulatedTune(classic(space()), N, Counting())
    one = SimulatedPlayers(players().elo, FixedDraws(0.3), 50.0, random_optimum=True)
    few, many = (
        simulate(tune, one, count, seed=3, points=(0.5, 1.0)) for count in (GROUP + 5, 3 * GROUP)
    )
    for name in ("start", "last", "mean", "estimate", "values", "optimum"):
        axis = 1 if name in ("last", "mean", "estimate") else 0
        first = np.take(getattr(many, name), range(GROUP + 5), axis=axis)
        np.testing.assert_allclose(first, getattr(few, name), rtol=1e-12)


def test_random_optima_are_values_within_the_bounds() -> None:
    scales = (
        TunedParameter("a", 10, 1, 10_000, scale="log"),
        TunedParameter("b", 10, 5, 20),
    )
    model = Shaped.of(scales, np.full(2, 8.0), "log")
    tune = SimulatedTune(Adaptive(Space.of(scales)), 2, Counting())
    course = simulate(tune, SimulatedPlayers(model, FixedDraws(0.3), random_optimum=True), 400)
    assert course.optimum.shape == (400, 2)
    assert np.all((course.optimum >= [1, 5]) & (course.optimum <= [10_000, 20]))
    # half of the logarithms, and half of the values
    assert np.median(course.optimum, axis=0) == pytest.approx([100, 12.5], rel=0.3)
    # a: decades from 0 to 4, started at 1, half a range is 2; b: doublings, half a range is 1
    decades, values = np.linspace(0, 4, 1000), np.linspace(5, 20, 1000)
    expected = 8 * np.mean(((decades - 1) / 2) ** 2) + 8 * np.mean(np.log2(values / 10) ** 2)
    assert course.start.mean() == pytest.approx(expected, rel=0.1)


def test_completed_share_is_reported_to_the_end() -> None:
    shares: list[float] = []
    tune = SimulatedTune(classic(space()), 3000, Counting())
    simulate(tune, players(), 100, progress=shares.append)
    assert shares == sorted(shares)
    assert len(shares) > 2
    assert 0 < shares[0] < shares[-1] == 1


def test_tune_with_all_iterations_in_progress_learns_at_the_end_only() -> None:
    ranges = space()
    tune = SimulatedTune(classic(ranges), 20, Counting(), in_flight=1000)
    course = simulate(tune, players(), 2, points=(0.05, 1.0))
    assert (course.last[0] != course.last[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", [classic, Adaptive])
def test_games_against_a_reference_give_half_the_gain(method: type[Adaptive]) -> None:
    tune = SimulatedTune(method(space()), 2000, Counting(), pairing="reference")
    course = simulate(tune, players(), 40, seed=2)
    gained = (course.start - course.estimate[-1]).mean()
    own = simulate(SimulatedTune(method(space()), 2000, Counting()), players(), 40, seed=2)
    assert 0 < gained < (own.start - own.estimate[-1]).mean()


def test_estimate_rule_selects_the_estimate() -> None:
    ranges = space()
    for rule, name in (("last", "last"), ("mean", "mean")):
        tune = SimulatedTune(classic(ranges), N, Counting(), estimate_rule=rule)  # type: ignore[arg-type]
        course = simulate(tune, players(), 3)
        np.testing.assert_allclose(course.estimate, getattr(course, name))
