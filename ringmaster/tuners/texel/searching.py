"""What the optimisers that learn of errors alone have in common: the passes under way, the
errors that are known, the values that are best so far, and the course.

Such an optimiser says what it wants scored next (`_next`) and what a pass has taught it
(`_learn`).  Its better values are *checked* by a pass over all positions, training and
validation, whose scores are kept; among those checked are the best.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.flags import NO_SIGNAL, value_flags
from ringmaster.tuners.texel.optimiser import (
    Array,
    Data,
    Errors,
    Optimiser,
    Part,
    Pass,
    Step,
    Told,
)
from ringmaster.tuners.texel.ridge import Penalty

#: Points of the course at most; then every other one is dropped.
MOST_STEPS = 400
#: Errors over all training positions that are remembered at most.
MOST_KNOWN = 50_000
#: The least fall of an error that counts as one.
LEAST_TOLERANCE = 1e-7
#: Steps that are tried first, and perturbations, as a share of the range.
STEP_SHARE = 1 / 32

#: An argument that may be changed between two runs.
Limit = Literal["most_passes", "patience"]
Theta = tuple[float, ...]
Table = tuple[str, tuple[str, ...], list[tuple[Any, ...]]]


class SearchArguments(TypedDict, total=False):
    """The arguments that all of them have, as of `Search`."""

    seed: int
    strength: float
    most_passes: float | None
    patience: int | None
    shards: int


@dataclass
class _Asked:
    """A pass under way; `purpose` and `note` are the optimiser's own."""

    theta: Theta
    cost: float
    purpose: str
    note: Any = None


@dataclass
class _Best:
    """The best values so far; `number` is the pass over all of them, if there was one."""

    theta: Theta
    value: float
    number: int | None


