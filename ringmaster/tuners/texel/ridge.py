"""The ridge, which keeps parameters near their start values where the positions say little.

    penalty(θ) = strength · Σ ((θ − start)/(max − min))²

is added to the mean loss of training.  Lengths are in ranges, so one strength serves all
parameters: with strength 0.001, a change by a tenth of the range costs an error of 10⁻⁵
(Hoerl & Kennard, "Ridge regression", 1970; here values shrink towards the start).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.loss import Array

#: Strengths of the usual path: 0, and 10⁻⁶ to 1 in half decades.
PATH = (0.0, *(float(f"{10 ** (k / 2):.3g}") for k in range(-12, 1)))
#: Default of methods that try one strength only.
DEFAULT_STRENGTH = 1e-3

#: Title, headers and rows.
OwnTable = tuple[str, tuple[str, ...], list[tuple[Any, ...]]]


def strengths_of(ridge: Sequence[float | None] | None) -> tuple[float, ...]:
    """Return the strengths to try: (0,) for None, the usual path for each None in `ridge`."""
    if ridge is None:
        return (0.0,)
    strengths = {s for each in ridge for s in (PATH if each is None else (each,))}
    return tuple(sorted(strengths)) or (0.0,)


class Penalty(msgspec.Struct, frozen=True, eq=False):
    """The ridge penalty for one strength, and a damping of steps.

    damping  second derivatives, (n,): ½·Σ damping·(θ − base)² is added
    """

    space: Space
    strength: float
    damping: Array | float = 0.0
    base: Array | float = 0.0

    def __call__(self, theta: Sequence[float] | Array) -> float:
        """Return the penalty at θ, (n,)."""
        ridge = self.strength * np.square(self._distance(theta)).sum()
        damped = self.damping * np.square(np.asarray(theta) - self.base)
        return float(ridge + damped.sum() / 2)

    def slope(self, theta: Sequence[float] | Array) -> Array:
        """Return ∂penalty/∂θ, (n,)."""
        ridge = 2 * self.strength * self._distance(theta) / self.space.scale
        return np.asarray(ridge + self.damping * (np.asarray(theta) - self.base))

    @property
    def curvature(self) -> Array:
        """∂²penalty/∂θ², (n,)."""
        return 2 * self.strength / np.square(self.space.scale) + self.damping

    def _distance(self, theta: Sequence[float] | Array) -> Array:
        """Return θ − start in ranges, (n,)."""
        return (np.asarray(theta, dtype=np.float64) - self.space.start) / self.space.scale


class RidgePath(msgspec.Struct, frozen=True):
    """Errors at each strength of the ridge.

    rows  strength, training error, validation error (None without validation), largest change
          from the start as a share of the range
    used  the strength of the last step
    """

    title: str
    rows: Sequence[tuple[float, float | None, float | None, float]]
    used: float | None

    @property
    def edge(self) -> str:
        """A remark if the used strength is the last of those tried, "" otherwise."""
        tried = [row[0] for row in self.rows]
        if self.used is None or len(tried) < 2 or min(tried) < self.used < max(tried):
            return ""
        if self.used == max(tried):
            more = "a stronger ridge may be better: the positions hardly move the values"
            return f"{self.used:g} is the strongest of those tried; {more}"
        if self.used == 0:
            return "0, no ridge, is the weakest of those tried; the positions need no ridge"
        return f"{self.used:g} is the weakest of those tried; a weaker ridge may be better"

    def table(self) -> OwnTable:
        headers = ("strength", "training", "validation", "farthest from start", "")
        rows: list[tuple[Any, ...]] = [
            (*errors, f"{farthest:.1%} of range", "used" if errors[0] == self.used else None)
            for *errors, farthest in self.rows
        ]
        return "; ".join(filter(None, (self.title, self.edge))), headers, rows
