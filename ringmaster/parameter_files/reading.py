"""Parameter files: their text, their rows, JSON, numbers and names, and the checked entries.

All wrong lines are reported in one error.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from ringmaster.errors import DataFileError, ParameterFileError, shown, visible
from ringmaster.formats.source import Source
from ringmaster.model.players import GameName
from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions

#: Bytes of a file; one with 10,000 parameters has less than one million.
LARGEST = 5_000_000
#: YaneuraOu's mark of a parameter that is not tuned.
NOT_USED = "[[NOT USED]]"

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
#: Suffixes of YaneuraOu's files.
_SHOGI = (".params", ".json5", ".tune")
_KANA = re.compile("[\u3040-\u30ff]")
#: An error of json5, with its line.
_JSON5_ERROR = re.compile(r"<string>:([0-9]+) (.*)", re.DOTALL)


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
    """The text of a file with its name for messages.

    notes  about its encoding
    """

    name: str
    text: str
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | Path, name: str) -> Text:
        """Return the text of a file.  Raises ParameterFileError."""
        try:
            with open(path, "rb") as stream:
                data = stream.read(LARGEST + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ParameterFileError(f"{name}: cannot be read: {reason}") from None
        return cls.decoded(data, name)

    @classmethod
    def decoded(cls, data: bytes, name: str) -> Text:
        """Return the text of a file's bytes: UTF-8, else Shift-JIS if it is Japanese, else
        Latin-1.  Raises ParameterFileError."""
        if len(data) > LARGEST:
            raise ParameterFileError(f"{name}: the file is too large for a parameter file")
        game: GameName = "chess"
        # accents of Latin-1 may be Shift-JIS by chance, but not its syllables
        if name.lower().endswith(_SHOGI) or _KANA.search(data.decode("cp932", "replace")):
            game = "shogi"
        # the source drops carriage returns, which once ended lines
        source = Source(name, game, data=data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        try:
            lines = [line for _, line in source.lines(LARGEST)]
        except DataFileError as error:
            raise ParameterFileError(f"{error}; expected a text file saved as UTF-8") from None
        notes = (note.replace(f"{name}:", "line ", 1) for note in source.notes)
        return cls(name, "\n".join(lines), tuple(notes))

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.split("\n")

    @property
    def is_object(self) -> bool:
        """Whether the text begins like a JSON object."""
        return self.text.lstrip().startswith("{")

    @cached_property
    def json(self) -> Any:
        """The content of JSON or JSON5.  Raises ParameterFileError, also for a repeated name."""
        try:
            try:
                return json.loads(self.text, object_pairs_hook=_once, parse_constant=_no_constant)
            except ValueError:
                # rare, and a hundred times slower
                import json5

                return json5.loads(self.text, object_pairs_hook=_once, parse_constant=_no_constant)
        except _Twice as twice:
            line = self.line_of(twice.key, 1)
            message = f"{shown(twice.key)} is there twice; expected it once"
        except RecursionError:
            line, message = None, "it is nested too deeply"
        except ValueError as error:
            match = _JSON5_ERROR.fullmatch(str(error))
            line = int(match[1]) if match else None
            message = f"this is not JSON: {visible(match[2])}" if match else str(error)
        if line is None:
            raise ParameterFileError(f"{self.name}: {message}")
        raise ParameterFileError(f"{self.name}:{line}: {message}", [self.excerpt(line)])

    @property
    def object(self) -> dict[str, Any]:
        """The members of a JSON object.  Raises ParameterFileError."""
        if not isinstance(self.json, dict):
            raise ParameterFileError(f'{self.name}: expected an object, {{"name": …}}')
        return self.json

    @property
    def members(self) -> dict[str, Any]:
        """The members of a JSON object, none of any other text."""
        try:
            return self.object if self.is_object else {}
        except ParameterFileError:
            return {}

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
        places = [*re.finditer(rf"""(?<!\w)["']?{re.escape(key)}["']?\s*:""", self.text)]
        return self.text.count("\n", 0, places[nth].start()) + 1 if nth < len(places) else None


class _Twice(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise _Twice(key)
        members[key] = value
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no number {name}")


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
    if not name.isprintable() or "\ufffd" in name:
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


class Reading:
    """Entries, problems and notes of one file."""

    def __init__(self, text: Text, options: ReadOptions) -> None:
        self.text = text
        self.options = options
        self.entries: list[Entry] = []
        self.notes = list(text.notes)
        #: Line (None: the whole file), message and expected form.
        self._problems: list[tuple[int | None, str, str]] = []
        self._seen: dict[str, tuple[str, int | None]] = {}

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
