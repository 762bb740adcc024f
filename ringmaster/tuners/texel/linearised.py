"""An engine as a linear function of its parameters, made of kept passes: what the error of
other values would be without asking the engine, and where it is least.

Scores at θ are taken for q₀ + Σ (θᵢ − θ₀ᵢ)·∂q/∂θᵢ, the derivatives being differences of two
passes by the distance between their values.  The loss stays what it is, so its least point is
found by Gauss-Newton (Newton for the cross entropy) with a bounded quadratic at each
iteration.  Positions come in blocks; one reading of them does an iteration for all strengths
of the ridge together, and nothing larger than a block is held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.bounded import least_in_box, value_of, whole_in_box
from ringmaster.tuners.texel.loss import Array, Loss
from ringmaster.tuners.texel.optimiser import Data
from ringmaster.tuners.texel.ridge import ridge_distance, ridge_scale
from ringmaster.tuners.texel.sandwich import ClusterSums, Estimate, estimate

#: Iterations at most; each reads all positions of training once.
_ITERATIONS = 12
#: So many of them find the curvature anew, k² sums a position; then hardly anything moves.
_CURVED = 3
#: An iteration that promises to lower the loss by less is the last.
_PROMISE = 1e-10
#: How often a step that raises the loss is halved.
_HALVINGS = 6
#: Mean square of what rounding does to the difference of two scores in whole centipawns.
_ROUNDED = 1 / 6


class Column(NamedTuple):
    """How the derivative of the scores by one parameter is found: (high − low) / distance.

    place      of the parameter
    high, low  numbers of passes
    distance   between their values, as they were played
    """

    place: int
    high: int
    low: int
    distance: float


class _Rows(NamedTuple):
    """A block: scores (n,), derivatives (k, n), the rest (n,); `others` (passes, n)."""

    scores: Array
    slopes: Array
    target: Array
    weight: Array
    game: npt.NDArray[np.uint32]
    others: Array


class _Sums(NamedTuple):
    """Means over training at some points, (S,), (S, k), (S, k, k)."""

    loss: Array
    slope: Array
    curvature: Array | None


class Fitted(msgspec.Struct, frozen=True, eq=False):
    """Where the penalised loss of the linear model is least for one strength.

    theta      all parameters, (n,), not rounded
    rounded    as it can be played
    loss       mean over training at theta, without the penalty
    reduction  of the penalised loss, from the base to `rounded`, by the quadratic about theta
    """

    strength: float
    theta: Array
    rounded: Array
    loss: float
    reduction: float


class Agreement(msgspec.Struct, frozen=True, eq=False):
    """How the linear model compares with a pass of the engine, and how sure its fit is there.

    correlation  of the predicted and the real changes of the scores since the base; None
                 where nothing changed
    unexplained  share of the real changes' mean square that is not as predicted, but for
                 what rounding to whole centipawns makes of it
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
    """An engine about a base.

    base     number of the pass
    theta    its values, (n,)
    columns  of the parameters that are moved, one each
    """

    def __init__(
        self, data: Data, space: Space, base: int, theta: Array, columns: Sequence[Column]
    ) -> None:
        self._data, self._space, self._base = data, space, base
        self._loss: Loss = data.loss
        self.theta, self.columns = theta, tuple(columns)
        self._places = np.array([c.place for c in columns], dtype=np.intp)
        self._distance = np.array([c.distance for c in columns])
        numbers = sorted({base, *(c.high for c in columns), *(c.low for c in columns)})
        self._passes = tuple(numbers)
        at = {number: i for i, number in enumerate(numbers)}
        self._high = np.array([at[c.high] for c in columns], dtype=np.intp)
        self._low = np.array([at[c.low] for c in columns], dtype=np.intp)
        self._at = at

    def _rows(
        self, part: Literal["train", "validation"], others: tuple[int, ...] = ()
    ) -> Iterator[_Rows]:
        missing = tuple(number for number in others if number not in self._at)
        wanted = self._passes + missing
        at = {number: i for i, number in enumerate(wanted)}
        for block in self._data.blocks(wanted, part):
            scores = block.scores.astype(np.float64)
            weight = block.weight.astype(np.float64)
            target = block.target.astype(np.float64)
            counts = (weight > 0) & ~np.isnan(scores).any(axis=0)
            game = block.game
            if not counts.all():
                scores, weight, target = scores[:, counts], weight[counts], target[counts]
                game = game[counts]
            slopes = (scores[self._high] - scores[self._low]) / self._distance[:, np.newaxis]
            rest = scores[[at[number] for number in others]]
            yield _Rows(scores[at[self._base]], slopes, target, weight, game, rest)

    def movement(self) -> Array:
        """Return by how many centipawns (root mean square) the scores differ between the two
        passes of each column, (k,)."""
        squares, total = np.zeros(len(self.columns)), 0.0
        for rows in self._rows("train"):
            squares += np.square(rows.slopes) @ rows.weight
            total += float(rows.weight.sum())
        return np.asarray(np.sqrt(squares / max(total, 1e-300)) * np.abs(self._distance))

    def losses(self, points: Sequence[Array], part: Literal["train", "validation"]) -> list[float]:
        """Return the mean losses that the model predicts for values, (n,) each, unpenalised."""
        steps = np.array([(point - self.theta)[self._places] for point in points])
        sums, total = np.zeros(len(points)), 0.0
        for rows in self._rows(part):
            total += float(rows.weight.sum())
            for s, step in enumerate(steps):
                values = self._loss.values(rows.scores + step @ rows.slopes, rows.target)
                sums[s] += rows.weight @ values
        return [float(each) / total if total else float("nan") for each in sums]

    def fit(self, strengths: Sequence[float], damping: float = 0.0) -> list[Fitted]:
        """Return where the penalised loss is least within the bounds, for each strength.

        damping  Levenberg's: a further penalty of this much times the curvature at the base
                 along each parameter, for going away from the base
        """
        tasks = [_Descent(self, strength, damping) for strength in strengths]
        for iteration in range(_ITERATIONS):
            going = [task for task in tasks if task.going]
            if not going:
                break
            # the first iteration is at the base for all
            distinct = {task.trial.tobytes(): task.trial for task in going}
            sums = self._sums(np.array(list(distinct.values())), iteration < _CURVED)
            places = {key: i for i, key in enumerate(distinct)}
            for task in going:
                i = places[task.trial.tobytes()]
                curvature = None if sums.curvature is None else sums.curvature[i]
                task.take(float(sums.loss[i]), sums.slope[i], curvature)
        return [task.outcome() for task in tasks]

    def compare(self, number: int, theta: Array) -> Agreement:
        """Return how a pass of the engine at θ agrees with the model."""
        k = len(self.columns)
        step = (theta - self.theta)[self._places]
        clusters, curvature, moments = ClusterSums(k), np.zeros((k, k)), np.zeros(6)
        slopes = np.zeros(k)
        for rows in self._rows("train", (number,)):
            scores, w = rows.others[0], rows.weight
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
            estimate(curvature, slopes / total, meat, total),
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
        """Return the ends of the steps that the bounds leave, (k,) each."""
        low, high = whole_bounds(self._space)
        return (low - self.theta)[self._places], (high - self.theta)[self._places]


