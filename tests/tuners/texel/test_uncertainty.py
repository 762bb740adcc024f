"""Clustered standard errors, and the bootstrap over games."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.texel.loss import MOST_GROUPS, Array, sums_by_group
from ringmaster.tuners.texel.optimiser import Pass
from ringmaster.tuners.texel.uncertainty import (
    Improvement,
    bootstrap,
    meat_of,
    unpenalised_optimum,
)
from tests.tuners.texel.worlds import MemoryData, World, world_of


def standard_errors(curvature: Array, meat: Array, weight: float) -> Array:
    return unpenalised_optimum(curvature, np.zeros(len(curvature)), meat, weight)[1]


def test_deviation_of_a_mean_is_that_over_games() -> None:
    """Squared error of one number: θ is the mean, and 10 equal labels tell as much as one."""
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.normal(size=400), 10)
    games = np.repeat(np.arange(400, dtype=np.uint32), 10)
    meat = meat_of(sums_by_group(2 * (labels.mean() - labels)[:, np.newaxis], games))
    actual = standard_errors(np.array([[2.0]]), meat, 4000.0)
    assert actual[0] == pytest.approx(labels[::10].std(ddof=1) / 20)


@given(st.integers(0, 1000), st.integers(1, 9))
def test_sums_do_not_depend_on_how_positions_come(seed: int, shards: int) -> None:
    rng = np.random.default_rng(seed)
    slopes, games = rng.normal(size=(200, 3)), rng.integers(0, 40, 200, dtype=np.uint32)
    whole = sums_by_group(slopes, games)
    parts = sum(sums_by_group(slopes[s::shards], games[s::shards]) for s in range(shards))
    assert parts == pytest.approx(whole)
    sums = np.array([slopes[games == g].sum(axis=0) for g in np.unique(games)])
    off = sums - sums.mean(axis=0)
    assert meat_of(whole) == pytest.approx(off.T @ off * len(sums) / (len(sums) - 1))


def test_more_games_than_groups_give_the_same_covariance() -> None:
    rng = np.random.default_rng(1)
    slopes = 1 + rng.normal(size=(100_000, 2))
    games = np.arange(100_000, dtype=np.uint32)
    assert len(games) > 20 * MOST_GROUPS
    actual = meat_of(sums_by_group(slopes, games))
    assert actual == pytest.approx(np.cov(slopes.T) * len(games), abs=5000)


def test_indistinguishable_parameters_have_infinite_errors() -> None:
    curvature = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0, 0, 1, 0], [0, 0, 0, 0]])
    actual = standard_errors(curvature, np.eye(4), 100.0)
    assert np.isinf(actual).tolist() == [True, True, False, True]


def test_one_game_gives_infinite_errors() -> None:
    meat = meat_of(sums_by_group(np.ones((5, 1)), np.zeros(5, dtype=np.uint32)))
    assert np.isinf(standard_errors(np.eye(1), meat, 5.0)).all()


TRUE = (40.0, 80.0)


def compared(world: World, before: tuple[float, ...], after: tuple[float, ...]) -> MemoryData:
    data = MemoryData(world)
    for number, theta in enumerate((before, after)):
        data.play(Pass(number, theta, "all", keep=True))
    return data


@pytest.fixture(scope="module")
def world() -> World:
    return world_of(TRUE, games=600, validation=0.5)


def measured(data: MemoryData, **kwargs: int) -> Improvement:
    actual = bootstrap(data, 0, 1, **kwargs)
    assert actual is not None
    return actual


def test_improvement_is_the_difference_of_the_errors(world: World) -> None:
    data = compared(world, (90, 20), TRUE)
    errors = [data.play(Pass(9, theta, "all")).validation for theta in ((90, 20), TRUE)]
    actual = measured(data)
    assert actual.value == pytest.approx(errors[0] - errors[1])
    assert actual.low < actual.value < actual.high
    assert actual.games == 300
    assert actual.share > 0.99


def test_interval_is_as_wide_as_the_deviation_over_games(world: World) -> None:
    data = compared(world, (60, 60), TRUE)
    loss, rows = data.loss, slice(-world.held, None)
    old, new = (loss.values(data.kept[i][rows], world.results[rows]) for i in (0, 1))
    by_game = (old - new).reshape(-1, 8).sum(axis=1)
    deviation = by_game.std() * np.sqrt(len(by_game)) / world.held
    actual = measured(data)
    assert actual.high - actual.low == pytest.approx(2 * 1.96 * deviation, rel=0.1)
    # positions of one game are not independent
    alone = (old - new).std() / np.sqrt(world.held)
    assert deviation > 1.2 * alone


def test_swapped_passes_negate_the_improvement(world: World) -> None:
    one = measured(compared(world, (60, 60), TRUE))
    other = measured(compared(world, TRUE, (60, 60)))
    assert other.value == -one.value
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert other.share == pytest.approx(1 - one.share)


def test_equal_passes_are_no_improvement(world: World) -> None:
    actual = measured(compared(world, TRUE, TRUE))
    assert (actual.value, actual.low, actual.high, actual.share) == (0, 0, 0, 0.5)


def test_resamples_depend_on_the_seed_alone(world: World) -> None:
    data = compared(world, (60, 60), TRUE)
    assert measured(data, seed=3) == measured(data, seed=3)
    assert measured(data, seed=3).low != measured(data, seed=4).low
    finer = dataclasses.replace(data, shards=17)
    assert measured(finer, seed=3).low == pytest.approx(measured(data, seed=3).low)


def test_positions_of_no_weight_do_not_count(world: World) -> None:
    whole = measured(compared(world, (60, 60), TRUE))
    weight = np.ones(len(world.results))
    weight[-8:] = 0
    spoilt = dataclasses.replace(world, weight=weight)
    data = compared(spoilt, (60, 60), TRUE)
    data.kept[1][-8:] = np.nan
    actual = measured(data)
    assert actual.games == whole.games - 1
    assert np.isfinite([actual.low, actual.high, actual.value]).all()


def test_bootstrap_without_positions_is_none() -> None:
    data = compared(world_of(TRUE, games=20, validation=0), TRUE, TRUE)
    assert bootstrap(data, 0, 1) is None
    assert bootstrap(data, 0, 1, "train") is not None
