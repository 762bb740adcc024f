"""The distribution of results that fits best under a hypothesis on its strength:
the maximum of a multinomial likelihood with the expected score, or the normalised
score, held fixed.  What the sequential test compares.

A result is a game (0, ½, 1) or a pair of games (0, ¼, ½, ¾, 1); `counts` says how
often each was seen.  The roots are found in plain Python: bringing in SciPy's
solvers takes half a second, and a report that shows one test has not got it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

#: What a result that has not been seen counts as: were it nothing, a likelihood
#: could be zero, and its logarithm infinite.
UNSEEN = 1e-3
#: The largest normalised score of one result, (μ − ½)/σ, that is certain to have
#: a distribution over five results: below √8 (see `_spread_bounds`).
LARGEST_T = 2.8
#: Below it t is as good as 0, and numbers that it divides would overflow.
_SMALLEST_T = 1e-9
_STEPS = 200
_CLOSE = 1e-12
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
    signs = [excess(sigma) for sigma in grid]
    fits = [
        given(_root(excess, grid[i], grid[i + 1], signs[i], signs[i + 1]))
        for i in range(_INTERVALS)
        if signs[i] > 0 >= signs[i + 1]
    ]
    # rounding may hide the zero when it is at an end
    return max(fits, key=lambda p: log_likelihood(seen, p)) if fits else given(low)


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

    No p is more than 1 at the solution, which bounds θ on either side."""
    low = max((q - 1) / b for q, b in zip(seen, slopes, strict=True) if b > 0)
    high = min((q - 1) / b for q, b in zip(seen, slopes, strict=True) if b < 0)

    theta = min(max(0.0, low), high)
    for _ in range(_STEPS):
        value = slope = 0.0
        for q, b in zip(seen, slopes, strict=True):
            share = b / (1 + theta * b)
            value += q * share
            slope += q * share * share
        # the function falls: its zero is to the right of where it is positive
        if value > 0:
            low = theta
        else:
            high = theta
        following = theta + value / slope
        if not low <= following <= high:
            following = (low + high) / 2
        if abs(following - theta) <= _CLOSE * max(1.0, abs(theta)):
            break
        theta = following
    return [q / (1 + theta * b) for q, b in zip(seen, slopes, strict=True)]


def _root(
    function: Callable[[float], float], low: float, high: float, at_low: float, at_high: float
) -> float:
    """Return the zero of a function that is positive at `low` and is not at `high`:
    the secant with the bracket kept (the Illinois method), and bisection now and
    then, which ends it where that is slow."""
    side = 0
    for step in range(_STEPS):
        if step % 4 == 3:
            middle = (low + high) / 2
        else:
            middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if high - low <= _CLOSE * high or abs(value) <= _CLOSE * high * high:
            return middle
        if value > 0:
            at_high = at_high / 2 if side > 0 else at_high
            low, at_low, side = middle, value, 1
        else:
            at_low = at_low / 2 if side < 0 else at_low
            high, at_high, side = middle, value, -1
    return (low + high) / 2
