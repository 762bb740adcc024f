"""A sweep over blended targets: the best values for each share λ of the teacher and each width σ.

After the tune, one pass for each parameter gives derivatives of all scores around the best
values.  For every pair (λ, σ) the linear model then finds the values with the least error
against the pair's target, without the engine.  One pass over the positions of validation (of
training if nothing is held out) scores these values.  Errors against different targets are not
comparable, so every row also has the errors against the results alone and the teacher alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
import numpy as np

from ringmaster.errors import counted
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.gauss_newton_state import Differences, Side
from ringmaster.tuners.texel.linearised import Column, LinearModel
from ringmaster.tuners.texel.loss import Array, mean
from ringmaster.tuners.texel.optimiser import (
    Data,
    Errors,
    Optimiser,
    OwnTable,
    Pass,
    RidgePath,
    Split,
    Step,
    TellResult,
)
from ringmaster.tuners.texel.targets import SIGMA_PER_SCALE, Target

#: Most parameters with a column in the table.
_COLUMNS = 8


class SweptPair(msgspec.Struct):
    """A pair with its best values and their errors.

    sigma     centipawns, None: λ does not depend on the score
    relative  sigma divided by the teacher's win-rate scale
    strength  of the ridge
    own, result, teacher  mean losses against the pair's target, the results, the teacher
    """

    lambda_: float
    sigma: float | None
    relative: float | None
    strength: float
    theta: tuple[float, ...]
    own: float | None
    result: float | None
    teacher: float | None


class _Trial(msgspec.Struct):
    """Values of a pair to be scored."""

    pair: tuple[float, float | None]
    strength: float
    theta: tuple[float, ...]
    number: int | None = None


class _State(msgspec.Struct):
    """The state of a sweep.

    number   of the next pass
    base     pass at the base of the derivatives, with its values `theta`
    scored   values that were scored for a pair, with their passes
    """

    phase: Literal["tune", "base", "columns", "pairs", "done"] = "tune"
    number: int = 0
    base: int | None = None
    theta: tuple[float, ...] = ()
    sides: list[Side] = []
    trial: _Trial | None = None
    scored: list[tuple[tuple[float, ...], int]] = []
    rows: list[SweptPair] = []


class Swept(Optimiser):
    """An optimiser followed by a sweep; the best values are the optimiser's.

    inner       the optimiser
    targets     of the pairs, each with another λ or σ
    strengths   of the ridge; the one with the smallest validation error is used, or, without
                validation, the largest
    validated   whether positions are held out
    asked       number of passes before the sweep was added
    """

    def __init__(
        self,
        inner: Optimiser,
        parameters: Sequence[TunedParameter],
        *,
        targets: Sequence[Target],
        strengths: Sequence[float],
        validated: bool,
        asked: int,
    ) -> None:
        self._inner = inner
        self._codes = [p.code for p in parameters]
        self._space = Space.of(parameters)
        self._differences = Differences(parameters, self._space)
        self._targets = {_pair(target): target for target in targets}
        self._strengths = tuple(strengths) if validated else (max(strengths),)
        self._part: Split = "validation" if validated else "train"
        self._state = _State(number=asked)

    def _missing(self) -> list[tuple[float, float | None]]:
        known = {(row.lambda_, row.sigma) for row in self._state.rows}
        return [pair for pair in self._targets if pair not in known]

    def ask(self) -> Pass | None:
        s = self._state
        if not self._inner.finished():
            asked = self._inner.ask()
            if asked is not None:
                s.number = max(s.number, asked.number + 1)
            return asked
        if s.phase in ("tune", "done") and self._missing():
            self._begin()
        if s.phase == "base" and s.base is None:
            s.base = self._next()
            return Pass(s.base, s.theta, "all", keep=True)
        if s.phase == "columns":
            for side in s.sides:
                if side.number is None:
                    side.number = self._next()
                    return Pass(side.number, side.theta, "all", keep=True)
        if s.phase == "pairs" and s.trial is not None and s.trial.number is None:
            s.trial.number = self._next()
            return Pass(s.trial.number, s.trial.theta, self._part, keep=True)
        return None

    def _next(self) -> int:
        self._state.number += 1
        return self._state.number - 1

    def _begin(self) -> None:
        s = self._state
        s.theta, s.base = self._inner.best, self._inner.best_pass
        s.phase = "base" if s.base is None else "columns"
        distances = self._inner.distances
        s.sides = []
        for i in range(len(self._codes)):
            distance = self._differences.first(i) if distances is None else distances[i]
            theta = self._differences.side(s.theta, i, distance)
            if theta is not None:
                s.sides.append(Side(i, theta))
        s.scored = [] if s.base is None else [(s.theta, s.base)]

    @property
    def is_settled(self) -> bool:
        return self._inner.finished()

    def finished(self) -> bool:
        return self._inner.finished() and not self._missing()

    def tell(self, number: int, errors: Errors, data: Data) -> TellResult:
        s = self._state
        if not self._inner.finished():
            return self._inner.tell(number, errors, data)
        notes: list[str] = []
        if s.phase == "base":
            s.phase, s.scored = "columns", [(s.theta, number)]
        elif s.phase == "columns":
            for side in s.sides:
                side.told |= side.number == number
        elif s.trial is not None and s.trial.number == number:
            s.scored.append((s.trial.theta, number))
            notes.append(self._record(data, s.trial, number))
        if s.phase == "columns" and all(side.told for side in s.sides):
            s.phase = "pairs"
        if s.phase == "pairs" and (s.trial is None or s.trial.number is not None):
            notes += self._fit(data)
        return TellResult(tuple(notes), self._tidy())

    def _tidy(self) -> tuple[int, ...]:
        """Return passes whose scores are no longer needed."""
        s = self._state
        if s.phase != "done":
            return ()
        passes = {side.number for side in s.sides} | {number for _, number in s.scored} | {s.base}
        s.sides, s.scored = [], []
        kept = {None, 0, self._inner.best_pass}
        return tuple(sorted(n for n in passes - kept if n is not None))

    def _fit(self, data: Data) -> list[str]:
        """Compute the values of the next pairs, up to one that needs a pass."""
        s = self._state
        s.trial = None
        notes: list[str] = []
        for pair in self._missing():
            strength, theta = self._fitted(data.under(self._targets[pair]))
            s.trial = _Trial(pair, strength, theta)
            number = next((n for known, n in s.scored if known == theta), None)
            if number is None:
                return notes
            notes.append(self._record(data, s.trial, number))
        s.trial, s.phase = None, "done"
        return notes

    def _fitted(self, data: Data) -> tuple[float, tuple[float, ...]]:
        """Return the strength of the ridge and the values for a target."""
        s = self._state
        assert s.base is not None
        base = np.array(s.theta)
        columns = [
            Column(side.place, side.number, s.base, side.theta[side.place] - s.theta[side.place])
            for side in s.sides
            if side.number is not None
        ]
        if columns:
            moved = LinearModel(data, self._space, s.base, base, columns).movement()
            columns = [c for c, by in zip(columns, moved.tolist(), strict=True) if by > 0]
        if not columns:
            return 0.0, s.theta
        model = LinearModel(data, self._space, s.base, base, columns)
        fits = model.fit(self._strengths)
        used = 0
        if len(fits) > 1:
            held = model.losses([fitted.theta for fitted in fits], "validation")
            # of equal fits the strongest
            used = min(range(len(fits)), key=lambda k: (held[k], -fits[k].strength))
        return fits[used].strength, tuple(fits[used].rounded.tolist())

    def _record(self, data: Data, trial: _Trial, number: int) -> str:
        """Record the errors of a pair's values; return a line for the history."""
        lambda_, sigma = trial.pair
        target = self._targets[trial.pair]
        scale, relative = data.teacher_scale, None
        if target.kind == "gaussian":
            relative = SIGMA_PER_SCALE if sigma is None or not scale else sigma / scale
        losses = [
            self._loss(data.under(each), number)
            for each in (target, Target(), Target("elmo", lambda_=1.0))
        ]
        row = SweptPair(lambda_, sigma, relative, trial.strength, trial.theta, *losses)
        self._state.rows.append(row)
        values = ", ".join(f"{c} {v:.6g}" for c, v in zip(self._codes, row.theta, strict=True))
        width = "" if relative is None else f", sigma {_width(row)}"
        errors = ", ".join(
            f"{name} {loss:.8f}"
            for name, loss in zip(("own target", "result", "teacher"), losses, strict=True)
            if loss is not None
        )
        return f"sweep: lambda {lambda_:g}{width}: errors against {errors}; {values}"

    def _loss(self, data: Data, number: int) -> float | None:
        return mean(
            data.loss.total(block.scores[0], block.target, block.weight)
            for block in data.blocks([number], self._part)
        )

    @property
    def best(self) -> tuple[float, ...]:
        return self._inner.best

    @property
    def best_pass(self) -> int | None:
        return self._inner.best_pass

    @property
    def course(self) -> Sequence[Step]:
        return self._inner.course

    @property
    def problem(self) -> str | None:
        return self._inner.problem

    @property
    def intervals(self) -> tuple[Array, Array] | None:
        return self._inner.intervals

    @property
    def ridge_paths(self) -> Sequence[RidgePath]:
        return self._inner.ridge_paths

    def flags(self) -> dict[int, tuple[str, ...]]:
        return self._inner.flags()

    def set_features(self, matrix: Any, fixed: Mapping[str, float] | None = None) -> None:
        """Pass the features of a linear evaluation to the optimiser.  Raises ValueError."""
        cast(Any, self._inner).set_features(matrix, fixed)

    @property
    def rows(self) -> list[SweptPair]:
        """The finished pairs in the order of the setting."""
        known = {(row.lambda_, row.sigma): row for row in self._state.rows}
        return [known[pair] for pair in self._targets if pair in known]

    def report(self) -> list[OwnTable]:
        tables, rows = self._inner.report(), self.rows
        if not rows:
            return tables
        codes = tuple(self._codes) if len(self._codes) <= _COLUMNS else ()
        headers = ("lambda", "sigma", "sigma/C", "ridge", "own target", "result", "teacher", *codes)
        body: list[tuple[Any, ...]] = [
            (
                row.lambda_,
                row.sigma,
                None if row.relative is None else f"{row.relative:.3f}",
                row.strength,
                row.own,
                row.result,
                row.teacher,
                *(row.theta if codes else ()),
            )
            for row in rows
        ]
        part = "validation" if self._part == "validation" else "training"
        left = len(self._missing())
        more = f", {counted(left, 'pair')} to come" if left else ""
        title = f"Sweep of targets: errors of {part} against own target, result, teacher{more}"
        return [*tables, (title, headers, body)]

    def state(self) -> dict[str, Any]:
        return {"inner": self._inner.state(), "sweep": msgspec.to_builtins(self._state)}

    def restore(self, state: Mapping[str, Any]) -> None:
        if "inner" in state:
            self._state = msgspec.convert(state["sweep"], _State)
        self._inner.restore(inner_state(state))

    def begin_again(self) -> None:
        """Drop passes under way because other pairs are wanted; finished rows stay."""
        s = self._state
        s.phase, s.sides, s.scored, s.trial = "tune", [], [], None


def inner_state(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the optimiser's state from a state with or without a sweep."""
    inner: Mapping[str, Any] = state.get("inner", state)
    return inner


def _pair(target: Target) -> tuple[float, float | None]:
    return target.lambda_, target.sigma


def _width(row: SweptPair) -> str:
    return f"{row.relative:.3f} C" if row.sigma is None else f"{row.sigma:g}"
