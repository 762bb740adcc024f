"""The contract of SPSA methods, and the methods with gain sequences."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import msgspec
import numpy as np

from ringmaster.tuners.space import Array, Flags, Space
from ringmaster.tuners.spsa.regression import C, Regression


class Gains(ABC):
    """Gain sequences: perturbation c(k) and apply factor R(k), each (n,).

    θ± = clip(θ ± c(k)·δ), then θ ← clip(θ + R(k)·d·(W−L)) with d = ±c(k).
    """

    @abstractmethod
    def c(self, k: float) -> Array:
        """Return the perturbation in the units of the parameters."""

    @abstractmethod
    def R(self, k: float) -> Array:  # noqa: N802 - the field's symbol
        """Return the relative apply factor a_k/c_k²."""


@dataclass(frozen=True, eq=False)
class Classic(Gains):
    """Spall's sequences in the form of the SPSA Tuner, fishtest and OpenBench.

        c₀ = c_end·N^γ     a_end = r_end·c_end²   a₀ = a_end·(A+N)^α
        c_k = c₀/k^γ       a_k = a₀/(A+k)^α       R_k = a_k/c_k²

    k, N and A have one unit.  As in OpenBench, least_c is a floor of c in R_k too.
    """

    c_end: Array
    r_end: Array
    N: float
    alpha: float
    gamma: float
    A: float
    least_c: Array

    def c(self, k: float) -> Array:
        return np.maximum(self.c_end * math.pow(self.N / k, self.gamma), self.least_c)

    def R(self, k: float) -> Array:  # noqa: N802
        decay = math.pow((self.A + self.N) / (self.A + k), self.alpha)
        # not a/c²: the square of a small c underflows
        return self.r_end * np.square(self.c_end / self.c(k)) * decay


@dataclass(frozen=True, eq=False)
class Constant(Gains):
    """Constant c and R (A = α = γ = 0), as in fishtest's Autoselect."""

    c_: Array
    r: Array

    def c(self, k: float) -> Array:
        return self.c_

    def R(self, k: float) -> Array:  # noqa: N802
        return self.r


class Annealing(msgspec.Struct, frozen=True):
    """A factor that falls exponentially to 1 over `games` games."""

    factor: float = 1.0
    games: float = 1.0

    def at(self, games: float) -> float:
        """Return the factor after a number of games."""
        return math.pow(self.factor, 1 - min(games / self.games, 1.0))


@dataclass(frozen=True, eq=False)
class Blog(Gains):
    """YaneuraOu's sequences: θ moves by ε·s⊙δ/2·(W−L); k counts games.

    s        perturbation after annealing, (n,)
    epsilon  ε after annealing, (n,): mobility times each parameter's delta
    """

    s: Array
    epsilon: Array
    s_annealing: Annealing
    epsilon_annealing: Annealing
    least_c: Array

    def c(self, k: float) -> Array:
        return np.maximum(self.s * self.s_annealing.at(k), self.least_c)

    def R(self, k: float) -> Array:  # noqa: N802
        return self.epsilon * (self.epsilon_annealing.at(k) / 2)


@dataclass(frozen=True, eq=False)
class WeatherFactory(Gains):
    """weather-factory's sequences; k counts games.

    a_t = a/(t+A)^α    c_t = c/t^γ    θ± = clip(θ ± step·c_t·δ)
    θ ← θ + step·δ·(W−L)·a_t/c_t
    """

    step: Array
    a: float
    c0: float
    A: float
    alpha: float
    gamma: float
    least_c: Array

    def c(self, k: float) -> Array:
        return np.maximum(self.step * self._c(k), self.least_c)

    def R(self, k: float) -> Array:  # noqa: N802
        a = self.a / math.pow(k + self.A, self.alpha)
        # a_t/c_t² unless c is floored
        return a * np.square(self.step / self.c(k))

    def _c(self, k: float) -> float:
        return self.c0 / math.pow(k, self.gamma)


class Autoselect(msgspec.Struct, frozen=True, eq=False):
    """Settings that fishtest's Autoselect derives from ranges.

    c, r     (n,) each
    lambdas  time constants in games, (n,)
    games    length of the tune: three times the longest time constant
    """

    c: Array
    r: Array
    lambdas: Array
    games: int

    @property
    def gains(self) -> Constant:
        return Constant(self.c, self.r)


