"""The contract of an optimiser over labelled positions, the ridge, and flags of odd values.

An optimiser asks for passes: each is one set of values whose scores are wanted.  It is told
the errors of each pass.  A pass over all positions takes seconds to hours, and a tune may stop
between any two shards, so the state of an optimiser is JSON data.

The ridge keeps parameters near their start values where the positions say little of them:

    penalty(θ) = strength · Σ ((θ − start)/(max − min))²

is added to the mean loss of training.  Lengths are in ranges, so one strength serves all
parameters: with strength 0.001, a change by a tenth of the range costs an error of 10⁻⁵
(Hoerl & Kennard, "Ridge regression", 1970; here values shrink towards the start).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.loss import Array as Array
from ringmaster.tuners.texel.loss import Floats as Floats
from ringmaster.tuners.texel.loss import Loss
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
    """Effects of a pass on the optimiser.

    notes   lines for the history
    forget  kept passes whose scores are no longer needed
    """

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


#: Title, headers and rows.
OwnTable = tuple[str, tuple[str, ...], list[tuple[Any, ...]]]


class RidgePath(msgspec.Struct, frozen=True):
    """Errors at each strength of the ridge.

    detail  name of the last column
    rows    strength, training error, validation error (None without validation), detail
    used    the strength of the last step
    """

    title: str
    detail: str
    rows: Sequence[tuple[float, float | None, float | None, Any]]
    used: float | None

    @property
    def edge(self) -> str:
        """A remark if the used strength is the last of those tried, "" otherwise."""
        tried = [row[0] for row in self.rows]
        if self.used is None or len(tried) < 2 or min(tried) < self.used < max(tried):
            return ""
        if self.used == max(tried):
            more = "a stronger ridge may be better: the positions hardly move the values"
            return f"{self.used:g} is the strongest of those tried; {more}"
        if self.used == 0:
            return "0, no ridge, is the weakest of those tried; the positions need no ridge"
        return f"{self.used:g} is the weakest of those tried; a weaker ridge may be better"

    def table(self) -> OwnTable:
        """Return the path as a table of a report."""
        headers = ("strength", "training", "validation", self.detail, "")
        rows = [(*row, "used" if row[0] == self.used else None) for row in self.rows]
        return "; ".join(filter(None, (self.title, self.edge))), headers, rows


class Optimiser(ABC):
    """Minimises the error over values within bounds.

    The passes asked for depend only on settings, seed and results so far.  Passes may be told in
    any order.  `state` and then `restore` in a new object with the same settings is the same as
    no interruption; a pass that was asked for and not yet told is known to the caller.
    """

    parameters: tuple[TunedParameter, ...]
    space: Space

    @abstractmethod
    def ask(self) -> Pass | None:
        """Return the next pass; None while results are awaited or nothing is left to do."""

    @abstractmethod
    def tell(self, number: int, errors: Errors, data: Data) -> TellResult:
        """Record the errors of a pass."""

    @abstractmethod
    def finished(self) -> bool:
        """Return whether no pass is wanted or awaited."""

    @property
    @abstractmethod
    def best(self) -> Theta:
        """The accepted values with the smallest validation error.

        Without validation: the smallest training error with the penalty.
        """

    @property
    @abstractmethod
    def best_pass(self) -> int | None:
        """The pass of `best` over "all" whose scores are kept, None without one."""

    @property
    @abstractmethod
    def course(self) -> Sequence[Step]:
        """The steps so far, thinned to some hundreds; the first one is the start."""

    def report(self) -> list[OwnTable]:
        """Return the tables of the method."""
        return [path.table() for path in self.ridge_paths]

    def flags(self) -> dict[int, tuple[str, ...]]:
        """Return oddities of parameters by place: "at its lower bound", "no signal", …"""
        ends, silent, alike = self.intervals, *self.oddities
        noise = {} if ends is None else noise_flags(self.space, self.best, ends)
        flags = {i: list(words) for i, words in value_flags(self.space, self.best).items()}
        for i in range(len(self.parameters)):
            if i in silent:
                flags.setdefault(i, []).append(NO_SIGNAL)
            elif i in noise and i not in alike:
                flags.setdefault(i, []).append(noise[i])
            if i in alike:
                code = self.parameters[alike[i]].code
                flags.setdefault(i, []).append(f"indistinguishable from {code}")
        return {i: tuple(words) for i, words in sorted(flags.items())}

    @property
    def oddities(self) -> tuple[Collection[int], Mapping[int, int]]:
        """Places of parameters without effect, and of those like another, with that one's."""
        return (), {}

    @property
    def distances(self) -> Sequence[float] | None:
        """Changes of the parameters that are large enough for derivatives, None if unknown."""
        return None

    @property
    def ridge_paths(self) -> Sequence[RidgePath]:
        """The latest path of the ridge, or one for each group of parameters."""
        return ()

    @property
    def problem(self) -> str | None:
        """Reason to halt the tune, a sentence for the user; None if all is well."""
        return None

    @property
    def intervals(self) -> tuple[Array, Array] | None:
        """Ends of the 95 % intervals of `best`, (n,) each; None if the method has none."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""


#: The 97.5 % point of the normal distribution.
NORMAL = 1.959963984540054


class ModelState(msgspec.Struct, kw_only=True):
    """The state of an optimiser with a linear model of the scores.

    number     of the next pass
    silent     places of parameters on which no score depends
    alike      places of parameters that are indistinguishable from others, with the most similar
    estimate   values with the least error; deviation: their standard errors, None if infinite
    paths      latest ridge path by the number of the group of parameters
    """

    estimate: list[float]
    deviation: list[float | None]
    number: int = 0
    silent: list[int] = []
    alike: dict[int, int] = {}
    paths: dict[int, RidgePath] = {}
    course: list[Step] = []


class ModelOptimiser(Optimiser):
    """Base of the optimisers with a linear model of the scores."""

    _state: ModelState

    @property
    def course(self) -> Sequence[Step]:
        return tuple(self._state.course)

    @property
    def ridge_paths(self) -> list[RidgePath]:
        return [path for _, path in sorted(self._state.paths.items())]

    @property
    def oddities(self) -> tuple[Collection[int], Mapping[int, int]]:
        return self._state.silent, self._state.alike

    @property
    def intervals(self) -> tuple[Array, Array] | None:
        s = self._state
        if all(each is None for each in s.deviation):
            return None
        half = np.array([math.inf if each is None else NORMAL * each for each in s.deviation])
        half += np.where(self.space.integer, 0.5, 0.0)
        best, centre = np.array(self.best), np.array(s.estimate)
        # the ridge and an early end keep the values away from the optimum
        return (
            self.space.clip(np.minimum(centre - half, best)),
            self.space.clip(np.maximum(centre + half, best)),
        )

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._state, str_keys=True)
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        self._state = msgspec.convert(state, type(self._state), strict=False)


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
#: Strengths of the usual path: 0, and 10⁻⁶ to 1 in half decades.
PATH = (0.0, *(float(f"{10 ** (k / 2):.3g}") for k in range(-12, 1)))
#: Default of methods that try one strength only.
DEFAULT_STRENGTH = 1e-3


def strengths_of(ridge: Sequence[float | None] | None) -> tuple[float, ...]:
    """Return the strengths to try: (0,) for None, the usual path for each None in `ridge`."""
    if ridge is None:
        return (0.0,)
    strengths = {s for each in ridge for s in (PATH if each is None else (each,))}
    return tuple(sorted(strengths)) or (0.0,)


class Penalty(msgspec.Struct, frozen=True, eq=False):
    """The ridge penalty for one strength, and a damping of steps.

    damping  second derivatives, (n,): ½·Σ damping·(θ − base)² is added
    """

    space: Space
    strength: float
    damping: Array | float = 0.0
    base: Array | float = 0.0

    def __call__(self, theta: Sequence[float] | Array) -> float:
        """Return the penalty at θ, (n,)."""
        ridge = self.strength * np.square(self._distance(theta)).sum()
        damped = self.damping * np.square(np.asarray(theta) - self.base)
        return float(ridge + damped.sum() / 2)

    def slope(self, theta: Sequence[float] | Array) -> Array:
        """Return ∂penalty/∂θ, (n,)."""
        ridge = 2 * self.strength * self._distance(theta) / self.space.scale
        return np.asarray(ridge + self.damping * (np.asarray(theta) - self.base))

    @property
    def curvature(self) -> Array:
        """∂²penalty/∂θ², (n,)."""
        return 2 * self.strength / np.square(self.space.scale) + self.damping

    def _distance(self, theta: Sequence[float] | Array) -> Array:
        """Return θ − start in ranges, (n,)."""
        return (np.asarray(theta, dtype=np.float64) - self.space.start) / self.space.scale


#: A value below this share of its start has collapsed.
TINY_SHARE = 0.05
#: Largest variance inflation factor of a parameter that is distinguishable from the others.
LARGEST_INFLATION = 20.0

NO_SIGNAL = "no signal"
COLLAPSED = "collapsed to 0"
#: A parameter moved, but its interval contains the start, or its whole range.
ALONE, UNRESOLVED = "alone within the noise", "moved without a signal"


def value_flags(space: Space, theta: Sequence[float] | Array) -> dict[int, tuple[str, ...]]:
    """Return flags of the values themselves, by place: on a bound, collapsed to nearly 0."""
    flags: dict[int, tuple[str, ...]] = {}
    for i, value in enumerate(theta):
        start, low, high = (float(a[i]) for a in (space.start, space.minimum, space.maximum))
        words = []
        if value <= low < start:
            words.append("at its lower bound")
        if value >= high > start:
            words.append("at its upper bound")
        if start and abs(value) <= TINY_SHARE * abs(start):
            if value == 0:
                words.append(COLLAPSED)
            else:
                words.append(f"collapsed to {abs(value / start):.0%} of its start")
        if words:
            flags[i] = tuple(words)
    return flags


def noise_flags(
    space: Space, theta: Sequence[float] | Array, ends: tuple[Array, Array]
) -> dict[int, str]:
    """Return flags of the 95 % intervals, by place: whole ranges, and starts inside.

    An interval holds for one parameter alone; several flagged parameters may still have moved for
    a reason together.
    """
    low, high = ends
    flags = {}
    for i, value in enumerate(theta):
        moved = value != space.start[i]
        if low[i] <= space.minimum[i] and high[i] >= space.maximum[i]:
            flags[i] = UNRESOLVED if moved else NO_SIGNAL
        elif moved and low[i] <= space.start[i] <= high[i]:
            flags[i] = ALONE
    return flags


def collinear(curvature: Array) -> dict[int, int]:
    """Return parameters that are not distinguishable from others, with the most similar one.

    curvature  mean ∂²loss/∂θ², (k, k)

    Their variance inflation factor is above LARGEST_INFLATION; the most similar parameter has the
    largest partial correlation.
    """
    size = np.sqrt(np.diag(curvature))
    known = np.flatnonzero(size > 0)
    if len(known) < 2:
        return {}
    unit = size[known]
    correlation = curvature[np.ix_(known, known)] / np.outer(unit, unit)
    # keeps the matrix of equal columns invertible
    inverse = np.linalg.inv(correlation + 1e-9 * np.eye(len(known)))
    inflation = np.diag(inverse)
    partial = np.abs(inverse) / np.sqrt(np.outer(inflation, inflation))
    np.fill_diagonal(partial, 0.0)
    return {
        int(known[i]): int(known[int(np.argmax(partial[i]))])
        for i in np.flatnonzero(inflation > LARGEST_INFLATION)
    }
