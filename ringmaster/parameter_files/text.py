"""The text of a parameter file: bytes to lines, lines to cells, cells to numbers."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from ringmaster.errors import ParameterFileError

#: Bytes of a file; one with 10,000 parameters has less than one million.
LARGEST = 5_000_000
#: YaneuraOu's mark of a parameter that is not tuned.
NOT_USED = "[[NOT USED]]"

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Row:
    """A line with data; `cells` is None when it cannot be taken apart."""

    number: int
    raw: str
    cells: tuple[str, ...] | None
    comment: str
    not_used: bool


@dataclass(frozen=True, eq=False)
class Text:
    """A file's text; `name` is what messages call it."""

    name: str
    text: str
    encoding: str = "UTF-8"

    @classmethod
    def decoded(cls, data: bytes, name: str) -> Text:
        """Return the text of a file: UTF-8, else Shift-JIS, which shogi programs on
        Windows write.  Raises ParameterFileError for anything else."""
        if len(data) > LARGEST:
            raise ParameterFileError(f"{name}: the file is too large for a parameter file")
        if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data:
            raise ParameterFileError(
                f"{name}: this is no text, or UTF-16; expected a text file saved as UTF-8"
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
        """Whether it is a JSON object, or means to be one."""
        return self.text.lstrip().startswith("{")

    @cached_property
    def rows(self) -> list[Row]:
        """The lines that are neither blank nor all comment, as columns."""
        return list(self._rows())

    def _rows(self) -> Iterator[Row]:
        for number, raw in enumerate(self.lines, 1):
            line, not_used = raw, NOT_USED in raw
            if not_used:
                line = line.replace(NOT_USED, "")
            line, comment = _comment(line)
            if line.strip():
                yield Row(number, raw, _cells(line), comment, not_used)

    def line_of(self, key: str, nth: int = 0) -> int | None:
        """Return the line on which a key of a JSON object stands, None if unknown."""
        pattern = re.compile(rf"""["']{re.escape(key)}["']\s*:""")
        found = [match.start() for match in pattern.finditer(self.text)]
        if nth >= len(found):
            return None
        return len(_LINE_END.findall(self.text, 0, found[nth])) + 1


def _comment(line: str) -> tuple[str, str]:
    """Return a line without its comment, and that: from "//" on, or from a "#" at
    the beginning or after a space on, since names may have a "#"."""
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
    """Return the number that a cell is, None if it is none that is finite."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def number_text(value: float) -> str:
    """Return a number as every reader of such files takes it: without exponent, and
    as many digits as it takes to read the same number again."""
    if value == math.floor(value) and abs(value) < 2**53:
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def name_problem(name: str) -> str:
    """Return why no engine can have an option of that name, "" if it can."""
    if not name:
        return "the name is empty"
    if not name.isascii() or not name.isprintable():
        return "the name has characters that no option's name can have"
    if name != name.strip() or "  " in name:
        return "the name has spaces at an end, or two in a row"
    if len(name) > 200:
        return "the name is too long for an option's"
    if number(name) is not None:
        return "the name is a number"
    if "value" in name.lower().split():
        return 'the name has the word "value", which ends the name in `setoption`'
    return ""
