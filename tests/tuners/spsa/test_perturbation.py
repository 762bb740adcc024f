"""The two sides of an iteration: drawing, clipping, rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.randomness import SPSA_STREAM, uniform, words
from ringmaster.tuners.spsa.perturbation import Rounding, draw, draw_signs, sides
from tests.tuners.spsa.spaces import space_of

INTEGER = space_of((0, -100, 100, True))


@given(st.integers(-(2**70), 2**70), st.integers(1, 10**9), st.integers(1, 40))
def test_draw_is_a_function_of_seed_iteration_and_place(
    seed: int, iteration: int, count: int
) -> None:
    delta, u = draw(seed, iteration, count)
    random = words(seed, SPSA_STREAM, iteration, 2 * count)
    assert delta.tolist() == [1.0 if w >> 63 else -1.0 for w in random[:count]]
    assert u.tolist() == [uniform(w) for w in random[count:]]


def test_signs_of_midpoints_are_balanced_and_independent_of_delta() -> None:
    signs = np.array([draw_signs(1, k, 4) for k in range(1, 2001)])
    deltas = np.array([draw(1, k, 4)[0] for k in range(1, 2001)])
    assert set(signs.flat) == {1, -1}
    assert np.all(np.abs(signs.sum(axis=0)) < 4 * math.sqrt(2000))
    assert np.abs(signs.T @ deltas).max() < 4 * math.sqrt(2000)


def test_deltas_are_plus_or_minus_one_about_equally_often_and_independent() -> None:
    deltas = np.array([draw(1, k, 4)[0] for k in range(1, 2001)])
    assert set(deltas.flat) == {1, -1}
    assert np.all(np.abs(deltas.sum(axis=0)) < 4 * math.sqrt(2000))
    products = deltas.T @ deltas - 2000 * np.eye(4)
    assert np.abs(products).max() < 4 * math.sqrt(2000)


@given(
    theta=st.floats(-50, 50),
    c=st.floats(0.5, 20),
    u=st.floats(0, 1, exclude_max=True),
    up=st.booleans(),
)
def test_integer_sides_differ_in_the_direction_of_delta(
    theta: float, c: float, u: float, up: bool
) -> None:
    delta = np.array([1.0 if up else -1.0])
    plus, minus = sides(
        INTEGER, np.array([theta]), np.array([c]), delta, np.array([u]), "stochastic"
    )
    assert plus[0].is_integer()
    assert minus[0].is_integer()
    difference = (plus[0] - minus[0]) * delta[0]
    # rounding neither hides nor reverses the perturbation; 2c ± 1 at most
    assert max(1, math.floor(2 * c - 1e-9)) <= difference <= math.ceil(2 * c + 1e-9)


def test_stochastic_rounding_is_unbiased_for_negative_values_too() -> None:
    theta, c = np.array([-5.3]), np.array([0.5])
    total = 0.0
    for k in range(1, 4001):
        plus, minus = sides(INTEGER, theta, c, *draw(11, k, 1), "stochastic")
        total += float(plus[0] + minus[0])
    assert total / 8000 == pytest.approx(-5.3, abs=0.05)


def test_nearest_rounds_halves_upwards_below_zero_too() -> None:
    one = np.array([1.0])
    plus, minus = sides(INTEGER, np.array([-5.0]), one * 0.5, one, one * 0.9, "nearest")
    assert (plus[0], minus[0]) == (-4, -5)
    plus, minus = sides(INTEGER, np.array([-5.3]), one * 1.0, one, one * 0.9, "nearest")
    assert (plus[0], minus[0]) == (-4, -6)


@given(
    st.floats(0, 1),
    st.floats(1e-3, 500),
    st.floats(0, 1, exclude_max=True),
    st.booleans(),
    st.sampled_from(["stochastic", "nearest"]),
)
def test_sides_stay_within_bounds(
    share: float, c: float, u: float, up: bool, rounding: Rounding
) -> None:
    space = space_of((3, 0, 7, True), (0, -2.5, 0.25), (10**6 + 1, 10**6, 10**6 + 10, True))
    theta = space.minimum + share * space.width
    delta = np.full(3, 1.0 if up else -1.0)
    for side in sides(space, theta, np.full(3, c), delta, np.full(3, u), rounding):
        assert np.all(side >= space.minimum)
        assert np.all(side <= space.maximum)


def test_largest_uniform_number_does_not_round_over_the_maximum() -> None:
    space = space_of((10**6, 0, 10**6, True))
    u = np.array([1 - 2.0**-53])
    plus, minus = sides(space, space.start, np.array([2.0]), np.array([1.0]), u, "stochastic")
    assert (plus[0], minus[0]) == (10**6, 10**6 - 2 + 1)


@pytest.mark.parametrize("theta", [0.0, 10.0])
def test_sides_differ_at_a_bound_too(theta: float) -> None:
    space = space_of((theta, 0, 10, True))
    for k in range(1, 200):
        delta, u = draw(0, k, 1)
        plus, minus = sides(space, space.start, np.array([0.5]), delta, u, "stochastic")
        assert (plus[0] - minus[0]) * delta[0] == 1
        assert {plus[0], minus[0]} <= set(range(11))


def test_side_beyond_a_bound_is_clipped_and_the_other_is_not() -> None:
    space = space_of((1, 0, 100))
    one = np.array([1.0])
    plus, minus = sides(space, space.start, one * 4, one, one * 0, "stochastic")
    assert (plus[0], minus[0]) == (5, 0)


def test_many_tunes_are_perturbed_at_once_as_each_alone() -> None:
    space = space_of((3, 0, 7, True), (0, -2.5, 0.25))
    drawn = [draw(seed, 1, 2) for seed in range(5)]
    theta = np.stack([space.start + 0.1 * i for i in range(5)])
    deltas, us = np.stack([d for d, _ in drawn]), np.stack([u for _, u in drawn])
    c = np.array([1.5, 0.5])
    together = sides(space, theta, c, deltas, us, "stochastic")
    for i, (delta, u) in enumerate(drawn):
        alone = sides(space, theta[i], c, delta, u, "stochastic")
        assert together[0][i].tolist() == alone[0].tolist()
        assert together[1][i].tolist() == alone[1].tolist()
