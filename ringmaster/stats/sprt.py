"""Test sequentially whether one side is stronger by `elo0` or by `elo1`.

The test is Wald's ("Sequential Tests of Statistical Hypotheses", 1945) with a generalised
likelihood ratio: each hypothesis gets the distribution of results that fits best under it (Van
den Bergh, "The generalized SPRT", 2017; "Normalized Elo", 2021).  A result is a game (0, ½, 1) or
a pair of games (0, ¼, ½, ¾, 1).

SciPy (Brent, "Algorithms for Minimization without Derivatives", 1973, chapter 4) finds roots.  It
is imported by the first fit, because this takes half a second.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ringmaster.stats.elo import NELO, score_of_elo, spread

#: The count of a result that has not occurred; with zero, a log-likelihood could be infinite.
UNSEEN = 1e-3
#: The largest normalised score of one result, (μ − ½)/σ; any distribution over five results has
#: less than √8 (see `_spread_bounds`).
LARGEST_T = 2.8
#: A smaller t counts as 0; quotients by it would overflow.
_SMALLEST_T = 1e-9
#: The tolerance of a root: SciPy's least relative one, and nearly no absolute one.
_RELATIVE, _ABSOLUTE = 1e-15, 1e-300
#: Intervals between the least and the greatest spread, each searched for a fit.
_INTERVALS = 16


def shares(counts: Sequence[float]) -> list[float]:
    """Return the share of each result; no share is zero."""
    filled = [count or UNSEEN for count in counts]
    total = math.fsum(filled)
    return [count / total for count in filled]


def scores(results: int) -> list[float]:
    """Return the scores of the results, from 0 to 1."""
    return [i / (results - 1) for i in range(results)]


def fit_score(seen: Sequence[float], score: float) -> list[float]:
    """Return the distribution nearest to `seen` that has this mean, 0 < score < 1.

    Among the distributions p with Σ p·(a − s) = 0, p̂/(1 + θ(a − s)) has the greatest
    Σ p̂·log p, with θ from the condition (Owen, "Empirical Likelihood", 2001; Van den Bergh, "The
    generalized SPRT", 2017).
    """
    return _tilted(seen, [a - score for a in scores(len(seen))])


def fit_normalised(seen: Sequence[float], t: float) -> list[float]:
    """Return the distribution nearest to `seen` with a mean of ½ + tσ, |t| ≤ LARGEST_T.

    The gradient of μ − ½ − tσ, less its own mean, is b = a − ½ − tσ(1 + ((a−μ)/σ)²)/2.  The
    solution is p̂/(1 + θb) as in `fit_score` (Van den Bergh, "Normalized Elo", 2021).  The unknown
    is σ: it must be the standard deviation of the solution.
    """
    if abs(t) < _SMALLEST_T:
        return fit_score(seen, 0.5)
    if t < 0:
        return fit_normalised(seen[::-1], -t)[::-1]
    from scipy.optimize import brentq

    worth = scores(len(seen))

    def solution(sigma: float) -> list[float]:
        mean = 0.5 + t * sigma
        slopes = [a - 0.5 - t * sigma * (1 + ((a - mean) / sigma) ** 2) / 2 for a in worth]
        return _tilted(seen, slopes)

    def excess(sigma: float) -> float:
        mean = 0.5 + t * sigma
        variance = sum(q * (a - mean) ** 2 for q, a in zip(solution(sigma), worth, strict=True))
        return variance - sigma * sigma

    low, high = _spread_bounds(t, len(seen))
    # nearly equal results can have a local best fit on either side of `seen`
    grid = [low * (high / low) ** (i / _INTERVALS) for i in range(_INTERVALS + 1)]
    above = [excess(sigma) > 0 for sigma in grid]
    fits = [
        solution(brentq(excess, grid[i], grid[i + 1], xtol=_ABSOLUTE, rtol=_RELATIVE))
        for i in range(_INTERVALS)
        if above[i] and not above[i + 1]
    ]
    if not fits:
        # rounding may hide a root at an end
        return solution(min(low, high, key=lambda sigma: abs(excess(sigma))))
    return max(fits, key=lambda p: log_likelihood(seen, p))


def log_likelihood(seen: Sequence[float], p: Sequence[float]) -> float:
    """Return Σ p̂·log p, the average log-likelihood of one result."""
    return math.fsum(q * math.log(x) for q, x in zip(seen, p, strict=True))


def _spread_bounds(t: float, results: int) -> tuple[float, float]:
    """Return the least and the greatest σ of a distribution with a mean of ½ + tσ.

    They belong to the results ½ and the next one, and to the results 0 and 1.
    """
    step = 1 / (results - 1)
    low = t * step / (1 + t * t)
    high = 0.5 / math.sqrt(1 + t * t)
    # at the ends only two results are possible
    return low * (1 + 1e-9), high * (1 - 1e-12)


def _tilted(seen: Sequence[float], slopes: Sequence[float]) -> list[float]:
    """Return p = seen/(1 + θ·slope) with θ from Σ p·slope = 0.

    θ is between 0 and a pole, where one p is infinite.  The unknown is the distance u from the
    pole: for a rare result, θ is so near to the pole that 1 + θ·slope would lose its digits.
    """
    from scipy.optimize import brentq

    # the pole of the result that must become more frequent
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


Model = Literal["normalized", "logistic"]
Accepted = Literal["", "H0", "H1"]

#: The largest absolute value of a hypothesis, in (n)Elo.
FARTHEST = 500.0


class Sprt(msgspec.Struct, frozen=True, tag_field="kind", tag="sprt"):
    """A test of H0 (the first side is `elo0` stronger) against H1 (`elo1`).

    alpha        probability of accepting H1 if H0 is true
    beta         probability of accepting H0 if H1 is true
    model        "normalized" Elo (in standard deviations of a game) or "logistic" Elo
    pentanomial  whether games of one opening are counted in pairs
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "normalized"
    pentanomial: bool = True

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which H0 and H1 are accepted (Wald, 1945)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    @property
    def unit(self) -> str:
        """The unit of elo0 and elo1: "nElo" or "Elo"."""
        return "nElo" if self.model == "normalized" else "Elo"

    def fit(self, seen: Sequence[float], elo: float) -> list[float]:
        """Return the distribution nearest to `seen` in which the first side is `elo` stronger."""
        if self.model == "logistic":
            return fit_score(seen, score_of_elo(elo))
        # the standard deviation of a pair's mean is 1/√2 that of a game
        return fit_normalised(seen, elo / NELO * (math.sqrt(2) if len(seen) == 5 else 1.0))

    def llr(self, counts: Sequence[int]) -> float:
        """Return the logarithm of the likelihood ratio of H1 to H0; always finite.

        counts  of the first side's results from worst to best: losses, draws and
                wins of games (3), or pairs by 0, ½, 1, 1½, 2 points (5)
        """
        return _llr(self, tuple(counts))

    #: The name that all ends of a match share.
    measure = llr

    def judge(self, counts: Sequence[int]) -> Accepted:
        """Return the accepted hypothesis, "" for none."""
        return self.accepted_at(self.llr(counts))

    def accepted_at(self, llr: float) -> Accepted:
        """Return the hypothesis accepted at a ratio, "" for none."""
        low, high = self.bounds
        return "H1" if llr >= high else "H0" if llr <= low else ""

    def remaining(self, results: int, llr: float) -> int | None:
        """Return the number of further results until a bound, at the average change so far.

        Return None for few results or a ratio near zero.

        results  games or pairs so far
        llr      their ratio
        """
        low, high = self.bounds
        # half a unit may be chance
        if results < _FEWEST or abs(llr) < 0.5:
            return None
        left = (high if llr > 0 else low) - llr
        return max(0, math.ceil(left / llr * results))


_FEWEST = 10


@functools.lru_cache(maxsize=1024)
def _llr(test: Sprt, counts: tuple[int, ...]) -> float:
    if not any(counts):
        return 0.0
    seen = shares(counts)
    null, other = (test.fit(seen, elo) for elo in (test.elo0, test.elo1))
    return sum(counts) * math.fsum(
        q * math.log(p1 / p0) for q, p0, p1 in zip(seen, null, other, strict=True)
    )


#: Mean overshoot of a bound by a walk, in standard deviations of its steps (Siegmund, "Sequential
#: Analysis", 1985, chapter X).
_OVERSHOOT = 0.5826
#: Reflections at the bounds; further ones change no probability by 1e-9.
_REFLECTIONS = 8
#: The latest time, in squares of the distance of the bounds; one of 10 million tests lasts longer.
_LATEST = 3.0


def forecast(test: Sprt, results: Sequence[float], limit: int | None = None) -> dict[str, float]:
    """Return the expected length and outcome of a test.

    The ratio is nearly a Brownian motion, whose drift and variance follow from the true strength
    (Van den Bergh, "Normalized Elo", 2021), between bounds beyond the test's by the overshoot.

    results  true shares, worst to best, of games (3) or pairs (5)
    limit    of games, None for none

    games      mean number of games until the decision or the limit
    low, high  one test in 20 takes fewer games, one in 20 more
    h0, h1, undecided  probabilities to accept H0, to accept H1, and to reach the limit
    """
    import numpy as np
    from scipy.special import log_ndtr

    size = 2 if len(results) == 5 else 1
    mean, deviation = spread(results)
    logistic = test.model == "logistic"
    # in standard deviations of a game
    null, other = (
        (score_of_elo(elo) - 0.5) / deviation if logistic else elo / NELO
        for elo in (test.elo0, test.elo1)
    )
    step, gap = other - null, (mean - 0.5) / deviation - (null + other) / 2
    # far from the hypotheses their fits have a larger deviation, one half as large in nElo
    tilt = gap / step / (1 + size * gap * gap / (1 if logistic else 2))
    below, above = (abs(bound) + _OVERSHOOT * step * math.sqrt(size) for bound in test.bounds)
    latest = min(_LATEST * ((below + above) / step) ** 2, limit or math.inf)
    times = np.geomspace(latest * 1e-5, latest, 4000)
    variance = step * step * times

    def passed(first: float, second: float, tilt: float) -> Any:
        """Return the probabilities to have passed `first`, and before that not -`second`.

        Reflected at both bounds, `first` is a series of levels that a motion without bounds passes
        (Borodin and Salminen, "Handbook of Brownian Motion", 2002, part II, 3.0.4).  Factors are
        added as logarithms: one may be huge where the other is tiny.
        """
        total = np.zeros_like(times)
        for number in range(-_REFLECTIONS, _REFLECTIONS + 1):
            level = first + 2 * number * (first + second)
            sign = math.copysign(1.0, level)
            for drift, factor in ((tilt, first - level), (-tilt, first + level)):
                way = (sign * drift * variance - abs(level)) / np.sqrt(variance)
                total += sign * np.exp(tilt * factor + log_ndtr(way))
        return total

    h0, h1 = passed(below, above, -tilt), passed(above, below, tilt)
    ended = np.clip(h0 + h1, 0.0, 1.0)
    games = times[0] + np.diff(times) @ (1 - (ended[1:] + ended[:-1]) / 2)
    values = (games, *np.interp([0.05, 0.95], ended, times), h0[-1], h1[-1], 1 - ended[-1])
    names = ("games", "low", "high", "h0", "h1", "undecided")
    return dict(zip(names, map(float, values), strict=True))
