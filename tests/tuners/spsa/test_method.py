"""Gain sequences, and the methods that use them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ringmaster.tuners.spsa.method import Annealing, Classic, GainMethod, autoselect
from ringmaster.tuners.spsa.perturbation import Counting
from ringmaster.tuners.spsa.regression import C
from tests.contracts.tuner_contract import Make, TunerContract
from tests.tuners.spsa.spaces import GAIN_METHODS, MIXED, classic, constant, space_of, step_of

ONE = np.ones(1)


def classic_gains(N: float = 1000, **changes: float) -> Classic:
    values = {"c": 4.0, "r": 0.002, "alpha": 0.602, "gamma": 0.101, "A": 100.0, "least": 0.0}
    values |= changes
    return Classic(
        ONE * values["c"],
        ONE * values["r"],
        N,
        values["alpha"],
        values["gamma"],
        values["A"],
        ONE * values["least"],
    )


def test_schedule_ends_at_c_end_and_r_end() -> None:
    assert classic_gains().c(1000)[0] == pytest.approx(4.0, rel=1e-15)
    assert classic_gains().R(1000)[0] == pytest.approx(0.002, rel=1e-15)


def test_perturbation_at_its_floor_lowers_r() -> None:
    gains = classic_gains(100, c=0.1, A=10, least=0.5)
    assert gains.c(100)[0] == 0.5
    assert gains.R(100)[0] == pytest.approx(0.002 * 0.01 / 0.25)


def test_schedule_of_a_tiny_perturbation_keeps_its_r() -> None:
    assert classic_gains(c=1e-200).R(1000)[0] == pytest.approx(0.002)


def test_schedule_continues_beyond_its_end() -> None:
    gains = classic_gains()
    assert 0 < gains.c(2000)[0] < gains.c(1000)[0]
    assert 0 < gains.R(4000)[0] < gains.R(1000)[0]


def test_annealing_is_exponential_and_then_constant() -> None:
    annealing = Annealing(16, 100)
    assert [annealing.at(games) for games in (0, 25, 50, 100, 1000)] == pytest.approx(
        [16, 8, 4, 1, 1]
    )
    assert Annealing().at(0) == 1


def test_autoselect_equals_fishtest() -> None:
    """n = 4: χ²₀.₉₅ = 9.487729 (any table)."""
    selected = autoselect(space_of(*[(170, 0, 200)] * 4))
    r = 8 * 0.5 / (800 / math.log(10) * 9.487729 * 0.39)
    assert selected.c == pytest.approx(200 / 6)
    assert selected.r == pytest.approx(r, rel=1e-6)
    # the reference has .0031 for this
    assert selected.r[0] == pytest.approx(0.0031, abs=5e-5)
    curvature = 2 * 2 / 100**2
    expected = C / (2 * r * (200 / 6) ** 2 * curvature)
    assert selected.lambdas == pytest.approx(expected, rel=1e-6)
    assert selected.games == math.ceil(3 * selected.lambdas[0] / 2) * 2
    assert selected.gains.c(1) == pytest.approx(selected.gains.c(10**6))


def test_autoselect_gives_narrow_integers_a_perturbation_that_can_be_played() -> None:
    selected = autoselect(space_of((1, 0, 2, True), (1, 0, 2)))
    assert selected.c == pytest.approx([0.5, 1 / 3])


def test_autoselect_needs_fewer_games_for_parameters_that_matter_more() -> None:
    few, many = (autoselect(MIXED, elo_per_parameter=elo).games for elo in (8.0, 2.0))
    assert many == pytest.approx(4 * few, rel=1e-3)


@pytest.mark.parametrize(
    ("counts", "first", "third", "length"),
    [("iterations", 1, 3, 100), ("pairs", 1, 9, 400), ("games", 8, 24, 800)],
)
def test_k_counts_iterations_pairs_or_games(
    counts: str, first: int, third: int, length: int
) -> None:
    counting = Counting(counts, 8)  # type: ignore[arg-type]
    assert (counting.k(1), counting.k(3), counting.length(100)) == (first, third, length)


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


def test_result_is_a_sum_and_is_not_divided_by_the_games(method: GainMethod) -> None:
    delta = np.array([1.0, 1.0])
    one, eight = step_of(method, 5, delta, 1.0), step_of(method, 5, delta, 8.0)
    assert eight == pytest.approx(8 * one, rel=1e-9)


def test_clipped_side_counts_by_its_played_difference() -> None:
    space = space_of((0, 0, 100))
    delta = np.ones(1)
    realised = step_of(constant(space), 1, delta, 1.0)
    nominal = step_of(GainMethod(space, constant(space).gains, nominal=True), 1, delta, 1.0)
    assert realised == pytest.approx(nominal / 2)


def test_rounded_difference_counts_as_played() -> None:
    """c = 0.7 about 5 with u = ½: 6 against 4, a difference of 1 to each side."""
    space = space_of((5, 0, 14, True))
    method = classic(space, N=1, c=0.05)
    assert method.c(1) == pytest.approx([0.7])
    assert step_of(method, 1, np.ones(1), 1.0) == pytest.approx(method.gains.R(1) * 1.0)


def test_step_beyond_a_bound_ends_at_it() -> None:
    space = space_of((99, 0, 100))
    method = classic(space, r=1000.0)
    assert step_of(method, 1, np.ones(1), 2.0) == pytest.approx([1.0])
