"""Parameters to be tuned, as data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec


class TunedParameter(msgspec.Struct, frozen=True):
    """One parameter of an SPSA or a Texel tune, in its own units.

    c_end    perturbation at the last iteration; None: the method's own choice
    r_end    relative apply factor R = a/c² at the last iteration, None likewise
    step     weather-factory's measure of its perturbation, None: c_end's; in a Texel
             tune, by how much it is changed to see what that does to the scores
    group    name of the parameters that a Texel tune moves together
    integer  whether only whole numbers are played
    frozen   whether it stays where it is
    option, gtp, argument, environ
             how an engine is given it: the name of its option (by default the
             code), a GTP command, words of its command line, a variable of its
             environment; the last three with one conversion, or ``%s`` at the end
    format   printf's, of the value as it is given and reported
    transform  makes of the value what an engine is given
    comment  text that parameter files have beside it
    not_used  whether it is only a row of a parameter file: neither tuned nor given to
             engines, and frozen
    """

    code: str
    start: float
    minimum: float
    maximum: float
    c_end: float | None = None
    r_end: float | None = None
    integer: bool = False
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
        """Return it by the arguments of Parameter(…), for the comparison of two runs."""
        named = {"minimum": "min", "maximum": "max"}
        return {named.get(f, f): getattr(self, f) for f in self.__struct_fields__}

    def engine_value(self, value: float) -> int | float:
        """Return a value as it is played: rounded half up if integer."""
        return math.floor(value + 0.5) if self.integer else value

    def clip(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(value, self.minimum), self.maximum)
