"""Tuned parameters, and scales from an optimiser's [0, 1] to an engine's values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import msgspec


def rounded(value: float) -> int:
    """Return the nearest integer, halves upwards (also below zero).

    A value below a half by a rounding error counts as a half: the middles of a scale's
    parts often are halves.
    """
    return math.floor(value + 0.5 + 1e-12 * max(1.0, abs(value)))


def middle(low: float, high: float, integer: bool, logarithmic: bool) -> float:
    """Return the middle of a range, the geometric one on a logarithmic scale."""
    if logarithmic and 0 < low <= high:
        value = math.sqrt(low) * math.sqrt(high)
    else:
        value = low / 2 + high / 2
    value = float(math.floor(value + 0.5)) if integer and abs(value) < 2**53 else value
    return min(max(value, min(low, high)), max(low, high))


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


#: The scale of a tuned parameter.
Scale = Literal["linear", "log"]


class TunedParameter(msgspec.Struct, frozen=True):
    """One parameter of a tune, in its own units.

    c_end    perturbation at the last iteration; None: the method's default
    r_end    relative apply factor R = a/c² at the last iteration; None: the default
    step     weather-factory's unit of perturbation, None: c_end; in a Texel tune, the
             change that measures a derivative
    group    name of the parameters that a Texel tune moves together
    integer  whether only whole numbers are played
    scale    on which the parameter is tuned; "log": equal factors count alike
    frozen   whether it is not tuned
    option, gtp, argument, environ
             its place in an engine: the name of an option (by default the code), a GTP
             command, words of the command line, a variable of the environment; the last
             three with one conversion, or ``%s`` at the end
    format   printf format of the value for engines and reports
    transform  function from the played value to the engine value, which is delivered
    comment  its comment in parameter files
    not_used  whether it is only a row of a parameter file, frozen and unknown to engines
    """

    #: Name of `transform` in control files.
    function_name: ClassVar[str] = "transform"

    code: str
    start: float
    minimum: float
    maximum: float
    c_end: float | None = None
    r_end: float | None = None
    integer: bool = False
    scale: Scale = "linear"
    option: str | None = None
    gtp: str | None = None
    argument: str | None = None
    environ: str | None = None
    format: str | None = None
    transform: Callable[[Any], Any] | None = None
    frozen: bool = False
    step: float | None = None
    group: str | None = None
    comment: str | None = None
    not_used: bool = False

    def canonical(self) -> dict[str, Any]:
        """Return the arguments of Parameter(…), for the comparison of two runs."""
        named = {"minimum": "min", "maximum": "max"}
        return {named.get(f, f): getattr(self, f) for f in self.__struct_fields__}

    def played_value(self, value: float) -> int | float:
        """Return a value on the tuner's scale as it is played: rounded half up if integer."""
        return math.floor(value + 0.5) if self.integer else value

    @property
    def spacing(self) -> float:
        """Distance of neighbouring played values from the minimum, 0 for any value."""
        return 1 if self.integer else 0

    def clip(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(value, self.minimum), self.maximum)
