"""The posterior of optima and their importance: a line for each parameter, fitted by Bayes.

A line is given by the sums A, B, D, P and Q over its mean noise (see `adaptive`).  For each e
and τ of two grids and the prior o ~ N(0, τ²), o is normal and the likelihood known:

    λ = β²·A + 1/τ²        ô = β·(P + β·B)/λ        β = 4e/C
    log L = ½·(λ·ô² − log λτ² − β²·D) − β·Q

ln e is normal about a location μ with a deviation of 1.5.  All parameters together determine μ
and τ: their priors are wide, and the product of Σₑ L·P(e|μ) over many parameters is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ringmaster.tuners.space import Array, Flags
from ringmaster.tuners.spsa.regression import C

#: The grid of τ, half ranges, and its prior.
PRIOR_DEVIATIONS = np.array([0.1, 0.3, 0.8, 2.0])
PRIOR_SHARES = np.array([0.15, 0.35, 0.35, 0.15])
#: The grid of e, and the standard deviation of ln e about its location.
ELO = np.geomspace(0.02, 1000.0, 37)
ELO_SPREAD = 1.5
#: The grid of locations, as e; median and deviation of the logarithm of their prior.
LOCATION = np.geomspace(0.05, 300.0, 18)
LOCATION_MEDIAN, LOCATION_SPREAD = 2.0, 2.0
#: θ leaves the start at this excess of the likelihood ratio, in its standard deviations.
LEAVING = 1.2

#: β of each e.
BETA = 4 * ELO / C
#: e and β of each point of the joint grid of τ and e.
_ELO_OF_POINT = np.tile(ELO, len(PRIOR_DEVIATIONS))
_BETA_OF_POINT = np.tile(BETA, len(PRIOR_DEVIATIONS))
_LOG_LOCATION = -np.square(np.log(LOCATION / LOCATION_MEDIAN) / LOCATION_SPREAD) / 2
_TINY = 1e-300
#: Bisections of a quantile.
_HALVINGS = 40


class Posterior(NamedTuple):
    """Weights and o ~ N(mean, deviation²) at each point of a grid, (…, n, grid of τ and e).

    unit   half ranges that e counts, (…, n, 1); means and deviations are in half ranges
    ratio  likelihood ratio of the best falling or level line, twice its logarithm, (…, n)
    """

    weight: Array
    mean: Array
    deviation: Array
    unit: Array
    ratio: Array

    def leaves_start(self) -> Flags:
        """Return whether the results of all parameters differ from chance, (…, 1)."""
        return exceeds_chance(self.ratio.sum(axis=-1, keepdims=True), self.ratio.shape[-1])

    def elo(self) -> Array:
        """Return E[e], the Elo lost at a distance of half a range, (…, n)."""
        elo: Array = (self.weight * _ELO_OF_POINT).sum(axis=-1) / self.unit[..., 0] ** 2
        return elo

    def slope(self) -> tuple[Array, Array]:
        """Return E[β] and E[β·o], o and β in units, (…, n) each."""
        beta = self.weight * _BETA_OF_POINT
        return beta.sum(axis=-1), (beta * self.mean / self.unit).sum(axis=-1)

    def point(self) -> tuple[Array, Array]:
        """Return x* = E[e·o]/E[e] and ς, half ranges from the start, (…, n) each."""
        share = self.weight * _ELO_OF_POINT
        x, square = self._moments(share / share.sum(axis=-1, keepdims=True))
        return x, np.sqrt(square)

    def moments(self) -> tuple[Array, Array]:
        """Return the mean and the variance of o, half ranges, (…, n) each."""
        return self._moments(self.weight)

    def _moments(self, share: Array) -> tuple[Array, Array]:
        """Return the mean and the variance of o by shares that sum to 1, (…, n) each."""
        mean = (share * self.mean).sum(axis=-1)
        off = self.mean - mean[..., np.newaxis]
        square = np.square(self.deviation) + np.square(off)
        return mean, (share * square).sum(axis=-1)

    def quantile(self, p: float) -> Array:
        """Return a quantile of o, (…, n), half ranges, by bisection."""
        low = (self.mean - 6 * self.deviation).min(axis=-1)
        high = (self.mean + 6 * self.deviation).max(axis=-1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            z = (middle[..., np.newaxis] - self.mean) / self.deviation
            below = (self.weight * _normal(z)).sum(axis=-1) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2, dtype=np.float64)

    def where(self, condition: Flags, other: Posterior) -> Posterior:
        """Return this posterior where a condition, (…), holds, elsewhere another one."""
        return Posterior(
            *(
                np.where(
                    condition.reshape(*condition.shape, *[1] * (a.ndim - condition.ndim)), a, b
                )
                for a, b in zip(self, other, strict=True)
            )
        )


def exceeds_chance(ratio: Array, parameters: int) -> Flags:
    """Return whether the sum of some parameters' likelihood ratios differs from chance."""
    # without effect the likelihood ratio of a parameter is ½χ²₁ + ½χ²₂
    exceeds: Flags = ratio > 1.5 * parameters + LEAVING * math.sqrt(3.25 * parameters)
    return exceeds


