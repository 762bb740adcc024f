"""Gauss-Newton on simulated engines: the contract, recovery of known weights with the promised
coverage, and what it does where there is nothing to find or an engine is not linear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import least_squares

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.gauss_newton import GaussNewton
from ringmaster.tuners.texel.loss import sigmoid
from ringmaster.tuners.texel.optimiser import NO_SIGNAL, Optimiser, Pass
from ringmaster.tuners.texel.ridge import PATH
from tests.contracts.optimiser_contract import SHARDS, Make, OptimiserContract
from tests.contracts.optimiser_contract import world as world
from tests.tuners.texel.worlds import MemoryData, parameters_of, run, world_of

TRUE = (100.0, 50.0, 30.0, 20.0, 80.0)
WRONG = (60.0, 100.0, 10.0, 60.0, 40.0)


class TestGaussNewton(OptimiserContract):
    @pytest.fixture
    def make(self) -> Make:
        def build(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return GaussNewton(parameters)

        return build


class TestWithRidge(OptimiserContract):
    @pytest.fixture
    def make(self) -> Make:
        def build(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return GaussNewton(parameters, ridge=[None])

        return build


def test_linear_engine_needs_two_linearisations_and_a_step_or_two() -> None:
    optimiser = GaussNewton(parameters_of(WRONG))
    passes = run(optimiser, MemoryData(world_of(TRUE)))
    assert len(passes) <= 1 + 2 * len(TRUE) + 4
    first = optimiser.course[1]
    assert first.passes == 2 + len(TRUE)
    assert first.train is not None
    last = min(step.train for step in optimiser.course if step.train is not None)
    assert first.train - last < 1e-4


def test_optimum_within_bounds_equals_scipy() -> None:
    world = world_of(TRUE, validation=0, whole=False)
    data = MemoryData(world)
    parameters = parameters_of((60, 80, 40, 60, 40), low=25, high=85, integer=False)
    optimiser = GaussNewton(parameters)
    run(optimiser, data)
    reference = least_squares(
        lambda theta: sigmoid(world.counts @ theta / data.loss.scale) - world.results,
        [p.start for p in parameters],
        bounds=(25, 85),
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    ).x
    assert optimiser.best == pytest.approx(reference, abs=0.2)
    assert optimiser.best[0] == 85
    assert "at its upper bound" in optimiser.flags()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crossed", "ridge", "validation"),
    [(False, None, 0.2), (False, [0.0, 1e-3, 1e-2], 0.2), (True, [0.0, 1e-3, 1e-2], 0.0)],
)
def test_intervals_cover_the_true_weights(
    crossed: bool, ridge: list[float | None] | None, validation: float
) -> None:
    """About 95 of 100 do, also where a ridge holds the values back; 90 is promised."""
    covered, count = 0, 12
    for seed in range(count):
        world = world_of(TRUE, games=400, seed=seed, crossed=crossed, validation=validation)
        optimiser = GaussNewton(parameters_of(WRONG), ridge=ridge)
        run(optimiser, MemoryData(world))
        assert optimiser.intervals is not None
        low, high = optimiser.intervals
        assert np.all((low <= optimiser.best) & (optimiser.best <= high))
        covered += int(((low <= TRUE) & (high >= TRUE)).sum())
    assert 0.9 <= covered / (count * len(TRUE)) < 1


def test_nonlinear_engine_is_linearised_again() -> None:
    world = world_of(TRUE, games=1000, crossed=True)
    optimiser = GaussNewton(parameters_of((10, 150, 10, 60, 40)))
    passes = run(optimiser, MemoryData(world))
    assert 2 * len(TRUE) < len(passes) <= 6 * len(TRUE)
    errors = [step.train for step in optimiser.course if step.taken]
    assert errors == sorted(errors, reverse=True)
    # as good as the weights that made the results
    data = MemoryData(world)
    assert errors[-1] is not None
    true = data.play(Pass(0, TRUE)).train
    assert true is not None
    assert errors[-1] < 1.01 * true


def test_saturating_scores_cause_damped_steps_and_no_worse_ones() -> None:
    world = world_of(TRUE)
    world.bend = 60.0
    optimiser = GaussNewton([*parameters_of((5.0, 190.0, 190.0, 5.0, 5.0), -300, 300)])
    run(optimiser, MemoryData(world))
    taken = [step.train for step in optimiser.course if step.taken]
    assert taken == sorted(taken, reverse=True)
    assert len(taken) > 1


def test_parameter_without_effect_keeps_its_value_and_is_flagged() -> None:
    world = world_of(TRUE)
    world.counts[:, 1] = 0
    optimiser = GaussNewton(parameters_of(WRONG))
    passes = run(optimiser, MemoryData(world))
    assert optimiser.best[1] == WRONG[1]
    assert optimiser.flags()[1] == (NO_SIGNAL,)
    # looked at once more from far away, and then left alone
    assert sum(p.theta[1] != WRONG[1] for p in passes) == 2


def test_collinear_parameters_are_flagged_and_share_the_step() -> None:
    world = world_of(TRUE)
    world.counts[:, 3] = world.counts[:, 2]
    optimiser = GaussNewton(parameters_of((60, 100, 40, 40, 40)))
    run(optimiser, MemoryData(world))
    flags = optimiser.flags()
    assert "indistinguishable from w3" in flags[2]
    assert "indistinguishable from w2" in flags[3]
    assert not any("indistinguishable" in word for i in (0, 1, 4) for word in flags.get(i, ()))


def test_weak_parameter_is_measured_from_a_larger_difference() -> None:
    """A hundredth of a centipawn for each unit is below the rounding of scores."""
    world = world_of((100.0, 50.0))
    world.counts = np.c_[world.counts, np.random.default_rng(1).normal(0, 0.01, len(world.counts))]
    optimiser = GaussNewton(
        [*parameters_of((60.0, 90.0)), TunedParameter("weak", 200.0, 0.0, 4000.0, integer=True)]
    )
    passes = run(optimiser, MemoryData(world))
    alone = [abs(p.theta[2] - 200) for p in passes if p.theta[:2] == (60, 90) and p.number]
    assert len(alone) == 2
    assert alone[1] > 5 * alone[0]


def test_own_step_of_a_parameter_is_the_distance_of_its_differences() -> None:
    stepped = [
        TunedParameter(f"w{i}", start, 0.0, 200.0, integer=True, step=7.0)
        for i, start in enumerate((60.0, 197.0))
    ]
    optimiser = GaussNewton(stepped)
    passes = run(optimiser, MemoryData(world_of((100.0, 50.0))))
    assert [p.theta for p in passes[1:3]] == [(67, 197), (60, 190)]


def test_groups_are_tuned_one_after_another_in_their_order() -> None:
    names = ("b", "a", "b", "a", None)
    parameters = [
        TunedParameter(f"w{i}", start, 0.0, 200.0, integer=True, group=name)
        for i, (start, name) in enumerate(zip(WRONG, names, strict=True))
    ]
    optimiser = GaussNewton(parameters, groups=["a", "b"])
    passes = run(optimiser, MemoryData(world_of(TRUE, games=1000)))
    assert [np.flatnonzero(np.subtract(p.theta, WRONG)).tolist() for p in passes[1:3]] == [[1], [3]]
    together = GaussNewton(parameters_of(WRONG))
    run(together, MemoryData(world_of(TRUE, games=1000)))
    assert optimiser.best == pytest.approx(together.best, abs=3)


def test_limit_of_passes_is_kept() -> None:
    for most in (1, 5, 6, 7, 8):
        optimiser = GaussNewton(parameters_of(WRONG), most_passes=most)
        assert len(run(optimiser, MemoryData(world_of(TRUE)))) <= most
    assert optimiser.best != WRONG


def test_strong_ridge_keeps_the_start_and_a_weak_one_does_not() -> None:
    actual = []
    for strength in (1e3, 1e-9):
        optimiser = GaussNewton(parameters_of(WRONG), ridge=[strength])
        run(optimiser, MemoryData(world_of(TRUE)))
        actual.append(optimiser.best)
    assert actual[0] == WRONG
    free = GaussNewton(parameters_of(WRONG))
    run(free, MemoryData(world_of(TRUE)))
    assert actual[1] == free.best


@pytest.mark.parametrize("validation", [0.3, 0.0])
def test_path_of_strengths_is_reported_and_its_best_is_used(validation: float) -> None:
    """Few games and many parameters: without a ridge they fit the noise."""
    true = [*TRUE, *[50.0] * 10]
    start = [value + 3 * (-1) ** i for i, value in enumerate(true)]
    errors = []
    whole = world_of(true, games=4000, seed=11)
    for ridge in (None, [None]):
        world = world_of(true, games=60, seed=5, validation=validation)
        optimiser = GaussNewton(parameters_of(start), ridge=ridge)
        run(optimiser, MemoryData(world))
        total = MemoryData(whole).loss.total(
            whole.scores(optimiser.best), whole.results, np.ones(len(whole.results))
        )
        errors.append(total.loss / total.weight)
    if not validation:
        assert errors[1] < errors[0] - 1e-3
    (path,) = optimiser.ridge_paths
    assert [row[0] for row in path.rows] == list(PATH)
    assert path.used in PATH
    trains = [row[1] for row in path.rows]
    assert trains == sorted(trains)


def test_validation_error_without_improvement_ends_the_tune() -> None:
    world = world_of(TRUE, games=60, crossed=True, validation=0.5)
    # validation wants smaller scores where training wants larger ones
    world.results[-world.held :] = 1 - world.results[-world.held :]
    start = (50.0, 25.0, 15.0, 10.0, 40.0)
    optimiser = GaussNewton(parameters_of(start), patience=1)
    run(optimiser, MemoryData(world))
    assert optimiser.best == start
    assert optimiser.best_pass == 0
    assert len([step for step in optimiser.course if step.taken]) == 2


def test_cross_entropy_is_minimised() -> None:
    world = world_of(TRUE, games=1500, validation=0.2)
    optimiser = GaussNewton(parameters_of(WRONG))
    run(optimiser, MemoryData(world, "cross_entropy"))
    assert optimiser.best == pytest.approx(TRUE, abs=15)
    assert optimiser.course[-1].train is not None
