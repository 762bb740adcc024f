"""The bootstrap over games: against the formula of its variance, and what it must not depend
on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ringmaster.tuners.texel.bootstrap import RESAMPLES, Improvement, bootstrap
from ringmaster.tuners.texel.optimiser import Pass
from tests.tuners.texel.worlds import MemoryData, World, world_of

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
    found = bootstrap(data, 0, 1, **kwargs)
    assert found is not None
    return found


def test_improvement_is_the_difference_of_the_errors(world: World) -> None:
    data = compared(world, (90, 20), TRUE)
    errors = [data.play(Pass(9, theta, "all")).validation for theta in ((90, 20), TRUE)]
    found = measured(data)
    assert [found.before, found.after] == pytest.approx(errors)
    assert found.low < found.improvement < found.high
    assert found.games == 300
    assert found.share > 0.99


def test_interval_is_as_wide_as_the_deviation_over_games(world: World) -> None:
    data = compared(world, (60, 60), TRUE)
    loss, rows = data.loss, slice(-world.held, None)
    old, new = (loss.values(data.kept[i][rows], world.results[rows]) for i in (0, 1))
    by_game = (old - new).reshape(-1, 8).sum(axis=1)
    deviation = by_game.std() * np.sqrt(len(by_game)) / world.held
    found = measured(data)
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation, rel=0.1)
    # positions of one game are not so many independent ones
    alone = (old - new).std() / np.sqrt(world.held)
    assert deviation > 1.2 * alone


def test_better_and_worse_change_places_with_the_passes(world: World) -> None:
    one = measured(compared(world, (60, 60), TRUE))
    other = measured(compared(world, TRUE, (60, 60)))
    assert other.improvement == -one.improvement
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert other.share == pytest.approx(1 - one.share)


def test_equal_passes_are_no_improvement(world: World) -> None:
    found = measured(compared(world, TRUE, TRUE))
    assert (found.improvement, found.low, found.high, found.share) == (0, 0, 0, 0.5)


def test_seed_is_all_that_chance_depends_on(world: World) -> None:
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
    found = measured(data)
    assert found.games == whole.games - 1
    assert np.isfinite([found.low, found.high, found.improvement]).all()


def test_without_any_position_there_is_nothing_to_say() -> None:
    data = compared(world_of(TRUE, games=20, validation=0), TRUE, TRUE)
    assert bootstrap(data, 0, 1) is None
    assert bootstrap(data, 0, 1, "train") is not None


def test_one_game_has_no_spread() -> None:
    data = compared(world_of(TRUE, games=2, validation=0.5), (60, 60), TRUE)
    found = measured(data)
    assert found.low == pytest.approx(found.high)
    assert found.games == 1


def test_draws_are_poisson_distributed() -> None:
    from ringmaster.tuners.texel.bootstrap import _TIMES

    assert _TIMES.mean() == pytest.approx(1, abs=1e-3)
    assert _TIMES.var() == pytest.approx(1, abs=2e-3)
    assert RESAMPLES >= 1000
