"""The default method: infer each optimum and its importance from all results so far.

θ is the point of least expected loss; c shrinks with the remaining uncertainty.  Inputs
are only the ranges and the start.  Lengths are in half ranges from the start; e is the
Elo that a parameter loses at a distance of 1 from its optimum o.  An iteration of g games
with sides m ± d and s = W−L has, for this parameter alone,

    E[s/d] = g·β·(o − m)        Var[s/d] = g·v/d²        β = 4e/C

since δ is drawn independently in each iteration, which makes the other parameters noise
of mean zero.  SPSA's gradient estimates s/d lie on a line in m that falls through 0 at
the optimum.  The sums Σg, Σg·m, Σg·m², Σs/d, Σm·s/d and the noise Σg/d² are sufficient;
they do not depend on the order of results or on the length of the tune.  Every game
counts alike, not by d² as least variance would weight it: later iterations, narrower and
nearer to the optimum, show more of it where the loss is no parabola.

The line is fitted by Bayes.  Let A, B, D, P, Q be the first five sums over their mean noise.
For each e and τ of two grids and the prior o ~ N(0, τ²), o is normal and the likelihood known:

    λ = β²·A + 1/τ²        ô = β·(P + β·B)/λ
    log L = ½·(λ·ô² − log λτ² − β²·D) − β·Q

ln e is normal about a location μ with a deviation of 1.5.  All parameters together
determine μ and τ: their priors are wide, and the product of Σₑ L·P(e|μ) over many parameters
is narrow.  A tune of many unimportant parameters thus does not mistake noise for effects;
values that are good already stay, and a start far from the optimum does not hold θ back.

E[e·(x − o)²] is least at the estimate x* = E[e·o]/E[e], the centre of the next iteration.
With ς² = E[e·(o − x*)²]/E[e], c is 14·ς, but at most a quarter of the range: wide at
first, then narrowing about as k^−¼, so that the bias of a lopsided or saturating loss
shrinks with the noise.  Midpoints are θ ± 2·ς at random, which distinguishes a steep
parameter at its optimum from one without effect.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ringmaster.tuners.space import Array, Flags, Space
from ringmaster.tuners.spsa.method import Memory, Method, OptimumInterval
from ringmaster.tuners.spsa.regression import KNOWN_GAMES, KNOWN_VARIANCE, C, Regression

#: The grid of τ, half ranges, and its prior.
PRIOR_DEVIATIONS = np.array([0.1, 0.5, 1.0, 3.0])
PRIOR_SHARES = np.array([0.15, 0.6, 0.2, 0.05])
#: The grid of e, and the standard deviation of ln e about its location.
ELO = np.geomspace(0.02, 1000.0, 37)
ELO_SPREAD = 1.5
#: The grid of locations, as e; median and deviation of the logarithm of their prior.
LOCATION = np.geomspace(0.05, 300.0, 18)
LOCATION_MEDIAN, LOCATION_SPREAD = 2.0, 2.0
#: c in units of ς, and the largest c, in half ranges.
C_PER_DEVIATION, WIDEST = 14.0, 0.5
#: Distance of midpoints from θ in units of ς, and the largest one in units of c.
SHIFT_PER_DEVIATION, SHIFT_MOST = 2.0, 0.5
#: θ and c are updated after each of the first 256 results, then after each growth by a
#: 256th to a 128th.
EVERY = 256
#: 1 % point of ½χ²₁ + ½χ²₂, the law of the likelihood ratio without effect.
SIGNAL = 8.27

_BETA = 4 * ELO / C
#: e of each point of the joint grid of τ and e.
_ELO_OF_POINT = np.tile(ELO, len(PRIOR_DEVIATIONS))
_LOG_LOCATION = -np.square(np.log(LOCATION / LOCATION_MEDIAN) / LOCATION_SPREAD) / 2
#: P(e) by location, (locations, grid).
_SHARE = np.exp(-np.square(np.log(ELO / LOCATION[:, np.newaxis]) / ELO_SPREAD) / 2)
_SHARE /= _SHARE.sum(axis=1, keepdims=True)
_TINY = 1e-300
#: Bisections of a quantile.
_HALVINGS = 40


class _Posterior(NamedTuple):
    """Arrays (…, n, grid of τ and e): weights, and o ~ N(mean, deviation²) at each point."""

    weight: Array
    mean: Array
    deviation: Array


class Adaptive(Method):
    """Bayesian SPSA.

    own_c  fixed perturbations, (n,), NaN where the method chooses

    Memory: sums (…, 6, n) and totals (…, 3) (results, games and Σs²); theta, c and shift,
    (…, n) each, as of their last update.
    """

    def __init__(self, space: Space, own_c: Array | None = None) -> None:
        self.space = space
        self.half = space.width / 2
        self._own_c = np.full(len(space), np.nan) if own_c is None else own_c
        self._low = (space.minimum - space.start) / self.half
        self._high = (space.maximum - space.start) / self.half
        self._first_c = self.start()["c"]

    def c(self, k: float, memory: Memory | None = None) -> Array:
        return self._first_c if memory is None else memory["c"]

    def shift(self, memory: Memory) -> Array:
        return memory["shift"]

    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        n = len(self.space)
        return self._with_centre(
            {"sums": np.zeros((*shape, 6, n)), "totals": np.zeros((*shape, 3))}
        )

    def resume(self, theta: Array, regression: Regression, iterations: int) -> Memory:
        # the regression weights results by d²: treat all as played with the mean d²
        half = self.half
        weight, *others = regression.sums() / np.stack([half**2, half**3, half**4, half, half**2])
        games = np.where(weight > 0, regression.games, 0.0)
        square = np.where(weight > 0, weight, 1.0) / max(regression.games, _TINY)
        sums = np.stack([games, *(each / square for each in others), games / square])
        totals = np.array([iterations, regression.games, regression.squares], dtype=np.float64)
        return self._with_centre({"sums": sums, "totals": totals})

    def learn(
        self,
        memory: Memory,
        k: float,
        plus: Array,
        minus: Array,
        delta: Array,
        result: Array,
        games: float,
    ) -> None:
        d = (plus - minus) / (2 * self.half)
        m = ((plus + minus) / 2 - self.space.start) / self.half
        result = np.asarray(result, dtype=np.float64)
        moved = d != 0
        inverse = np.divide(1.0, d, out=np.zeros_like(d), where=moved)
        weight = games * moved
        slope = result[..., np.newaxis] * inverse
        moment = weight * m
        sums = memory["sums"]
        sums[..., 0, :] += weight
        sums[..., 1, :] += moment
        sums[..., 2, :] += moment * m
        sums[..., 3, :] += slope
        sums[..., 4, :] += slope * m
        sums[..., 5, :] += games * inverse * inverse
        totals = memory["totals"]
        totals[..., 0] += 1
        totals[..., 1] += games
        totals[..., 2] += result * result
        if _results(memory) % stride(_results(memory)) == 0:
            self._with_centre(memory)

    def steady(self, memory: Memory) -> int:
        results = _results(memory)
        return stride(results) - results % stride(results)

    def centre(self, memory: Memory) -> Array:
        return memory["theta"]

    def estimate(self, memory: Memory) -> Array:
        x, _ = self._point(self._posterior(memory))
        return self.space.clip(self.space.start + x * self.half)

    def intervals(self, memory: Memory) -> list[OptimumInterval]:
        posterior = self._posterior(memory)
        x, _ = self._point(posterior)
        weight = posterior.weight * _ELO_OF_POINT
        # E[e·o² − e·(o − x*)²]
        stake = x * (2 * (weight * posterior.mean).sum(axis=-1) - x * weight.sum(axis=-1))
        low, high = (
            self.space.clip(self.space.start + _quantile(posterior, p) * self.half)
            for p in (0.025, 0.975)
        )
        signal = self._signal(memory)
        return [
            OptimumInterval(float(low[i]), float(high[i]), float(stake[i]), bool(signal[i]))
            for i in range(len(self.space))
        ]

    def _with_centre(self, memory: Memory) -> Memory:
        """Update θ, c and shift of a memory, and return it."""
        x, deviation = self._point(self._posterior(memory))
        c = np.minimum(C_PER_DEVIATION * deviation, WIDEST) * self.half
        c = np.maximum(np.where(np.isnan(self._own_c), c, self._own_c), self.space.least_c)
        memory["theta"] = self.space.clip(self.space.start + x * self.half)
        memory["c"] = c
        memory["shift"] = np.minimum(SHIFT_PER_DEVIATION * deviation * self.half, SHIFT_MOST * c)
        return memory

    def _point(self, posterior: _Posterior) -> tuple[Array, Array]:
        """Return x*, within the bounds, and ς, in half ranges from the start."""
        share = posterior.weight * _ELO_OF_POINT
        share /= share.sum(axis=-1, keepdims=True)
        x = (share * posterior.mean).sum(axis=-1)
        off = posterior.mean - x[..., np.newaxis]
        square = (share * (np.square(posterior.deviation) + np.square(off))).sum(axis=-1)
        return np.clip(x, self._low, self._high), np.sqrt(square)

    def _scaled(self, memory: Memory) -> list[Array]:
        """Return A, B, D, P, Q, (…, n) each."""
        sums, totals = memory["sums"], memory["totals"]
        variance = totals[..., 2] + KNOWN_GAMES * KNOWN_VARIANCE
        variance = variance / (totals[..., 1] + KNOWN_GAMES)
        noise = sums[..., 5, :] * variance[..., np.newaxis]
        scale = sums[..., 0, :] / np.maximum(noise, _TINY)
        return [sums[..., i, :] * scale for i in range(5)]

    def _posterior(self, memory: Memory) -> _Posterior:
        # axes: parameter, τ, e
        a, b, d, p, q = (each[..., np.newaxis, np.newaxis] for each in self._scaled(memory))
        known = PRIOR_DEVIATIONS[:, np.newaxis] ** -2
        precision = np.square(_BETA) * a + known
        mean = _BETA * (p + _BETA * b) / precision
        log = (precision * np.square(mean) - np.log(precision / known) - np.square(_BETA) * d) / 2
        log -= _BETA * q
        likelihood = np.exp(log - log.max(axis=(-2, -1), keepdims=True))
        # by τ and location: of each parameter, then of all together
        evidence = np.maximum(likelihood @ _SHARE.T, _TINY)
        joint = np.log(evidence).sum(axis=-3) + _LOG_LOCATION
        joint += np.log(PRIOR_SHARES)[:, np.newaxis]
        joint = np.exp(joint - joint.max(axis=(-2, -1), keepdims=True))
        joint /= joint.sum(axis=(-2, -1), keepdims=True)
        weight = likelihood * ((joint[..., np.newaxis, :, :] / evidence) @ _SHARE)
        weight /= weight.sum(axis=(-2, -1), keepdims=True)
        shape = (*weight.shape[:-2], -1)
        deviation = np.broadcast_to(precision**-0.5, weight.shape)
        return _Posterior(weight.reshape(shape), mean.reshape(shape), deviation.reshape(shape))

    def _signal(self, memory: Memory) -> Flags:
        """Return whether the best falling or level line is far likelier than no effect."""
        a, b, d, p, q = self._scaled(memory)
        a = np.maximum(a, _TINY)
        spread = d - b * b / a
        known = spread > 1e-9 * np.maximum(d, _TINY)
        fall = np.maximum(p * b / a - q, 0.0)
        curved = np.where(known, np.square(fall) / np.where(known, spread, 1.0), 0.0)
        return p * p / a + curved > SIGNAL


def stride(results: int) -> int:
    """Return the number of results between updates of θ, a power of two."""
    return 1 << max(results.bit_length() - EVERY.bit_length() + 1, 0)


def _results(memory: Memory) -> int:
    """Return the number of results, the same for all tunes of a memory."""
    return int(memory["totals"][..., 0].flat[0])


def _quantile(posterior: _Posterior, p: float) -> Array:
    """Return a quantile of o, (…, n), half ranges, by bisection."""
    low = (posterior.mean - 6 * posterior.deviation).min(axis=-1)
    high = (posterior.mean + 6 * posterior.deviation).max(axis=-1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        z = (middle[..., np.newaxis] - posterior.mean) / posterior.deviation
        below = (posterior.weight * _normal(z)).sum(axis=-1) < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2  # type: ignore[no-any-return]  # NumPy says Any


def _normal(z: Array) -> Array:
    """Return the normal distribution function."""
    return np.asarray(_erfc(-z / math.sqrt(2)), dtype=np.float64) / 2


# loading scipy's erfc would take longer than the whole action `show`
_erfc = np.frompyfunc(math.erfc, 1, 1)
