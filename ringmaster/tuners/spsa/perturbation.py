"""Iterations: their numbering k, their random numbers, and the values of both sides."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.randomness import SPSA_STREAM, word_array
from ringmaster.tuners.space import Array, Space

Rounding = Literal["stochastic", "nearest"]
Counts = Literal["iterations", "pairs", "games"]


class Counting(msgspec.Struct, frozen=True):
    """The unit of k in gain sequences.

    "iterations"  1, 2, 3, … (SPSA Tuner, OpenBench)
    "pairs"       1 + pairs begun before the iteration (fishtest)
    "games"       games up to and including the iteration (weather-factory, YaneuraOu)

    fishtest counts completed pairs; counting pairs as they begin makes k independent of
    the order of results.  Both agree with one iteration in progress at a time.

    earlier  (iterations, games of each) before `games_per_iteration` was edited
    """

    counts: Counts = "iterations"
    games_per_iteration: int = 2
    earlier: tuple[tuple[int, int], ...] = ()

    def games_before(self, iteration: int) -> int:
        """Return the number of games before an iteration, which counts from 1."""
        games, left = 0, iteration - 1
        for iterations, size in self.earlier:
            if left < iterations:
                return games + left * size
            games, left = games + iterations * size, left - iterations
        return games + left * self.games_per_iteration

    def iterations(self, games: int) -> int:
        """Return the number of whole iterations in a number of games."""
        passed = 0
        for iterations, size in self.earlier:
            if games < iterations * size:
                return passed + games // size
            passed, games = passed + iterations, games - iterations * size
        return passed + games // self.games_per_iteration

    def k(self, iteration: int) -> int:
        """Return k of an iteration, which counts from 1."""
        if self.counts == "pairs":
            return self.games_before(iteration) // 2 + 1
        return self.games_before(iteration + 1) if self.counts == "games" else iteration

    def length(self, iterations: int) -> int:
        """Return N, the length of a tune, in the unit of k."""
        if self.counts == "iterations":
            return iterations
        games = self.games_before(iterations + 1)
        return games // 2 if self.counts == "pairs" else games


class Perturbation(msgspec.Struct, frozen=True, eq=False):
    """The values of an iteration; arrays (n,).

    iteration    number, from 1
    k            see `Counting`
    theta        θ when the iteration began
    delta        ±1 for each parameter
    plus, minus  the values of θ⁺ and θ⁻
    """

    iteration: int
    k: float
    theta: Array
    delta: Array
    plus: Array
    minus: Array


@lru_cache(maxsize=1024)
def draw(seed: int, iteration: int, count: int) -> tuple[Array, Array]:
    """Return δ and u (uniform in [0, 1)) of an iteration as read-only arrays, (n,).

    The signs are the highest bits of the first n words, u the upper 53 bits of the next.
    """
    random = _random(seed, iteration, count)
    delta = np.where(random[:count] >> np.uint64(63), 1.0, -1.0)
    u = (random[count:] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    delta.setflags(write=False)
    u.setflags(write=False)
    return delta, u


def draw_signs(seed: int, iteration: int, count: int) -> Array:
    """Return ±1 for each midpoint, (n,), independent of δ.

    The signs are the second highest bits of δ's words.
    """
    random = _random(seed, iteration, count)
    return np.where(random[:count] & np.uint64(1 << 62), 1.0, -1.0)


@lru_cache(maxsize=1)
def _random(seed: int, iteration: int, count: int) -> npt.NDArray[np.uint64]:
    return word_array(seed, SPSA_STREAM, iteration, 2 * count)


def sides(
    space: Space, theta: Array, c: Array, delta: Array, u: Array, rounding: Rounding
) -> tuple[Array, Array]:
    """Return the values of θ⁺ and θ⁻ after clipping and rounding; all arrays (…, n).

    A negative c reverses δ.

    "stochastic" rounds integer parameters with one uniform u for both sides, floor(v + u).
    This is unbiased, and neither hides nor reverses a perturbation of at least ½.  Where a
    bound makes both sides equal, the free side moves by one, unless c is 0.

    "nearest" rounds each side by itself, halves upwards; both may become equal.
    """
    up, c = delta * c > 0, np.abs(c)
    high = space.values(np.minimum(theta + c, space.maximum))
    low = space.values(np.maximum(theta - c, space.minimum))
    if space.some_integer:
        offset = u if rounding == "stochastic" else np.full_like(u, 0.5)
        # max + u may be rounded up to max + 1
        highest = space.whole_bounds[1]
        whole_high = np.minimum(np.floor(high + offset), highest)
        whole_low = np.minimum(np.floor(low + offset), highest)
        if rounding == "stochastic":
            same = (whole_high == whole_low) & (c > 0)
            free = whole_high < highest
            whole_high = whole_high + (same & free)
            whole_low = whole_low - (same & ~free)
        high = np.where(space.integer, whole_high, high)
        low = np.where(space.integer, whole_low, low)
    return np.where(up, high, low), np.where(up, low, high)
