"""The course of θ, thinned."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.tuners.spsa.trajectory import (
    FEWEST_POINTS,
    MOST_NUMBERS,
    MOST_POINTS,
    Trajectory,
    most_points,
)


def trajectory_of(count: int, first: int = 1, into: Trajectory | None = None) -> Trajectory:
    trajectory = into or Trajectory()
    for told in range(first, first + count):
        trajectory.take(told, np.array([told / 3, -told]))
    return trajectory


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 9000))
def test_points_are_equally_spaced_with_the_last_one_always_there(count: int) -> None:
    trajectory = trajectory_of(count)
    points = trajectory.points()
    told = [p[0] for p in points]
    stride = trajectory.stride
    assert stride & (stride - 1) == 0
    assert told == sorted({*range(stride, count + 1, stride), *([count] if count else [])})
    assert len(points) <= MOST_POINTS + 1
    assert count <= MOST_POINTS or len(points) >= MOST_POINTS // 2
    assert all(theta == pytest.approx([n / 3, -n], rel=1e-6) for n, theta in points)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_interrupted_trajectory_is_the_one_that_was_not(before: int, after: int) -> None:
    resumed = Trajectory()
    resumed.restore(json.loads(json.dumps(trajectory_of(before).state())))
    trajectory_of(after, before + 1, resumed)
    whole = trajectory_of(before + after)
    assert json.dumps(resumed.state()) == json.dumps(whole.state())
    assert resumed.points() == whole.points()


def test_state_is_not_changed_by_what_comes_later() -> None:
    trajectory = trajectory_of(10)
    state = trajectory.state()
    before = json.dumps(state)
    trajectory_of(5000, 11, trajectory)
    assert json.dumps(state) == before


@pytest.mark.parametrize(
    ("parameters", "points"),
    [(1, MOST_POINTS), (50, MOST_POINTS), (100, MOST_NUMBERS // 100), (1000, FEWEST_POINTS)],
)
def test_tunes_of_many_parameters_keep_fewer_points(parameters: int, points: int) -> None:
    assert most_points(parameters) == points
    trajectory = Trajectory()
    theta = np.zeros(parameters)
    for told in range(1, 2 * points + 2):
        trajectory.take(told, theta)
    assert points // 2 <= len(trajectory.points()) <= points + 1
