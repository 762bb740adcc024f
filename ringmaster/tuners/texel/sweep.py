"""A sweep over blended targets: the best values for each share λ of the teacher and each width σ.

After the tune, one pass for each parameter gives derivatives of all scores around the best
values.  For every pair (λ, σ) the linear model then finds the values with the least error
against the pair's target, without the engine.  One pass over the positions of validation (of
training if nothing is held out) scores these values.  Errors against different targets are not
comparable, so every row also has the errors against the results alone and the teacher alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ringmaster.errors import counted
from ringmaster.tuners.texel.fitting import best_of
from ringmaster.tuners.texel.linearised import (
    Differences,
    LinearModel,
    Side,
    columns_of,
)
from ringmaster.tuners.texel.loss import mean
from ringmaster.tuners.texel.optimiser import (
    Data,
    Optimiser,
    OwnTable,
    Pass,
    Split,
    TellResult,
    Theta,
)
from ringmaster.tuners.texel.targets import SIGMA_PER_SCALE, Target

#: Most parameters with a column in the table.
_COLUMNS = 8


class SweptPair(msgspec.Struct):
    """A pair with its best values and their errors.

    sigma     centipawns, None: λ does not depend on the score
    relative  sigma divided by the teacher's win-rate scale
    strength  of the ridge
    own, result, teacher  mean losses against the pair's target, the results, the teacher; None
                          before the values are scored
    """

    lambda_: float
    sigma: float | None
    relative: float | None
    strength: float
    theta: Theta
    own: float | None = None
    result: float | None = None
    teacher: float | None = None


class SweepState(msgspec.Struct):
    """The state of a sweep.

    base     pass at the base of the derivatives, with its values `theta`
    trial    pair whose values are to be scored, with their pass
    scored   values that were scored for a pair, with their passes
    """

    phase: Literal["begin", "base", "columns", "pairs"] = "begin"
    base: int | None = None
    theta: Theta = ()
    sides: list[Side] = []
    trial: SweptPair | None = None
    trial_number: int | None = None
    scored: list[tuple[Theta, int]] = []
    rows: list[SweptPair] = []

    def begin_again(self) -> None:
        """Drop passes; finished rows stay."""
        self.phase, self.sides, self.scored, self.trial = "begin", [], [], None


class Sweep:
    """A sweep around the best values of an optimiser that has finished.

    optimiser   which defines the parameters
    state       changes with the sweep
    targets     of the pairs, each with another λ or σ
    strengths   of the ridge; the one with the smallest validation error is used, or, without
                validation, the largest
    validated   whether positions are held out
    """

    def __init__(
        self,
        optimiser: Optimiser,
        state: SweepState,
        *,
        targets: Sequence[Target],
        strengths: Sequence[float],
        validated: bool,
    ) -> None:
        self._optimiser, self._state = optimiser, state
        self._codes = [p.code for p in optimiser.parameters]
        self._differences = Differences(optimiser.parameters, optimiser.space)
        self._targets = {(target.lambda_, target.sigma): target for target in targets}
        self._strengths = tuple(strengths) if validated else (max(strengths),)
        self._part: Split = "validation" if validated else "train"

    def _missing(self) -> list[tuple[float, float | None]]:
        known = {(row.lambda_, row.sigma) for row in self._state.rows}
        return [pair for pair in self._targets if pair not in known]

    def finished(self) -> bool:
        """Return whether all pairs have their errors."""
        return not self._missing()

    def ask(self, number: int) -> Pass | None:
        """Return the next pass, None while results are awaited or nothing is left to do.

        number  that the pass will have
        """
        s = self._state
        if s.phase == "begin" and self._missing():
            self._begin()
        if s.phase == "base" and s.base is None:
            s.base = number
            return Pass(number, s.theta, "all", keep=True)
        if s.phase == "columns":
            for side in s.sides:
                if side.number is None:
                    side.number = number
                    return Pass(number, side.theta, "all", keep=True)
        if s.phase == "pairs" and s.trial is not None and s.trial_number is None:
            s.trial_number = number
            return Pass(number, s.trial.theta, self._part, keep=True)
        return None

    def _begin(self) -> None:
        s, optimiser = self._state, self._optimiser
        s.theta, s.base = optimiser.best, optimiser.best_pass
        s.phase = "base" if s.base is None else "columns"
        distances = optimiser.distances
        if distances is None:
            distances = [self._differences.first(i) for i in range(len(self._codes))]
        sides = [self._differences.side(s.theta, i, each) for i, each in enumerate(distances)]
        s.sides = [side for side in sides if side is not None]
        s.scored = [] if s.base is None else [(s.theta, s.base)]

    def tell(self, number: int, data: Data) -> TellResult:
        """Record a pass."""
        s = self._state
        notes: list[str] = []
        if s.phase == "base":
            s.phase, s.scored = "columns", [(s.theta, number)]
        elif s.phase == "columns":
            for side in s.sides:
                side.told |= side.number == number
        elif s.trial is not None and s.trial_number == number:
            s.scored.append((s.trial.theta, number))
            notes.append(self._record(data, s.trial, number))
        if s.phase == "columns" and all(side.told for side in s.sides):
            s.phase = "pairs"
        if s.phase != "pairs" or (s.trial is not None and s.trial_number is None):
            return TellResult(tuple(notes))
        notes += self._fit(data)
        return TellResult(tuple(notes), () if s.trial is not None else self._end())

    def _end(self) -> tuple[int, ...]:
        """Return the passes whose scores are no longer needed."""
        s = self._state
        passes = {side.number for side in s.sides} | {number for _, number in s.scored} | {s.base}
        s.begin_again()
        kept = {None, 0, self._optimiser.best_pass}
        return tuple(sorted(n for n in passes - kept if n is not None))

    def _fit(self, data: Data) -> list[str]:
        """Compute the values of the next pairs, up to one that needs a pass."""
        s = self._state
        s.trial = s.trial_number = None
        notes: list[str] = []
        for pair in self._missing():
            row = self._fitted(data.under(self._targets[pair]), *pair)
            number = next((n for known, n in s.scored if known == row.theta), None)
            if number is None:
                s.trial = row
                return notes
            notes.append(self._record(data, row, number))
        return notes

    def _fitted(self, data: Data, lambda_: float, sigma: float | None) -> SweptPair:
        """Return the strength of the ridge and the values for a target."""
        s, space = self._state, self._optimiser.space
        assert s.base is not None
        scale, relative = data.teacher_scale, None
        if self._targets[lambda_, sigma].kind == "gaussian":
            relative = SIGMA_PER_SCALE if sigma is None or not scale else sigma / scale
        columns = columns_of(s.sides, s.theta)
        if columns:
            moved = LinearModel(data, space, s.base, s.theta, columns, s.base).movement()
            columns = [c for c, by in zip(columns, moved.tolist(), strict=True) if by > 0]
        if not columns:
            return SweptPair(lambda_, sigma, relative, 0.0, s.theta)
        model = LinearModel(data, space, s.base, s.theta, columns, s.base)
        fitter = model.fitter()
        point = best_of(fitter.path(self._strengths, model.theta, whole=True))
        played = fitter.playable(point, model.quadratic(point.theta)[2])
        return SweptPair(lambda_, sigma, relative, point.strength, played)

    def _record(self, data: Data, row: SweptPair, number: int) -> str:
        """Record the errors of a pair's values; return a line for the history."""
        own = self._targets[row.lambda_, row.sigma]
        targets = (own, Target(), Target("elmo", lambda_=1.0))
        losses = [
            mean(
                data.loss.total(block.scores[0], block.target, block.weight)
                for block in data.under(each).blocks([number], self._part)
            )
            for each in targets
        ]
        row.own, row.result, row.teacher = losses
        self._state.rows.append(row)
        values = ", ".join(f"{c} {v:.6g}" for c, v in zip(self._codes, row.theta, strict=True))
        width = ""
        if row.relative is not None:
            sigma = f"{row.relative:.3f} C" if row.sigma is None else f"{row.sigma:g}"
            width = f", sigma {sigma}"
        errors = ", ".join(
            f"{name} {loss:.8f}"
            for name, loss in zip(("own target", "result", "teacher"), losses, strict=True)
            if loss is not None
        )
        return f"sweep: lambda {row.lambda_:g}{width}: errors against {errors}; {values}"

    @property
    def rows(self) -> list[SweptPair]:
        """The finished pairs in the order of the setting."""
        known = {(row.lambda_, row.sigma): row for row in self._state.rows}
        return [known[pair] for pair in self._targets if pair in known]

    def report(self) -> list[OwnTable]:
        """Return the table of the finished pairs, none without any."""
        rows = self.rows
        if not rows:
            return []
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
        return [(title, headers, body)]
