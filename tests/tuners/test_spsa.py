"""The SPSA tuner against a plain restatement of its formulas."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.spsa import Classic, GainMethod, Space, Spsa

FLOAT = TunedParameter("f", 50.0, 0.0, 100.0, c_end=4.0, r_end=0.002)
INTEGER = TunedParameter("i", 50.0, 0.0, 100.0, c_end=4.0, r_end=0.002, integer=True)


def test_schedule_ends_at_c_end_and_r_end() -> None:
    schedule = Schedule(FLOAT, 1000, 0.602, 0.101, 100.0)
    assert schedule.c(1000) == pytest.approx(4.0)
    assert schedule.R(1000) == pytest.approx(0.002)
    assert schedule.a(1000) == pytest.approx(0.002 * 16)


@given(
    k=st.integers(1, 5000),
    c_end=st.floats(0.01, 100),
    r_end=st.floats(1e-5, 1),
    alpha=st.floats(0, 1),
    gamma=st.floats(0, 1),
    A=st.floats(0, 1000),
)
def test_schedule_is_the_published_one(
    k: int, c_end: float, r_end: float, alpha: float, gamma: float, A: float
) -> None:
    n = 5000
    parameter = TunedParameter("p", 0, -1e9, 1e9, c_end, r_end)
    schedule = Schedule(parameter, n, alpha, gamma, A)
    c0 = c_end * n**gamma
    a0 = r_end * c_end**2 * (A + n) ** alpha
    assert schedule.c(k) == pytest.approx(c0 / k**gamma, rel=1e-12)
    assert schedule.a(k) == pytest.approx(a0 / (A + k) ** alpha, rel=1e-12)
    assert schedule.R(k) == pytest.approx(schedule.a(k) / schedule.c(k) ** 2, rel=1e-12)


def test_default_stability_constant_is_a_tenth_of_the_iterations() -> None:
    assert Spsa([FLOAT], 500).schedules[0].A == 50


def test_integer_perturbation_is_at_least_a_half_and_r_uses_it() -> None:
    parameter = TunedParameter("i", 5, 0, 10, c_end=0.1, r_end=0.002, integer=True)
    schedule = Schedule(parameter, 100, 0.602, 0.101, 10)
    assert schedule.c(100) == 0.5
    assert schedule.R(100) == pytest.approx(0.002 * 0.01 / 0.25)


def test_perturbation_depends_on_seed_and_number_alone() -> None:
    one, other = Spsa([FLOAT, INTEGER], 100, seed=7), Spsa([FLOAT, INTEGER], 100, seed=7)
    for k in (3, 1, 2):
        other.ask(k)
    assert one.ask(5) == other.ask(5)
    assert {Spsa([FLOAT] * 8, 100, seed=s).ask(5).delta for s in range(4)} != {one.ask(5).delta}


def test_deltas_are_plus_or_minus_one_about_equally_often() -> None:
    tuner = Spsa([FLOAT] * 4, 2000, seed=1)
    deltas = [d for k in range(1, 2001) for d in tuner.ask(k).delta]
    assert set(deltas) == {1, -1}
    assert abs(sum(deltas)) < 5 * math.sqrt(len(deltas))


@settings(max_examples=300)
@given(theta=st.floats(-50, 50), k=st.integers(1, 1000), c_end=st.floats(0.01, 20))
def test_integer_sides_differ_in_the_direction_of_delta(theta: float, k: int, c_end: float) -> None:
    parameter = TunedParameter("i", 0, -100, 100, c_end, 0.002, integer=True)
    tuner = Spsa([parameter], 1000, seed=3)
    asked = tuner.perturbation(k, [theta])
    plus, minus = asked.plus[0], asked.minus[0]
    assert isinstance(plus, int)
    assert isinstance(minus, int)
    width = 2 * tuner.schedules[0].c(k)
    # rounding neither hides nor reverses the perturbation
    assert math.floor(width) <= (plus - minus) * asked.delta[0] <= math.ceil(width)
    assert (plus - minus) * asked.delta[0] >= 1


def test_rounding_is_unbiased_for_negative_values_too() -> None:
    parameter = TunedParameter("i", -5.3, -100, 100, 0.5, 0.002, integer=True)
    tuner = Spsa([parameter], 10**6, gamma=0.0, seed=11)
    asked = [tuner.perturbation(k, [-5.3]) for k in range(1, 4001)]
    mean = sum(a.plus[0] + a.minus[0] for a in asked) / (2 * len(asked))
    assert mean == pytest.approx(-5.3, abs=0.05)


def test_values_stay_within_bounds() -> None:
    parameter = TunedParameter("i", 1, 0, 3, c_end=1.5, r_end=0.5, integer=True)
    tuner = Spsa([parameter], 50, seed=2)
    for k in range(1, 51):
        asked = tuner.ask(k)
        assert {*asked.plus, *asked.minus} <= {0, 1, 2, 3}
        tuner.tell(k, asked.differences(), 2)
        assert 0 <= tuner.theta[0] <= 3


@pytest.mark.parametrize("theta", [0.0, 10.0])
def test_sides_differ_at_a_bound_too(theta: float) -> None:
    parameter = TunedParameter("i", theta, 0, 10, c_end=0.5, r_end=0.002, integer=True)
    tuner = Spsa([parameter], 1000, gamma=0.0)
    for k in range(1, 200):
        asked = tuner.perturbation(k, [theta])
        assert (asked.plus[0] - asked.minus[0]) * asked.delta[0] == 1
        assert {*asked.plus, *asked.minus} <= set(range(11))


def test_step_is_r_times_the_difference_that_was_played_times_the_result() -> None:
    tuner = Spsa([FLOAT], 100, seed=5)
    asked = tuner.ask(10)
    tuner.tell(10, asked.differences(), 2)
    schedule = tuner.schedules[0]
    expected = 50 + schedule.R(10) * schedule.c(10) * asked.delta[0] * 2
    assert tuner.theta == [pytest.approx(expected, rel=1e-12)]


def test_clipped_side_counts_only_for_what_it_moved() -> None:
    parameter = TunedParameter("f", 0.0, 0.0, 100.0, c_end=4.0, r_end=0.002)
    tuner = Spsa([parameter], 100, gamma=0.0)
    (difference,) = tuner.ask(1).differences()
    assert abs(difference) == pytest.approx(2.0)


def test_draw_moves_nothing() -> None:
    tuner = Spsa([FLOAT], 100)
    tuner.tell(1, tuner.ask(1).differences(), 0)
    assert tuner.theta == [50.0]


def test_final_values_are_rounded_half_up() -> None:
    tuner = Spsa([INTEGER, FLOAT], 10)
    tuner.theta = [-5.5, 1.25]
    assert tuner.values() == (-5, 1.25)


def test_realised_differences_are_halved() -> None:
    assert realised_differences([3, 1.0], [1, 2.0]) == (1.0, -0.5)


def test_tune_of_a_quadratic_finds_its_optimum() -> None:
    """Elo loss e·((x−70)/100)² per side, coin-flip games decided by counter
    bits.  With r = 0.005 the last iterate strays about 2.4 from the optimum
    (expected loss C·n·r/8 = 0.22 Elo); three times that is allowed."""
    from ringmaster.model.randomness import uniform, words

    parameter = TunedParameter("x", 20.0, 0.0, 100.0, c_end=15.0, r_end=0.005)
    tuner = Spsa([parameter], 4000, seed=1)
    for k in range(1, 4001):
        asked = tuner.ask(k)
        elo = [-400 * ((side[0] - 70) / 100) ** 2 for side in (asked.plus, asked.minus)]
        win = 1 / (1 + 10 ** (-(elo[0] - elo[1]) / 400))
        result = sum(1 if uniform(w) < win else -1 for w in words(9, 99, k, 2))
        tuner.tell(k, asked.differences(), result)
    assert tuner.theta[0] == pytest.approx(70, abs=7.2)
