"""Clustered standard errors against many repetitions, and the sums that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.texel import sandwich
from ringmaster.tuners.texel.sandwich import ClusterSums, deviations, estimate


def test_deviation_of_a_mean_is_that_over_games() -> None:
    """Squared error of one number: θ is the mean, and 10 equal labels tell as much as one."""
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.normal(size=400), 10)
    games = np.repeat(np.arange(400, dtype=np.uint32), 10)
    clusters = ClusterSums(1)
    clusters.add(2 * (labels.mean() - labels)[:, np.newaxis], games)
    found = deviations(np.array([[2.0]]), clusters.meat(), 4000.0)
    assert found[0] == pytest.approx(labels[::10].std(ddof=1) / 20)


@given(st.integers(0, 1000), st.integers(1, 9))
def test_sums_do_not_depend_on_how_positions_come(seed: int, shards: int) -> None:
    rng = np.random.default_rng(seed)
    slopes, games = rng.normal(size=(200, 3)), rng.integers(0, 40, 200, dtype=np.uint32)
    whole, parts = ClusterSums(3), ClusterSums(3)
    whole.add(slopes, games)
    for s in range(shards):
        parts.add(slopes[s::shards], games[s::shards])
    assert parts.meat() == pytest.approx(whole.meat())
    sums = np.array([slopes[games == g].sum(axis=0) for g in np.unique(games)])
    count = len(sums)
    assert whole.meat() == pytest.approx(sums.T @ sums * count / (count - 1))


def test_more_games_than_places_still_give_the_right_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandwich, "_MOST", 0)
    rng = np.random.default_rng(1)
    slopes = 1 + rng.normal(size=(20_000, 2))
    games = np.arange(20_000, dtype=np.uint32)
    clusters = ClusterSums(2)
    clusters.add(slopes, games)
    # without the signs the common slope would make it ten times as much
    assert clusters.meat() == pytest.approx(slopes.T @ slopes, abs=5000)


def test_step_leads_to_the_least_point_of_a_quadratic() -> None:
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = estimate(A, A @ np.array([-3.0, 4.0]), np.eye(2), 10.0)
    assert found.step == pytest.approx([3.0, -4.0])


def test_parameters_that_are_not_told_have_no_end_of_their_interval() -> None:
    curvature = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0, 0, 1, 0], [0, 0, 0, 0]])
    found = deviations(curvature, np.eye(4), 100.0)
    assert np.isinf(found).tolist() == [True, True, False, True]


def test_one_game_tells_nothing() -> None:
    clusters = ClusterSums(1)
    clusters.add(np.ones((5, 1)), np.zeros(5, dtype=np.uint32))
    assert np.isinf(deviations(np.eye(1), clusters.meat(), 5.0)).all()
