"""The contract of an optimiser over labelled positions, and its base class.

An optimiser asks for passes: each is one set of values whose scores are wanted.  It is told
the errors of each pass.  A pass over all positions takes seconds to hours, and a tune may stop
between any two shards, so the state of an optimiser is JSON data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict, get_type_hints

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.course import Averages
from ringmaster.tuners.texel.loss import Array, Floats, Loss
from ringmaster.tuners.texel.ridge import OwnTable, RidgePath
from ringmaster.tuners.texel.targets import Target

#: Values of the tuned parameters.
Theta = tuple[float, ...]
#: A half of the positions.
Split = Literal["train", "validation"]
PARTS: tuple[Split, ...] = ("train", "validation")
#: Positions of a pass: training, validation, both, or the training shards of a batch.
Part = Literal["train", "validation", "all"] | tuple[int, ...]


class Pass(msgspec.Struct, frozen=True):
    """One set of values to be scored.

    number  from 0; pass 0 scores the start values over "all"
    theta   values of the tuned parameters as played: within the bounds, integers whole
    keep    whether the scores are needed later (`Data.blocks`)
    """

    number: int
    theta: Theta
    part: Part = "train"
    keep: bool = False


class Errors(msgspec.Struct, frozen=True):
    """Mean losses of a pass, None without positions of that part."""

    train: float | None = None
    validation: float | None = None


class Block(msgspec.Struct, frozen=True):
    """Some positions; every array is (n,), but `scores` is (passes, n).

    places  in the position file
    scores  centipawns for the side that moves first, NaN without a score
    target  wanted win probability, 0 to 1
    weight  how many positions this one counts for; 0 if left out
    game    number of the position's game
    """

    places: slice | npt.NDArray[np.intp]
    scores: Floats
    target: Floats
    weight: Floats
    game: npt.NDArray[np.uint32]


class Data(Protocol):
    """The positions with their targets, the loss, and the scores of kept passes."""

    @property
    def loss(self) -> Loss:
        """The loss; its scale is known from the first pass on."""
        ...

    @property
    def teacher_scale(self) -> float | None:
        """Win-rate scale of the teacher's scores, centipawns."""
        ...

    def under(self, target: Target) -> Data:
        """Return the same positions with another target."""
        ...

    def blocks(self, passes: Sequence[int], part: Split) -> Iterator[Block]:
        """Yield all positions of a part in a fixed order, at most a shard at a time."""


class TellResult(msgspec.Struct, frozen=True):
    """Lines for the history after a pass, and kept passes that are no longer needed."""

    notes: tuple[str, ...] = ()
    forget: tuple[int, ...] = ()


class Step(msgspec.Struct, frozen=True):
    """A point of an optimiser's course: accepted values, or other values worth showing.

    passes  full passes of training so far; batches count in parts
    label   "start", "step 3, ridge 1e-7", "generation 12"
    taken   whether the optimiser continues from these values
    extra   further numbers by name ("entropy", "ridge")
    """

    passes: float
    theta: Theta
    train: float | None
    validation: float | None
    label: str = ""
    taken: bool = True
    extra: dict[str, float] = msgspec.field(default_factory=dict)


#: An error that is not finite, in JSON.
WORST = 1e300


def finite(value: float | None) -> float | None:
    """Return a number, None if it is not finite: an engine may have printed anything."""
    return value if value is not None and abs(value) < WORST / 2 else None


def infinite(value: float | None) -> float:
    """Reverse `finite`."""
    return WORST if value is None else value


#: Least decrease of an error that counts.
LEAST_DECREASE = 1e-7


class Request(msgspec.Struct, frozen=True):
    """A pass that is wanted or under way, with a label for the course."""

    theta: Theta
    part: Split | Literal["all", "batch"] = "all"
    label: str = ""


class Point(msgspec.Struct, frozen=True):
    """Values with their errors; those that are not finite are WORST.

    number  of their pass over all positions whose scores are kept, −1 without one
    """

    number: int
    theta: Theta
    train: float
    validation: float | None = None


#: Most points of the course; beyond, every other one is dropped.
MOST_STEPS = 400
#: The 97.5 % point of the normal distribution.
NORMAL = 1.959963984540054
#: A value below this share of its start has collapsed.
TINY_SHARE = 0.05
NO_SIGNAL = "no signal"
COLLAPSED = "collapsed to 0"
#: A parameter moved, but its interval contains the start, or its whole range.
ALONE, UNRESOLVED = "alone within the noise", "moved without a signal"


class Arguments(TypedDict, total=False):
    seed: int
    most_passes: float | None
    patience: int | None
    strength: float
    shards: int


