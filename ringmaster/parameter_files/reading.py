"""One parameter file being read: its entries are checked as they come, and every
doubtful line is refused in one error.  What the columns mean is for the formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ringmaster.errors import ParameterFileError
from ringmaster.model.wording import shown
from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions
from ringmaster.parameter_files.text import Row, Text, name_problem, number

#: Problems that are shown; the others are counted.
MOST = 8
#: Kinds of numbers of the formats that name them.
KINDS = {"int": True, "float": False}
#: Columns that are not numbers.
_WORDS = frozenset({"name", "type"})
#: What headers call the columns, beside their own names.
_ALIASES = {
    "name": "name",
    "parameter": "name",
    "param": "name",
    "start": "start",
    "value": "start",
    "default": "start",
    "v": "start",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
    "c_end": "c_end",
    "c": "c_end",
    "step": "c_end",
    "r_end": "r_end",
    "r": "r_end",
    "delta": "r_end",
    "simul_elo": "simul_elo",
    "elo": "simul_elo",
    "type": "type",
}


@dataclass(frozen=True)
class Problem:
    """What is wrong with a line, None for the file as a whole."""

    line: int | None
    message: str
    expected: str = ""


class Reading:
    """Entries, problems and notes of one file."""

    def __init__(self, text: Text, options: ReadOptions) -> None:
        self.text = text
        self.options = options
        self.entries: list[Entry] = []
        self.notes: list[str] = []
        self._problems: list[Problem] = []
        self._seen: dict[str, tuple[str, int | None]] = {}
        if text.encoding != "UTF-8":
            self.notes.append(f"the file is read as {text.encoding}")

    def note(self, text: str) -> None:
        """Remember something that was assumed."""
        self.notes.append(text)

    def refuse(self, line: int | None, message: str, expected: str = "") -> None:
        """Remember a problem."""
        self._problems.append(Problem(line, message, expected))

    def add(self, entry: Entry, whole: bool | None) -> None:
        """Take an entry, or refuse its line.

        whole  whether the file says that it takes whole numbers only; None: the
               source rounds whatever it tunes, so it does where its bounds are whole
        """
        low, high = entry.minimum, entry.maximum
        bounds_whole = low % 1 == 0 and high % 1 == 0
        integer = whole if self.options.integer is None else self.options.integer
        if integer is None:
            integer = bounds_whole
            if not bounds_whole:
                self.note(
                    f"{entry.code}: its bounds are not whole numbers, so neither are its values"
                )
        problem = name_problem(entry.code)
        what = entry.code if not problem else shown(entry.code)
        if problem:
            self.refuse(entry.line, f"{what}: {problem}", "an option of the engine")
        elif not low <= high:
            self.refuse(
                entry.line,
                f"{what}: min {low:g} is more than max {high:g}",
                "the smaller bound first",
            )
        elif low == high:
            self.refuse(
                entry.line,
                f"{what}: min and max are both {low:g}, so there is nothing to tune",
                "a range, or no such line",
            )
        elif not low <= entry.start <= high:
            self.refuse(
                entry.line,
                f"{what}: start {entry.start:g} is outside its bounds",
                f"a number from {low:g} to {high:g}",
            )
        elif integer and not bounds_whole:
            bound = f"min {low:g}" if low % 1 else f"max {high:g}"
            self.refuse(
                entry.line, f"{what}: {bound} is not a whole number", "whole bounds of an integer"
            )
        elif entry.scale == "log" and low <= 0:
            self.refuse(
                entry.line,
                f"{what}: min {low:g} has no place on a logarithmic scale",
                "more than 0",
            )
        steps = {"c_end": entry.c_end, "r_end": entry.r_end, "step": entry.step, "grid": entry.grid}
        for name, value in steps.items():
            if value is not None and not value > 0:
                self.refuse(entry.line, f"{what}: {name} is {value:g}", "more than 0")
        # options' names are the same in any case (UCI)
        folded = entry.code.casefold()
        if folded in self._seen:
            other, line = self._seen[folded]
            where = f" on line {line}" if line is not None else ""
            alike = "" if other == entry.code else f" ({other})"
            self.refuse(
                entry.line, f"{what}: it has been there{alike} already{where}", "each name once"
            )
        self._seen.setdefault(folded, (entry.code, entry.line))
        if integer != entry.integer:
            entry = msgspec.structs.replace(entry, integer=integer)
        self.entries.append(entry)

    def finish(self, format: str) -> ParameterFile:
        """Return the file.  Raises ParameterFileError when anything was refused, or
        there is nothing in it."""
        if self._problems:
            raise self.error()
        if not self.entries:
            raise ParameterFileError(f"{self.text.name}: there are no parameters in it")
        return ParameterFile(format, tuple(self.entries), tuple(dict.fromkeys(self.notes)))

    def error(self) -> ParameterFileError:
        """Return what was refused as one error."""
        ordered = sorted(self._problems, key=lambda p: p.line or 0)
        lines: list[str] = []
        for problem in ordered[:MOST]:
            where = self.text.name if problem.line is None else f"{self.text.name}:{problem.line}"
            expected = f"; expected {problem.expected}" if problem.expected else ""
            lines.append(f"{where}: {problem.message}{expected}")
            if problem.line is not None:
                lines.append(f"{problem.line:>5} | {_shown_line(self.text, problem.line)}")
        if len(ordered) > MOST:
            lines.append(f"and {len(ordered) - MOST} more")
        return ParameterFileError(lines[0], lines[1:])


def _shown_line(text: Text, line: int) -> str:
    raw = text.lines[line - 1].strip()
    shown_text = "".join(
        c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in raw
    )
    return shown_text if len(shown_text) <= 120 else shown_text[:119] + "…"


# Tables of comma-separated columns


def fitting(text: Text, columns: Sequence[str]) -> int:
    """Return how many lines have just these columns."""
    if text.is_object:
        return 0
    return sum(_values(row, columns) is not None for row in text.rows)


def _values(row: Row, columns: Sequence[str]) -> dict[str, Any] | None:
    """Return a row by columns, None if it is none of them."""
    if row.cells is None or len(row.cells) != len(columns):
        return None
    found: dict[str, Any] = {}
    for name, cell in zip(columns, row.cells, strict=True):
        value: Any = cell
        if name == "type":
            value = KINDS.get(cell.lower())
        elif name != "name":
            value = number(cell)
        if value is None:
            return None
        found[name] = value
    return found


def table(
    reading: Reading, columns: Sequence[str], *, marks: bool = False
) -> list[tuple[Row, Mapping[str, Any]]]:
    """Return the lines of a table by columns: "type" as whether it is int, the others
    but the name as numbers.  What is no such line is refused.

    marks  whether lines may be marked as not used
    """
    found: list[tuple[Row, Mapping[str, Any]]] = []
    for place, row in enumerate(reading.text.rows):
        values = _values(row, columns)
        if row.not_used and not marks:
            reading.refuse(row.number, "the mark [[NOT USED]] is YaneuraOu's", "no such line")
        elif values is not None:
            found.append((row, values))
        elif place == 0 and (header := _header(row)) is not None:
            _take_header(reading, row, header, columns)
        else:
            reading.refuse(row.number, *_why(row, columns))
    return found


def entry_of(row: Row, values: Mapping[str, Any]) -> Entry:
    """Return the parameter of a row, by the names of its columns."""
    return Entry(
        values["name"],
        values["start"],
        values["min"],
        values["max"],
        c_end=values["c_end"],
        r_end=values["r_end"],
        integer=values.get("type", False),
        simul_elo=values.get("simul_elo"),
        comment=row.comment,
        not_used=row.not_used,
        line=row.number,
    )


def _header(row: Row) -> list[str] | None:
    """Return the columns that a line names, None if it is no header."""
    cells = row.cells or ()
    names = [_ALIASES.get(cell.lower().replace(" ", "_")) for cell in cells]
    known = [name for name in names if name is not None]
    return known if len(known) == len(cells) > 1 else None


def _take_header(reading: Reading, row: Row, header: Sequence[str], columns: Sequence[str]) -> None:
    if list(header) == list(columns):
        reading.note(f"line {row.number} is the header of the table")
    else:
        reading.refuse(
            row.number, "the header names other columns, or in another order", ",".join(columns)
        )


def cells_of(row: Row) -> list[str]:
    """Return the columns that a line may have been meant to have, whatever separates
    them; none where its quotes do not match."""
    if row.cells is None or len(row.cells) != 1:
        return list(row.cells or ())
    raw = row.raw.strip()
    return [cell.strip() for cell in raw.split(";")] if ";" in raw else raw.split()


def _why(row: Row, columns: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with a line, and what is right."""
    expected = f"{len(columns)} columns: {','.join(columns)}"
    if row.cells is None:
        return "the quotes in it do not match", expected
    count = len(row.cells)
    if count == 1 and len(cells_of(row)) > 1:
        return "its columns are not separated by commas", expected
    if count != len(columns):
        return f"it has {count} column{'s' * (count != 1)}", expected
    for name, cell in zip(columns, row.cells, strict=True):
        if name == "type" and cell.lower() not in KINDS:
            return f"type {shown(cell)} is unknown", "int or float"
        if name not in _WORDS and number(cell) is None:
            return f"{name} {shown(cell)} is not a finite number", "a number such as 12 or 0.002"
    raise AssertionError("a sound row")  # pragma: no cover
