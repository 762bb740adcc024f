"""The mean of the last half in constant space, and the drift test."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.spsa import Array
from ringmaster.tuners.spsa.averages import MOST_BLOCKS, SETTLED, Averages


def averages_of(thetas: Array, start: Array) -> Averages:
    """Return what is known of a course of θ, (iterates, n)."""
    averages = Averages(start)
    before = start
    for theta in thetas:
        averages.take(theta, theta - before)
        before = theta
    return averages


def test_before_the_first_iterate_the_mean_is_the_start() -> None:
    averages = Averages(np.array([3.0, -1.0]))
    assert averages.mean().tolist() == [3, -1]
    assert not averages.drift().settled


def test_one_iterate_is_its_own_mean() -> None:
    averages = averages_of(np.array([[5.0]]), np.array([3.0]))
    assert averages.mean().tolist() == [5]
    assert not averages.drift().settled


@given(st.integers(1, 1000))
def test_mean_is_that_of_the_last_half_to_within_a_block(count: int) -> None:
    thetas = np.arange(1.0, count + 1)[:, np.newaxis]
    averages = averages_of(thetas, np.zeros(1))
    # the mean of a suffix of 1, …, count tells where the suffix starts
    first = 2 * averages.mean()[0] - count
    assert count // 2 + 1 - averages.length < first <= count // 2 + 1
    assert averages.length <= max(1, 2 * count // MOST_BLOCKS)


@given(st.integers(1, 400), st.integers(0, 400))
def test_interrupted_averages_are_those_that_were_not(before: int, after: int) -> None:
    thetas = np.sin(np.arange(before + after))[:, np.newaxis] * np.array([1.0, 1e6])
    whole = averages_of(thetas, np.zeros(2))
    halted = averages_of(thetas[:before], np.zeros(2))
    resumed = Averages(np.full(2, 7.0))
    resumed.restore(json.loads(json.dumps(halted.state())))
    last = thetas[before - 1]
    for theta in thetas[before:]:
        resumed.take(theta, theta - last)
        last = theta
    assert resumed.state() == whole.state()
    assert resumed.mean().tolist() == whole.mean().tolist()
    assert resumed.drift().z.tolist() == whole.drift().z.tolist()


def test_theta_under_way_has_not_settled() -> None:
    rng = np.random.default_rng(1)
    course = np.cumsum(1.0 + rng.normal(size=(2000, 4)), axis=0)
    drift = averages_of(course, np.zeros(4)).drift()
    assert not drift.settled
    assert np.all(drift.z > 1)


def test_theta_that_is_held_has_settled() -> None:
    rng = np.random.default_rng(2)
    theta, course = np.zeros(4), []
    for _ in range(3000):
        theta = theta - 0.05 * theta + rng.normal(size=4)
        course.append(theta)
    drift = averages_of(np.array(course), np.zeros(4)).drift()
    assert drift.settled
    assert np.mean(np.square(drift.z)) < SETTLED / 2


def test_z_of_a_random_walk_has_a_variance_of_one() -> None:
    rng = np.random.default_rng(3)
    course = np.cumsum(rng.normal(size=(1500, 400)), axis=0)
    z = averages_of(course, np.zeros(400)).drift().z
    # standard error of the variance of 400: 0.07
    assert np.mean(np.square(z)) == pytest.approx(1.0, abs=0.25)


def test_parameters_that_do_not_move_have_no_say() -> None:
    course = np.zeros((100, 9))
    course[:, 0] = np.arange(100)
    drift = averages_of(course, np.zeros(9)).drift()
    assert drift.z[1:].tolist() == [0] * 8
    assert not drift.settled


def test_theta_that_never_moved_is_settled_where_it_is() -> None:
    averages = averages_of(np.full((50, 2), 4.0), np.full(2, 4.0))
    assert averages.drift().settled
    assert averages.mean().tolist() == [4, 4]


def test_size_of_the_state_does_not_grow() -> None:
    averages = averages_of(np.zeros((20_000, 1)), np.zeros(1))
    assert len(averages.state()["blocks"]) < MOST_BLOCKS
