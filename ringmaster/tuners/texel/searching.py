"""Base of the optimisers that see only errors: passes, known errors, best values, course.

Such an optimiser proposes passes (`_next`) and learns from their errors (`_learn`).  Promising
values are checked by a pass over all positions, whose scores are kept.  The best values are
among the checked ones.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, get_type_hints

import msgspec
import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import BATCHES_STREAM, word_array
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.course import Averages
from ringmaster.tuners.texel.optimiser import (
    WORST,
    Array,
    Data,
    Errors,
    Optimiser,
    Part,
    Pass,
    Penalty,
    Step,
    TellResult,
    Theta,
    finite,
    infinite,
)

#: Most points of the course; beyond, every other one is dropped.
MOST_STEPS = 400
#: Most errors over all training positions that are remembered.
MOST_KNOWN = 50_000
#: First steps and perturbations as a share of the range.
STEP_SHARE = 1 / 32


class SearchArguments(TypedDict, total=False):
    """Arguments of `Search`."""

    seed: int
    strength: float
    most_passes: float | None
    patience: int | None
    shards: int


@dataclass
class _Asked:
    """A pass under way; `purpose` and `note` belong to the optimiser."""

    theta: Theta
    cost: float
    purpose: str
    note: Any = None


@dataclass
class _Best:
    """The best values so far, and the number of their pass over all positions if any."""

    theta: Theta
    value: float
    number: int | None


class Search(Optimiser):
    """Base of the optimisers that see only errors.

    parameters   all are tuned
    strength     of the ridge towards the start values
    most_passes  limit of passes over training, batches counted in parts; None: no limit
    patience     checks in a row without a smaller validation error that end the tune; None: no
                 limit
    shards       shards of training, for batches

    The annotated private attributes of a class are its state.
    """

    _number: int = 0
    _used: float = 0.0
    _validated: bool = False
    _stale: int = 0
    _over: str = ""
    _asked: dict[int, _Asked]
    _known: dict[str, float]
    _checked: dict[str, tuple[float, float | None]]
    _best: _Best
    _course: list[Step]
    #: Lines for the history.
    _notes: list[str]

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
        self.parameters = tuple(parameters)
        self.space = Space.of(parameters)
        self.seed = seed
        self.penalty = Penalty(self.space, strength)
        self.most_passes = math.inf if most_passes is None else most_passes
        self.patience = patience
        self.shards = shards
        self._start = self.space.played(self.space.start)
        self._asked, self._known, self._checked = {}, {}, {}
        self._best = _Best(self._start, WORST, None)
        self._course, self._notes = [], []

    @abstractmethod
    def _next(self) -> Pass | None:
        """Return a further pass, made by `_issue` or `_check`.

        None while results are awaited, or after `_stop`.  The start values are known.
        """

    def _begin(self, error: float) -> None:
        """Record the penalised training error of the start values."""

    @abstractmethod
    def _learn(self, asked: Theta, note: Any, error: float) -> None:
        """Record the penalised training error of a pass that is no check."""

    def _learn_check(self, better: bool) -> None:
        """Record a check, and whether its values are the best so far."""

    @abstractmethod
    def _finalists(self) -> list[Theta]:
        """Return values that must be checked before the end."""

    def ask(self) -> Pass | None:
        if not self._number:
            return self._issue(self._start, "all", "start", keep=True)
        if not self._course:
            return None
        if not self._over:
            proposed = self._next()
            if proposed is not None or not self._over:
                return proposed
        # one after another: the order of results must not matter if errors are equal
        left = [] if self._asked else self._unchecked()
        return self._check(left[0], "end") if left else None

    def tell(self, number: int, errors: Errors, data: Data) -> TellResult:
        asked = self._asked.pop(number, None)
        if asked is None:
            return TellResult()
        self._used += asked.cost
        errors = Errors(finite(errors.train), finite(errors.validation))
        error = infinite(errors.train) + self.penalty(asked.theta)
        if asked.purpose in ("start", "check"):
            return self._learn_all(number, asked, errors, error)
        if asked.cost == 1.0:
            self._remember(asked.theta, error)
        self._learn(asked.theta, asked.note, error)
        return TellResult(notes=self._take_notes())

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

    def state(self) -> dict[str, Any]:
        values = {name[1:]: getattr(self, name) for name in self._kinds()}
        state: dict[str, Any] = msgspec.to_builtins(
            values, str_keys=True, order="deterministic", enc_hook=_data_of
        )
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        for name, kind in self._kinds().items():
            value = msgspec.convert(state[name[1:]], kind, strict=False, dec_hook=_object_of)
            setattr(self, name, value)

    def _kinds(self) -> dict[str, Any]:
        """Return the types of the attributes of the state by name."""
        hints = get_type_hints(type(self))
        return {name: kind for name, kind in hints.items() if name.startswith("_")}

    def _issue(
        self, theta: Theta, part: Part, purpose: str, note: Any = None, *, keep: bool = False
    ) -> Pass:
        number, self._number = self._number, self._number + 1
        cost = len(part) / self.shards if isinstance(part, tuple) else 1.0
        self._asked[number] = _Asked(theta, cost, purpose, note)
        return Pass(number, theta, part, keep)

    def _check(self, theta: Theta, label: str) -> Pass:
        """Return a pass over all positions, whose values may become the best."""
        return self._issue(theta, "all", "check", label, keep=True)

    def _is_checked(self, theta: Theta) -> bool:
        return key_of(theta) in self._checked

    def _allowed(self, cost: float = 1.0) -> bool:
        """Return whether further passes, and the check at the end, are within `most_passes`."""
        under_way = sum(asked.cost for asked in self._asked.values())
        return self._used + under_way + cost + 1 <= self.most_passes + 1e-9

    def _unchecked(self) -> list[Theta]:
        """Return values that remain to be checked at the end."""
        wanted = [*self._finalists(), self._best.theta]
        return [theta for theta in dict.fromkeys(wanted) if not self._is_checked(theta)]

    def _stop(self, why: str) -> None:
        """End the tune, after the checks that are left."""
        self._over = self._over or why

    def _remember(self, theta: Theta, error: float) -> None:
        if len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[key_of(theta)] = error

    def _error_of(self, theta: Theta) -> float | None:
        """Return the known penalised error over all of training, None if unknown."""
        return self._known.get(key_of(theta))

    def _take(self, theta: Theta, error: float, label: str, **extra: float) -> None:
        """Accept values with a known training error."""
        train = finite(error - self.penalty(theta))
        self._add(Step(self._used, theta, train, None, label, extra=extra))
        if not self._validated and error < self._best.value:
            self._best = _Best(theta, error, None)

    def _extras(self) -> dict[str, float]:
        """Return further numbers for the course."""
        return {}

    def _learn_all(self, number: int, asked: _Asked, errors: Errors, error: float) -> TellResult:
        start = asked.purpose == "start"
        if start:
            self._validated = errors.validation is not None
            self._begin(error)
        label = "start" if start else asked.note
        self._remember(asked.theta, error)
        self._checked[key_of(asked.theta)] = (error, errors.validation)
        value = infinite(errors.validation) if self._validated else error
        better = value < self._best.value or (
            self._best.number is None and asked.theta == self._best.theta
        )
        forget: tuple[int, ...] = ()
        if better or start:
            old = self._best.number
            # the scores of the start remain for the comparison at the end
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
        if not start:
            self._learn_check(better)
        if self._validated and self.patience is not None and self._stale >= self.patience:
            self._stop(f"the validation error did not fall in {self._stale} checks")
        return TellResult(self._take_notes(), forget)

    def _take_notes(self) -> tuple[str, ...]:
        notes, self._notes = self._notes, []
        return tuple(notes)

    def _add(self, step: Step) -> None:
        self._course.append(step)
        if len(self._course) > MOST_STEPS:
            first, *others, last = self._course
            # prefer steps with a validation error
            kept = [s for i, s in enumerate(others) if s.validation is not None or i % 2]
            if len(kept) > MOST_STEPS * 3 // 4:
                kept = kept[::2]
            self._course = [first, *kept, last]


class BatchSearch(Search):
    """Base of the optimisers that score several values on one batch of shards, then on the next.

    A batch has `size` shards in random order, in a new order each time all have been used.  The
    remainder of an order is not used.

    batch  share of the training shards in a batch; 1: all
    """

    #: Errors and issued passes on the present batch, by `key_of`.
    _errors: dict[str, float]
    _issued: set[str]
    #: Values that must be checked before the next batch.
    _due: Theta | None = None

    def __init__(
        self, parameters: Sequence[TunedParameter], batch: float, **common: Unpack[SearchArguments]
    ) -> None:
        super().__init__(parameters, **common)
        self.size = min(self.shards, max(1, math.ceil(batch * self.shards - 1e-9)))
        self._errors, self._issued = {}, set()
        self._distinct_values: dict[str, Theta] | None = None

    @abstractmethod
    def _round(self) -> tuple[int, str]:
        """Return the number of the present batch, and its name in the course."""

    @abstractmethod
    def _values(self) -> list[Theta]:
        """Return the values to be scored on the present batch."""

    @abstractmethod
    def _learn_errors(self) -> None:
        """Learn from the errors of all values on the present batch."""

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

    def _next(self) -> Pass | None:
        while not self._over:
            number, name = self._round()
            if self._due is not None:
                return None if self._asked else self._check(self._due, name)
            values = self._distinct()
            if not self._issued and not self._open(values):
                return None
            for key, theta in values.items():
                if key not in self._issued:
                    self._issued.add(key)
                    part: Part = "train" if self.whole else self.batch(number)
                    return self._issue(theta, part, "batch", key)
            if len(self._errors) < len(values):
                return None
            # all errors were known before
            self._end_round()
        return None

    def _distinct(self) -> dict[str, Theta]:
        """Return the distinct values of the present batch, by `key_of`."""
        if self._distinct_values is None:
            self._distinct_values = {key_of(theta): theta for theta in self._values()}
        return self._distinct_values

    def _open(self, values: Mapping[str, Theta]) -> bool:
        """Record the known errors of a batch; return whether the other passes are allowed."""
        known = {
            key: error
            for key, theta in values.items()
            if self.whole and (error := self._error_of(theta)) is not None
        }
        if not self._allowed((len(values) - len(known)) * self.share):
            self._stop("the passes are used up")
            return False
        self._errors, self._issued = known, set(known)
        return True

    def _learn(self, asked: Theta, note: Any, error: float) -> None:
        self._errors[str(note)] = error
        if len(self._errors) == len(self._distinct()):
            self._end_round()

    def _end_round(self) -> None:
        self._learn_errors()
        self._errors, self._issued, self._distinct_values = {}, set(), None


def _data_of(value: Any) -> Any:
    """Return an array or averages as part of a state."""
    return value.tolist() if isinstance(value, np.ndarray) else value.state()


def _object_of(kind: Any, data: Any) -> Any:
    """Reverse `_data_of`."""
    if kind is not Averages:
        return np.array(data)
    averages = Averages(np.zeros(0))
    averages.restore(data)
    return averages


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
