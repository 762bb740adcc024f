"""A linear model of an engine's scores by differences, and quadratics within bounds.

Scores at θ are approximated by q₀ + Σ (θᵢ − θ₀ᵢ)·∂q/∂θᵢ; the derivatives are differences of
kept passes.  A difference changes one parameter of the base, far enough to move the scores well
above their rounding.  The difference of two scores that are rounded to one centipawn has a noise
of 0.4 centipawns; a movement of eight is known to 5 %.  Larger differences suffer from
nonlinearity.

The loss stays exact.  No more than a block of positions is in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.fitting import Fitter
from ringmaster.tuners.texel.loss import Array, Loss
from ringmaster.tuners.texel.optimiser import Data, Penalty, Split, Theta
from ringmaster.tuners.texel.uncertainty import SINGULAR, ClusterSums, Estimate, unpenalised_optimum

#: Wanted root mean square movement of the scores, centipawns, and the least acceptable one.
WANTED_MOVEMENT, WEAK_MOVEMENT = 8.0, 2.0
#: First distances as shares of the range and of the start value; limits as shares of the range.
_RANGE_SHARE, _START_SHARE, _LEAST_SHARE, _MOST_SHARE = 1 / 16, 1 / 4, 1 / 100, 1 / 2
#: Smallest difference of a fractional parameter as a share of its range.
_UNIT_SHARE = 1e-4


class Side(msgspec.Struct):
    """One side of a difference: a pass with one value changed."""

    place: int
    theta: Theta
    number: int | None = None
    told: bool = False


class Differences:
    """The differences of some parameters; a parameter's own `step` never changes."""

    def __init__(self, parameters: Sequence[TunedParameter], space: Space) -> None:
        self._parameters, self._space = parameters, space
        self._low, self._high = space.whole_bounds
        self._unit = np.where(space.integer, 1.0, space.width * _UNIT_SHARE)

    def first(self, i: int) -> float:
        """Return the first distance of a parameter, in its own units."""
        parameter, width = self._parameters[i], float(self._space.width[i])
        if parameter.step is not None:
            return parameter.step
        start_share = abs(parameter.start) * _START_SHARE or width
        share = max(min(width * _RANGE_SHARE, start_share), width * _LEAST_SHARE)
        return max(share, float(self._unit[i]))

    def side(self, base: Theta, i: int, distance: float) -> Side | None:
        """Return a pass with parameter i changed: up, down if there is more room.

        None without any room.
        """
        value, low, high = base[i], float(self._low[i]), float(self._high[i])
        above, below = high - value, value - low
        if self._space.integer[i]:
            distance = max(round(distance), 1)
        is_up = above >= distance or above >= below
        move = min(distance, above) if is_up else -min(distance, below)
        if move == 0:
            return None
        return Side(i, (*base[:i], min(max(value + move, low), high), *base[i + 1 :]))

    def adapted(self, i: int, distance: float, moved: float, wanted: float) -> float:
        """Return the distance for the wanted movement, from the last distance's movement."""
        if self._parameters[i].step is not None:
            return distance
        factor = min(max(wanted / moved, 0.25), 4.0)
        return self._within(i, distance * factor)

    def wider(self, i: int, distance: float, moved: float, wanted: float) -> float | None:
        """Return a larger distance if the last hardly moved the scores, else None."""
        if moved >= WEAK_MOVEMENT or self._parameters[i].step is not None:
            return None
        most = self._within(i, float("inf"))
        larger = self._within(i, distance * wanted / moved) if moved else most
        return larger if larger > distance else None

    def halved(self, i: int, distance: float) -> float | None:
        """Return half a distance, None if there is no smaller one."""
        if self._parameters[i].step is not None or distance <= self._unit[i]:
            return None
        return self._within(i, distance / 2)

    def _within(self, i: int, distance: float) -> float:
        most = float(self._space.width[i]) * _MOST_SHARE
        return max(min(distance, most), float(self._unit[i]))


#: Mean square of the rounding error in the difference of two whole scores.
_ROUNDED = 1 / 6


