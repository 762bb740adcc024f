"""Ends of matches beside the SPRT: a precise estimate, and a race of candidates.

Results are counts from worst to best, of pairs (5) or games (3).  At least FEWEST decide, and the
variance has one more loss and one more win, so that few or equal results do not: Chow and Robbins
("On the asymptotic theory of fixed-width sequential confidence intervals", 1965) add 1/n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ringmaster.stats.elo import from_counts, moment

FEWEST = 50
#: Parameter of a race's boundary, which is tightest at some ten times as many pairs.
RHO = 50.0
#: Error in Elo while there are too few results.
UNKNOWN = 1e4


def _widened(counts: Sequence[int]) -> list[int]:
    return [counts[0] + 1, *counts[1:-1], counts[-1] + 1]


class Precision(msgspec.Struct, frozen=True, tag_field="kind", tag="precision"):
    """A match until the 95 % interval of the Elo is ± `elo`, whatever the Elo is."""

    elo: float

    def measure(self, counts: Sequence[int]) -> float:
        """Return half the width of the interval."""
        return from_counts(_widened(counts)).error if sum(counts) >= FEWEST else UNKNOWN

    def accepted_at(self, error: float) -> str:
        return "reached" if error <= self.elo else ""

    def remaining(self, results: int, error: float) -> int:
        """Return the number of further results, at the present variance."""
        return max(0, math.ceil(results * ((error / self.elo) ** 2 - 1)))


class Race(msgspec.Struct, frozen=True, tag_field="kind", tag="race"):
    """Candidates against one base, of whom the weak are dropped.

    error            greatest probability of dropping the best candidate
    number_of_games  most games of a candidate; then the leader wins
    """

    error: float = 0.05
    number_of_games: int = 4000

    def shows_better(self, counts: Sequence[int], others: Sequence[int], rivals: int) -> bool:
        """Return whether a candidate is shown to be better than another one, after any pair.

        The error is divided by the rivals of the best candidate (Bonferroni).
        """
        n = min(sum(counts), sum(others))
        if n < FEWEST:
            return False
        difference = moment(counts, 0.0, 1) - moment(others, 0.0, 1)
        variance = sum(_variance(each) / sum(each) for each in (counts, others))
        return difference >= math.sqrt(variance) * boundary(n, self.error / rivals)


def boundary(n: float, alpha: float) -> float:
    """Return the standard errors that the mean of n results exceeds, at any time, with probability
    alpha where its expectation is 0.

    Robbins's normal mixture, one-sided (Howard et al., "Time-uniform, nonparametric, nonasymptotic
    confidence sequences", 2021, eq. 14); with an estimated variance (Waudby-Smith et al.,
    "Time-uniform central limit theory and asymptotic confidence sequences", 2021).
    """
    odds = math.sqrt((n + RHO) / RHO) / (2 * alpha)
    return math.sqrt(2 * (n + RHO) / n * math.log(odds + 1))


def _variance(counts: Sequence[int]) -> float:
    widened = _widened(counts)
    return moment(widened, moment(widened, 0.0, 1), 2)
