"""A sweep over blended targets: the best values for each share λ of the teacher and each width σ.

After the tune, one pass for each parameter gives derivatives of all scores around the best
values.  For every pair (λ, σ) the linear model then finds the values with the least error
against the pair's target, without the engine.  One pass over the positions of validation (of
training if nothing is held out) scores these values.  Errors against different targets are not
comparable, so every row also has the errors against the results alone and the teacher alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ringmaster.errors import counted
from ringmaster.tuners.texel.linear_model import best_of
from ringmaster.tuners.texel.linearised import Column, DifferenceModel, Differences
from ringmaster.tuners.texel.loss import mean
from ringmaster.tuners.texel.optimiser import Data, Optimiser, Pass, Split, TellResult, Theta
from ringmaster.tuners.texel.ridge import OwnTable
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

    scored     values with their kept passes; the first are those at the base of the derivatives
    sides      parameters with the values of their differences
    wanted     values to be scored; asked: those under way, with their passes
    trial      pair whose values are to be scored
    """

    scored: list[tuple[Theta, int]] = []
    sides: list[tuple[int, Theta]] = []
    wanted: list[Theta] = []
    asked: list[tuple[Theta, int]] = []
    trial: SweptPair | None = None
    rows: list[SweptPair] = []

    def begin_again(self) -> None:
        """Drop passes; finished rows stay."""
        self.scored, self.sides, self.wanted, self.asked, self.trial = [], [], [], [], None


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
        if not s.scored and self._missing():
            self._begin()
        if not s.wanted:
            return None
        theta = s.wanted.pop(0)
        s.asked.append((theta, number))
        return Pass(number, theta, "all" if s.trial is None else self._part, keep=True)

    def _begin(self) -> None:
        s, optimiser = self._state, self._optimiser
        theta, base = optimiser.best, optimiser.best_pass
        assert base is not None
        distances = optimiser.distances
        if distances is None:
            distances = [self._differences.first(i) for i in range(len(self._codes))]
        sides = [self._differences.side(theta, i, each) for i, each in enumerate(distances)]
        s.sides = [(i, side) for i, side in enumerate(sides) if side is not None]
        s.wanted, s.scored = [side for _, side in s.sides], [(theta, base)]

    def tell(self, number: int, data: Data) -> TellResult:
        """Record a pass; unknown ones are ignored."""
        s = self._state
        told = [each for each in s.asked if each[1] == number]
        s.asked = [each for each in s.asked if each not in told]
        # the state must not depend on the order of results
        s.scored = s.scored[:1] + sorted(s.scored[1:] + told, key=lambda each: each[1])
        if not told or s.wanted or s.asked:
            return TellResult()
        notes = [] if s.trial is None else [self._record(data, s.trial, number)]
        notes += self._fit(data)
        return TellResult(tuple(notes), () if s.trial is not None else self._end())

    def _end(self) -> tuple[int, ...]:
        """Return the passes whose scores are no longer needed."""
        passes = {number for _, number in self._state.scored}
        self._state.begin_again()
        return tuple(sorted(passes - {0, self._optimiser.best_pass}))

    def _fit(self, data: Data) -> list[str]:
        """Compute the values of the next pairs, up to one that needs a pass."""
        s, numbers = self._state, dict(self._state.scored)
        s.trial = None
        notes: list[str] = []
        for pair in self._missing():
            row = self._fitted(data.under(self._targets[pair]), *pair)
            if row.theta not in numbers:
                s.trial, s.wanted = row, [row.theta]
                break
            notes.append(self._record(data, row, numbers[row.theta]))
        return notes

    def _fitted(self, data: Data, lambda_: float, sigma: float | None) -> SweptPair:
        """Return the strength of the ridge and the values for a target."""
        s, space = self._state, self._optimiser.space
        (theta, base), numbers = s.scored[0], dict(s.scored)
        scale, relative = data.teacher_scale, None
        if self._targets[lambda_, sigma].kind == "gaussian":
            relative = SIGMA_PER_SCALE if sigma is None or not scale else sigma / scale
        columns = [Column(i, numbers[side], side[i] - theta[i]) for i, side in s.sides]
        model = DifferenceModel(data, space, base, theta, columns, base)
        columns = [c for c, moved in zip(columns, model.movement(), strict=True) if moved > 0]
        if not columns:
            return SweptPair(lambda_, sigma, relative, 0.0, theta)
        model = DifferenceModel(data, space, base, theta, columns, base)
        point = best_of(model.path(self._strengths, model.theta, whole=True))
        played = model.playable(point, model.quadratic(point.theta))
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
