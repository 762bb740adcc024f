"""The contract of an optimiser over labelled positions: it asks for passes, each one set
of values whose scores are wanted, and is told what they came to.

A pass over all positions costs seconds to hours, and a tune is stopped and gone on with
between any two shards; so an optimiser is asked and told, and its state is JSON data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.tuners.texel.loss import Array as Array
from ringmaster.tuners.texel.loss import Floats as Floats
from ringmaster.tuners.texel.loss import Loss

#: Which positions a pass is over: those of training, those of validation, both, or the
#: shards of training with these numbers (a batch).
Part = Literal["train", "validation", "all"] | tuple[int, ...]


class Pass(msgspec.Struct, frozen=True):
    """One set of values to be scored.

    number  from 0; 0 is the start values over "all"
    theta   values of the tuned parameters as they are played: within the bounds, whole
            where they are integers
    keep    whether the scores will be needed beyond the errors (`Data.blocks`)
    """

    number: int
    theta: tuple[float, ...]
    part: Part = "train"
    keep: bool = False


class Errors(msgspec.Struct, frozen=True):
    """What a pass came to: mean losses, each None where the pass had no such positions."""

    train: float | None = None
    validation: float | None = None


class Block(msgspec.Struct, frozen=True):
    """Some positions with all that is known of them; every array is (n,) but `scores`,
    which is (passes, n).

    scores  centipawns from the side that moves first, NaN where there is none
    target  what the win probability should be, 0 to 1
    weight  how many positions each stands for; 0 for one that is left out
    game    number of the game that it is from
    """

    scores: Floats
    target: Floats
    weight: Floats
    game: npt.NDArray[np.uint32]


class Data(Protocol):
    """The positions with their targets, the loss that counts (its scale is known from the
    first pass on), and the scores of passes that were kept."""

    @property
    def loss(self) -> Loss:
        """The loss of scores against targets."""
        ...

    def blocks(
        self, passes: Sequence[int], part: Literal["train", "validation"]
    ) -> Iterator[Block]:
        """Yield all positions of a part in a fixed order, with the scores of these
        passes; never more than a shard at a time in memory."""


class Told(msgspec.Struct, frozen=True):
    """What an optimiser made of a pass.

    notes   lines for the history
    forget  passes that were kept and are not needed any more
    step    whether the values that are the best so far are new
    """

    notes: tuple[str, ...] = ()
    forget: tuple[int, ...] = ()
    step: bool = False


class Step(msgspec.Struct, frozen=True):
    """A point of an optimiser's course: values that were taken, or whose errors show
    how it goes.

    passes    full passes (of training) that had been used, in parts where batches were
    label     what it is: "start", "step 3, ridge 1e-7", "generation 12"
    taken     whether the optimiser goes on from it
    extra     further numbers, by name ("entropy", "ridge")
    """

    passes: float
    theta: tuple[float, ...]
    train: float | None
    validation: float | None
    label: str = ""
    taken: bool = True
    extra: dict[str, float] = msgspec.field(default_factory=dict)


class Optimiser(ABC):
    """Minimises the error over values within bounds.

    Guarantees: what is asked for is a function of (settings, seed, what has been told);
    passes may be told in any order; `state` followed by `restore` in a new object with
    the same settings is the same as never having stopped (a pass that was asked for and
    not told is known to the caller, who tells it later).
    """

    @abstractmethod
    def ask(self) -> Pass | None:
        """Return a further pass; None while results are awaited, or when there is nothing
        more to do."""

    @abstractmethod
    def tell(self, number: int, errors: Errors, data: Data) -> Told:
        """Learn what a pass came to."""

    @abstractmethod
    def finished(self) -> bool:
        """Whether nothing more is wanted, and nothing awaited."""

    @property
    @abstractmethod
    def best(self) -> tuple[float, ...]:
        """The values to be used: those with the smallest validation error (where nothing is
        held out, of training, with the penalty) among those taken."""

    @property
    @abstractmethod
    def best_pass(self) -> int | None:
        """The pass of `best` whose scores are kept over "all", None where they are not."""

    @property
    @abstractmethod
    def course(self) -> Sequence[Step]:
        """How it went, thinned to at most some hundreds of points; the first is the start."""

    @abstractmethod
    def report(self) -> list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]]:
        """Return further tables: title, headers, rows (a ridge path, the last
        generation, …)."""

    @abstractmethod
    def flags(self) -> dict[int, tuple[str, ...]]:
        """Return what is odd with parameters, by place: "at its lower bound", "collapsed to
        0", "no signal", …"""

    @property
    def is_settled(self) -> bool:
        """Return whether `best` is final."""
        return self.finished()

    @property
    def distances(self) -> Sequence[float] | None:
        """The distances of parameters that move the scores enough for derivatives, None where
        the method knows none."""
        return None

    @property
    def problem(self) -> str | None:
        """Why the tune has to be halted, in a sentence for the user; None while nothing is
        wrong."""
        return None

    @property
    def intervals(self) -> tuple[Array, Array] | None:
        """Ends of the 95 % intervals of `best`, (n,) each; None where the method has
        none."""
        return None

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state."""
