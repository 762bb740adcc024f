"""The cross-entropy method with independent Gaussians.

Draw a generation of samples from the distribution, evaluate them, and move the
distribution towards the elite (Chaslot, Winands, Szita and van den Herik,
"Cross-entropy for Monte-Carlo Tree Search", ICGA Journal 31(3), 2008, section 3):

    mean'     = α·mean of the elite     + (1 - α)·mean
    variance' = α·variance of the elite + (1 - α)·variance

with the biased estimator of the variance, since the elite is a whole population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from ringmaster.model.randomness import CROSS_ENTROPY_STREAM, words

#: Most samples of a generation: all generations share one random stream.
MOST_SAMPLES = 1_000_000

_STANDARD = NormalDist()


@dataclass(frozen=True)
class Distribution:
    """Independent Gaussians, one for each parameter."""

    means: tuple[float, ...]
    variances: tuple[float, ...]

    def sample(self, seed: int, generation: int, index: int) -> tuple[float, ...]:
        """Return sample `index` of a generation, a pure function."""
        number = generation * MOST_SAMPLES + index
        random = words(seed, CROSS_ENTROPY_STREAM, number, len(self.means))
        # centres of 2**53 cells: 0 and 1 have no quantile
        quantiles = [((word >> 11) + 0.5) * 2.0**-53 for word in random]
        return tuple(
            mean + math.sqrt(variance) * _STANDARD.inv_cdf(q)
            for mean, variance, q in zip(self.means, self.variances, quantiles, strict=True)
        )

    def update(self, elite: Sequence[Sequence[float]], step_size: float) -> Distribution:
        """Return the next distribution (equations above); step_size is α."""
        means, variances = [], []
        for i, (mean, variance) in enumerate(zip(self.means, self.variances, strict=True)):
            column = [sample[i] for sample in elite]
            elite_mean = math.fsum(column) / len(column)
            # not E[x²] − mean², which could be negative
            elite_variance = math.fsum((x - elite_mean) ** 2 for x in column) / len(column)
            means.append(step_size * elite_mean + (1 - step_size) * mean)
            variances.append(step_size * elite_variance + (1 - step_size) * variance)
        return Distribution(tuple(means), tuple(variances))


def elite_size(proportion: float, samples: int) -> int:
    """Return the number of elite samples, at least one."""
    return max(1, math.floor(proportion * samples + 0.5))


def ranked(points: Sequence[float]) -> list[int]:
    """Return the indices of samples, most points first, equals in order."""
    return sorted(range(len(points)), key=lambda i: (-points[i], i))
