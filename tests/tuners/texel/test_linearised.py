"""Quadratics within bounds, against SciPy and against trying all whole points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from ringmaster.tuners.texel.linearised import least_in_box, value_of, whole_in_box
from ringmaster.tuners.texel.loss import Array


def problem(k: int, seed: int, rows: int = 12) -> tuple[Array, Array, Array, Array]:
    """Return the rows and right sides of a least squares problem, and a box about 0."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, k)), 3 * rng.normal(size=rows), -rng.random(k), rng.random(k)


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 10_000))
def test_least_squares_within_bounds_equal_scipy(k: int, seed: int) -> None:
    M, y, low, high = problem(k, seed)
    A, b = M.T @ M, -M.T @ y
    x = least_in_box(A, b, low, high)
    assert np.all((low <= x) & (x <= high))
    reference = lsq_linear(M, y, (low, high), method="bvls", tol=1e-14).x
    assert x == pytest.approx(reference, abs=1e-6)


@given(st.integers(1, 6), st.integers(0, 10_000), st.integers(0, 10_000))
def test_starting_point_makes_no_difference(k: int, seed: int, begin: int) -> None:
    M, y, low, high = problem(k, seed)
    A, b = M.T @ M, -M.T @ y
    at = np.random.default_rng(begin).uniform(-2, 2, k)
    assert least_in_box(A, b, low, high, at) == pytest.approx(
        least_in_box(A, b, low, high), abs=1e-8
    )


def test_variable_without_influence_keeps_its_value() -> None:
    A, b = np.diag([2.0, 0.0]), np.array([-2.0, 0.0])
    ends = np.full(2, 5.0)
    assert least_in_box(A, b, -ends, ends, np.array([0.0, 3.0])).tolist() == [1, 3]


def test_equal_columns_share_the_step() -> None:
    A, b = np.ones((2, 2)), np.array([-4.0, -4.0])
    ends = np.full(2, 5.0)
    assert least_in_box(A, b, -ends, ends) == pytest.approx([2.0, 2.0])


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_moving_one_or_two_variables_does_not_improve_the_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 3
    M = rng.normal(size=(8, k)) @ (np.eye(k) + 0.8)
    A, b = M.T @ M, -M.T @ (5 * rng.normal(size=8))
    ends = np.full(k, 3.0)
    at = least_in_box(A, b, -ends, ends)
    actual = whole_in_box(A, b, -ends, ends, np.zeros(k), np.ones(k, dtype=bool), at)
    assert actual.tolist() == np.rint(actual).tolist()
    assert np.abs(actual).max() <= 3
    value = value_of(A, b, actual)
    assert value <= value_of(A, b, np.rint(at)) + 1e-9
    for move in itertools.product((-1, 0, 1), repeat=k):
        other = actual + move
        if np.count_nonzero(move) <= 2 and np.abs(other).max() <= 3:
            assert value <= value_of(A, b, other) + 1e-9


def test_fractional_variables_compensate_for_the_rounding_of_others() -> None:
    A, b = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([-2.4, -2.4])
    ends = np.full(2, 50.0)
    at = least_in_box(A, b, -ends, ends)
    actual = whole_in_box(A, b, -ends, ends, np.zeros(2), np.array([True, False]), at)
    assert actual[0] == round(actual[0])
    assert A[1] @ actual + b[1] == pytest.approx(0, abs=1e-9)
