"""Losses of win probabilities with their derivatives, and the fit of the win-rate scale C.

A score q in centipawns stands for the win probability σ(q) = 1/(1 + exp(−q/C)).  Österlund's K
is 400/(C·ln 10).  Sums of shards are added with `math.fsum`, so a mean does not depend on the
order of the shards.

The fitted C has the smallest loss.  Scores are counted in bins of one centipawn, each with its
mean score.  This is exact for scores in whole centipawns; for other scores the relative error
of C is about 1/(24·C²).  C is searched on a grid of ln C, then between the neighbours of the
best grid point (Brent, "Algorithms for minimization without derivatives", 1973).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
LossKind = Literal["squared", "cross_entropy"]
#: Float32 in files, float64 elsewhere.
Numbers = npt.NDArray[np.floating[Any]]

#: exp() of larger numbers overflows; σ is 0 or 1 long before.
_LARGEST = 700.0


class Sum(NamedTuple):
    """Σ weight·loss and Σ weight of some positions."""

    loss: float = 0.0
    weight: float = 0.0


class Loss(msgspec.Struct, frozen=True):
    """A loss of scores against targets; `scale` is C in centipawns.

    Scores, targets and results are (n,); results are float64.  A NaN score gives NaN.  Targets
    are probabilities from 0 to 1.
    """

    kind: LossKind
    scale: float

    def values(self, scores: Numbers, target: Numbers) -> Array:
        """Return (m − σ)², or −m·ln σ − (1 − m)·ln(1 − σ) in nats, of each position."""
        x = np.asarray(scores, dtype=np.float64) / self.scale
        if self.kind == "squared":
            return np.square(target - sigmoid(x))
        return cross_entropy(x, target)

    def slope(self, scores: Numbers, target: Numbers) -> Array:
        """Return ∂loss/∂q, per centipawn."""
        x = np.asarray(scores, dtype=np.float64) / self.scale
        off = sigmoid(x) - target
        if self.kind == "squared":
            return 2 * off * steepness(x) / self.scale
        return off / self.scale

    def curvature(self, scores: Numbers) -> Array:
        """Return the Gauss-Newton approximation of ∂²loss/∂q², never negative.

        It is 2·(∂σ/∂q)² for the squared error, and σ·(1 − σ)/C² for the cross entropy, where it
        is exact.
        """
        x = np.asarray(scores, dtype=np.float64) / self.scale
        steep = steepness(x)
        if self.kind == "squared":
            return 2 * np.square(steep / self.scale)
        return steep / self.scale**2

    def total(self, scores: Numbers, target: Numbers, weight: Numbers) -> Sum:
        """Return the summed loss; positions of weight 0 may lack a score or target."""
        counts = np.asarray(weight) > 0
        if not counts.all():
            scores, target, weight = scores[counts], target[counts], weight[counts]
        wide = np.asarray(weight, dtype=np.float64)
        return Sum(float((wide * self.values(scores, target)).sum()), float(wide.sum()))


def mean(sums: Iterable[Sum]) -> float | None:
    """Return the mean loss, None if the total weight is 0.  The order does not matter."""
    sums = list(sums)
    weight = math.fsum(each.weight for each in sums)
    return math.fsum(each.loss for each in sums) / weight if weight > 0 else None


def sigmoid(x: Array) -> Array:
    """Return 1/(1 + exp(−x)), exact to rounding at both ends."""
    return np.asarray(1 / (1 + np.exp(np.clip(-x, -_LARGEST, _LARGEST))))


def steepness(x: Array) -> Array:
    """Return σ·(1 − σ), exact to rounding even where σ is nearly 1."""
    e = np.exp(-np.minimum(np.abs(x), _LARGEST))
    return np.asarray(e / np.square(1 + e))


def cross_entropy(x: Array, target: Numbers) -> Array:
    """Return −m·ln σ(x) − (1 − m)·ln(1 − σ(x)), nats, as a sum of non-negative terms."""
    tail = np.log1p(np.exp(-np.minimum(np.abs(x), _LARGEST)))
    return np.asarray(tail + target * np.maximum(-x, 0.0) + (1 - target) * np.maximum(x, 0.0))


def entropy(probability: Numbers) -> Array:
    """Return −p·ln p − (1 − p)·ln(1 − p), nats: the least possible cross entropy against p."""
    from scipy.special import entr

    p = np.asarray(probability, dtype=np.float64)
    return np.asarray(entr(p) + entr(1 - p))


#: Larger scores are cut to this, centipawns; a mate has this score.
LARGEST_SCORE = 10_000
#: Range of C, centipawns: Österlund's K from 0.02 to 35.
LOWEST, HIGHEST = 5.0, 8_000.0
#: Points of the grid of ln C, and the accuracy of ln C.
_GRID_POINTS, _ACCURACY = 60, 1e-9
#: A correlation of fewer standard errors is not significant.
_SIGNIFICANT = 2.5
#: Least number of games for a standard error by games.
_FEW_GAMES = 30
#: Most groups of games: sums by game become sums by group.
MOST_GROUPS = 4_096


class Fit(msgspec.Struct, frozen=True):
    """A fitted win-rate scale C, centipawns, with a warning if it is at an end of its range."""

    scale: float
    warning: str = ""


def sums_by_group(values: Array, games: npt.NDArray[np.uint32]) -> Array:
    """Return the sums of positions' values, (n, k), by group of games, (MOST_GROUPS, k)."""
    from scipy.sparse import csr_matrix

    groups, count = (games % np.uint32(MOST_GROUPS)).astype(np.intp), len(games)
    chosen = csr_matrix((np.ones(count), (groups, np.arange(count))), (MOST_GROUPS, count))
    return np.asarray(chosen @ values)


