"""Behaviour common to the optimisers that use errors alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ringmaster.tuners.texel.genetic import Genetic
from ringmaster.tuners.texel.local_search import LocalSearch
from ringmaster.tuners.texel.optimiser import MOST_STEPS, Errors
from ringmaster.tuners.texel.searching import Search, tuned_blocks
from ringmaster.tuners.texel.spsa_batches import SpsaBatches
from tests.tuners.texel.worlds import MemoryData, parameters_of, run, world_of

Make = Callable[..., Search]
TRUE, START = (40.0, 80.0, 120.0), (90.0, 30.0, 60.0)
WORLD = world_of(TRUE, games=600, per_game=5, seed=1)


def local_search(*arguments: Any, shards: int = 1, **named: Any) -> Search:
    return LocalSearch(*arguments, **named)


def genetic(*arguments: Any, **named: Any) -> Search:
    return Genetic(*arguments, population=12, generations=20, check=2, **named)


@pytest.fixture(params=[local_search, genetic, SpsaBatches], ids=lambda make: make.__name__)
def make(request: pytest.FixtureRequest) -> Make:
    make: Make = request.param
    return make


def passes_of(optimiser: Search, shards: int = 6) -> float:
    """Run an optimiser and return the passes over training that it used, by its passes."""
    asked = run(optimiser, MemoryData(WORLD, shards=shards))
    return sum(len(p.part) / shards if isinstance(p.part, tuple) else 1 for p in asked)


@pytest.mark.parametrize("most", [2, 10, 40.5])
def test_limit_of_passes_is_kept(make: Make, most: float) -> None:
    optimiser = make(parameters_of(START), most_passes=most, shards=6, patience=None)
    used = passes_of(optimiser)
    # two more finalists than the one that is accounted for
    assert used <= most + (2 if isinstance(optimiser, Genetic) else 1)
    assert optimiser.state()["used"] == pytest.approx(used)
    assert optimiser.best_pass is not None


def test_strong_ridge_holds_the_values_at_the_start(make: Make) -> None:
    free = make(parameters_of(START), shards=6)
    held = make(parameters_of(START), shards=6, strength=100.0)
    for optimiser in (free, held):
        run(optimiser, MemoryData(WORLD, shards=6))
    assert max(abs(a - b) for a, b in zip(held.best, START, strict=True)) <= 2
    assert max(abs(a - b) for a, b in zip(free.best, START, strict=True)) > 20


def test_tune_ends_after_checks_without_a_smaller_validation_error(make: Make) -> None:
    """Validation errors that rise with every check, while those of training fall."""
    optimiser = make(parameters_of(START), shards=6, patience=2)
    data, checks = MemoryData(WORLD, shards=6), 0
    while (asked := optimiser.ask()) is not None:
        errors = data.play(asked)
        if asked.part == "all":
            checks += 1
            falling = -float(checks) if asked.number else errors.train
            errors = Errors(falling, float(checks))
        data.forget(optimiser.tell(asked.number, errors, data))
        if "validation" in optimiser.state()["over"]:
            break
    assert checks == 3
    assert optimiser.best == START
    assert optimiser.best_pass == 0


def test_pass_with_a_nan_error_is_not_the_best(make: Make) -> None:
    """An engine whose scores are absurd everywhere but at the start."""
    optimiser = make(parameters_of(START), shards=6)
    data, nan = MemoryData(WORLD, shards=6), float("nan")
    while (asked := optimiser.ask()) is not None:
        errors = data.play(asked)
        if asked.number:
            errors = Errors(errors.train and nan, errors.validation and nan)
        data.forget(optimiser.tell(asked.number, errors, data))
        json.dumps(optimiser.state(), allow_nan=False)
        assert asked.number < 5000
    assert optimiser.best == START
    assert optimiser.best_pass == 0


def test_unknown_pass_is_ignored(make: Make) -> None:
    optimiser = make(parameters_of(START), shards=6)
    optimiser.ask()
    before = json.dumps(optimiser.state())
    optimiser.tell(7, Errors(0.0, 0.0), MemoryData(WORLD))
    assert json.dumps(optimiser.state()) == before


def test_long_course_is_thinned_and_keeps_its_ends() -> None:
    optimiser = LocalSearch(parameters_of([0.0] * 3, -1e6, 1e6), patience=None)
    data = MemoryData(WORLD)
    response = 0
    # every change lowers the error
    while response < 3 * MOST_STEPS and (asked := optimiser.ask()) is not None:
        optimiser.tell(asked.number, Errors(1 - response * 1e-4, 1 - response * 1e-4), data)
        response += 1
    course = optimiser.course
    assert len(course) <= MOST_STEPS
    assert course[0].label == "start"
    assert course[-1].passes >= response - 3


def test_parameters_in_no_group_come_last_together() -> None:
    names = ["b", None, "a", "b", "c"]
    parameters = [
        msgspec.structs.replace(p, group=name)
        for p, name in zip(parameters_of([1.0] * 5), names, strict=True)
    ]
    assert tuned_blocks(parameters, ["a", "b"]) == [[2], [0, 3], [1, 4]]
    assert tuned_blocks(parameters, None) == [[0, 1, 2, 3, 4]]