class Optimiser(ABC):
    """Minimises the error over values within bounds.

    The passes asked for depend only on settings, seed and results so far.  Passes may be told in
    any order.  `state` and then `restore` in a new object with the same settings is the same as
    no interruption; a pass that was asked for and not yet told is known to the caller.  The
    annotated attributes of a class are its state.

    distances  changes of the parameters that are large enough for derivatives; empty if unknown
    problem    reason to halt the tune, a sentence for the user; None if all is well

    parameters   all are tuned; on a logarithmic scale the optimiser works with their logarithms
    seed         of all random numbers
    most_passes  limit of passes over training, batches counted in parts; None: no limit
    patience     checks or steps in a row without a smaller validation error that end the tune;
                 None: no limit
    strength     of the ridge of methods that try only one
    shards       shards of training, for batches
    """

    _number: int = 0
    _used: float = 0.0
    _stale: int = 0
    _validated: bool = False
    #: Why the tune ends; "" before.
    _over: str = ""
    problem: str | None = None
    _wanted: list[Request]
    _asked: dict[int, Request]
    _best: Point
    _course: list[Step]
    distances: list[float]
    #: Lines for the history.
    _notes: list[str]
    #: Places of parameters on which no score depends, and of those like another, with that one's.
    _silent: list[int]
    _alike: dict[int, int]
    #: Values with the least error without a ridge, and their standard errors, None if infinite.
    _estimate: list[float]
    _deviation: list[float | None]
    #: Latest ridge path by the number of the group of parameters.
    _paths: dict[int, RidgePath]

    #: The share of training in a batch; no state.
    share = 1.0

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        seed: int = 0,
        most_passes: float | None = None,
        patience: int | None = 3,
        strength: float = 0.0,
        shards: int = 1,
    ) -> None:
        self.parameters = tuple(map(_logarithm, parameters))
        self.space, self._scaled = Space.of(self.parameters), Space.of(parameters)
        self.most_passes = math.inf if most_passes is None else most_passes
        self.seed, self.patience, self.strength, self.shards = seed, patience, strength, shards
        self._start = self.space.played(self.space.start)
        self._best = Point(-1, self._start, WORST)
        self._wanted, self._asked = [Request(self._start)], {}
        self._course, self.distances, self._notes = [], [], []
        self._forget: list[int] = []
        self._silent, self._alike, self._paths = [], {}, {}
        self._estimate = list(self._start)
        self._deviation = [None] * len(self.parameters)

    @abstractmethod
    def _learn(self, request: Request, point: Point, data: Data) -> None:
        """Record the errors of a pass."""

    @abstractmethod
    def _advance(self, data: Data) -> None:
        """Continue after all wanted passes are told: want others, or `_stop`."""

    def _obsolete(self) -> list[int]:
        """Return and drop kept passes whose scores are no longer needed."""
        forget, self._forget = self._forget, []
        return forget

    def ask(self) -> Pass | None:
        """Return the next pass; None while results are awaited or nothing is left to do."""
        if not self._wanted:
            return None
        number, self._number = self._number, self._number + 1
        one = self._asked[number] = self._wanted.pop(0)
        if one.part == "batch":
            return Pass(number, self._played(one.theta), self._batch())
        return Pass(number, self._played(one.theta), one.part, keep=True)

    def tell(self, number: int, errors: Errors, data: Data) -> TellResult:
        """Record the errors of a pass; unknown passes are ignored."""
        request = self._asked.pop(number, None)
        if request is None:
            return TellResult()
        self._used += self.share if request.part == "batch" else 1.0
        if number == 0:
            self._validated = errors.validation is not None
        held = infinite(finite(errors.validation)) if self._validated else None
        self._learn(
            request, Point(number, request.theta, infinite(finite(errors.train)), held), data
        )
        while not (self._wanted or self._asked or self.finished()):
            self._advance(data)
        notes, self._notes = self._notes, []
        return TellResult(tuple(notes), tuple(self._obsolete()))

    def finished(self) -> bool:
        """Return whether no pass is wanted or awaited."""
        return bool(self._over) and not self._wanted and not self._asked

    @property
    def best(self) -> Theta:
        """The accepted values with the smallest validation error.

        Without validation: the smallest training error with the penalty.
        """
        return self._played(self._best.theta)

    @property
    def course(self) -> list[Step]:
        """The steps so far, thinned to some hundreds; the first one is the start."""
        return [msgspec.structs.replace(s, theta=self._played(s.theta)) for s in self._course]

    def _played(self, theta: Theta) -> Theta:
        """Return the values of θ as played."""
        return self._scaled.played(np.array(theta))

    @property
    def best_pass(self) -> int | None:
        """The pass of `best` over "all" whose scores are kept, None without one."""
        return self._best.number if self._best.number >= 0 else None

    @property
    def ridge_paths(self) -> list[RidgePath]:
        """The latest path of the ridge, or one for each group of parameters."""
        return [path for _, path in sorted(self._paths.items())]

    @property
    def intervals(self) -> tuple[Array, Array] | None:
        """Ends of the 95 % intervals of `best`, (n,) each; None if the method has none.

        They are those of the optimum without the ridge, widened to include the values used: the
        ridge and an early end keep these away from the optimum.
        """
        if all(each is None for each in self._deviation):
            return None
        half = np.array([math.inf if e is None else NORMAL * e for e in self._deviation])
        half += np.where(self.space.integer, 0.5, 0.0)
        best, centre = self._scaled.theta(np.array(self.best)), np.array(self._estimate)
        ends = np.minimum(centre - half, best), np.maximum(centre + half, best)
        low, high = (self._scaled.values(self.space.clip(end)) for end in ends)
        return low, high

    def report(self) -> list[OwnTable]:
        return [path.table() for path in self.ridge_paths]

    def flags(self) -> dict[int, tuple[str, ...]]:
        """Return oddities of parameters by place: "at its lower bound", "no signal", …"""
        flags, ends = {}, self.intervals
        for i in range(len(self.parameters)):
            words = value_flags(self._scaled, i, self.best[i])
            if i in self._silent:
                words.append(NO_SIGNAL)
            elif i in self._alike:
                words.append(f"indistinguishable from {self.parameters[self._alike[i]].code}")
            elif ends is not None:
                words += noise_flags(self._scaled, i, self.best[i], ends[0][i], ends[1][i])
            if words:
                flags[i] = tuple(words)
        return flags

    def state(self) -> dict[str, Any]:
        values = {name.strip("_"): getattr(self, name) for name in get_type_hints(type(self))}
        state: dict[str, Any] = msgspec.to_builtins(
            values, str_keys=True, order="deterministic", enc_hook=_data_of
        )
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        for name, kind in get_type_hints(type(self)).items():
            data = state[name.strip("_")]
            setattr(self, name, msgspec.convert(data, kind, strict=False, dec_hook=_object_of))

    def _batch(self) -> Part:
        """Return the positions of the present batch, the same until its passes are told."""
        return "train"

    def _allowed(self, cost: float) -> bool:
        """Return whether further passes are within `most_passes`; none is under way."""
        return self._used + cost <= self.most_passes + 1e-9

    def _stop(self, why: str) -> None:
        self._over = self._over or why

    def _record(self, point: Point, label: str, taken: bool, extra: dict[str, float]) -> None:
        errors = finite(point.train), finite(point.validation)
        self._course.append(Step(self._used, point.theta, *errors, label, taken, extra))
        if len(self._course) > MOST_STEPS:
            first, *others, last = self._course
            # prefer steps with a validation error
            kept = [s for i, s in enumerate(others) if s.validation is not None or i % 2]
            if len(kept) > MOST_STEPS * 3 // 4:
                kept = kept[::2]
            self._course = [first, *kept, last]


