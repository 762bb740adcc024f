from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.linear import Linear
from ringmaster.tuners.texel.loss import sigmoid
from ringmaster.tuners.texel.optimiser import Errors
from tests.tuners.texel.worlds import Counts, MemoryData, World, parameters_of, run, world_of

NAMES = ("a", "b", "c", "d")


class TaperedWorld(World):
    """A world with scores ph·(A·θ_mg) + (1 − ph)·(A·θ_eg) + an untuned part.

    The targets are the win probabilities of the true scores.
    """

    @classmethod
    def build(cls, true: Sequence[float], seed: int = 0, n: int = 3000) -> TaperedWorld:
        rng = np.random.default_rng(seed)
        features = rng.integers(-2, 3, (n, len(true) // 2)).astype(float)
        phase = rng.integers(0, 25, n) / 24
        counts = np.empty((n, len(true)))
        counts[:, 0::2] = features * phase[:, np.newaxis]
        counts[:, 1::2] = features * (1 - phase)[:, np.newaxis]
        world = cls(counts, np.zeros(n), (np.arange(n) // 10).astype(np.uint32), n // 5, 200.0)
        world.whole = False
        world.features, world.phase = features, phase.astype(np.float32)
        world.rest = rng.normal(0, 80, n)
        world.results = sigmoid(world.scores(true) / 200.0)
        return world

    features: Any
    phase: Any
    rest: Any

    def scores(self, theta: Any) -> Any:
        return (super().scores(theta) + self.rest).astype(np.float32)


TRUE = (90.0, 120.0, 310.0, 280.0, 30.0, 55.0)


@pytest.mark.parametrize("kind", ["squared", "cross_entropy"])
def test_known_tapered_weights_are_found(kind: Any) -> None:
    world = TaperedWorld.build(TRUE)
    codes = [f"{name}_{half}" for name in "xyz" for half in ("mg", "eg")]
    parameters = [
        TunedParameter(code, start, 0, 400, integer=True)
        for code, start in zip(codes, (150, 60, 200, 200, 100, 0), strict=True)
    ]
    optimiser = Linear(parameters, tapered=True, ridge=None)
    optimiser.set_features(Counts.of(world.features, ("x", "y", "z"), world.phase))
    passes = run(optimiser, MemoryData(world, kind))
    assert len(passes) == 3
    assert optimiser.best == TRUE
    assert optimiser.best_pass == 2


def linear(world: World, start: Sequence[float] = (60, 60, 60, 60), **arguments: Any) -> Linear:
    optimiser = Linear(parameters_of(start), **arguments)
    optimiser.set_features(Counts.of(world.counts, [p.code for p in optimiser.parameters]))
    return optimiser


class FrozenWorld(World):
    """A world whose second and fourth weights are not tuned."""

    def scores(self, theta: Any) -> Any:
        return super().scores((theta[0], 20.0, theta[1], 50.0))


def test_untuned_part_of_the_score_goes_into_the_offset() -> None:
    world = FrozenWorld(**vars(world_of((80.0, 20.0, 120.0, 50.0), games=1500, seed=1)))
    parameters = [TunedParameter("w0", 60, 0, 200), TunedParameter("w2", 60, 0, 200)]
    optimiser = Linear(parameters, ridge=None)
    counts = Counts.of(world.counts, ["w0", "w1", "w2", "w3"])
    optimiser.set_features(counts)
    run(optimiser, MemoryData(world))
    assert optimiser.intervals is not None
    low, high = optimiser.intervals
    assert ((low < (80, 120)) & (high > (80, 120))).all()
    assert (high - low < 60).all()


def test_counts_of_the_side_to_move_are_refused_with_a_reason() -> None:
    world = world_of((80.0, 20.0), games=200, seed=1)
    signs = np.where(np.arange(len(world.counts)) % 2, 1, -1)[:, np.newaxis]
    optimiser = Linear(parameters_of((60, 60)))
    optimiser.set_features(Counts.of(world.counts * signs, ["w0", "w1"]))
    data = MemoryData(world)
    passes = run(optimiser, data)
    assert len(passes) == 2
    assert "the signs of some differ; counts must be White's" in (optimiser.problem or "")
    assert optimiser.best == (60, 60)
    assert optimiser.best_pass == 0
    assert sorted(data.kept) == [0]


def test_counts_in_another_unit_are_refused() -> None:
    world = world_of((80.0, 20.0), games=200, seed=1)
    optimiser = Linear(parameters_of((60, 60)))
    optimiser.set_features(Counts.of(world.counts * 100, ["w0", "w1"]))
    run(optimiser, MemoryData(world))
    assert "slope 0.010" in (optimiser.problem or "")
    assert "scale the counts" in (optimiser.problem or "")


def test_unrelated_counts_are_refused() -> None:
    world = world_of((80.0, 20.0), games=200, seed=1)
    other = np.random.default_rng(5).normal(size=world.counts.shape)
    optimiser = Linear(parameters_of((60, 60)))
    optimiser.set_features(Counts.of(other, ["w0", "w1"]))
    run(optimiser, MemoryData(world))
    assert "names of the features" in (optimiser.problem or "")


def test_positions_without_a_score_are_ignored() -> None:
    world = world_of((80.0, 20.0), games=400, seed=1)
    best = []
    for broken in (False, True):
        data = MemoryData(world)
        optimiser = linear(world, (60, 60))
        while (asked := optimiser.ask()) is not None:
            errors = data.play(asked)
            if broken:
                scores = data.kept[asked.number].copy()
                scores[::7] = np.nan
                data.kept[asked.number] = scores
            optimiser.tell(asked.number, errors, data)
        best.append(optimiser.best)
        assert optimiser.problem is None
    assert best[0] != (60, 60)
    assert np.abs(np.subtract(*best)).max() < 20


@pytest.mark.slow
def test_intervals_cover_the_truth_at_their_nominal_rate() -> None:
    true = np.array((80.0, 20.0, 120.0, 50.0))
    inside = []
    for seed in range(20):
        world = world_of(true.tolist(), games=200, seed=seed)
        optimiser = linear(world, ridge=None)
        run(optimiser, MemoryData(world))
        if optimiser.intervals is not None:
            low, high = optimiser.intervals
            inside += ((low <= true) & (true <= high)).tolist()
    assert len(inside) == 80
    assert 72 <= sum(inside) < 80


def test_result_that_does_not_lower_the_error_is_damped() -> None:
    world = world_of((80.0, 20.0, 120.0), games=300, seed=1)
    optimiser, data = linear(world, (60, 60, 60), check=False, ridge=None), MemoryData(world)
    while (asked := optimiser.ask()) is not None:
        errors = Errors(1.0, 1.0) if asked.number == 1 else data.play(asked)
        data.kept[asked.number] = world.scores(asked.theta)
        data.forget(optimiser.tell(asked.number, errors, data))
    start, refused, damped = optimiser.course
    assert [start.taken, refused.taken, damped.taken] == [True, False, True]
    assert damped.extra["damping"] == 1
    steps = [np.abs(np.subtract(step.theta, start.theta)).sum() for step in (refused, damped)]
    assert steps[0] > 1.2 * steps[1] > 0
    assert optimiser.best == damped.theta


def test_absent_feature_is_flagged_and_keeps_its_weight() -> None:
    world = world_of((80.0, 20.0, 120.0), games=300, seed=1)
    world.counts = world.counts.copy()
    world.counts[:, 1] = 0
    optimiser = linear(world, (60, 60, 60))
    run(optimiser, MemoryData(world))
    assert optimiser.best[1] == 60
    assert optimiser.flags()[1] == ("no signal",)


def test_features_of_other_positions_are_refused() -> None:
    world = world_of((80.0, 20.0), games=100)
    optimiser = Linear(parameters_of((60, 60)))
    optimiser.set_features(Counts.of(world.counts[:-1], ["w0", "w1"]))
    data = MemoryData(world)
    asked = optimiser.ask()
    assert asked is not None
    with pytest.raises(ValueError, match="features of 799 positions, but 800 positions"):
        optimiser.tell(0, data.play(asked), data)


def test_tapered_evaluation_without_phases_is_refused() -> None:
    optimiser = Linear([TunedParameter("a_mg", 60, 0, 100)], tapered=True)
    with pytest.raises(ValueError, match="needs the phase of each position"):
        optimiser.set_features(Counts.of(np.ones((3, 1)), ["a"]))
