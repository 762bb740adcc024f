"""Formats with the same numbers for each parameter: in comma-separated columns (SPSA Tuner's
variables, fishtest, OpenBench's input and output, YaneuraOu's ``.params``) or as the members of a
JSON object (weather-factory, Optuna Game Parameter Tuner).

YaneuraOu has OpenBench's columns, then a ``//comment`` and ``[[NOT USED]]``; ``v`` is θ, also for
whole numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ringmaster.errors import UsageError, shown
from ringmaster.parameter_files.entries import RENAME, Entry, ParameterFile, ReadOptions, plain
from ringmaster.parameter_files.reading import (
    NOT_USED,
    Reading,
    Row,
    Text,
    name_problem,
    number,
    number_text,
)

_OPENBENCH = ("name", "type", "start", "min", "max", "c_end", "r_end")
#: The columns of each format with lines.
COLUMNS: dict[str, tuple[str, ...]] = {
    "spsa_tuner": ("name", "start", "min", "max", "c_end", "r_end", "simul_elo"),
    "fishtest": ("name", "start", "min", "max", "c_end", "r_end"),
    "openbench": _OPENBENCH,
    "openbench_values": ("name", "start"),
    "yaneuraou": _OPENBENCH,
}
#: The keys of a member of each JSON format, with their columns.
KEYS: dict[str, dict[str, str]] = {
    "weather_factory": {"value": "start", "min_value": "min", "max_value": "max", "step": "step"},
    "optuna_tuner": {"default": "start", "min": "min", "max": "max", "step": "grid"},
}
#: The fields of an Entry with other names than their columns.
_FIELDS = {"name": "code", "type": "integer", "min": "minimum", "max": "maximum"}
#: Types of numbers: whether integer.
KINDS = {"int": True, "float": False}
#: Other names of columns in a header.
_ALIASES = {
    **{name: name for name in (*_OPENBENCH, "simul_elo")},
    **{"parameter": "name", "param": "name", "value": "start", "default": "start", "v": "start"},
    **{"minimum": "min", "maximum": "max", "c": "c_end", "step": "c_end", "r": "r_end"},
    **{"delta": "r_end", "elo": "simul_elo"},
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


def entry_of(values: Mapping[str, Any], **others: Any) -> Entry:
    """Return the parameter of values by column."""
    return Entry(**{_FIELDS.get(name, name): value for name, value in values.items()}, **others)


# Lines


def columns_fit(format: str, text: Text) -> int:
    """Return the number of lines with exactly the columns of a format."""
    if text.is_object:
        return 0
    return sum(isinstance(_values(row, COLUMNS[format]), dict) for row in text.rows)


def cells_of(row: Row) -> list[str]:
    """Return the columns of a line with any separator, none if its quotes do not match."""
    if row.cells is None or len(row.cells) != 1:
        return list(row.cells or ())
    raw = row.raw.strip()
    return [cell.strip() for cell in raw.split(";")] if ";" in raw else raw.split()


def _values(row: Row, columns: Sequence[str]) -> dict[str, Any] | tuple[str, str]:
    """Return the values of a row by column, or its error with a correct form.

    "type" is whether it is an integer, "name" a text, the others numbers.
    """
    expected = f"{len(columns)} columns: {','.join(columns)}"
    if row.cells is None:
        return "its quotes do not match", expected
    count = len(row.cells)
    if count == 1 and len(cells_of(row)) > 1:
        return "its columns are not separated by commas", expected
    if count != len(columns):
        return f"it has {count} column{'s' * (count != 1)}", expected
    values: dict[str, Any] = {}
    for name, cell in zip(columns, row.cells, strict=True):
        value = {"name": cell, "type": KINDS.get(cell.lower())}.get(name, number(cell))
        if value is None and name == "type":
            return f"type {shown(cell)} is unknown", "int or float"
        if value is None:
            return f"{name} {shown(cell)} is not a finite number", "a number such as 12 or 0.002"
        values[name] = value
    return values


def read_lines(format: str, text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file with a parameter a line.  Raises ParameterFileError."""
    reading = Reading(text, options)
    rows = _table(reading, format)
    if format == "openbench_values":
        reading.note("the file has no ranges; from 0 to twice each value is assumed")
    if format == "spsa_tuner":
        rows = _swapped(reading, rows)
    for row, values in rows:
        # without a type the tuner rounds every value that it sends
        whole = values.get("type")
        if format == "openbench_values":
            if values["start"] == 0:
                expected = "a line of the tune's input, which has the ranges"
                message = f"{values['name']}: a value of 0 gives no range"
                reading.refuse(row.number, message, expected)
                continue
            # the range of Stockfish's TUNE; floats have a point, integers are rounded
            low, high = sorted((0.0, 2 * values["start"]))
            values = {**values, "min": low, "max": high}
            whole = values["start"] % 1 == 0 and "." not in (row.cells or ("", ""))[1]
        elif format == "openbench" and values["c_end"] == 0:
            # OpenBench sends the value and never changes it
            values = {**values, "c_end": None, "frozen": True}
            reading.note(f"{values['name']} is frozen at {values['start']:g}: its c_end is 0")
        marks: dict[str, Any] = {"comment": row.comment, "not_used": row.not_used}
        reading.add(entry_of(values, **marks, line=row.number), whole)
    unused = [entry.code for entry in reading.entries if entry.not_used]
    if unused:
        names = ", ".join(unused[:5]) + (", …" if len(unused) > 5 else "")
        reading.note(f"not used, so neither tuned nor sent to engines: {names} ({len(unused)})")
    return reading.finish(format)


