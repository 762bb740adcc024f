"""Estimate Elo differences and win rates with their errors.

The two games of a pair (one opening, both colours) are not independent.  So pairs are counted by
their points, and these five counts (the "pentanomial") give the variance of the mean score.
Elo is the logistic −400·log₁₀(1/s − 1) of the mean score s.  Normalised Elo is the distance of s
from ½ in standard deviations of a game.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec

#: Two-sided 95 % quantile of the normal distribution.
Z95 = 1.959963984540054
#: Normalised Elo of one standard deviation of a game (Van den Bergh, "Normalized Elo", 2021).
#: Without draws, Elo and normalised Elo of nearly equal players agree.
NELO = 800 / math.log(10)
#: The least number of games, or pairs, for an interval, and for a normal one.
FEWEST, MANY = 4, 50
#: The largest ratio of an interval's two sides for which one ± describes both.
ALIKE = 1.1
#: Half the width of an interval in Elo from which decimals say nothing, and the widest shown.
VAGUE, WIDEST = 100.0, 400.0


def probability(share: float) -> str:
    """Return a probability, such as "62 %", "99.3 %" and "above 99.9 %", never 0 or 100 %."""
    percent = 100 * share
    if round(percent, 1) in (0.0, 100.0):
        return "above 99.9 %" if percent > 50 else "below 0.1 %"
    return f"{percent:.0f} %" if 1 <= percent <= 99 else f"{percent:.1f} %"


def short_probability(share: float) -> str:
    """Return a probability for a narrow column: "62%", ">99%", "<1%"."""
    text = f"{share:.0%}"
    return {"0%": "<1%", "100%": ">99%"}.get(text, text)


class EloEstimate(msgspec.Struct, frozen=True):
    """An Elo difference with its 95 % interval.

    low, high  the interval, symmetric in score, not in Elo; both are infinite for few or equal
               results, one where a player has all points
    los        probability that the first player is stronger; ½ without an interval
    elo        infinite when one player has all points
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

    @property
    def known(self) -> bool:
        """Return whether the interval has an end."""
        return not (math.isinf(self.low) and math.isinf(self.high))

    @property
    def is_telling(self) -> bool:
        """Return whether the interval excludes 0 or is narrow; "at least -72" says little."""
        return self.error <= WIDEST or self.sign != 0

    @property
    def p_value(self) -> float:
        """Two-sided p value of equal strength; 1 without an interval."""
        return 2 * min(self.los, 1 - self.los)

    @property
    def sign(self) -> int:
        """1 or -1 where the interval has the first or the second player stronger, else 0."""
        return (self.low > 0) - (self.high < 0)

    def interval(self, unit: str = "") -> str:
        """Return the difference with its interval, as ± where both sides are much alike."""
        if math.isinf(self.high):
            return f"at least {self.low:+.0f}{unit} (95 %)"
        if math.isinf(self.low):
            return f"at most {self.high:+.0f}{unit} (95 %)"
        places = 0 if self.error >= VAGUE else 1
        sides = sorted((self.high - self.elo, self.elo - self.low))
        if sides[1] > ALIKE * sides[0]:
            ends = f"{self.low:z.{places}f} to {self.high:z.{places}f}"
            return f"{self.elo:+z.{places}f}{unit} (95 %: {ends})"
        return f"{self.elo:+z.{places}f} ± {self.error:.{places}f}{unit} (95 %)"

    def __str__(self) -> str:
        if self.games == 0:
            return "no games"
        if not self.is_telling:
            return "Elo not known (too few games, or all alike)"
        return f"{self.interval(' Elo')}, LOS {probability(self.los)}"


class NormalizedElo(msgspec.Struct, frozen=True):
    """Normalised Elo with the half width of its 95 % interval; 0 ± ∞ for few or equal results."""

    nelo: float
    error: float
    games: int

    def __str__(self) -> str:
        if math.isinf(self.error):
            return "nElo not known"
        return f"{self.nelo:+.1f} ± {self.error:.1f} nElo (95 %)"


