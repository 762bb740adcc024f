"""Gauss-Newton by finite differences, the default method.

One pass for each parameter, with one value changed, gives the derivatives of all scores.  They make
the engine a linear function, whose best values within the bounds are computed for each strength of
the ridge.  The strength with the best values on the positions of validation is used.  Its values
are rounded to playable ones, and one pass of the engine checks them.  If the error does not fall,
the step is damped (Levenberg, "A method for the solution of certain non-linear problems in least
squares", 1944); if damping fails, new derivatives come from smaller differences.  If the error
falls, the next step uses the real scores and the same derivatives, at the cost of one pass, until
the error no longer falls.  Then new derivatives are taken.  The tune ends when a linearisation
brought less than a fiftieth of the total gain, or when the scores changed as predicted, so new
derivatives would be the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Unpack

import numpy as np

from ringmaster.errors import counted
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.linear_model import (
    Agreement,
    LinearModel,
    Minimum,
    Result,
    Rows,
    best_of,
)
from ringmaster.tuners.texel.loss import Array
from ringmaster.tuners.texel.optimiser import (
    LEAST_DECREASE,
    WORST,
    Arguments,
    Data,
    Optimiser,
    Point,
    Request,
    Split,
    Theta,
    finite,
)
from ringmaster.tuners.texel.ridge import Penalty, RidgePath, strengths_of
from ringmaster.tuners.texel.searching import tuned_blocks
from ringmaster.tuners.texel.uncertainty import collinear

#: Wanted root mean square movement of the scores, centipawns, and the least acceptable one.  The
#: difference of two whole scores has a noise of 0.4: a movement of 8 is known to 5 %.
WANTED_MOVEMENT, WEAK_MOVEMENT = 8.0, 2.0
#: First distances as shares of the range and of the start value; limits as shares of the range.
_RANGE_SHARE, _START_SHARE, _LEAST_SHARE, _MOST_SHARE = 1 / 16, 1 / 4, 1 / 100, 1 / 2
#: Smallest difference of a fractional parameter as a share of its range.
_UNIT_SHARE = 1e-4
#: Limit of accepted steps.
MOST_STEPS = 20
#: Levenberg's damping, by the number of refused steps.
_DAMPING = (0.0, 1.0, 8.0, 64.0)
#: Most halvings of the differences at one base.
MOST_HALVINGS = 2
#: Least share of the total gain that a linearisation must bring, and a refused step must promise.
_WORTHWHILE = 0.02
#: Share of the changes of the scores below which the model is exact enough.
_STRAIGHT = 0.02


class DifferenceModel(LinearModel):
    """A linear model of an engine around a base.

    Scores at θ are approximated by q₀ + Σ (θᵢ − θ₀ᵢ)·∂q/∂θᵢ; the derivatives are differences of
    kept passes.  No more than a block of positions is in memory.

    sides   parameters that move, each with a pass in which it differs from the origin
    origin  pass from which the derivatives were taken
    """

    def __init__(
        self,
        data: Data,
        space: Space,
        base: Point,
        sides: Sequence[tuple[int, Point]],
        origin: Point,
    ) -> None:
        self._data, self.space, self._base = data, space, base
        self.loss = data.loss
        self.theta, self.places = np.array(base.theta), np.array([i for i, _ in sides], np.intp)
        self._passes = [base.number, origin.number, *(point.number for _, point in sides)]
        low, high = space.whole_bounds
        moves = np.isin(np.arange(len(space)), self.places)
        self.low, self.high = np.where(moves, low, self.theta), np.where(moves, high, self.theta)
        self._distance = np.array([point.theta[i] - origin.theta[i] for i, point in sides])

    def map_rows(
        self, theta: Sequence[float] | Array, part: Split, function: Callable[[Rows], Result]
    ) -> Iterator[Result]:
        step = (np.asarray(theta) - self.theta)[self.places]
        for block in self._data.blocks(self._passes, part):
            counts = (block.weight > 0) & ~np.isnan(block.scores).any(axis=0)
            base, origin, *sides = block.scores[:, counts].astype(np.float64)
            slopes = (np.stack(sides) - origin) / self._distance[:, np.newaxis]
            labels = (block.target[counts], block.weight[counts], block.game[counts])
            yield function(Rows(base + step @ slopes, partial(np.transpose, slopes), *labels))

    def movement(self) -> Array:
        """Return the root mean square difference of scores of each column, (k,), centipawns."""
        squares, weight = np.zeros(len(self.places)), 0.0
        for rows in self.map_rows(self.theta, "train", lambda rows: rows):
            squares += rows.weight @ np.square(rows.slopes())
            weight += float(rows.weight.sum())
        return np.asarray(np.sqrt(squares / max(weight, 1e-300)) * np.abs(self._distance))

    def agreement(self, point: Point) -> Agreement:
        """Compare a pass with the model, over training."""
        slopes = (np.array(point.theta) - self.theta)[self.places] / self._distance
        predicted, real = [np.empty(0)], [np.empty(0)]
        for block in self._data.blocks([point.number, *self._passes], "train"):
            rows = block.scores[:, block.weight > 0].astype(np.float64)
            scores, base, origin, *sides = rows
            predicted.append(slopes @ (np.stack(sides) - origin))
            real.append(scores - base)
        return Agreement.of(np.concatenate(predicted), np.concatenate(real))


class GaussNewton(Optimiser):
    """Gauss-Newton by finite differences.

    ridge        strengths to try at each step, None in it for the usual path; None: no ridge.
                 The best strength has the smallest predicted validation error; without validation,
                 the smallest training error plus its expected optimism (Takeuchi, 1976)
    groups       names of groups of parameters, tuned one after another in rounds; parameters
                 without a group come last; None: all together

    Other arguments: see `Optimiser`.  A parameter's own `step` is the distance of its differences;
    other distances are adapted.  The scores of pass 0 stay kept.
    """

    #: Present values, and base of the derivatives.
    _base: Point
    _origin: Point
    #: Passes whose scores are kept, in order.
    _points: list[Point]
    #: Parameters with the values of their differences.
    _sides: list[tuple[int, Theta]]
    #: Halvings of the distances that move the scores as wanted.
    _shrunk: int = 0
    _widened: bool = False
    _group: int = 0
    _idle: int = 0
    #: Whether the scores of the base are as predicted.
    _straight: bool = False
    _strength: float = 0.0
    #: Values of a step that is awaited, the latest step as predicted, and values of all steps.
    _trial: Theta | None = None
    _foreseen: Point
    _tried: list[Theta]
    _refused: int = 0
    _steps: int = 0

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        ridge: Sequence[float | None] | None = None,
        groups: Sequence[str] | None = None,
        **common: Unpack[Arguments],
    ) -> None:
        super().__init__(parameters, **common)
        self._strengths = strengths_of(ridge)
        self._groups = tuned_blocks(parameters, groups)
        self._most_steps = MOST_STEPS
        self._whole_path = True
        self._base = self._origin = self._foreseen = Point(0, self._start, WORST)
        self._points, self._sides, self._tried = [], [], []
        self.distances = [self._first_distance(i) for i in range(len(parameters))]

    def _learn(self, request: Request, point: Point, data: Data) -> None:
        self._points = sorted([*self._points, point], key=lambda point: point.number)
        if point.number == 0:
            self._base = self._best = point
            self._record(point, "start", True, {})
            self._linearise()
        elif self._trial is not None:
            self._judge(point, data)

    def _obsolete(self) -> list[int]:
        needed = {0, self._best.number, self._base.number}
        if not self._over:
            sides = {theta for _, theta in self._sides}
            needed |= {point.number for point in self._points if point.theta in sides}
            needed.add(self._origin.number)
        numbers = {point.number for point in self._points}
        self._points = [point for point in self._points if point.number in needed]
        return sorted(numbers - needed)

    def _at_hand(self, theta: Theta) -> Point | None:
        return next((point for point in self._points if point.theta == theta), None)

    def _missing(self, sides: Sequence[tuple[int, Theta]]) -> list[Request]:
        """Return the passes of differences that are not at hand."""
        return [Request(theta) for _, theta in sides if self._at_hand(theta) is None]

    # differences

    def _linearise(self) -> None:
        """Start the passes for the derivatives at the base."""
        places = [i for i in self._groups[self._group] if i not in self._silent]
        self._origin, self._widened = self._base, False
        self._refused, self._straight = 0, False
        self._sides = [(i, side) for i in places if (side := self._side(i)) is not None]
        self._wanted = self._missing(self._sides)
        cost = len(self._wanted) + 1
        if not self._allowed(cost):
            self._finish(
                f"another linearisation needs {counted(cost, 'pass')}; "
                f"the limit is {self.most_passes:g}"
            )
        elif not self._sides:
            self._settle()

    def _first_distance(self, i: int) -> float:
        start, width = abs(self.parameters[i].start), float(self.space.width[i])
        distance = min(width * _RANGE_SHARE, start * _START_SHARE or width)
        return self._within(i, max(distance, width * _LEAST_SHARE))

    def _within(self, i: int, distance: float) -> float:
        """Return a distance within the limits of a parameter; its own `step` never changes."""
        width, step = float(self.space.width[i]), self.parameters[i].step
        unit = 1.0 if self.space.integer[i] else width * _UNIT_SHARE
        return step or max(min(distance, width * _MOST_SHARE), unit)

    def _side(self, i: int) -> Theta | None:
        """Return the base with a parameter changed to the side with room, None without room."""
        distance = self._within(i, self.distances[i] * 0.5**self._shrunk)
        base, value = self._base.theta, self._base.theta[i]
        low, high = (float(ends[i]) for ends in self.space.whole_bounds)
        above, below = high - value, value - low
        if self.space.integer[i]:
            distance = max(round(distance), 1)
        is_up = above >= distance or above >= below
        move = min(distance, above) if is_up else -min(distance, below)
        if move == 0:
            return None
        return (*base[:i], min(max(value + move, low), high), *base[i + 1 :])

    def _scored_sides(self) -> list[tuple[int, Point]]:
        """Return the parameters with the passes of their differences."""
        points = [(place, self._at_hand(theta)) for place, theta in self._sides]
        return [(place, point) for place, point in points if point is not None]

    def _advance(self, data: Data) -> None:
        """Continue with complete derivatives."""
        sides, movement = self._scored_sides(), []
        if sides:
            movement = self._differences_about(data, self._base).movement().tolist()
        if self._widen([place for place, _ in sides], movement):
            return
        for (place, point), moved in zip(sides, movement, strict=True):
            if moved == 0:
                self._silent.append(place)
                code = self.parameters[place].code
                self._notes.append(f"no score depends on {code}: it keeps its value")
            else:
                factor = min(max(WANTED_MOVEMENT / moved, 0.25), 4.0 * 2**self._shrunk)
                distance = abs(point.theta[place] - self._origin.theta[place])
                self.distances[place] = self._within(place, distance * factor)
        self._sides = [side for side in self._sides if side[0] not in self._silent]
        if self._sides:
            self._propose(data)
        else:
            self._settle()

    def _widen(self, places: Sequence[int], movement: Sequence[float]) -> bool:
        """Repeat weak differences with larger distances; return whether there are any."""
        if self._widened:
            return False
        self._widened = True
        wider, played = {}, {theta for _, theta in self._sides}
        for i, moved in zip(places, movement, strict=True):
            factor = WANTED_MOVEMENT / moved if moved else math.inf
            larger = self._within(i, self.distances[i] * factor)
            if moved >= WEAK_MOVEMENT or larger <= self.distances[i]:
                continue
            self.distances[i] = larger
            side = self._side(i)
            # the bounds may leave no larger distance
            if side is not None and side not in played:
                wider[i] = side
        missing = self._missing(list(wider.items()))
        if not wider or not self._allowed(len(missing) + 1):
            return False
        self._sides = [side for side in self._sides if side[0] not in wider] + list(wider.items())
        self._wanted = missing
        codes = ", ".join(self.parameters[i].code for i in wider)
        self._notes.append(f"scores hardly move: larger differences of {codes}")
        return True

    def _differences_about(self, data: Data, about: Point) -> DifferenceModel:
        return DifferenceModel(data, self.space, about, self._scored_sides(), self._origin)

    def _model(self, data: Data, about: Point) -> LinearModel:
        """Return the linear model around a point, with the present derivatives."""
        return self._differences_about(data, about)

    def _agreement(self, data: Data, point: Point) -> Agreement:
        """Compare a point with the linear model around the origin."""
        return self._differences_about(data, self._origin).agreement(point)

    # steps

    def _propose(self, data: Data) -> None:
        model, at = self._model(data, self._base), np.array(self._base.theta)
        if self._refused == 0:
            whole = self._whole_path
            point = self._choose(model, model.path(self._strengths, at, whole=whole))
        else:
            damping = _DAMPING[self._refused]
            (point,) = model.path([self._strength], at, damping=damping)
        trial = model.playable(point, model.quadratic(point.theta))
        foreseen = Point(-1, trial, *model.errors(trial))
        promise = self._penalised(self._base) - self._penalised(foreseen)
        if promise <= LEAST_DECREASE or trial in self._tried:
            self._exhausted(data)
            return
        known = self._at_hand(trial)
        if known is None and not self._allowed(1):
            self._finish(f"the passes allowed are used: {self._number}")
            return
        self._trial, self._foreseen = trial, foreseen
        if known is None:
            self._wanted = [Request(trial)]
        else:
            self._judge(known, data)

    def _choose(self, model: LinearModel, points: list[Minimum]) -> Minimum:
        """Return the best point of the path, which is kept for the report."""
        errors = None
        if self._base.validation is None and len(points) > 1:
            errors = self._expected(model, points)
        point = best_of(points, errors)
        self._strength = point.penalty.strength
        rows = []
        for p in reversed(points):
            farthest = float((np.abs(p.theta - self.space.start) / self.space.scale).max())
            rows.append((p.penalty.strength, p.train, p.validation, farthest))
        if len(rows) > 1:
            title = "Ridge path, as predicted for the last step"
            if len(self._groups) > 1:
                codes = ", ".join(self.parameters[i].code for i in self._groups[self._group])
                title += f" of {codes}"
            self._paths[self._group] = RidgePath(title, rows, self._strength)
        return point

    def _expected(self, model: LinearModel, points: list[Minimum]) -> list[float]:
        """Return expected errors on new positions by Takeuchi's criterion.

        They are the training errors plus tr(A⁻¹·B), B the covariance of the slopes.
        """
        about = model.quadratic(np.array(self._base.theta), by_game=True)
        B, expected = about.meat / about.weight**2, []
        for p in points:
            A = about.curvature + np.diag(p.penalty.curvature)
            expected.append(p.train + float(np.trace(np.linalg.pinv(A, hermitian=True) @ B)))
        return expected

    def _penalised(self, point: Point) -> float:
        return point.train + Penalty(self.space, self._strength)(point.theta)

    def _judge(self, point: Point, data: Data) -> None:
        self._tried.append(point.theta)
        self._trial = None
        taken = self._penalised(point) < self._penalised(self._base) - LEAST_DECREASE
        extra = {"ridge": self._strength, "foreseen": self._foreseen.train}
        if self._refused:
            extra["damping"] = _DAMPING[self._refused]
        label = f"step {self._steps + 1}, ridge {self._strength:g}"
        if not taken:
            self._record(point, label, taken, extra)
            self._notes.append(
                f"{label} is refused: the training error with the ridge is "
                f"{self._penalised(point):.7f}, not below {self._penalised(self._base):.7f}"
            )
            self._refused += 1
            if self._refused < len(_DAMPING) and self._promised_much():
                self._propose(data)
            else:
                self._exhausted(data)
            return
        self._estimate_at(point, data)
        agreement = self._agreement(data, point)
        self._straight = agreement.unexplained <= _STRAIGHT
        text = f"{label}: training error {point.train:.7f} (predicted {self._foreseen.train:.7f})"
        if point.validation is not None and self._foreseen.validation is not None:
            held = f"{point.validation:.7f} (predicted {self._foreseen.validation:.7f})"
            text += f", validation error {held}"
        if math.isfinite(agreement.correlation):
            extra["correlation"] = agreement.correlation
            correlation = f"{agreement.correlation:.4f}"
            text += f"; predicted and real changes of scores correlate by {correlation}"
        self._record(point, label, taken, extra)
        self._notes.append(text)
        self._steps, self._idle, self._refused, self._base = self._steps + 1, 0, 0, point
        self._rate(point)
        if self.patience is not None and self._stale >= self.patience:
            stale = counted(self._stale, "step")
            self._finish(f"the validation error has not improved for {stale}")
        elif self._steps >= self._most_steps:
            self._finish(f"the steps allowed are taken: {self._steps}")
        else:
            self._propose(data)

    def _rate(self, point: Point) -> None:
        if point.validation is None or self._best.validation is None:
            self._best = point
            return
        improved = self._best.validation - point.validation
        self._stale = 0 if improved > LEAST_DECREASE else self._stale + 1
        if improved > 0:
            self._best = point

    def _exhausted(self, data: Data) -> None:
        """Take new derivatives after the present ones bring no further gain, or settle."""
        if self._base.number == self._origin.number:
            if self._refused and self._shrunk < MOST_HALVINGS and self._promised_much():
                self._shrunk += 1
                self._notes.append("new derivatives from smaller differences")
                self._linearise()
                return
            self._estimate_at(self._base, data)
        elif not self._straight and self._gained(self._origin) > _WORTHWHILE * self._gained():
            self._notes.append("these derivatives bring no further gain: new ones are taken")
            self._linearise()
            return
        self._settle()

    def _gained(self, since: Point | None = None) -> float:
        """Return the decrease of the penalised error since a point, by default the start."""
        return self._penalised(since or self._points[0]) - self._penalised(self._base)

    def _promised_much(self) -> bool:
        """Return whether the last refused step promised a worthwhile gain."""
        promise = self._penalised(self._base) - self._penalised(self._foreseen)
        return promise > max(_WORTHWHILE * self._gained(), 10 * LEAST_DECREASE)

    def _settle(self) -> None:
        self._idle += 1
        if self._idle >= len(self._groups):
            why = "no step makes the error smaller"
            if len(self._silent) == len(self.parameters):
                why = "the scores depend on no parameter"
            self._finish(why)
            return
        self._group = (self._group + 1) % len(self._groups)
        self._linearise()

    def _finish(self, why: str) -> None:
        self._sides, self._wanted = [], []
        self._stop(why)
        self._notes.append(f"ends: {why}")

    def _estimate_at(self, point: Point, data: Data) -> None:
        """Update the standard errors, by the real scores of a point."""
        model = self._model(data, point)
        quadratic = model.quadratic(np.array(point.theta), by_game=True)
        step, deviation = (each.tolist() for each in quadratic.estimate)
        places = model.places.tolist()
        for i in places:
            self._estimate[i] = point.theta[i] + step[i]
            self._deviation[i] = finite(deviation[i])
        self._alike = {i: other for i, other in self._alike.items() if i not in places}
        self._alike |= collinear(quadratic.curvature)
