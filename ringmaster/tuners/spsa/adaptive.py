"""The default method: infer each optimum and its importance from all results so far.

θ is the point of least expected loss; c shrinks with the remaining uncertainty.  Inputs are
only the ranges, their scales and the start.  Lengths are in half ranges from the start; e is the
Elo that a parameter loses at a distance of 1 from its optimum o.  An iteration of g games with
sides m ± d and s = W−L has, for this parameter alone,

    E[s] = g·β·d·(o − m)        Var[s] = g·v        β = 4e/C

since δ is drawn independently in each iteration, which makes the other parameters noise of mean
zero.  A = Σg·d², B = Σg·d²m, D = Σg·d²m², P = Σs·d and Q = Σs·d·m are kept by octave of d; the
order of results does not matter.  `posterior` fits the line by Bayes.

E[e·(x − o)²] is least at x* = E[e·o]/E[e].  With ς² = E[e·(o − x*)²]/E[e], c is 6·ς, at most the
width: wide at first, then narrowing about as k^−¼, so that the bias of a lopsided or saturating
loss shrinks with the noise.  The first perturbations are small and double every 16 iterations,
since nothing is known of the loss far away.  Midpoints are θ ± 2·ς at random, which distinguishes
a steep parameter at its optimum from one without effect.  The start is left gradually: with r the
gain by x* in units of the loss that ς leaves, the aim of θ is at a share of 2·(1 − 0.6/r) of the
way.  θ follows its aim with a time constant of 6 % of the results and four updates, so that its
course is calm: a third of the path, at no loss of Elo.

If both sides of an iteration are so far from θ that both are lost, they play even games, and the
tune learns nothing.  So a few iterations are probes, games of θ + w·δ against θ itself at the
WIDTHS in turn.  A width is given up if a player there loses more than about 90 Elo, by a parabola
through the probes at this width and the narrower ones.  All lengths of the prior shrink with the
width, and results of wider perturbations lose weight, until at 130 Elo they have none.
"""

from __future__ import annotations

import numpy as np

from ringmaster.tuners.space import Array, Flags, Space
from ringmaster.tuners.spsa.method import Memory, Method, OptimumInterval
from ringmaster.tuners.spsa.posterior import Posterior, infer
from ringmaster.tuners.spsa.regression import KNOWN_GAMES, KNOWN_VARIANCE, C, Regression

#: The largest c, half ranges, and its halvings: the octaves of d and the widths of probes.
WIDTHS = 2 / 3 * 0.5 ** np.arange(8)
#: The largest c of the first iteration, half ranges, and the iterations that double it.
FIRST_C, DOUBLING = 0.16, 16.0
#: c in units of ς.
C_PER_DEVIATION = 6.0
#: Distance of midpoints from θ in units of ς, and the largest one in units of c.
SHIFT_PER_DEVIATION, SHIFT_MOST = 2.0, 0.2
#: Of k iterations, about PROBES·ln(1 + k/PROBES) are probes, at the PROBED widest widths in turn.
PROBES, PROBED = 12.0, 6
#: The L − W a game from which on a player at a width loses too much, about 90 Elo, and the one at
#: which results of the width have no weight left; even games that count with its probes.
MOST_LOST, USELESS, HARMLESS = 0.25, 0.35, 8.0
#: The aim of θ leaves the start from this r on, with this slope.
LEAVING, RAMP = 0.6, 2.0
#: The time constant of θ: results as a share of all, and updates.
CALM, CALM_UPDATES = 0.06, 4.0
#: Standard errors by which the results of a narrower width contradict the fit.
CONTRADICTION = 3.0

_OCTAVES = np.arange(len(WIDTHS))
_TINY = 1e-12