def elo_of_score(score: float) -> float:
    """Return the Elo difference with an expected score of `score` (0..1)."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return 400 * math.log10(score / (1 - score)) + 0.0


def score_of_elo(elo: float) -> float:
    """Return the expected score (0..1) of a player that is `elo` stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


def from_counts(counts: Sequence[int]) -> EloEstimate:
    """Return the estimate from results, counted from worst to best.

    counts  of games (3), or of pairs with 0, ½, 1, 1½, 2 points (5)
    """
    count, games = sum(counts), _games(counts)
    if games == 0:
        return EloEstimate(0.0, -math.inf, math.inf, 0.5, 0)
    mean = moment(counts, 0.0, 1)
    variance = moment(counts, mean, 2)
    deviation = math.sqrt(variance / count)
    if count < FEWEST or (deviation == 0 and 0 < mean < 1):
        # equal results, or two or three, do not show the variance
        return EloEstimate(elo_of_score(mean), -math.inf, math.inf, 0.5, games)
    if count < MANY or deviation == 0:
        low, high, los = _exact(mean, variance, count)
    else:
        # no more than all points show: (low of n won) = 0.025^(1/n)
        sweep = 0.025 ** (1 / count)
        low, high = min(mean - Z95 * deviation, sweep), max(mean + Z95 * deviation, 1 - sweep)
        los = 0.5 * (1 + math.erf((mean - 0.5) / (deviation * math.sqrt(2))))
    return EloEstimate(elo_of_score(mean), elo_of_score(low), elo_of_score(high), los, games)


def _exact(mean: float, variance: float, count: float) -> tuple[float, float, float]:
    """Return the interval of a mean from 0 to 1, and the confidence that it is above ½.

    Clopper and Pearson's interval at an effective number of observations (Korn and Graubard,
    "Confidence intervals for proportions with small expected number of positive counts", 1998).
    The ends are those of a binomial share, with as many observations as have this variance of
    the mean, fewer by Student's t.  Equal players are rarely told apart: in at most 5 % of
    matches.
    """
    size = float(count)
    if variance > 0:
        # two-sided quantile of Student's t
        share = _beta_quantile((count - 1) / 2, 0.5, 0.05)
        size *= mean * (1 - mean) / variance * Z95**2 / ((count - 1) * (1 - share) / share)
    points, rest = mean * size, (1 - mean) * size
    low = _beta_quantile(points, rest + 1, 0.025) if points else 0.0
    high = _beta_quantile(points + 1, rest, 0.975) if rest else 1.0
    los = 0.5
    if mean > 0.5:
        los = 1 - _beta(points, rest + 1, 0.5)
    elif mean < 0.5:
        los = 1 - _beta(points + 1, rest, 0.5)
    # no result shows more than a clean sweep
    sweep, chance = 0.025 ** (1 / count), 0.5**count
    return min(low, sweep), max(high, 1 - sweep), min(max(los, chance), 1 - chance)


