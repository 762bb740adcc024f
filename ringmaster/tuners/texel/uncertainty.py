"""Standard errors of fitted values and intervals of improvements; labels are correlated by game.

All positions of a game share its result.  With H the mean curvature and sᵧ the sum of
weight·slope over game γ, the clustered sandwich estimator of the covariance is
H⁻¹·(Σ sᵧsᵧᵀ/W²)·H⁻¹ (Liang & Zeger, "Longitudinal data analysis using generalized linear
models", 1986).  It ignores the ridge, which would trade variance for an unknown bias.  Beyond
MOST_GROUPS, games form groups of nearly equal size, whose sums are as independent.

The interval of an improvement is a bootstrap over games: each resample counts every game as
often as a Poisson variable of mean 1 (Hanley & MacGibbon, "Creating non-parametric bootstrap
samples using Poisson frequencies", 2006), or every group.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ringmaster.model.randomness import BOOTSTRAP_STREAM, word_array
from ringmaster.tuners.texel.loss import MOST_GROUPS, Array, sums_by_group
from ringmaster.tuners.texel.optimiser import Data, Split

#: Eigenvalues below this share of the largest count as 0.
SINGULAR = 1e-10
#: Largest part of a parameter in directions without signal.
_SHARE = 1e-2
#: Largest variance inflation factor of a parameter that is distinguishable from the others.
LARGEST_INFLATION = 20.0


def meat_of(sums: Array) -> Array:
    """Return the covariance of the total of the groups' sums, (groups, k) to (k, k).

    It is corrected for a small number of groups, and infinite for less than two.
    """
    filled = sums[np.any(sums != 0, axis=1)]
    if len(filled) < 2:
        return np.full((sums.shape[1],) * 2, np.inf)
    return np.atleast_2d(np.cov(filled.T)) * len(filled)


def unpenalised_optimum(
    curvature: Array, slope: Array, meat: Array, weight: float
) -> tuple[Array, Array]:
    """Return the Newton step to the least loss without a penalty, and standard errors there.

    Both are (k,); errors are infinite for parameters that the positions cannot distinguish.

    curvature  mean ∂²loss/∂θ², (k, k)
    slope      mean ∂loss/∂θ, (k,)
    meat       see `meat_of`
    weight     Σ weight
    """
    count = len(curvature)
    if not np.isfinite(meat).all() or weight <= 0:
        return np.zeros(count), np.full(count, np.inf)
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
    return step, np.where(known & ~lost, deviation, np.inf)


def collinear(curvature: Array) -> dict[int, int]:
    """Return parameters that are not distinguishable from others, with the most similar one.

    curvature  mean ∂²loss/∂θ², (k, k)

    Their variance inflation factor is above LARGEST_INFLATION; the most similar parameter has the
    largest partial correlation.
    """
    size = np.sqrt(np.diag(curvature))
    known = np.flatnonzero(size > 0)
    if len(known) < 2:
        return {}
    unit = size[known]
    correlation = curvature[np.ix_(known, known)] / np.outer(unit, unit)
    # keeps the matrix of equal columns invertible
    inverse = np.linalg.inv(correlation + 1e-9 * np.eye(len(known)))
    inflation = np.diag(inverse)
    partial = np.abs(inverse) / np.sqrt(np.outer(inflation, inflation))
    np.fill_diagonal(partial, 0.0)
    return {
        int(known[i]): int(known[int(np.argmax(partial[i]))])
        for i in np.flatnonzero(inflation > LARGEST_INFLATION)
    }


RESAMPLES = 2_000
#: The distribution function of the Poisson counts of mean 1, times 2¹⁶.
_POISSON = np.rint(65536 * np.cumsum([math.exp(-1) / math.factorial(k) for k in range(9)])).astype(
    np.uint32
)
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
    sums, seen = np.zeros((MOST_GROUPS, 2)), set[int]()
    for block in data.blocks((before, after), part):
        counts = block.weight > 0
        game, weight = block.game[counts], block.weight[counts].astype(np.float64)
        scores, target = block.scores[:, counts], block.target[counts]
        old, new = (loss.values(f * s, target) for f, s in zip(factors, scores, strict=True))
        sums += sums_by_group(np.stack([weight * (old - new), weight], axis=1), game)
        seen.update(np.unique(game).tolist())
    sums = sums[sums[:, 1] > 0]
    if not len(sums):
        return None
    decrease, total = sums.sum(axis=0).tolist()
    means = _resampled(sums, seed)
    means = means[~np.isnan(means)]
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    share = float((means > 0).mean() + (means == 0).mean() / 2)
    return Improvement(part, decrease / total, low, high, share, len(seen))


def gain_over_start(
    data: Data, best: int, part: Split, *, seed: int, factors: tuple[float, float]
) -> Improvement | None:
    """Return the improvement from pass 0, with the one beyond scores times `factors`."""
    gain = bootstrap(data, 0, best, part, seed=seed)
    rest = bootstrap(data, 0, best, part, seed=seed, factors=factors)
    if gain is None or rest is None or gain.value - rest.value <= _UNIT_SHARE * abs(gain.value):
        return gain
    return msgspec.structs.replace(gain, factor=factors[0] / factors[1], beyond=rest)


def _resampled(sums: Array, seed: int) -> Array:
    """Return the mean gain of each resample, (RESAMPLES,), NaN if it has no game.

    sums  Σ weight·gain and Σ weight of each group, (groups, 2)
    """
    count = len(sums)
    means = np.full(RESAMPLES, np.nan)
    for r in range(RESAMPLES):
        bits = word_array(seed, BOOTSTRAP_STREAM, r, -(-count // 4)).view(np.uint16)[:count]
        gain, weight = np.searchsorted(_POISSON, bits, side="right") @ sums
        if weight > 0:
            means[r] = gain / weight
    return means
