"""A sequential test that ends hopeless candidates.

The hypothesis is that the candidate scores at least `reference` a game.  Under it, betting
against the candidate cannot be expected to win: for 0 ≤ λ ≤ 1/(1 − reference), the capital

    ∏ (1 + λ·(reference − x))    over its results x, each from 0 to 1

is a non-negative supermartingale, and so is the mean of several λ.  It reaches 1/error with a
probability of at most `error`, at any time and for any distribution of results (Ville's
inequality; Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting",
2024).  Results are pairs of games, since the two games of a pair are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

#: The bets, as shares of the largest λ.
_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
#: The least 1 − reference, which bounds λ.
_ROOM = 0.01


def log_capital(counts: Sequence[int], reference: float) -> float:
    """Return the logarithm of the capital.

    counts  results by score, from 0 to 1 at equal distances
    """
    last = len(counts) - 1
    logs = []
    for share in _SHARES:
        bet = share / max(1 - reference, _ROOM)
        logs.append(
            math.fsum(
                count * math.log1p(bet * (reference - i / last))
                for i, count in enumerate(counts)
                if count
            )
        )
    most = max(logs)
    return most + math.log(math.fsum(math.exp(x - most) for x in logs) / len(logs))


def is_hopeless(counts: Sequence[int], reference: float, error: float) -> bool:
    """Return whether a candidate with these results scores less than `reference`.

    error  probability of a wrong answer
    """
    return log_capital(counts, reference) >= -math.log(error)