def _beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), 0 < x < 1.

    By its continued fraction (Abramowitz and Stegun, 26.5.8) in Lentz's form.  `show` takes
    0.2 s as a whole, and so does importing SciPy's `betainc`.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 400):
        even, odd = a + 2 * m, a + 2 * m + 1
        for term in (
            m * (b - m) * x / ((even - 1) * even),
            -(a + m) * (a + b + m) * x / (even * odd),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(scale + a * math.log(x) + b * math.log1p(-x)) * fraction / a


@lru_cache(4096)
def _beta_quantile(a: float, b: float, share: float) -> float:
    """Return x with I_x(a, b) = `share`, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _beta(a, b, middle) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def from_games(wins: int, draws: int, losses: int) -> EloEstimate:
    """Return the estimate of independent games."""
    return from_counts((losses, draws, wins))


def _games(counts: Sequence[int]) -> int:
    return sum(counts) * (2 if len(counts) == 5 else 1)


def moment(counts: Sequence[float], centre: float, power: int) -> float:
    """Return a moment of the scores from 0 to 1 of games or pairs, counted from worst to best."""
    scores = [i / (len(counts) - 1) for i in range(len(counts))]
    total = sum(n * (s - centre) ** power for n, s in zip(counts, scores, strict=True))
    return total / sum(counts)


def spread(counts: Sequence[float]) -> tuple[float, float]:
    """Return the mean score (0..1) of results, and the standard deviation of a game."""
    mean = moment(counts, 0.0, 1)
    return mean, math.sqrt(moment(counts, mean, 2) * (2 if len(counts) == 5 else 1))


def normalized(counts: Sequence[int]) -> NormalizedElo:
    """Return normalised Elo (Van den Bergh, "Normalized Elo"); `counts` are as in `from_counts`.

    The mean of a pair has 1/√2 of a game's standard deviation.
    """
    count, games = sum(counts), _games(counts)
    if count < FEWEST or max(counts) == count:
        return NormalizedElo(0.0, math.inf, games)
    mean = moment(counts, 0.0, 1)
    deviation = math.sqrt(moment(counts, mean, 2))
    t = (mean - 0.5) / deviation
    skewness, kurtosis = (moment(counts, mean, n) / deviation**n for n in (3, 4))
    # variance of the Sharpe ratio t, (1 − t·γ₃ + t²(γ₄ − 1)/4)/n (Mertens, "Comments on variance
    # of the IID estimator in Lo (2002)", 2002)
    variance = max(0.0, 1 - t * skewness + t * t * (kurtosis - 1) / 4) / count
    scale = NELO / math.sqrt(2 if len(counts) == 5 else 1)
    return NormalizedElo(t * scale, Z95 * math.sqrt(variance) * scale, games)


def pairs_ratio(counts: Sequence[int]) -> float | None:
    """Return won pairs divided by lost pairs; None without a lost pair."""
    lost = counts[0] + counts[1]
    return (counts[3] + counts[4]) / lost if lost else None


def share_ends(points: float, games: float) -> tuple[float, float]:
    """Return the interval of a win rate: exact for few games, else Wilson's.

    points  wins and half the draws, from 0 to `games`
    """
    if not 0 < games < MANY:
        return wilson(points, games)
    low, high, _ = _exact(points / games, 0.0, games)
    return low, high


def holm(p_values: Sequence[float]) -> list[bool]:
    """Return which hypotheses are rejected, with at most 5 % for any false rejection.

    Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    rejected = [False] * len(p_values)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, index in enumerate(order):
        if p_values[index] > 0.05 / (len(order) - rank):
            break
        rejected[index] = True
    return rejected


def share_interval(points: float, games: float) -> str:
    """Return a share of points with its interval: "61 % ± 7 (95 %)", "99 % (95 %: 91 to 100)".

    points  from 0 to `games`, which is above 0
    """
    low, high = (100 * end for end in share_ends(points, games))
    share = 100 * points / games
    places = 0 if high - low >= 4 else 1
    sides = sorted((high - share, share - low))
    if sides[1] > ALIKE * sides[0]:
        return f"{share:.{places}f} % (95 %: {low:.{places}f} to {high:.{places}f})"
    return f"{share:.{places}f} % ± {(high - low) / 2:.{places}f} (95 %)"


def wilson(points: float, games: float) -> tuple[float, float]:
    """Return the interval of a win rate (Wilson, "Probable inference", 1927, eq. 1).

    points  wins and half the draws, from 0 to `games`

    Draws make the interval wider than necessary.  Without games it is (0, 1).
    """
    if games == 0:
        return 0.0, 1.0
    rate = points / games
    weight = Z95 * Z95 / games
    middle = rate + weight / 2
    spread = Z95 * math.sqrt(rate * (1 - rate) / games + weight / (4 * games))
    # exact ends instead of rounding errors
    low = 0.0 if points <= 0 else (middle - spread) / (1 + weight)
    high = 1.0 if points >= games else (middle + spread) / (1 + weight)
    return low, high
