"""Parameters to be tuned, as data."""

from __future__ import annotations

import math
from typing import Any

import msgspec


class SpsaParameter(msgspec.Struct, frozen=True):
    """One parameter of an SPSA tune, in the engine's own units.

    c_end  perturbation at the last iteration
    r_end  relative apply factor R = a/c² at the last iteration
    option the engine option it is, by default its code
    """

    code: str
    start: float
    minimum: float
    maximum: float
    c_end: float
    r_end: float
    integer: bool = False
    option: str | None = None

    def canonical(self) -> dict[str, Any]:
        """Return it by the arguments of Parameter(…), for the comparison of two runs."""
        named = {"minimum": "min", "maximum": "max"}
        return {named.get(f, f): getattr(self, f) for f in self.__struct_fields__}

    def engine_value(self, value: float) -> int | float:
        """Return a value as an engine is given it: rounded half up if integer."""
        return math.floor(value + 0.5) if self.integer else value

    def clip(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(value, self.minimum), self.maximum)