class _Descent:
    """The descent for one strength: steps from the base, in parameters' own units, (k,)."""

    def __init__(self, model: LinearModel, strength: float, damping: float) -> None:
        self._model, self._strength, self._damping = model, strength, damping
        places = model._places
        self._scale = ridge_scale(model._space)[places]
        self._off = ridge_distance(model._space, model.theta)[places]
        self._stiff = np.zeros(len(places))
        self._taken = np.zeros(len(places))
        self._value, self._loss = np.inf, np.inf
        self._first = 0.0
        self._curvature = np.zeros((len(places),) * 2)
        self._A, self._b = self._curvature, np.zeros(len(places))
        self._halved = 0
        self.trial = np.zeros(len(places))
        self.going = True

    def _extra(self, step: Array) -> float:
        ridge = self._strength * np.square(self._off + step / self._scale).sum()
        return float(ridge + self._damping * (self._stiff * step * step).sum() / 2)

    def take(self, loss: float, slope: Array, curvature: Array | None) -> None:
        """Learn the loss at the trial step with its derivatives, and find the next trial; the
        last curvature is used where there is none."""
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
        if not np.isfinite(self._value):
            self._first = value
        self._halved, self._curvature = 0, curvature
        self._taken, self._value, self._loss = self.trial, value, loss
        scale, off = self._scale, self._off
        # the quadratic about the point, in steps from the base
        A = curvature + np.diag(2 * self._strength / scale**2 + self._damping * self._stiff)
        gradient = slope + 2 * self._strength * (off + self.trial / scale) / scale
        gradient = gradient + self._damping * self._stiff * self.trial
        # lengths in ranges, so that units do not matter to what counts as singular
        self._A, self._b = A, gradient - A @ self.trial
        low, high = self._model.box()
        found = least_in_box(
            A * np.outer(scale, scale),
            self._b * scale,
            low / scale,
            high / scale,
            self.trial / scale,
        )
        trial = np.clip(found * scale, low, high)
        promise = value_of(A, self._b, self.trial) - value_of(A, self._b, trial)
        self.going = promise > _PROMISE
        if self.going:
            self.trial = trial

    def outcome(self) -> Fitted:
        model = self._model
        places, space = model._places, model._space
        step = self._taken
        low, high = model.box()
        rounded = whole_in_box(
            self._A, self._b, low, high, model.theta[places], space.integer[places], step
        )
        theta, played = model.theta.copy(), model.theta.copy()
        theta[places] += step
        played[places] += rounded
        # adding and taking away leaves crumbs
        played[places] = np.where(space.integer[places], np.rint(played[places]), played[places])
        rise = value_of(self._A, self._b, rounded) - value_of(self._A, self._b, step)
        return Fitted(
            self._strength,
            space.clip(theta),
            space.clip(played),
            self._loss,
            self._first - self._value - rise,
        )


def whole_bounds(space: Space) -> tuple[Array, Array]:
    """Return the least and the largest values that can be played, (n,) each: whole where
    the parameter is."""
    return (
        np.where(space.integer, np.ceil(space.minimum), space.minimum),
        np.where(space.integer, np.floor(space.maximum), space.maximum),
    )
