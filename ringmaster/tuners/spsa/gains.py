"""Gain sequences: how far iteration k perturbs, and how far its result moves θ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import msgspec
import numpy as np

from ringmaster.tuners.spsa.space import Array, Space

#: Elo for a point of expected W−L a game between near equals: E[W−L] = Δ/C.
C = 800 / math.log(10)


class Gains(ABC):
    """Two sequences, each (n,) for every k.

    θ± = clip(θ ± c(k)·δ), then θ ← clip(θ + R(k)·d·(W−L)) with d = ±c(k).
    """

    @abstractmethod
    def c(self, k: float) -> Array:
        """Return the perturbation, in the parameters' units."""

    @abstractmethod
    def R(self, k: float) -> Array:  # noqa: N802 - the field's symbol
        """Return the relative apply factor a_k/c_k²."""


@dataclass(frozen=True, eq=False)
class Classic(Gains):
    """Spall's sequences as the SPSA Tuner, fishtest and OpenBench set them.

        c₀ = c_end·N^γ     a_end = r_end·c_end²   a₀ = a_end·(A+N)^α
        c_k = c₀/k^γ       a_k = a₀/(A+k)^α       R_k = a_k/c_k²

    k, N and A are in one unit.  least_c: OpenBench's floor of c, in R_k too.
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
        # not as a/c²: the squares of a small c vanish
        return self.r_end * np.square(self.c_end / self.c(k)) * decay


@dataclass(frozen=True, eq=False)
class Constant(Gains):
    """The same c and R for every k (A = α = γ = 0), as fishtest's Autoselect has them."""

    c_: Array
    r: Array

    def c(self, k: float) -> Array:
        return self.c_

    def R(self, k: float) -> Array:  # noqa: N802
        return self.r


class Annealing(msgspec.Struct, frozen=True):
    """From `factor` down to 1, exponentially over `games` games, then 1."""

    factor: float = 1.0
    games: float = 1.0

    def at(self, games: float) -> float:
        """Return the factor after so many games."""
        return math.pow(self.factor, 1 - min(games / self.games, 1.0))


@dataclass(frozen=True, eq=False)
class Blog(Gains):
    """YaneuraOu's: θ moves by ε·s⊙δ/2 for each win more than losses; k counts games.

    s        perturbation once it is annealed, (n,)
    epsilon  ε once it is annealed, (n,): mobility times each parameter's delta
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
    """weather-factory's; k counts games.

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
        # a_t/c_t² as long as c is not floored
        return a * np.square(self.step / self.c(k))

    def _c(self, k: float) -> float:
        return self.c0 / math.pow(k, self.gamma)


class Autoselect(msgspec.Struct, frozen=True, eq=False):
    """What fishtest's Autoselect derives from ranges.

    c, r     (n,) each
    lambdas  time constants, games, (n,)
    games    what the tune needs: three times the longest time constant
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
    """Return c, r and the number of games that fishtest's Autoselect takes.

        c = (max−min)/6                     r = 8·precision/(C·χ²₀.₉₅(n)·(1−d))
        Hᵢ = 2·elo/((max−min)/2)²           λᵢ = C/(2·r·cᵢ²·|Hᵢ|)

    elo_per_parameter  Elo lost at half a range from the optimum
    precision          Elo lost in the end, in 95 % of all tunes
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
