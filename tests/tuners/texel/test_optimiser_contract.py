"""The optimisers that learn of errors alone keep the contract."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.genetic import Genetic
from ringmaster.tuners.texel.local_search import LocalSearch
from ringmaster.tuners.texel.optimiser import Optimiser
from ringmaster.tuners.texel.spsa_batches import SpsaBatches
from tests.contracts.optimiser_contract import SHARDS, Make, OptimiserContract, world

__all__ = ["world"]


class TestLocalSearch(OptimiserContract):
    @pytest.fixture(params=["given", "random"])
    def make(self, request: pytest.FixtureRequest) -> Make:
        def made(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return LocalSearch(parameters, seed=seed, order=request.param, strength=1e-4)

        return made


class TestGenetic(OptimiserContract):
    @pytest.fixture(params=[0.5, 1])
    def make(self, request: pytest.FixtureRequest) -> Make:
        def made(
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

        return made


class TestSpsaBatches(OptimiserContract):
    @pytest.fixture(params=["curvature", "steps"])
    def make(self, request: pytest.FixtureRequest) -> Make:
        def made(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return SpsaBatches(
                parameters,
                seed=seed,
                shards=shards,
                batch=1 / 3,
                scale_by=request.param,
                most_passes=60,
                strength=1e-4,
            )

        return made
