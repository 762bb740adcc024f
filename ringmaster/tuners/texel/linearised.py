"""A linear model of an engine's scores by differences, and quadratics within bounds.

Scores at θ are approximated by q₀ + Σ (θᵢ − θ₀ᵢ)·∂q/∂θᵢ; the derivatives are differences of
kept passes.  A difference changes one parameter of the base, far enough to move the scores well
above their rounding.  The difference of two scores that are rounded to one centipawn has a noise
of 0.4 centipawns; a movement of eight is known to 5 %.  Larger differences suffer from
nonlinearity.

The loss stays exact.  Its least point is found by Gauss-Newton (Newton for the
cross entropy) with a bounded quadratic at each iteration.  One reading of the positions serves
one iteration for all strengths of the ridge; no more than a block is in memory.

The bounded quadratic is solved by an active-set method (Stark & Parker, "Bounded-variable least-
squares", 1995), exact up to rounding; SciPy's `lsq_linear` takes five times as long for 150
variables. For a singular matrix the step has the smallest norm, so variables without influence
stay. The least point among whole numbers is a heuristic: variables are rounded one at a time while
the others adapt, then moved by 1, alone or in pairs, as long as this helps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.loss import Array, Loss
from ringmaster.tuners.texel.optimiser import Data, Split, Theta, ridge_distance, ridge_scale
from ringmaster.tuners.texel.uncertainty import SINGULAR, ClusterSums, Estimate, unpenalised_optimum

Flags = npt.NDArray[np.bool_]
#: Slopes below this share of the largest possible slope count as 0.
_LEVEL = 1e-12


def least_in_box(A: Array, b: Array, low: Array, high: Array, at: Array | None = None) -> Array:
    """Return the minimum of ½·xᵀAx + bᵀx for low ≤ x ≤ high.

    A             (k, k), symmetric, without negative eigenvalues
    b, low, high  (k,)
    at            starting point, clipped into the box; 0 by default
    """
    count = len(b)
    x = np.clip(np.zeros(count) if at is None else at, low, high)
    fixed = low >= high
    # a variable on a bound is free at first if the slope leads inward
    slope = A @ x + b
    free = ~fixed & ~((x <= low) & (slope >= 0)) & ~((x >= high) & (slope <= 0))
    size = np.abs(A).sum(axis=1) * np.maximum(np.abs(high - low).min(initial=1.0), 1.0)
    level = _LEVEL * (np.abs(b) + size)
    # each round lowers the value, so no set of free variables repeats; rounding needs a limit
    for _ in range(20 * count + 20):
        x, free = _descended(A, b, low, high, x, free)
        slope = A @ x + b
        inward = np.where(x <= low, -slope, np.where(x >= high, slope, 0.0)) - level
        inward[free | fixed] = 0.0
        if not count or inward.max() <= 0:
            return x
        free[int(np.argmax(inward))] = True
    return x


def _descended(
    A: Array, b: Array, low: Array, high: Array, x: Array, free: Flags
) -> tuple[Array, Flags]:
    """Return the least point over the free variables; variables that reach a bound become fixed."""
    x, free = x.copy(), free.copy()
    while free.any():
        slope = (A @ x + b)[free]
        step = -_solved(A[np.ix_(free, free)], slope)
        target = x[free] + step
        room = np.where(step > 0, high[free], low[free])
        over = np.where(step > 0, target > room, target < room)
        if not over.any():
            x[free] = target
            break
        share = np.where(over, (room - x[free]) / np.where(over, step, 1.0), np.inf)
        first = share.min()
        moved = x[free] + max(first, 0.0) * step
        stopped = share <= first
        moved[stopped] = room[stopped]
        x[free] = np.clip(moved, low[free], high[free])
        free[np.flatnonzero(free)[stopped]] = False
    return x, free


def _solved(A: Array, b: Array) -> Array:
    """Return A⁻¹·b, the shortest least-squares solution if A is singular."""
    try:
        pivots = np.square(np.diag(np.linalg.cholesky(A)))
        if pivots.min() > SINGULAR * pivots.max():
            return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.pinv(A, SINGULAR, hermitian=True) @ b)


def value_of(A: Array, b: Array, x: Array) -> float:
    """Return ½·xᵀAx + bᵀx."""
    return float(x @ A @ x / 2 + b @ x)


def whole_in_box(
    A: Array, b: Array, low: Array, high: Array, offset: Array, whole: Flags, at: Array
) -> Array:
    """Return a point of the box near the minimum, with offset + x whole where `whole` is true.

    at  the minimum, (k,)
    The bounds of whole variables plus offset must be whole.
    """
    rounded = np.where(whole, _rounded(at, offset, low, high), at)
    if not whole.any():
        return np.clip(at, low, high)
    starts = [rounded, _one_by_one(A, b, low, high, offset, whole, at)]
    ends = [_stepped(A, b, low, high, whole, start) for start in starts]
    return min(ends, key=lambda x: value_of(A, b, x))


def _rounded(x: Array, offset: Array, low: Array, high: Array) -> Array:
    return np.clip(np.rint(x + offset) - offset, low, high)


def _one_by_one(
    A: Array, b: Array, low: Array, high: Array, offset: Array, whole: Flags, at: Array
) -> Array:
    """Round the stiffest variables first; the others adapt."""
    low, high, x = low.copy(), high.copy(), at
    for i in np.argsort(-np.diag(A), kind="stable"):
        if whole[i]:
            low[i] = high[i] = _rounded(x, offset, low, high)[i]
            x = x.copy()
            x[i] = low[i]
            x = least_in_box(A, b, low, high, x)
    return x


def _stepped(A: Array, b: Array, low: Array, high: Array, whole: Flags, x: Array) -> Array:
    """Move one or two whole variables by 1, the best move first, as long as this helps."""
    x, count = x.copy(), len(x)
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
        if gains[i, j] <= 1e-12 * (abs(value_of(A, b, x)) + 1e-12):
            break
        for move in {int(i), int(j)}:
            x[variable[move]] += sign[move]
    return x


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


#: Most iterations; each reads all positions of training once.
_ITERATIONS = 12
#: Iterations that update the curvature (k² sums a position); later steps are small.
_CURVED = 3
#: An iteration with a smaller expected decrease of the loss is the last.
_PROMISE = 1e-10
#: Most halvings of a step that raises the loss.
_HALVINGS = 6
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


class _Sums(NamedTuple):
    """Means over training at S points: (S,), (S, k), (S, k, k)."""

    loss: Array
    slope: Array
    curvature: Array | None


class Fitted(msgspec.Struct, frozen=True, eq=False):
    """The minimum of the penalised loss for one strength.

    theta      values of all parameters, (n,), not rounded
    rounded    values that can be played
    loss       mean over training at theta, without the penalty
    """

    strength: float
    theta: Array
    rounded: Theta
    loss: float


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

    def losses(self, points: Sequence[Theta | Array], part: Split) -> list[float]:
        """Return the predicted mean losses of some values, (n,) each, without the penalty."""
        steps = (np.array(points) - self.theta)[:, self.places]
        sums, total = np.zeros(len(points)), 0.0
        for rows in self._rows(part):
            total += float(rows.weight.sum())
            for s, step in enumerate(steps):
                values = self._loss.values(rows.scores + step @ rows.slopes, rows.target)
                sums[s] += rows.weight @ values
        return [float(each) / total if total else float("nan") for each in sums]

    def fit(self, strengths: Sequence[float], damping: float = 0.0) -> list[Fitted]:
        """Return the minimum of the penalised loss within the bounds, for each strength.

        damping  Levenberg's: adds this multiple of the curvature at the base along each parameter
        """
        tasks = [_Descent(self, strength, damping) for strength in strengths]
        for iteration in range(_ITERATIONS):
            going = [task for task in tasks if task.going]
            if not going:
                break
            # the first iteration is at the base for all strengths
            distinct = {task.trial.tobytes(): task.trial for task in going}
            sums = self._sums(np.array(list(distinct.values())), iteration < _CURVED)
            places = {key: i for i, key in enumerate(distinct)}
            for task in going:
                i = places[task.trial.tobytes()]
                curvature = None if sums.curvature is None else sums.curvature[i]
                task.record(float(sums.loss[i]), sums.slope[i], curvature)
        return [task.outcome() for task in tasks]

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

    def _sums(self, steps: Array, curved: bool) -> _Sums:
        count, k = len(steps), len(self.columns)
        loss, slope = np.zeros(count), np.zeros((count, k))
        curvature = np.zeros((count, k, k)) if curved else None
        total = 0.0
        for rows in self._rows("train"):
            total += float(rows.weight.sum())
            for s, step in enumerate(steps):
                scores = rows.scores + step @ rows.slopes
                loss[s] += rows.weight @ self._loss.values(scores, rows.target)
                slope[s] += rows.slopes @ (rows.weight * self._loss.slope(scores, rows.target))
                if curvature is not None:
                    bent = rows.weight * self._loss.curvature(scores)
                    curvature[s] += (rows.slopes * bent) @ rows.slopes.T
        total = total or 1.0
        return _Sums(loss / total, slope / total, None if curvature is None else curvature / total)

    def box(self) -> tuple[Array, Array]:
        """Return the ends of steps within the bounds, (k,) each."""
        low, high = self.space.whole_bounds
        return (low - self.theta)[self.places], (high - self.theta)[self.places]


class _Descent:
    """The descent for one strength: steps from the base in units of the parameters, (k,)."""

    def __init__(self, model: LinearModel, strength: float, damping: float) -> None:
        self._model, self._strength, self._damping = model, strength, damping
        places = model.places
        self._scale = ridge_scale(model.space)[places]
        self._off = ridge_distance(model.space, model.theta)[places]
        self._stiff = np.zeros(len(places))
        self._taken = np.zeros(len(places))
        self._value, self._loss = np.inf, np.inf
        self._curvature = np.zeros((len(places),) * 2)
        self._A, self._b = self._curvature, np.zeros(len(places))
        self._halved = 0
        self.trial = np.zeros(len(places))
        self.going = True

    def _extra(self, step: Array) -> float:
        ridge = self._strength * np.square(self._off + step / self._scale).sum()
        return float(ridge + self._damping * (self._stiff * step * step).sum() / 2)

    def record(self, loss: float, slope: Array, curvature: Array | None) -> None:
        """Record the loss at the trial step and choose the next trial.

        Without a curvature the previous one is used.
        """
        if curvature is None:
            curvature = self._curvature
        if not np.isfinite(self._value):
            self._stiff = np.diag(curvature).copy()
        value = loss + self._extra(self.trial)
        if value > self._value + 1e-15:
            self._halved += 1
            self.trial = (self.trial + self._taken) / 2
            self.going = self._halved < _HALVINGS
            return
        self._halved, self._curvature = 0, curvature
        self._taken, self._value, self._loss = self.trial, value, loss
        scale, off = self._scale, self._off
        # the quadratic around the point, in steps from the base
        A = curvature + np.diag(2 * self._strength / scale**2 + self._damping * self._stiff)
        gradient = slope + 2 * self._strength * (off + self.trial / scale) / scale
        gradient = gradient + self._damping * self._stiff * self.trial
        # lengths in ranges: units of parameters do not affect singularity
        self._A, self._b = A, gradient - A @ self.trial
        low, high = self._model.box()
        least = least_in_box(
            A * np.outer(scale, scale),
            self._b * scale,
            low / scale,
            high / scale,
            self.trial / scale,
        )
        trial = np.clip(least * scale, low, high)
        promise = value_of(A, self._b, self.trial) - value_of(A, self._b, trial)
        self.going = promise > _PROMISE
        if self.going:
            self.trial = trial

    def outcome(self) -> Fitted:
        model, step = self._model, self._taken
        places, space = model.places, model.space
        low, high = model.box()
        rounded = whole_in_box(
            self._A, self._b, low, high, model.theta[places], space.integer[places], step
        )
        theta, played = model.theta.copy(), model.theta.copy()
        theta[places] += step
        played[places] += rounded
        # sums leave rounding errors
        return Fitted(self._strength, space.clip(theta), space.played(played), self._loss)


def best_fit(fits: Sequence[Fitted], errors: Sequence[float]) -> int:
    """Return the place of the fit with the smallest error, of equal ones the strongest."""
    return min(range(len(fits)), key=lambda k: (errors[k], -fits[k].strength))