def infer(sums: Sequence[Array], unit: Array, spread: float = ELO_SPREAD) -> Posterior:
    """Return the posterior of all parameters.

    sums    A, B, D, P and Q over their mean noise, lengths in units, (…, n) each
    unit    half ranges, (…, n, 1)
    spread  standard deviation of ln e about its location
    """
    share = _elo_shares(spread)
    # axes: parameter, τ, e
    a, b, d, p, q = (each[..., np.newaxis, np.newaxis] for each in sums)
    known = PRIOR_DEVIATIONS[:, np.newaxis] ** -2
    precision = np.square(BETA) * a + known
    mean = BETA * (p + BETA * b) / precision
    log = (precision * np.square(mean) - np.log(precision / known) - np.square(BETA) * d) / 2
    log -= BETA * q
    likelihood = np.exp(log - log.max(axis=(-2, -1), keepdims=True))
    # by τ and location: of each parameter, then of all together
    evidence = np.maximum(likelihood @ share.T, _TINY)
    joint = np.log(evidence).sum(axis=-3) + _LOG_LOCATION
    joint += np.log(PRIOR_SHARES)[:, np.newaxis]
    joint = np.exp(joint - joint.max(axis=(-2, -1), keepdims=True))
    joint /= joint.sum(axis=(-2, -1), keepdims=True)
    weight = likelihood * ((joint[..., np.newaxis, :, :] / evidence) @ share)
    weight /= weight.sum(axis=(-2, -1), keepdims=True)
    shape = (*weight.shape[:-2], -1)
    deviation = np.broadcast_to(precision**-0.5, weight.shape)
    return Posterior(
        weight.reshape(shape),
        mean.reshape(shape) * unit,
        deviation.reshape(shape) * unit,
        np.broadcast_to(unit, (*a.shape[:-2], 1)),
        _likelihood_ratio(*sums),
    )


@lru_cache
def _elo_shares(spread: float) -> Array:
    """Return P(e) by location, (locations, grid)."""
    share = np.exp(-np.square(np.log(ELO / LOCATION[:, np.newaxis]) / spread) / 2)
    share /= share.sum(axis=1, keepdims=True)
    return share


def _likelihood_ratio(a: Array, b: Array, d: Array, p: Array, q: Array) -> Array:
    """Return the ratio of the best falling or level line, twice its logarithm, (…, n)."""
    a = np.maximum(a, _TINY)
    spread = d - b * b / a
    known = spread > 1e-9 * np.maximum(d, _TINY)
    fall = np.maximum(p * b / a - q, 0.0)
    curved = np.where(known, np.square(fall) / np.where(known, spread, 1.0), 0.0)
    ratio: Array = p * p / a + curved
    return ratio


def _normal(z: Array) -> Array:
    """Return the normal distribution function."""
    return np.asarray(_erfc(-z / math.sqrt(2)), dtype=np.float64) / 2


# loading scipy's erfc would take longer than the whole action `show`
_erfc = np.frompyfunc(math.erfc, 1, 1)
