"""The win-rate scale C of scores, found from what came of the positions: σ(q) = 1/(1 +
exp(−q/C)) with the smallest loss.

Scores are counted in bins of one centipawn, each with the mean of its scores, so that any
number of positions is taken shard by shard in one small table.  That is exact for scores in
whole centipawns; for others the relative error of C is about 1/(24·C²), of C = 100 four
millionths.  C is found among a row of values, then between the neighbours of the best by
golden section on ln C (Kiefer, "Sequential minimax search for a maximum", 1953).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np

from ringmaster.tuners.texel.loss import Array, LossKind, Numbers, cross_entropy, sigmoid

#: Scores beyond count as this, centipawns; that is what a mate is given as.
LARGEST_SCORE = 10_000
#: What C may be, centipawns: Österlund's K from 0.02 to 35.
LOWEST, HIGHEST = 5.0, 8_000.0
_ROW = 60
_GOLDEN = (math.sqrt(5) - 1) / 2
#: Relative width at which the golden section ends.
_NARROW = 1e-9
#: Standard errors of a correlation that are taken for one.
_SIGNIFICANT = 2.5


class Fit(msgspec.Struct, frozen=True):
    """A fitted scale.

    scale    C, centipawns
    error    mean loss with it
    warning  a line for the user when C is at an end of what it may be, else ""
    """

    scale: float
    error: float
    warning: str = ""

    @property
    def k(self) -> float:
        """Österlund's K."""
        return k_of(self.scale)


class ScoreHistogram:
    """Scores and what came of the positions, counted in bins of one centipawn."""

    def __init__(self) -> None:
        # Σw, Σw·q, Σw·r, Σw·r² by bin
        self._sums = np.zeros((4, 2 * LARGEST_SCORE + 1))
        self._count = 0
        self._low, self._high = math.inf, -math.inf

    def add(self, scores: Numbers, labels: Numbers, weights: Numbers) -> None:
        """Count positions, (n,) each.

        scores  centipawns, NaN where there is none: it is left out
        labels  what came of them, 0 to 1: results, or blended targets; NaN likewise
        """
        q = np.asarray(scores, dtype=np.float64)
        r = np.asarray(labels, dtype=np.float64)
        w = np.asarray(weights, dtype=np.float64)
        counts = (w > 0) & ~np.isnan(q) & ~np.isnan(r)
        q, r, w = q[counts], r[counts], w[counts]
        if not len(q):
            return
        q = np.clip(q, -LARGEST_SCORE, LARGEST_SCORE)
        bins = np.rint(q).astype(np.int64) + LARGEST_SCORE
        for row, values in enumerate((w, w * q, w * r, w * r * r)):
            self._sums[row] += np.bincount(bins, weights=values, minlength=self._sums.shape[1])
        self._count += len(q)
        self._low, self._high = min(self._low, float(r.min())), max(self._high, float(r.max()))

    def fit(self, kind: LossKind = "squared", what: str = "scores") -> Fit:
        """Return the scale with the smallest loss.

        what  whose scores they are, for messages: "scores", "teacher's scores"

        Raises ValueError, for the user to read, where it cannot be found: no positions, all
        results equal, no correlation of scores and results, or a negative one.
        """
        weight, *sums = self._sums[:, self._sums[0] > 0]
        if not self._count:
            raise ValueError(f"no position has {what} and a result: there is no win-rate scale")
        if self._low == self._high:
            raise ValueError(
                f"all results are {self._low:g}: positions of won, drawn and lost games are "
                "wanted, since from one result alone nothing can be learnt"
            )
        q, r, squares = sums[0] / weight, sums[1], sums[2]
        self._check(weight, q, r, squares, what)
        total = float(weight.sum())

        def error(log_scale: float) -> float:
            x = q / math.exp(log_scale)
            if kind == "squared":
                p = sigmoid(x)
                return float((squares - 2 * p * r + weight * p * p).sum()) / total
            return float((weight * cross_entropy(x, r / weight)).sum()) / total

        row = np.linspace(math.log(LOWEST), math.log(HIGHEST), _ROW)
        errors = [error(each) for each in row]
        at = int(np.argmin(errors))
        best = golden_section(error, row[max(at - 1, 0)], row[min(at + 1, _ROW - 1)])
        scale = math.exp(best)
        return Fit(scale, error(best), _edge(scale, what))

    def _check(self, weight: Array, q: Array, r: Array, squares: Array, what: str) -> None:
        # q enters as a bounded function, so that a few mates do not outweigh the rest
        x = np.tanh(q / 400)
        total = weight.sum()
        x = x - (weight * x).sum() / total
        spread = (weight * x * x).sum()
        mean = r.sum() / total
        variance = squares.sum() - total * mean * mean
        together = (x * r).sum()
        correlation = together / math.sqrt(spread * variance) if spread * variance > 0 else 0.0
        certain = _SIGNIFICANT / math.sqrt(self._count)
        if correlation < -certain:
            raise ValueError(
                f"the {what} say the opposite of the results (correlation {correlation:.3f}): "
                "they seem to be from the wrong side; see score_pov and result_pov of "
                "Positions(…)"
            )
        if correlation <= certain:
            raise ValueError(
                f"the {what} have nothing to do with the results (correlation "
                f"{correlation:.3f} over {self._count:,} positions): is each result that of "
                "its position's game, from the side that result_pov says?"
            )


def fit_scale(
    scores: Numbers, labels: Numbers, weights: Numbers, kind: LossKind = "squared"
) -> Fit:
    """Return the scale of positions that are all at hand; see `ScoreHistogram`."""
    histogram = ScoreHistogram()
    histogram.add(scores, labels, weights)
    return histogram.fit(kind)


def golden_section(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one minimum between two ends has it; an end, if it is
    least there."""
    a, b = low, high
    c, d = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    at_c, at_d = function(c), function(d)
    while b - a > _NARROW * max(1.0, abs(a)):
        if at_c <= at_d:
            b, d, at_d = d, c, at_c
            c = b - _GOLDEN * (b - a)
            at_c = function(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + _GOLDEN * (b - a)
            at_d = function(d)
    middle = (a + b) / 2
    return min((middle, low, high), key=function)


def k_of(scale: float) -> float:
    """Return Österlund's K of a scale in centipawns, or the scale of a K."""
    return 400 / (scale * math.log(10))


def _edge(scale: float, what: str) -> str:
    if LOWEST * 1.01 < scale < HIGHEST / 1.01:
        return ""
    end = f"the least, {LOWEST:g}" if scale < 100 else f"the largest, {HIGHEST:g}"
    return (
        f"the win-rate scale of the {what} is at an end of what it may be ({end} centipawns): "
        "the scores hardly fit the results; check their unit, or give the scale"
    )