def _table(reading: Reading, format: str) -> list[tuple[Row, Mapping[str, Any]]]:
    """Return the rows with their values by column; refuse other lines."""
    columns = COLUMNS[format]
    rows: list[tuple[Row, Mapping[str, Any]]] = []
    for place, row in enumerate(reading.text.rows):
        values = _values(row, columns)
        header = [_ALIASES.get(cell.lower().replace(" ", "_")) for cell in row.cells or ()]
        if row.not_used and format != "yaneuraou":
            reading.refuse(row.number, "[[NOT USED]] is a mark of YaneuraOu", "a line without it")
        elif isinstance(values, dict):
            rows.append((row, values))
        elif place > 0 or len(header) < 2 or None in header:
            reading.refuse(row.number, *values)
        elif header == list(columns):
            reading.note(f"line {row.number} is the header of the table")
        else:
            message = "the header names other columns, or in another order"
            reading.refuse(row.number, message, ",".join(columns))
    return rows


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


def _numbers(entry: Entry, games: int | None) -> dict[str, float]:
    """Return the numbers of a parameter by column, with the usual values for missing ones.

    games  length of the tune, None if unknown
    """
    c_end, r_end = entry.gains()
    usual_grid = 1.0 if entry.integer else (entry.maximum - entry.minimum) / 100
    return {
        "start": entry.start,
        "min": entry.minimum,
        "max": entry.maximum,
        "c_end": c_end,
        "r_end": r_end,
        "simul_elo": entry.simul_elo or 0.0,
        "step": c_end / gains(games or GAMES)[0] if entry.step is None else entry.step,
        "grid": usual_grid if entry.grid is None else entry.grid,
    }


