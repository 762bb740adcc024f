"""Elo differences of match results, with their errors.

Pairs of games (one opening, both colours) are counted by the points of a pair,
since the two games of a pair are not independent; the variance of the mean
score is taken from those five counts (the "pentanomial" of the testing field).
Elo is the logistic −400·log₁₀(1/s − 1) of the mean score s; normalised Elo is by
how many standard deviations of a game s is above ½.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

#: Two-sided 95 % quantile of the normal distribution.
Z95 = 1.959963984540054
#: Normalised Elo of one standard deviation of a game (Van den Bergh, "Normalized
#: Elo", 2021): without draws, equal players have as much Elo.
NELO = 800 / math.log(10)
#: With fewer games (or pairs) than this no bounds are given.
FEWEST = 4


class EloEstimate(msgspec.Struct, frozen=True):
    """elo ± error (95 %), los = probability that the first is the stronger.

    low, high bound the 95 % interval, which is symmetric in score, not in Elo.
    Both are infinite when the results say nothing of the spread (too few, or all
    alike; los is ½ then), and elo is when every point went one way.
    """

    elo: float
    low: float
    high: float
    los: float
    games: int

    @property
    def error(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        if self.games == 0:
            return "no games"
        if math.isinf(self.low) and math.isinf(self.high):
            return "Elo not known yet (too few games, or all alike)"
        los = f"LOS {self.los:.1%}"
        if math.isinf(self.high):
            return f"at least {self.low:+.0f} Elo (95 %), {los}"
        if math.isinf(self.low):
            return f"at most {self.high:+.0f} Elo (95 %), {los}"
        return f"{self.elo:+.1f} ± {self.error:.1f} Elo (95 %), {los}"


class NormalizedElo(msgspec.Struct, frozen=True):
    """nelo ± error (95 %); both are 0 and infinite when results say nothing."""

    nelo: float
    error: float
    games: int

    def __str__(self) -> str:
        if math.isinf(self.error):
            return "nElo not known yet"
        return f"{self.nelo:+.1f} ± {self.error:.1f} nElo (95 %)"


def elo_of_score(score: float) -> float:
    """Return the Elo difference at which `score` (0..1) is expected."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return 400 * math.log10(score / (1 - score)) + 0.0


def _estimate(mean: float, variance: float, count: int, games: int) -> EloEstimate:
    """variance is of one observation, `count` of them were made."""
    if games == 0:
        return EloEstimate(0.0, -math.inf, math.inf, 0.5, 0)
    deviation = math.sqrt(variance / count)
    if deviation == 0 or count < FEWEST:
        # results that are all alike, or two or three, say nothing of the spread
        return EloEstimate(elo_of_score(mean), -math.inf, math.inf, 0.5, games)
    los = 0.5 * (1 + math.erf((mean - 0.5) / (deviation * math.sqrt(2))))
    return EloEstimate(
        elo_of_score(mean),
        elo_of_score(mean - Z95 * deviation),
        elo_of_score(mean + Z95 * deviation),
        los,
        games,
    )


def from_games(wins: int, draws: int, losses: int) -> EloEstimate:
    """Return the estimate of independent games."""
    games = wins + draws + losses
    if games == 0:
        return _estimate(0.5, 0.0, 0, 0)
    mean = (wins + draws / 2) / games
    squares = (wins * (1 - mean) ** 2 + draws * (0.5 - mean) ** 2 + losses * mean**2) / games
    return _estimate(mean, squares, games, games)


def from_pairs(counts: Sequence[int]) -> EloEstimate:
    """Return the estimate of pairs; counts of pairs with 0, ½, 1, 1½, 2 points."""
    pairs = sum(counts)
    if pairs == 0:
        return _estimate(0.5, 0.0, 0, 0)
    scores = [i / 4 for i in range(5)]
    mean = sum(n * s for n, s in zip(counts, scores, strict=True)) / pairs
    variance = sum(n * (s - mean) ** 2 for n, s in zip(counts, scores, strict=True)) / pairs
    return _estimate(mean, variance, pairs, 2 * pairs)


def _normalized(counts: Sequence[int], games: int) -> NormalizedElo:
    """counts of results from worst to best, evenly spaced in score; 3 are games, 5
    are pairs, whose mean has 1/√2 of a game's standard deviation."""
    count = sum(counts)
    scores = [i / (len(counts) - 1) for i in range(len(counts))]

    def moment(centre: float, power: int) -> float:
        return sum(n * (s - centre) ** power for n, s in zip(counts, scores, strict=True)) / count

    if count < FEWEST or max(counts) == count:
        return NormalizedElo(0.0, math.inf, games)
    mean = moment(0.0, 1)
    deviation = math.sqrt(moment(mean, 2))
    t = (mean - 0.5) / deviation
    skewness, kurtosis = (moment(mean, power) / deviation**power for power in (3, 4))
    # t is what finance calls the Sharpe ratio; its variance by the delta method is
    # (1 − t·γ₃ + t²(γ₄ − 1)/4)/n (Mertens, "Comments on variance of the IID
    # estimator in Lo (2002)", 2002)
    variance = max(0.0, 1 - t * skewness + t * t * (kurtosis - 1) / 4) / count
    scale = NELO / math.sqrt(2 if len(counts) == 5 else 1)
    return NormalizedElo(t * scale, Z95 * math.sqrt(variance) * scale, games)


def normalized_from_games(wins: int, draws: int, losses: int) -> NormalizedElo:
    """Return the normalised Elo of independent games (Van den Bergh, "Normalized
    Elo")."""
    return _normalized((losses, draws, wins), wins + draws + losses)


def normalized_from_pairs(counts: Sequence[int]) -> NormalizedElo:
    """Return the normalised Elo of pairs, counted as for `from_pairs` (Van den
    Bergh, "Normalized Elo")."""
    return _normalized(counts, 2 * sum(counts))


def pairs_ratio(counts: Sequence[int]) -> float | None:
    """Return pairs won over pairs lost, even ones left out; None where none is
    lost."""
    lost = counts[0] + counts[1]
    return (counts[3] + counts[4]) / lost if lost else None
