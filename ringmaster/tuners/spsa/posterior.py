"""The posterior of optima and their importance: a line for each parameter, fitted by Bayes.

A line is given by the sums A, B, D, P and Q over the variance of a game (see `adaptive`).  For
each e and τ of two grids and the prior o ~ N(0, τ²), o is normal and the likelihood known:

    λ = β²·A + 1/τ²        ô = β·(P + β·B)/λ        β = 4e/C
    log L = ½·(λ·ô² − log λτ² − β²·D) − β·Q

ln e is normal about a location μ with a deviation of 1.5.  All parameters together determine μ
and τ: their priors are wide, and the product of Σₑ L·P(e|μ) over many parameters is narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
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
#: Least likelihood ratio of a signal; without effect the ratio is ½χ²₁ + ½χ²₂.
SIGNAL = 3.66

#: β of each e, and P(e) by location.
BETA = 4 * ELO / C
_ELO_SHARES = np.exp(-np.square(np.log(ELO / LOCATION[:, np.newaxis]) / ELO_SPREAD) / 2)
_ELO_SHARES /= _ELO_SHARES.sum(axis=1, keepdims=True)
_LOG_LOCATION = -np.square(np.log(LOCATION / LOCATION_MEDIAN) / LOCATION_SPREAD) / 2
_TINY = 1e-300
#: Equally probable points of the standard normal distribution.
_POINTS = np.array([NormalDist().inv_cdf((i + 0.5) / 128) for i in range(128)])


class Posterior(NamedTuple):
    """The posterior of each parameter; lengths in half ranges from the start, (…, n) each.

    x, deviation  x* = E[e·o]/E[e], and ς
    elo           E[e], the Elo lost at a distance of half a range
    ratio         likelihood ratio of the best falling or level line, twice its logarithm
    weights       of the points of the grid of τ and e, (…, n, points)
    elos          e of each of them
    means, deviations  at each of them o ~ N(mean, deviation²)
    """

    x: Array
    deviation: Array
    elo: Array
    ratio: Array
    weights: Array
    elos: Array
    means: Array
    deviations: Array

    def quantile(self, p: float) -> Array:
        """Return a quantile of o, (…, n), half ranges."""
        places = self.means[..., np.newaxis] + self.deviations[..., np.newaxis] * _POINTS
        places = places.reshape(*places.shape[:-2], -1)
        order = places.argsort(axis=-1)
        weights = np.repeat(self.weights / len(_POINTS), len(_POINTS), axis=-1)
        below = np.take_along_axis(weights, order, axis=-1).cumsum(axis=-1) < p
        at = np.minimum(below.sum(axis=-1, keepdims=True), order.shape[-1] - 1)
        return np.take_along_axis(places, np.take_along_axis(order, at, axis=-1), axis=-1)[..., 0]

    def gain(self, x: Array) -> tuple[Array, Array]:
        """Return the Elo gained from the start to x, half ranges, and its deviation, (…, n)."""
        x = x[..., np.newaxis]
        means = x * self.elos * (2 * self.means - x)
        squares = np.square(means) + np.square(2 * x * self.elos * self.deviations)
        mean, square = ((self.weights * each).sum(axis=-1) for each in (means, squares))
        return mean + 0.0, np.sqrt(np.maximum(square - np.square(mean), 0.0))

    def signal(self) -> Flags:
        """Return whether the results of each parameter differ from chance, (…, n)."""
        return np.asarray(self.ratio > SIGNAL)


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
    share = weight * ELO
    elo = share.sum(axis=(-2, -1))
    share /= elo[..., np.newaxis, np.newaxis]
    x = (share * mean).sum(axis=(-2, -1))
    square = 1 / precision + np.square(mean - x[..., np.newaxis, np.newaxis])
    deviation = np.sqrt((share * square).sum(axis=(-2, -1)))
    points = (*weight.shape[:-2], -1)
    elos = np.broadcast_to(ELO, weight.shape).reshape(points) / unit**2
    unit = unit[..., 0]
    return Posterior(
        x * unit,
        deviation * unit,
        elo / unit**2,
        _likelihood_ratio(*sums),
        weight.reshape(points),
        elos,
        mean.reshape(points) * unit[..., np.newaxis],
        np.broadcast_to(precision**-0.5, weight.shape).reshape(points) * unit[..., np.newaxis],
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
