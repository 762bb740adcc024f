"""The posterior of optima and their importance: a line for each parameter, fitted by Bayes.

A line is given by the sums A, B, D, P and Q over the variance of a game (see `adaptive`).  For
each e and τ of two grids and the prior o ~ N(0, τ²), o is normal and the likelihood known:

    λ = β²·A + 1/τ²        ô = β·(P + β·B)/λ        β = 4e/C
    log L = ½·(λ·ô² − log λτ² − β²·D) − β·Q

ln e is normal about a location μ with a deviation of 1.5.  All parameters together determine μ
and τ: their priors are wide, and the product of Σₑ L·P(e|μ) over many parameters is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ringmaster.tuners.space import Array, Flags
from ringmaster.tuners.spsa.regression import C

#: The grid of τ, in widths, and its prior.
PRIOR_DEVIATIONS = np.array([0.1, 0.3, 0.8, 2.0])
PRIOR_SHARES = np.array([0.15, 0.35, 0.35, 0.15])
#: The grid of e, and the standard deviation of ln e about its location.
ELO = np.geomspace(0.02, 1000.0, 37)
ELO_SPREAD = 1.5
#: The grid of locations, as e; median and deviation of the logarithm of their prior.
LOCATION = np.geomspace(0.05, 300.0, 18)
LOCATION_MEDIAN, LOCATION_SPREAD = 2.0, 2.0
#: A signal is this excess of the likelihood ratio, in its standard deviations.
SIGNAL = 1.2

#: β of each e, and P(e) by location.
BETA = 4 * ELO / C
_ELO_SHARES = np.exp(-np.square(np.log(ELO / LOCATION[:, np.newaxis]) / ELO_SPREAD) / 2)
_ELO_SHARES /= _ELO_SHARES.sum(axis=1, keepdims=True)
_LOG_LOCATION = -np.square(np.log(LOCATION / LOCATION_MEDIAN) / LOCATION_SPREAD) / 2
#: e at each point of the joint grid of τ and e.
_ELO_OF_POINT = np.tile(ELO, len(PRIOR_DEVIATIONS))
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

    def elo(self) -> Array:
        """Return E[e], the Elo lost at a distance of half a range, (…, n)."""
        elo: Array = (self.weight * _ELO_OF_POINT).sum(axis=-1) / self.unit[..., 0] ** 2
        return elo

    def slope(self) -> Array:
        """Return E[e·o], Elo by half ranges, (…, n)."""
        slope: Array = (self.weight * _ELO_OF_POINT * self.mean).sum(axis=-1)
        return slope / self.unit[..., 0] ** 2

    def point(self) -> tuple[Array, Array]:
        """Return x* = E[e·o]/E[e] and ς, half ranges from the start, (…, n) each."""
        share = self.weight * _ELO_OF_POINT
        share /= share.sum(axis=-1, keepdims=True)
        x = (share * self.mean).sum(axis=-1)
        square = np.square(self.deviation) + np.square(self.mean - x[..., np.newaxis])
        return x, np.sqrt((share * square).sum(axis=-1))

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

    def signal(self) -> Flags:
        """Return whether the results of each parameter differ from chance, (…, n)."""
        # without effect the likelihood ratio of a parameter is ½χ²₁ + ½χ²₂
        exceeds: Flags = self.ratio > 1.5 + SIGNAL * math.sqrt(3.25)
        return exceeds


def infer(sums: Sequence[Array], unit: Array) -> Posterior:
    """Return the posterior of all parameters.

    sums  A, B, D, P and Q over the variance of a game, lengths in units, (…, n) each
    unit  half ranges, (…, n, 1)
    """
    # axes: parameter, τ, e
    a, b, d, p, q = (each[..., np.newaxis, np.newaxis] for each in sums)
    known = PRIOR_DEVIATIONS[:, np.newaxis] ** -2
    precision = np.square(BETA) * a + known
    mean = BETA * (p + BETA * b) / precision
    log = (precision * np.square(mean) - np.log(precision / known) - np.square(BETA) * d) / 2
    log -= BETA * q
    likelihood = np.exp(log - log.max(axis=(-2, -1), keepdims=True))
    # by τ and location: of each parameter, then of all together
    evidence = np.maximum(likelihood @ _ELO_SHARES.T, _TINY)
    joint = np.log(evidence).sum(axis=-3) + _LOG_LOCATION
    joint += np.log(PRIOR_SHARES)[:, np.newaxis]
    joint = np.exp(joint - joint.max(axis=(-2, -1), keepdims=True))
    joint /= joint.sum(axis=(-2, -1), keepdims=True)
    weight = likelihood * ((joint[..., np.newaxis, :, :] / evidence) @ _ELO_SHARES)
    weight /= weight.sum(axis=(-2, -1), keepdims=True)
    shape = (*weight.shape[:-2], -1)
    deviation = np.broadcast_to(precision**-0.5, weight.shape)
    return Posterior(
        weight.reshape(shape),
        mean.reshape(shape) * unit,
        deviation.reshape(shape) * unit,
        unit,
        _likelihood_ratio(*sums),
    )


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