class Adaptive(Method):
    """Bayesian SPSA.

    own_c  fixed perturbations, (n,), NaN where the method chooses

    Memory: sums (…, octaves, 5, n); totals (…, 3), results, games and Σ(W−L)²; probes
    (…, widths, 2), games and L − W; first (…, n), the octave of each parameter's width; theta,
    the estimate, c and shift (…, n).
    """

    shifted = True

    def __init__(self, space: Space, own_c: Array | None = None) -> None:
        self.space = space
        n = len(space)
        self._own_c = np.full(n, np.nan) if own_c is None else own_c
        self.half = space.width / 2
        # widths that move a parameter at all
        reach = WIDTHS[:, np.newaxis] * self.half >= space.least_c
        free = reach & np.isnan(self._own_c)
        self._probe_c = np.where(free, WIDTHS[:, np.newaxis] * self.half, 0.0)
        self._probed = min(int(np.count_nonzero(free.any(axis=-1))), PROBED)
        # the octave of the narrowest perturbation
        self._last_octave = _octave(np.fmax(space.least_c, self._own_c) / self.half)

    def c(self, k: float, memory: Memory | None = None) -> Array:
        return (self.start() if memory is None else memory)["c"]

    def reach(self) -> Array:
        largest = np.maximum(WIDTHS[0] * self.half, self.space.least_c)
        return np.where(np.isnan(self._own_c), largest, self._own_c)

    def is_probe(self, iteration: float | Array) -> Flags:
        now, before = _probes(iteration), _probes(iteration - 1)
        return np.asarray((now > before) & (self._probed > 1))

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
        probe = self.is_probe(k)
        if probe.any():
            width = self._probe_c[(_probes(k) % self._probed).astype(np.intp)[..., 0]]
            middle = np.where(probe, theta + width / 2 * delta, middle)
            c = np.where(probe, width / 2, c)
        return middle, c

    def start(self, shape: tuple[int, ...] = ()) -> Memory:
        memory = {
            "sums": np.zeros((*shape, len(WIDTHS), 5, len(self.space))),
            "totals": np.zeros((*shape, 3)),
            "probes": np.zeros((*shape, len(WIDTHS), 2)),
        }
        return self._with_centre(memory)

    def resume(self, theta: Array, regression: Regression, iterations: int) -> Memory:
        # the regression does not know the octaves: no result is too wide
        half, memory = self.half, self.start()
        units = np.stack([half**2, half**3, half**4, half, half**2])
        memory["sums"][-1] = regression.sums() / units
        memory["totals"][:] = iterations, regression.games, regression.squares
        return self._with_centre(memory) | {"theta": self.space.clip(theta)}

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
        totals, before = memory["totals"], _results(memory)
        totals[..., 0] += 1
        if self.is_probe(k):
            probes = memory["probes"][..., int(_probes(k)) % self._probed, :]
            probes[..., 0] += games
            probes[..., 1] -= result
        else:
            totals[..., 1] += games
            totals[..., 2] += np.square(result)
            d = (plus - minus) / (2 * self.half)
            m = ((plus + minus) / 2 - self.space.start) / self.half
            weight, score = games * d * d, np.asarray(result)[..., np.newaxis] * d
            terms = [weight, weight * m, weight * m * m, score, score * m]
            _add_by_octave(memory["sums"], np.abs(d), np.stack(terms, axis=-2))
        if (before + 1) % stride(before + 1) == 0:
            self._with_centre(memory)

    def steady(self, memory: Memory) -> int:
        results = _results(memory)
        return stride(results) - results % stride(results)

    def centre(self, memory: Memory) -> Array:
        return memory["theta"]

    def estimate(self, memory: Memory) -> Array:
        return memory["theta"]

    def remarks(self, memory: Memory) -> list[str]:
        lines = []
        posterior = self.posterior(memory)
        share = float(_leaving(posterior)[0])
        if share < 1:
            lines.append(f"weak results: θ goes {share:.0%} of the way from the start")
        first = memory["first"].astype(np.intp)
        if first.any():
            widest = sorted({50 * WIDTHS[first.max()], 50 * WIDTHS[first.min()]})
            most = " to ".join(f"{w:.2g}" for w in widest)
            lines.append(f"c is at most {most} % of the ranges: farther players lose too much")
        if self._contradicted(memory, posterior).any():
            lines.append(
                "results at two widths disagree: the loss is no parabola, and the gain at stake is "
                "uncertain"
            )
        return lines

    def intervals(self, memory: Memory) -> list[OptimumInterval]:
        posterior, theta = self.posterior(memory), memory["theta"]
        low, high = (
            self.space.clip(self.space.start + posterior.quantile(p) * self.half)
            for p in (0.025, 0.975)
        )
        gain = posterior.gain((theta - self.space.start) / self.half)
        # the strongest parameter is a reason to leave the start, even if others are needed too
        strongest = posterior.ratio == posterior.ratio.max()
        signal = (_leaving(posterior) > 0) & (posterior.signal() | strongest)
        # a θ on its way to a distant interval belongs to it
        columns = (theta, np.minimum(low, theta), np.maximum(high, theta), *gain, signal)
        return [OptimumInterval(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]

    def _with_centre(self, memory: Memory) -> Memory:
        """Update the widths, θ, c and shift of a memory, and return it."""
        wider = np.count_nonzero(self._lost(memory) > MOST_LOST, axis=-1)[..., np.newaxis]
        memory["first"] = np.minimum(wider, self._last_octave).astype(np.float64)
        posterior = self.posterior(memory)
        widest = WIDTHS[memory["first"].astype(np.intp)]
        widest = np.minimum(widest, FIRST_C * 2 ** min(_results(memory) / DOUBLING, 20.0))
        c = np.minimum(C_PER_DEVIATION * posterior.deviation, widest)
        c = np.where(np.isnan(self._own_c), c * self.half, self._own_c)
        x = posterior.x * _leaving(posterior)
        aim = self.space.clip(self.space.start + x * self.half)
        before = memory.get("theta", aim)
        rate = stride(_results(memory)) / (CALM * _results(memory) + CALM_UPDATES)
        memory["theta"] = before + rate * (aim - before)
        memory["c"] = np.maximum(c, self.space.least_c)
        shift = SHIFT_PER_DEVIATION * posterior.deviation * self.half
        memory["shift"] = np.minimum(shift, SHIFT_MOST * memory["c"])
        return memory

    def _lost(self, memory: Memory) -> Array:
        """Return the L − W a game of a player at each width by the probes, (…, widths)."""
        games, lost = np.moveaxis(memory["probes"][..., ::-1, :], -1, 0)
        square = np.square(WIDTHS[::-1])
        known = np.cumsum(games * square**2, axis=-1) + HARMLESS * square**2
        return np.asarray((square * np.cumsum(lost * square, axis=-1) / known)[..., ::-1])

    def _variance(self, memory: Memory) -> Array:
        """Return the variance of W − L a game, (…)."""
        _, games, squares = np.moveaxis(memory["totals"], -1, 0)
        variance: Array = (squares + KNOWN_GAMES * KNOWN_VARIANCE) / (games + KNOWN_GAMES)
        return variance

    def posterior(self, memory: Memory) -> Posterior:
        """Return what the results tell, lengths in half ranges."""
        kept = np.clip((USELESS - self._lost(memory)) / (USELESS - MOST_LOST), 0, 1)
        within = _OCTAVES[:, np.newaxis] >= memory["first"][..., np.newaxis, :]
        kept = np.where(within, 1, kept[..., np.newaxis])
        sums = (np.moveaxis(memory["sums"], -2, 0) * kept).sum(axis=-2)
        unit = 0.5 ** memory["first"]
        a, b, d, p, q = sums / self._variance(memory)[..., np.newaxis]
        lengths = [a / unit**2, b / unit**3, d / unit**4, p / unit, q / unit**2]
        return infer(lengths, unit[..., np.newaxis])

    def _contradicted(self, memory: Memory, posterior: Posterior) -> Flags:
        """Return whether a parameter's results at a width contradict the fit, (…, n)."""
        a, b, _, p, _ = np.moveaxis(memory["sums"], -2, 0)
        x, elo = (each[..., np.newaxis, :] for each in (posterior.x, posterior.elo))
        expected = 4 / C * elo * (x * a - b)
        error = np.sqrt(self._variance(memory)[..., np.newaxis, np.newaxis] * np.maximum(a, _TINY))
        within = _OCTAVES[:, np.newaxis] >= memory["first"][..., np.newaxis, :]
        off = within & (np.abs(p - expected) > CONTRADICTION * error)
        return np.asarray(off.any(axis=-2))


def _leaving(posterior: Posterior) -> Array:
    """Return the share of the way from the start to x*, (…, 1)."""
    x, deviation = posterior.x, posterior.deviation
    q = posterior.elo * np.minimum(1.0, np.square(x / deviation))
    gain, left = ((q * np.square(each)).sum(axis=-1, keepdims=True) for each in (x, deviation))
    r = gain / (left + _TINY)
    return np.asarray(np.clip(RAMP * (1 - LEAVING / np.maximum(r, _TINY)), 0.0, 1.0))


def stride(results: int) -> int:
    """Return the number of results between updates of θ, a power of two."""
    return 1 if results < 16 else 1 << max((results // 64).bit_length() - 1, 1)


def _probes(k: float | Array) -> Array:
    """Return the number of probes of the first k iterations."""
    return np.floor(PROBES * np.log1p(np.asarray(k) / PROBES))


def _octave(d: Array) -> Array:
    """Return the index of the octave of a distance in half ranges."""
    octave: Array = np.floor(np.log2(WIDTHS[0] / np.maximum(d, WIDTHS[-1])) + 1e-9)
    return np.clip(octave, 0, None)


def _add_by_octave(sums: Array, d: Array, terms: Array) -> None:
    """Add terms (…, 5, n) to the octaves of d (…, n) of sums (…, octaves, 5, n)."""
    index = _octave(d).astype(np.intp)[..., np.newaxis, np.newaxis, :]
    before = np.take_along_axis(sums, index, axis=-3)
    np.put_along_axis(sums, index, before + terms[..., np.newaxis, :, :], axis=-3)


def _results(memory: Memory) -> int:
    """Return the number of results, the same for all tunes of a memory."""
    return int(memory["totals"][..., 0].flat[0])
