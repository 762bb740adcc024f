"""The default method: infer each optimum and its importance from all results so far.

θ is the point of least expected loss; c shrinks with the remaining uncertainty.  Inputs
are only the ranges and the start.  Lengths are in half ranges from the start; e is the
Elo that a parameter loses at a distance of 1 from its optimum o.  An iteration of g games
with sides m ± d and s = W−L has, for this parameter alone,

    E[s/d] = g·β·(o − m)        Var[s/d] = g·v/d²        β = 4e/C

since δ is drawn independently in each iteration, which makes the other parameters noise
of mean zero.  SPSA's gradient estimates s/d lie on a line in m that falls through 0 at
the optimum.  The sums Σg, Σg·m, Σg·m², Σs/d, Σm·s/d and Σg/d² are kept by octave of d.  They
do not depend on the order of results or on the length of the tune.  Octaves are weighted by
least variance; within an octave every game counts alike, so that the later and narrower
iterations show more of the optimum where the loss is no parabola.

The line is fitted by Bayes.  Let A, B, D, P, Q be the first five sums over their mean noise.
For each e and τ of two grids and the prior o ~ N(0, τ²), o is normal and the likelihood known:

    λ = β²·A + 1/τ²        ô = β·(P + β·B)/λ
    log L = ½·(λ·ô² − log λτ² − β²·D) − β·Q

ln e is normal about a location μ with a deviation of 1.5.  All parameters together
determine μ and τ: their priors are wide, and the product of Σₑ L·P(e|μ) over many parameters
is narrow.  A tune of many unimportant parameters thus does not mistake noise for effects;
values that are good already stay, and a start far from the optimum does not hold θ back.

E[e·(x − o)²] is least at the estimate x* = E[e·o]/E[e], the centre of the next iteration.
With ς² = E[e·(o − x*)²]/E[e], c is 12·ς, but at most the width: wide at first, then
narrowing about as k^−¼, so that the bias of a lopsided or saturating loss shrinks with the
noise.  Midpoints are θ ± 2·ς at random, which distinguishes a steep parameter at its
optimum from one without effect.

θ remains at the start until the results differ from chance.

*Width.*  The two sides of an iteration are equally far from θ: if both are lost, they play
even games, and the tune learns nothing.  So a few iterations are probes, games of θ + w·δ
against θ itself at every width w of a ladder: they measure the loss at this distance.  It is
fitted by S·min(1, (w/W)²), a parabola that saturates at W.  The width is the largest, up to a
third of the range, at which a player is expected to lose no more than about 90 Elo: farther
away real engines are no parabolas.  Results of wider perturbations are left out of the fit,
and all lengths of the prior shrink with the width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ringmaster.tuners.space import Array, Flags, Space
from ringmaster.tuners.spsa.method import Memory, Method, OptimumInterval
from ringmaster.tuners.spsa.regression import KNOWN_GAMES, KNOWN_VARIANCE, C, Regression

#: The grid of τ, half ranges, and its prior.
PRIOR_DEVIATIONS = np.array([0.1, 0.3, 0.8, 2.0])
PRIOR_SHARES = np.array([0.15, 0.35, 0.35, 0.15])
#: The grid of e, and the standard deviation of ln e about its location.
ELO = np.geomspace(0.02, 1000.0, 37)
ELO_SPREAD = 1.5
#: The grid of locations, as e; median and deviation of the logarithm of their prior.
LOCATION = np.geomspace(0.05, 300.0, 18)
LOCATION_MEDIAN, LOCATION_SPREAD = 2.0, 2.0
#: c in units of ς.
C_PER_DEVIATION = 12.0
#: The largest c, half ranges, and its halvings: the octaves of d and the widths of probes.
WIDTHS = 2 / 3 * 0.5 ** np.arange(8)
#: Of k iterations, about PROBES·ln(1 + k/PROBES) are probes.
PROBES = 16.0
#: The most L − W a game that a player at the width may lose, about 90 Elo.
MOST_LOST = 0.25
#: Prior probability of a parabola as far as the largest width.
PARABOLA = 0.9
#: The grid of S, L − W a game, and its prior.
SATURATED = np.array([0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8])
SATURATED_SHARES = np.array([0.25, 0.2, 0.2, 0.15, 0.1, 0.06, 0.04])
#: θ leaves the start at this excess of the likelihood ratio, in its standard deviations.
LEAVING = 1.2
#: Distance of midpoints from θ in units of ς, and the largest one in units of c.
SHIFT_PER_DEVIATION, SHIFT_MOST = 2.0, 0.5
#: θ and c are updated after each of the first 256 results, then after each growth by a
#: 256th to a 128th.
EVERY = 256
#: Exceeded by 1 to 2 % of simulated parameters without effect, whose θ follows the results; the
#: 1 % point of ½χ²₁ + ½χ²₂, the law with midpoints that do not, is 8.27.
SIGNAL = 9.5

_BETA = 4 * ELO / C
#: e of each point of the joint grid of τ and e.
_ELO_OF_POINT = np.tile(ELO, len(PRIOR_DEVIATIONS))
_LOG_LOCATION = -np.square(np.log(LOCATION / LOCATION_MEDIAN) / LOCATION_SPREAD) / 2
#: P(e) by location, (locations, grid).
_SHARE = np.exp(-np.square(np.log(ELO / LOCATION[:, np.newaxis]) / ELO_SPREAD) / 2)
_SHARE /= _SHARE.sum(axis=1, keepdims=True)
#: Prior by S and W.
_SATURATIONS = SATURATED_SHARES[:, np.newaxis] * np.array(
    [PARABOLA, *[(1 - PARABOLA) / (len(WIDTHS) - 1)] * (len(WIDTHS) - 1)]
)
#: L − W of a probe by S, W and width, (S, W, width).
_LOST = SATURATED[:, np.newaxis, np.newaxis] * np.minimum(
    np.square(WIDTHS / WIDTHS[:, np.newaxis]), 1.0
)
_OCTAVES = np.arange(len(WIDTHS))
_TINY = 1e-300
#: Bisections of a quantile.
_HALVINGS = 40


class _Posterior(NamedTuple):
    """Weights and o ~ N(mean, deviation²) at each point, (…, n, grid of τ and e).

    ratio  likelihood ratio of the best falling or level line, twice its logarithm, (…, n)
    """

    weight: Array
    mean: Array
    deviation: Array
    ratio: Array

    def leaves_start(self) -> Flags:
        """Return whether the results of all parameters differ from chance, (…, 1)."""
        n = self.ratio.shape[-1]
        # without effect the likelihood ratio of a parameter is ½χ²₁ + ½χ²₂
        most = 1.5 * n + LEAVING * math.sqrt(3.25 * n)
        leaves: Flags = self.ratio.sum(axis=-1, keepdims=True) > most
        return leaves


class Adaptive(Method):
    """Bayesian SPSA.

    own_c  fixed perturbations, (n,), NaN where the method chooses

    Counts k in iterations.

    Memory: sums (…, octaves, 6, n), totals (…, 3) (results, games and Σs²) and probes
    (…, widths, 2) (games and L − W); width (…), the index of the chosen one, theta, c and
    shift, (…, n) each, as of their last update.
    """

    shifted = True

    def __init__(self, space: Space, own_c: Array | None = None) -> None:
        self.space = space
        self.half = space.width / 2
        self._own_c = np.full(len(space), np.nan) if own_c is None else own_c
        self._low = (space.minimum - space.start) / self.half
        self._high = (space.maximum - space.start) / self.half
        # widths that move a parameter at all
        reach = WIDTHS[:, np.newaxis] * self.half >= space.least_c
        self._probe_c = np.where(
            reach & np.isnan(self._own_c), WIDTHS[:, np.newaxis] * self.half, 0
        )
        self._probed = int(np.count_nonzero(self._probe_c.any(axis=-1)))
        # the octave of the narrowest perturbation
        self._last_octave = _octave(np.fmax(space.least_c, self._own_c) / self.half)
        self._first_c = self.start()["c"]

    def c(self, k: float, memory: Memory | None = None) -> Array:
        return self._first_c if memory is None else memory["c"]

    def is_probe(self, iteration: int) -> bool:
        return bool(self._are_probes(iteration))

    def _are_probes(self, k: float | Array) -> Flags:
        """Return whether iterations are probes, of the shape of k."""
        return np.asarray((_probes(k) > _probes(k - 1)) & (self._probed > 1))

    def place(
        self,
        iterations: Array,
        memory: Memory,
        theta: Array,
        c: Array,
        delta: Array,
        signs: Array,
    ) -> tuple[Array, Array]:
        k = iterations.reshape(-1, *[1] * theta.ndim)
        middle = self.space.clip(theta + memory["shift"] * signs)
        probe = self._are_probes(k)
        if probe.any():
            width = self._probe_c[(_probes(k) % self._probed).astype(np.intp)[..., 0]]
            middle = np.where(probe, theta + width / 2 * delta, middle)
            c = np.where(probe, width / 2, c)
        return middle, c

    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        n = len(self.space)
        return self._with_centre(
            {
                "sums": np.zeros((*shape, len(WIDTHS), 6, n)),
                "totals": np.zeros((*shape, 3)),
                "probes": np.zeros((*shape, len(WIDTHS), 2)),
            }
        )

    def resume(self, theta: Array, regression: Regression, iterations: int) -> Memory:
        # the regression does not know the octaves: treat all as played with the mean d²
        half = self.half
        weight, *others = regression.sums() / np.stack([half**2, half**3, half**4, half, half**2])
        games = np.where(weight > 0, regression.games, 0.0)
        square = np.where(weight > 0, weight, 1.0) / max(regression.games, _TINY)
        terms = np.stack([games, *(each / square for each in others), games / square])
        memory = self.start()
        _add_by_octave(memory["sums"], np.sqrt(square), terms)
        memory["totals"][:] = iterations, regression.games, regression.squares
        return self._with_centre(memory)

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
        totals = memory["totals"]
        totals[..., 0] += 1
        if self.is_probe(int(k)):
            probes = memory["probes"][..., int(_probes(k)) % self._probed, :]
            probes[..., 0] += games
            probes[..., 1] -= result
        else:
            totals[..., 1] += games
            totals[..., 2] += np.square(result)
            self._add(memory["sums"], plus, minus, np.asarray(result, dtype=np.float64), games)
        if _results(memory) % stride(_results(memory)) == 0:
            self._with_centre(memory)

    def _add(self, sums: Array, plus: Array, minus: Array, result: Array, games: float) -> None:
        d = (plus - minus) / (2 * self.half)
        m = ((plus + minus) / 2 - self.space.start) / self.half
        moved = d != 0
        inverse = np.divide(1.0, d, out=np.zeros_like(d), where=moved)
        weight = games * moved
        slope = result[..., np.newaxis] * inverse
        moment = weight * m
        terms = [weight, moment, moment * m, slope, slope * m, games * np.square(inverse)]
        _add_by_octave(sums, np.abs(d), np.stack(terms, axis=-2))

    def steady(self, memory: Memory) -> int:
        results = _results(memory)
        return stride(results) - results % stride(results)

    def centre(self, memory: Memory) -> Array:
        return memory["theta"]

    def estimate(self, memory: Memory) -> Array:
        x, _ = self._point(self._posterior(memory))
        return self.space.clip(self.space.start + x * self.half)

    def remarks(self, memory: Memory) -> list[str]:
        lines = []
        if not self._posterior(memory).leaves_start():
            lines.append("the estimate is the start until the results differ from chance")
        if memory["width"] > 0:
            share = 50 * WIDTHS[int(memory["width"])]
            lines.append(
                f"perturbations are at most {share:.2g} % of the ranges: farther from θ, "
                "players lose more than 90 Elo"
            )
        return lines

    def intervals(self, memory: Memory) -> list[OptimumInterval]:
        posterior = self._posterior(memory)
        x, _ = self._point(posterior)
        weight = posterior.weight * _ELO_OF_POINT / self._unit(memory) ** 2
        # E[e·o² − e·(o − x*)²]
        stake = x * (2 * (weight * posterior.mean).sum(axis=-1) - x * weight.sum(axis=-1)) + 0.0
        low, high = (
            self.space.clip(self.space.start + _quantile(posterior, p) * self.half)
            for p in (0.025, 0.975)
        )
        signal = posterior.ratio > SIGNAL
        return [
            OptimumInterval(float(low[i]), float(high[i]), float(stake[i]), bool(signal[i]))
            for i in range(len(self.space))
        ]

    def _with_centre(self, memory: Memory) -> Memory:
        """Update the width, θ, c and shift of a memory, and return it."""
        memory["width"] = self._width(memory)
        x, deviation = self._point(self._posterior(memory))
        widest = WIDTHS[memory["width"].astype(np.intp)][..., np.newaxis]
        c = np.minimum(C_PER_DEVIATION * deviation, widest) * self.half
        c = np.maximum(np.where(np.isnan(self._own_c), c, self._own_c), self.space.least_c)
        memory["theta"] = self.space.clip(self.space.start + x * self.half)
        memory["c"] = c
        memory["shift"] = np.minimum(SHIFT_PER_DEVIATION * deviation * self.half, SHIFT_MOST * c)
        return memory

    def _width(self, memory: Memory) -> Array:
        """Return the index of the largest width at which a player loses little enough, (…)."""
        games, lost = (memory["probes"][..., np.newaxis, np.newaxis, :, i] for i in (0, 1))
        log = (lost * _LOST - games * np.square(_LOST) / 2).sum(axis=-1)
        log /= self._variance(memory)[..., np.newaxis, np.newaxis]
        share = np.exp(log - log.max(axis=(-2, -1), keepdims=True)) * _SATURATIONS
        share /= share.sum(axis=(-2, -1), keepdims=True)
        lost = (share[..., np.newaxis] * _LOST).sum(axis=(-3, -2))
        wider = np.count_nonzero(lost > MOST_LOST, axis=-1)
        return np.asarray(np.minimum(wider, len(WIDTHS) - 1), dtype=np.float64)

    def _point(self, posterior: _Posterior) -> tuple[Array, Array]:
        """Return x*, within the bounds, and ς, in half ranges from the start."""
        share = posterior.weight * _ELO_OF_POINT
        share /= share.sum(axis=-1, keepdims=True)
        x = (share * posterior.mean).sum(axis=-1)
        off = posterior.mean - x[..., np.newaxis]
        square = (share * (np.square(posterior.deviation) + np.square(off))).sum(axis=-1)
        x = np.where(posterior.leaves_start(), np.clip(x, self._low, self._high), 0.0)
        return x, np.sqrt(square)

    def _variance(self, memory: Memory) -> Array:
        """Return the variance of W − L a game, (…)."""
        _, games, squares = np.moveaxis(memory["totals"], -1, 0)
        variance: Array = (squares + KNOWN_GAMES * KNOWN_VARIANCE) / (games + KNOWN_GAMES)
        return variance

    def _first_octave(self, memory: Memory) -> Array:
        """Return the octave of each parameter's width, (…, n)."""
        return np.minimum(memory["width"][..., np.newaxis], self._last_octave)

    def _unit(self, memory: Memory) -> Array:
        """Return each parameter's width in units of the largest one, (…, n, 1)."""
        unit: Array = 0.5 ** self._first_octave(memory)
        return unit[..., np.newaxis]

    def _scaled(self, memory: Memory) -> list[Array]:
        """Return A, B, D, P, Q, (…, n) each, of the results within the width."""
        within = _OCTAVES[:, np.newaxis] >= self._first_octave(memory)[..., np.newaxis, :]
        sums = np.moveaxis(memory["sums"], -2, 0) * within
        noise = sums[5] * self._variance(memory)[..., np.newaxis, np.newaxis]
        scale = sums[0] / np.maximum(noise, _TINY)
        unit = self._unit(memory)[..., 0]
        a, b, d, p, q = (sums[:5] * scale).sum(axis=-2) / unit**2
        return [a, b / unit, d / unit**2, p * unit, q]

    def _posterior(self, memory: Memory) -> _Posterior:
        # axes: parameter, τ, e
        scaled = self._scaled(memory)
        a, b, d, p, q = (each[..., np.newaxis, np.newaxis] for each in scaled)
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
        unit = self._unit(memory)
        return _Posterior(
            weight.reshape(shape),
            mean.reshape(shape) * unit,
            deviation.reshape(shape) * unit,
            _likelihood_ratio(*scaled),
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


def stride(results: int) -> int:
    """Return the number of results between updates of θ, a power of two."""
    return 1 << max(results.bit_length() - EVERY.bit_length() + 1, 0)


def _probes(k: float | Array) -> Array:
    """Return the number of probes of the first k iterations."""
    return np.floor(PROBES * np.log1p(np.asarray(k) / PROBES))


def _octave(d: Array) -> Array:
    """Return the index of the octave of a distance in half ranges."""
    octave: Array = np.floor(np.log2(WIDTHS[0] / np.maximum(d, WIDTHS[-1])) + 1e-9)
    return np.clip(octave, 0, None)


def _add_by_octave(sums: Array, d: Array, terms: Array) -> None:
    """Add terms (…, 6, n) to the octaves of d (…, n) of sums (…, octaves, 6, n)."""
    index = _octave(d).astype(np.intp)[..., np.newaxis, np.newaxis, :]
    before = np.take_along_axis(sums, index, axis=-3)
    np.put_along_axis(sums, index, before + terms[..., np.newaxis, :, :], axis=-3)


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
