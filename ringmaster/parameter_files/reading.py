"""Read the lines of a parameter file: bytes to text, lines to cells, cells to checked entries.

All wrong lines are reported in one error.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import msgspec

from ringmaster.errors import ParameterFileError, shown, visible
from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions

#: Bytes of a file; one with 10,000 parameters has less than one million.
LARGEST = 5_000_000
#: YaneuraOu's mark of a parameter that is not tuned.
NOT_USED = "[[NOT USED]]"

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Row:
    """A line with data; `cells` is None if its quotes do not match."""

    number: int
    raw: str
    cells: tuple[str, ...] | None
    comment: str
    not_used: bool


@dataclass(frozen=True, eq=False)
class Text:
    """The text of a file with its name for messages."""

    name: str
    text: str
    encoding: str = "UTF-8"

    @classmethod
    def decoded(cls, data: bytes, name: str) -> Text:
        """Return the text of a file in UTF-8 or in Shift-JIS, the encoding of shogi programs on
        Windows.  Raises ParameterFileError for other encodings."""
        if len(data) > LARGEST:
            raise ParameterFileError(f"{name}: the file is too large for a parameter file")
        if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data:
            raise ParameterFileError(
                f"{name}: this is binary data or UTF-16; expected a text file saved as UTF-8"
            )
        try:
            return cls(name, data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            pass
        try:
            return cls(name, data.decode("cp932"), "Shift-JIS")
        except UnicodeDecodeError:
            raise ParameterFileError(
                f"{name}: neither UTF-8 nor Shift-JIS; expected a text file saved as UTF-8"
            ) from None

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return _LINE_END.split(self.text)

    @property
    def is_object(self) -> bool:
        """Whether the text begins like a JSON object."""
        return self.text.lstrip().startswith("{")

    @cached_property
    def rows(self) -> list[Row]:
        """The lines with data, as columns."""
        return list(self._rows())

    def _rows(self) -> Iterator[Row]:
        for number, raw in enumerate(self.lines, 1):
            line, not_used = raw, NOT_USED in raw
            if not_used:
                line = line.replace(NOT_USED, "")
            line, comment = _comment(line)
            if line.strip():
                yield Row(number, raw, _cells(line), comment, not_used)

    def excerpt(self, line: int) -> str:
        """Return a line with its number for a message, cut to size."""
        raw = visible(self.lines[line - 1].strip())
        return f"{line:>5} | " + (raw if len(raw) <= 120 else raw[:119] + "…")

    def line_of(self, key: str, nth: int = 0) -> int | None:
        """Return the line of a key of a JSON object, None if unknown."""
        pattern = re.compile(rf"""["']{re.escape(key)}["']\s*:""")
        places = [match.start() for match in pattern.finditer(self.text)]
        if nth >= len(places):
            return None
        return len(_LINE_END.findall(self.text, 0, places[nth])) + 1


def _comment(line: str) -> tuple[str, str]:
    """Return a line without its comment, and the comment.

    A comment begins with "//", or with a "#" at the beginning or after a space: names may have
    a "#".
    """
    match = re.search(r"//|(?:^|(?<=\s))#", line)
    if match is None:
        return line, ""
    return line[: match.start()], line[match.end() :].strip()


def _cells(line: str) -> tuple[str, ...] | None:
    try:
        (cells,) = csv.reader([line], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        return None
    stripped = [cell.strip() for cell in cells]
    while stripped and not stripped[-1]:
        del stripped[-1]
    return tuple(stripped)


def number(text: str) -> float | None:
    """Return the finite number of a cell, None for any other text."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def number_text(value: float) -> str:
    """Return a number without exponent, with enough digits for the same number."""
    if value == math.floor(value) and abs(value) < 2**53:
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def name_problem(name: str) -> str:
    """Return why no engine can have an option with this name, "" for a possible name."""
    if not name:
        return "the name is empty"
    if not name.isascii() or not name.isprintable():
        return "the name has characters that an option cannot have"
    if name != name.strip() or "  " in name:
        return "the name has spaces at an end, or two in a row"
    if len(name) > 200:
        return "the name is too long for an option's"
    if number(name) is not None:
        return "the name is a number"
    if "value" in name.lower().split():
        return 'the name has the word "value", which ends the name in `setoption`'
    return ""


#: Problems in one message; further problems are counted.
MOST = 8
#: Types of numbers: whether integer.
KINDS = {"int": True, "float": False}
#: Columns with words.
_WORDS = frozenset({"name", "type"})
#: Names of the columns in headers.
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


class Reading:
    """Entries, problems and notes of one file."""

    def __init__(self, text: Text, options: ReadOptions) -> None:
        self.text = text
        self.options = options
        self.entries: list[Entry] = []
        self.notes: list[str] = []
        #: Line (None: the whole file), message and expected form.
        self._problems: list[tuple[int | None, str, str]] = []
        self._seen: dict[str, tuple[str, int | None]] = {}
        if text.encoding != "UTF-8":
            self.notes.append(f"the file is read as {text.encoding}")

    def note(self, text: str) -> None:
        """Add an assumption."""
        self.notes.append(text)

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
        integer = whole if self.options.integer is None else self.options.integer
        if integer is None:
            integer = bounds_whole
            if not bounds_whole:
                self.note(
                    f"{entry.code}: its bounds are not whole numbers, so its values need not be"
                )
        if integer != entry.integer:
            entry = msgspec.structs.replace(entry, integer=integer)
        name = shown(entry.code) if name_problem(entry.code) else entry.code
        for message, expected in _problems(entry):
            self.refuse(entry.line, f"{name}: {message}", expected)
        # names of options ignore case (UCI)
        folded = entry.code.casefold()
        if folded in self._seen:
            other, line = self._seen[folded]
            where = f", first on line {line}" if line is not None else ""
            alike = "" if other == entry.code else f" ({other})"
            self.refuse(
                entry.line, f"{name}: the name is there twice{alike}{where}", "each name once"
            )
        self._seen.setdefault(folded, (entry.code, entry.line))
        self.entries.append(entry)

    def finish(self, format: str) -> ParameterFile:
        """Return the file.  Raises ParameterFileError for problems, or without parameters."""
        if self._problems:
            raise self.error()
        if not self.entries:
            raise ParameterFileError(f"{self.text.name}: the file has no parameters")
        return ParameterFile(format, tuple(self.entries), tuple(dict.fromkeys(self.notes)))

    def error(self) -> ParameterFileError:
        """Return all problems as one error."""
        ordered = sorted(self._problems, key=lambda problem: problem[0] or 0)
        lines: list[str] = []
        for line, message, expected in ordered[:MOST]:
            where = self.text.name if line is None else f"{self.text.name}:{line}"
            lines.append(f"{where}: {message}" + (f"; expected {expected}" if expected else ""))
            if line is not None:
                lines.append(self.text.excerpt(line))
        if len(ordered) > MOST:
            lines.append(f"and {len(ordered) - MOST} more")
        return ParameterFileError(lines[0], lines[1:])


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


# Tables of comma-separated columns


def columns_fit(columns: Sequence[str], text: Text) -> int:
    """Return the number of lines with exactly these columns."""
    if text.is_object:
        return 0
    return sum(_values(row, columns) is not None for row in text.rows)


def _values(row: Row, columns: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a row by column, None if the row does not fit."""
    if row.cells is None or len(row.cells) != len(columns):
        return None
    values_by_column: dict[str, Any] = {}
    for name, cell in zip(columns, row.cells, strict=True):
        value: Any = cell
        if name == "type":
            value = KINDS.get(cell.lower())
        elif name != "name":
            value = number(cell)
        if value is None:
            return None
        values_by_column[name] = value
    return values_by_column


def table(
    reading: Reading, columns: Sequence[str], *, marks: bool = False
) -> list[tuple[Row, Mapping[str, Any]]]:
    """Return the rows with their values by column; refuse other lines.

    "type" is whether it is an integer, "name" a text, the others numbers.

    marks  whether lines may have [[NOT USED]]
    """
    rows: list[tuple[Row, Mapping[str, Any]]] = []
    for place, row in enumerate(reading.text.rows):
        values = _values(row, columns)
        if row.not_used and not marks:
            reading.refuse(row.number, "[[NOT USED]] is a mark of YaneuraOu", "a line without it")
        elif values is not None:
            rows.append((row, values))
        elif place == 0 and (header := _header(row)) is not None:
            _check_header(reading, row, header, columns)
        else:
            reading.refuse(row.number, *_why(row, columns))
    return rows


def entry_of(row: Row, values: Mapping[str, Any]) -> Entry:
    """Return the parameter of a row."""
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
    """Return the columns of a header, None for any other line."""
    cells = row.cells or ()
    names = [_ALIASES.get(cell.lower().replace(" ", "_")) for cell in cells]
    known = [name for name in names if name is not None]
    return known if len(known) == len(cells) > 1 else None


def _check_header(
    reading: Reading, row: Row, header: Sequence[str], columns: Sequence[str]
) -> None:
    if list(header) == list(columns):
        reading.note(f"line {row.number} is the header of the table")
    else:
        reading.refuse(
            row.number, "the header names other columns, or in another order", ",".join(columns)
        )


def cells_of(row: Row) -> list[str]:
    """Return the columns of a line with any separator, none if its quotes do not match."""
    if row.cells is None or len(row.cells) != 1:
        return list(row.cells or ())
    raw = row.raw.strip()
    return [cell.strip() for cell in raw.split(";")] if ";" in raw else raw.split()


def _why(row: Row, columns: Sequence[str]) -> tuple[str, str]:
    """Return the error of a line, and a correct form."""
    expected = f"{len(columns)} columns: {','.join(columns)}"
    if row.cells is None:
        return "its quotes do not match", expected
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
