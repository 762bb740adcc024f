"""SPSA tunes that continue with other parameters, bounds or methods."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import Classic, GainMethod, Method
from ringmaster.tuners.spsa.perturbation import Counting
from ringmaster.tuners.spsa.tuner import Spsa


def space(*bounds: tuple[float, float, float]) -> Space:
    """A space of (minimum, start, maximum)."""
    low, start, high = (np.array(column, dtype=np.float64) for column in zip(*bounds, strict=True))
    return Space(start, low, high, np.zeros(len(bounds), dtype=np.bool_))


A, B, C = (0, 50, 100), (-10, 0, 30), (1000, 1500, 3000)


def classic(where: Space, N: float = 1000) -> GainMethod:
    n = len(where)
    gains = Classic(where.width / 20, np.full(n, 0.05), N, 0.602, 0.101, 0.1 * N, np.zeros(n))
    return GainMethod(where, gains)


def play(tune: Spsa, first: int, last: int) -> None:
    """Tell iterations with results by played values; the optima are near the upper bounds."""
    for iteration in range(first, last + 1):
        perturbation = tune.ask(iteration)
        best = np.array([90, 25, 2800])[tune.random_index]
        width = np.array([100, 40, 2000])[tune.random_index]
        loss = [
            np.square((side - best) / width) for side in (perturbation.plus, perturbation.minus)
        ]
        gain = float(np.sort(loss[1] - loss[0]).sum())
        luck = random.Random(iteration).gauss(0, 0.4)
        tune.tell(
            iteration,
            perturbation.plus,
            perturbation.minus,
            float(np.clip(round(8 * gain + luck), -2, 2)),
        )


def state(tune: Spsa) -> Any:
    return json.loads(json.dumps(tune.state()))


@pytest.mark.parametrize("method", [classic, Adaptive])
def test_unchanged_tune_continues_exactly(method: Any) -> None:
    whole, tune = Spsa(method(space(A, B))), Spsa(method(space(A, B)))
    play(whole, 1, 200)
    play(tune, 1, 90)
    later = Spsa(method(space(A, B)))
    later.resume(tune, [0, 1], same_method=True)
    assert state(later) == state(tune)
    play(later, 91, 200)
    assert state(later) == state(whole)


def test_continuing_does_not_change_the_earlier_tune() -> None:
    tune = Spsa(Adaptive(space(A, B)))
    play(tune, 1, 90)
    before = state(tune)
    later = Spsa(Adaptive(space(A, B)))
    later.resume(tune, [0, 1], same_method=True)
    play(later, 91, 200)
    assert state(tune) == before


def test_perturbation_of_a_parameter_does_not_depend_on_the_others() -> None:
    three = Spsa(classic(space(A, B, C)))
    two = Spsa(classic(space(C, A)), random_index=[2, 0])
    for iteration in range(1, 40):
        assert three.ask(iteration).delta[[2, 0]].tolist() == two.ask(iteration).delta.tolist()


def test_iteration_without_a_parameter_teaches_it_nothing() -> None:
    where = space(A, B)
    for method in (classic(where), Adaptive(where), GainMethod(where, classic(where).gains, True)):
        tune = Spsa(method)
        play(tune, 1, 10)
        before, sums = tune.theta.copy(), tune.regression.column(1)
        tune.tell(11, [60, np.nan], [40, np.nan], 2)
        assert tune.regression.column(1) == sums
        if isinstance(method, GainMethod):
            assert tune.theta[1] == before[1]
            assert tune.theta[0] > before[0]


def test_adaptive_method_rebuilds_its_memory_from_the_regression() -> None:
    where = space(A, B)
    own_c = where.width / 50
    tune = Spsa(Adaptive(where, own_c))
    play(tune, 1, 64)
    memory = tune.method.resume(tune.theta, tune.regression, 64)
    before = tune.memory["sums"].sum(axis=0)[:5]
    assert memory["sums"].sum(axis=0)[:5] == pytest.approx(before, rel=1e-9)
    for name in ("totals", "theta", "c", "shift"):
        assert memory[name] == pytest.approx(tune.memory[name], rel=1e-9), name
    # in other units, too
    wider = Adaptive(space((-100, 50, 300), B))
    sums = wider.resume(tune.theta, tune.regression, 64)["sums"].sum(axis=0)[:5]
    assert sums[:, 1] == pytest.approx(before[:, 1])
    scale = 200 / 50
    powers = [2, 3, 4, 1, 2]
    assert sums[:, 0] * scale ** np.array(powers, dtype=np.float64) == pytest.approx(before[:, 0])


def test_adaptive_method_estimates_much_the_same_from_results_of_clipped_perturbations() -> None:
    where = space(A, B)
    tune = Spsa(Adaptive(where))
    play(tune, 1, 256)
    method = tune.method
    memory = method.resume(tune.theta, tune.regression, 256)
    assert method.estimate(memory) == pytest.approx(tune.theta)
    resumed, own = (
        where.clip(where.start + method.posterior(each).x * where.width / 2)
        for each in (memory, tune.memory)
    )
    assert np.all(np.abs(resumed - own) < 0.1 * where.width)
    assert own[1] > where.start[1]


@pytest.mark.parametrize("method", [classic, Adaptive])
def test_results_counted_from_another_start_give_the_same_fit(method: Any) -> None:
    tune = Spsa(method(space(A, B)))
    play(tune, 1, 1000)
    moved = Spsa(method(space((0, 80, 100), B)))
    for i in (0, 1):
        moved.regression.set_column(i, tune.regression.column(i))
    moved.regression.games = tune.regression.games
    moved.regression.squares = tune.regression.squares
    one, other = tune.regression.fits()[0], moved.regression.fits()[0]
    assert other.slope == pytest.approx(one.slope)
    assert (other.optimum, other.low, other.high) == pytest.approx(
        (one.optimum, one.low, one.high), rel=1e-6
    )


EARLIER = st.lists(
    st.tuples(st.integers(1, 30), st.integers(1, 4).map(lambda n: 2 * n)), max_size=4
).map(tuple)


@given(earlier=EARLIER, size=st.sampled_from([2, 4, 10]), game=st.integers(0, 600))
def test_every_game_belongs_to_one_iteration(earlier: Any, size: int, game: int) -> None:
    counting = Counting("games", size, earlier)
    iteration = counting.iterations(game) + 1
    assert counting.games_before(iteration) <= game < counting.games_before(iteration + 1)
    assert counting.k(iteration) == counting.games_before(iteration + 1)


def test_counting_continues_when_iterations_become_larger() -> None:
    counting = Counting("pairs", 6, ((10, 2),))
    assert [counting.k(i) for i in (1, 10, 11, 12)] == [1, 10, 11, 14]
    assert counting.length(12) == 16
    assert Counting("iterations", 6, ((10, 2),)).length(12) == 12


def test_methods_that_resume_stay_within_the_bounds() -> None:
    tune = Spsa(Adaptive(space(A, B)))
    play(tune, 1, 400)
    methods: list[Method] = [Adaptive(space((0, 1, 2), B)), classic(space((0, 1, 2), B))]
    for method in methods:
        later = Spsa(method)
        later.resume(tune, [0, 1], same_method=False)
        assert 0 <= later.theta[0] <= 2
