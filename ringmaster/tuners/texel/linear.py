"""The linear optimiser, for engines that print how often each weight is counted.

The score is a sum of counts times weights.  Its error is minimised in process, at millions of
positions a second.  Three passes of the engine are needed: the start values, which give the
part of the score that is not tuned; random values, which show whether the scores change as the
features say (otherwise the tune is refused); and the result, so that the reported error is the
engine's own.  Without scores of an engine (all NaN in pass 0) the model stands alone.

The competition calls ``set_features(matrix, fixed)`` before the first `tell` and after each
`restore`.  Row i of the matrix, a ``positions.FeatureFile``, is position i of the position
file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import TEXEL_LINEAR_STREAM, words
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.fitting import Fitter, best_of
from ringmaster.tuners.texel.linear_model import FeatureModel, Matrix, Wiring, processors
from ringmaster.tuners.texel.loss import Array, Floats
from ringmaster.tuners.texel.optimiser import (
    DEFAULT_STRENGTH,
    PARTS,
    Data,
    Errors,
    ModelOptimiser,
    ModelState,
    OwnTable,
    Pass,
    RidgePath,
    Step,
    TellResult,
    Theta,
    collinear,
    finite,
    strengths_of,
)


class _State(ModelState):
    """The state of the optimiser.

    phase       purpose of the pass that is wanted or under way
    theta       its values; is_asked: whether it is under way
    best        the best values, and their pass if its scores are kept
    agreements  rows of a table
    """

    theta: Theta
    best: tuple[Theta, int | None]
    phase: Literal["start", "moved", "fitted", "done"] = "start"
    is_asked: bool = False
    problem: str | None = None
    agreements: list[list[Any]] = msgspec.field(default_factory=list)


class Linear(ModelOptimiser):
    """Minimises the error of a sum of counts times weights.

    tapered     whether weights come in pairs NAME_mg and NAME_eg, mixed by the phase; a parameter
                without such an ending is both weights of its feature
    ridge       strengths to try, None in it for the usual path; None: no ridge
    check       whether a pass checks that the scores change as the features say
    validated   whether there are positions of validation; without them DEFAULT_STRENGTH replaces
                the path
    threads     0: one for each processor
    """

    _state: _State

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        tapered: bool = False,
        ridge: Sequence[float | None] | None = (None,),
        check: bool = True,
        validated: bool = True,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.parameters = tuple(parameters)
        self.space = Space.of(parameters)
        self.tapered, self.seed = tapered, seed
        path = ridge is not None and None in ridge
        self._strengths = strengths_of((DEFAULT_STRENGTH,) if path and not validated else ridge)
        self._check, self._threads = check, threads or processors()
        self._start = self.space.played(self.space.start)
        self._features: tuple[Matrix, Wiring] | None = None
        self._model: FeatureModel | None = None
        self._state = _State(
            estimate=list(self._start),
            deviation=[None] * len(parameters),
            theta=self._start,
            best=(self._start, None),
        )

    def set_features(self, matrix: Matrix, fixed: Mapping[str, float] | None = None) -> None:
        """Set the counts of all positions.

        fixed  values of parameters that are not tuned; used only if no position has a score
        Raises ValueError if a parameter has no feature or no position has a phase.
        """
        codes = [p.code for p in self.parameters]
        if self.tapered and matrix.phase is None:
            raise ValueError(
                "a tapered evaluation needs the phase of each position, 1 in the opening and 0 "
                'in the endgame: a feature called "phase"'
            )
        self._features = matrix, Wiring.of(matrix.names, codes, self.tapered, fixed)

    def ask(self) -> Pass | None:
        s = self._state
        if s.is_asked or s.phase == "done":
            return None
        s.is_asked = True
        s.number += 1
        return Pass(s.number - 1, s.theta, "all", True)

    def tell(self, number: int, errors: Errors, data: Data) -> TellResult:
        s = self._state
        if not s.is_asked or number != s.number - 1:
            return TellResult()
        s.is_asked = False
        model = self._loaded(data)
        train, held = finite(errors.train), finite(errors.validation)
        step = Step(float(s.number), s.theta, train, held, s.phase)
        if s.phase == "start":
            return TellResult(tuple(self._learn_start(model, step, data)))
        if s.phase == "moved":
            return TellResult(tuple(self._learn_moved(model, step, data)), (number,))
        notes = tuple(self._learn_fitted(model, step, data))
        return TellResult(notes, () if self.best_pass == number else (number,))

    def finished(self) -> bool:
        return self._state.phase == "done"

    @property
    def best(self) -> Theta:
        return self._state.best[0]

    @property
    def best_pass(self) -> int | None:
        return self._state.best[1]

    @property
    def problem(self) -> str | None:
        return self._state.problem

    def report(self) -> list[OwnTable]:
        tables = super().report()
        if self._state.agreements:
            headers = ("scores", "correlation", "slope", "largest difference", "positions")
            rows = [tuple(row) for row in self._state.agreements]
            tables.append(("The linear model against the engine", headers, rows))
        return tables

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._model = None

    def _learn_start(self, model: FeatureModel, step: Step, data: Data) -> list[str]:
        s = self._state
        s.best = (self._start, 0)
        if not model.is_scored:
            train, held = model.errors(self._start)
            s.course.append(msgspec.structs.replace(step, train=train, validation=held))
            return self._fit(model)
        s.course.append(step)
        predicted = model.linear(self._start, 0, model.train)
        real = predicted + model.offset[: model.train]
        real[model.weight[: model.train] <= 0] = np.nan
        part = FeatureCheck.of(predicted, real)
        s.agreements.append(part.row("start values, offset not added"))
        share = "nothing"
        if math.isfinite(part.correlation):
            share = f"{max(part.correlation, 0) ** 2:.0%} of the variance"
        notes = [f"the features make {share} of the start values' scores"]
        if not self._check:
            return [*notes, *self._fit(model)]
        s.phase, s.theta = "moved", perturbed(model, self.space, self.seed)
        if s.theta == self._start:
            return [*notes, self._refused("no parameter can move within its bounds")]
        return notes

    def _learn_moved(self, model: FeatureModel, step: Step, data: Data) -> list[str]:
        step = msgspec.structs.replace(step, label="check of the features", taken=False)
        self._state.course.append(step)
        check = self._compared(model, data, "change at random values")
        if check.problem:
            return [self._refused(check.problem)]
        notes = [f"the scores change as the features say: {check.numbers}"]
        if check.correlation < _GOOD:
            notes.append("the evaluation is not quite linear in these weights")
        return [*notes, *self._fit(model)]

    def _learn_fitted(self, model: FeatureModel, step: Step, data: Data) -> list[str]:
        s, before = self._state, self._state.course[0]
        check = self._compared(model, data, "change at the fitted values")
        held = step.validation is not None and before.validation is not None
        new, old = (step.validation, before.validation) if held else (step.train, before.train)
        better = new is not None and old is not None and new < old
        s.phase = "done"
        extra = {"ridge": s.paths[0].used or 0.0}
        s.course.append(msgspec.structs.replace(step, taken=better, extra=extra))
        notes = [f"at the fitted values the engine agrees with the model: {check.numbers}"]
        if check.problem:
            notes = [f"at the fitted values {check.problem}"]
        if better:
            s.best = (step.theta, s.number - 1)
        elif new is None or old is None:
            notes.append("no errors can be compared; the start values stay")
        else:
            notes.append(
                f"the engine's error does not fall ({old:.7f} → {new:.7f}); the start values stay"
            )
        return notes

    def _refused(self, why: str) -> str:
        self._state.problem, self._state.phase = why, "done"
        return why

    def _fit(self, model: FeatureModel) -> list[str]:
        """Minimise in process; then want a pass of the result, or end."""
        s, fitter = self._state, Fitter(model, self.space, *self.space.whole_bounds)
        points = fitter.path(self._strengths, self.space.start)
        point = best_of(points)
        rows = sorted((p.strength, p.train, p.validation, p.gradients) for p in points)
        title = "Strengths of the ridge, by the linear model"
        s.paths[0] = RidgePath(title, "gradients", rows, point.strength)
        curvature, deviation = model.curvature(point.theta)
        s.estimate, s.deviation = point.theta.tolist(), [finite(e) for e in deviation.tolist()]
        s.silent = np.flatnonzero(np.diag(curvature) <= 0).tolist()
        s.alike = collinear(curvature)
        fitted = fitter.playable(point, curvature)
        gradients = sum(p.gradients for p in points)
        notes = [
            f"lbfgs: {len(points)} strengths of the ridge, {gradients:g} gradients of "
            f"{model.train:,} positions; ridge {point.strength:g} used"
        ]
        if model.is_scored and fitted != self._start:
            s.phase, s.theta = "fitted", fitted
            return notes
        s.phase = "done"
        if fitted == self._start:
            return [*notes, "the fitted values are the start values"]
        extra = {"ridge": point.strength}
        errors = model.errors(fitted)
        s.course.append(Step(float(s.number), fitted, *errors, "fitted", extra=extra))
        s.best = (fitted, None)
        return [*notes, "no position has a score of the engine: the errors are the model's"]

    def _compared(self, model: FeatureModel, data: Data, name: str) -> FeatureCheck:
        """Compare the changes of scores since the start, over training and validation."""
        s, count = self._state, len(model.offset)
        predicted = model.linear(np.array(s.theta) - np.array(self._start), 0, count)
        real = np.empty(count, dtype=np.float32)
        for part in PARTS:
            for block in data.blocks((0, s.number - 1), part):
                real[block.places] = block.scores[1] - block.scores[0]
        real[model.weight <= 0] = np.nan
        check = FeatureCheck.of(predicted, real)
        s.agreements.append(check.row(name))
        return check

    def _loaded(self, data: Data) -> FeatureModel:
        """Return the model of all positions."""
        if self._model is not None:
            return self._model
        if self._features is None:
            raise ValueError("the features have not been set")
        matrix, wiring = self._features
        train, held = (list(data.blocks((0,), part)) for part in PARTS)
        rows, count = len(matrix.indptr) - 1, sum(len(b.target) for b in [*train, *held])
        if rows != count:
            raise ValueError(f"there are features of {rows:,} positions, but {count:,} positions")
        scores, target, weight = (np.empty(rows, dtype=np.float32) for _ in range(3))
        games = np.empty(rows, dtype=np.uint32)
        for block in [*train, *held]:
            scores[block.places], target[block.places] = block.scores[0], block.target
            weight[block.places], games[block.places] = block.weight, block.game
        known = ~np.isnan(scores)
        if known.any():
            weight[~known] = 0
        target[weight <= 0] = 0.5
        model = FeatureModel(
            matrix,
            wiring,
            np.zeros(rows, dtype=np.float32),
            target,
            weight,
            games,
            sum(len(block.target) for block in train),
            data.loss,
            bool(known.any()),
            self._threads,
        )
        if not model.weights[0] > 0:
            raise ValueError("no position of training has any weight")
        tuned_part = model.linear(self._start, 0, rows)
        if model.is_scored:
            model.offset = np.where(known, scores - tuned_part, 0).astype(np.float32)
        else:
            model.offset = model.linear(self._start, 0, rows, all_=True) - tuned_part
        self._model = model
        return model


#: Standard deviation of the score changes in a check, centipawns: much more than rounding, and
#: little beside a piece.
MOVED = 50.0
#: Largest change of a parameter as a share of its range.
_LARGEST_MOVE = 0.25
#: Positions that determine the size of the change.
_LOOKED_AT = 20_000
#: Smaller predicted changes are indistinguishable from rounding, centipawns.
_VISIBLE = 1.0
#: The model is refused beyond these limits of the correlation of predicted and real changes, and
#: of the real change for a predicted one.
LEAST_CORRELATION, SLOPES = 0.9, (0.8, 1.25)
#: Below this correlation the model is used with a warning.
_GOOD = 0.98
_SIDES = "counts must be White's (sente's) minus the other side's"


class FeatureCheck(msgspec.Struct, frozen=True):
    """Predicted against real numbers, centipawns.

    correlation  NaN if one of them does not vary
    slope        real change for a predicted change of 1, by least squares
    largest      largest difference
    spread       standard deviation of the predictions
    unsigned     correlation of absolute values
    count        positions
    """

    correlation: float
    slope: float
    largest: float
    spread: float
    unsigned: float
    count: int

    @classmethod
    def of(cls, predicted: Floats, real: Floats) -> FeatureCheck:
        """Compare predictions with real values, (n,) each, ignoring NaN."""
        known = ~(np.isnan(predicted) | np.isnan(real))
        x, y = predicted[known].astype(np.float64), real[known].astype(np.float64)
        if not len(x):
            return cls(math.nan, math.nan, math.nan, math.nan, math.nan, 0)
        spread = float(x.std())
        slope = float(((x - x.mean()) * (y - y.mean())).mean()) / spread**2 if spread else math.nan
        return cls(
            _correlation(x, y),
            slope,
            float(np.abs(y - x).max()),
            spread,
            _correlation(np.abs(x), np.abs(y)),
            len(x),
        )

    def row(self, name: str) -> list[Any]:
        """Return the result as a row of a table."""
        numbers = ((self.correlation, 6), (self.slope, 4), (self.largest, 2))
        shown = [
            round(value, digits) if math.isfinite(value) else None for value, digits in numbers
        ]
        return [name, *shown, self.count]

    @property
    def numbers(self) -> str:
        """The result in one line."""
        return (
            f"correlation {self.correlation:.4f}, slope {self.slope:.3f}, largest difference "
            f"{self.largest:.0f} cp over {self.count:,} positions"
        )

    @property
    def problem(self) -> str:
        """Reason to refuse the model, "" if it can be used."""
        low, high = SLOPES
        if not self.count:
            return "no position has a score of both passes"
        if not self.spread > _VISIBLE:
            return (
                "the features hardly occur: a large change of all weights moves the model's "
                f"scores by {self.spread:.2f} cp; check that they belong to these positions"
            )
        if self.correlation >= LEAST_CORRELATION and low <= self.slope <= high:
            return ""
        reason = f"the engine's scores do not change as its features say ({self.numbers})"
        if self.correlation <= -LEAST_CORRELATION:
            return f"{reason}: all signs are reversed; {_SIDES}"
        if self.correlation < LEAST_CORRELATION <= self.unsigned:
            return (
                f"{reason}: the signs of some differ; {_SIDES}, not the mover's minus the other's"
            )
        if self.correlation >= LEAST_CORRELATION:
            return f"{reason}: a weight's unit must be a centipawn a count; scale the counts"
        if not self.correlation > 0.1:
            return (
                f"{reason}; check that the options reach the engine (`apply`), and check "
                "the names of the features"
            )
        return f"{reason}; the evaluation is not linear in these weights, or some counts are wrong"


def _correlation(x: Array, y: Array) -> float:
    spread = float(x.std() * y.std())
    if not spread > 0:
        return math.nan
    return float(((x - x.mean()) * (y - y.mean())).mean()) / spread


def perturbed(model: FeatureModel, space: Space, seed: int) -> tuple[float, ...]:
    """Return values around the start that move the scores enough for a check.

    All parameters move up or down at random.
    """
    count = len(space)
    bits = np.array([word & 1 for word in words(seed, TEXEL_LINEAR_STREAM, 0, count)])
    low, high = space.whole_bounds
    way = np.where(bits == 1, 1.0, -1.0)
    room = np.where(way > 0, high - space.start, space.start - low)
    # a start on a bound leaves one way only
    way = np.where(room <= 0, -way, way)
    room = np.where(way > 0, high - space.start, space.start - low)
    step = way * np.minimum(_LARGEST_MOVE * space.width, room)
    stop = min(model.train, _LOOKED_AT)
    spread = float(model.linear(step, 0, stop).std())
    if spread > MOVED:
        step = step * MOVED / spread
    theta = space.start + step
    whole = np.where(np.abs(step) < 0.5, space.start + np.sign(step), np.rint(theta))
    return tuple(np.clip(np.where(space.integer, whole, theta), low, high).tolist())
