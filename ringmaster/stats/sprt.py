"""The sequential probability ratio test: whether one side is stronger by `elo0` or
by `elo1`, decided as soon as the results allow it.

The test is Wald's ("Sequential Tests of Statistical Hypotheses", 1945) with the
likelihood ratio generalised to hypotheses that leave more open than they say: each
gets the distribution of results that fits best under it (`likelihood`; Van den
Bergh, "The generalized SPRT", 2017; "Normalized Elo", 2021).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from ringmaster.stats.elo import NELO
from ringmaster.stats.likelihood import fit_normalised, fit_score, shares

Model = Literal["normalized", "logistic"]
Accepted = Literal["", "H0", "H1"]

#: Hypotheses further apart from equality than this are not tested, in (n)Elo.
FARTHEST = 500.0


class Sprt(msgspec.Struct, frozen=True):
    """A test of H0, that the first side is `elo0` stronger, against H1, `elo1`.

    alpha  how often H1 may be accepted where H0 is true
    beta   how often H0 may be accepted where H1 is true
    model  what the two numbers are: "normalized" Elo, in standard deviations of a
           game, or "logistic" Elo, by the expected score
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
        """The log-likelihood ratios at or beyond which H0, H1 is accepted (Wald,
        1945)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    @property
    def unit(self) -> str:
        """What elo0 and elo1 are in: "nElo" or "Elo"."""
        return "nElo" if self.model == "normalized" else "Elo"

    def llr(self, counts: Sequence[int]) -> float:
        """Return the logarithm of how much likelier the results are under H1.

        counts  of the first side's results from worst to best: losses, draws and
                wins of games (3), or pairs by 0, ½, 1, 1½, 2 points (5)

        Finite for all counts.  0 without results.
        """
        return _llr(self, tuple(counts))

    def judge(self, counts: Sequence[int]) -> Accepted:
        """Return which hypothesis the results are enough for, "" for neither."""
        return self.accepted_at(self.llr(counts))

    def accepted_at(self, llr: float) -> Accepted:
        """Return which hypothesis a ratio is enough for, "" for neither."""
        low, high = self.bounds
        return "H1" if llr >= high else "H0" if llr <= low else ""

    def remaining(self, results: int, llr: float) -> int | None:
        """Return how many more games or pairs are wanted if they go on as they went:
        what is left to the bound over what a result has brought so far.  None
        where that says nothing: few results, or a ratio near zero.

        results, llr  how many there are, and the ratio that they have
        """
        low, high = self.bounds
        # half a unit is within reach of chance at any time
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
    if test.model == "logistic":
        null, other = (
            fit_score(seen, 1 / (1 + 10 ** (-elo / 400))) for elo in (test.elo0, test.elo1)
        )
    else:
        # the standard deviation of a pair's mean is 1/√2 that of a game
        scale = math.sqrt(2) if len(counts) == 5 else 1.0
        null, other = (fit_normalised(seen, elo / NELO * scale) for elo in (test.elo0, test.elo1))
    return sum(counts) * math.fsum(
        q * math.log(p1 / p0) for q, p0, p1 in zip(seen, null, other, strict=True)
    )
