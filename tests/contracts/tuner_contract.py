"""Test the contract of every method of the SPSA tuner.

Subclass `TunerContract` in a test module, with a `make` fixture: a function from a space to a
method.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import numpy as np
import pytest

from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.method import Method
from ringmaster.tuners.spsa.perturbation import draw, sides
from ringmaster.tuners.spsa.regression import Regression
from ringmaster.tuners.spsa.tuner import Spsa
from tests.tuners.spsa.spaces import MIXED, space_of

Make = Callable[[Space], Method]
#: k, θ⁺, θ⁻, δ, W−L.
Iteration = tuple[int, Array, Array, Array, Array]


def scores(iteration: int, plus: Array, minus: Array, space: Space) -> Array:
    """Return W−L of a pair, (…): the optimum is at four fifths of the ranges."""
    best = space.minimum + 0.8 * space.width
    loss = [np.square((side - best) / space.width).sum(axis=-1) for side in (plus, minus)]
    luck = random.Random(iteration).gauss(0, 1)
    return np.clip(np.round(2 * (loss[1] - loss[0]) + luck), -2, 2)


def play(tuner: Spsa, first: int, last: int) -> None:
    for iteration in range(first, last + 1):
        pair = tuner.ask(iteration)
        result = scores(iteration, pair.plus, pair.minus, tuner.space)
        tuner.tell(iteration, pair.plus, pair.minus, float(result))


def iterations_at_start(method: Method, count: int) -> list[Iteration]:
    """Return iterations that were all issued before the first result."""
    space, iterations = method.space, []
    for k in range(1, count + 1):
        delta, u = draw(3, k, len(space))
        plus, minus = sides(space, space.start, method.c(k), delta, u, "stochastic")
        iterations.append((k, plus, minus, delta, scores(k, plus, minus, space)))
    return iterations


class TunerContract:
    def test_tune_begins_at_its_start(self, make: Make) -> None:
        method = make(MIXED)
        assert method.centre(method.start()) == pytest.approx(MIXED.start, abs=1e-12)
        assert Spsa(method).estimate() == pytest.approx(MIXED.start, abs=1e-12)

    def test_perturbations_are_positive_and_can_be_played(self, make: Make) -> None:
        method = make(MIXED)
        for k in (1, 10, 1000, 10**6):
            assert np.all(method.c(k) > 0)
            assert method.c(k)[1] >= 0.5
            assert np.all(np.isfinite(method.c(k)))

    def test_draws_alone_hardly_move_theta(self, make: Make) -> None:
        """Draws suggest that the present values are the optimum."""
        tuner = Spsa(make(MIXED))
        for k in range(1, 30):
            pair = tuner.ask(k)
            tuner.tell(k, pair.plus, pair.minus, 0.0)
            assert np.all(np.abs(tuner.theta - MIXED.start) < 0.1 * MIXED.width)

    def test_theta_and_sides_stay_within_the_bounds(self, make: Make) -> None:
        method = make(MIXED)
        tuner = Spsa(method)
        for k in range(1, 400):
            pair = tuner.ask(k)
            for values in (pair.plus, pair.minus, tuner.theta, tuner.estimate()):
                assert np.all(values >= MIXED.minimum)
                assert np.all(values <= MIXED.maximum)
            assert pair.plus[1].is_integer()
            assert pair.minus[1].is_integer()
            tuner.tell(k, pair.plus, pair.minus, 2.0 * pair.delta[0])

    def test_simultaneous_tunes_equal_single_tunes(self, make: Make) -> None:
        method, count = make(MIXED), 150
        alone = [method.start() for _ in range(3)]
        together = method.start((3,))
        for k in range(1, count + 1):
            drawn = [draw(seed, k, len(MIXED)) for seed in range(3)]
            delta, u = (np.stack(each) for each in zip(*drawn, strict=True))
            plus, minus = sides(
                MIXED, method.centre(together), method.c(k, together), delta, u, "stochastic"
            )
            result = scores(k, plus, minus, MIXED)
            method.learn(together, k, plus, minus, delta, result, 2)
            for i, memory in enumerate(alone):
                method.learn(memory, k, plus[i], minus[i], delta[i], result[i], 2)
        for i, memory in enumerate(alone):
            assert memory.keys() == together.keys()
            for name, array in memory.items():
                assert together[name][i] == pytest.approx(array, rel=1e-9, abs=1e-12), name
            one, together_all = method.estimate(memory), method.estimate(together)
            assert (one is None) == (together_all is None)
            if one is not None and together_all is not None:
                assert together_all[i] == pytest.approx(one, rel=1e-9)

    @pytest.mark.parametrize("halted", [0, 1, 7, 130, 300])
    def test_interrupted_tune_equals_an_uninterrupted_one(self, make: Make, halted: int) -> None:
        whole, first = Spsa(make(MIXED), seed=4), Spsa(make(MIXED), seed=4)
        play(whole, 1, 301)
        play(first, 1, halted)
        later = Spsa(make(MIXED), seed=4)
        later.restore(json.loads(json.dumps(first.state())))
        play(later, halted + 1, 301)
        assert json.dumps(later.state()) == json.dumps(whole.state())
        assert later.estimate().tolist() == whole.estimate().tolist()
        assert later.findings() == whole.findings()

    def test_order_of_results_makes_no_difference(self, make: Make) -> None:
        """Iterations issued together; sums differ by rounding.

        No bound is reached, since clipping a step depends on the order.
        """
        space = space_of((50, 0, 1000), (500, 0, 1000))
        method = make(space)
        iterations = [
            (k, plus, minus, delta, result / 100)
            for k, plus, minus, delta, result in iterations_at_start(method, 60)
        ]
        shuffled = random.Random(1).sample(iterations, len(iterations))
        memories, regressions = [], []
        for order in (iterations, shuffled):
            memory, regression = method.start(), Regression(space)
            for k, plus, minus, delta, result in order:
                method.learn(memory, k, plus, minus, delta, result, 2)
                regression.add(plus, minus, float(result), 2)
            memories.append(memory)
            regressions.append(regression)
        for name, array in memories[0].items():
            assert memories[1][name] == pytest.approx(array, rel=1e-9, abs=1e-9), name
        assert regressions[0].lines().a == pytest.approx(regressions[1].lines().a, rel=1e-9)

    def test_theta_and_c_are_constant_for_steady_iterations(self, make: Make) -> None:
        method = make(MIXED)
        memory = method.start()
        remaining, before = method.steady(memory), None
        for k, plus, minus, delta, result in iterations_at_start(method, 700):
            if before is not None and remaining > 0:
                assert method.centre(memory).tolist() == before
            before = None
            if remaining == 0:
                remaining = method.steady(memory)
                assert remaining >= 1
            if remaining > 1:
                before = method.centre(memory).tolist()
            method.learn(memory, k, plus, minus, delta, result, 2)
            remaining -= 1

    def test_unplayed_parameter_learns_nothing(self, make: Make) -> None:
        """δ is 0, and both sides are θ."""
        method = make(MIXED)
        memory = method.start()
        delta, u = draw(1, 1, 3)
        plus, minus = sides(MIXED, MIXED.start, method.c(1), delta, u, "stochastic")
        delta, plus, minus = (
            np.where([True, True, False], values, instead)
            for values, instead in ((delta, 0.0), (plus, MIXED.start), (minus, MIXED.start))
        )
        for k in (k for k in range(1, 17) if not method.is_probe(k)):
            method.learn(memory, k, plus, minus, delta, np.asarray(0.2), 2)
        assert method.centre(memory)[2] == pytest.approx(MIXED.start[2], abs=1e-12)
        unplayed = method.start()
        assert any(not np.array_equal(memory[name], unplayed[name]) for name in unplayed)

    def test_tune_finds_an_optimum(self, make: Make) -> None:
        """The ends differ by 500 Elo and no game is drawn: every method approaches the optimum."""
        space = space_of((30, 0, 100), (-0.5, -1, 1))
        method, best = make(space), np.array([60.0, 0.2])
        memory, shape = method.start((20,)), (20, 2)
        rng = np.random.default_rng(5)

        def loss(theta: Array) -> Array:
            return np.asarray((500 * np.square((theta - best) / space.width)).sum(axis=-1))

        for k in range(1, 2001):
            delta = rng.choice([-1.0, 1.0], shape)
            theta = method.centre(memory)
            c = method.c(k, memory)
            plus, minus = sides(space, theta, c, delta, delta, "stochastic")
            win = 1 / (1 + 10 ** ((loss(plus) - loss(minus)) / 400))
            result = (2.0 * (rng.random((2, 20)) < win) - 1).sum(axis=0)
            method.learn(memory, k, plus, minus, delta, result, 2)
        at_end = method.estimate(memory)
        final_loss = loss(method.centre(memory) if at_end is None else at_end)
        assert np.mean(final_loss) < 0.4 * loss(space.start)
