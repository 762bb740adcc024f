"""The distribution of results that fits best under a hypothesis on its strength:
the maximum of a multinomial likelihood with the expected score, or the normalised
score, held fixed.  What the sequential test compares.

A result is a game (0, ½, 1) or a pair of games (0, ¼, ½, ¾, 1); `counts` says how
often each was seen.  Roots are found by SciPy (Brent, "Algorithms for Minimization
without Derivatives", 1973, chapter 4), brought in by the first fit: that takes half
a second, which a report of what has been found already can do without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

#: What a result that has not been seen counts as: were it nothing, a likelihood
#: could be zero, and its logarithm infinite.
UNSEEN = 1e-3
#: The largest normalised score of one result, (μ − ½)/σ, that is certain to have
#: a distribution over five results: below √8 (see `_spread_bounds`).
LARGEST_T = 2.8
#: Below it t is as good as 0, and numbers that it divides would overflow.
_SMALLEST_T = 1e-9
#: How near to a root is near enough: SciPy's least relative error, and next to none.
_RELATIVE, _ABSOLUTE = 1e-15, 1e-300
#: Where the best fit is looked for, between the least and the greatest spread.
_INTERVALS = 16


def shares(counts: Sequence[float]) -> list[float]:
    """Return the share of each result, none of them zero."""
    filled = [count or UNSEEN for count in counts]
    total = math.fsum(filled)
    return [count / total for count in filled]


def scores(results: int) -> list[float]:
    """Return what the results are worth, from 0 to 1."""
    return [i / (results - 1) for i in range(results)]


def fit_score(seen: Sequence[float], score: float) -> list[float]:
    """Return the distribution nearest to `seen` that has this mean, 0 < score < 1.

    Of all distributions p with Σ p·(a − s) = 0 the one with the greatest
    Σ p̂·log p is p̂/(1 + θ(a − s)), where θ makes the mean right (Owen, "Empirical
    Likelihood", 2001; Van den Bergh, "The generalized SPRT",
    2017).
    """
    return _tilted(seen, [a - score for a in scores(len(seen))])


def fit_normalised(seen: Sequence[float], t: float) -> list[float]:
    """Return the distribution nearest to `seen` whose mean is t standard
    deviations above ½, |t| ≤ LARGEST_T.

    The gradient of μ − ½ − tσ, less its own mean, is b = a − ½ − tσ(1 + ((a−μ)/σ)²)/2,
    and the solution is p̂/(1 + θb) as above (Van den Bergh, "Normalized Elo",
    2021).  There μ = ½ + tσ, so one number is left to find: the σ that its
    solution has.
    """
    if abs(t) < _SMALLEST_T:
        return fit_score(seen, 0.5)
    if t < 0:
        return fit_normalised(seen[::-1], -t)[::-1]
    from scipy.optimize import brentq

    worth = scores(len(seen))

    def given(sigma: float) -> list[float]:
        mean = 0.5 + t * sigma
        slopes = [a - 0.5 - t * sigma * (1 + ((a - mean) / sigma) ** 2) / 2 for a in worth]
        return _tilted(seen, slopes)

    def excess(sigma: float) -> float:
        mean = 0.5 + t * sigma
        variance = sum(q * (a - mean) ** 2 for q, a in zip(given(sigma), worth, strict=True))
        return variance - sigma * sigma

    low, high = _spread_bounds(t, len(seen))
    # Results that are nearly all alike can have a local best fit on either side of
    # what was seen, so every interval is looked into.
    grid = [low * (high / low) ** (i / _INTERVALS) for i in range(_INTERVALS + 1)]
    above = [excess(sigma) > 0 for sigma in grid]
    fits = [
        given(brentq(excess, grid[i], grid[i + 1], xtol=_ABSOLUTE, rtol=_RELATIVE))
        for i in range(_INTERVALS)
        if above[i] and not above[i + 1]
    ]
    if not fits:
        # rounding may hide a zero that is at an end
        return given(min(low, high, key=lambda sigma: abs(excess(sigma))))
    return max(fits, key=lambda p: log_likelihood(seen, p))


def log_likelihood(seen: Sequence[float], p: Sequence[float]) -> float:
    """Return Σ p̂·log p: the logarithm of the likelihood of one result, on average."""
    return math.fsum(q * math.log(x) for q, x in zip(seen, p, strict=True))


def _spread_bounds(t: float, results: int) -> tuple[float, float]:
    """Return the least and the greatest σ of a distribution whose mean is
    ½ + tσ: that of two neighbours (½ and the next result), and that of 0 and 1."""
    step = 1 / (results - 1)
    low = t * step / (1 + t * t)
    high = 0.5 / math.sqrt(1 + t * t)
    # not the ends themselves, where only two results are possible
    return low * (1 + 1e-9), high * (1 - 1e-12)


def _tilted(seen: Sequence[float], slopes: Sequence[float]) -> list[float]:
    """Return p = seen/(1 + θ·slope) with the θ that makes Σ p·slope zero.

    θ is between 0 and one of the two poles, where a p is infinite; what is looked
    for is its distance from that pole, u: where one result was hardly seen it may be
    so near that little of 1 + θ·slope would be left to see.
    """
    from scipy.optimize import brentq

    # towards the pole of the result that has to become more frequent
    tilt = math.fsum(q * b for q, b in zip(seen, slopes, strict=True))
    pole = min(slopes) if tilt > 0 else max(slopes)
    # 1 + θb = (1 − b/pole) + u·b/pole, u in units of the distance of the pole from 0
    parts = [(q, 1 - b / pole, b / pole) for q, b in zip(seen, slopes, strict=True)]

    def total(u: float) -> float:
        return sum(q * r * u / (rest + u * r) for q, rest, r in parts)

    # no p is more than 1
    least = min(sum(q for q, rest, _ in parts if rest == 0), 1.0)
    u = brentq(total, least, 1.0, xtol=_ABSOLUTE, rtol=_RELATIVE) if total(1.0) < 0 else 1.0
    return [q / (rest + u * r) for q, rest, r in parts]
