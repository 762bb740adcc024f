"""The linear optimiser, for engines that can print how often each weight is counted: the
score is then a sum of counts times weights, and its error is minimised in process, by
millions of positions a second.

It needs three passes of the engine: the start values, by which the part of the score that is
not tuned is found; values moved at random, which show whether the scores change as the
features say (the tune is refused when they do not); and the values that were found, so that
what is reported is the engine's own error.  Without an engine's scores (all NaN in pass 0)
the model stands alone.

How a competition hands over features
-------------------------------------
``Linear.needs_features`` is true.  Before anything is told, and after each ``restore``,
``set_features(matrix, fixed)`` is called: `matrix` is a ``positions.FeatureFile`` whose row i
is position i of the position file, `fixed` has the values of frozen parameters.  `names`
below are ``features_of(codes of all parameters, tapered)``.  The file comes

- from a CSV or NPZ file, or a function of the position:
  ``datasets.features.build(source, positions, names, target, say, phase=tapered,
  unnamed=…, version=source of the function)``;
- from a function of (answer, position): ``datasets.features.Pieces(function, positions, names,
  target, …)``; where ``kept()`` gives no file, evaluation jobs with ``answers=True`` for the
  shards that are ``missing(shards)``, each handed to ``put(shard, range(first, stop, step),
  answers)``, and ``finish(shards)`` at last.

The blocks of ``Data.blocks`` are the shards in their order: of T shards of a part with n
positions, block s has positions range(s, n, T).

When ``Linear.problem`` is not None the tune is to be halted with this sentence; the optimiser
is finished then, with the start values as its best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.flags import NO_SIGNAL, alike, noise_flags, value_flags
from ringmaster.tuners.texel.linear_check import Agreement, moved
from ringmaster.tuners.texel.linear_fit import (
    LEARNING_RATE,
    METHODS,
    Fitter,
    Method,
)
from ringmaster.tuners.texel.linear_model import BLOCK, FeatureModel, Matrix, Wiring
from ringmaster.tuners.texel.linearised import whole_bounds
from ringmaster.tuners.texel.optimiser import (
    Array,
    Data,
    Errors,
    Floats,
    Optimiser,
    Pass,
    Step,
    Told,
)
from ringmaster.tuners.texel.ridge import DEFAULT_STRENGTH, PATH
from ringmaster.tuners.texel.sandwich import NORMAL

Theta = tuple[float, ...]
Half = Literal["train", "validation"]

_LABELS = {"moved": "check of the features", "fitted": "fitted"}


class _Labels(NamedTuple):
    """All positions of a part in the order of the position file."""

    scores: Floats
    target: Floats
    weight: Floats
    game: npt.NDArray[np.uint32]


class Linear(Optimiser):
    """Minimises the error of a sum of counts times weights.

    features       where the counts come from; for whoever calls `set_features`
    tapered        whether weights come in pairs, NAME_mg and NAME_eg, shared out by the phase;
                   a parameter without such an ending is then both weights of its feature
    unnamed        what is to be done with features that are the weight of no parameter
    method         "lbfgs" or "adam"
    epochs, learning_rate, batch, patience  of Adam, see `Fitter`
    ridge          strengths of the ridge that are tried, (None,): the usual path; None: no ridge
    check          whether a pass is spent on seeing that the scores change as the features say
    validated      whether there are positions of validation; without them a path of strengths
                   is not to be had, and the usual one strength is taken
    threads        0: as many as there are processors

    Raises ValueError, with a sentence on the argument, where one makes no sense.
    """

    needs_features: ClassVar[bool] = True

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        features: Any = None,
        tapered: bool = False,
        unnamed: Literal["refuse", "ignore"] = "refuse",
        method: Method = "lbfgs",
        epochs: int = 40,
        learning_rate: float = LEARNING_RATE,
        batch: int = BLOCK,
        patience: int | None = 5,
        ridge: Sequence[float | None] | None = (None,),
        check: bool = True,
        validated: bool = True,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        if not parameters:
            raise ValueError("there is no parameter to tune")
        if method not in METHODS:
            raise ValueError(f'method must be "lbfgs" or "adam", not {method!r}')
        if epochs < 1 or batch < 1:
            raise ValueError("epochs and batch must be 1 or more")
        if not 0 < learning_rate < math.inf:
            raise ValueError(f"learning_rate must be above 0, not {learning_rate:g}")
        self.parameters = tuple(parameters)
        self.space = Space.of(parameters)
        self.source, self.tapered, self.method = features, tapered, method
        self.unnamed = unnamed
        self.seed = seed
        self._epochs, self._rate, self._batch = epochs, learning_rate, batch
        self._patience = patience or epochs
        self._strengths = _strengths(ridge, validated)
        self._check, self._threads = check, threads
        self._start = self._played(self.space.start)
        self._matrix: Matrix | None = None
        self._wiring: Wiring | None = None
        #: Called with a line now and then while a fit is under way, which may take minutes.
        self.say: Callable[[str], None] = lambda line: None
        self._model: FeatureModel | None = None
        self._games = np.zeros(0, dtype=np.uint32)
        self._scores: Floats = np.zeros(0, dtype=np.float32)
        self._scored = False
        self._shards: dict[Half, int] = {}
        #: The next pass to be asked for, by what it is for, and those under way.
        self._wanted: tuple[str, Theta] | None = ("start", self._start)
        self._asked: dict[int, str] = {}
        self._values: dict[int, Theta] = {}
        self._number = 0
        self._used = 0.0
        self._over = False
        self._problem: str | None = None
        self._best: Theta = self._start
        self._best_pass: int | None = None
        self._course: list[Step] = []
        self._path: list[list[float | None]] = []
        self._chosen = 0.0
        self._agreements: list[list[Any]] = []
        #: The least point before rounding, its standard errors, what is odd with parameters.
        self._least: Theta = self._start
        self._errors: list[float | None] | None = None
        self._odd: dict[int, list[str]] = {}

    # Features

    @property
    def problem(self) -> str | None:
        """Why the tune cannot go on, None where it can."""
        return self._problem

    def set_features(self, matrix: Matrix, fixed: Mapping[str, float] | None = None) -> None:
        """Take the counts of all positions.

        fixed  values of parameters that are not tuned; they matter only where no position
               has a score

        Raises ValueError when a parameter has no feature or no position has a phase.
        """
        codes = [p.code for p in self.parameters]
        if self.tapered and matrix.phase is None:
            raise ValueError(
                "a tapered evaluation needs the phase of each position, 1 in the opening and 0 "
                'in the endgame: a feature called "phase"'
            )
        self._wiring = Wiring.of(matrix.names, codes, self.tapered, fixed)
        self._matrix = matrix

    # The contract

    def ask(self) -> Pass | None:
        if self._wanted is None:
            return None
        purpose, theta = self._wanted
        self._wanted = None
        number, self._number = self._number, self._number + 1
        self._asked[number] = purpose
        self._values[number] = theta
        return Pass(number, theta, "all", True)

    def tell(self, number: int, errors: Errors, data: Data) -> Told:
        purpose = self._asked.pop(number, None)
        if purpose is None:
            return Told()
        theta = self._values[number]
        self._used += 1
        errors = Errors(_number(errors.train), _number(errors.validation))
        if purpose == "start":
            return self._told_start(errors, data)
        step = Step(self._used, theta, errors.train, errors.validation, _LABELS[purpose])
        if purpose == "moved":
            self._course.append(msgspec.structs.replace(step, taken=False))
            return self._told_moved(number, data)
        return self._told_fitted(number, step, data)

    def finished(self) -> bool:
        return self._over and not self._asked and self._wanted is None

    @property
    def best(self) -> Theta:
        return self._best

    @property
    def best_pass(self) -> int | None:
        return self._best_pass

    @property
    def course(self) -> Sequence[Step]:
        return tuple(self._course)

    def report(self) -> list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]]:
        tables: list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]] = []
        if self._path:
            rows = [
                (*row, "taken" if row[0] == self._chosen else "")
                for row in sorted(self._path, key=lambda row: row[0] or 0.0)
            ]
            headers = ("ridge", "training", "validation", "gradients", "")
            tables.append(("Strengths of the ridge, by the linear model", headers, rows))
        if self._agreements:
            headers = ("scores", "correlation", "slope", "largest difference", "positions")
            rows = [tuple(row) for row in self._agreements]
            tables.append(("The linear model against the engine", headers, rows))
        return tables

    def flags(self) -> dict[int, tuple[str, ...]]:
        found = {i: list(words) for i, words in value_flags(self.space, self._best).items()}
        for i, words in self._odd.items():
            found.setdefault(i, []).extend(words)
        if (ends := self.intervals) is not None:
            for i, word in noise_flags(self.space, self._best, ends).items():
                if NO_SIGNAL not in found.get(i, ()):
                    found.setdefault(i, []).append(word)
        return {i: tuple(words) for i, words in sorted(found.items())}

    @property
    def intervals(self) -> tuple[Array, Array] | None:
        if self._errors is None or self._best == self._start:
            return None
        best = np.array(self._best)
        wide = NORMAL * np.array([math.inf if e is None else e for e in self._errors])
        middle = np.array(self._least)
        return (
            self.space.clip(np.minimum(middle - wide, best)),
            self.space.clip(np.maximum(middle + wide, best)),
        )

    def state(self) -> dict[str, Any]:
        return {
            "wanted": None if self._wanted is None else [self._wanted[0], list(self._wanted[1])],
            "asked": {str(number): purpose for number, purpose in self._asked.items()},
            "values": {str(number): list(theta) for number, theta in self._values.items()},
            "number": self._number,
            "used": self._used,
            "over": self._over,
            "problem": self._problem,
            "best": [list(self._best), self._best_pass],
            "course": [msgspec.structs.asdict(step) for step in self._course],
            "path": self._path,
            "chosen": self._chosen,
            "agreements": self._agreements,
            "least": list(self._least),
            "errors": self._errors,
            "odd": {str(i): words for i, words in self._odd.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        wanted = state["wanted"]
        self._wanted = None if wanted is None else (wanted[0], tuple(wanted[1]))
        self._asked = {int(number): purpose for number, purpose in state["asked"].items()}
        self._values = {int(number): tuple(theta) for number, theta in state["values"].items()}
        self._number, self._used, self._over = state["number"], state["used"], state["over"]
        self._problem = state["problem"]
        self._best, self._best_pass = tuple(state["best"][0]), state["best"][1]
        self._course = [Step(**{**s, "theta": tuple(s["theta"])}) for s in state["course"]]
        self._path, self._chosen = [list(row) for row in state["path"]], state["chosen"]
        self._agreements = [list(row) for row in state["agreements"]]
        self._least, self._errors = tuple(state["least"]), state["errors"]
        self._odd = {int(i): list(words) for i, words in state["odd"].items()}
        self._model = None

    # What is made of each pass

    def _told_start(self, errors: Errors, data: Data) -> Told:
        model, games = self._loaded(data)
        self._best_pass = 0
        train, validation = errors.train, errors.validation
        if not self._scored:
            train, validation = self._model_errors(model, data, self._start)
        self._course.append(Step(self._used, self._start, train, validation, "start"))
        if not self._scored:
            return Told(notes=tuple(self._fit(model, games, data)), step=True)
        part = Agreement.of(model.linear(self._start, 0, model.train), self._scores)
        self._agreements.append(_row("start values, offset not added", part))
        notes = [f"the features make {_share(part)} of the scores of the start values"]
        if self._check:
            theta = moved(model, self.space, self.seed)
            if theta == self._start:
                return self._refused("no parameter has room within its bounds", notes)
            self._wanted = ("moved", theta)
            return Told(notes=tuple(notes))
        return Told(notes=(*notes, *self._fit(model, games, data)))

    def _told_moved(self, number: int, data: Data) -> Told:
        model, games = self._loaded(data)
        found = self._compared(model, number, data, "change at random values")
        if found.problem:
            return self._refused(found.problem, [], forget=(number,))
        notes = [f"the scores change as the features say: {found.numbers}"]
        if found.doubtful:
            notes.append("the evaluation is not quite linear in these weights")
        return Told(notes=(*notes, *self._fit(model, games, data)), forget=(number,))

    def _told_fitted(self, number: int, step: Step, data: Data) -> Told:
        model, _ = self._loaded(data)
        found = self._compared(model, number, data, "change at the values found")
        before = self._course[0]
        held = step.validation is not None and before.validation is not None
        new, old = (step.validation, before.validation) if held else (step.train, before.train)
        better = new is not None and old is not None and new < old
        self._over = True
        self._course.append(
            msgspec.structs.replace(step, taken=better, extra={"ridge": self._chosen})
        )
        notes = [f"at the values found the engine agrees with the model: {found.numbers}"]
        if found.problem:
            notes = [f"at the values found {found.problem}"]
        if not better:
            notes.append(
                f"the engine's error does not fall ({old:.7f} → {new:.7f}); the start values stay"
                if new is not None and old is not None
                else "there is no error to compare; the start values stay"
            )
            return Told(notes=tuple(notes), forget=(number,))
        self._best, self._best_pass = step.theta, number
        return Told(notes=tuple(notes), step=True)

    def _refused(self, why: str, notes: list[str], forget: tuple[int, ...] = ()) -> Told:
        self._problem, self._over = why, True
        return Told(notes=(*notes, why), forget=forget)

    def _fit(self, model: FeatureModel, games: npt.NDArray[np.uint32], data: Data) -> list[str]:
        """Minimise in process; ask for a pass of what was found, or end."""
        fitter = Fitter(
            model, self.space, data.loss, self.method, self._epochs, self._rate, self._batch,
            self._patience, self.seed,
        )  # fmt: skip
        points = fitter.path(self._strengths, self.say)
        point = min(points, key=lambda p: p.train if p.validation is None else p.validation)
        self._path = [[p.strength, p.train, p.validation, p.gradients] for p in points]
        self._chosen, self._least = point.strength, tuple(point.theta.tolist())
        curvature = fitter.curvature(point.theta, games)
        self._errors = [float(e) if math.isfinite(e) else None for e in curvature.deviations]
        self._odd = self._oddities(curvature.matrix)
        found = self._played(fitter.playable(point, curvature.matrix))
        gradients = sum(p.gradients for p in points)
        notes = [
            f"{self.method}: {len(points)} strengths of the ridge, {gradients:g} gradients of "
            f"{model.train:,} positions; ridge {point.strength:g} taken"
        ]
        if found == self._start:
            self._over = True
            return [*notes, "what was found are the start values"]
        if self._scored:
            self._wanted = ("fitted", found)
            return notes
        self._over = True
        train, validation = self._model_errors(model, data, found)
        self._course.append(
            Step(self._used, found, train, validation, "fitted", extra={"ridge": self._chosen})
        )
        self._best, self._best_pass = found, None
        return [*notes, "no position has a score of the engine: errors are the model's"]

    def _oddities(self, curvature: Array) -> dict[int, list[str]]:
        found = {i: [NO_SIGNAL] for i in np.flatnonzero(np.diag(curvature) <= 0).tolist()}
        for i, other in alike(curvature).items():
            found.setdefault(i, []).append(f"not told apart from {self.parameters[other].code}")
        return found

    def _compared(self, model: FeatureModel, number: int, data: Data, name: str) -> Agreement:
        """Compare the changes since the start, of training and of validation."""
        theta = self._values[number]
        count = len(model.offset)
        predicted = model.linear(np.array(theta) - np.array(self._start), 0, count)
        real = np.empty(count, dtype=np.float32)
        for part, (first, stop) in _parts(model):
            for s, block in enumerate(data.blocks((0, number), part)):
                rows = slice(first + s, stop, self._shards[part])
                real[rows] = block.scores[1] - block.scores[0]
        real[model.weight <= 0] = np.nan
        found = Agreement.of(predicted, real)
        self._agreements.append(_row(name, found))
        return found

    def _model_errors(
        self, model: FeatureModel, data: Data, theta: Theta
    ) -> tuple[float, float | None]:
        held = model.error(theta, data.loss, held=True) if model.held else None
        return model.error(theta, data.loss), held

    def _loaded(self, data: Data) -> tuple[FeatureModel, npt.NDArray[np.uint32]]:
        """Return the positions as a model, with the games that they are of."""
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
        of_tuned = model.linear(self._start, 0, rows)
        if self._scored:
            model.offset = np.where(known, scores - of_tuned, 0).astype(np.float32)
        else:
            model.offset = model.linear(self._start, 0, rows, all_=True) - of_tuned
        self._scores = np.where(weight > 0, scores, np.nan)[: model.train].astype(np.float32)
        self._model = model
        return model, self._games

    def _played(self, theta: Array) -> Theta:
        low, high = whole_bounds(self.space)
        whole = np.floor(theta + 0.5)
        return tuple(np.clip(np.where(self.space.integer, whole, theta), low, high).tolist())


def _strengths(ridge: Sequence[float | None] | None, validated: bool) -> list[float]:
    if ridge is None:
        return [0.0]
    given = [strength for strength in ridge if strength is not None]
    if any(not (math.isfinite(s) and s >= 0) for s in given):
        raise ValueError("the ridge's strengths must be 0 or more")
    if len(given) < len(ridge):
        return list(PATH) if validated else [DEFAULT_STRENGTH]
    return given


def _parts(model: FeatureModel) -> list[tuple[Half, tuple[int, int]]]:
    return [("train", model.span(False)), ("validation", model.span(True))]


def _read(data: Data, part: Half) -> tuple[_Labels, int]:
    """Return a part's labels with the number of its shards."""
    blocks = list(data.blocks((0,), part))
    count, shards = sum(len(block.target) for block in blocks), len(blocks)
    found = _Labels(
        np.empty(count, np.float32),
        np.empty(count, np.float32),
        np.empty(count, np.float32),
        np.empty(count, np.uint32),
    )
    for s, block in enumerate(blocks):
        if len(block.target) != len(range(s, count, shards)):
            raise ValueError(f"block {s} of {shards} is not the shard that it should be")
        columns = (block.scores[0], block.target, block.weight, block.game)
        for into, column in zip(found, columns, strict=True):
            into[s::shards] = column
    return found, shards


def _number(error: float | None) -> float | None:
    """Return an error, None where it is none."""
    return error if error is not None and math.isfinite(error) else None


def _row(name: str, found: Agreement) -> list[Any]:
    numbers = ((found.correlation, 6), (found.slope, 4), (found.largest, 2))
    shown = [round(value, digits) if math.isfinite(value) else None for value, digits in numbers]
    return [name, *shown, found.count]


def _share(found: Agreement) -> str:
    if not math.isfinite(found.correlation):
        return "nothing"
    return f"{max(found.correlation, 0) ** 2:.0%} of the variance"
