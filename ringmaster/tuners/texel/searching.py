"""Base of the optimisers that see only errors: batches, known errors, checks.

Such an optimiser scores some values on a batch of shards, then others on the next.  Promising
values are checked by a pass over all positions, whose scores are kept.  The best values are among
the checked ones.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import BATCHES_STREAM, word_array
from ringmaster.tuners.texel.loss import Array
from ringmaster.tuners.texel.optimiser import (
    Arguments,
    Asked,
    Best,
    Data,
    Errors,
    Optimiser,
    Part,
    Pass,
    Step,
    Theta,
    finite,
    infinite,
)
from ringmaster.tuners.texel.ridge import Penalty

#: Most errors over all training positions that are remembered.
MOST_KNOWN = 50_000
#: First steps and perturbations as a share of the range.
STEP_SHARE = 1 / 32


class SearchArguments(Arguments, total=False):
    """Arguments of `Search`."""

    strength: float


class Search(Optimiser):
    """Base of the optimisers that see only errors, of some values at a time on one batch.

    A batch has `size` shards in random order, in a new order each time all have been used.  The
    remainder of an order is not used.

    batch     share of the training shards in a batch; 1: all
    strength  of the ridge towards the start values

    Other arguments: see `Optimiser`.
    """

    #: Penalised errors of training, and penalised and validation errors of checks, by `key_of`.
    _known: dict[str, float]
    _checked: dict[str, tuple[float, float | None]]
    #: Errors and issued passes on the present batch, by `key_of`.
    _errors: dict[str, float]
    _issued: set[str]
    #: Values that must be checked before the next batch.
    _due: Theta | None = None

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        batch: float = 1.0,
        *,
        strength: float = 0.0,
        **common: Unpack[Arguments],
    ) -> None:
        super().__init__(parameters, **common)
        self.penalty = Penalty(self.space, strength)
        self.size = min(self.shards, max(1, math.ceil(batch * self.shards - 1e-9)))
        self._known, self._checked = {}, {}
        self._errors, self._issued = {}, set()
        self._distinct_values: dict[str, Theta] | None = None

    def _begin(self, error: float) -> None:
        """Record the penalised training error of the start values."""

    @abstractmethod
    def _round(self) -> tuple[int, str]:
        """Return the number of the present batch, and its name in the course."""

    @abstractmethod
    def _values(self) -> list[Theta]:
        """Return the values to be scored on the present batch."""

    @abstractmethod
    def _learn_errors(self) -> None:
        """Learn from the errors of all values on the present batch."""

    def _learn_check(self, theta: Theta, better: bool) -> None:
        """Record the check of values that were due, and whether they are the best so far."""

    @abstractmethod
    def _finalists(self) -> list[Theta]:
        """Return values that must be checked before the end."""

    def _extras(self) -> dict[str, float]:
        """Return further numbers for the course."""
        return {}

    @property
    def whole(self) -> bool:
        """Return whether a batch has all training positions."""
        return self.size == self.shards

    @property
    def share(self) -> float:
        """The share of training in a batch."""
        return self.size / self.shards

    def batch(self, number: int) -> tuple[int, ...]:
        """Return the shards of a batch, in order; a function of the seed and the number."""
        epoch, place = divmod(number, self.shards // self.size)
        random = word_array(self.seed, BATCHES_STREAM, epoch, self.shards)
        order = np.argsort(random, kind="stable")
        return tuple(sorted(order[place * self.size : (place + 1) * self.size].tolist()))

    def finished(self) -> bool:
        return super().finished() and not self._unchecked()

    def _next(self) -> Pass | None:
        while not self._over:
            number, name = self._round()
            if self._due is not None:
                return None if self._asked else self._check(self._due, name)
            values = self._distinct()
            if not self._issued and not self._open(values):
                break
            for key, theta in values.items():
                if key not in self._issued:
                    self._issued.add(key)
                    part: Part = "train" if self.whole else self.batch(number)
                    return self._issue(theta, part, "batch", key)
            if len(self._errors) < len(values):
                return None
            # all errors were known before
            self._end_round()
        # one after another: the order of results must not matter if errors are equal
        left = [] if self._asked else self._unchecked()
        return self._check(left[0], "end") if left else None

    def _check(self, theta: Theta, label: str) -> Pass:
        """Return a pass over all positions, whose values may become the best."""
        return self._issue(theta, "all", "check", label, keep=True)

    def _is_checked(self, theta: Theta) -> bool:
        return key_of(theta) in self._checked

    def _unchecked(self) -> list[Theta]:
        """Return values that remain to be checked at the end."""
        wanted = [*self._finalists(), self.best]
        return [theta for theta in dict.fromkeys(wanted) if not self._is_checked(theta)]

    def _distinct(self) -> dict[str, Theta]:
        """Return the distinct values of the present batch, by `key_of`."""
        if self._distinct_values is None:
            self._distinct_values = {key_of(theta): theta for theta in self._values()}
        return self._distinct_values

    def _open(self, values: Mapping[str, Theta]) -> bool:
        """Record the known errors of a batch; return whether the other passes are allowed."""
        known = {key: self._known[key] for key in values if self.whole and key in self._known}
        # and a check
        if not self._allowed((len(values) - len(known)) * self.share + 1):
            self._stop("the passes are used up")
            return False
        self._errors, self._issued = known, set(known)
        return True

    def _learn(self, number: int, asked: Asked, errors: Errors, data: Data) -> Sequence[int]:
        error = infinite(errors.train) + self.penalty(asked.theta)
        if asked.cost == 1.0:
            if len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key_of(asked.theta)] = error
        if asked.purpose != "batch":
            return self._learn_all(number, asked, errors, error)
        self._errors[asked.note] = error
        if len(self._errors) == len(self._distinct()):
            self._end_round()
        return ()

    def _end_round(self) -> None:
        self._learn_errors()
        self._errors, self._issued, self._distinct_values = {}, set(), None

    def _take(self, theta: Theta, error: float, label: str, **extra: float) -> None:
        """Accept values with a known training error."""
        train = finite(error - self.penalty(theta))
        self._add(Step(self._used, theta, train, None, label, extra=extra))
        if not self._validated and error < self._best.value:
            self._best = Best(theta, error, None)

    def _learn_all(self, number: int, asked: Asked, errors: Errors, error: float) -> Sequence[int]:
        """Record a pass over all positions; return passes whose scores are no longer needed."""
        start = asked.purpose == "start"
        if start:
            self._begin(error)
        self._checked[key_of(asked.theta)] = (error, errors.validation)
        value = infinite(errors.validation) if self._validated else error
        old = self._best.number
        better = start or value < self._best.value or (old is None and asked.theta == self.best)
        if better:
            self._best, self._stale = Best(asked.theta, value, number), 0
        else:
            self._stale += 1
        extra = self._extras()
        if self.penalty.strength:
            extra["penalty"] = self.penalty(asked.theta)
        label = "start" if start else asked.note
        self._add(
            Step(self._used, asked.theta, errors.train, errors.validation, label, better, extra)
        )
        if self._due is not None:
            self._due = None
            self._learn_check(asked.theta, better)
        if self._validated and self.patience is not None and self._stale >= self.patience:
            self._stop(f"the validation error did not fall in {self._stale} checks")
        # the scores of the start remain for the comparison at the end
        return [n for n in [old if better else number] if n]


def tuned_blocks(
    parameters: Sequence[TunedParameter], groups: Sequence[str] | None
) -> list[list[int]]:
    """Return the places of parameters that are tuned together, in the order of `groups`.

    Parameters without a listed group form the last block.
    """
    blocks = [[i for i, p in enumerate(parameters) if p.group == name] for name in groups or ()]
    placed = {i for block in blocks for i in block}
    blocks.append([i for i in range(len(parameters)) if i not in placed])
    return [block for block in blocks if block]


def key_of(theta: Theta) -> str:
    """Return a short key of some values."""
    data = np.asarray(theta, dtype="<f8").tobytes()
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def first_steps(parameters: Sequence[TunedParameter]) -> Array:
    """Return the first change of each parameter: its own step, or a share of its range.

    Changes of integers are at least 1.
    """
    return np.array(
        [
            max(step, 1.0) if p.integer else step
            for p in parameters
            for step in [p.step or STEP_SHARE * (p.maximum - p.minimum)]
        ]
    )
