"""The parameters of a file of any format, and their arguments of Parameter(…)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

#: The defaults of Stockfish's TUNE and fishtest: the perturbation as a part of the range, and R
#: at the last iteration.
DEFAULT_C = 1 / 20
DEFAULT_R = 0.002
#: The remedy for a name of an option that a format cannot have.
RENAME = "rename the engine's option, or use a format with any names, such as fishtest or openbench"


class Entry(msgspec.Struct, frozen=True):
    """One parameter of a file, in the engine's units.

    c_end      perturbation at the last iteration
    r_end      relative apply factor R = a/c² at the last iteration
    step       weather-factory's unit of the perturbation
    grid       Optuna tuner's distance between values
    integer    whether engines accept whole numbers only
    simul_elo  SPSA Tuner's simulation: Elo lost at 100 from 0
    not_used   YaneuraOu's mark of a parameter that is not tuned and unknown to the engine
    frozen     whether the engine gets the start value, which is not tuned (OpenBench's c_end 0)
    scale      "log": steps are factors (CLOP's Gamma, a log-uniform prior)
    choices    values without order; start, minimum and maximum are their numbers from 0
    line       in the file, from 1
    """

    code: str
    start: float
    minimum: float
    maximum: float
    c_end: float | None = None
    r_end: float | None = None
    step: float | None = None
    grid: float | None = None
    integer: bool = False
    simul_elo: float | None = None
    comment: str = ""
    not_used: bool = False
    frozen: bool = False
    scale: Literal["linear", "log"] = "linear"
    choices: tuple[str | float, ...] = ()
    line: int | None = None

    def gains(self) -> tuple[float, float]:
        """Return c_end and r_end, with the usual values for missing ones."""
        c_end = self.c_end
        if c_end is None:
            c_end = (self.maximum - self.minimum) * DEFAULT_C
            # half of the smallest difference of whole numbers
            c_end = max(c_end, 0.5) if self.integer else c_end
        return c_end, DEFAULT_R if self.r_end is None else self.r_end


class ParameterFile(msgspec.Struct, frozen=True):
    """The content of a file.

    format  a name in FORMATS
    notes   the assumptions
    others  the lines with other settings, as words (CLOP)
    """

    format: str
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    others: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class ReadOptions:
    """Facts that a file may not have.

    games    length of the tune, for formats with gains that depend on it
    integer  whether engines accept whole numbers only, None: as in the file
    """

    games: int | None = None
    integer: bool | None = None


@dataclass(frozen=True)
class PowerOfTwo:
    """Turn the binary logarithm of a value into the value, clipped to its bounds.

    whole  whether to round the value
    """

    low: float
    high: float
    whole: bool

    def __call__(self, exponent: float) -> int | float:
        value = min(max(math.exp2(exponent), self.low), self.high)
        return math.floor(value + 0.5) if self.whole else value

    @property
    def source(self) -> str:
        """Return the same function as Python."""
        if self.whole:
            return "lambda x: round(2**x)"
        return f"lambda x: min(max({plain(self.low)}, 2**x), {plain(self.high)})"


def arguments(entry: Entry) -> dict[str, Any]:
    """Return the arguments of Parameter(…) after its code.

    A logarithmic parameter is tuned as its binary logarithm, with a PowerOfTwo as `transform`: a
    step of 1 doubles the value.
    """
    marks = {"not_used": entry.not_used, "frozen": entry.frozen}
    row: dict[str, Any] = {name: True for name, marked in marks.items() if marked}
    if entry.comment:
        row["comment"] = entry.comment
    if entry.scale == "log":
        start, low, high = map(math.log2, (entry.start, entry.minimum, entry.maximum))
        return {
            "start": plain(min(max(start, low), high)),
            "min": plain(low),
            "max": plain(high),
            "transform": PowerOfTwo(entry.minimum, entry.maximum, entry.integer),
            **row,
        }
    named: dict[str, Any] = {
        "start": plain(entry.start),
        "min": plain(entry.minimum),
        "max": plain(entry.maximum),
    }
    for name in ("c_end", "r_end", "step"):
        value = getattr(entry, name)
        if value is not None:
            named[name] = plain(value)
    if entry.integer:
        named["integer"] = True
    return named | row


def plain(value: float) -> int | float:
    """Return a whole number as an int, if that is exact."""
    return int(value) if value == math.floor(value) and abs(value) < 2**53 else value
