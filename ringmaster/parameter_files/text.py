"""The text of a parameter file: its rows, its JSON, its numbers and names."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from ringmaster.errors import DataFileError, ParameterFileError, cut, shown, visible
from ringmaster.formats.source import Source
from ringmaster.model.players import GameName

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
        """Return whether the text begins like a JSON object."""
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
        rows = []
        for number, raw in enumerate(self.lines, 1):
            # names may have a "#"
            line, *comment = re.split(r"//|(?:^|(?<=\s))#", raw.replace(NOT_USED, ""), maxsplit=1)
            if line.strip():
                rows.append(
                    Row(number, raw, _cells(line), "".join(comment).strip(), NOT_USED in raw)
                )
        return rows

    def excerpt(self, line: int) -> str:
        """Return a line with its number for a message, cut to size."""
        raw = visible(self.lines[line - 1].strip())
        return f"{line:>5} | " + cut(raw, 120)

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
    return as_number(float(text)) if _NUMBER.fullmatch(text) else None


def as_number(value: Any) -> float | None:
    """Return a finite number of a JSON file, None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= sys.float_info.max else None


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
