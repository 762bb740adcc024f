"""Ratings of many players who met each other, by maximum likelihood.

The model is Bradley and Terry's ("Rank analysis of incomplete block designs",
1952, eq. 1) on the Elo scale: a player is expected to score 1/(1 + 10^(−d/400))
against one rated d points lower; a draw counts as half a win and half a loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringmaster.stats.elo import Z95

#: Elo for one unit of the model's natural scale.
_UNIT = 400 / math.log(10)
#: The longest step in natural units: from far away Newton's own may overshoot.
_LONGEST_STEP = 1.0
_STEPS = 500
_CLOSE = 1e-10


@dataclass(frozen=True)
class Rating:
    """Elo above the average of all players, ± error (95 %; infinite when the
    results say nothing of the spread)."""

    elo: float
    error: float


#: Results of two players, by their numbers: wins of the first, draws, losses.
Scores = Mapping[tuple[int, int], tuple[int, int, int]]


def bradley_terry(players: int, scores: Scores) -> list[Rating] | None:
    """Return the rating of each player, numbered from 0.

    None when no finite ratings fit best: some of the players have not met the
    others, or have won, or lost, every point against them.

    The errors are the model's, scaled by how far results are really spread
    (McCullagh and Nelder, "Generalized Linear Models", 1989, section 4.5.2), so
    that draws make them as small as they should be.
    """
    if players < 2 or not _comparable(players, scores):
        return None
    import numpy as np  # a tenth of a second that other reports can do without

    games, points = np.zeros((players, players)), np.zeros((players, players))
    for (i, j), (wins, draws, losses) in scores.items():
        games[i, j] += wins + draws + losses
        games[j, i] += wins + draws + losses
        points[i, j] += wins + draws / 2
        points[j, i] += losses + draws / 2
    # the ratings' sum is free; this makes it zero
    fixed = np.full((players, players), 1 / players)
    theta = np.zeros(players)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        weight = games * p * (1 - p)
        information = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.solve(information + fixed, (points - games * p).sum(axis=1))
        longest = float(np.abs(step).max())
        theta = theta + step * min(1.0, _LONGEST_STEP / longest if longest else 1.0)
        if longest < _CLOSE:
            break
    theta -= theta.mean()
    variances = np.diag(np.linalg.inv(information + fixed) - fixed)
    spread = _dispersion(players, scores, theta.tolist())
    return [
        Rating(
            float(value) * _UNIT,
            Z95 * _UNIT * math.sqrt(max(0.0, float(variance)) * spread) if spread else math.inf,
        )
        for value, variance in zip(theta, variances, strict=True)
    ]


def _comparable(players: int, scores: Scores) -> bool:
    """Whether a best fit exists (Ford, "Solution of a ranking problem from binary
    comparisons", 1957): each player has taken points, at any remove, from each
    other."""
    took: list[set[int]] = [set() for _ in range(players)]
    gave: list[set[int]] = [set() for _ in range(players)]
    for (i, j), (wins, draws, losses) in scores.items():
        for taker, giver, points in ((i, j, wins + draws), (j, i, losses + draws)):
            if points:
                took[taker].add(giver)
                gave[giver].add(taker)
    return all(len(_reached(links)) == players for links in (took, gave))


def _reached(links: Sequence[set[int]]) -> set[int]:
    """Return what can be reached from player 0, itself included."""
    reached, waiting = {0}, [0]
    while waiting:
        found = links[waiting.pop()] - reached
        reached |= found
        waiting += found
    return reached


def _dispersion(players: int, scores: Scores, theta: Sequence[float]) -> float:
    """Return the variance of results as a share of what it would be without
    draws, at most 1; 0 when all results are as expected to the last digit."""
    seen = expected = 0.0
    games = 0
    for (i, j), (wins, draws, losses) in scores.items():
        p = 1 / (1 + math.exp(theta[j] - theta[i]))
        seen += wins * (1 - p) ** 2 + draws * (0.5 - p) ** 2 + losses * p**2
        expected += (wins + draws + losses) * p * (1 - p)
        games += wins + draws + losses
    free = games - (players - 1)
    if free <= 0:
        return 1.0
    share = seen / expected * games / free
    return 0.0 if share < _CLOSE else min(1.0, share)
