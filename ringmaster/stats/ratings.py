"""Rate many players by maximum likelihood.

The model is Bradley and Terry's ("Rank analysis of incomplete block designs", 1952, eq. 1) on the
Elo scale.  A player's expected score is 1/(1 + 10^(−d/400)) against a player rated d points lower.
A draw counts as half a win and half a loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import msgspec

from ringmaster.stats.elo import Z95

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

#: Elo for one unit of the model's natural scale.
_UNIT = 400 / math.log(10)
#: The longest step in natural units: longer Newton steps may overshoot.
_LONGEST_STEP = 1.0
#: The largest distance; exponentials of more overflow.
_FARTHEST = 300.0
_STEPS = 500
_CLOSE = 1e-10
#: Results of all players that are added to the results of each two players.
_PRIOR = 10


class Rating(msgspec.Struct, frozen=True):
    """A rating relative to the average or to the anchor, with its 95 % error.

    The error is infinite when the results do not show their variance.
    """

    elo: float
    error: float


@dataclass(frozen=True)
class Ratings(Sequence[Rating]):
    """Ratings of players numbered from 0.

    covariance  of the ratings relative to the average, Elo²; None when the results do not show
                their variance
    prior       drawn games against an imaginary player, added for each player; 0 where the
                results alone have a best fit
    """

    ratings: tuple[Rating, ...]
    covariance: tuple[tuple[float, ...], ...] | None
    prior: int = 0

    @overload
    def __getitem__(self, index: int) -> Rating: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Rating]: ...
    def __getitem__(self, index: int | slice) -> Rating | Sequence[Rating]:
        return self.ratings[index]

    def __len__(self) -> int:
        return len(self.ratings)

    def difference(self, i: int, j: int) -> Rating:
        """Return the rating of player i relative to player j, with its own error."""
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


#: Wins of the first player, draws and losses, by the numbers of two players.
Scores = Mapping[tuple[int, int], tuple[int, int, int]]
#: Pairs of games with 0, ½, 1, 1½, 2 points of the first player, by two players.
PairCounts = Mapping[tuple[int, int], Sequence[int]]


def bradley_terry(
    players: int,
    scores: Scores,
    pairs: PairCounts | None = None,
    *,
    anchor: tuple[int, float] | None = None,
) -> Ratings | None:
    """Return the ratings of players numbered from 0, None for fewer than two.

    pairs   for two players who played all games in pairs; a half pair may be missing
    anchor  a player and its Elo; None: the average of all ratings is 0

    When some players have won, or lost, all points against the others, or the games do not
    connect all players, no finite ratings fit best.  Then each player gets one additional draw
    against an imaginary player of average strength: a generalised logistic prior with η = ½
    (Whelan, "Prior distributions for the Bradley-Terry model of paired comparisons", 2017).

    The covariance is the "sandwich" A⁻BA⁻ (White, "Maximum likelihood estimation of misspecified
    models", 1982), with the model's information A and the observed variance B.  Draws and balanced
    pairs make the errors smaller.  With a prior, one-sided results and the prior have the model's
    variance.
    """
    if players < 2:
        return None
    # takes 0.1 s, which only tables of ratings need
    import numpy as np

    prior = 0 if _comparable(players, scores) else 1
    played = dict(scores)
    if prior:
        played |= {(i, players): (0, prior, 0) for i in range(players)}
    theta, weight, inverse = _fit(players + prior, played)
    # equal players have equal ratings: the fit is no more exact than that
    elo = (np.round((theta - theta[:players].mean())[:players] * _UNIT, 8) + 0.0).tolist()
    spread = _dispersions(players, scores, pairs or {}, _expected(theta))
    covariance = None
    if spread is not None:
        seen = np.zeros_like(weight)
        for (i, j), (wins, draws, losses) in played.items():
            one_sided = not draws and not (wins and losses)
            share = 1.0 if prior and one_sided else spread.get((i, j), 1.0)
            seen[i, j] = seen[j, i] = share * weight[i, j]
        matrix = (inverse @ _laplacian(seen) @ inverse)[:players, :players]
        # relative to the average of the players
        matrix = matrix - matrix.mean(axis=0)
        matrix = matrix - matrix.mean(axis=1, keepdims=True)
        covariance = tuple(map(tuple, (matrix * _UNIT**2).tolist()))
    origin, level = (None, 0.0) if anchor is None else anchor
    errors = [_error(covariance, i, origin) for i in range(players)]
    shift = level - (0.0 if origin is None else elo[origin])
    ratings = [Rating(x + shift, error) for x, error in zip(elo, errors, strict=True)]
    return Ratings(tuple(ratings), covariance, prior)


def _fit(players: int, scores: Scores) -> tuple[Array, Array, Array]:
    """Return the best fit in natural units, each two players' information, and its inverse.

    The inverse of a Laplacian is the one on vectors with sum 0.
    """
    import numpy as np

    games, points = np.zeros((players, players)), np.zeros(players)
    for (i, j), (wins, draws, losses) in scores.items():
        games[i, j] = games[j, i] = wins + draws + losses
        points[i] += wins + draws / 2
        points[j] += losses + draws / 2
    theta = np.zeros(players)
    for _ in range(_STEPS):
        expected = _expected(theta)
        weight = games * expected * expected.T
        inverse: npt.NDArray[Any] = np.linalg.inv(_laplacian(weight) + 1 / players) - 1 / players
        step = inverse @ (points - (games * expected).sum(axis=1))
        longest = float(np.abs(step).max())
        theta += step * min(1.0, _LONGEST_STEP / longest if longest else 1.0)
        if longest < _CLOSE:
            break
    return theta, weight, inverse


def _expected(theta: Array) -> Array:
    """Return the expected score, above 0, of each player against each other."""
    import numpy as np

    ahead = theta[:, np.newaxis] - theta
    expected: Array = 1 / (1 + np.exp(np.minimum(-ahead, _FARTHEST)))
    return expected


def _laplacian(weight: Array) -> Array:
    """Return the diagonal matrix of the row sums of a symmetric matrix, minus the matrix."""
    import numpy as np

    laplacian: Array = np.diag(weight.sum(axis=1)) - weight
    return laplacian


def _error(
    covariance: tuple[tuple[float, ...], ...] | None, player: int, origin: int | None
) -> float:
    """Return the error of a rating relative to the average or to another player."""
    if origin is not None:
        return Z95 * _deviation(covariance, player, origin)
    return math.inf if covariance is None else Z95 * math.sqrt(max(0.0, covariance[player][player]))


def _comparable(players: int, scores: Scores) -> bool:
    """Return whether a best fit exists: points connect all players in both directions.

    Ford, "Solution of a ranking problem from binary comparisons", 1957.
    """
    took: list[set[int]] = [set() for _ in range(players)]
    gave: list[set[int]] = [set() for _ in range(players)]
    for (i, j), (wins, draws, losses) in scores.items():
        for taker, giver, points in ((i, j, wins + draws), (j, i, losses + draws)):
            if points:
                took[taker].add(giver)
                gave[giver].add(taker)
    return all(len(_reached(links)) == players for links in (took, gave))


def _reached(links: Sequence[set[int]]) -> set[int]:
    """Return the players connected with player 0, itself included."""
    reached, waiting = {0}, [0]
    while waiting:
        new = links[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def _dispersions(
    players: int, scores: Scores, pairs: PairCounts, expected: Array
) -> dict[tuple[int, int], float] | None:
    """Return the variance of each two players' results, divided by the model's variance.

    Return None when all results are exactly as expected.  Draws and pairs lower the variance.
    Two players may have few or equal results, so _PRIOR results with the variance of all players
    are added.

    expected  scores of each player against each other
    """
    sums: dict[tuple[int, int], tuple[float, float, int]] = {}
    for (i, j), (wins, draws, losses) in scores.items():
        p, q = float(expected[i, j]), float(expected[j, i])
        counts = pairs.get((i, j), ())
        if sum(counts):
            seen = sum(n * (k / 2 - 2 * p) ** 2 for k, n in enumerate(counts))
            sums[i, j] = seen, 2 * sum(counts) * p * q, sum(counts)
        elif wins + draws + losses:
            seen = wins * q**2 + draws * (0.5 - p) ** 2 + losses * p**2
            results = wins + draws + losses
            sums[i, j] = seen, results * p * q, results
    results = sum(n for _, _, n in sums.values())
    free = results - (players - 1)
    if free <= 0:
        return dict.fromkeys(sums, 1.0)
    # fitted ratings are nearer to the results than the true ones
    freed = results / free
    share = freed * sum(s for s, _, _ in sums.values()) / sum(e for _, e, _ in sums.values())
    if share < _CLOSE:
        return None
    return {
        both: (freed * seen + _PRIOR * share * model / n) / (model * (1 + _PRIOR / n))
        for both, (seen, model, n) in sums.items()
    }
