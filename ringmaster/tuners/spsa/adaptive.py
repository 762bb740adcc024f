"""The default method: every parameter's optimum and importance are inferred from all
results so far, and θ is the point of least expected loss.

Given are only the ranges and where the tune starts.  Let h be half of a range, x the
distance from the start in h, and e the Elo that a parameter loses at a distance of h from
its optimum o.  An iteration whose sides are m ± d, in h, has for this parameter alone

    E[W−L]/games = β·d·(o − m)        β = 4e/C

and since δ is drawn anew for each iteration the other parameters are noise of mean zero
to it.  So the sums Σg·d², Σg·d²m, Σg·d²m², Σd·s, Σd·m·s (g games, s = W−L) are all that has to
be remembered, in whatever order the results come.  For each e of a grid, and the prior
o ~ N(0, τ²), the posterior of o is normal and the marginal likelihood of e known:

    λ = β²·Σg·d²/v + 1/τ²        ô = (β·Σd·s + β²·Σg·d²m)/(v·λ)
    log L = −½·log λτ² + ½·λ·ô² − (β·Σd·m·s + ½·β²·Σg·d²m²)/v

v is the variance of a game's score, from Σs².  e has a log-normal prior whose location is
inferred from all parameters together (empirical Bayes on a grid of locations), so that a
tune finds out how much its parameters matter.  The expected loss E[e·(x − o)²] is least at
x* = E[e·o]/E[e], which is θ; c is a multiple of the deviation of o so weighted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringmaster.tuners.spsa.gains import C
from ringmaster.tuners.spsa.method import Interval, Memory, Method
from ringmaster.tuners.spsa.space import Array, Space

#: Standard deviation of the prior of an optimum about its start, half ranges.
TAU = 0.5
#: Elo lost at half a range: a grid, equal ratios.
ELO = np.geomspace(0.02, 1000.0, 37)
#: Where the log-normal prior of e may lie, its spread, and how likely each place is.
LOCATIONS = np.linspace(np.log(0.05), np.log(300.0), 18)
SPREAD = 1.5
LOCATION_PRIOR = -0.5 * ((LOCATIONS - np.log(2.0)) / 2.0) ** 2
#: c in standard deviations of the optimum, and at most, in half ranges.
DEVIATIONS, WIDEST = 8.0, 0.5
#: θ is found anew for the first so many results, and then at every 1/64 of more.
EVERY = 64

_BETA = 4 * ELO / C
_PRIOR = np.exp(-0.5 * ((np.log(ELO) - LOCATIONS[:, np.newaxis]) / SPREAD) ** 2)
_PRIOR /= _PRIOR.sum(axis=1, keepdims=True)
_TINY = 1e-300


@dataclass(eq=False)
class _Posterior:
    """Arrays (…, n, grid): weights of e, means and precisions of o, half ranges."""

    weight: Array
    mean: Array
    precision: Array


class Adaptive(Method):
    """Bayesian SPSA.

    own_c  perturbations to use instead of the method's, (n,), NaN where it chooses

    Its memory: sums (…, 5, n), totals (…, 3) of results, games and Σs², and what follows
    from these when θ was last found anew: theta and c, (…, n) each.
    """

    def __init__(self, space: Space, own_c: Array | None = None) -> None:
        self.space = space
        self.half = space.width / 2
        self._own_c = np.full(len(space), np.nan) if own_c is None else own_c
        self._low = (space.minimum - space.start) / self.half
        self._start = self._point(np.zeros((5, len(space))), np.zeros(3))

    def c(self, k: float, memory: Memory | None = None) -> Array:
        return self._start[1] if memory is None else memory["c"]

    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        n = len(self.space)
        theta, c = (np.broadcast_to(a, (*shape, n)).copy() for a in self._start)
        return {
            "sums": np.zeros((*shape, 5, n)),
            "totals": np.zeros((*shape, 3)),
            "theta": theta,
            "c": c,
        }

    def take(
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
        weight = games * d * d
        score = d * result[..., np.newaxis]
        sums = memory["sums"]
        sums += np.stack([weight, weight * m, weight * m * m, score, score * m], axis=-2)
        totals = memory["totals"]
        totals[..., 0] += 1
        totals[..., 1] += games
        totals[..., 2] += result * result
        if self.steady(memory) == stride(int(totals[..., 0].flat[0])):
            memory["theta"], memory["c"] = self._point(sums, totals)

    def steady(self, memory: Memory) -> int:
        told = int(memory["totals"][..., 0].flat[0])
        length = stride(told)
        return length - told % length

    def centre(self, memory: Memory) -> Array:
        return memory["theta"]

    def estimate(self, memory: Memory) -> Array:
        return self._point(memory["sums"], memory["totals"])[0]

    def intervals(self, memory: Memory) -> list[Interval]:
        from scipy.special import ndtr

        posterior = self._posterior(memory["sums"], memory["totals"])
        found = []
        for i in range(len(self.space)):
            w, o = posterior.weight[i], posterior.mean[i]
            deviation = posterior.precision[i] ** -0.5
            grid = np.linspace(self._low[i], self._low[i] + 2, 2001)
            mass = ndtr((grid[:, np.newaxis] - o) / deviation) @ w
            mass = (mass - mass[0]) / (mass[-1] - mass[0])
            low, high = np.interp([0.025, 0.975], mass, grid)
            # E[e·(o² − (x* − o)²)]: the loss at the start less that at x*
            we = w * ELO
            best = min(max(float(we @ o / we.sum()), self._low[i]), self._low[i] + 2)
            stake = float(we @ (2 * best * o - best * best))
            start, half = float(self.space.start[i]), float(self.half[i])
            found.append(
                Interval(
                    start + float(low) * half,
                    start + float(high) * half,
                    stake,
                    bool(high - low < 1.0),
                )
            )
        return found

    def _point(self, sums: Array, totals: Array) -> tuple[Array, Array]:
        """Return θ and c, (…, n) each."""
        posterior = self._posterior(sums, totals)
        weight = posterior.weight * ELO
        weight /= weight.sum(axis=-1, keepdims=True)
        x = (weight * posterior.mean).sum(axis=-1)
        square = (weight * (1 / posterior.precision + np.square(posterior.mean))).sum(axis=-1)
        deviation = np.sqrt(np.maximum(square - x * x, 0.0))
        c = np.minimum(DEVIATIONS * deviation, WIDEST) * self.half
        c = np.where(np.isnan(self._own_c), c, self._own_c)
        theta = self.space.clip(self.space.start + x * self.half)
        return theta, np.maximum(c, self.space.least_c)

    def _posterior(self, sums: Array, totals: Array) -> _Posterior:
        # four games of variance ½ are taken for known
        v = (totals[..., 2] + 2.0) / (totals[..., 1] + 4.0)
        scaled = sums / v[..., np.newaxis, np.newaxis]
        dd, ddm, ddmm, ds, dms = (scaled[..., i, :, np.newaxis] for i in range(5))
        precision = np.square(_BETA) * dd + TAU**-2
        mean = (_BETA * ds + np.square(_BETA) * ddm) / precision
        log = -0.5 * np.log(precision) + 0.5 * precision * np.square(mean)
        log -= _BETA * dms + 0.5 * np.square(_BETA) * ddmm
        likelihood = np.exp(log - log.max(axis=-1, keepdims=True))
        evidence = likelihood @ _PRIOR.T + _TINY  # (…, n, locations)
        location = np.log(evidence).sum(axis=-2) + LOCATION_PRIOR
        location = np.exp(location - location.max(axis=-1, keepdims=True))
        location /= location.sum(axis=-1, keepdims=True)
        weight = likelihood * ((location[..., np.newaxis, :] / evidence) @ _PRIOR)
        return _Posterior(weight / weight.sum(axis=-1, keepdims=True), mean, precision)


def stride(told: int) -> int:
    """Return of how many results the count must be a multiple for θ to be found anew:
    a power of two, about a 64th to a 128th of those told."""
    return 1 << max(told.bit_length() - EVERY.bit_length(), 0)
