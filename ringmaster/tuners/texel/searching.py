"""Base of the optimisers that see only errors: batches, known errors, checks.

Such an optimiser scores some values on a batch of shards, then others on the next.  Promising
values are checked by a pass over all positions, whose scores are kept.  The best values are among
the checked ones.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import BATCHES_STREAM, word_array
from ringmaster.tuners.texel.loss import Array
from ringmaster.tuners.texel.optimiser import (
    Arguments,
    Data,
    Optimiser,
    Part,
    Point,
    Request,
    Theta,
)
from ringmaster.tuners.texel.ridge import Penalty

#: First steps and perturbations as a share of the range.
STEP_SHARE = 1 / 32


class Search(Optimiser):
    """Base of the optimisers that see only errors, of some values at a time on one batch.

    A batch has `size` shards in random order, in a new order each time all have been used.  The
    remainder of an order is not used.

    batch  share of the training shards in a batch; 1: all

    Other arguments: see `Optimiser`.
    """

    #: Penalised errors of training, and checked values, by `key_of`.
    _known: dict[str, float]
    _checked: set[str]
    #: Penalised errors on the present batch, by `key_of`.
    _errors: dict[str, float]
    #: Values that must be checked before the next batch.
    _due: Theta | None = None

    def __init__(
        self, parameters: Sequence[TunedParameter], batch: float = 1.0, **common: Unpack[Arguments]
    ) -> None:
        super().__init__(parameters, **common)
        self.penalty = Penalty(self.space, self.strength)
        self.size = min(self.shards, max(1, math.ceil(batch * self.shards - 1e-9)))
        self.share, self.whole = self.size / self.shards, self.size == self.shards
        self._known, self._checked, self._errors = {}, set(), {}

    def _begin(self, error: float) -> None:
        """Record the penalised training error of the start values."""

    @abstractmethod
    def _round(self) -> tuple[int, str]:
        """Return the number of the present batch, and its name in the course."""

    @abstractmethod
    def _values(self) -> list[Theta]:
        """Return the values to be scored on the present batch."""

    @abstractmethod
    def _learn_errors(self, values: list[Theta], errors: list[float]) -> None:
        """Learn from the penalised errors of `_values` on the present batch."""

    def _learn_check(self, point: Point, better: bool) -> None:
        """Record the check of values that were due, and whether they are the best so far."""

    @abstractmethod
    def _finalists(self) -> list[Theta]:
        """Return values that must be checked before the end."""

    def _extras(self) -> dict[str, float]:
        return {}

    def batch(self, number: int) -> tuple[int, ...]:
        """Return the shards of a batch, in order; a function of the seed and the number."""
        epoch, place = divmod(number, self.shards // self.size)
        random = word_array(self.seed, BATCHES_STREAM, epoch, self.shards)
        order = np.argsort(random, kind="stable")
        return tuple(sorted(order[place * self.size : (place + 1) * self.size].tolist()))

    def _batch(self) -> Part:
        return "train" if self.whole else self.batch(self._round()[0])

    def finished(self) -> bool:
        return super().finished() and not self._unchecked()

    def _is_checked(self, theta: Theta) -> bool:
        return key_of(theta) in self._checked

    def _unchecked(self) -> list[Theta]:
        """Return values that remain to be checked at the end."""
        wanted = [*self._finalists(), self._best.theta]
        return [theta for theta in dict.fromkeys(wanted) if not self._is_checked(theta)]

    def _advance(self, data: Data) -> None:
        if self._errors:
            values = self._values()
            self._learn_errors(values, [self._errors[key_of(theta)] for theta in values])
            self._errors = {}
        elif self._over:
            # one after another: the order of results must not matter if errors are equal
            self._wanted = [Request(self._unchecked()[0], label="end")]
        elif self._due is not None:
            self._wanted = [Request(self._due, label=self._round()[1])]
        else:
            self._open()

    def _open(self) -> None:
        """Want the passes of the next batch, without known errors."""
        values = {key_of(theta): theta for theta in self._values()}
        known = {key: self._known[key] for key in values if self.whole and key in self._known}
        # and a check
        if self._allowed((len(values) - len(known)) * self.share + 1):
            new = [theta for key, theta in values.items() if key not in known]
            self._errors, self._wanted = known, [Request(each, "batch") for each in new]
        else:
            self._stop("the passes are used up")

    def _penalised(self, point: Point) -> float:
        return point.train + self.penalty(point.theta)

    def _value(self, point: Point) -> float:
        """Return the error by which values are the best."""
        return self._penalised(point) if point.validation is None else point.validation

    def _learn(self, request: Request, point: Point, data: Data) -> None:
        key, error = key_of(point.theta), self._penalised(point)
        if self.whole or request.part == "all":
            self._known[key] = error
        if request.part == "batch":
            self._errors[key] = error
            return
        start = point.number == 0
        if start:
            self._begin(error)
        self._checked.add(key)
        old = self._best.number
        better = old < 0 and point.theta == self._best.theta
        better = start or better or self._value(point) < self._value(self._best)
        if better:
            self._best, self._stale = point, 0
        else:
            self._stale += 1
        # the scores of the start remain for the comparison at the end
        self._forget += [n for n in [old if better else point.number] if n > 0]
        extra = self._extras()
        if self.penalty.strength:
            extra["penalty"] = self.penalty(point.theta)
        self._record(point, request.label or "start", better, extra)
        if self._due is not None:
            self._due = None
            self._learn_check(point, better)
        if self._validated and self.patience is not None and self._stale >= self.patience:
            self._stop(f"the validation error did not fall in {self._stale} checks")

    def _take(self, theta: Theta, error: float, label: str, **extra: float) -> None:
        """Accept values with a known penalised training error."""
        point = Point(-1, theta, error - self.penalty(theta))
        self._record(point, label, True, extra)
        if not self._validated and error < self._value(self._best):
            self._best = point


def tuned_blocks(
    parameters: Sequence[TunedParameter], groups: Sequence[str] | None
) -> list[list[int]]:
    """Return the places of parameters that are tuned together, in the order of `groups`.

    Parameters without a listed group form the last block.
    """
    names = dict.fromkeys([*(groups or ()), None])
    own = [p.group if p.group in names else None for p in parameters]
    blocks = [[i for i, name in enumerate(own) if name == group] for group in names]
    return [block for block in blocks if block]


def key_of(theta: Theta) -> str:
    data = np.asarray(theta, dtype="<f8").tobytes()
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def first_steps(parameters: Sequence[TunedParameter]) -> Array:
    """Return first changes: steps, or shares of the ranges; at least 1 for integers."""
    steps = [p.step or STEP_SHARE * (p.maximum - p.minimum) for p in parameters]
    return np.maximum(steps, [float(p.integer) for p in parameters])
