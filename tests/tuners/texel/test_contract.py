"""All optimisers but Gauss-Newton keep the contract (for that see test_gauss_newton.py)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.genetic import Genetic
from ringmaster.tuners.texel.linear import Linear
from ringmaster.tuners.texel.local_search import LocalSearch
from ringmaster.tuners.texel.optimiser import Optimiser
from ringmaster.tuners.texel.spsa_batches import SpsaBatches
from tests.contracts.optimiser_contract import (
    PARAMETERS,
    SHARDS,
    TRUE,
    Drive,
    Make,
    OptimiserContract,
    world,
)
from tests.tuners.texel.worlds import Counts, MemoryData, world_of

__all__ = ["world"]


class TestLocalSearch(OptimiserContract):
    @pytest.fixture
    def make(self) -> Make:
        def build(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return LocalSearch(parameters, seed=seed, strength=1e-4)

        return build


class TestGenetic(OptimiserContract):
    @pytest.fixture(params=[0.5, 1])
    def make(self, request: pytest.FixtureRequest) -> Make:
        def build(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return Genetic(
                parameters,
                seed=seed,
                shards=shards,
                population=16,
                generations=12,
                batch=request.param,
                check=4,
                strength=1e-4,
            )

        return build


class TestSpsaBatches(OptimiserContract):
    @pytest.fixture
    def make(self) -> Make:
        def build(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return SpsaBatches(
                parameters,
                seed=seed,
                shards=shards,
                batch=1 / 3,
                most_passes=60,
                strength=1e-4,
            )

        return build


__all__ = ["world"]


class LinearMake:
    """Makes optimisers that know the counts of the contract's world."""

    def __init__(self) -> None:
        self.world = world_of(TRUE, games=150, per_game=6, seed=2)

    def __call__(
        self, parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
    ) -> Linear:
        optimiser = Linear(
            parameters,
            seed=seed,
            ridge=(0.0, 1e-3),
        )
        optimiser.set_features(Counts.of(self.world.counts, [p.code for p in parameters]))
        return optimiser


@pytest.fixture(scope="module")
def lbfgs() -> LinearMake:
    return LinearMake()


class LinearContract(OptimiserContract):
    def test_constant_scores_leave_all_values_at_the_start(self, make: Make) -> None:
        silent = world_of(TRUE, games=150, per_game=6, seed=2)
        silent.counts = silent.counts * 0
        drive = Drive(make(PARAMETERS), MemoryData(silent, shards=SHARDS)).to_the_end()
        assert drive.optimiser.finished()
        assert drive.optimiser.best == tuple(p.start for p in PARAMETERS)
        assert drive.optimiser.best_pass == 0
        assert isinstance(drive.optimiser, Linear)
        assert "the engine's scores do not change" in (drive.optimiser.problem or "")


class TestLinearByLbfgs(LinearContract):
    @pytest.fixture
    def make(self, lbfgs: LinearMake) -> Make:
        return lbfgs
