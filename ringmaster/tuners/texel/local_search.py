"""Local search: one parameter after another is changed by a step.

A change is kept if the error falls.  P. Österlund, "Texel's Tuning Method" (Chess Programming
Wiki): for each parameter +1 is tried and kept if the error falls, else −1, until nothing
improves.  Here steps differ by parameter: a successful step is doubled and tried first in the
same direction; a step that fails both ways is halved, down to `precision`.  The search ends when
no change by the precision lowers the error, as Österlund's does.

Each change takes a pass, one after another: the next change depends on the last result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.optimiser import LEAST_DECREASE, WORST, Arguments, Point, Theta
from ringmaster.tuners.texel.searching import Search, first_steps, tuned_blocks

#: Largest step as a share of the range.
MOST_SHARE = 1 / 4
#: Precision of fractional parameters as a share of the range.
PRECISION_SHARE = 1 / 1024


class LocalSearch(Search):
    """Österlund's local search.

    groups     names of groups, searched one after another in rounds; None: all together
    grow       factor of a successful step
    precision  smallest step as a share of the range; 1 for integers

    Other arguments: see `Search`.
    """

    _base: Theta
    _base_error: float = WORST
    _steps: list[float]
    _way: list[int]
    _moved: list[bool]
    _block: int = 0
    _sweep: int = 0
    _place: int = 0
    #: Whether the change is the second one, the other way.
    _second: bool = False
    #: Whether this sweep changed a value or a step, and this round changed a value.
    _busy: bool = False
    _gained: bool = False
    _tried: int = 0
    _kept: int = 0

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        groups: Sequence[str] | None = None,
        grow: float = 2.0,
        precision: float = PRECISION_SHARE,
        **common: Unpack[Arguments],
    ) -> None:
        super().__init__(parameters, **common)
        self.grow = grow
        self.least = np.where(self.space.integer, 1.0, precision * self.space.width)
        self.most = np.maximum(MOST_SHARE * self.space.width, self.least)
        self._blocks = tuned_blocks(self.parameters, groups)
        self._base = self._start
        self._steps = np.clip(first_steps(self.parameters), self.least, self.most).tolist()
        self._way = [1] * len(self.parameters)
        self._moved = [False] * len(self.parameters)

    def _begin(self, error: float) -> None:
        self._base_error = error

    def _round(self) -> tuple[int, str]:
        return 0, f"sweep {self._sweep + 1}"

    def _values(self) -> list[Theta]:
        theta, i = np.array(self._base), self._blocks[self._block][self._place]
        theta[i] += self._way[i] * self._steps[i] * (-1 if self._second else 1)
        return [self.space.played(theta)]

    def _learn_errors(self, values: list[Theta], errors: list[float]) -> None:
        i, theta, error = self._blocks[self._block][self._place], values[0], errors[0]
        self._tried += 1
        # a change of the ridge alone is no signal
        change = error - self.penalty(theta) - self._base_error + self.penalty(self._base)
        if abs(change) > LEAST_DECREASE:
            self._moved[i] = True
        if error < self._base_error - LEAST_DECREASE:
            self._base, self._base_error = theta, error
            self._way[i] *= -1 if self._second else 1
            self._steps[i] = self._fitted(i, self._steps[i] * self.grow)
            self._busy = self._gained = True
            self._kept += 1
            self._take(theta, error, f"sweep {self._sweep + 1}")
            self._notes.append(
                f"{self.parameters[i].code} = {theta[i]:.7g}: training error {error:.9f}"
            )
        elif not self._second:
            self._second = True
            return
        elif self._steps[i] > self.least[i]:
            self._steps[i] = self._fitted(i, self._steps[i] / 2)
            self._busy = True
        self._second, self._place = False, self._place + 1
        if self._place == len(self._blocks[self._block]):
            if self._validated and not self._is_checked(self._base):
                self._due = self._base
            else:
                self._end_sweep()

    def _learn_check(self, point: Point, better: bool) -> None:
        self._end_sweep()

    def _end_sweep(self) -> None:
        self._tried = self._kept = 0
        self._silent = [i for i, moved in enumerate(self._moved) if not moved]
        self._place, self._sweep = 0, self._sweep + 1
        if self._busy:
            self._busy = False
            return
        self._block += 1
        if self._block == len(self._blocks):
            self._block = 0
            if not self._gained or len(self._blocks) == 1:
                self._stop("no change of a parameter lowers the error")
            self._gained = False

    def _finalists(self) -> list[Theta]:
        return [self._base]

    def _fitted(self, i: int, step: float) -> float:
        step = min(max(step, float(self.least[i])), float(self.most[i]))
        return float(math.floor(step)) if self.space.integer[i] else step

    def _extras(self) -> dict[str, float]:
        return {"tried": float(self._tried), "kept": float(self._kept)} if self._tried else {}
