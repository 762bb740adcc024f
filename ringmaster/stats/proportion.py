"""How far a win rate is known."""

from __future__ import annotations

import math

#: Standard deviations of a 95 % interval.
Z95 = 1.959963984540054


def wilson(points: float, games: int, z: float = Z95) -> tuple[float, float]:
    """Return the interval of a win rate (Wilson, "Probable inference", 1927, eq. 1).

    points  wins and half the draws, from 0 to `games`; draws make the interval
            wider than it need be, never narrower
    Returns (0, 1) for no games.
    """
    if games == 0:
        return 0.0, 1.0
    rate = points / games
    weight = z * z / games
    middle = rate + weight / 2
    spread = z * math.sqrt(rate * (1 - rate) / games + weight / (4 * games))
    # exactly at the ends, where the difference is zero but for rounding
    low = 0.0 if points <= 0 else (middle - spread) / (1 + weight)
    high = 1.0 if points >= games else (middle + spread) / (1 + weight)
    return low, high
