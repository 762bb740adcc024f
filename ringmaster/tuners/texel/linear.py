"""The linear optimiser, for engines that print how often each weight is counted.

The score is a sum of counts times weights.  Its error is minimised in process, at millions of
positions a second.  Three passes of the engine are needed: the start values, which give the
part of the score that is not tuned; random values, which show whether the scores change as the
features say (otherwise the tune is refused); and the result, so that the reported error is the
engine's own.  Without scores of an engine (all NaN in pass 0) the model stands alone.

The competition calls ``set_features(matrix, fixed)`` before the first `tell` and after each
`restore`.  Row i of the matrix, a ``positions.FeatureFile``, is position i of the position
file.  The blocks of ``Data.blocks`` must be the shards in order: of T shards of a part with n
positions, block s has the positions range(s, n, T).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.linear_fit import Fitter
from ringmaster.tuners.texel.linear_model import (
    FeatureCheck,
    FeatureModel,
    Matrix,
    Wiring,
    perturbed,
)
from ringmaster.tuners.texel.optimiser import (
    DEFAULT_STRENGTH,
    NO_SIGNAL,
    Array,
    Data,
    Errors,
    Floats,
    Optimiser,
    OwnTable,
    Pass,
    RidgePath,
    Split,
    Step,
    TellResult,
    collinear,
    noise_flags,
    strengths_of,
    value_flags,
)
from ringmaster.tuners.texel.searching import finite
from ringmaster.tuners.texel.uncertainty import NORMAL

Theta = tuple[float, ...]

_LABELS = {"moved": "check of the features", "fitted": "fitted"}


class _Labels(NamedTuple):
    """All positions of a part in the order of the position file."""

    scores: Floats
    target: Floats
    weight: Floats
    game: npt.NDArray[np.uint32]


class _State(msgspec.Struct):
    """The state of the optimiser.

    wanted  purpose and values of the next pass; asked: purposes of passes under way
    best    the best values, and their pass if its scores are kept
    path    see `RidgePath`; the last column has the number of gradients
    least   the minimum before rounding; errors: its standard errors; odd: flags of parameters
    """

    wanted: tuple[str, Theta] | None
    best: tuple[Theta, int | None]
    least: Theta
    asked: dict[int, str] = {}
    values: dict[int, Theta] = {}
    number: int = 0
    used: float = 0.0
    over: bool = False
    problem: str | None = None
    course: list[Step] = []
    path: list[tuple[float, float | None, float | None, float]] = []
    chosen: float = 0.0
    agreements: list[list[Any]] = []
    errors: list[float | None] | None = None
    odd: dict[int, list[str]] = {}


class Linear(Optimiser):
    """Minimises the error of a sum of counts times weights.

    features, unnamed  used by the caller of `set_features`
    tapered     whether weights come in pairs NAME_mg and NAME_eg, mixed by the phase; a parameter
                without such an ending is both weights of its feature
    ridge       strengths to try, None in it for the usual path; None: no ridge
    check       whether a pass checks that the scores change as the features say
    validated   whether there are positions of validation; without them DEFAULT_STRENGTH replaces
                the path
    threads     0: one for each processor
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        features: Any = None,
        tapered: bool = False,
        unnamed: Literal["refuse", "ignore"] = "refuse",
        ridge: Sequence[float | None] | None = (None,),
        check: bool = True,
        validated: bool = True,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.parameters = tuple(parameters)
        self.space = Space.of(parameters)
        self.source, self.tapered = features, tapered
        self.unnamed = unnamed
        self.seed = seed
        path = ridge is not None and None in ridge
        self._strengths = strengths_of((DEFAULT_STRENGTH,) if path and not validated else ridge)
        self._check, self._threads = check, threads
        self._start = self.space.played(self.space.start)
        self._matrix: Matrix | None = None
        self._wiring: Wiring | None = None
        #: Called with progress lines during a fit, which may take minutes.
        self.say: Callable[[str], None] = lambda line: None
        self._model: FeatureModel | None = None
        self._games = np.zeros(0, dtype=np.uint32)
        self._scores: Floats = np.zeros(0, dtype=np.float32)
        self._scored = False
        self._shards: dict[Split, int] = {}
        self._state = _State(("start", self._start), (self._start, None), self._start)

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
        self._wiring = Wiring.of(matrix.names, codes, self.tapered, fixed)
        self._matrix = matrix

    def ask(self) -> Pass | None:
        if self._state.wanted is None:
            return None
        purpose, theta = self._state.wanted
        self._state.wanted = None
        number, self._state.number = self._state.number, self._state.number + 1
        self._state.asked[number] = purpose
        self._state.values[number] = theta
        return Pass(number, theta, "all", True)

    def tell(self, number: int, errors: Errors, data: Data) -> TellResult:
        purpose = self._state.asked.pop(number, None)
        if purpose is None:
            return TellResult()
        theta = self._state.values[number]
        self._state.used += 1
        errors = Errors(finite(errors.train), finite(errors.validation))
        if purpose == "start":
            return self._learn_start(errors, data)
        step = Step(self._state.used, theta, errors.train, errors.validation, _LABELS[purpose])
        if purpose == "moved":
            self._state.course.append(msgspec.structs.replace(step, taken=False))
            return self._learn_moved(number, data)
        return self._learn_fitted(number, step, data)

    def finished(self) -> bool:
        return self._state.over and not self._state.asked and self._state.wanted is None

    @property
    def best(self) -> Theta:
        return self._state.best[0]

    @property
    def best_pass(self) -> int | None:
        return self._state.best[1]

    @property
    def course(self) -> Sequence[Step]:
        return tuple(self._state.course)

    @property
    def problem(self) -> str | None:
        return self._state.problem

    @property
    def ridge_paths(self) -> list[RidgePath]:
        rows = sorted(self._state.path, key=lambda row: row[0])
        title = "Strengths of the ridge, by the linear model"
        return [RidgePath(title, "gradients", rows, self._state.chosen)] if rows else []

    def report(self) -> list[OwnTable]:
        tables = super().report()
        if self._state.agreements:
            headers = ("scores", "correlation", "slope", "largest difference", "positions")
            rows = [tuple(row) for row in self._state.agreements]
            tables.append(("The linear model against the engine", headers, rows))
        return tables

    def flags(self) -> dict[int, tuple[str, ...]]:
        flags = {i: list(words) for i, words in value_flags(self.space, self.best).items()}
        for i, words in self._state.odd.items():
            flags.setdefault(i, []).extend(words)
        if (ends := self.intervals) is not None:
            for i, word in noise_flags(self.space, self.best, ends).items():
                if NO_SIGNAL not in flags.get(i, ()):
                    flags.setdefault(i, []).append(word)
        return {i: tuple(words) for i, words in sorted(flags.items())}

    @property
    def intervals(self) -> tuple[Array, Array] | None:
        if self._state.errors is None or self.best == self._start:
            return None
        best = np.array(self.best)
        wide = NORMAL * np.array([math.inf if e is None else e for e in self._state.errors])
        middle = np.array(self._state.least)
        return (
            self.space.clip(np.minimum(middle - wide, best)),
            self.space.clip(np.maximum(middle + wide, best)),
        )

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._state, str_keys=True)
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        self._state = msgspec.convert(state, _State, strict=False)
        self._model = None

    def _learn_start(self, errors: Errors, data: Data) -> TellResult:
        model, games = self._loaded(data)
        self._state.best = (self._start, 0)
        train, validation = errors.train, errors.validation
        if not self._scored:
            train, validation = self._model_errors(model, data, self._start)
        self._state.course.append(Step(self._state.used, self._start, train, validation, "start"))
        if not self._scored:
            return TellResult(notes=tuple(self._fit(model, games, data)))
        part = FeatureCheck.of(model.linear(self._start, 0, model.train), self._scores)
        self._state.agreements.append(_row("start values, offset not added", part))
        notes = [f"the features make {_share(part)} of the start values' scores"]
        if self._check:
            theta = perturbed(model, self.space, self.seed)
            if theta == self._start:
                return self._refused("no parameter can move within its bounds", notes)
            self._state.wanted = ("moved", theta)
            return TellResult(notes=tuple(notes))
        return TellResult(notes=(*notes, *self._fit(model, games, data)))

    def _learn_moved(self, number: int, data: Data) -> TellResult:
        model, games = self._loaded(data)
        check = self._compared(model, number, data, "change at random values")
        if check.problem:
            return self._refused(check.problem, [], forget=(number,))
        notes = [f"the scores change as the features say: {check.numbers}"]
        if check.doubtful:
            notes.append("the evaluation is not quite linear in these weights")
        return TellResult(notes=(*notes, *self._fit(model, games, data)), forget=(number,))

    def _learn_fitted(self, number: int, step: Step, data: Data) -> TellResult:
        model, _ = self._loaded(data)
        check = self._compared(model, number, data, "change at the fitted values")
        before = self._state.course[0]
        held = step.validation is not None and before.validation is not None
        new, old = (step.validation, before.validation) if held else (step.train, before.train)
        better = new is not None and old is not None and new < old
        self._state.over = True
        self._state.course.append(
            msgspec.structs.replace(step, taken=better, extra={"ridge": self._state.chosen})
        )
        notes = [f"at the fitted values the engine agrees with the model: {check.numbers}"]
        if check.problem:
            notes = [f"at the fitted values {check.problem}"]
        if not better:
            notes.append(
                f"the engine's error does not fall ({old:.7f} → {new:.7f}); the start values stay"
                if new is not None and old is not None
                else "no errors can be compared; the start values stay"
            )
            return TellResult(notes=tuple(notes), forget=(number,))
        self._state.best = (step.theta, number)
        return TellResult(notes=tuple(notes))

    def _refused(self, why: str, notes: list[str], forget: tuple[int, ...] = ()) -> TellResult:
        self._state.problem, self._state.over = why, True
        return TellResult(notes=(*notes, why), forget=forget)

    def _fit(self, model: FeatureModel, games: npt.NDArray[np.uint32], data: Data) -> list[str]:
        """Minimise in process; then want a pass of the result, or end."""
        fitter = Fitter(model, self.space, data.loss)
        points = fitter.path(self._strengths, self.say)
        point = min(points, key=lambda p: p.train if p.validation is None else p.validation)
        self._state.path = [(p.strength, p.train, p.validation, p.gradients) for p in points]
        self._state.chosen, self._state.least = point.strength, tuple(point.theta.tolist())
        curvature = fitter.curvature(point.theta, games)
        self._state.errors = [finite(float(e)) for e in curvature.deviations]
        self._state.odd = self._oddities(curvature.matrix)
        fitted = self.space.played(fitter.playable(point, curvature.matrix))
        gradients = sum(p.gradients for p in points)
        notes = [
            f"lbfgs: {len(points)} strengths of the ridge, {gradients:g} gradients of "
            f"{model.train:,} positions; ridge {point.strength:g} used"
        ]
        if fitted == self._start:
            self._state.over = True
            return [*notes, "the fitted values are the start values"]
        if self._scored:
            self._state.wanted = ("fitted", fitted)
            return notes
        self._state.over = True
        train, validation = self._model_errors(model, data, fitted)
        extra = {"ridge": self._state.chosen}
        step = Step(self._state.used, fitted, train, validation, "fitted", extra=extra)
        self._state.course.append(step)
        self._state.best = (fitted, None)
        return [*notes, "no position has a score of the engine: the errors are the model's"]

    def _oddities(self, curvature: Array) -> dict[int, list[str]]:
        flags = {i: [NO_SIGNAL] for i in np.flatnonzero(np.diag(curvature) <= 0).tolist()}
        for i, other in collinear(curvature).items():
            flags.setdefault(i, []).append(f"indistinguishable from {self.parameters[other].code}")
        return flags

    def _compared(self, model: FeatureModel, number: int, data: Data, name: str) -> FeatureCheck:
        """Compare the changes of scores since the start, over training and validation."""
        theta = self._state.values[number]
        count = len(model.offset)
        predicted = model.linear(np.array(theta) - np.array(self._start), 0, count)
        real = np.empty(count, dtype=np.float32)
        for part, (first, stop) in _parts(model):
            for s, block in enumerate(data.blocks((0, number), part)):
                rows = slice(first + s, stop, self._shards[part])
                real[rows] = block.scores[1] - block.scores[0]
        real[model.weight <= 0] = np.nan
        check = FeatureCheck.of(predicted, real)
        self._state.agreements.append(_row(name, check))
        return check

    def _model_errors(
        self, model: FeatureModel, data: Data, theta: Theta
    ) -> tuple[float, float | None]:
        held = model.error(theta, data.loss, held=True) if model.held else None
        return model.error(theta, data.loss), held

    def _loaded(self, data: Data) -> tuple[FeatureModel, npt.NDArray[np.uint32]]:
        """Return the model of all positions, with the numbers of their games."""
        if self._model is not None:
            return self._model, self._games
        if self._matrix is None or self._wiring is None:
            raise ValueError("the features have not been set")
        (train, shards), (held, held_shards) = _read(data, "train"), _read(data, "validation")
        self._shards = {"train": shards, "validation": held_shards}
        scores, target, weight, self._games = (
            np.concatenate(pair) for pair in zip(train, held, strict=True)
        )
        rows = len(self._matrix.indptr) - 1
        if rows != len(scores):
            raise ValueError(
                f"there are features of {rows:,} positions, but {len(scores):,} positions"
            )
        known = ~np.isnan(scores)
        self._scored = bool(known.any())
        weight = np.where(known, weight, 0) if self._scored else weight
        target = np.where(weight > 0, target, 0.5).astype(np.float32)
        model = FeatureModel(
            self._matrix, self._wiring, np.zeros(len(scores), dtype=np.float32), target,
            weight.astype(np.float32), len(train.scores), self._threads,
        )  # fmt: skip
        if not model.weights[0] > 0:
            raise ValueError("no position of training has any weight")
        tuned_part = model.linear(self._start, 0, rows)
        if self._scored:
            model.offset = np.where(known, scores - tuned_part, 0).astype(np.float32)
        else:
            model.offset = model.linear(self._start, 0, rows, all_=True) - tuned_part
        self._scores = np.where(weight > 0, scores, np.nan)[: model.train].astype(np.float32)
        self._model = model
        return model, self._games


