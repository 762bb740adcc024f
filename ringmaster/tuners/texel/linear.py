"""The linear optimiser, for engines that print how often each weight is counted.

The score is a sum of counts times weights.  Its error is minimised in process, at millions of
positions a second.  Three passes of the engine are needed: the start values, which give the
part of the score that is not tuned; random values, which show whether the scores change as the
features say (otherwise the tune is refused); and the result, so that the reported error is the
engine's own.  It is a step of Gauss-Newton with derivatives from the features: a result that
does not lower the error is damped.

The competition calls ``set_features(matrix)`` before the first `tell` and after each
`restore`.  Row i of the matrix, a ``positions.FeatureFile``, is position i of the position
file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import TEXEL_LINEAR_STREAM, words
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.features import FeatureModel, processors, wiring_of
from ringmaster.tuners.texel.gauss_newton import MOST_HALVINGS, GaussNewton
from ringmaster.tuners.texel.linear_model import Agreement
from ringmaster.tuners.texel.loss import Floats
from ringmaster.tuners.texel.optimiser import PARTS, Arguments, Block, Data, Point, Request


class Linear(GaussNewton):
    """Minimises the error of a sum of counts times weights.

    tapered  whether weights come in pairs NAME_mg and NAME_eg, mixed by the phase; a parameter
             without such an ending is both weights of its feature
    ridge    see `GaussNewton`
    check    whether a pass checks that the scores change as the features say
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        tapered: bool = False,
        ridge: Sequence[float | None] | None = (None,),
        check: bool = True,
        **common: Unpack[Arguments],
    ) -> None:
        super().__init__(parameters, ridge=ridge, **common)
        self.tapered = tapered
        self._check = check
        self._whole_path, self._shrunk, self._most_steps = False, MOST_HALVINGS, 1
        self._features: tuple[Any, list[Any]] | None = None
        self._loaded: FeatureModel | None = None

    def set_features(self, matrix: Any) -> None:
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

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._loaded = None

    def _linearise(self) -> None:
        self._origin = self._base

    def _advance(self, data: Data) -> None:
        """Check the features by a pass of random values, then take a step."""
        model = self._model(data, self._origin)
        if not self._sides:
            predicted = model.linear(self._start, 0, model.train)
            real = predicted + model.offset[: model.train]
            real[model.weight[: model.train] <= 0] = np.nan
            part, share = Agreement.of(predicted, real), "nothing"
            if math.isfinite(part.correlation):
                share = f"{max(part.correlation, 0) ** 2:.0%} of the variance"
            self._notes.append(f"the features make {share} of the start values' scores")
            if self._check:
                theta = perturbed(model, self.space, self.seed)
                self._sides, self._wanted = [(0, theta)], [Request(theta)]
                return
        else:
            point = self._at_hand(self._sides[0][1])
            assert point is not None
            check = self._agreement(data, point)
            known = math.isfinite(check.correlation)
            extra = {"correlation": check.correlation} if known else {}
            self._record(point, "check of the features", False, extra)
            self.problem = problem_of(check) or None
            if self.problem:
                self._finish(self.problem)
                return
            self._notes.append(f"the scores change as the features say: {numbers_of(check)}")
            if check.correlation < _GOOD:
                self._notes.append("the evaluation is not quite linear in these weights")
        self._propose(data)

    def _agreement(self, data: Data, point: Point) -> Agreement:
        """Compare the changes of scores since the start, over training and validation."""
        model, step = self._model(data, self._origin), np.subtract(point.theta, self._start)
        real = self._scores(data, point) - self._scores(data, self._origin)
        real[model.weight <= 0] = np.nan
        return Agreement.of(model.linear(step, 0, len(real)), real)

    def _scores(self, data: Data, point: Point) -> Floats:
        scores: Floats = self._whole(data, point.number).scores[0]
        return scores

    def _whole(self, data: Data, number: int) -> Block:
        """Return all positions in the order of the position file, with the scores of a pass."""
        blocks = [block for part in PARTS for block in data.blocks((number,), part)]
        count = sum(len(block.target) for block in blocks)
        place = np.argsort(np.concatenate([np.arange(count)[block.places] for block in blocks]))
        scores = np.concatenate([block.scores for block in blocks], axis=1)[:, place]
        names = ("target", "weight", "game")
        columns = (np.concatenate([getattr(block, name) for block in blocks]) for name in names)
        return Block(slice(count), scores, *(column[place] for column in columns))

    def _model(self, data: Data, about: Point) -> FeatureModel:
        """Return the model of all positions with the scores of a point."""
        if self._loaded is None:
            self._loaded = self._load(data)
        model, scores = self._loaded, self._scores(data, about)
        known = ~np.isnan(scores)
        tuned_part = model.linear(about.theta, 0, len(scores))
        offset = np.where(known, scores - tuned_part, np.float32(0))
        return replace(model, offset=offset, weight=np.where(known, model.weight, np.float32(0)))

    def _load(self, data: Data) -> FeatureModel:
        """Return the features with the labels, without scores."""
        if self._features is None:
            raise ValueError("the features have not been set")
        matrix, wiring = self._features
        whole = self._whole(data, 0)
        rows, count = len(matrix.indptr) - 1, len(whole.target)
        if rows != count:
            raise ValueError(f"there are features of {rows:,} positions, but {count:,} positions")
        return FeatureModel(
            self.space,
            matrix,
            wiring,
            np.zeros(rows, dtype=np.float32),
            np.where(whole.weight > 0, whole.target, np.float32(0.5)),
            whole.weight,
            whole.game,
            sum(len(block.target) for block in data.blocks((0,), "train")),
            data.loss,
            processors(),
        )


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
    return (
        f"correlation {check.correlation:.4f}, slope {check.slope:.3f}, largest difference "
        f"{check.largest:.0f} cp over {check.count:,} positions"
    )


def problem_of(check: Agreement) -> str:
    """Return a reason to refuse the model, "" if it can be used."""
    if not check.count:
        return "no position has a score of both passes"
    if not check.spread > _VISIBLE:
        return (
            "the features hardly occur: a large change of all weights moves the model's "
            f"scores by {check.spread:.2f} cp; check that they belong to these positions"
        )
    if check.correlation >= LEAST_CORRELATION and SLOPES[0] <= check.slope <= SLOPES[1]:
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
