"""Simulated tunes: the same steps as the tuner of real games makes."""

from __future__ import annotations

import numpy as np
import pytest

from ringmaster.tuners.simulation import (
    GROUP,
    FixedDraws,
    GameOutcomes,
    Shaped,
    SimulatedPlayers,
    SimulatedTune,
    _score,
    join,
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
        0,
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


def test_replicates_are_the_same_in_one_part_or_in_two() -> None:
    tune = SimulatedTune(classic(space()), N, Counting())
    one = SimulatedPlayers(players().elo, FixedDraws(0.3), 50.0, random_optimum=True)
    whole = simulate(tune, one, 2 * GROUP + 5, seed=3, points=(0.5, 1.0))
    parts = [
        simulate(tune, one, count, seed=3, first=first, points=(0.5, 1.0))
        for first, count in ((0, GROUP), (GROUP, GROUP + 5))
    ]
    both = join(parts)
    for name in ("start", "last", "mean", "estimate", "values", "optimum"):
        np.testing.assert_allclose(getattr(whole, name), getattr(both, name), rtol=1e-12)


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
