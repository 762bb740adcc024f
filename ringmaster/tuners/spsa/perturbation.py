"""The two sides of an iteration."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.randomness import SPSA_STREAM, word_array
from ringmaster.tuners.spsa.space import Array, Space

Rounding = Literal["stochastic", "nearest"]


class Perturbation(msgspec.Struct, frozen=True, eq=False):
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


@lru_cache(maxsize=1024)
def draw(seed: int, iteration: int, count: int) -> tuple[Array, Array]:
    """Return δ and u (uniform in [0, 1)) of an iteration, (n,) each, not to be changed.

    The signs are the highest bits of the first n words, u the upper 53 bits of the next.
    """
    random = _random(seed, iteration, count)
    delta = np.where(random[:count] >> np.uint64(63), 1.0, -1.0)
    u = (random[count:] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    delta.setflags(write=False)
    u.setflags(write=False)
    return delta, u


def draw_signs(seed: int, iteration: int, count: int) -> Array:
    """Return ±1 for each parameter's midpoint, (n,): the second highest bits of the words
    of δ, independent of it."""
    random = _random(seed, iteration, count)
    return np.where(random[:count] & np.uint64(1 << 62), 1.0, -1.0)


@lru_cache(maxsize=1)
def _random(seed: int, iteration: int, count: int) -> npt.NDArray[np.uint64]:
    # for both of the above, which are asked one after the other
    return word_array(seed, SPSA_STREAM, iteration, 2 * count)


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
    if space.some_integer:
        offset = u if rounding == "stochastic" else np.full_like(u, 0.5)
        # max + u may be rounded up to max + 1
        whole_high = np.minimum(np.floor(high + offset), space.maximum)
        whole_low = np.minimum(np.floor(low + offset), space.maximum)
        if rounding == "stochastic":
            same = whole_high == whole_low
            free = whole_high < space.maximum
            whole_high = whole_high + (same & free)
            whole_low = whole_low - (same & ~free)
        high = np.where(space.integer, whole_high, high)
        low = np.where(space.integer, whole_low, low)
    up = delta > 0
    return np.where(up, high, low), np.where(up, low, high)