def value_flags(space: Space, i: int, value: float) -> list[str]:
    """Return flags of a parameter's value: on a bound, collapsed to nearly 0."""
    start, low, high = _start_and_bounds(space, i)
    words = []
    if value <= low < start:
        words.append("at its lower bound")
    if value >= high > start:
        words.append("at its upper bound")
    if start and value == 0:
        words.append(COLLAPSED)
    elif start and abs(value) <= TINY_SHARE * abs(start):
        words.append(f"collapsed to {abs(value / start):.0%} of its start")
    return words


def noise_flags(space: Space, i: int, value: float, low: float, high: float) -> list[str]:
    """Return a flag if a parameter's 95 % interval is its whole range, or has its start inside.

    An interval holds for one parameter alone; several flagged parameters may still have moved for
    a reason together.
    """
    start, least, most = _start_and_bounds(space, i)
    moved = value != start
    if low <= least and high >= most:
        return [UNRESOLVED if moved else NO_SIGNAL]
    return [ALONE] if moved and low <= start <= high else []


def _start_and_bounds(space: Space, i: int) -> tuple[float, float, float]:
    ends = (space.values(a) for a in (space.start, space.minimum, space.maximum))
    start, low, high = (float(values[i]) for values in ends)
    return start, low, high


def _logarithm(p: TunedParameter) -> TunedParameter:
    """Return a parameter as the optimiser sees it: the logarithm of one on such a scale."""
    if p.scale == "linear":
        return p
    start, low, high = map(math.log, (p.start, p.minimum, p.maximum))
    step = None if p.step is None else math.log1p(p.step / p.start)
    fields = {"start": start, "minimum": low, "maximum": high, "step": step}
    return msgspec.structs.replace(p, **fields, integer=False, scale="linear")


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
