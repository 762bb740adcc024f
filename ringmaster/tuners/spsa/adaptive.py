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

The line is fitted by Bayes (`posterior`): A, B, D, P and Q are the first five sums over their
mean noise.  All parameters together determine how far optima are from the start and how much
parameters matter.  A tune of many unimportant parameters thus does not mistake noise for
effects; values that are good already stay, and a start far from the optimum does not hold θ
back.

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

*Axes.*  On a ridge parameters are not independent, and the zeros of their lines are wrong.  So
two to eight parameters have a regression on all products, too (`curvature`).  Where it shows
products, and an optimum elsewhere, lines, perturbations and midpoints are from then on those
of the curvature's axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringmaster.tuners.space import Array, Flags, Space
from ringmaster.tuners.spsa import curvature
from ringmaster.tuners.spsa.method import Memory, Method, OptimumInterval
from ringmaster.tuners.spsa.posterior import Posterior, exceeds_chance, infer
from ringmaster.tuners.spsa.regression import KNOWN_GAMES, KNOWN_VARIANCE, C, Regression

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
#: Distance of midpoints from θ in units of ς, and the largest one in units of c.
SHIFT_PER_DEVIATION, SHIFT_MOST = 2.0, 0.5
#: θ and c are updated after each of the first 256 results, then after each growth by a
#: 256th to a 128th.
EVERY = 256
#: Evidence for products, as a logarithm, from which axes count.
EVIDENCE = 3.0
#: Elo to be gained by other axes, in units of what they leave uncertain, from which they are used.
WORTH = 0.3
#: Results before that; θ is still far from the optimum at first, where the loss is no parabola.
PRODUCTS_FROM = 1000

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
#: The least e of a parameter whose products are looked for.
_LEAST_ELO = 0.1


