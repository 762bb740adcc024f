"""Local search by Österlund's rule."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.local_search import LocalSearch
from ringmaster.tuners.texel.optimiser import Errors, Pass
from tests.tuners.texel.worlds import MemoryData, parameters_of, run, world_of

DATA = MemoryData(world_of([1.0], games=4, per_game=2))


def follow(optimiser: LocalSearch, error: Any, most: int = 1000) -> list[Pass]:
    """Let an optimiser have passes whose error is a function of the values."""
    passes = []
    while (asked := optimiser.ask()) is not None and len(passes) < most:
        passes.append(asked)
        optimiser.tell(asked.number, Errors(error(asked.theta)), DATA)
    return passes


def bowl(theta: tuple[float, ...]) -> float:
    return (theta[0] - 7) ** 2 + 0.5 * (theta[1] + 3) ** 2


def test_step_up_is_tried_first_and_then_one_down() -> None:
    parameters = [TunedParameter(c, 0, -100, 100, step=1, integer=True) for c in "ab"]
    passes = follow(LocalSearch(parameters, grow=1), bowl, 4)
    assert [p.theta for p in passes] == [(0, 0), (1, 0), (1, 1), (1, -1)]
    assert {p.part for p in passes[1:]} == {"train"}


def test_successful_direction_is_tried_first_next_time() -> None:
    parameters = [TunedParameter(c, 0, -100, 100, step=1, integer=True) for c in "ab"]
    passes = follow(LocalSearch(parameters, grow=1), bowl, 6)
    assert [p.theta for p in passes[4:]] == [(2, -1), (2, -2)]


def test_successful_step_grows_and_failed_step_shrinks() -> None:
    parameter = [TunedParameter("a", 0, -1000, 1000, step=1, integer=True)]
    optimiser = LocalSearch(parameter)
    tried = [p.theta[0] for p in follow(optimiser, lambda t: (t[0] - 10) ** 2)]
    assert tried[:6] == [0, 1, 3, 7, 15, -1]
    # the step of 8 is halved once 15 and -1 are no better than 7; 11 then is
    assert tried[6] == 11
    assert optimiser.best == (10,)
    assert {9, 11} <= set(tried)


def test_search_ends_if_no_step_of_one_lowers_the_error() -> None:
    parameters = parameters_of([0, 0], -100, 100)
    optimiser = LocalSearch(parameters)
    passes = follow(optimiser, bowl)
    assert optimiser.best == (7, -3)
    assert optimiser.finished()
    asked = {p.theta for p in passes}
    assert {(8, -3), (6, -3), (7, -2), (7, -4)} <= asked


def test_real_parameters_are_found_to_their_precision() -> None:
    parameters = parameters_of([0, 0], -100, 100, integer=False)
    optimiser = LocalSearch(parameters, precision=1e-4)
    follow(optimiser, bowl)
    assert optimiser.best == pytest.approx((7, -3), abs=0.02)


def test_decrease_within_the_tolerance_does_not_count() -> None:
    parameters = parameters_of([0], -100, 100)
    optimiser = LocalSearch(parameters)
    follow(optimiser, lambda theta: 1 - 1e-9 * theta[0])
    assert optimiser.best == (0,)


def test_values_at_a_bound_are_not_asked_for_again() -> None:
    optimiser = LocalSearch(parameters_of([9], 0, 10))
    passes = follow(optimiser, lambda theta: -theta[0])
    assert optimiser.best == (10,)
    assert [p.theta[0] for p in passes if p.part == "train"] == [10, 8, 9][:2]
    assert optimiser.flags() == {0: ("at its upper bound",)}


def test_parameter_without_effect_is_flagged_and_stays() -> None:
    optimiser = LocalSearch(parameters_of([50, 50]), strength=1e-3)
    follow(optimiser, lambda theta: (theta[0] - 70) ** 2 / 1e4)
    assert optimiser.best[1] == 50
    assert optimiser.flags() == {1: ("no signal",)}


def test_groups_are_searched_one_after_the_other() -> None:
    parameters = [
        TunedParameter(c, 0, -100, 100, integer=True, group=group)
        for c, group in (("a", "late"), ("b", "early"))
    ]
    optimiser = LocalSearch(parameters, groups=["early", "late"])
    passes = follow(optimiser, bowl)
    first_moved = next(i for i, p in enumerate(passes) if p.theta[0] != 0)
    assert {p.theta[1] for p in passes[first_moved:]} - {-3} <= {-2, -4}
    assert len({p.theta[1] for p in passes[:first_moved]}) > 3
    assert optimiser.best == (7, -3)


def test_weights_of_an_engine_are_found() -> None:
    world = world_of([40, 80, 120], games=2000, per_game=5, seed=1)
    optimiser = LocalSearch(parameters_of([90, 30, 60]), patience=None)
    run(optimiser, MemoryData(world))
    assert optimiser.best == pytest.approx((40, 80, 120), abs=12)
    sweeps = [step.extra for step in optimiser.course if "tried" in step.extra]
    assert all(sweep["tried"] >= sweep["kept"] for sweep in sweeps)
    assert sweeps[0]["kept"] > 0
