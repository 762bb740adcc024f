"""Strings of bits, and the genetic algorithm over them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.genetic import (
    Coding,
    Genetic,
)
from tests.tuners.texel.worlds import MemoryData, parameters_of, run, world_of

WORLD = world_of([40, 80, 120], games=300, per_game=6, seed=1)
START = [90.0, 30.0, 60.0]


@st.composite
def codings(draw: st.DrawFn) -> Coding:
    bounds = draw(
        st.lists(
            st.tuples(st.integers(-3000, 3000), st.integers(0, 2500), st.integers(1, 2500)),
            min_size=1,
            max_size=4,
        )
    )
    start = np.array([s for s, _, _ in bounds], dtype=np.float64)
    space = Space(
        start,
        start - [below for _, below, _ in bounds],
        start + [above for _, _, above in bounds],
        np.array([draw(st.booleans()) for _ in bounds]),
    )
    precision = np.array([float(draw(st.integers(1, 40))) for _ in bounds])
    return Coding(space, precision)


@given(codings(), st.data())
def test_bits_of_a_level_decode_to_it(coding: Coding, data: st.DataObject) -> None:
    level = np.array([data.draw(st.integers(0, int(count) - 1)) for count in coding.levels])
    assert coding.level(coding.bits(level)).tolist() == level.tolist()


@given(codings())
def test_start_and_bounds_are_levels(coding: Coding) -> None:
    space = coding.space
    assert coding.at(coding.nearest(space.start)).tolist() == space.start.tolist()
    assert coding.at(np.zeros(len(space), dtype=np.int64)).tolist() == space.minimum.tolist()
    assert coding.at(coding.levels - 1).tolist() == space.maximum.tolist()


def test_neighbouring_levels_differ_by_one_bit() -> None:
    """Of 2ᵇ levels, where the code leaves nothing out."""
    space = Space(np.array([3.0]), np.array([0.0]), np.array([63.0]), np.array([True]))
    coding = Coding(space, np.array([1.0]))
    bits = coding.bits(np.arange(64)[:, np.newaxis])
    assert np.abs(np.diff(bits.astype(int), axis=0)).sum(axis=1).tolist() == [1] * 63


def test_each_generation_has_a_batch_of_its_own() -> None:
    optimiser = Genetic(
        parameters_of(START), shards=8, batch=0.25, population=10, generations=3, seed=1
    )
    asked = run(optimiser, MemoryData(WORLD, shards=8))
    parts = [p.part for p in asked if isinstance(p.part, tuple)]
    assert all(len(part) == 2 for part in parts)
    assert len(set(parts)) == 3
    # in order: once left, a batch does not come back
    assert sum(a != b for a, b in pairwise(parts)) == 2


def test_batches_of_an_epoch_are_disjoint() -> None:
    optimiser = Genetic(parameters_of(START), shards=8, batch=0.25)
    for epoch in range(3):
        used = [shard for k in range(4) for shard in optimiser.batch(4 * epoch + k)]
        assert sorted(used) == list(range(8))


def test_entropy_falls_and_is_reported_each_generation() -> None:
    optimiser = Genetic(parameters_of(START), population=20, generations=30, batch=1, check=1)
    data, notes = MemoryData(WORLD), []
    while (asked := optimiser.ask()) is not None:
        notes += optimiser.tell(asked.number, data.play(asked), data).notes
    entropies = [s.extra["entropy"] for s in optimiser.course if "entropy" in s.extra]
    assert entropies[-1] < 0.7 * entropies[0]
    assert [note.split(":")[0] for note in notes] == [
        f"generation {k}" for k in range(1, len(notes) + 1)
    ]
    assert "entropy" in notes[0]
    assert len([s for s in optimiser.course if "median" in s.extra]) == len(notes)
    ((_, _, shares),) = optimiser.report()
    assert sum(count for _, count in shares) == optimiser.coding.count


def test_converged_population_ends_the_tune() -> None:
    optimiser = Genetic(
        parameters_of(START), population=12, generations=10_000, mutation=0.0, batch=1
    )
    optimiser.converged = 0.9
    run(optimiser, MemoryData(WORLD, shards=2), 100_000)
    assert optimiser.state()["over"] in (
        "the population has converged",
        "the validation error did not fall in 3 checks",
    )


def test_known_individual_costs_no_pass() -> None:
    optimiser = Genetic(parameters_of(START), population=20, generations=20, batch=1)
    asked = run(optimiser, MemoryData(WORLD))
    assert len(asked) < 20 * 20
    assert len({p.theta for p in asked if p.part == "train"}) == len(
        [p for p in asked if p.part == "train"]
    )


def test_best_individuals_remain_unchanged() -> None:
    optimiser = Genetic(parameters_of(START), population=20, generations=15, batch=1, patience=None)
    run(optimiser, MemoryData(WORLD))
    best = [step.train for step in optimiser.course if "median" in step.extra]
    assert best == sorted(filter(None, best), reverse=True)


def test_weights_of_an_engine_are_found() -> None:
    optimiser = Genetic(parameters_of(START), generations=60, shards=4, batch=0.5)
    data = MemoryData(WORLD, shards=4)
    run(optimiser, data)
    assert optimiser.best == pytest.approx((40, 80, 120), abs=30)
