"""The two sides of an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ringmaster.model.randomness import SPSA_STREAM, uniform, words
from ringmaster.tuners.spsa.space import Array, Space

Rounding = Literal["stochastic", "nearest"]


@dataclass(frozen=True, eq=False)
class Perturbation:
    """One iteration: what the two sides play with; arrays (n,).

    iteration    from 1
    k            what the gain sequences count, see `tuner.Counting`
    theta        θ when the iteration was asked for
    delta        ±1 for each parameter
    plus, minus  the values played
    """

    iteration: int
    k: float
    theta: Array
    delta: Array
    plus: Array
    minus: Array

    def differences(self) -> Array:
        """Return (θ⁺ − θ⁻)/2 as it is really played."""
        return (self.plus - self.minus) / 2


def draw(seed: int, iteration: int, count: int) -> tuple[Array, Array]:
    """Return δ and u (uniform in [0, 1)) of an iteration, (n,) each."""
    random = words(seed, SPSA_STREAM, iteration, 2 * count)
    delta = np.array([1.0 if word >> 63 else -1.0 for word in random[:count]])
    return delta, np.array([uniform(word) for word in random[count:]])


def sides(
    space: Space, theta: Array, c: Array, delta: Array, u: Array, rounding: Rounding
) -> tuple[Array, Array]:
    """Return θ⁺ and θ⁻ as they are played; all arrays (…, n).

    Integer parameters are rounded with one uniform u for both sides, floor(v + u),
    so that rounding is unbiased and can neither hide nor reverse a perturbation of
    at least ½; where a bound makes both sides equal, the free side moves by one.
    "nearest" rounds each side by itself, halves upwards: both may become equal.
    """
    high = np.minimum(theta + c, space.maximum)
    low = np.maximum(theta - c, space.minimum)
    if space.integer.any():
        offset = u if rounding == "stochastic" else np.full_like(u, 0.5)
        high = np.where(space.integer, np.floor(high + offset), high)
        low = np.where(space.integer, np.floor(low + offset), low)
        if rounding == "stochastic":
            same = space.integer & (high == low)
            free = high < space.maximum
            high = np.where(same & free, high + 1, high)
            low = np.where(same & ~free, low - 1, low)
    up = delta > 0
    return np.where(up, high, low), np.where(up, low, high)
