"""The linear optimiser, for engines that print how often each weight is counted.

The score is a sum of counts times weights.  Its error is minimised in process, at millions of
positions a second.  Three passes of the engine are needed: the start values, which give the
part of the score that is not tuned; random values, which show whether the scores change as the
features say (otherwise the tune is refused); and the result, so that the reported error is the
engine's own.

The competition calls ``set_features(matrix)`` before the first `tell` and after each
`restore`.  Row i of the matrix, a ``positions.FeatureFile``, is position i of the position
file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import msgspec
import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import TEXEL_LINEAR_STREAM, words
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.features import FeatureModel, Matrix, processors, wiring_of
from ringmaster.tuners.texel.linear_model import Agreement, best_of
from ringmaster.tuners.texel.optimiser import (
    PARTS,
    Arguments,
    Asked,
    Best,
    Data,
    Errors,
    Optimiser,
    Pass,
    Step,
    Theta,
    collinear,
    finite,
)
from ringmaster.tuners.texel.ridge import DEFAULT_STRENGTH, RidgePath, strengths_of


class Linear(Optimiser):
    """Minimises the error of a sum of counts times weights.

    tapered     whether weights come in pairs NAME_mg and NAME_eg, mixed by the phase; a parameter
                without such an ending is both weights of its feature
    ridge       strengths to try, None in it for the usual path; None: no ridge
    check       whether a pass checks that the scores change as the features say
    validated   whether there are positions of validation; without them DEFAULT_STRENGTH replaces
                the path
    threads     0: one for each processor
    """

    #: Values to be scored, with the purpose of their pass: "moved" or "fitted".
    _wanted: tuple[Theta, str] | None = None

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        tapered: bool = False,
        ridge: Sequence[float | None] | None = (None,),
        check: bool = True,
        validated: bool = True,
        threads: int = 0,
        **common: Unpack[Arguments],
    ) -> None:
        super().__init__(parameters, **common)
        self.tapered = tapered
        path = ridge is not None and None in ridge
        self._strengths = strengths_of((DEFAULT_STRENGTH,) if path and not validated else ridge)
        self._check, self._threads = check, threads or processors()
        self._features: tuple[Matrix, list[Any]] | None = None
        self._model: FeatureModel | None = None

    def set_features(self, matrix: Matrix) -> None:
        """Set the counts of all positions.

        Raises ValueError if a parameter has no feature or no position has a phase.
        """
        codes = [p.code for p in self.parameters]
        if self.tapered and matrix.phase is None:
            raise ValueError(
                "a tapered evaluation needs the phase of each position, 1 in the opening and 0 "
                'in the endgame: a feature called "phase"'
            )
        self._features = matrix, wiring_of(matrix.names, codes, self.tapered)

    def _next(self) -> Pass | None:
        if self._wanted is None:
            return None
        (theta, purpose), self._wanted = self._wanted, None
        return self._issue(theta, "all", purpose, keep=True)

    def _learn(self, number: int, asked: Asked, errors: Errors, data: Data) -> Sequence[int]:
        model = self._loaded(data)
        step = Step(self._used, asked.theta, errors.train, errors.validation, asked.purpose)
        if asked.purpose == "start":
            self._learn_start(model, step)
        elif asked.purpose == "moved":
            self._learn_moved(step, self._compared(model, data, number, asked.theta))
        else:
            self._learn_fitted(number, step, self._compared(model, data, number, asked.theta))
        return () if self.best_pass == number else (number,)

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._model = None

    def _learn_start(self, model: FeatureModel, step: Step) -> None:
        self._best.number = 0
        self._add(step)
        predicted = model.linear(self._start, 0, model.train)
        real = predicted + model.offset[: model.train]
        real[model.weight[: model.train] <= 0] = np.nan
        part = Agreement.of(predicted, real)
        share = "nothing"
        if math.isfinite(part.correlation):
            share = f"{max(part.correlation, 0) ** 2:.0%} of the variance"
        self._notes.append(f"the features make {share} of the start values' scores")
        if not self._check:
            self._fit(model)
            return
        self._wanted = perturbed(model, self.space, self.seed), "moved"
        if self._wanted[0] == self._start:
            self._refuse("no parameter can move within its bounds")

    def _learn_moved(self, step: Step, check: Agreement) -> None:
        known = math.isfinite(check.correlation)
        extra = {"correlation": check.correlation} if known else {}
        label = "check of the features"
        self._add(msgspec.structs.replace(step, label=label, taken=False, extra=extra))
        if problem := problem_of(check):
            self._refuse(problem)
            return
        self._notes.append(f"the scores change as the features say: {numbers_of(check)}")
        if check.correlation < _GOOD:
            self._notes.append("the evaluation is not quite linear in these weights")
        assert self._model is not None
        self._fit(self._model)

    def _learn_fitted(self, number: int, step: Step, check: Agreement) -> None:
        before = self.course[0]
        held = step.validation is not None and before.validation is not None
        new, old = (step.validation, before.validation) if held else (step.train, before.train)
        better = new is not None and old is not None and new < old
        extra = {"ridge": self._paths[0].used or 0.0, "correlation": check.correlation}
        extra = {name: value for name, value in extra.items() if math.isfinite(value)}
        self._add(msgspec.structs.replace(step, taken=better, extra=extra))
        problem = problem_of(check) or f"the engine agrees with the model: {numbers_of(check)}"
        self._notes.append(f"at the fitted values {problem}")
        if new is None or old is None:
            self._notes.append("no errors can be compared; the start values stay")
        elif better:
            self._best = Best(step.theta, new, number)
        else:
            self._notes.append(
                f"the engine's error does not fall ({old:.7f} → {new:.7f}); the start values stay"
            )
        self._stop("the fitted values are scored")

    def _refuse(self, why: str) -> None:
        self.problem, self._wanted = why, None
        self._notes.append(why)
        self._stop(why)

    def _fit(self, model: FeatureModel) -> None:
        """Minimise in process; then want a pass of the result, or end."""
        points = model.path(self._strengths, self.space.start)
        point = best_of(points)
        rows = sorted((p.strength, p.train, p.validation, p.readings) for p in points)
        title = "Strengths of the ridge, by the linear model"
        self._paths[0] = RidgePath(title, "gradients", rows, point.strength)
        quadratic = model.quadratic(point.theta, by_game=True)
        self._estimate = point.theta.tolist()
        self._deviation = [finite(e) for e in quadratic.estimate.deviation.tolist()]
        self._silent = np.flatnonzero(np.diag(quadratic.curvature) <= 0).tolist()
        self._alike = collinear(quadratic.curvature)
        fitted = model.playable(point, quadratic)
        gradients = sum(p.readings for p in points)
        self._notes.append(
            f"lbfgs: {len(points)} strengths of the ridge, {gradients:g} gradients of "
            f"{model.train:,} positions; ridge {point.strength:g} used"
        )
        if fitted == self._start:
            self._notes.append("the fitted values are the start values")
            self._stop("the fitted values are the start values")
        else:
            self._wanted = fitted, "fitted"

    def _compared(self, model: FeatureModel, data: Data, number: int, theta: Theta) -> Agreement:
        """Compare the changes of scores since the start, over training and validation."""
        count = len(model.offset)
        predicted = model.linear(np.array(theta) - np.array(self._start), 0, count)
        real = np.empty(count, dtype=np.float32)
        for part in PARTS:
            for block in data.blocks((0, number), part):
                real[block.places] = block.scores[1] - block.scores[0]
        real[model.weight <= 0] = np.nan
        return Agreement.of(predicted, real)

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
        weight[~known] = 0
        target[weight <= 0] = 0.5
        model = FeatureModel(
            self.space,
            matrix,
            wiring,
            np.zeros(rows, dtype=np.float32),
            target,
            weight,
            games,
            sum(len(block.target) for block in train),
            data.loss,
            self._threads,
        )
        if not model.total_weight > 0:
            raise ValueError("no position of training has any weight")
        tuned_part = model.linear(self._start, 0, rows)
        model.offset = np.where(known, scores - tuned_part, 0).astype(np.float32)
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


def numbers_of(check: Agreement) -> str:
    """Return an agreement in one line."""
    return (
        f"correlation {check.correlation:.4f}, slope {check.slope:.3f}, largest difference "
        f"{check.largest:.0f} cp over {check.count:,} positions"
    )


def problem_of(check: Agreement) -> str:
    """Return a reason to refuse the model, "" if it can be used."""
    low, high = SLOPES
    if not check.count:
        return "no position has a score of both passes"
    if not check.spread > _VISIBLE:
        return (
            "the features hardly occur: a large change of all weights moves the model's "
            f"scores by {check.spread:.2f} cp; check that they belong to these positions"
        )
    if check.correlation >= LEAST_CORRELATION and low <= check.slope <= high:
        return ""
    reason = f"the engine's scores do not change as its features say ({numbers_of(check)})"
    if check.correlation <= -LEAST_CORRELATION:
        return f"{reason}: all signs are reversed; {_SIDES}"
    if check.correlation < LEAST_CORRELATION <= check.unsigned:
        return f"{reason}: the signs of some differ; {_SIDES}, not the mover's minus the other's"
    if check.correlation >= LEAST_CORRELATION:
        return f"{reason}: a weight's unit must be a centipawn a count; scale the counts"
    if not check.correlation > 0.1:
        return (
            f"{reason}; check that the options reach the engine (`apply`), and check "
            "the names of the features"
        )
    return f"{reason}; the evaluation is not linear in these weights, or some counts are wrong"


def perturbed(model: FeatureModel, space: Space, seed: int) -> tuple[float, ...]:
    """Return values around the start that move the scores enough for a check.

    All parameters move up or down at random.
    """
    low, high = space.whole_bounds
    bits = [word & 1 for word in words(seed, TEXEL_LINEAR_STREAM, 0, len(space))]
    end = np.where(np.array(bits) == 1, high, low)
    # a start on a bound leaves one way only
    end = np.where(end == space.start, low + high - end, end)
    most = _LARGEST_MOVE * space.width
    step = np.clip(end - space.start, -most, most)
    stop = min(model.train, _LOOKED_AT)
    spread = float(model.linear(step, 0, stop).std())
    if spread > MOVED:
        step = step * MOVED / spread
    theta = space.start + step
    whole = np.where(np.abs(step) < 0.5, space.start + np.sign(step), np.rint(theta))
    return tuple(np.clip(np.where(space.integer, whole, theta), low, high).tolist())