def write_lines(format: str, entries: Sequence[Entry], games: int | None) -> str:
    """Return the text of a file.  Raises UsageError for a name that the format cannot have."""
    separator = ", " if format.startswith("openbench") else ","
    lines = []
    for entry in entries:
        cells = {name: number_text(value) for name, value in _numbers(entry, games).items()}
        cells |= {
            "name": _name(format, entry.code),
            "type": "int" if entry.integer else "float",
        }
        if format == "openbench" and entry.frozen:
            cells["c_end"] = "0"
        if format == "openbench_values" and not entry.integer and "." not in cells["start"]:
            cells["start"] += ".0"
        line = separator.join(cells[name] for name in COLUMNS[format])
        if format == "yaneuraou" and entry.comment:
            line += f" // {' '.join(entry.comment.replace(NOT_USED, '').split())}"
        if format == "yaneuraou" and entry.not_used:
            line += f" {NOT_USED}"
        lines.append(f"{line}\n")
    return "".join(lines)


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


# Members of a JSON object.  weather-factory's gains are the same for all parameters, in units of
# `step`, without an end.  At the end of a tune of N games: c_end = step·c·N^−γ,
# r_end = (a/(N+A)^α) / (c·N^−γ)².

#: The defaults of weather-factory.
ALPHA, GAMMA, A_CONSTANT, A_GAIN, C_GAIN = 0.601, 0.102, 100_000, 1.0, 1.0
#: Games of a tune of unknown length.
GAMES = 100_000


def gains(games: int) -> tuple[float, float]:
    """Return c_end, in units of `step`, and r_end of a tune of so many games."""
    c = C_GAIN * math.pow(games, -GAMMA)
    return c, A_GAIN / math.pow(games + A_CONSTANT, ALPHA) / c**2


def members_fit(key: str, text: Text) -> int:
    """Return the number of members of an object that are objects with a key."""
    return sum(isinstance(value, dict) and key in value for value in text.members.values())


def as_number(value: Any) -> float | None:
    """Return a finite number of a JSON file, None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def read_members(format: str, text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file with an object of parameters.  Raises ParameterFileError."""
    reading = Reading(text, options)
    games = options.games or GAMES
    if format == "weather_factory" and options.games is None:
        reading.note(f"c_end and r_end are for {GAMES} games, since the number of games is unknown")
    keys = KEYS[format]
    # only the Optuna tuner's parameters have a type; weather-factory rounds every value
    others = ("type",) if format == "optuna_tuner" else ()
    for name, member in text.object.items():
        line = text.line_of(name)
        expected = ", ".join(keys)
        problem = ""
        numbers: dict[str, Any] = {}
        if not isinstance(member, dict):
            problem = f"{shown(member)} is not an object"
        elif unknown := [key for key in member if key not in (*keys, *others)]:
            problem = f"{shown(unknown[0])} is unknown"
        elif missing := [key for key in keys if key not in member]:
            problem = f"{missing[0]} is missing"
        else:
            numbers = {column: as_number(member[key]) for key, column in keys.items()}
            kind = member.get("type", "int")
            wrong = next((key for key in keys if numbers[keys[key]] is None), None)
            if wrong is not None:
                problem = f"{wrong} {shown(member[wrong])} is not a finite number"
                expected = "a number without quotes"
            elif not isinstance(kind, str) or kind not in KINDS:
                problem, expected = f"type {shown(kind)} is unknown", "int or float"
        if problem:
            reading.refuse(line, f"{shown(name)}: {problem}", expected)
            continue
        if format == "weather_factory":
            c, r_end = gains(games)
            numbers |= {"c_end": numbers["step"] * c, "r_end": r_end}
        entry = entry_of({"name": name, **numbers}, line=line)
        reading.add(entry, KINDS[kind] if others else None)
    return reading.finish(format)


def write_members(format: str, entries: Sequence[Entry], games: int | None) -> str:
    """Return the text of a file with an object of parameters."""
    members: dict[str, Any] = {}
    for entry in entries:
        numbers = _numbers(entry, games)
        members[entry.code] = {key: plain(numbers[name]) for key, name in KEYS[format].items()}
        if format == "optuna_tuner" and not entry.integer:
            members[entry.code]["type"] = "float"
    return write_object(members)


def write_object(members: Mapping[str, Any]) -> str:
    """Return JSON with one line a member."""
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in members.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
