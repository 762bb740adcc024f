"""Scales at their ends, in between, and where halves are rounded."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.scales import Explicit, Linear, Log, rounded

UNIT = st.floats(0, 1)
BOUND = st.floats(-1e6, 1e6)


@given(BOUND, BOUND)
def test_linear_scale_goes_from_bound_to_bound(low: float, high: float) -> None:
    scale = Linear(low, high)
    near = 1e-12 * (abs(low) + abs(high))
    assert scale(0.0) == pytest.approx(low, abs=near)
    assert scale(1.0) == pytest.approx(high, abs=near)
    assert scale(0.5) == pytest.approx((low + high) / 2, abs=near)


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), UNIT)
def test_equal_steps_of_a_log_scale_are_equal_factors(low: float, high: float, f: float) -> None:
    scale = Log(low, high)
    assert scale(0.0) == pytest.approx(low)
    assert scale(1.0) == pytest.approx(high)
    assert scale(f) == pytest.approx(low * (high / low) ** f)


def test_log_scale_may_be_negative_on_both_ends() -> None:
    assert Log(-1, -100)(0.5) == pytest.approx(-10)


@pytest.mark.parametrize(
    ("value", "whole"), [(2.5, 3), (2.4, 2), (-2.5, -2), (-2.6, -3), (-0.2, 0), (0.5, 1)]
)
def test_halves_are_rounded_upwards_also_below_zero(value: float, whole: int) -> None:
    assert rounded(value) == whole


@given(st.integers(-50, 50), st.integers(1, 40))
def test_linear_scale_reaches_each_whole_number_of_a_range(low: int, count: int) -> None:
    """The documentation's advice: LINEAR(low + 0.5, ...) for a simple range."""
    scale = Linear(low - 0.5, low + count - 0.5, integer=True)
    samples = [scale((i + 0.5) / count) for i in range(count)]
    assert samples == list(range(low, low + count))
    assert all(type(s) is int for s in samples)


@given(st.lists(st.text(), min_size=1, max_size=20))
def test_explicit_scale_gives_each_value_once_when_split_is_its_length(values: list[str]) -> None:
    scale = Explicit(tuple(values))
    count = len(values)
    assert [scale((i + 0.5) / count) for i in range(count)] == values


@given(UNIT)
def test_no_scale_leaves_its_bounds(f: float) -> None:
    assert -3 <= Linear(-3, 7, integer=True)(f) <= 7
    assert 3 - 1e-9 <= Log(3, 3000)(f) <= 3000 * (1 + 1e-12)
    assert Explicit((1, 2, 3))(f) in (1, 2, 3)


def test_log_scale_is_what_the_documentation_says_it_is() -> None:
    for f in (0.1, 0.37, 0.9):
        assert Log(3, 3000)(f) == pytest.approx(math.exp(math.log(1000) * f) * 3)
        assert Linear(3, 3000)(f) == pytest.approx(2997 * f + 3)
