from __future__ import annotations

from collections.abc import Sequence

import pytest

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.gauss_newton import GaussNewton
from ringmaster.tuners.texel.optimiser import Optimiser
from tests.contracts.optimiser_contract import SHARDS, Make, OptimiserContract
from tests.contracts.optimiser_contract import world as world


class TestGaussNewton(OptimiserContract):
    @pytest.fixture
    def make(self) -> Make:
        def made(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return GaussNewton(parameters)

        return made


class TestWithRidge(OptimiserContract):
    @pytest.fixture
    def make(self) -> Make:
        def made(
            parameters: Sequence[TunedParameter], *, seed: int = 0, shards: int = SHARDS
        ) -> Optimiser:
            return GaussNewton(parameters, ridge=[None], central=True, groups=[[0, 1], [2, 3]])

        return made
