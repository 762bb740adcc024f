"""SPSA over batches of positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.optimiser import Errors, Pass
from ringmaster.tuners.texel.spsa_batches import SpsaBatches
from tests.tuners.texel.worlds import MemoryData, parameters_of, run, world_of

WORLD = world_of([40, 80, 120], games=1500, per_game=5, seed=1)
START = [90.0, 30.0, 60.0]


def follow(optimiser: SpsaBatches, error: Any, most: int = 100_000) -> list[Pass]:
    """Let an optimiser have passes whose error is a function of the values."""
    data, passes = MemoryData(WORLD), []
    while len(passes) < most and (asked := optimiser.ask()) is not None:
        passes.append(asked)
        value = error(asked.theta)
        held = value if asked.part == "all" else None
        optimiser.tell(asked.number, Errors(value, held), data)
    return passes


def sides_of(passes: list[Pass], probes: int) -> list[tuple[Pass, Pass]]:
    """Return the two sides of each iteration."""
    batches = [p for p in passes if isinstance(p.part, tuple)][probes:]
    return list(zip(batches[::2], batches[1::2], strict=True))


def test_both_sides_of_an_iteration_see_the_same_shards() -> None:
    optimiser = SpsaBatches(parameters_of(START), shards=8, batch=0.25, most_passes=20)
    pairs = sides_of(run(optimiser, MemoryData(WORLD, shards=8)), 7)
    assert len(pairs) > 10
    assert all(plus.part == minus.part for plus, minus in pairs)
    assert len({plus.part for plus, _ in pairs}) > 4


def test_all_parameters_are_perturbed_at_once_and_integers_by_one_at_least() -> None:
    parameters = [
        TunedParameter("a", 5, 0, 10, integer=True),
        TunedParameter("b", 0.5, 0, 1),
    ]
    optimiser = SpsaBatches(parameters, shards=4, most_passes=10)
    passes = follow(optimiser, lambda t: (t[0] - 6) ** 2 + (t[1] - 0.4) ** 2, 40)
    for plus, minus in sides_of(passes, 5):
        assert abs(plus.theta[0] - minus.theta[0]) >= 1
        assert plus.theta[1] != minus.theta[1]


def test_parabola_is_followed_to_its_optimum() -> None:
    parameters = [TunedParameter(c, s, -100, 100) for c, s in zip("abc", START, strict=True)]
    optimiser = SpsaBatches(parameters, shards=8, most_passes=200, patience=None)
    best = np.array([-40.0, 20.0, 70.0])

    def bowl(theta: tuple[float, ...]) -> float:
        return float((np.array([1, 30, 0.1]) * (theta - best) ** 2).sum()) / 1e4

    follow(optimiser, bowl)
    assert optimiser.best == pytest.approx(best, abs=1)


def test_weights_of_an_engine_are_found() -> None:
    optimiser = SpsaBatches(parameters_of(START), shards=8)
    run(optimiser, MemoryData(WORLD, shards=8))
    assert optimiser.best == pytest.approx((40, 80, 120), abs=30)


@pytest.mark.slow
def test_many_parameters_are_tuned_with_few_passes() -> None:
    true = [20.0 + 3 * i for i in range(30)]
    world = world_of(true, games=1500, per_game=5, seed=3)
    optimiser = SpsaBatches(parameters_of([60.0] * 30), shards=24, batch=1 / 12, most_passes=40)
    data = MemoryData(world, shards=24)
    run(optimiser, data)
    best = [s for s in optimiser.course if s.theta == optimiser.best and s.validation][-1]
    start, least = optimiser.course[0].validation, data.play(Pass(0, tuple(true), "all"))
    assert start is not None
    assert best.validation is not None
    assert least.validation is not None
    assert best.validation - least.validation < 0.25 * (start - least.validation)


def test_worse_error_in_a_check_blocks_the_step_and_halves_the_gain() -> None:
    """An engine that is better at the start than anywhere else."""
    optimiser = SpsaBatches(parameters_of(START), shards=4, patience=None)
    data, notes, gains = MemoryData(WORLD), [], []
    while (asked := optimiser.ask()) is not None:
        error = 0.1 if asked.number == 0 else 0.2 + abs(asked.theta[0]) * 1e-3
        held = 0.1 if asked.part == "all" else None
        response = optimiser.tell(asked.number, Errors(error, held), data).notes
        notes += response
        if response:
            gains.append(optimiser._gain)
    assert optimiser.state()["over"] == "the training error does not fall any more"
    assert "gain halved" in notes[1]
    assert gains[1] == gains[0] / 2
    assert optimiser.best == tuple(START)


def test_parameter_without_effect_is_flagged_and_stays() -> None:
    optimiser = SpsaBatches(parameters_of([50, 50]), shards=4, strength=1e-3, most_passes=30)
    passes = follow(optimiser, lambda theta: (theta[0] - 70) ** 2 / 1e4)
    assert {p.theta[1] for p in passes[6:]} == {50}
    assert optimiser.flags()[1] == ("no signal",)


@pytest.mark.parametrize("start", [0.0, 100.0])
def test_parameter_on_its_bound_is_measured_to_one_side(start: float) -> None:
    parameters = [TunedParameter("a", start, 0, 100, integer=True)]
    optimiser = SpsaBatches(parameters, shards=4)
    passes = follow(optimiser, lambda theta: (theta[0] - 50) ** 2 / 1e4)
    assert len({p.theta for p in passes[1:4]}) == 3
    assert optimiser.best == pytest.approx((50,), abs=2)


def test_tune_without_any_signal_ends_with_the_reason() -> None:
    optimiser = SpsaBatches(parameters_of(START), shards=4)
    follow(optimiser, lambda theta: 0.2)
    assert optimiser.finished()
    assert optimiser.state()["over"] == "no change of a parameter changes the error"
