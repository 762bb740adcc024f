"""How sure the values of a fit are, when labels come by games: the sandwich estimator with
clusters.

All positions of a game have its one result, so they do not err independently.  With H the
mean curvature and sᵧ the sum of weight·slope over game γ, the covariance of an estimate is
H⁻¹·(Σ sᵧsᵧᵀ/W²)·H⁻¹ (Liang & Zeger, "Longitudinal data analysis using generalized linear
models", 1986).  It is that of the estimate without a ridge: what a ridge takes from the
variance it gives back as a bias that nobody knows.  The positions of a game are spread over
the shards, so sums are kept by game; where there are too many games, several share a place
with random signs, which leaves the estimate unbiased (the count sketch of Charikar, Chen &
Farach-Colton, 2002).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ringmaster.tuners.texel.bounded import SINGULAR
from ringmaster.tuners.texel.loss import Array

#: 97.5 % point of the normal distribution.
NORMAL = 1.959963984540054
#: Numbers kept at most, 8 bytes each.
_MOST = 1 << 24
#: How much of a direction without signal a parameter may be, and still be told.
_SHARE = 1e-2
#: Multiplier and shifts of the finaliser of splitmix64 (Steele, Lea & Flood, 2014).
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class ClusterSums:
    """Σ weight·slope of each game, for k parameters."""

    def __init__(self, parameters: int) -> None:
        self._places = max(_MOST // max(parameters, 1), 1024)
        self._sums = np.zeros((0, parameters))
        self._highest = -1

    def add(self, slopes: Array, games: npt.NDArray[np.uint32]) -> None:
        """Count positions: weight·∂loss/∂θ of each, (n, k), and the number of its game."""
        if not len(games):
            return
        self._highest = max(self._highest, int(games.max()))
        place = games % np.uint32(min(self._places, 1 << 31))
        order = np.argsort(place, kind="stable")
        place = place[order]
        first = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
        sums = np.add.reduceat((slopes * _signs(games)[:, np.newaxis])[order], first, axis=0)
        needed = int(place[-1]) + 1
        if needed > len(self._sums):
            room = min(max(needed, 2 * len(self._sums)), self._places)
            self._sums = np.vstack(
                [self._sums, np.zeros((room - len(self._sums), self._sums.shape[1]))]
            )
        self._sums[place[first]] += sums

    def meat(self) -> Array:
        """Return Σ sᵧsᵧᵀ, (k, k), with the usual correction for few games."""
        filled = self._sums[np.any(self._sums != 0, axis=1)]
        count = len(filled)
        if count < 2:
            return np.full((self._sums.shape[1],) * 2, np.inf)
        return np.asarray(filled.T @ filled * (count / (count - 1)))


def _signs(games: npt.NDArray[np.uint32]) -> Array:
    """Return 1 or −1 by the number of a game, at random but always the same."""
    z = games.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return 1.0 - 2.0 * ((z ^ (z >> np.uint64(31))) & np.uint64(1)).astype(np.float64)


class Estimate(NamedTuple):
    """What the positions say of parameters, (k,) each.

    step       to where the loss without any penalty is least, by one step of Newton
    deviation  standard error of that point; infinite where the positions do not tell a
               parameter (alone, or from others)
    """

    step: Array
    deviation: Array


def estimate(curvature: Array, slope: Array, meat: Array, weight: float) -> Estimate:
    """Return how far off the unpenalised optimum is, and how sure that is.

    curvature  mean ∂²loss/∂θ², (k, k)
    slope      mean ∂loss/∂θ, (k,)
    meat       of `ClusterSums`
    weight     Σ weight
    """
    count = len(curvature)
    if not np.isfinite(meat).all() or weight <= 0:
        return Estimate(np.zeros(count), np.full(count, np.inf))
    size = np.sqrt(np.diag(curvature))
    told = size > 0
    unit = np.where(told, size, 1.0)
    values, vectors = np.linalg.eigh(curvature / np.outer(unit, unit))
    kept = values > SINGULAR * max(values.max(initial=0.0), 1e-300)
    lost = np.square(vectors[:, ~kept]).sum(axis=1) > _SHARE
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    covariance = inverse @ (meat / np.outer(unit, unit) / weight**2) @ inverse
    found = np.sqrt(np.maximum(np.diag(covariance), 0.0)) / unit
    step = -(inverse @ (slope / unit)) / unit
    return Estimate(step, np.where(told & ~lost, found, np.inf))


def deviations(curvature: Array, meat: Array, weight: float) -> Array:
    """Return the standard errors alone; see `estimate`."""
    return estimate(curvature, np.zeros(len(curvature)), meat, weight).deviation
