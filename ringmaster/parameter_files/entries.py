"""The parameters of a file of any format, their checks, and their arguments of Parameter(…).

All wrong lines are reported in one error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ringmaster.errors import ParameterFileError, shown
from ringmaster.model.parameters import TunedParameter
from ringmaster.parameter_files.text import Text, name_problem


class Entry(TunedParameter, frozen=True, kw_only=True):
    """One parameter of a file, in the engine's units.

    c_end and r_end are as of the last iteration.

    grid       Optuna tuner's distance between values
    simul_elo  SPSA Tuner's simulation: Elo lost at 100 from 0
    choices    values without order; start, minimum and maximum are their numbers from 0
    line       in the file, from 1
    """

    grid: float | None = None
    simul_elo: float | None = None
    choices: tuple[str | float, ...] = ()
    line: int | None = None


def arguments(entry: Entry) -> dict[str, Any]:
    """Return the arguments of Parameter(…) after its code."""
    row: dict[str, Any] = {"start": entry.start, "min": entry.minimum, "max": entry.maximum}
    row |= {name: getattr(entry, name) for name in ("c_end", "r_end", "step")}
    row = {name: plain(value) for name, value in row.items() if value is not None}
    row["integer"] = entry.integer
    if entry.scale == "log":
        row["scale"] = "log"
    row |= {name: getattr(entry, name) for name in ("not_used", "frozen", "comment")}
    return {name: value for name, value in row.items() if value is not None and value is not False}


def plain(value: float) -> int | float:
    """Return a whole number as an int, if that is exact."""
    return int(value) if value == math.floor(value) and abs(value) < 2**53 else value


#: Problems in one message; further problems are counted.
MOST = 8


@dataclass
class ParameterFile:
    """The content of a file, with its problems while it is read.

    format   a name in FORMATS
    games    length of the tune, for formats whose gains depend on it; None if unknown
    integer  whether engines accept whole numbers only, None: as in the file
    notes    the assumptions
    others   the lines with other settings, as words (CLOP)
    """

    text: Text
    format: str
    games: int | None
    integer: bool | None
    entries: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    others: list[tuple[str, ...]] = field(default_factory=list)
    #: Line (None: the whole file), message and expected form.
    _problems: list[tuple[int | None, str, str]] = field(default_factory=list)
    _seen: dict[str, Entry] = field(default_factory=dict)

    def refuse(self, line: int | None, message: str, expected: str = "") -> None:
        """Add a problem."""
        self._problems.append((line, message, expected))

    def add(self, entry: Entry, whole: bool | None) -> None:
        """Add an entry, or refuse its line.

        whole  whether the parameter is an integer; None for tuners that round all values: it is
               an integer if its bounds are
        """
        low, high = entry.minimum, entry.maximum
        bounds_whole = low % 1 == 0 and high % 1 == 0
        integer = whole if self.integer is None else self.integer
        if integer is None:
            integer = bounds_whole
            if not bounds_whole:
                self.notes.append(
                    f"{entry.code}: its bounds are not whole numbers, so its values need not be"
                )
        if integer != entry.integer:
            entry = msgspec.structs.replace(entry, integer=integer)
        name = shown(entry.code) if name_problem(entry.code) else entry.code
        for message, expected in _problems(entry):
            self.refuse(entry.line, f"{name}: {message}", expected)
        # names of options ignore case (UCI)
        other = self._seen.setdefault(entry.code.casefold(), entry)
        if other is not entry:
            where = f", first on line {other.line}" if other.line is not None else ""
            alike = "" if other.code == entry.code else f" ({other.code})"
            message = f"{name}: the name is there twice{alike}{where}"
            self.refuse(entry.line, message, "each name once")
        self.entries.append(entry)

    def check(self) -> None:
        """Raise ParameterFileError for problems, or without parameters."""
        ordered = sorted(self._problems, key=lambda problem: problem[0] or 0)
        lines: list[str] = []
        for line, message, expected in ordered[:MOST]:
            where = self.text.name if line is None else f"{self.text.name}:{line}"
            lines.append(f"{where}: {message}" + (f"; expected {expected}" if expected else ""))
            if line is not None:
                lines.append(self.text.excerpt(line))
        if len(ordered) > MOST:
            lines.append(f"and {len(ordered) - MOST} more")
        if not lines and not self.entries:
            lines = [f"{self.text.name}: the file has no parameters"]
        if lines:
            raise ParameterFileError(lines[0], lines[1:])
        self.notes = list(dict.fromkeys(self.notes))


def _problems(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the errors of an entry with the expected forms."""
    low, high = entry.minimum, entry.maximum
    if problem := name_problem(entry.code):
        yield problem, "an option of the engine"
    elif not low <= high:
        yield f"min {low:g} is more than max {high:g}", "the smaller bound first"
    elif low == high:
        yield (
            f"min and max are both {low:g}, so there is nothing to tune",
            "a range, or leave out the line",
        )
    elif not low <= entry.start <= high:
        yield f"start {entry.start:g} is outside its bounds", f"a number from {low:g} to {high:g}"
    elif entry.integer and (low % 1 or high % 1):
        bound = f"min {low:g}" if low % 1 else f"max {high:g}"
        yield f"{bound} is not a whole number", "whole bounds of an integer"
    elif entry.scale == "log" and low <= 0:
        yield f"min {low:g} is not possible on a logarithmic scale", "more than 0"
    for name in ("c_end", "r_end", "step", "grid"):
        value = getattr(entry, name)
        if value is not None and not value > 0:
            yield f"{name} is {value:g}", "more than 0"
