"""How strong a simulated player is with given parameter values."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ringmaster.tuners.spsa.space import Array

#: Of a distance from the optimum in scales, (…, n), and a constant: the share of the
#: Elo at stake that is lost, 1 at a distance of one scale below the optimum.
Shape = Callable[[Array, float], Array]


def _quadratic(u: Array, _: float) -> Array:
    return np.square(u)


def _power(u: Array, exponent: float) -> Array:
    found: Array = np.power(np.abs(u), exponent)
    return found


def _saturating(u: Array, width: float) -> Array:
    return np.expm1(-np.square(u / width)) / math.expm1(-(width**-2.0))


def _asymmetric(u: Array, ratio: float) -> Array:
    return np.where(u > 0, ratio, 1.0) * np.square(u)


#: Shapes by name, each with its constant's default.
#:
#: quadratic      u²
#: power          |u|^p
#: saturating     1 − exp(−(u/w)²), in units of what that is at u = 1
#: asymmetric     u² below the optimum, q·u² above it
SHAPES: Mapping[str, tuple[Shape, float]] = {
    "quadratic": (_quadratic, 1.0),
    "power": (_power, 1.5),
    "saturating": (_saturating, 0.5),
    "asymmetric": (_asymmetric, 4.0),
}


class EloModel(ABC):
    """A player's strength as a function of its values."""

    @abstractmethod
    def loss(self, x: Array) -> Array:
        """Return by how many Elo players are below the optimum, (…), at x, (…, n)."""

    @abstractmethod
    def at(self, optimum: Array) -> EloModel:
        """Return the same model with its optimum elsewhere, (n,) or one for each
        replicate, (replicates, n).  Raises ValueError where that is not possible."""


@dataclass(frozen=True, eq=False)
class Shaped(EloModel):
    """Each parameter costs Elo by its distance from the optimum.

        gᵢ = sign(uᵢ)·√(eᵢ·shape(uᵢ))      uᵢ = (xᵢ − oᵢ)/scaleᵢ
        loss = g·K·g

    optimum      o, (n,) or (replicates, n)
    elo          e, Elo lost at one scale below the optimum, (n,)
    scale        (n,)
    shape, constant  one of SHAPES and its constant
    correlation  K − 1 off the diagonal: how much two errors of one sign make each other
                 worse; from −1/(n−1) to 1
    """

    optimum: Array
    elo: Array
    scale: Array
    shape: str = "quadratic"
    constant: float = 1.0
    correlation: float = 0.0

    def loss(self, x: Array) -> Array:
        u = (x - self.optimum) / self.scale
        share = SHAPES[self.shape][0](u, self.constant)
        if not self.correlation:
            found: Array = share @ self.elo
            return found
        g = np.copysign(np.sqrt(share * self.elo), u)
        own, total = np.square(g).sum(axis=-1), g.sum(axis=-1)
        lost: Array = (1 - self.correlation) * own + self.correlation * np.square(total)
        return lost

    def at(self, optimum: Array) -> Shaped:
        return dataclasses.replace(self, optimum=optimum)


def spsa_tuner(elo: Array) -> Shaped:
    """Return the SPSA Tuner's own model: Elo = −0.0001·e·x², (n,), about 0."""
    return Shaped(np.zeros(len(elo)), elo, np.full(len(elo), 100.0))
