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
import numpy as np

from ringmaster.errors import counted
from ringmaster.tuners.texel.gauss_newton import GaussNewton
from ringmaster.tuners.texel.linear_model import best_of
from ringmaster.tuners.texel.loss import mean
from ringmaster.tuners.texel.optimiser import Data, Optimiser, Pass, Point, Request, Split, Theta
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
    own: float | None = None
    result: float | None = None
    teacher: float | None = None
    theta: Theta = ()


class Sweep(GaussNewton):
    """A sweep around the best values of an optimiser that has finished.

    It takes Gauss-Newton's derivatives, and a step from the same values for each pair.

    optimiser   which defines the parameters
    targets     of the pairs, each with another λ or σ
    strengths   of the ridge; the one with the smallest validation error is used, or, without
                validation, the largest
    validated   whether positions are held out
    """

    _rows: list[SweptPair]
    #: The pair whose values are to be scored.
    _pair: SweptPair | None = None

    def __init__(
        self,
        optimiser: Optimiser,
        *,
        targets: Sequence[Target],
        strengths: Sequence[float],
        validated: bool,
    ) -> None:
        super().__init__(optimiser.parameters)
        self._optimiser = optimiser
        self._codes = [p.code for p in optimiser.parameters]
        self._targets = {(target.lambda_, target.sigma): target for target in targets}
        self._strengths = tuple(strengths) if validated else (max(strengths),)
        self._part: Split = "validation" if validated else "train"
        self._rows = []

    def begin_again(self) -> None:
        """Drop passes; finished rows stay."""
        self._points, self._sides, self._wanted, self._asked = [], [], [], {}
        self._trial, self._pair, self._over = None, None, ""

    def _missing_pairs(self) -> list[tuple[float, float | None]]:
        known = {(row.lambda_, row.sigma) for row in self._rows}
        return [pair for pair in self._targets if pair not in known]

    def finished(self) -> bool:
        return bool(self._over) or not self._missing_pairs()

    def next(self, number: int) -> Pass | None:
        """Return the next pass, with this number; None while results are awaited, or at the end."""
        if self.finished():
            return None
        if not self._points:
            best = self._optimiser.best_pass
            assert best is not None
            self._best = self._base = Point(best, self._optimiser.best, 0.0)
            self._points = [self._base]
            self.distances = list(self._optimiser.distances) or self.distances
            self._linearise()
        self._number = number
        return self.ask()

    def _propose(self, data: Data) -> None:
        """Compute the values of the next pairs, up to one that needs a pass."""
        for pair in self._missing_pairs():
            self._pair = self._fitted(data.under(self._targets[pair]), *pair)
            point = self._at_hand(self._pair.theta)
            if point is None:
                self._trial = self._pair.theta
                self._wanted = [Request(self._trial, self._part)]
                return
            self._judge(point, data)
        self._stop("all pairs are scored")

    def _settle(self) -> None:
        self._stop("no parameter moves the scores")

    def _judge(self, point: Point, data: Data) -> None:
        row = self._pair
        assert row is not None
        self._trial = None
        own = self._targets[row.lambda_, row.sigma]
        targets = (own, Target(), Target("elmo", lambda_=1.0))
        row.own, row.result, row.teacher = (
            mean(
                data.loss.total(block.scores[0], block.target, block.weight)
                for block in data.under(each).blocks([point.number], self._part)
            )
            for each in targets
        )
        self._rows.append(row)
        sigma = "" if row.sigma is None else f", sigma {row.sigma:g}"
        error = "unknown" if row.own is None else f"{row.own:.8f}"
        self._notes.append(
            f"sweep: lambda {row.lambda_:g}{sigma}: error against own target {error}"
        )

    def _fitted(self, data: Data, lambda_: float, sigma: float | None) -> SweptPair:
        """Return the strength of the ridge and the values for a target."""
        scale, relative = data.teacher_scale, None
        if self._targets[lambda_, sigma].kind == "gaussian":
            relative = SIGMA_PER_SCALE if sigma is None or not scale else sigma / scale
        model = self._model(data, self._base)
        at = np.array(self._base.theta)
        point = best_of(model.path(self._strengths, at, whole=True))
        played = model.playable(point, model.quadratic(point.theta))
        return SweptPair(lambda_, sigma, relative, point.penalty.strength, theta=played)

    @property
    def rows(self) -> list[SweptPair]:
        """The finished pairs in the order of the setting."""
        known = {(row.lambda_, row.sigma): row for row in self._rows}
        return [known[pair] for pair in self._targets if pair in known]

    def report(self) -> list[OwnTable]:
        """Return the table of the finished pairs, none without any."""
        rows = self.rows
        if not rows:
            return []
        codes = tuple(self._codes) if len(self._codes) <= _COLUMNS else ()
        headers = ("lambda", "sigma", "sigma/C", "ridge", "own target", "result", "teacher", *codes)
        body: list[tuple[Any, ...]] = []
        for row in rows:
            lambda_, sigma, relative, *errors, theta = msgspec.structs.astuple(row)
            shown = None if relative is None else f"{relative:.3f}"
            body.append((lambda_, sigma, shown, *errors, *(theta if codes else ())))
        part = "validation" if self._part == "validation" else "training"
        left = len(self._missing_pairs())
        more = f", {counted(left, 'pair')} to come" if left else ""
        title = f"Sweep of targets: errors of {part} against own target, result, teacher{more}"
        return [(title, headers, body)]