class Column(NamedTuple):
    """A derivative of the scores by one parameter: a pass minus the origin, by the distance.

    place     of the parameter
    number    of the pass
    distance  difference of the values as played
    """

    place: int
    number: int
    distance: float


def columns_of(sides: Sequence[Side], origin: Theta) -> list[Column]:
    """Return the derivatives from complete passes around an origin."""
    return [
        Column(side.place, side.number, side.theta[side.place] - origin[side.place])
        for side in sides
        if side.number is not None
    ]


class _Rows(NamedTuple):
    """A block: derivatives are (k, n), the rest (n,)."""

    scores: Array
    slopes: Array
    target: Array
    weight: Array
    game: npt.NDArray[np.uint32]
    other: Array


class Agreement(msgspec.Struct, frozen=True, eq=False):
    """Agreement of the linear model with a pass of the engine.

    correlation  of predicted and real changes of the scores; None without changes
    unexplained  share of the real mean square change that is not predicted, beyond the rounding
                 of scores to whole centipawns
    curvature    mean ∂²loss/∂θ² by the columns' parameters, (k, k)
    meat         covariance of the mean slopes, clustered by game, (k, k)
    estimate     of the parameters without a ridge, as steps from the pass's values
    """

    correlation: float | None
    unexplained: float
    curvature: Array
    meat: Array
    estimate: Estimate


