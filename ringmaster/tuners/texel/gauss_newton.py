"""Gauss-Newton by finite differences, the default method.

One pass for each parameter, with one value changed, gives the derivatives of all scores.  They
make the engine a linear function (`linearised`), whose best values within the bounds are
computed for each strength of the ridge.  The strength with the best values on the positions of
validation is used.  Its values are rounded to playable ones, and one pass of the engine checks
them.  If the error does not fall, the step is damped (Levenberg, "A method for the solution of
certain non-linear problems in least squares", 1944); if damping fails, new derivatives come
from smaller differences.  If the error falls, the next step uses the real scores and the same
derivatives, at the cost of one pass, until the error no longer falls.  Then new derivatives are
taken.  The tune ends when a linearisation brought less than a fiftieth of the total gain, or
when the scores changed as predicted, so new derivatives would be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from ringmaster.errors import counted
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.fitting import Minimum, best_of
from ringmaster.tuners.texel.linearised import (
    WANTED_MOVEMENT,
    Agreement,
    Column,
    Differences,
    LinearModel,
    Side,
    columns_of,
)
from ringmaster.tuners.texel.optimiser import (
    LEAST_DECREASE,
    WORST,
    Data,
    Errors,
    ModelOptimiser,
    ModelState,
    Pass,
    Penalty,
    RidgePath,
    Step,
    TellResult,
    Theta,
    collinear,
    finite,
    infinite,
    strengths_of,
)
from ringmaster.tuners.texel.searching import tuned_blocks

#: Levenberg's damping, by the number of refused steps.
_DAMPING = (0.0, 1.0, 8.0, 64.0)
#: Most halvings of the differences at one base.
_SHRINKINGS = 2
#: Least share of the total gain that a linearisation must bring, and a refused step must promise.
_WORTHWHILE = 0.02
#: Share of the changes of the scores below which the model is exact enough.
_STRAIGHT = 0.02


class Point(msgspec.Struct, frozen=True):
    """A pass with its errors."""

    number: int
    theta: Theta
    train: float
    validation: float | None = None

    @classmethod
    def of(cls, number: int, theta: Theta, errors: Errors) -> Point:
        """Return a point; errors that are not finite become WORST."""
        held = errors.validation
        held = None if held is None else infinite(finite(held))
        return cls(number, theta, infinite(finite(errors.train)), held)


class State(ModelState):
    """The state of the method.

    first      start values; base: present values; origin: base of the derivatives; best: result
    kept       passes of the last linearisation whose scores are kept
    wanted     wanted movement of the scores, centipawns
    distances  next differences, (n,)
    movement   of the last differences, centipawns, None if unknown
    straight   whether the scores of the base are as predicted
    foreseen   predicted errors of the trial
    """

    first: Point
    base: Point
    origin: Point
    best: Point
    distances: list[float]
    movement: list[float | None]
    phase: Literal["start", "columns", "trial", "done"] = "start"
    kept: list[Point] = msgspec.field(default_factory=list)
    sides: list[Side] = msgspec.field(default_factory=list)
    widened: bool = False
    group: int = 0
    idle: int = 0
    wanted: float = WANTED_MOVEMENT
    shrunk: int = 0
    straight: bool = False
    strength: float = 0.0
    refused: int = 0
    refused_theta: Theta | None = None
    trial: Theta | None = None
    trial_number: int | None = None
    foreseen: tuple[float, float | None] = (0.0, None)
    tried: list[Theta] = msgspec.field(default_factory=list)
    stale: int = 0
    steps: int = 0


class GaussNewton(ModelOptimiser):
    """Gauss-Newton by finite differences.

    parameters   tuned parameters
    ridge        strengths to try at each step, None in it for the usual path; None: no ridge.
                 The best strength has the smallest predicted validation error; without validation,
                 the smallest training error plus its expected optimism (Takeuchi, 1976)
    groups       names of groups of parameters, tuned one after another in rounds; parameters
                 without a group come last; None: all together
    patience     steps in a row without a better validation error that end the tune, None: no limit
    most_passes  limit of passes, None: no limit
    most_steps   limit of steps

    A parameter's own `step` is the distance of its differences; other distances are adapted.  The
    intervals refer to the optimum without the ridge, and are widened to include the values used.
    The scores of pass 0 stay kept.
    """

    _state: State

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        ridge: Sequence[float | None] | None = None,
        groups: Sequence[str] | None = None,
        patience: int | None = 2,
        most_passes: float | None = None,
        most_steps: int = 20,
    ) -> None:
        self.parameters = tuple(parameters)
        self.space = Space.of(parameters)
        self._strengths = strengths_of(ridge)
        self._groups = tuned_blocks(parameters, groups)
        self._differences = Differences(parameters, self.space)
        self._patience, self._most_steps = patience, most_steps
        self._most_passes = most_passes
        #: Lines for the history since the last pass.
        self._notes: list[str] = []
        n = len(parameters)
        start = Point(0, self.space.played(self.space.start), WORST)
        self._state = State(
            first=start,
            base=start,
            origin=start,
            best=start,
            distances=[self._differences.first(i) for i in range(n)],
            movement=[None] * n,
            estimate=[p.start for p in parameters],
            deviation=[None] * n,
        )

    def ask(self) -> Pass | None:
        s = self._state
        if s.phase == "start" and s.number == 0:
            s.number = 1
            return Pass(0, s.first.theta, "all", keep=True)
        if s.phase == "columns":
            for side in s.sides:
                if side.number is None:
                    side.number = s.number
                    s.number += 1
                    return Pass(side.number, side.theta, "all", keep=True)
        if s.phase == "trial" and s.trial_number is None:
            assert s.trial is not None
            s.trial_number = s.number
            s.number += 1
            return Pass(s.trial_number, s.trial, "all", keep=True)
        return None

    def finished(self) -> bool:
        return self._state.phase == "done"

    def tell(self, number: int, errors: Errors, data: Data) -> TellResult:
        s = self._state
        self._notes = []
        kept = {point.number for point in s.kept}
        if s.phase == "start":
            s.first = s.base = s.best = Point.of(0, s.first.theta, errors)
            s.kept = [s.first]
            self._record(s.first, "start", True, {})
            self._linearise()
        elif s.phase == "columns":
            for side in s.sides:
                if side.number == number:
                    side.told = True
                    s.kept.append(Point.of(number, side.theta, errors))
        else:
            assert s.trial is not None
            point = Point.of(number, s.trial, errors)
            s.kept.append(point)
            self._judge(point, data)
        # passes at hand are not asked for, so one result may complete several stages
        while s.phase == "columns" and all(side.told for side in s.sides):
            self._solve(data)
        self._tidy()
        forget = (kept | {number}) - {point.number for point in s.kept}
        return TellResult(tuple(self._notes), tuple(sorted(forget)))

    def _tidy(self) -> None:
        """Drop scores that are no longer needed."""
        s = self._state
        needed = {0, s.best.number, s.base.number}
        if s.phase in ("columns", "trial"):
            needed |= {side.number for side in s.sides if side.number is not None}
            needed.add(s.origin.number)
        s.kept = sorted(
            (point for point in s.kept if point.number in needed), key=lambda point: point.number
        )

    def _at_hand(self, theta: Theta) -> Point | None:
        return next((point for point in self._state.kept if point.theta == theta), None)

    # differences

    def _linearise(self) -> None:
        """Start the passes for the derivatives at the base."""
        s = self._state
        places = [i for i in self._groups[s.group] if i not in s.silent]
        s.origin, s.widened = s.base, False
        s.refused, s.straight, s.phase = 0, False, "columns"
        s.sides = [side for i in places if (side := self._side(i)) is not None]
        cost = sum(side.number is None for side in s.sides) + 1
        if not self._affordable(cost):
            self._finish(
                f"another linearisation needs {counted(cost, 'pass')}; "
                f"the limit is {self._most_passes:g}",
            )
        elif not s.sides:
            self._settle()

    def _affordable(self, passes: int) -> bool:
        return self._most_passes is None or self._state.number + passes <= self._most_passes

    def _side(self, i: int) -> Side | None:
        s = self._state
        side = self._differences.side(s.base.theta, i, s.distances[i])
        known = None if side is None else self._at_hand(side.theta)
        if side is not None and known is not None:
            side.number, side.told = known.number, True
        return side

    def _columns(self) -> list[Column]:
        return columns_of(self._state.sides, self._state.origin.theta)

    def _solve(self, data: Data) -> None:
        """Continue with complete derivatives."""
        s = self._state
        columns = self._columns()
        if columns:
            movement = self._model(data, columns).movement().tolist()
            for column, moved in zip(columns, movement, strict=True):
                s.movement[column.place] = moved
        if self._widen(columns):
            return
        for column in columns:
            moved = s.movement[column.place] or 0.0
            if moved == 0:
                s.silent.append(column.place)
                code = self.parameters[column.place].code
                self._notes.append(f"no score depends on {code}: it keeps its value")
            else:
                s.distances[column.place] = self._differences.adapted(
                    column.place, abs(column.distance), moved, s.wanted
                )
        s.sides = [side for side in s.sides if side.place not in s.silent]
        if s.sides:
            self._propose(data)
        else:
            self._settle()

    def _widen(self, columns: list[Column]) -> bool:
        """Repeat differences that hardly moved the scores with larger distances.

        Return whether there are any.
        """
        s = self._state
        if s.widened:
            return False
        s.widened = True
        wider, new = [], []
        played = {side.theta for side in s.sides}
        for column in columns:
            i, moved = column.place, s.movement[column.place] or 0.0
            larger = self._differences.wider(i, s.distances[i], moved, s.wanted)
            if larger is None:
                continue
            s.distances[i] = larger
            side = self._side(i)
            # the bounds may leave no larger distance
            if side is not None and side.theta not in played:
                wider.append(i)
                new.append(side)
        if not wider or not self._affordable(sum(side.number is None for side in new) + 1):
            return False
        s.sides = [side for side in s.sides if side.place not in wider]
        s.sides += new
        codes = ", ".join(self.parameters[i].code for i in wider)
        self._notes.append(f"scores hardly move: larger differences of {codes}")
        return True

    def _model(self, data: Data, columns: Sequence[Column], at_origin: bool = False) -> LinearModel:
        """Return the linear model around the base, or around the origin of its derivatives."""
        s = self._state
        about = s.origin if at_origin else s.base
        return LinearModel(data, self.space, about.number, about.theta, columns, s.origin.number)

    # steps

    def _propose(self, data: Data) -> None:
        """Compute the best step by the linear model, and start its pass."""
        s = self._state
        model = self._model(data, self._columns())
        fitter = model.fitter()
        if s.refused == 0:
            point = self._choose(model, fitter.path(self._strengths, model.theta, whole=True))
        else:
            damping = _DAMPING[s.refused]
            (point,) = fitter.path([s.strength], model.theta, damping=damping)
        trial = fitter.playable(point, model.quadratic(point.theta)[2])
        train, held = model.errors(trial)
        promise = self._penalised(s.base) - train - self._penalty(trial)
        if promise <= LEAST_DECREASE or trial in s.tried:
            self._exhausted(data)
            return
        known = self._at_hand(trial)
        if known is None and not self._affordable(1):
            self._finish(f"the passes allowed are used: {s.number}")
            return
        s.trial, s.trial_number, s.foreseen, s.phase = trial, None, (train, held), "trial"
        if known is not None:
            self._judge(known, data)

    def _choose(self, model: LinearModel, points: list[Minimum]) -> Minimum:
        """Return the best point of the path, which is kept for the report."""
        s = self._state
        errors = None
        if s.base.validation is None and len(points) > 1:
            errors = self._expected(model, points)
        point = best_of(points, errors)
        s.strength = point.strength
        rows = []
        for p in sorted(points, key=lambda p: p.strength):
            farthest = float((np.abs(p.theta - self.space.start) / self.space.scale).max())
            rows.append((p.strength, p.train, p.validation, f"{farthest:.1%} of range"))
        if len(rows) > 1:
            title = "Ridge path, as predicted for the last step"
            if len(self._groups) > 1:
                codes = ", ".join(self.parameters[i].code for i in self._groups[s.group])
                title += f" of {codes}"
            s.paths[s.group] = RidgePath(title, "farthest from start", rows, s.strength)
        return point

    def _expected(self, model: LinearModel, points: list[Minimum]) -> list[float]:
        """Return expected errors on new positions by Takeuchi's criterion.

        They are the training errors plus tr(A⁻¹·B), B the covariance of the slopes.
        """
        about = model.compare(self._state.base.number, model.theta)
        expected = []
        for p in points:
            A = about.curvature + np.diag(p.penalty.curvature[model.places])
            optimism = np.trace(np.linalg.pinv(A, hermitian=True) @ about.meat)
            expected.append(p.train + float(optimism))
        return expected

    def _penalty(self, theta: Theta) -> float:
        return Penalty(self.space, self._state.strength)(theta)

    def _penalised(self, point: Point) -> float:
        return point.train + self._penalty(point.theta)

    def _judge(self, point: Point, data: Data) -> None:
        """Accept or refuse a trial step."""
        s = self._state
        s.tried.append(point.theta)
        s.trial = None
        taken = self._penalised(point) < self._penalised(s.base) - LEAST_DECREASE
        agreement = self._compare(point, data) if taken else None
        extra = {"ridge": s.strength, "foreseen": s.foreseen[0]}
        if s.refused:
            extra["damping"] = _DAMPING[s.refused]
        if agreement is not None:
            s.straight = agreement.unexplained <= _STRAIGHT
            if agreement.correlation is not None:
                extra["correlation"] = agreement.correlation
        label = f"step {s.steps + 1}, ridge {s.strength:g}"
        self._record(point, label, taken, extra)
        if not taken:
            self._notes.append(
                f"{label} is refused: the training error with the ridge is "
                f"{self._penalised(point):.7f}, not below {self._penalised(s.base):.7f}"
            )
            s.refused, s.refused_theta = s.refused + 1, point.theta
            if s.refused < len(_DAMPING) and self._promised_much():
                self._propose(data)
            else:
                self._exhausted(data)
            return
        self._notes.append(self._step_note(label, point, agreement))
        s.steps, s.idle, s.refused, s.base = s.steps + 1, 0, 0, point
        self._rate(point)
        if self._patience is not None and s.stale >= self._patience:
            self._finish(f"the validation error has not improved for {counted(s.stale, 'step')}")
        elif s.steps >= self._most_steps:
            self._finish(f"the steps allowed are taken: {s.steps}")
        else:
            self._propose(data)

    def _rate(self, point: Point) -> None:
        """Compare a new base with the best values."""
        s = self._state
        if point.validation is None or s.best.validation is None:
            s.best = point
            return
        improved = s.best.validation - point.validation
        s.stale = 0 if improved > LEAST_DECREASE else s.stale + 1
        if improved > 0:
            s.best = point

    def _exhausted(self, data: Data) -> None:
        """Take new derivatives after the present ones bring no further gain, or settle."""
        s = self._state
        if s.base.number == s.origin.number:
            again = s.refused and s.shrunk < _SHRINKINGS and self._promised_much()
            if again and self._shrink():
                s.shrunk += 1
                self._notes.append("new derivatives from smaller differences")
                self._linearise()
                return
            self._compare(s.base, data)
        elif not s.straight and self._gained(s.origin) > _WORTHWHILE * self._gained(s.first):
            self._notes.append("these derivatives bring no further gain: new ones are taken")
            self._linearise()
            return
        self._settle()

    def _gained(self, since: Point) -> float:
        return self._penalised(since) - self._penalised(self._state.base)

    def _promised_much(self) -> bool:
        """Return whether the last refused step promised a worthwhile gain."""
        s = self._state
        assert s.refused_theta is not None
        promise = self._penalised(s.base) - s.foreseen[0] - self._penalty(s.refused_theta)
        return promise > max(_WORTHWHILE * self._gained(s.first), 10 * LEAST_DECREASE)

    def _shrink(self) -> bool:
        """Halve the differences; return whether any could be halved."""
        s = self._state
        some = False
        s.wanted /= 2
        for i in self._groups[s.group]:
            halved = self._differences.halved(i, s.distances[i])
            if halved is not None:
                s.distances[i], some = halved, True
        return some

    def _settle(self) -> None:
        """Continue with the next group, or end."""
        s = self._state
        s.idle += 1
        if s.idle >= len(self._groups):
            why = "no step makes the error smaller"
            if len(s.silent) == len(self.parameters):
                why = "the scores depend on no parameter"
            self._finish(why)
            return
        s.group = (s.group + 1) % len(self._groups)
        self._linearise()

    def _finish(self, why: str) -> None:
        s = self._state
        s.phase, s.sides = "done", []
        self._notes.append(f"ends: {why}")

    def _compare(self, point: Point, data: Data) -> Agreement:
        """Compare a point with the linear model, and update the standard errors."""
        s = self._state
        columns = self._columns()
        model = self._model(data, columns, at_origin=True)
        agreement = model.compare(point.number, point.theta)
        places = model.places.tolist()
        each = zip(places, *(a.tolist() for a in agreement.estimate), strict=True)
        for i, step, deviation in each:
            s.estimate[i] = point.theta[i] + step
            s.deviation[i] = finite(deviation)
        s.alike = {i: other for i, other in s.alike.items() if i not in places}
        s.alike |= {places[a]: places[b] for a, b in collinear(agreement.curvature).items()}
        return agreement

    def _record(self, point: Point, label: str, taken: bool, extra: dict[str, float]) -> None:
        s = self._state
        s.course.append(
            Step(float(s.number), point.theta, point.train, point.validation, label, taken, extra)
        )

    def _step_note(self, label: str, point: Point, agreement: Agreement | None) -> str:
        train, held = self._state.foreseen
        text = f"{label}: training error {point.train:.7f} (predicted {train:.7f})"
        if point.validation is not None and held is not None:
            text += f", validation error {point.validation:.7f} (predicted {held:.7f})"
        correlation = None if agreement is None else agreement.correlation
        if correlation is not None:
            text += f"; predicted and real changes of scores correlate by {correlation:.4f}"
        return text

    @property
    def best(self) -> Theta:
        return self._state.best.theta

    @property
    def best_pass(self) -> int | None:
        return None if self._state.phase == "start" else self._state.best.number

    @property
    def distances(self) -> Sequence[float]:
        return self._state.distances
