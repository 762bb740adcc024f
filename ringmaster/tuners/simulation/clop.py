"""The test functions of R. Coulom, "CLOP: Confident Local Optimization for Noisy
Black-Box Parameter Tuning", Advances in Computer Games 13, 2011, of values in [−1, 1].

Each gives the log-odds S(v) of winning against a fixed opponent; two players of
strengths S and T play as two of these log-odds would, S − T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ringmaster.tuners.simulation.elo import EloModel
from ringmaster.tuners.spsa.space import Array, Space

#: Elo of one unit of log-odds.
_UNIT = 400 / math.log(10)


def _log(v: Array) -> Array:
    x = 2 * v + 1
    mean: Array = (2 * np.log(2 * x + 2.1) - 2 * x - 1).mean(axis=-1)
    return mean


def _flat(v: Array) -> Array:
    d = v[..., 0] + 0.6
    return 0.2 / (1 + 6 * d * d + d**3)


def _power(v: Array) -> Array:
    u = (v[..., 0] + 1) / 2
    return 0.2 * u * u - u**20


def _angle(v: Array) -> Array:
    d = v[..., 0] + 0.2
    above = np.sqrt(np.maximum(d, 0.0) + 2)
    below = 2 * np.sqrt(0.5 - np.minimum(d, 0.0))
    return 1 - (np.where(d > 0, above, below) - math.sqrt(2))


def _rosenbrock(v: Array) -> Array:
    x, y = 4 * v[..., 0], 10 * v[..., 1] + 4
    return 1 - 0.1 * (np.square(1 - x) + np.square(y - x * x))


def _correlated(v: Array) -> Array:
    def f(t: Array) -> Array:
        return t * t * (t * (1 - t) - 1)

    a, b = v[..., 0] + v[..., 1] + 0.1, v[..., 0] - v[..., 1] + 0.9
    return 0.2 * (f(10 * a) + f(b)) + 0.1


@dataclass(frozen=True)
class ClopFunction:
    """S by name: its number of values (0: any), and where it is greatest."""

    strength: Callable[[Array], Array]
    count: int
    optimum: tuple[float, ...]


#: By name; the optima are where the derivatives vanish (of angle: where they jump).
CLOP_FUNCTIONS: Mapping[str, ClopFunction] = {
    # the mean over all values: LOG of one, LOG2 of two
    "log": ClopFunction(_log, 0, (-0.525,)),
    "flat": ClopFunction(_flat, 1, (-0.6,)),
    "power": ClopFunction(_power, 1, (2 * 0.02 ** (1 / 18) - 1,)),
    "angle": ClopFunction(_angle, 1, (-0.2,)),
    "rosenbrock": ClopFunction(_rosenbrock, 2, (0.25, -0.3)),
    "correlated": ClopFunction(_correlated, 2, (-0.5, 0.4)),
}


@dataclass(frozen=True, eq=False)
class Clop(EloModel):
    """One of the functions, stretched over the range of each parameter.

    Raises ValueError from `of` when it is not one of so many parameters.
    """

    name: str
    low: Array
    width: Array

    @classmethod
    def of(cls, name: str, space: Space) -> Clop:
        """Return the model of a tune's parameters."""
        count = CLOP_FUNCTIONS[name].count
        if count and count != len(space):
            raise ValueError(f"clop-{name} is a function of {count}, not {len(space)} parameters")
        return cls(name, space.minimum, space.width)

    def _strength(self, x: Array) -> Array:
        return CLOP_FUNCTIONS[self.name].strength(2 * (x - self.low) / self.width - 1)

    @property
    def optimum(self) -> Array:
        """The values of the strongest player, (n,)."""
        best = np.array(CLOP_FUNCTIONS[self.name].optimum)
        return self.low + (best + 1) / 2 * self.width

    def loss(self, x: Array) -> Array:
        return _UNIT * (self._strength(self.optimum) - self._strength(x))

    def at(self, optimum: Array) -> Clop:
        raise ValueError(f"the optimum of clop-{self.name} is where it is")
