"""Averages, drift test and thinned trajectory of θ."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.tuners.space import Array
from ringmaster.tuners.spsa.course import (
    FEWEST_POINTS,
    MOST_BLOCKS,
    MOST_NUMBERS,
    MOST_POINTS,
    SETTLED,
    Averages,
    ThinnedTrajectory,
    most_points,
)


def averages_of(thetas: Array, start: Array) -> Averages:
    """Return the averages of a course of θ, (iterates, n)."""
    averages = Averages(start)
    before = start
    for theta in thetas:
        averages.add(theta, theta - before)
        before = theta
    return averages


def test_before_the_first_iterate_the_mean_is_the_start() -> None:
    averages = Averages(np.array([3.0, -1.0]))
    assert averages.mean().tolist() == [3, -1]
    assert not averages.drift().settled


@given(st.integers(1, 1000))
def test_mean_covers_the_last_half_to_within_a_block(count: int) -> None:
    thetas = np.arange(1.0, count + 1)[:, np.newaxis]
    averages = averages_of(thetas, np.zeros(1))
    # the mean of a suffix of 1, …, count tells where the suffix starts
    first = 2 * averages.mean()[0] - count
    assert count // 2 + 1 - averages.length < first <= count // 2 + 1
    assert averages.length <= max(1, 2 * count // MOST_BLOCKS)


@given(st.integers(1, 400), st.integers(0, 400))
def test_restored_averages_continue_exactly(before: int, after: int) -> None:
    thetas = np.sin(np.arange(before + after))[:, np.newaxis] * np.array([1.0, 1e6])
    whole = averages_of(thetas, np.zeros(2))
    halted = averages_of(thetas[:before], np.zeros(2))
    resumed = Averages(np.full(2, 7.0))
    resumed.restore(json.loads(json.dumps(halted.state())))
    last = thetas[before - 1]
    for theta in thetas[before:]:
        resumed.add(theta, theta - last)
        last = theta
    assert resumed.state() == whole.state()
    assert resumed.mean().tolist() == whole.mean().tolist()
    assert resumed.drift().z.tolist() == whole.drift().z.tolist()


def test_drifting_theta_is_not_settled() -> None:
    rng = np.random.default_rng(1)
    course = np.cumsum(1.0 + rng.normal(size=(2000, 4)), axis=0)
    drift = averages_of(course, np.zeros(4)).drift()
    assert not drift.settled
    assert np.all(drift.z > 1)


def test_theta_held_near_an_optimum_is_settled() -> None:
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


def test_constant_parameters_do_not_affect_the_drift_test() -> None:
    course = np.zeros((100, 9))
    course[:, 0] = np.arange(100)
    drift = averages_of(course, np.zeros(9)).drift()
    assert drift.z[1:].tolist() == [0] * 8
    assert not drift.settled


def test_size_of_the_state_does_not_grow() -> None:
    averages = averages_of(np.zeros((20_000, 1)), np.zeros(1))
    assert len(averages.state()["blocks"]) < MOST_BLOCKS


def trajectory_of(
    count: int, first: int = 1, into: ThinnedTrajectory | None = None
) -> ThinnedTrajectory:
    trajectory = into or ThinnedTrajectory()
    for iterations in range(first, first + count):
        trajectory.add(iterations, np.array([iterations / 3, -iterations]))
    return trajectory


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 9000))
def test_points_are_equally_spaced_and_include_the_last_one(count: int) -> None:
    trajectory = trajectory_of(count)
    points = trajectory.points()
    iterations = [p[0] for p in points]
    stride = trajectory.stride
    assert stride & (stride - 1) == 0
    assert iterations == sorted({*range(stride, count + 1, stride), *([count] if count else [])})
    assert len(points) <= MOST_POINTS + 1
    assert count <= MOST_POINTS or len(points) >= MOST_POINTS // 2
    assert all(theta == pytest.approx([n / 3, -n], rel=1e-6) for n, theta in points)


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_restored_trajectory_continues_exactly(before: int, after: int) -> None:
    resumed = ThinnedTrajectory()
    resumed.restore(json.loads(json.dumps(trajectory_of(before).state())))
    trajectory_of(after, before + 1, resumed)
    whole = trajectory_of(before + after)
    assert json.dumps(resumed.state()) == json.dumps(whole.state())
    assert resumed.points() == whole.points()


@pytest.mark.parametrize(
    ("parameters", "points"),
    [(1, MOST_POINTS), (50, MOST_POINTS), (100, MOST_NUMBERS // 100), (1000, FEWEST_POINTS)],
)
def test_tunes_of_many_parameters_keep_fewer_points(parameters: int, points: int) -> None:
    assert most_points(parameters) == points
    trajectory = ThinnedTrajectory()
    theta = np.zeros(parameters)
    for iterations in range(1, 2 * points + 2):
        trajectory.add(iterations, theta)
    assert points // 2 <= len(trajectory.points()) <= points + 1