class Search(Optimiser):
    """Base of the optimisers that learn of errors alone.

    parameters   all of them are tuned
    strength     of the ridge towards the start values
    most_passes  about how many passes over training, batches counted in parts; None: no limit
    patience     how many checks in a row may be without a new smallest validation error;
                 None: any number
    shards       how many shards training has, for those that use batches

    A state may be restored with a larger most_passes or patience: what has ended for want of it
    goes on.  Raises ValueError, with a sentence on the argument, where one makes no sense.
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        seed: int = 0,
        strength: float = 0.0,
        most_passes: float | None = None,
        patience: int | None = 3,
        shards: int = 1,
    ) -> None:
        if not parameters:
            raise ValueError("there is no parameter to tune")
        if not (math.isfinite(strength) and strength >= 0):
            raise ValueError(f"the ridge's strength must be 0 or more, not {strength:g}")
        if most_passes is not None and not most_passes >= 1:
            raise ValueError(f"most_passes must be 1 or more, not {most_passes:g}")
        if patience is not None and patience < 1:
            raise ValueError(f"patience must be 1 or more, not {patience}")
        if shards < 1:
            raise ValueError(f"there must be a shard at least, not {shards}")
        self.parameters = tuple(parameters)
        self.space = Space.of(parameters)
        self.seed = seed
        self.penalty = Penalty(self.space, strength)
        self.most_passes = math.inf if most_passes is None else most_passes
        self.patience = patience
        self.shards = shards
        self._start = self._played(self.space.start)
        self._asked: dict[int, _Asked] = {}
        self._number = 0
        self._used = 0.0
        self._validated = False
        self._known: dict[str, float] = {}
        self._checked: dict[str, tuple[float, float | None]] = {}
        self._best = _Best(self._start, math.inf, None)
        self._stale = 0
        self._over = ""
        self._limit: Limit | None = None
        self._course: list[Step] = []

    # What each of them has to say

    @abstractmethod
    def _next(self) -> Pass | None:
        """Return a further pass, made by `_issue` or `_check`; None while results are awaited
        or when it is `_stop`ped.  Not called before the start values have been told."""

    def _begin(self, error: float) -> None:
        """Take the penalised training error of the start values."""

    @abstractmethod
    def _learn(self, purpose: str, asked: Theta, note: Any, error: float) -> list[str]:
        """Take the penalised training error of a pass that was not a check; return lines for
        the history."""

    def _learn_check(self, note: Any, better: bool) -> list[str]:
        """Take that a check is done, and whether its values are the best so far."""
        return []

    @abstractmethod
    def _finalists(self) -> list[Theta]:
        """Return the values that have to be checked before it ends."""

    @abstractmethod
    def _own_state(self) -> dict[str, Any]:
        """Return what is beyond the base's, as JSON data."""

    @abstractmethod
    def _restore_own(self, state: Mapping[str, Any]) -> None:
        """Take that over."""

    # The contract

    def ask(self) -> Pass | None:
        if not self._number:
            return self._issue(self._start, "all", "start", keep=True)
        if not self._course:
            return None
        if not self._over:
            found = self._next()
            if found is not None or not self._over:
                return found
        # one after the other, so that their order cannot matter where errors are equal
        left = [] if self._asked else self._unchecked()
        return self._check(left[0], "end") if left else None

    def tell(self, number: int, errors: Errors, data: Data) -> Told:
        asked = self._asked.pop(number, None)
        if asked is None:
            return Told()
        self._used += asked.cost
        errors = Errors(_number(errors.train), _number(errors.validation))
        error = infinite(errors.train) + self.penalty(asked.theta)
        if asked.purpose in ("start", "check"):
            return self._told_all(number, asked, errors, error)
        if asked.cost == 1.0:
            self._remember(asked.theta, error)
        return Told(notes=tuple(self._learn(asked.purpose, asked.theta, asked.note, error)))

    def finished(self) -> bool:
        return bool(self._over) and not self._asked and not self._unchecked()

    @property
    def best(self) -> Theta:
        return self._best.theta

    @property
    def best_pass(self) -> int | None:
        return self._best.number

    @property
    def course(self) -> Sequence[Step]:
        return tuple(self._course)

    @property
    def why_over(self) -> str:
        """Why it has ended, "" while it goes on."""
        return self._over

    @property
    def passes(self) -> float:
        """Passes over training that have been used, batches counted in parts."""
        return self._used

    def flags(self) -> dict[int, tuple[str, ...]]:
        found = value_flags(self.space, self.best)
        for i in range(len(self.parameters)):
            if self._silent(i):
                found[i] = (*found.get(i, ()), NO_SIGNAL)
        return found

    def _silent(self, i: int) -> bool:
        """Whether changes of a parameter have been tried, and none changed the error."""
        return False

    def state(self) -> dict[str, Any]:
        return {
            "number": self._number,
            "used": self._used,
            "validated": self._validated,
            "asked": {
                str(number): [list(a.theta), a.cost, a.purpose, a.note]
                for number, a in self._asked.items()
            },
            "known": {key: finite(error) for key, error in self._known.items()},
            "checked": {key: [finite(t), v] for key, (t, v) in self._checked.items()},
            "best": [list(self._best.theta), finite(self._best.value), self._best.number],
            "stale": self._stale,
            "over": [self._over, self._limit, finite(self.most_passes), self.patience],
            "course": [_step_data(step) for step in self._course],
            "own": self._own_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._number, self._used = state["number"], state["used"]
        self._validated = state["validated"]
        self._asked = {
            int(number): _Asked(tuple(theta), cost, purpose, note)
            for number, (theta, cost, purpose, note) in state["asked"].items()
        }
        self._known = {key: infinite(error) for key, error in state["known"].items()}
        self._checked = {key: (infinite(t), v) for key, (t, v) in state["checked"].items()}
        theta, value, best_number = state["best"]
        self._best = _Best(tuple(theta), infinite(value), best_number)
        self._stale = state["stale"]
        self._over, self._limit, most_passes, patience = state["over"]
        if (self._limit == "most_passes" and self.most_passes > infinite(most_passes)) or (
            self._limit == "patience" and (self.patience is None or self.patience > patience)
        ):
            # there is more of it now
            self._over, self._limit = "", None
        self._course = [_step(data) for data in state["course"]]
        self._restore_own(state["own"])

    # For those that are built upon it

    @property
    def waiting(self) -> bool:
        """Whether a pass is under way."""
        return bool(self._asked)

    def _issue(
        self, theta: Theta, part: Part, purpose: str, note: Any = None, *, keep: bool = False
    ) -> Pass:
        number, self._number = self._number, self._number + 1
        cost = len(part) / self.shards if isinstance(part, tuple) else 1.0
        self._asked[number] = _Asked(theta, cost, purpose, note)
        return Pass(number, theta, part, keep)

    def _check(self, theta: Theta, label: str, note: Any = None) -> Pass:
        """Return a pass over all, after which the values may be the best."""
        return self._issue(theta, "all", "check", [label, note], keep=True)

    def _is_checked(self, theta: Theta) -> bool:
        return key_of(theta) in self._checked

    def _allowed(self, cost: float = 1.0) -> bool:
        """Whether so many more passes, and the check at the end, are within `most_passes`."""
        under_way = sum(asked.cost for asked in self._asked.values())
        return self._used + under_way + cost + 1 <= self.most_passes + 1e-9

    def _unchecked(self) -> list[Theta]:
        """Return what is left to be checked once it is over."""
        wanted = [*self._finalists(), self._best.theta]
        return [theta for theta in dict.fromkeys(wanted) if not self._is_checked(theta)]

    def _stop(self, why: str, limit: Limit | None = None) -> None:
        """End it; `limit` is the argument that it is for, with which it might go on."""
        if not self._over:
            self._over, self._limit = why, limit

    def _remember(self, theta: Theta, error: float) -> None:
        if len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[key_of(theta)] = error

    def _error_of(self, theta: Theta) -> float | None:
        """Return the penalised error over all of training where it is known."""
        return self._known.get(key_of(theta))

    def _take(self, theta: Theta, error: float, label: str, **extra: float) -> None:
        """Go on from some values, of which only the training error is known."""
        train = _number(error - self.penalty(theta))
        self._add(Step(self._used, theta, train, None, label, extra=extra))
        if not self._validated and error < self._best.value:
            self._best = _Best(theta, error, None)

    def _extras(self) -> dict[str, float]:
        """Return what the course is to have beside the errors."""
        return {}

    def _played(self, theta: Array) -> Theta:
        """Return values as they are played: whole where they are integers, halves upwards."""
        theta = self.space.clip(np.asarray(theta, dtype=np.float64))
        whole = self.space.clip(np.floor(theta + 0.5))
        return tuple(np.where(self.space.integer, whole, theta).tolist())

    def _told_all(self, number: int, asked: _Asked, errors: Errors, error: float) -> Told:
        start = asked.purpose == "start"
        if start:
            self._validated = errors.validation is not None
            self._begin(error)
        label, note = ("start", None) if start else asked.note
        self._remember(asked.theta, error)
        self._checked[key_of(asked.theta)] = (error, errors.validation)
        value = infinite(errors.validation) if self._validated else error
        better = value < self._best.value or (
            self._best.number is None and asked.theta == self._best.theta
        )
        forget: tuple[int, ...] = ()
        if better or start:
            old = self._best.number
            # the scores of the start are wanted for the comparison at the end
            forget = (old,) if old else ()
            self._best = _Best(asked.theta, value, number)
            self._stale = 0
        else:
            forget = (number,)
            self._stale += 1
        extra = self._extras()
        if self.penalty.strength:
            extra["penalty"] = self.penalty(asked.theta)
        self._add(
            Step(self._used, asked.theta, errors.train, errors.validation, label, better, extra)
        )
        notes = [] if start else self._learn_check(note, better)
        if self._validated and self.patience is not None and self._stale >= self.patience:
            self._stop(f"the validation error did not fall in {self._stale} checks", "patience")
        return Told(notes=tuple(notes), forget=forget, step=better and not start)

    def _add(self, step: Step) -> None:
        self._course.append(step)
        if len(self._course) > MOST_STEPS:
            first, *others, last = self._course
            # what has a validation error tells more
            kept = [s for i, s in enumerate(others) if s.validation is not None or i % 2]
            if len(kept) > MOST_STEPS * 3 // 4:
                kept = kept[::2]
            self._course = [first, *kept, last]


def tuned_blocks(
    parameters: Sequence[TunedParameter], groups: Sequence[str] | None
) -> list[list[int]]:
    """Return the places of the parameters that are tuned together, in the order of the names
    `groups`; those that are in none of them come last, together."""
    blocks = [[i for i, p in enumerate(parameters) if p.group == name] for name in groups or ()]
    placed = {i for block in blocks for i in block}
    blocks.append([i for i in range(len(parameters)) if i not in placed])
    return [block for block in blocks if block]


def key_of(theta: Theta) -> str:
    """Return a short name of some values."""
    data = np.asarray(theta, dtype="<f8").tobytes()
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def first_steps(parameters: Sequence[TunedParameter]) -> Array:
    """Return by how much each parameter is changed at first: its own step, or a share of its
    range; at least 1 where it is an integer."""
    return np.array(
        [
            max(step, 1.0) if p.integer else step
            for p in parameters
            for step in [p.step or STEP_SHARE * (p.maximum - p.minimum)]
        ]
    )


def finite(value: float) -> float | None:
    """Return a number as JSON has it, which knows no infinity."""
    return value if math.isfinite(value) else None


def infinite(value: float | None) -> float:
    """Return what `finite` was given."""
    return math.inf if value is None else value


def _number(error: float | None) -> float | None:
    # an engine may have said anything
    return error if error is not None and math.isfinite(error) else None


def _step_data(step: Step) -> list[Any]:
    return [
        step.passes,
        list(step.theta),
        step.train,
        step.validation,
        step.label,
        step.taken,
        step.extra,
    ]


def _step(data: Sequence[Any]) -> Step:
    passes, theta, train, validation, label, taken, extra = data
    return Step(passes, tuple(theta), train, validation, label, taken, dict(extra))
