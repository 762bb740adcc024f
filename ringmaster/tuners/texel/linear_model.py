"""Scores that are linear in the parameters: losses, derivatives, minima and playable values.

A model gives the scores q(θ) and their derivatives ∂q/∂θ over blocks of labelled positions:
differences of an engine's scores (`gauss_newton`), or counts of features (`features`).  The loss
stays exact; its second derivatives are Gauss-Newton's.

The minimum of the penalised loss within the bounds comes from Gauss-Newton steps, each the
minimum of a quadratic by SciPy's `lsq_linear` (bounded variables least squares; Stark & Parker,
1995), unless a class overrides `minimum`.  The least point among whole numbers is a heuristic on
the quadratic around a minimum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.tuners.space import Flags, Space
from ringmaster.tuners.texel.loss import MOST_GROUPS, Array, Loss, Numbers, Sum, mean, sums_by_group
from ringmaster.tuners.texel.optimiser import PARTS, Split, Theta
from ringmaster.tuners.texel.ridge import Penalty
from ringmaster.tuners.texel.uncertainty import SINGULAR, meat_of, unpenalised_optimum

#: Most Gauss-Newton iterations; each reads all positions of training once.
_ITERATIONS = 12
#: An iteration with a smaller expected decrease of the loss is the last.
_PROMISE = 1e-12
#: Weaker strengths in a row with a larger validation error that end a path.
_WORSE = 3
#: Mean square of the rounding error in the difference of two whole scores.
_ROUNDED = 1 / 6

Result = TypeVar("Result")


class Rows(NamedTuple):
    """Positions that count, (m,) each.

    scores  at θ
    slopes  returns ∂q/∂θ by the k parameters that move, (m, k)
    """

    scores: Numbers
    slopes: Callable[[], npt.NDArray[Any]]
    target: Numbers
    weight: Numbers
    games: npt.NDArray[np.uint32]


class Quadratic(NamedTuple):
    """The mean loss of training around θ: value, slope (n,), Gauss-Newton curvature (n, n).

    meat  Σ sᵧsᵧᵀ of the slopes' sums by game, (n, n); only if requested
    """

    value: float
    slope: Array
    curvature: Array
    meat: Array
    weight: float

    @property
    def estimate(self) -> tuple[Array, Array]:
        """The step to the least loss without a penalty, with standard errors, (n,) each."""
        return unpenalised_optimum(self.curvature, self.slope, self.meat, self.weight)


class Minimum(NamedTuple):
    """The minimum for one penalty.

    theta              not rounded, (n,)
    train, validation  errors by the model, without the penalty
    """

    penalty: Penalty
    theta: Array
    train: float
    validation: float | None


class LinearModel(ABC):
    """A linear model of the scores over labelled positions.

    places     of the k parameters that move among the n
    low, high  bounds of θ, (n,) each; the same for parameters that do not move
    """

    space: Space
    loss: Loss
    places: npt.NDArray[np.intp]
    low: Array
    high: Array

    @abstractmethod
    def map_rows(
        self, theta: Sequence[float] | Array, part: Split, function: Callable[[Rows], Result]
    ) -> Iterator[Result]:
        """Yield the results of a function over the blocks of a part, in order."""

    def errors(self, theta: Sequence[float] | Array) -> tuple[float, float | None]:
        """Return the mean losses over training and validation, None without positions."""

        def loss(rows: Rows) -> Sum:
            return self.loss.total(rows.scores, rows.target, rows.weight)

        train, validation = (mean(self.map_rows(theta, part, loss)) for part in PARTS)
        return math.nan if train is None else train, validation

    def quadratic(self, theta: Array, *, by_game: bool = False) -> Quadratic:
        """Return the mean loss of training around θ, with its second derivatives.

        by_game  whether to add the covariance of the slopes
        """
        k, n = len(self.places), len(self.space)

        def sums_of(rows: Rows) -> list[Any]:
            wide, slopes = rows.weight.astype(np.float64), rows.slopes()
            value = float(wide @ self.loss.values(rows.scores, rows.target))
            pull = wide * self.loss.slope(rows.scores, rows.target)
            bent = np.sqrt(wide * self.loss.curvature(rows.scores)).astype(slopes.dtype)
            scaled = slopes * bent[:, np.newaxis]
            sums = [float(wide.sum()), value, pull @ slopes, scaled.T @ scaled]
            if by_game:
                sums.append(sums_by_group(slopes * pull[:, np.newaxis], rows.games))
            return sums

        sums: list[Any] = [0.0, 0.0, np.zeros(k), np.zeros((k, k))]
        sums += [np.zeros((MOST_GROUPS, k))] if by_game else []
        for each in self.map_rows(theta, "train", sums_of):
            sums = [a + b for a, b in zip(sums, each, strict=True)]
        weight, value, by_place, by_places, *groups = sums
        slope, curvature, meat = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
        block, total = np.ix_(self.places, self.places), weight or 1.0
        slope[self.places], curvature[block] = by_place / total, by_places / total
        for group in groups:
            meat[block] = meat_of(group)
        return Quadratic(value / total, slope, curvature, meat, weight)

    def path(
        self, strengths: Sequence[float], at: Array, *, damping: float = 0.0, whole: bool = False
    ) -> list[Minimum]:
        """Return the minima for some strengths of the ridge, the strongest first.

        Each search begins at the last minimum, the first one at θ.

        damping  Levenberg's: adds this multiple of the curvature at θ along each parameter
        whole    whether the path continues if the validation error rises for some strengths
        """
        points: list[Minimum] = []
        stiff = damping * np.diag(self.quadratic(at).curvature) if damping else 0.0
        begin = at
        for strength in sorted(strengths, reverse=True):
            penalty = Penalty(self.space, strength, stiff, begin)
            at = self.minimum(penalty, at)
            points.append(Minimum(penalty, at, *self.errors(at)))
            held = [p.validation for p in points if p.validation is not None]
            is_worse = len(held) > _WORSE and min(held[-_WORSE:]) > min(held[:-_WORSE])
            if is_worse and not whole:
                break
        return points

    def minimum(self, penalty: Penalty, at: Array) -> Array:
        """Return the θ of the least penalised loss within the bounds."""
        best, least, scale = at, math.inf, self.space.scale
        for _ in range(_ITERATIONS):
            value, slope, A, *_ = self.quadratic(at)
            value += penalty(at)
            if value > least + 1e-15:
                at = (at + best) / 2
                continue
            best, least = at, value
            A, slope = A + np.diag(penalty.curvature), slope + penalty.slope(at)
            # lengths in ranges: units of parameters do not affect singularity
            ends = (self.low - at) / scale, (self.high - at) / scale
            step = scale * step_in_box(A * np.outer(scale, scale), slope * scale, *ends)
            if -(slope @ step) - step @ A @ step / 2 <= _PROMISE:
                break
            at = np.clip(at + step, self.low, self.high)
        return best

    def playable(self, point: Minimum, quadratic: Quadratic) -> Theta:
        """Return playable values near a minimum: within the bounds, integers whole.

        They come from the quadratic at the minimum or from plain rounding, whichever has the
        smaller penalised loss.
        """
        space, penalty, theta = self.space, point.penalty, point.theta
        plain = space.played(theta)
        if not space.some_integer:
            return plain
        A = quadratic.curvature + np.diag(penalty.curvature)
        b = quadratic.slope + penalty.slope(theta) - A @ theta
        careful = whole_in_box(A, b, self.low, self.high, space.integer, theta)
        return min(
            (space.played(careful), plain), key=lambda each: self.errors(each)[0] + penalty(each)
        )


def best_of(points: Sequence[Minimum], errors: Sequence[float] | None = None) -> Minimum:
    """Return the minimum of least error, by default of validation; of equal ones the strongest."""
    if errors is None:
        errors = [p.train if p.validation is None else p.validation for p in points]
    return min(
        zip(errors, points, strict=True), key=lambda each: (each[0], -each[1].penalty.strength)
    )[1]


def step_in_box(A: Array, b: Array, low: Array, high: Array) -> Array:
    """Return the shortest x of the least ½·xᵀAx + bᵀx for low ≤ x ≤ high, (k,).

    A  symmetric, without negative eigenvalues
    """
    from scipy.optimize import lsq_linear

    values, vectors = np.linalg.eigh(A)
    kept = values > SINGULAR * max(values.max(initial=0.0), 1e-300)
    x, moves = np.zeros(len(b)), low < high
    if kept.any() and moves.any():
        root = np.sqrt(values[kept])
        M, y = (vectors[:, kept] * root).T, -(b @ vectors[:, kept]) / root
        ends = low[moves], high[moves]
        x[moves] = lsq_linear(M[:, moves], y, ends, method="bvls", tol=1e-14).x
    return x


def whole_in_box(A: Array, b: Array, low: Array, high: Array, whole: Flags, at: Array) -> Array:
    """Return a point of the box near the minimum, with whole numbers where `whole` is true.

    These are rounded, then one or two are moved by 1, the best move first, as long as this helps;
    the others adapt.  SciPy has no solver of quadratics in integers.

    at  the minimum, (k,)
    The bounds of whole variables must be whole.
    """
    x, count = np.clip(np.where(whole, np.rint(at), at), low, high), len(at)
    # moves: each variable up, then each down
    sign = np.repeat([1.0, -1.0], count)
    variable = np.tile(np.arange(count), 2)
    stiff = sign[:, np.newaxis] * sign * A[np.ix_(variable, variable)]
    # two moves of one variable are none
    same = variable[:, np.newaxis] == variable
    for _ in range(10 * count + 10):
        slope = (A @ x + b)[variable] * sign
        alone = -slope - np.diag(stiff) / 2
        alone[~whole[variable]] = -np.inf
        moved = x[variable] + sign
        alone[(moved > high[variable] + 1e-9) | (moved < low[variable] - 1e-9)] = -np.inf
        gains = alone[:, np.newaxis] + alone - stiff
        gains[same] = -np.inf
        np.fill_diagonal(gains, alone)
        i, j = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if gains[i, j] <= 1e-12 * (abs(x @ A @ x / 2 + b @ x) + 1e-12):
            break
        for move in {int(i), int(j)}:
            x[variable[move]] += sign[move]
    ends = np.where(whole, x, low) - x, np.where(whole, x, high) - x
    return x + step_in_box(A, A @ x + b, *ends)


class Agreement(msgspec.Struct, frozen=True):
    """Agreement of predicted with real changes of scores, centipawns.

    correlation  NaN if one of them does not vary
    slope        real change for a predicted change of 1, by least squares
    largest      largest difference
    spread       standard deviation of the predictions
    unsigned     correlation of absolute values
    unexplained  share of the real mean square change that is not predicted, beyond the rounding
                 of scores to whole centipawns
    count        positions
    """

    correlation: float = math.nan
    slope: float = math.nan
    largest: float = math.nan
    spread: float = 0.0
    unsigned: float = math.nan
    unexplained: float = 0.0
    count: int = 0

    @classmethod
    def of(cls, predicted: Numbers, real: Numbers) -> Agreement:
        """Compare predictions with real values, (n,) each, ignoring NaN."""
        known = ~(np.isnan(predicted) | np.isnan(real))
        x, y = predicted[known].astype(np.float64), real[known].astype(np.float64)
        if not len(x):
            return cls()
        spread = float(x.std())
        off, change = float(np.square(y - x).mean()), float(np.square(y).mean())
        return cls(
            _correlation(x, y),
            float(np.cov(x, y, bias=True)[0, 1]) / spread**2 if spread else math.nan,
            float(np.abs(y - x).max()),
            spread,
            _correlation(np.abs(x), np.abs(y)),
            max(off - _ROUNDED, 0.0) / change if change else 0.0,
            len(x),
        )


def _correlation(x: Array, y: Array) -> float:
    spread = float(x.std() * y.std())
    if not spread > 0:
        return math.nan
    return float(((x - x.mean()) * (y - y.mean())).mean()) / spread
