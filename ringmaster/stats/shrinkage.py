"""The win rate of a candidate that was chosen among many for its results.

Its own results are too good: the luckiest of equals comes out best.  The results of all show
how far their rates differ, and shrink the chosen one's accordingly (empirical Bayes: Efron and
Morris, "Stein's estimation rule and its competitors", 1973).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

#: Deviations of the candidates' rates, each as probable as its distance from the next.
_SPREADS = tuple(0.004 * 2**step for step in range(7))
#: Places of their mean, in standard errors.
_PLACES = (-2.0, -1.0, 0.0, 1.0, 2.0)
#: The share of candidates apart from the bulk, and the deviation of their rates: a good one
#: among many equal ones is not shrunk to the bulk.
_APART, _WIDE = 0.1, 0.2

#: Points and games.
Result = tuple[float, float]


def chosen_share(points: float, games: float, all: Iterable[Result]) -> Result:
    """Return a result with the rate and the uncertainty of a candidate chosen for its result.

    all  results of every candidate, the chosen one included
    """
    # sorted: rounding errors must not depend on the order
    results = dict(sorted(Counter(result for result in all if result[1]).items()))
    logs, moments = [], []
    for spread in _SPREADS:
        precision = {r: n / (0.25 / r[1] + spread * spread) for r, n in results.items()}
        error = 1 / math.sqrt(sum(precision.values()))
        centre = sum(p * r[0] / r[1] for r, p in precision.items()) * error**2
        for place in _PLACES:
            mean = min(max(centre + place * error, 0.02), 0.98)
            # beta distributions; the weights of a grid are proportional to the distances in it
            weights = [mean * (1 - mean) / deviation**2 for deviation in (spread, _WIDE)]
            parts = [
                _log_fits(share, mean, weight, results)
                for share, weight in zip((1 - _APART, _APART), weights, strict=True)
            ]
            fits = dict(zip(results, zip(*parts, strict=True), strict=True))
            log = math.log(spread * error) + sum(n * _log_sum(fits[r]) for r, n in results.items())
            chosen = fits[points, games]
            for weight, fit in zip(weights, chosen, strict=True):
                logs.append(log + fit - _log_sum(chosen))
                total = weight + games
                rate = (mean * weight + points) / total
                moments.append((rate, rate * rate + rate * (1 - rate) / (total + 1)))
    probable = [math.exp(log - max(logs)) for log in logs]
    rate, square = (fmean(values, probable) for values in zip(*moments, strict=True))
    # the beta distribution of the same mean and variance
    effective = rate * (1 - rate) / (square - rate * rate) - 1
    return rate * effective, effective


def _log_fits(share: float, mean: float, weight: float, all: Iterable[Result]) -> list[float]:
    a, b, lgamma = mean * weight, (1 - mean) * weight, math.lgamma
    same = math.log(share) + lgamma(weight) - lgamma(a) - lgamma(b)
    return [same + lgamma(a + p) + lgamma(b + n - p) - lgamma(weight + n) for p, n in all]


def _log_sum(logs: Sequence[float]) -> float:
    most = max(logs)
    return most + math.log(sum(math.exp(log - most) for log in logs))