def _parts(model: FeatureModel) -> list[tuple[Split, tuple[int, int]]]:
    return [("train", model.span(False)), ("validation", model.span(True))]


def _read(data: Data, part: Split) -> tuple[_Labels, int]:
    """Return the labels of a part, and its number of shards."""
    blocks = list(data.blocks((0,), part))
    count, shards = sum(len(block.target) for block in blocks), len(blocks)
    labels = _Labels(
        np.empty(count, np.float32),
        np.empty(count, np.float32),
        np.empty(count, np.float32),
        np.empty(count, np.uint32),
    )
    for s, block in enumerate(blocks):
        if len(block.target) != len(range(s, count, shards)):
            raise ValueError(f"block {s} of {shards} is not the shard that it should be")
        columns = (block.scores[0], block.target, block.weight, block.game)
        for into, column in zip(labels, columns, strict=True):
            into[s::shards] = column
    return labels, shards


def _row(name: str, check: FeatureCheck) -> list[Any]:
    numbers = ((check.correlation, 6), (check.slope, 4), (check.largest, 2))
    shown = [round(value, digits) if math.isfinite(value) else None for value, digits in numbers]
    return [name, *shown, check.count]


def _share(check: FeatureCheck) -> str:
    if not math.isfinite(check.correlation):
        return "nothing"
    return f"{max(check.correlation, 0) ** 2:.0%} of the variance"