class Adaptive(Method):
    """Bayesian SPSA.

    own_c  fixed perturbations, (n,), NaN where the method chooses

    Counts k in iterations.

    Memory: sums (…, octaves, 6, n), totals (…, 3) (results, games and Σs²) and probes
    (…, widths, 2) (games and L − W); width (…), the index of the chosen one, theta, c and
    shift, (…, n) each, as of their last update.  With axes also gram (…, octaves, f, f) and
    moments (…, octaves, f) of `curvature`, by the root mean square of d; axes (…, n, n) and
    turned (…, 2, n), c and shift along them in half ranges.
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
        free = bool(np.isnan(self._own_c).all())
        self._products = free and 1 < len(space) <= curvature.MOST_PARAMETERS
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
        if (turned := self._turned(memory)).any():
            axes, scale = memory["axes"], memory["turned"]
            step, shift = (
                np.einsum("...ij,...j->...i", axes, scale[..., i, :] * sign) * self.half
                for i, sign in enumerate((delta, signs))
            )
            use = turned[..., np.newaxis] & ~probe
            middle = np.where(use, self.space.clip(theta + shift), middle)
            step = np.where(step < 0, -1.0, 1.0) * np.maximum(np.abs(step), self.space.least_c)
            c = np.where(use, step * delta, c)
        return middle, c

    def _turned(self, memory: Memory) -> Flags:
        """Return whether other axes than the parameters are used, (…)."""
        if not self._products:
            return np.asarray(False)
        turned: Flags = (memory["axes"] != np.eye(len(self.space))).any(axis=(-2, -1))
        return turned

    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        n = len(self.space)
        memory = {
            "sums": np.zeros((*shape, len(WIDTHS), 6, n)),
            "totals": np.zeros((*shape, 3)),
            "probes": np.zeros((*shape, len(WIDTHS), 2)),
        }
        if self._products:
            count = n * (n + 3) // 2
            memory["gram"] = np.zeros((*shape, len(WIDTHS), count, count))
            memory["moments"] = np.zeros((*shape, len(WIDTHS), count))
            memory["axes"] = np.broadcast_to(np.eye(n), (*shape, n, n)).copy()
            memory["turned"] = np.zeros((*shape, 2, n))
        return self._with_centre(memory)

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
            self._add(memory, plus, minus, np.asarray(result, dtype=np.float64), games)
        if _results(memory) % stride(_results(memory)) == 0:
            self._with_centre(memory)

    def _add(self, memory: Memory, plus: Array, minus: Array, result: Array, games: float) -> None:
        d = (plus - minus) / (2 * self.half)
        m = ((plus + minus) / 2 - self.space.start) / self.half
        moved = d != 0
        if self._products:
            f = curvature.features(d, m)
            octave = _octave(np.sqrt(np.square(d).mean(axis=-1))).astype(np.intp)
            at = (*np.indices(octave.shape), octave)
            memory["gram"][at] += games * f[..., :, np.newaxis] * f[..., np.newaxis, :]
            memory["moments"][at] += result[..., np.newaxis] * f
        inverse = np.divide(1.0, d, out=np.zeros_like(d), where=moved)
        weight = games * moved
        slope = result[..., np.newaxis] * inverse
        moment = weight * m
        terms = [weight, moment, moment * m, slope, slope * m, games * np.square(inverse)]
        _add_by_octave(memory["sums"], np.abs(d), np.stack(terms, axis=-2))

    def steady(self, memory: Memory) -> int:
        results = _results(memory)
        return stride(results) - results % stride(results)

    def centre(self, memory: Memory) -> Array:
        return memory["theta"]

    def estimate(self, memory: Memory) -> Array:
        x, _ = self._point(self._posterior(memory), memory)
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
        if self._turned(memory):
            lines.append("parameters act together: perturbations are along their common axes")
        return lines

    def intervals(self, memory: Memory) -> list[OptimumInterval]:
        posterior = self._posterior(memory)
        x, _ = self._point(posterior, memory)
        elo, (_, slope) = posterior.elo(), posterior.slope()
        slope = slope * C / 4 / posterior.unit[..., 0]
        ratio = posterior.ratio
        if self._turned(memory):
            axes = memory["axes"]
            mean, variance = posterior.moments()
            mean, error = axes @ mean, 1.96 * np.sqrt(_squared(axes, variance))
            ends: Sequence[Array] = (mean - error, mean + error)
            # the gain 2·xᵀg − xᵀHx by parameter
            stake = x * (2 * (axes @ slope) - axes @ (elo * (axes.T @ x)))
            ratio = _squared(axes, ratio)
        else:
            ends = [posterior.quantile(p) for p in (0.025, 0.975)]
            stake = x * (2 * slope - x * elo)
        places = (self.space.clip(self.space.start + end * self.half) for end in (x, *ends))
        # the strongest parameter is a reason to leave the start, even if others are needed too
        counts = exceeds_chance(ratio, 1) | (ratio == ratio.max())
        signal = posterior.leaves_start() & counts
        columns = (*places, stake + 0.0, signal)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [OptimumInterval(*row) for row in rows]

    def _with_centre(self, memory: Memory) -> Memory:
        """Update the width, axes, θ, c and shift of a memory, and return it."""
        memory["width"] = self._width(memory)
        posterior = self._posterior(memory)
        if self._products and _results(memory) >= PRODUCTS_FROM:
            posterior = self._turn(memory, posterior)
        x, deviation = self._point(posterior, memory)
        widest = WIDTHS[memory["width"].astype(np.intp)][..., np.newaxis]
        c = np.minimum(C_PER_DEVIATION * deviation, widest)
        shift = SHIFT_PER_DEVIATION * deviation
        if self._products:
            memory["turned"][:] = np.stack([c, np.minimum(shift, SHIFT_MOST * c)], axis=-2)
            # root mean squares of each parameter
            c, shift = (np.sqrt(_squared(memory["axes"], np.square(each))) for each in (c, shift))
        c = np.where(np.isnan(self._own_c), c * self.half, self._own_c)
        memory["theta"] = self.space.clip(self.space.start + x * self.half)
        memory["c"] = np.maximum(c, self.space.least_c)
        memory["shift"] = np.minimum(shift * self.half, SHIFT_MOST * memory["c"])
        return memory

    def _turn(self, memory: Memory, posterior: Posterior) -> Posterior:
        """Choose the axes; return the posterior along them instead of along those before."""
        gram, moments = self._least_squares(memory)
        elo = np.maximum(_squared(memory["axes"], posterior.elo()), _LEAST_ELO)
        evidence, matrix = curvature.fit(gram, moments, 4 * elo / C)
        found = evidence > EVIDENCE
        if not found.any():
            return posterior
        axes = np.linalg.eigh(matrix)[1]
        other = curvature.along(gram, moments, axes, self._widest(memory))
        y, deviation = other.point()
        x, _ = self._point(posterior, memory)
        elo = other.elo()
        gain = (elo * np.square(np.einsum("...ji,...j->...i", axes, x) - y)).sum(axis=-1)
        better = gain > WORTH * (elo * np.square(deviation)).sum(axis=-1)
        use = found & (better | self._turned(memory))
        memory["axes"] = np.where(use[..., np.newaxis, np.newaxis], axes, memory["axes"])
        return other.where(use, posterior)

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

    def _point(self, posterior: Posterior, memory: Memory) -> tuple[Array, Array]:
        """Return x*, within the bounds, and ς along the axes, in half ranges from the start."""
        x, deviation = posterior.point()
        if self._products:
            x = np.einsum("...ij,...j->...i", memory["axes"], x)
        return np.where(posterior.leaves_start(), np.clip(x, self._low, self._high), 0.0), deviation

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

    def _widest(self, memory: Memory) -> Array:
        """Return the width in units of the largest one, (…)."""
        widest: Array = 0.5 ** memory["width"]
        return widest

    def _posterior(self, memory: Memory) -> Posterior:
        """Return the posterior along the axes."""
        posterior = infer(self._scaled(memory), self._unit(memory))
        if not (turned := self._turned(memory)).any():
            return posterior
        along = curvature.along(*self._least_squares(memory), memory["axes"], self._widest(memory))
        return along.where(turned, posterior)

    def _least_squares(self, memory: Memory) -> tuple[Array, Array]:
        """Return gram and moments over the variance of a game, of the results within the width."""
        within = memory["width"][..., np.newaxis] <= _OCTAVES
        scale = within / self._variance(memory)[..., np.newaxis]
        return (
            np.einsum("...o,...oij->...ij", scale, memory["gram"]),
            np.einsum("...o,...oi->...i", scale, memory["moments"]),
        )


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


def _squared(axes: Array, values: Array) -> Array:
    """Return Σⱼ Qᵢⱼ²·vⱼ, values along axes as those of the parameters, (…, n)."""
    squared: Array = np.einsum("...ij,...j->...i", np.square(axes), values)
    return squared
