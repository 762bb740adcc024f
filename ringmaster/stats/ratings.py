"""Rate many players by maximum likelihood.

The model is Bradley and Terry's ("Rank analysis of incomplete block designs", 1952, eq. 1) on the
Elo scale.  A player's expected score is 1/(1 + 10^(−d/400)) against a player rated d points lower.
A draw counts as half a win and half a loss.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ringmaster.stats.elo import Z95

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
class Ratings:
    """Ratings of players numbered from 0.

    covariance  of the ratings relative to the average, Elo²; None when the results do not show
                their variance
    prior       drawn games against an imaginary player, added for each player; 0 where the
                results alone have a best fit
    """

    ratings: tuple[Rating, ...]
    covariance: tuple[tuple[float, ...], ...] | None
    prior: int = 0

    def __getitem__(self, index: int) -> Rating:
        return self.ratings[index]

    def __iter__(self) -> Iterator[Rating]:
        return iter(self.ratings)

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


def _deviation(
    covariance: tuple[tuple[float, ...], ...] | None, i: int, j: int | None = None
) -> float:
    """Return the standard deviation of a rating relative to another one or to the average."""
    if i == j:
        return 0.0
    if covariance is None:
        return math.inf
    others = 0.0 if j is None else covariance[j][j] - 2 * covariance[i][j]
    return math.sqrt(max(0.0, covariance[i][i] + others))


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
    prior = 0 if _comparable(players, scores) else 1
    played = dict(scores)
    if prior:
        played |= {(i, players): (0, prior, 0) for i in range(players)}
    theta, weight, inverse = _fit(players + prior, played)
    theta = _centred(theta, players)
    elo = [t * _UNIT for t in theta[:players]]
    spread = _dispersions(players, scores, pairs or {}, theta)
    covariance = None
    if spread is not None:
        seen = weight.copy()
        for (i, j), (wins, draws, losses) in played.items():
            one_sided = not draws and not (wins and losses)
            seen[i, j] *= 1.0 if prior and one_sided else spread.get((i, j), 1.0)
        matrix = _product(_product(inverse, _laplacian(players + prior, seen)), inverse)
        if prior:
            rows = [_centred(row, players)[:players] for row in matrix[:players]]
            matrix = [list(row) for row in zip(*rows, strict=True)]
            matrix = [_centred(row, players) for row in matrix]
        covariance = tuple(tuple(float(x) * _UNIT**2 for x in row) for row in matrix)
    origin, level = (None, 0.0) if anchor is None else anchor
    errors = [Z95 * _deviation(covariance, i, origin) for i in range(players)]
    shift = level - (0.0 if origin is None else elo[origin])
    ratings = [Rating(x + shift, error) for x, error in zip(elo, errors, strict=True)]
    return Ratings(tuple(ratings), covariance, prior)


def _fit(players: int, scores: Scores) -> tuple[list[float], Weights, Matrix]:
    """Return the best fit in natural units, each two players' information, and its inverse."""
    games = {both: sum(counts) for both, counts in scores.items()}
    points = [0.0] * players
    for (i, j), (wins, draws, losses) in scores.items():
        points[i] += wins + draws / 2
        points[j] += losses + draws / 2
    theta = [0.0] * players
    for _ in range(_STEPS):
        weight, surplus = {}, points.copy()
        for (i, j), count in games.items():
            p, q = _expected(theta[i] - theta[j])
            weight[i, j] = count * p * q
            surplus[i] -= count * p
            surplus[j] -= count * q
        inverse = _pseudo_inverse(_laplacian(players, weight))
        step = [float(s) for (s,) in _product(inverse, [[s] for s in surplus])]
        longest = max(map(abs, step))
        shorter = min(1.0, _LONGEST_STEP / longest if longest else 1.0)
        theta = [t + s * shorter for t, s in zip(theta, step, strict=True)]
        if longest < _CLOSE:
            break
    return theta, weight, inverse


def _centred(values: Sequence[float], players: int) -> list[float]:
    """Return values minus the average of the first `players` values."""
    centre = math.fsum(values[:players]) / players
    return [value - centre for value in values]


def _expected(ahead: float) -> tuple[float, float]:
    """Return the expected scores of two players, both above 0.

    ahead  the first player's advantage in natural units
    """
    p = 1 / (1 + math.exp(min(-ahead, _FARTHEST)))
    q = 1 / (1 + math.exp(min(ahead, _FARTHEST)))
    return p, q


#: A number for each two players.
Weights = dict[tuple[int, int], float]
#: Rows: lists, or of more than _FEW players an array.
Matrix = Any

#: Up to this number of players, plain Python inverts in less time than the import of NumPy.
_FEW = 50


def _laplacian(n: int, weights: Weights) -> Matrix:
    """Return the diagonal matrix of the row sums of symmetric weights, minus the weights."""
    laplacian: Matrix = [[0.0] * n for _ in range(n)]
    for (i, j), weight in weights.items():
        laplacian[i][j] -= weight
        laplacian[j][i] -= weight
        laplacian[i][i] += weight
        laplacian[j][j] += weight
    if n > _FEW:
        import numpy as np  # see _FEW

        return np.array(laplacian)
    return laplacian


def _pseudo_inverse(laplacian: Matrix) -> Matrix:
    """Return the inverse of a graph's Laplacian on vectors with sum 0.

    Gauss-Jordan elimination inverts the matrix plus 1/n.  This sum is positive definite, so no
    pivot has to be chosen.
    """
    n = len(laplacian)
    if not isinstance(laplacian, list):
        import numpy as np

        return np.linalg.inv(laplacian + 1 / n) - 1 / n
    rows = [
        [x + 1 / n for x in row] + [float(i == j) for j in range(n)]
        for i, row in enumerate(laplacian)
    ]
    for k in range(n):
        pivot = rows[k][k]
        rows[k] = top = [x / pivot for x in rows[k]]
        for i, row in enumerate(rows):
            if i != k and (factor := row[k]):
                rows[i] = [x - factor * y for x, y in zip(row, top, strict=True)]
    return [[x - 1 / n for x in row[n:]] for row in rows]


def _product(one: Matrix, other: Matrix) -> Matrix:
    if not isinstance(one, list):
        return one @ other
    columns = [*zip(*other, strict=True)]
    return [[_dot(row, column) for column in columns] for row in one]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(operator.mul, one, other))


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
    players: int, scores: Scores, pairs: PairCounts, theta: Sequence[float]
) -> dict[tuple[int, int], float] | None:
    """Return the variance of each two players' results, divided by the model's variance.

    Return None when all results are exactly as expected.  Draws and pairs lower the variance.
    Two players may have few or equal results, so _PRIOR results with the variance of all players
    are added.
    """
    sums: dict[tuple[int, int], tuple[float, float, int]] = {}
    for (i, j), (wins, draws, losses) in scores.items():
        p, q = _expected(theta[i] - theta[j])
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
        both: (freed * seen + _PRIOR * share * expected / n) / (expected * (1 + _PRIOR / n))
        for both, (seen, expected, n) in sums.items()
    }
