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


def on_scale(values: Array, logarithmic: Flags | None) -> Array:
    """Return the places of values, (…, n), on scales of which some are logarithmic."""
    if logarithmic is None:
        return values
    return np.where(logarithmic, np.log(np.where(logarithmic, values, 1.0)), values)


class Space(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Start and bounds of θ on the parameters' scales; every array is (n,).

    On a logarithmic scale θ is the logarithm of the parameter's value.

    integer      whether values are whole numbers
    logarithmic  whether the scale is; None for no parameter
    """

    start: Array
    minimum: Array
    maximum: Array
    integer: Flags
    logarithmic: Flags | None = None

    @classmethod
    def of(cls, parameters: Sequence[TunedParameter]) -> Space:
        """Return the space of parameters."""
        logarithmic = np.array([p.scale == "log" for p in parameters], dtype=np.bool_)
        columns = np.array([(p.start, p.minimum, p.maximum) for p in parameters], dtype=np.float64)
        start, low, high = on_scale(columns.T, logarithmic)
        return cls(
            start,
            low,
            high,
            np.array([p.integer for p in parameters], dtype=np.bool_),
            logarithmic if logarithmic.any() else None,
        )

    def __len__(self) -> int:
        return len(self.start)

    def is_logarithmic(self, i: int) -> bool:
        """Return whether a parameter has a logarithmic scale."""
        return self.logarithmic is not None and bool(self.logarithmic[i])

    def values(self, theta: Array) -> Array:
        """Return the parameters' values of θ, (…, n)."""
        if self.logarithmic is None:
            return theta
        return np.where(self.logarithmic, np.exp(np.where(self.logarithmic, theta, 0.0)), theta)

    def theta(self, values: Array) -> Array:
        """Return θ of the parameters' values, (…, n)."""
        return on_scale(values, self.logarithmic)

    def rate(self, theta: Array) -> Array:
        """Return the derivative of the values by θ, (…, n)."""
        if self.logarithmic is None:
            return np.ones_like(theta)
        return np.where(self.logarithmic, self.values(theta), 1.0)

    @cached_property
    def unit(self) -> Array:
        """Units of charts on θ's scale: 1, or the natural logarithm of ten."""
        ones = np.ones(len(self))
        return ones if self.logarithmic is None else np.where(self.logarithmic, np.log(10), ones)

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
        """The smallest perturbation that survives rounding, on a linear scale."""
        whole = self.integer if self.logarithmic is None else self.integer & ~self.logarithmic
        return np.where(whole, SMALLEST_INTEGER_C, 0.0)

    @cached_property
    def whole_bounds(self) -> tuple[Array, Array]:
        """The least and the largest playable values, (n,) each: whole for integers."""
        low, high = self.values(self.minimum), self.values(self.maximum)
        # whole bounds have logarithms that are not exact
        whole = np.ceil(low - 1e-9 * abs(low)), np.floor(high + 1e-9 * abs(high))
        return np.where(self.integer, whole[0], low), np.where(self.integer, whole[1], high)

    def played(self, theta: Array) -> tuple[float, ...]:
        """Return values as they are played: within the bounds, halves of integers rounded up."""
        values = self.values(theta)
        values = np.where(self.integer, np.floor(values + 0.5), values)
        played = np.clip(values, *self.whole_bounds).tolist()
        # a power of e has an error in its last digits
        return tuple(played if self.logarithmic is None else [float(f"{v:.12g}") for v in played])

    def clip(self, theta: Array) -> Array:
        """Return the nearest points within the bounds."""
        return np.minimum(np.maximum(theta, self.minimum), self.maximum)
