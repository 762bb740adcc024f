"""Formats with a parameter a line, in comma-separated columns: SPSA Tuner's variables, fishtest,
OpenBench's input and output, YaneuraOu's ``.params``.

YaneuraOu has OpenBench's columns, then a ``//comment`` and ``[[NOT USED]]``; ``v`` is θ, also for
whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ringmaster.errors import UsageError, shown
from ringmaster.parameter_files.entries import RENAME, Entry, ParameterFile, ReadOptions
from ringmaster.parameter_files.reading import (
    NOT_USED,
    Reading,
    Row,
    Text,
    entry_of,
    name_problem,
    number_text,
    table,
)

_OPENBENCH = ("name", "type", "start", "min", "max", "c_end", "r_end")
#: The columns of each format.
COLUMNS: dict[str, tuple[str, ...]] = {
    "spsa_tuner": ("name", "start", "min", "max", "c_end", "r_end", "simul_elo"),
    "fishtest": ("name", "start", "min", "max", "c_end", "r_end"),
    "openbench": _OPENBENCH,
    "openbench_values": ("name", "start"),
    "yaneuraou": _OPENBENCH,
}
#: The names that SPSA Tuner's program reads.
_SPSA_TUNER_NAME = re.compile(r"[A-Za-z0-9_\[\]]+")
#: YaneuraOu's rounding of values below 0: C's conversion to int truncates towards 0.
ROUNDING = "YaneuraOu's script plays int(v + 0.5), so -45 as -44"


def rounded_otherwise(entry: Entry) -> bool:
    """Return whether YaneuraOu's script may round values of a parameter differently."""
    return entry.integer and entry.minimum < 0 and not entry.not_used


def is_yaneuraou(text: Text) -> bool:
    """Return whether a file is YaneuraOu's, not OpenBench's: by its name, a // comment or
    [[NOT USED]]."""
    named = text.name.lower().endswith(".params")
    return named or any(row.not_used or "//" in row.raw for row in text.rows)


def read_table(format: str, text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file.  Raises ParameterFileError."""
    reading = Reading(text, options)
    rows = table(reading, COLUMNS[format], marks=format == "yaneuraou")
    if format == "openbench_values":
        _read_values(reading, rows)
        return reading.finish(format)
    if format == "spsa_tuner":
        rows = _swapped(reading, rows)
    for row, values in rows:
        # without a type the tuner rounds every value that it sends
        reading.add(entry_of(row, values), values.get("type"))
    unused = [entry.code for entry in reading.entries if entry.not_used]
    if unused:
        names = ", ".join(unused[:5]) + (", …" if len(unused) > 5 else "")
        reading.note(f"not used, so neither tuned nor sent to engines: {names} ({len(unused)})")
    return reading.finish(format)


def _swapped(
    reading: Reading, rows: list[tuple[Row, Mapping[str, Any]]]
) -> list[tuple[Row, Mapping[str, Any]]]:
    """Return SPSA Tuner's rows with the smaller bound first.

    Its README and its own files have the maximum before the minimum; its program reads the minimum
    first.  If every line has the larger bound first, the file follows the README.
    """
    bounds = [(values["min"], values["max"]) for _, values in rows]
    if any(low < high for low, high in bounds) or all(low == high for low, high in bounds):
        return rows
    reading.note(
        "every line has the larger bound first, as in SPSA Tuner's README; "
        "its program reads the smaller bound first"
    )
    return [(row, {**v, "min": v["max"], "max": v["min"]}) for row, v in rows]


def _read_values(reading: Reading, rows: list[tuple[Row, Mapping[str, Any]]]) -> None:
    """Add OpenBench's values with the range of Stockfish's TUNE: from 0 to twice the value."""
    reading.note("the file has no ranges; from 0 to twice each value is assumed")
    for row, values in rows:
        value = values["start"]
        if value == 0:
            reading.refuse(
                row.number,
                f"{values['name']}: a value of 0 gives no range",
                "a line of the tune's input, which has the ranges",
            )
            continue
        # floats have a point, integers are rounded
        whole = value % 1 == 0 and "." not in (row.cells or ("", ""))[1]
        low, high = sorted((0.0, 2 * value))
        entry = Entry(
            values["name"],
            value,
            low,
            high,
            integer=whole,
            comment=row.comment,
            line=row.number,
        )
        reading.add(entry, whole)


def write_table(format: str, entries: Sequence[Entry]) -> str:
    """Return the text of a file.  Raises UsageError for a name that the format cannot have."""
    separator = ", " if format.startswith("openbench") else ","
    lines = []
    for entry in entries:
        cells = separator.join(_cell(format, name, entry) for name in COLUMNS[format])
        if format == "yaneuraou" and entry.comment:
            cells += f" // {' '.join(entry.comment.replace(NOT_USED, '').split())}"
        if format == "yaneuraou" and entry.not_used:
            cells += f" {NOT_USED}"
        lines.append(f"{cells}\n")
    return "".join(lines)


def _cell(format: str, column: str, entry: Entry) -> str:
    c_end, r_end = entry.gains()
    match column:
        case "name":
            return _name(format, entry.code)
        case "type":
            return "int" if entry.integer else "float"
        case "start":
            value = number_text(entry.start)
            is_float = format == "openbench_values" and not entry.integer and "." not in value
            return f"{value}.0" if is_float else value
    numbers = {
        "min": entry.minimum,
        "max": entry.maximum,
        "c_end": c_end,
        "r_end": r_end,
        "simul_elo": entry.simul_elo or 0.0,
    }
    return number_text(numbers[column])


def _name(format: str, name: str) -> str:
    """Return a name as a cell.  Raises UsageError for a name that would be read differently."""
    if format == "spsa_tuner":
        if not _SPSA_TUNER_NAME.fullmatch(name):
            raise UsageError(
                f"spsa_tuner: {shown(name)} cannot be a name; expected letters, digits, _, [ and "
                f"]; {RENAME}"
            )
        return name
    problem = name_problem(name)
    if not problem and any(sign in name for sign in (",", '"', "//", " #", "[[")):
        problem = "it would be read as more than a name"
    if not problem and name.startswith(("#", "{")):
        problem = "it would not be read as a name"
    if problem:
        raise UsageError(f"{format}: {shown(name)} cannot be written: {problem}")
    return name
