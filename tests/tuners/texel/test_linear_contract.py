from __future__ import annotations

from collections.abc import Sequence

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.linear import Linear
from tests.contracts.optimiser_contract import SHARDS, TRUE, Make, OptimiserContract
from tests.tuners.texel.counts import Counts
from tests.tuners.texel.worlds import world_of


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


class TestLinearByLbfgs(OptimiserContract):
    @pytest.fixture
    def make(self, lbfgs: LinearMake) -> Make:
        return lbfgs


class TestLinearByAdam(OptimiserContract):
    @pytest.fixture
    def make(self) -> Make:
        return LinearMake("adam")
