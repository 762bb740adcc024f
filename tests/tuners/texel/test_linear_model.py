"""Whole points near the minimum of a quadratic within bounds, against trying all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from ringmaster.tuners.texel.linear_model import whole_in_box
from ringmaster.tuners.texel.loss import Array


def value_of(A: Array, b: Array, x: Array) -> float:
    """Return ½·xᵀAx + bᵀx."""
    return float(x @ A @ x / 2 + b @ x)


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_moving_one_or_two_variables_does_not_improve_the_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 3
    M = rng.normal(size=(8, k)) @ (np.eye(k) + 0.8)
    y = 5 * rng.normal(size=8)
    A, b = M.T @ M, -M.T @ y
    ends = np.full(k, 3.0)
    at = lsq_linear(M, y, (-ends, ends), method="bvls").x
    actual = whole_in_box(A, b, -ends, ends, np.ones(k, dtype=bool), at)
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
    at = np.linalg.solve(A, -b)
    actual = whole_in_box(A, b, -ends, ends, np.array([True, False]), at)
    assert actual[0] == round(actual[0])
    assert A[1] @ actual + b[1] == pytest.approx(0, abs=1e-9)
