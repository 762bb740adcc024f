"""The handicap or komi at which two players are even, by a sequential rule.

With an advantage of x the first player wins with probability 1/(1 + 10^(-(x - m)·slope/400)): m is
the even advantage, and the slope is in Elo.  The advantage of n handicap stones is n - 1/2 stones,
since Black without komi is ahead by half a move; by komi it is the level.  Games are played near
the m of the posterior, as in QUEST (Watson and Pelli, "QUEST: a Bayesian adaptive psychometric
method", 1983).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.model.randomness import LADDER_STREAM, uniform, words
from ringmaster.stats.stopping import UNKNOWN, Precision

#: Games before which no interval ends a ladder.
FEWEST = 20
#: The log-uniform prior of the slope: its ends, and the number of values.
_SLOPES = (10.0, 1000.0, 17)
#: The uniform prior of m: cells of its grid, and levels beyond each end of the ladder.
_CELLS, _BEYOND = 300, 2
#: Distance of games from m in Elo, for scores near 1/3 and 2/3: games at m do not show the slope.
_AWAY = 120.0
#: Posterior probability beyond each end of a 95 % interval; with 2.5 %, fewer intervals had the
#: true level, since a slope that seems too steep ends the games early (tests/stats/test_ladder.py).
_TAIL = 0.0175


class HandicapLadder(msgspec.Struct, frozen=True, tag_field="kind", tag="ladder"):
    """A match until the 95 % interval of the even level is ± `precision` levels.

    Levels are from -reach to reach; higher ones favour the first player.  Counts are losses,
    halves and wins of the first player at each level, the lowest level first.

    komi_step  points a level: the first player is Black, and the komi is komi - level·komi_step.
               None: handicap stones for the first player, at negative levels for the second one.
               Level 0 is even; level 1 has no stones, but a komi of 0.5, as levels with stones
    """

    komi_step: float | None = None
    precision: float = 0.5
    komi: float = 0.0
    reach: int = 20

    def canonical(self) -> dict[str, Any]:
        """Return the arguments, for the comparison of two runs."""
        return {"$": "HandicapLadder", "komi_step": self.komi_step, "precision": self.precision}

    def levels(self, codes: Sequence[str]) -> dict[str, tuple[str, int | None, float]]:
        """Return Black ("": colours alternate), stones and komi by name, the lowest level first."""
        levels = {}
        for level in range(-self.reach, self.reach + 1):
            black, stones, komi = codes[level < 0], abs(level), 0.5
            if self.komi_step:
                black, stones, komi = codes[0], 0, self.komi - level * self.komi_step
            elif level == 0:
                black, komi = "", self.komi
            terms = f"{stones} stones" if stones > 1 else f"komi {komi:g}"
            name = f"{black} Black, {terms}" if black else f"even, {terms}"
            levels[name] = black, stones if stones > 1 else None, komi
        return levels

    def counts(self, played: Mapping[str, Sequence[int]], codes: Sequence[str]) -> list[int]:
        """Return the counts of all levels, from those of played levels by name."""
        return [count for name in self.levels(codes) for count in played.get(name, (0, 0, 0))]

    def _level(self, advantage: float) -> float:
        """Return the level of an advantage, between levels in proportion."""
        if self.komi_step:
            return advantage
        return math.copysign(min(2 * abs(advantage), abs(advantage) + 0.5), advantage)

    def next_level(self, counts: Sequence[int], seed: int, number: int) -> int:
        """Return the place among `levels` for a game: a little above or below the median of m."""
        m, _, _, slope = self.estimate(counts)
        side, rounding = map(uniform, words(seed, LADDER_STREAM, number, 2))
        level = self._level(m + math.copysign(_AWAY / slope, side - 0.5))
        return self.reach + max(-self.reach, min(self.reach, math.floor(level + rounding)))

    def estimate(self, counts: Sequence[int]) -> tuple[float, float, float, float]:
        """Return the median of m, the ends of its interval, and the median of the slope."""
        import numpy as np

        m, slopes, log_shares = _grid(self.reach, self.komi_step is None)
        points = np.reshape(counts, (-1, 3)) @ ((0, 1), (0.5, 0.5), (1, 0))
        played = points.any(axis=1)
        log = np.tensordot(points[played], log_shares[played], 2)
        weights = np.exp(log - log.max())
        by_m, by_slope = weights.sum(axis=0), weights.sum(axis=1)
        ends = np.array((0.5, _TAIL, 1 - _TAIL)) * weights.sum()
        # half of a cell's weight is below its middle
        even, low, high = np.interp(ends, by_m.cumsum() - by_m / 2, m)
        slope = np.interp(ends[0], by_slope.cumsum() - by_slope / 2, slopes)
        return float(even), float(low), float(high), float(slope)

    def measure(self, counts: Sequence[int]) -> float:
        """Return half the width of the interval; 0 where m is beyond the ladder."""
        if sum(counts) < FEWEST:
            return UNKNOWN
        _, low, high, _ = self.estimate(counts)
        is_within = self._level(low) <= self.reach and self._level(high) >= -self.reach
        return (high - low) / 2 if is_within else 0

    def accepted_at(self, error: float) -> str:
        return Precision(self.precision).accepted_at(error) if error else "beyond"

    def report(self, played: Mapping[str, list[int]], codes: Sequence[str]) -> dict[str, Any]:
        """Return the result so far as JSON data, the even level in stones or as komi.

        The levels with games are in order, with losses, halves and wins of the first player.
        """
        (first, second), levels, counts = codes, [*self.levels(codes)], self.counts(played, codes)
        even, low, high = map(self._level, self.estimate(counts)[:3])
        at, end = f"{even:z.1f} handicap stones for {first}", levels[-1 if even > 0 else 0]
        if self.komi_step:
            even, high, low = (self.komi - self.komi_step * x for x in (even, low, high))
            at = f"komi {even:z.1f} with {first} Black"
        text = f"{first} and {second} are even at {at} ({low:z.1f} to {high:z.1f}, 95 %)"
        error = self.measure(counts)
        if error == UNKNOWN:
            text = f"{first} and {second}: the even level is not known yet"
        elif error == 0:
            text = f"{first} and {second} are not even on the ladder, which ends at {end}"
        by_level = {name: played[name] for name in levels if name in played}
        return {"text": text, "even": [even, low, high], "levels": by_level}


@functools.lru_cache(maxsize=8)
def _grid(reach: int, of_stones: bool) -> tuple[Any, Any, Any]:
    """Return the values of m and of the slope, and the log probabilities of a win and a loss.

    The axes of the latter are level, result, slope and m.
    """
    import numpy as np

    m, slopes = np.linspace(-reach - _BEYOND, reach + _BEYOND, _CELLS), np.geomspace(*_SLOPES)
    advantages = np.arange(-reach, reach + 1.0)
    advantages -= 0.5 * np.sign(advantages) * of_stones
    distances = advantages[:, None, None] - m
    odds = slopes[:, None] * math.log(10) / 400 * distances
    return m, slopes, -np.logaddexp(0, np.stack((-odds, odds), axis=1))
