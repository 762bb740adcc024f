"""Scales: functions from an optimiser parameter, a number from 0 to 1, to what an
engine is given."""

from __future__ import annotations

import math
from typing import Any

import msgspec


def rounded(value: float) -> int:
    """Return the nearest integer, halves upwards (also below zero).

    What is less than a half by no more than rounding errors make it is a half:
    the middles of a scale's parts often are.
    """
    return math.floor(value + 0.5 + 1e-12 * max(1.0, abs(value)))


class Linear(msgspec.Struct, frozen=True):
    """LINEAR(lower_bound, upper_bound): the bounds are the values at 0 and 1."""

    lower_bound: float
    upper_bound: float
    integer: bool = False

    def __call__(self, f: float) -> float | int:
        value = f * (self.upper_bound - self.lower_bound) + self.lower_bound
        return rounded(value) if self.integer else value


class Log(msgspec.Struct, frozen=True):
    """LOG(lower_bound, upper_bound): equal steps of f are equal factors.

    The bounds are of one sign, neither zero.
    """

    lower_bound: float
    upper_bound: float
    integer: bool = False

    def __call__(self, f: float) -> float | int:
        value = math.exp(math.log(self.upper_bound / self.lower_bound) * f) * self.lower_bound
        return rounded(value) if self.integer else value


class Explicit(msgspec.Struct, frozen=True):
    """EXPLICIT(values): each value has an equal share of the range from 0 to 1."""

    values: tuple[Any, ...]

    def __call__(self, f: float) -> Any:
        return self.values[min(int(f * len(self.values)), len(self.values) - 1)]
