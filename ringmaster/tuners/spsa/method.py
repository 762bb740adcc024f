"""What a tune makes of results: the contract of the methods, and the one that all
with gain sequences share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import msgspec
import numpy as np

from ringmaster.tuners.spsa.gains import Gains
from ringmaster.tuners.spsa.regression import Regression
from ringmaster.tuners.spsa.space import Array, Space

#: What a method remembers of the results: arrays by name, of any size that does not
#: grow with their number.
Memory = dict[str, Array]


class Interval(msgspec.Struct, frozen=True):
    """What a method knows of one parameter, in its own units.

    low, high     95 % interval of the optimum, within the bounds
    elo_at_stake  Elo expected to be gained from the start to the estimate
    signal        whether results say anything of the optimum
    """

    low: float
    high: float
    elo_at_stake: float
    signal: bool


class Method(ABC):
    """How far to perturb, and what to learn; holds no state of its own.

    A memory is of one tune, or of many independent ones at once (shape); `take` and
    `centre` then work on all of them.
    """

    space: Space

    @abstractmethod
    def c(self, k: float, memory: Memory | None = None) -> Array:
        """Return the perturbations of iteration k, (…, n).

        memory  what has been learnt, None: nothing yet; methods with gain sequences
                do not look at it
        """

    @abstractmethod
    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        """Return the memory of tunes that have no result."""

    @abstractmethod
    def resume(self, theta: Array, regression: Regression, told: int) -> Memory:
        """Return the memory of a tune that goes on with this method, or with other
        parameters or bounds, from where another one has come.

        theta       where that is, within the bounds, (n,)
        regression  all results, of this method's space
        told        how many iterations they are of
        """

    @abstractmethod
    def take(
        self,
        memory: Memory,
        k: float,
        plus: Array,
        minus: Array,
        delta: Array,
        result: Array,
        games: float,
    ) -> None:
        """Learn from an iteration; `memory` is changed.

        plus, minus, delta  (…, n), as they were played
        result  W − L of θ⁺ against θ⁻ summed over the iteration's games, (…); where
                each plays a third player, W − L of θ⁺ less W − L of θ⁻
        games   how many games of θ⁺ that is
        """

    @abstractmethod
    def centre(self, memory: Memory) -> Array:
        """Return θ, about which the next iteration plays, (…, n)."""

    def shift(self, memory: Memory) -> Array | None:
        """Return how far the midpoint of the next iteration is from θ, up or down at
        random, (…, n); None: it is θ."""
        return None

    def steady(self, memory: Memory) -> int:
        """Return after how many further results `centre`, `c` and `shift` may change,
        at least 1."""
        return 1

    def estimate(self, memory: Memory) -> Array | None:
        """Return what the method takes for the optimum, (…, n); None when that is
        to be found from the course of θ."""
        return None

    def intervals(self, memory: Memory) -> list[Interval] | None:
        """Return what the method knows of each parameter of one tune, None when that
        is to be found by regression."""
        return None


@dataclass(eq=False)
class GainMethod(Method):
    """θ ← clip(θ + R_k·d·(W−L)).

    nominal  whether d is c_k·δ, as the SPSA Tuner, fishtest, OpenBench, weather-factory
             and YaneuraOu's tool have it, and not the difference that was really
             played after clipping and rounding

    Its memory: theta (…, n).
    """

    space: Space
    gains: Gains
    nominal: bool = False

    def c(self, k: float, memory: Memory | None = None) -> Array:
        return self.gains.c(k)

    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        return {"theta": np.broadcast_to(self.space.start, (*shape, len(self.space))).copy()}

    def resume(self, theta: Array, regression: Regression, told: int) -> Memory:
        return {"theta": theta.copy()}

    def take(
        self,
        memory: Memory,
        k: float,
        plus: Array,
        minus: Array,
        delta: Array,
        result: Array,
        games: float,
    ) -> None:
        d = self.gains.c(k) * delta if self.nominal else (plus - minus) / 2
        step = self.gains.R(k) * d * np.asarray(result)[..., np.newaxis]
        memory["theta"] = self.space.clip(memory["theta"] + step)

    def centre(self, memory: Memory) -> Array:
        return memory["theta"]