class LinearModel:
    """A linear model of an engine around a base.

    base     number of the pass
    theta    its values, (n,)
    columns  one for each parameter that moves
    origin   pass from which the derivatives were taken
    """

    def __init__(
        self,
        data: Data,
        space: Space,
        base: int,
        theta: Theta,
        columns: Sequence[Column],
        origin: int,
    ) -> None:
        self._data, self.space, self._base, self._origin = data, space, base, origin
        self._loss: Loss = data.loss
        self.theta, self.columns = np.array(theta), tuple(columns)
        self.places = np.array([c.place for c in columns], dtype=np.intp)
        low, high = space.whole_bounds
        moves = np.isin(np.arange(len(space)), self.places)
        self._ends = np.where(moves, low, self.theta), np.where(moves, high, self.theta)
        self._distance = np.array([c.distance for c in columns])

    def _rows(self, part: Split, other: int | None = None) -> Iterator[_Rows]:
        """Yield the positions that count, with the scores of the base unless of another pass."""
        fixed = [self._base, self._origin, self._base if other is None else other]
        passes = sorted({*fixed, *(column.number for column in self.columns)})
        at = {number: i for i, number in enumerate(passes)}
        high = [at[column.number] for column in self.columns]
        base, low, rest = (at[number] for number in fixed)
        for block in self._data.blocks(passes, part):
            counts = (block.weight > 0) & ~np.isnan(block.scores).any(axis=0)
            scores = block.scores[:, counts].astype(np.float64)
            yield _Rows(
                scores[base],
                (scores[high] - scores[low]) / self._distance[:, np.newaxis],
                block.target[counts].astype(np.float64),
                block.weight[counts].astype(np.float64),
                block.game[counts],
                scores[rest],
            )

    def movement(self) -> Array:
        """Return the root mean square difference of scores of each column, (k,), centipawns."""
        squares, total = np.zeros(len(self.columns)), 0.0
        for rows in self._rows("train"):
            squares += np.square(rows.slopes) @ rows.weight
            total += float(rows.weight.sum())
        return np.asarray(np.sqrt(squares / max(total, 1e-300)) * np.abs(self._distance))

    def fitter(self) -> NewtonFitter:
        """Return a fitter of the parameters that move; the others keep their values."""
        return NewtonFitter(self, self.space, *self._ends)

    def errors(self, theta: Theta | Array) -> tuple[float, float | None]:
        """Return the predicted mean losses over training and validation, None without positions."""

        def loss(rows: _Rows, scores: Array) -> Array:
            return np.array([rows.weight @ self._loss.values(scores, rows.target)])

        train, weight = self._sums(theta, "train", loss)
        held, held_weight = self._sums(theta, "validation", loss)
        validation = float(held[0]) / held_weight if held_weight else None
        return float(train[0]) / (weight or math.nan), validation

    def quadratic(self, theta: Array) -> tuple[float, Array, Array]:
        """Return the mean loss of training, its slope (n,), and Gauss-Newton curvature (n, n)."""

        def parts(rows: _Rows, scores: Array) -> Array:
            value = rows.weight @ self._loss.values(scores, rows.target)
            slope = rows.slopes @ (rows.weight * self._loss.slope(scores, rows.target))
            bent = rows.slopes * (rows.weight * self._loss.curvature(scores))
            return np.concatenate([[value], slope, (bent @ rows.slopes.T).ravel()])

        k, n = len(self.places), len(self.theta)
        sums, weight = self._sums(theta, "train", parts)
        value, means = np.split(sums / (weight or 1.0), [1])
        slope, curvature = np.zeros(n), np.zeros((n, n))
        slope[self.places] = means[:k]
        curvature[np.ix_(self.places, self.places)] = means[k:].reshape(k, k)
        return float(value[0]), slope, curvature

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the first two of `quadratic`."""
        return self.quadratic(theta)[:2]

    def diagonal(self, theta: Array) -> Array:
        """Return the diagonal of the curvature, (n,)."""
        diagonal: Array = np.diag(self.quadratic(theta)[2])
        return diagonal

    def _sums(
        self, theta: Theta | Array, part: Split, sums_of: Callable[[_Rows, Array], Array]
    ) -> tuple[Array, float]:
        """Return sums over a part, and its weight.

        sums_of  returns a block's weighted sums, from the block and its predicted scores
        """
        step = (np.asarray(theta) - self.theta)[self.places]
        sums, weight = np.zeros(1), 0.0
        for rows in self._rows(part):
            weight += float(rows.weight.sum())
            sums = sums + sums_of(rows, rows.scores + step @ rows.slopes)
        return sums, weight

    def compare(self, number: int, theta: Theta | Array) -> Agreement:
        """Compare a pass of the engine at θ with the model."""
        k = len(self.columns)
        step = (np.asarray(theta) - self.theta)[self.places]
        clusters, curvature, moments = ClusterSums(k), np.zeros((k, k)), np.zeros(6)
        slopes = np.zeros(k)
        for rows in self._rows("train", number):
            scores, w = rows.other, rows.weight
            slope = self._loss.slope(scores, rows.target)
            each = rows.slopes * (w * slope)
            slopes += each.sum(axis=1)
            clusters.add(each.T, rows.game)
            bent = w * self._loss.curvature(scores)
            curvature += (rows.slopes * bent) @ rows.slopes.T
            x, y = step @ rows.slopes, scores - rows.scores
            moments += [w.sum(), w @ x, w @ y, w @ (x * x), w @ (y * y), w @ (x * y)]
        total, sx, sy, sxx, syy, sxy = (float(each) for each in moments)
        total = total or 1.0
        spread = (sxx - sx * sx / total) * (syy - sy * sy / total)
        correlation = (sxy - sx * sy / total) / math.sqrt(spread) if spread > 0 else None
        curvature, meat = curvature / total, clusters.meat()
        off = max(sxx + syy - 2 * sxy - _ROUNDED * total, 0.0)
        return Agreement(
            correlation,
            off / syy if syy > 0 else 0.0,
            curvature,
            meat / total**2,
            unpenalised_optimum(curvature, slopes / total, meat, total),
        )


#: Most iterations; each reads all positions of training once.
_ITERATIONS = 12
#: An iteration with a smaller expected decrease of the loss is the last.
_PROMISE = 1e-12


class NewtonFitter(Fitter, frozen=True):
    """Fits by Gauss-Newton, which reads the positions less often than L-BFGS-B."""

    model: LinearModel

    def _minimum(self, penalty: Penalty, at: Array) -> tuple[Array, float]:
        best, least, scale = at, math.inf, self.space.scale
        readings = 0
        while readings < _ITERATIONS:
            readings += 1
            value, slope, A = self.model.quadratic(at)
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
        return best, float(readings)


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
