from __future__ import annotations

from collections.abc import Sequence

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.linear import Linear
from tests.contracts.optimiser_contract import (
    PARAMETERS,
    SHARDS,
    TRUE,
    Drive,
    Make,
    OptimiserContract,
    world,
)
from tests.tuners.texel.counts import Counts
from tests.tuners.texel.worlds import MemoryData, world_of

__all__ = ["world"]


class LinearMake:
    """Makes optimisers that know the counts of the contract's world."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.world = world_of(TRUE, games=150, per_game=6, seed=2)

    def __call__(
        self, parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
    ) -> Linear:
        made = Linear(parameters, method=self.method, seed=seed, batch=128, threads=1)  # type: ignore[arg-type]
        made.set_features(Counts.of(self.world.counts, [p.code for p in parameters]))
        return made


@pytest.fixture(scope="module")
def lbfgs() -> LinearMake:
    return LinearMake("lbfgs")


class LinearContract(OptimiserContract):
    def test_engine_that_never_changes_its_scores_leaves_everything_at_the_start(
        self, make: Make
    ) -> None:
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


class TestLinearByAdam(LinearContract):
    @pytest.fixture
    def make(self) -> Make:
        return LinearMake("adam")
