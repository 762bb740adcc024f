"""Parameters on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.gauss_newton import GaussNewton
from ringmaster.tuners.texel.genetic import Genetic
from ringmaster.tuners.texel.local_search import LocalSearch
from ringmaster.tuners.texel.optimiser import Optimiser
from ringmaster.tuners.texel.spsa_batches import SpsaBatches
from tests.tuners.texel.worlds import MemoryData, run, world_of

TRUE = (40.0, 90.0, 8.0)
PARAMETERS = (
    TunedParameter("a", 5, 1, 200, integer=True, scale="log"),
    TunedParameter("b", 30, 0, 200, integer=True),
    TunedParameter("c", 150, 2, 200, scale="log"),
)
WORLD = world_of(TRUE, games=1500, per_game=5, seed=2)


def genetic(parameters: Any, **named: Any) -> Optimiser:
    return Genetic(parameters, population=24, generations=40, **named)


@pytest.mark.slow
@pytest.mark.parametrize("make", [LocalSearch, genetic, SpsaBatches, GaussNewton])
def test_tune_finds_values_whole_and_within_the_bounds(make: Callable[..., Optimiser]) -> None:
    optimiser = make(PARAMETERS, shards=6, seed=1)
    passes = run(optimiser, MemoryData(WORLD, shards=6))
    for values in [*(p.theta for p in passes), *(s.theta for s in optimiser.course)]:
        assert values[0] == int(values[0])
        assert 1 <= values[0] <= 200
        assert values[1] == int(values[1])
        assert 2 <= values[2] <= 200
    assert passes[0].theta == optimiser.course[0].theta == (5, 30, 150)
    start, last = optimiser.course[0], optimiser.course[-1]
    assert last.train is not None
    assert start.train is not None
    assert last.train < 0.7 * start.train
    assert optimiser.best[1] == pytest.approx(90, rel=0.5)
    assert optimiser.best[2] < 60


@pytest.mark.slow
def test_intervals_hold_the_values_in_the_parameters_units() -> None:
    optimiser = GaussNewton(PARAMETERS, shards=6, seed=1)
    run(optimiser, MemoryData(WORLD, shards=6))
    assert optimiser.best[0] == pytest.approx(40, rel=0.3)
    assert optimiser.intervals is not None
    low_ends, high_ends = optimiser.intervals
    for low, best, high in zip(low_ends, optimiser.best, high_ends, strict=True):
        assert 1 < low <= best * (1 + 1e-9)
        assert best * (1 - 1e-9) <= high < 200


def test_upper_bound_is_told_in_the_parameters_units() -> None:
    data = MemoryData(world_of((190.0,), games=300, per_game=5, seed=1), shards=6)
    optimiser = LocalSearch([TunedParameter("a", 10, 1, 40, integer=True, scale="log")], shards=6)
    run(optimiser, data)
    assert optimiser.best == (40.0,)
    assert optimiser.flags()[0] == ("at its upper bound",)


def test_step_is_the_change_of_the_start_value_in_the_parameter_s_units() -> None:
    data = MemoryData(world_of((40.0,), games=100, per_game=5, seed=1), shards=6)
    parameter = TunedParameter("c", 100, 10, 1000, step=5, scale="log")
    passes = run(GaussNewton([parameter], shards=6, most_passes=4), data)
    assert passes[1].theta == (105,)
