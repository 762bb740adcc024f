"""The ridge's lengths, and what is said of odd values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.optimiser import (
    ALONE,
    COLLAPSED,
    NO_SIGNAL,
    UNRESOLVED,
    noise_flags,
    value_flags,
)
from ringmaster.tuners.texel.ridge import PATH, Penalty, RidgePath, strengths_of
from ringmaster.tuners.texel.uncertainty import collinear
from tests.tuners.texel.worlds import parameters_of

SPACE = Space.of(parameters_of((100, 40, 0, 200), -10, 200))


@pytest.mark.parametrize(
    ("theta", "words"),
    [
        ((100, 40, 0, 200), {}),
        ((0, 40, 0, 200), {0: (COLLAPSED,)}),
        ((4, 40, 0, 200), {0: ("collapsed to 4% of its start",)}),
        ((100, -10, 0, 200), {1: ("at its lower bound",)}),
        ((200, 40, 0, 200), {0: ("at its upper bound",)}),
        ((100, 40, 5, -10), {3: ("at its lower bound", "collapsed to 5% of its start")}),
    ],
)
def test_values_on_a_bound_or_near_0_are_flagged_unless_they_began_there(
    theta: tuple[float, ...], words: dict[int, tuple[str, ...]]
) -> None:
    flags = {i: tuple(value_flags(SPACE, i, value)) for i, value in enumerate(theta)}
    assert {i: each for i, each in flags.items() if each} == words


def test_unmoved_values_have_no_signal_and_moved_ones_may_be_noise() -> None:
    low, high = (-10.0, -10, -9, 150), (200.0, 200, 90, 190)

    def flags(theta: tuple[float, ...]) -> list[list[str]]:
        each = enumerate(zip(theta, low, high, strict=True))
        return [noise_flags(SPACE, i, *numbers) for i, numbers in each]

    assert flags((100, 30, 5, 180)) == [[NO_SIGNAL], [UNRESOLVED], [ALONE], []]
    assert flags((100, 40, 0, 200)) == [[NO_SIGNAL], [NO_SIGNAL], [], []]


def test_collinear_columns_are_named_with_the_most_similar_one() -> None:
    rng = np.random.default_rng(0)
    J = rng.normal(size=(500, 5))
    J[:, 3] = 2 * J[:, 1] + 0.05 * rng.normal(size=500)
    J[:, 4] = 0
    assert collinear(J.T @ J) == {1: 3, 3: 1}
    assert collinear(np.eye(1)) == {}


@given(st.lists(st.floats(-10, 200), min_size=4, max_size=4), st.floats(0, 10))
def test_penalty_falls_towards_the_start_by_its_slope(theta: list[float], strength: float) -> None:
    penalty, point = Penalty(SPACE, strength), np.array(theta)
    for i in range(4):
        h = np.eye(4)[i] * 0.01
        difference = (penalty(point + h) - penalty(point - h)) / 0.02
        assert penalty.slope(point)[i] == pytest.approx(difference, abs=1e-9)
    assert penalty(SPACE.start) == 0


def test_change_by_the_whole_range_costs_the_strength() -> None:
    assert Penalty(SPACE, 0.25)([310, 40, 0, 200]) == pytest.approx(0.25)


def test_strengths_are_the_path_unless_they_are_given() -> None:
    assert strengths_of(None) == (0,)
    assert strengths_of([None]) == PATH
    assert strengths_of([1e-3]) == (1e-3,)
    assert strengths_of([]) == (0,)
    assert sorted(PATH) == list(PATH)


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (0.1, "0.1 is the strongest of those tried"),
        (0.01, ""),
        (0.001, "0.001 is the weakest of those tried; a weaker"),
        (None, ""),
    ],
)
def test_ridge_at_the_edge_of_the_strengths_tried_is_named(used: float | None, words: str) -> None:
    rows = [(strength, 0.1, 0.1, 0.0) for strength in (0.001, 0.01, 0.1)]
    path = RidgePath("Ridge path", rows, used)
    assert path.edge.startswith(words)
    assert bool(path.edge) == bool(words)
    assert (words in path.table()[0]) is True


def test_no_ridge_is_named_where_it_is_the_best() -> None:
    rows = [(strength, 0.1, 0.1, 0.0) for strength in (0.0, 0.01)]
    assert "no ridge, is the weakest" in RidgePath("Ridge path", rows, 0.0).table()[0]
