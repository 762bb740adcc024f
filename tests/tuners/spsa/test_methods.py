"""The methods with gain sequences: the contract, and what their step is."""

from __future__ import annotations

import numpy as np
import pytest

from ringmaster.tuners.spsa import GainMethod
from tests.contracts.tuner_contract import Make, TunerContract
from tests.tuners.spsa.spaces import GAIN_METHODS, classic, constant, space_of, step_of


class TestGainMethods(TunerContract):
    @pytest.fixture(params=sorted(GAIN_METHODS))
    def make(self, request: pytest.FixtureRequest) -> Make:
        return GAIN_METHODS[request.param]


@pytest.fixture(params=sorted(GAIN_METHODS))
def method(request: pytest.FixtureRequest) -> GainMethod:
    return GAIN_METHODS[request.param](space_of((50, 0, 100), (0, -1, 1)))


def test_step_is_r_times_the_difference_times_the_result(method: GainMethod) -> None:
    delta = np.array([1.0, -1.0])
    for k, result in ((3, 1.0), (40, -2.0)):
        expected = method.gains.R(k) * method.gains.c(k) * delta * result
        assert step_of(method, k, delta, result) == pytest.approx(expected, rel=1e-12)


def test_draw_moves_nothing(method: GainMethod) -> None:
    assert step_of(method, 3, np.array([1.0, -1.0]), 0.0).tolist() == [0, 0]


def test_result_is_a_sum_and_is_not_divided_by_the_games(method: GainMethod) -> None:
    delta = np.array([1.0, 1.0])
    one, eight = step_of(method, 5, delta, 1.0), step_of(method, 5, delta, 8.0)
    assert eight == pytest.approx(8 * one, rel=1e-9)


def test_clipped_side_counts_only_for_what_it_moved() -> None:
    space = space_of((0, 0, 100))
    delta = np.ones(1)
    realised = step_of(constant(space), 1, delta, 1.0)
    nominal = step_of(GainMethod(space, constant(space).gains, nominal=True), 1, delta, 1.0)
    assert realised == pytest.approx(nominal / 2)


def test_rounding_counts_as_it_came_out() -> None:
    """c = 0.7 about 5 with u = ½: 6 against 4, a difference of 1 to each side."""
    space = space_of((5, 0, 14, True))
    method = classic(space, N=1, c=0.05)
    assert method.c(1) == pytest.approx([0.7])
    assert step_of(method, 1, np.ones(1), 1.0) == pytest.approx(method.gains.R(1) * 1.0)


def test_step_beyond_a_bound_ends_at_it() -> None:
    space = space_of((99, 0, 100))
    method = classic(space, r=1000.0)
    assert step_of(method, 1, np.ones(1), 2.0) == pytest.approx([1.0])


def test_gain_methods_know_nothing_that_the_regression_does_not(method: GainMethod) -> None:
    memory = method.start()
    assert method.estimate(memory) is None
    assert method.intervals(memory) is None
    assert method.shift(memory) is None
    assert method.steady(memory) == 1
