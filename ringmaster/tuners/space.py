"""The ranges of tuned parameters as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: Smallest perturbation of an integer parameter: its sides differ by 1.
SMALLEST_INTEGER_C = 0.5


class Space(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Start and bounds of θ; every array is (n,)."""

    start: Array
    minimum: Array
    maximum: Array
    integer: Flags

    @classmethod
    def of(cls, parameters: Sequence[TunedParameter]) -> Space:
        """Return the space of parameters."""
        return cls(
            np.array([p.start for p in parameters], dtype=np.float64),
            np.array([p.minimum for p in parameters], dtype=np.float64),
            np.array([p.maximum for p in parameters], dtype=np.float64),
            np.array([p.integer for p in parameters], dtype=np.bool_),
        )

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def width(self) -> Array:
        """Maximum − minimum."""
        return self.maximum - self.minimum

    @cached_property
    def scale(self) -> Array:
        """The unit length of each parameter: its range, 1 if that is 0."""
        return np.where(self.width > 0, self.width, 1.0)

    @cached_property
    def some_integer(self) -> bool:
        """Return whether any parameter is an integer."""
        return bool(self.integer.any())

    @cached_property
    def least_c(self) -> Array:
        """The smallest perturbation that survives rounding."""
        return np.where(self.integer, SMALLEST_INTEGER_C, 0.0)

    @cached_property
    def whole_bounds(self) -> tuple[Array, Array]:
        """The least and the largest playable values, (n,) each: whole for integers."""
        return (
            np.where(self.integer, np.ceil(self.minimum), self.minimum),
            np.where(self.integer, np.floor(self.maximum), self.maximum),
        )

    def played(self, theta: Array) -> tuple[float, ...]:
        """Return values as they are played: within the bounds, halves of integers rounded up."""
        values = np.where(self.integer, np.floor(theta + 0.5), theta)
        return tuple(np.clip(values, *self.whole_bounds).tolist())

    def clip(self, theta: Array) -> Array:
        """Return the nearest points within the bounds."""
        return np.minimum(np.maximum(theta, self.minimum), self.maximum)
