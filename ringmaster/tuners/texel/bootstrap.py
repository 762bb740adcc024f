"""How sure it is that one pass is better than another: the bootstrap over games.

The difference of two mean losses depends on which games happen to be in the set, and the
positions of a game stand and fall together.  So games are drawn anew, each as often as a
Poisson variable of mean 1 says (Hanley & MacGibbon, "Creating non-parametric bootstrap
samples using Poisson frequencies", 2006), and the difference is computed of each such set.
Of more games than are drawn one by one, several are drawn together: they are independent,
so nothing is lost but some of the resolution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ringmaster.model.randomness import BOOTSTRAP_STREAM, word_array
from ringmaster.tuners.texel.loss import Array, Sum
from ringmaster.tuners.texel.optimiser import Data

RESAMPLES = 2_000
#: Groups of games that are drawn at most.
MOST_GROUPS = 4_096


@dataclass(frozen=True)
class Improvement:
    """By how much a mean loss is smaller in one pass than in another.

    before, after  the mean losses
    low, high      ends of the 95 % interval of before − after
    share          of resamples in which it is above 0; equal ones count half
    games          in the set
    """

    before: float
    after: float
    low: float
    high: float
    share: float
    games: int

    @property
    def improvement(self) -> float:
        """Before − after."""
        return self.before - self.after


def bootstrap(
    data: Data,
    before: int,
    after: int,
    part: Literal["train", "validation"] = "validation",
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Improvement | None:
    """Return how a pass compares with an earlier one; both must be kept.  None where the
    part has no position that counts.

    The same seed, over the same blocks, gives the same.
    """
    loss = data.loss
    # Σ weight·(before − after) and Σ weight by group of games
    gains, weights = np.zeros(MOST_GROUPS), np.zeros(MOST_GROUPS)
    first, second = Sum(), Sum()
    seen: set[int] = set()
    for block in data.blocks((before, after), part):
        counts = block.weight > 0
        game, weight = block.game[counts], block.weight[counts].astype(np.float64)
        old, new = (loss.values(scores[counts], block.target[counts]) for scores in block.scores)
        place = (game % np.uint32(MOST_GROUPS)).astype(np.intp)
        gains += np.bincount(place, weight * (old - new), MOST_GROUPS)
        weights += np.bincount(place, weight, MOST_GROUPS)
        total = float(weight.sum())
        first = Sum(first.loss + float(weight @ old), first.weight + total)
        second = Sum(second.loss + float(weight @ new), second.weight + total)
        seen.update(np.unique(game).tolist())
    if not first.weight:
        return None
    filled = weights > 0
    found = _resampled(gains[filled], weights[filled], seed, resamples)
    # NaN where every game has been drawn 0 times
    found = np.sort(found[~np.isnan(found)])
    if not len(found):
        found = np.array([(first.loss - second.loss) / first.weight])
    low, high = np.quantile(found, [0.025, 0.975])
    return Improvement(
        first.loss / first.weight,
        second.loss / second.weight,
        float(low),
        float(high),
        float((found > 0).mean() + (found == 0).mean() / 2),
        len(seen),
    )


def _resampled(gains: Array, weights: Array, seed: int, resamples: int) -> Array:
    """Return the mean gain of each resample, (resamples,)."""
    count = len(gains)
    found = np.full(resamples, np.nan)
    for r in range(resamples):
        bits = word_array(seed, BOOTSTRAP_STREAM, r, -(-count // 4)).view(np.uint16)[:count]
        times = _TIMES[bits]
        weight = times @ weights
        if weight > 0:
            found[r] = (times @ gains) / weight
    return found


def _times() -> Array:
    """Return how often a game is drawn by 16 random bits: the inverse of Poisson's law."""
    ends, total = [], 0.0
    for k in range(9):
        total += math.exp(-1) / math.factorial(k)
        ends.append(round(total * 65536))
    return np.searchsorted(np.array(ends), np.arange(65536), side="right").astype(np.float64)


_TIMES = _times()
