"""Standard errors of fitted values and intervals of improvements; labels are correlated by game.

All positions of a game share its result.  With H the mean curvature and sᵧ the sum of
weight·slope over game γ, the clustered sandwich estimator of the covariance is
H⁻¹·(Σ sᵧsᵧᵀ/W²)·H⁻¹ (Liang & Zeger, "Longitudinal data analysis using generalized linear
models", 1986).  It ignores the ridge, which would trade variance for an unknown bias.  Sums are
kept by game; too many games share places with random signs, which leaves the estimate unbiased
(the count sketch of Charikar, Chen & Farach-Colton, 2002).

The interval of an improvement is a bootstrap over games: each resample counts every game as
often as a Poisson variable of mean 1 (Hanley & MacGibbon, "Creating non-parametric bootstrap
samples using Poisson frequencies", 2006).  Beyond MOST_GROUPS, games are resampled in groups.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.randomness import BOOTSTRAP_STREAM, word_array
from ringmaster.tuners.texel.loss import Array
from ringmaster.tuners.texel.optimiser import Data, Split

#: Eigenvalues below this share of the largest count as 0.
SINGULAR = 1e-10
#: Most sums kept, 8 bytes each.
_MOST = 1 << 24
#: Largest part of a parameter in directions without signal.
_SHARE = 1e-2
#: Multipliers of the finaliser of splitmix64 (Steele, Lea & Flood, 2014).
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class ClusterSums:
    """Σ weight·slope of each game, for k parameters."""

    def __init__(self, parameters: int) -> None:
        self._places = max(_MOST // max(parameters, 1), 1024)
        self._sums = np.zeros((0, parameters))

    def add(self, slopes: Array, games: npt.NDArray[np.uint32]) -> None:
        """Add weight·∂loss/∂θ of each position, (n, k), with the numbers of their games."""
        if not len(games):
            return
        place = games % np.uint32(min(self._places, 1 << 31))
        order = np.argsort(place, kind="stable")
        place = place[order]
        first = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
        sums = np.add.reduceat((slopes * _signs(games)[:, np.newaxis])[order], first, axis=0)
        needed = int(place[-1]) + 1
        if needed > len(self._sums):
            room = min(max(needed, 2 * len(self._sums)), self._places)
            self._sums.resize((room, self._sums.shape[1]), refcheck=False)
        self._sums[place[first]] += sums

    def meat(self) -> Array:
        """Return Σ sᵧsᵧᵀ, (k, k), corrected for a small number of games."""
        filled = self._sums[np.any(self._sums != 0, axis=1)]
        count = len(filled)
        if count < 2:
            return np.full((self._sums.shape[1],) * 2, np.inf)
        return np.asarray(filled.T @ filled * (count / (count - 1)))


def _signs(games: npt.NDArray[np.uint32]) -> Array:
    """Return a pseudo-random sign of each game, 1 or −1."""
    z = games.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * _MIX[0]
    z = (z ^ (z >> np.uint64(27))) * _MIX[1]
    return 1.0 - 2.0 * ((z ^ (z >> np.uint64(31))) & np.uint64(1)).astype(np.float64)


class Estimate(NamedTuple):
    """Evidence of the positions about k parameters.

    step       Newton step to the least loss without a penalty, (k,)
    deviation  standard errors there, (k,); infinite for parameters that the positions cannot
               distinguish
    """

    step: Array
    deviation: Array


def unpenalised_optimum(curvature: Array, slope: Array, meat: Array, weight: float) -> Estimate:
    """Return the Newton step to the unpenalised optimum, with its standard errors.

    curvature  mean ∂²loss/∂θ², (k, k)
    slope      mean ∂loss/∂θ, (k,)
    meat       see `ClusterSums`
    weight     Σ weight
    """
    count = len(curvature)
    if not np.isfinite(meat).all() or weight <= 0:
        return Estimate(np.zeros(count), np.full(count, np.inf))
    size = np.sqrt(np.diag(curvature))
    known = size > 0
    unit = np.where(known, size, 1.0)
    values, vectors = np.linalg.eigh(curvature / np.outer(unit, unit))
    kept = values > SINGULAR * max(values.max(initial=0.0), 1e-300)
    lost = np.square(vectors[:, ~kept]).sum(axis=1) > _SHARE
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    covariance = inverse @ (meat / np.outer(unit, unit) / weight**2) @ inverse
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0)) / unit
    step = -(inverse @ (slope / unit)) / unit
    return Estimate(step, np.where(known & ~lost, deviation, np.inf))


RESAMPLES = 2_000
#: Most groups of games that are resampled.
MOST_GROUPS = 4_096
#: A change of unit is reported from this share of a decrease on.
_UNIT_SHARE = 0.05


class Improvement(msgspec.Struct):
    """The decrease of a mean loss from one pass to another, with its 95 % interval.

    share   share of resamples (of games) with a decrease; equal losses count half
    factor  between the units of the passes with the least errors
    beyond  the decrease in these units if a change of unit brings much of it, else None
    """

    part: Split
    value: float
    low: float
    high: float
    share: float
    games: int
    factor: float = 1.0
    beyond: Improvement | None = None

    @property
    def is_of_unit(self) -> bool:
        """Return whether a change of unit brings most of the decrease; the rest may be chance."""
        rest = self.beyond
        return rest is not None and rest.value < self.value / 2 and rest.low <= 0

    def text(self, *, brief: bool = False) -> str:
        """Return the gain in words; a change of unit is not part of it."""
        form = "{:.3g}" if brief else "{:.8f}"

        def interval(one: Improvement) -> str:
            value, low, high = map(form.format, (one.value, one.low, one.high))
            return f"{value} (95 %: {low} to {high})"

        start = f"the {'training' if self.part == 'train' else self.part} error fell by"
        if self.is_of_unit:
            return (
                f"{start} {form.format(self.value)} by a change of unit alone: "
                f"the start values' scores times {self.factor:.3g} do as well"
            )
        beyond = self.beyond and interval(self.beyond)
        if brief:
            return f"{start} {f'{beyond} beyond a change of unit' if beyond else interval(self)}"
        more = f"; {beyond} of it beyond a change of unit" if beyond else ""
        return f"{start} {interval(self)}, in {100 * self.share:.4g} % of resampled games{more}"


def bootstrap(
    data: Data,
    before: int,
    after: int,
    part: Split = "validation",
    *,
    seed: int = 0,
    factors: tuple[float, float] = (1.0, 1.0),
) -> Improvement | None:
    """Compare two kept passes; None if no position of the part has a weight.

    The same seed and blocks give the same result.

    factors  of the scores of both passes
    """
    loss = data.loss
    # Σ weight·(before − after) and Σ weight by group of games
    gains, weights = np.zeros(MOST_GROUPS), np.zeros(MOST_GROUPS)
    total = decrease = 0.0
    seen: set[int] = set()
    for block in data.blocks((before, after), part):
        counts = block.weight > 0
        game, weight = block.game[counts], block.weight[counts].astype(np.float64)
        scores, target = block.scores[:, counts], block.target[counts]
        old, new = (loss.values(f * s, target) for f, s in zip(factors, scores, strict=True))
        place = (game % np.uint32(MOST_GROUPS)).astype(np.intp)
        gains += np.bincount(place, weight * (old - new), MOST_GROUPS)
        weights += np.bincount(place, weight, MOST_GROUPS)
        total += float(weight.sum())
        decrease += float(weight @ old) - float(weight @ new)
        seen.update(np.unique(game).tolist())
    if not total:
        return None
    filled = weights > 0
    means = _resampled(gains[filled], weights[filled], seed)
    # NaN if a resample has no game
    means = means[~np.isnan(means)]
    if not len(means):
        means = np.array([decrease / total])
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    share = float((means > 0).mean() + (means == 0).mean() / 2)
    return Improvement(part, decrease / total, low, high, share, len(seen))


def gain_over_start(
    data: Data, best: int, part: Split, *, seed: int, factors: tuple[float, float]
) -> Improvement | None:
    """Return the improvement from pass 0 to the best pass, None without positions.

    factors  of the scores of both passes that have the least errors of training
    """
    gain = bootstrap(data, 0, best, part, seed=seed)
    rest = bootstrap(data, 0, best, part, seed=seed, factors=factors)
    if gain is None or rest is None or gain.value - rest.value <= _UNIT_SHARE * abs(gain.value):
        return gain
    return msgspec.structs.replace(gain, factor=factors[0] / factors[1], beyond=rest)


def _resampled(gains: Array, weights: Array, seed: int) -> Array:
    """Return the mean gain of each resample, (RESAMPLES,)."""
    count = len(gains)
    means = np.full(RESAMPLES, np.nan)
    for r in range(RESAMPLES):
        bits = word_array(seed, BOOTSTRAP_STREAM, r, -(-count // 4)).view(np.uint16)[:count]
        times = _TIMES[bits]
        weight = times @ weights
        if weight > 0:
            means[r] = (times @ gains) / weight
    return means


def _times() -> Array:
    """Return Poisson counts for 16 random bits: the inverse of the distribution function."""
    ends, total = [], 0.0
    for k in range(9):
        total += math.exp(-1) / math.factorial(k)
        ends.append(round(total * 65536))
    return np.searchsorted(np.array(ends), np.arange(65536), side="right").astype(np.float64)


_TIMES = _times()
