"""Ratings of many players who met each other, by maximum likelihood.

The model is Bradley and Terry's ("Rank analysis of incomplete block designs",
1952, eq. 1) on the Elo scale: a player is expected to score 1/(1 + 10^(−d/400))
against one rated d points lower; a draw counts as half a win and half a loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from ringmaster.stats.elo import Z95

#: Elo for one unit of the model's natural scale.
_UNIT = 400 / math.log(10)
#: The longest step in natural units: from far away Newton's own may overshoot.
_LONGEST_STEP = 1.0
_STEPS = 500
_CLOSE = 1e-10
#: Results of all players that two players' own are mixed with.
_PRIOR = 10


@dataclass(frozen=True)
class Rating:
    """Elo above the average of all players, or on the anchor's scale, ± error (95 %,
    of the distance to that; infinite when the results say nothing of the spread)."""

    elo: float
    error: float


@dataclass(frozen=True)
class Ratings(Sequence[Rating]):
    """Ratings of players numbered from 0.

    covariance  of the ratings above the average, Elo²; None when the results say
                nothing of their spread
    """

    ratings: tuple[Rating, ...]
    covariance: tuple[tuple[float, ...], ...] | None

    @overload
    def __getitem__(self, index: int) -> Rating: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Rating]: ...
    def __getitem__(self, index: int | slice) -> Rating | Sequence[Rating]:
        return self.ratings[index]

    def __len__(self) -> int:
        return len(self.ratings)

    def difference(self, i: int, j: int) -> Rating:
        """Return how far player i is above player j, with the error of that: not
        the sum of theirs, since the two are estimated from the same games."""
        return Rating(
            self.ratings[i].elo - self.ratings[j].elo, Z95 * _deviation(self.covariance, i, j)
        )

    def los(self, i: int, j: int) -> float:
        """Return the probability that player i is stronger than player j."""
        deviation = _deviation(self.covariance, i, j)
        distance = self.ratings[i].elo - self.ratings[j].elo
        if deviation == 0:
            return 0.5 if distance == 0 else float(distance > 0)
        return 0.5 * (1 + math.erf(distance / (deviation * math.sqrt(2))))


def _deviation(covariance: tuple[tuple[float, ...], ...] | None, i: int, j: int) -> float:
    """Return the standard deviation of the difference of two ratings."""
    if i == j:
        return 0.0
    if covariance is None:
        return math.inf
    return math.sqrt(max(0.0, covariance[i][i] + covariance[j][j] - 2 * covariance[i][j]))


#: Results of two players, by their numbers: wins of the first, draws, losses.
Scores = Mapping[tuple[int, int], tuple[int, int, int]]
#: The same by pairs of games: of 0, ½, 1, 1½, 2 points of the first.
PairCounts = Mapping[tuple[int, int], Sequence[int]]


def bradley_terry(
    players: int,
    scores: Scores,
    pairs: PairCounts | None = None,
    *,
    anchor: tuple[int, float] | None = None,
) -> Ratings | None:
    """Return the rating of each player, numbered from 0.

    pairs   those who played all their games in pairs; a half pair may be missing
    anchor  a player and its Elo; without one the ratings' average is 0

    None when no finite ratings fit best: some of the players have not met the
    others, or have won, or lost, every point against them.

    The covariance is the "sandwich" A⁻BA⁻ (White, "Maximum likelihood estimation of
    misspecified models", 1982): A is the model's information, B how far
    results are really spread.  Draws, and pairs whose games balance an opening, make
    the errors smaller, as they should.
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
    elo = (theta * _UNIT).tolist()
    spread = _dispersions(players, scores, pairs or {}, theta.tolist())
    covariance = None
    if spread is not None:
        seen = np.zeros((players, players))
        for (i, j), share in spread.items():
            seen[i, j] = seen[j, i] = share
        seen *= weight
        inverse = np.linalg.inv(information + fixed) - fixed
        matrix = inverse @ (np.diag(seen.sum(axis=1)) - seen) @ inverse * _UNIT**2
        covariance = tuple(tuple(float(x) for x in row) for row in matrix)
    origin, level = (None, 0.0) if anchor is None else anchor
    errors = [_error(covariance, i, origin) for i in range(players)]
    shift = level - (0.0 if origin is None else elo[origin])
    ratings = [Rating(x + shift, error) for x, error in zip(elo, errors, strict=True)]
    return Ratings(tuple(ratings), covariance)


def _error(
    covariance: tuple[tuple[float, ...], ...] | None, player: int, origin: int | None
) -> float:
    """Return the error of a rating above the average, or above another player's."""
    if origin is not None:
        return Z95 * _deviation(covariance, player, origin)
    return math.inf if covariance is None else Z95 * math.sqrt(max(0.0, covariance[player][player]))


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


def _dispersions(
    players: int, scores: Scores, pairs: PairCounts, theta: Sequence[float]
) -> dict[tuple[int, int], float] | None:
    """Return, for every two players, the variance of their results as a share of
    what it would be without draws and pairs; None when all results are as expected
    to the last digit.

    Few results of two players say little of theirs, and when these are all alike
    would say that nothing is left to chance: so each share is taken as if so many
    more results had been seen that are spread as those of all players together.
    """
    sums: dict[tuple[int, int], tuple[float, float, int]] = {}
    for (i, j), (wins, draws, losses) in scores.items():
        p = 1 / (1 + math.exp(theta[j] - theta[i]))
        counts = pairs.get((i, j), ())
        if sum(counts):
            seen = sum(n * (k / 2 - 2 * p) ** 2 for k, n in enumerate(counts))
            sums[i, j] = seen, 2 * sum(counts) * p * (1 - p), sum(counts)
        elif wins + draws + losses:
            seen = wins * (1 - p) ** 2 + draws * (0.5 - p) ** 2 + losses * p**2
            results = wins + draws + losses
            sums[i, j] = seen, results * p * (1 - p), results
    results = sum(n for _, _, n in sums.values())
    free = results - (players - 1)
    if free <= 0:
        return dict.fromkeys(sums, 1.0)
    # what was fitted to the results is nearer to them than the truth is
    freed = results / free
    share = freed * sum(s for s, _, _ in sums.values()) / sum(e for _, e, _ in sums.values())
    if share < _CLOSE:
        return None
    return {
        both: (freed * seen + _PRIOR * share * expected / n) / (expected * (1 + _PRIOR / n))
        for both, (seen, expected, n) in sums.items()
    }