class ScoreHistogram:
    """Counts of scores and labels in bins of one centipawn."""

    def __init__(self) -> None:
        # Σw, Σw·q, Σw·r, Σw·r² by bin
        self._sums = np.zeros((4, 2 * LARGEST_SCORE + 1))
        # Σw, Σw·x, Σw·r, Σw·x², Σw·r², Σw·x·r by group of games
        self._by_game = np.zeros((MOST_GROUPS, 6))
        self._count = 0
        self._low, self._high = math.inf, -math.inf

    def add(
        self, scores: Numbers, labels: Numbers, weights: Numbers, games: npt.NDArray[np.uint32]
    ) -> None:
        """Count positions, (n,) each; positions with a NaN are left out.

        scores  centipawns
        labels  results or blended targets, 0 to 1
        games   numbers of the positions' games
        """
        counts = (weights > 0) & ~np.isnan(scores) & ~np.isnan(labels)
        q, r, w = (each[counts].astype(np.float64) for each in (scores, labels, weights))
        if not len(q):
            return
        q = np.clip(q, -LARGEST_SCORE, LARGEST_SCORE)
        bins = np.rint(q).astype(np.int64) + LARGEST_SCORE
        for row, values in enumerate((w, w * q, w * r, w * r * r)):
            self._sums[row] += np.bincount(bins, weights=values, minlength=self._sums.shape[1])
        # bounded: a few mates do not outweigh the other scores
        x = np.tanh(q / 400)
        columns = (w, w * x, w * r, w * x * x, w * r * r, w * x * r)
        self._by_game += sums_by_group(np.stack(columns, axis=1), games[counts])
        self._count += len(q)
        self._low, self._high = min(self._low, float(r.min())), max(self._high, float(r.max()))

    @property
    def is_flat(self) -> bool:
        """Return whether all scores are equal, so that they say nothing about the labels."""
        return bool(np.count_nonzero(self._sums[0]) == 1)

    def fit(self, kind: LossKind = "squared", name: str = "scores") -> Fit:
        """Return the scale with the smallest loss.

        name  name of the scores in messages: "scores", "teacher's scores"
        Raises ValueError with a message for the user: without positions, if all results are
        equal, or if scores and results have no positive correlation.
        """
        from scipy.optimize import minimize_scalar

        weight, *sums = self._sums[:, self._sums[0] > 0]
        if not self._count:
            raise ValueError(f"no position has {name} and a result: there is no win-rate scale")
        if self._low == self._high:
            raise ValueError(equal_results(self._low))
        q, r, squares = sums[0] / weight, sums[1], sums[2]
        if contradiction := self.contradiction(name):
            raise ValueError(contradiction)
        correlation, certain = self._correlation()
        if correlation <= certain:
            raise ValueError(
                f"the {name} do not correlate with the results (correlation {correlation:.3f} "
                f"over {self._count:,} positions): check that each result belongs to the "
                "position's game, and check result_pov"
            )
        total = float(weight.sum())

        def error(log_scale: float) -> float:
            x = q / math.exp(log_scale)
            if kind == "squared":
                p = sigmoid(x)
                return float((squares - 2 * p * r + weight * p * p).sum()) / total
            return float((weight * cross_entropy(x, r / weight)).sum()) / total

        grid = np.linspace(math.log(LOWEST), math.log(HIGHEST), _GRID_POINTS)
        at = int(np.argmin([error(each) for each in grid]))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, _GRID_POINTS - 1)]
        inner = minimize_scalar(
            error, bounds=(low, high), method="bounded", options={"xatol": _ACCURACY}
        ).x
        scale = math.exp(min((float(inner), float(low), float(high)), key=error))
        if LOWEST * 1.01 < scale < HIGHEST / 1.01:
            return Fit(scale)
        end = f"the smallest, {LOWEST:g}" if scale < 100 else f"the largest, {HIGHEST:g}"
        return Fit(
            scale,
            f"the win-rate scale of the {name} is at an end of its range ({end} centipawns): "
            "the scores hardly fit the results; check their unit, or set the scale",
        )

    def contradiction(self, name: str) -> str:
        """Return a message for scores that contradict the labels, "" for others."""
        if not self._count or self._low == self._high:
            return ""
        correlation, certain = self._correlation()
        if correlation >= -certain:
            return ""
        return (
            f"the {name} contradict the results (correlation {correlation:.3f}): their side "
            "seems to be wrong; see score_pov and result_pov of Positions(…)"
        )

    def _correlation(self) -> tuple[float, float]:
        """Return the correlation of scores and labels, and the least significant one."""
        total, x, r, xx, rr, xr = self._by_game.sum(axis=0).tolist()
        middle, mean = x / total, r / total
        spread, variance = xx - middle * x, rr - mean * r
        # equal scores differ by rounding
        unit = math.sqrt(spread * variance) if spread > 1e-9 * xx and variance > 0 else math.inf
        certain = _SIGNIFICANT / math.sqrt(self._count)
        groups = self._by_game[self._by_game[:, 0] > 0]
        if len(groups) >= _FEW_GAMES:
            # positions of a game share its result, so they are no independent evidence
            together = groups @ (middle * mean, -mean, -middle, 0, 0, 1)
            certain = _SIGNIFICANT * math.sqrt(np.square(together).sum()) / unit
        return (xr - middle * r) / unit, certain


def equal_results(value: float) -> str:
    """Return the message for positions that all have one result."""
    return (
        f"all results are {value:g}: give positions of won, drawn and lost games; "
        "one result alone teaches nothing"
    )


def k_of(scale: float) -> float:
    """Return Österlund's K of a scale in centipawns, or the scale of a K."""
    return 400 / (scale * math.log(10))