def autoselect(
    space: Space, elo_per_parameter: float = 2.0, precision: float = 0.5, draw_ratio: float = 0.61
) -> Autoselect:
    """Return c, r and the number of games of fishtest's Autoselect.

        c = (max−min)/6                     r = 8·precision/(C·χ²₀.₉₅(n)·(1−d))
        Hᵢ = 2·elo/((max−min)/2)²           λᵢ = C/(2·r·cᵢ²·|Hᵢ|)

    elo_per_parameter  Elo lost at half a range from the optimum
    precision          largest Elo loss at the end of 95 % of all tunes
    """
    from scipy.special import gammaincinv

    n = len(space)
    quantile = 2 * float(gammaincinv(n / 2, 0.95))
    r = 8 * precision / (C * quantile * (1 - draw_ratio))
    c = np.maximum(space.width / 6, space.least_c)
    curvature = 2 * elo_per_parameter / np.square(space.width / 2)
    lambdas = C / (2 * r * np.square(c) * curvature)
    games = math.ceil(3 * float(lambdas.max()))
    return Autoselect(c, np.full(n, r), lambdas, games + games % 2)


#: A method's summary of the results: arrays by name, of constant size.
Memory = dict[str, Array]


class OptimumInterval(msgspec.Struct, frozen=True):
    """A method's knowledge of one parameter, in the parameter's units.

    optimum       its estimate, within the bounds like the interval
    low, high     95 % interval of the optimum
    elo_at_stake  expected Elo gain from the start to the estimate
    elo_deviation  its standard deviation, if the loss is a parabola
    signal        whether the results show an effect; a parameter without one is no reason to
                  leave the start
    """

    optimum: float
    low: float
    high: float
    elo_at_stake: float
    elo_deviation: float
    signal: bool


class Method(ABC):
    """Chooses perturbations and learns from results; keeps its state in a `Memory`.

    A memory belongs to one tune, or to many independent tunes at once.
    """

    space: Space
    #: Whether `place` uses signs.
    shifted = False

    @abstractmethod
    def c(self, k: float, memory: Memory | None = None) -> Array:
        """Return the perturbations of iteration k, (…, n).

        memory  None: no results; methods with gain sequences ignore it
        """

    def reach(self) -> Array:
        """Return the largest perturbations, (n,)."""
        return self.c(1)

    @abstractmethod
    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        """Return the memory of tunes without results."""

    @abstractmethod
    def resume(self, theta: Array, regression: Regression, iterations: int) -> Memory:
        """Return the memory of a tune that continues another one with this method.

        theta       the present θ, within the bounds, (n,)
        regression  of all results, in this method's space
        iterations  completed iterations
        """

    @abstractmethod
    def learn(
        self,
        memory: Memory,
        k: float,
        plus: Array,
        minus: Array,
        delta: Array,
        result: Array,
        games: float,
    ) -> None:
        """Learn from an iteration; changes `memory`.

        plus, minus, delta  the played values, (…, n)
        result  W − L of θ⁺ against θ⁻ over the iteration, (…); against a reference,
                W − L of θ⁺ minus W − L of θ⁻
        games   number of games of θ⁺
        """

    @abstractmethod
    def centre(self, memory: Memory) -> Array:
        """Return θ, the centre of the next iteration, (…, n)."""

    def place(
        self,
        iterations: Array,
        memory: Memory,
        theta: Array,
        c: Array,
        delta: Array,
        signs: Array,
    ) -> tuple[Array, Array]:
        """Return the midpoints and perturbations of iterations, broadcastable to (k, …, n).

        A negative perturbation reverses δ.

        iterations    numbers, from 1, (k,)
        theta, c      centre and perturbation, (…, n)
        delta, signs  independent random signs, (k, …, n); δ is the iterations' own
        """
        return theta, c

    def is_probe(self, iteration: float | Array) -> Flags:
        """Return whether iterations play θ + w·δ against θ, which has no part in a fit."""
        return np.zeros_like(iteration, dtype=np.bool_)

    def steady(self, memory: Memory) -> int:
        """Return the number of results until `centre`, `c` and `place` may change.

        It is at least 1.
        """
        return 1

    def estimate(self, memory: Memory) -> Array | None:
        """Return the method's estimate of the optimum, (…, n).

        None: the course of θ gives the estimate.
        """
        return None

    def remarks(self, memory: Memory) -> list[str]:
        """Return lines of the report about the state of one tune."""
        return []

    def intervals(self, memory: Memory) -> list[OptimumInterval] | None:
        """Return the method's knowledge of each parameter of one tune.

        None: the regression gives it.
        """
        return None


@dataclass(eq=False)
class GainMethod(Method):
    """θ ← clip(θ + R_k·d·(W−L)).

    nominal  whether d is c_k·δ (as in the SPSA Tuner, fishtest, OpenBench,
             weather-factory and YaneuraOu's tool) instead of the played difference

    Memory: theta (…, n).
    """

    space: Space
    gains: Gains
    nominal: bool = False

    def c(self, k: float, memory: Memory | None = None) -> Array:
        return self.gains.c(k)

    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        return {"theta": np.broadcast_to(self.space.start, (*shape, len(self.space))).copy()}

    def resume(self, theta: Array, regression: Regression, iterations: int) -> Memory:
        return {"theta": theta.copy()}

    def learn(
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
