"""The ridge: a penalty for going away from the start values, so that parameters of which the
positions say little stay where an engine's author had them.

    penalty(θ) = strength · Σ ((θ − start)/(max − min))²

is added to the mean loss of training.  A parameter's own range is its scale, so one strength
does for all: a strength of 0.001 lets a parameter go a tenth of its range for 10⁻⁵ of error.
(Hoerl & Kennard, "Ridge regression", 1970; here the start is what is shrunk to.)
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.loss import Array

#: The strengths that are tried where none is given: none, and from 10⁻⁶ to 1 in half decades.
PATH = (0.0, *(float(f"{10 ** (k / 2):.3g}") for k in range(-12, 1)))
#: What a method takes that can try one only.
DEFAULT_STRENGTH = 1e-3


def strengths_of(ridge: Sequence[float | None] | None) -> tuple[float, ...]:
    """Return the strengths to be tried: 0 alone for None, the path for each None in it."""
    if ridge is None:
        return (0.0,)
    found = {s for each in ridge for s in (PATH if each is None else (each,))}
    return tuple(sorted(found)) or (0.0,)


class Penalty(msgspec.Struct, frozen=True, eq=False):
    """The ridge of a space with one strength."""

    space: Space
    strength: float

    def __call__(self, theta: Sequence[float] | Array) -> float:
        """Return what is added to the mean loss at θ, (n,)."""
        return float(self.strength * np.square(ridge_distance(self.space, theta)).sum())

    def slope(self, theta: Sequence[float] | Array) -> Array:
        """Return ∂penalty/∂θ, (n,)."""
        return 2 * self.strength * ridge_distance(self.space, theta) / ridge_scale(self.space)


def ridge_scale(space: Space) -> Array:
    """Return the length that counts as 1 for each parameter, (n,): its range."""
    return np.where(space.width > 0, space.width, 1.0)


def ridge_distance(space: Space, theta: Sequence[float] | Array) -> Array:
    """Return how far θ is from the start, in ranges, (n,)."""
    return (np.asarray(theta, dtype=np.float64) - space.start) / ridge_scale(space)
