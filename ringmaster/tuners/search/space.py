"""The searched parameters: numbers and choices, some of which depend on a choice."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

#: A candidate's values in the order of the dimensions; None for one that does not exist.  The
#: value of a choice is its index.
Values = Sequence[int | float | None]


class Dimension(msgspec.Struct, frozen=True):
    """One parameter.

    low, high  the range; of choices, the first and the last index
    integer    whether it has whole numbers only
    log        whether equal factors are equally far apart
    step       distance of neighbouring values, None for any number
    choices    whether the numbers are indices of choices, without an order
    fixed      whether it keeps its start value
    only_if    it exists only if each of these earlier dimensions (by index) has one of these
               choices
    """

    code: str
    start: int | float
    low: float
    high: float
    integer: bool = False
    log: bool = False
    step: float | None = None
    choices: bool = False
    fixed: bool = False
    only_if: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @property
    def conditional(self) -> bool:
        """Return whether it does not exist in every candidate."""
        return bool(self.only_if)

    def exists(self, earlier: Values) -> bool:
        """Return whether it exists beside the values of earlier dimensions."""
        return all(earlier[index] in choices for index, choices in self.only_if)

    def place(self, value: int | float) -> float:
        """Return a number's place in its range, from 0 to 1."""
        low, high = self.low, self.high
        if self.log:
            return math.log(value / low) / math.log(high / low)
        return (value - low) / (high - low)


class Space(msgspec.Struct, frozen=True):
    """All parameters, in the order of the control file."""

    dimensions: tuple[Dimension, ...]

    @property
    def searched(self) -> list[int]:
        """Indices of the dimensions that are not fixed."""
        return [i for i, d in enumerate(self.dimensions) if not d.fixed]

    def settle(self, values: Sequence[int | float]) -> list[int | float | None]:
        """Return values without those of dimensions that do not exist."""
        settled: list[int | float | None] = []
        for dimension, value in zip(self.dimensions, values, strict=True):
            settled.append(value if dimension.exists(settled) else None)
        return settled

    def start(self) -> list[int | float | None]:
        """Return the start values."""
        return self.settle([d.start for d in self.dimensions])
