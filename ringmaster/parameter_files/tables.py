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
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ringmaster.errors import UsageError, shown
from ringmaster.model.time_control import number as number_text
from ringmaster.parameter_files.entries import Entry, ParameterFile, plain
from ringmaster.parameter_files.text import NOT_USED, Row, Text, as_number, name_problem, number

_OPENBENCH = ("name", "type", "start", "min", "max", "c_end", "r_end")
#: The columns of each format with lines.
COLUMNS: dict[str, tuple[str, ...]] = {
    "spsa_tuner": ("name", "start", "min", "max", "c_end", "r_end", "simul_elo"),
    "fishtest": ("name", "start", "min", "max", "c_end", "r_end"),
    "openbench": _OPENBENCH,
    "openbench_values": ("name", "start"),
    "yaneuraou": _OPENBENCH,
}
#: The keys of a member of each JSON format, with their columns; "type" may be missing.
KEYS: dict[str, dict[str, str]] = {
    "weather_factory": {"value": "start", "min_value": "min", "max_value": "max", "step": "step"},
    "optuna_tuner": {
        "default": "start",
        "min": "min",
        "max": "max",
        "step": "grid",
        "type": "type",
    },
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
#: The names that programs read, if not any.
_NAMES = {
    "spsa_tuner": (re.compile(r"[A-Za-z0-9_\[\]]+"), "letters, digits, _, [ and ]"),
    "clop": (re.compile(r"[^\s#]+"), "no space and no #"),
}
#: The remedy for a name of an option that a format cannot have.
RENAME = "rename the engine's option, or use a format with any names, such as fishtest or openbench"
#: YaneuraOu's rounding of values below 0: C's conversion to int truncates towards 0.
ROUNDING = "YaneuraOu's script plays int(v + 0.5), so -45 as -44"

# weather-factory's gains are the same for all parameters, in units of `step`, without an end.  At
# the end of a tune of N games: c_end = step·c·N^−γ, r_end = (a/(N+A)^α) / (c·N^−γ)².

#: The defaults of weather-factory.
ALPHA, GAMMA, A_CONSTANT, A_GAIN, C_GAIN = 0.601, 0.102, 100_000, 1.0, 1.0
#: The defaults of Stockfish's TUNE and fishtest: the perturbation as a part of the range, and R
#: at the last iteration.
DEFAULT_C, DEFAULT_R = 1 / 20, 0.002
#: Games of a tune of unknown length.
GAMES = 100_000

#: Values of a parameter by column.
Values = dict[str, Any]
#: A problem, and a correct form.
Problem = tuple[str, str]


def gains(games: int) -> tuple[float, float]:
    """Return c_end, in units of `step`, and r_end of a tune of so many games."""
    c = C_GAIN * math.pow(games, -GAMMA)
    return c, A_GAIN / math.pow(games + A_CONSTANT, ALPHA) / c**2


def rounded_otherwise(entry: Entry) -> bool:
    """Return whether YaneuraOu's script may round values of a parameter differently."""
    return entry.integer and entry.minimum < 0 and not entry.not_used


def is_yaneuraou(text: Text) -> bool:
    """Return whether a file is YaneuraOu's, not OpenBench's: by its name, a // comment or
    [[NOT USED]]."""
    named = text.name.lower().endswith(".params")
    return named or any(row.not_used or "//" in row.raw for row in text.rows)


def fits(format: str, text: Text) -> int:
    """Return the number of objects with the first key of a format, or of lines with its columns,
    also with some wrong numbers."""
    if format in KEYS:
        key = next(iter(KEYS[format]))
        return sum(isinstance(value, dict) and key in value for value in text.members.values())
    columns = COLUMNS[format]
    least = min(3, len(columns) - 1)
    lines = [] if text.is_object else [_cells(row) for row in text.rows]
    return sum(
        len(cells) == len(columns)
        and ("type" in columns) == (len(cells) == len(_OPENBENCH) and number(cells[1]) is None)
        and sum(number(cell) is not None for cell in cells) >= least
        for cells in lines
    )


def _cells(row: Row) -> Sequence[str]:
    """Return the columns of a line, a long line's with any separator."""
    cells = row.cells or ()
    if len(cells) == 1:
        parts = re.split(r"\s*;\s*" if ";" in cells[0] else r"\s+", cells[0])
        return parts if len(parts) > 5 else cells
    return cells


# Reading


def read(file: ParameterFile) -> None:
    format = file.format
    if format == "openbench_values":
        file.notes.append("the file has no ranges; from 0 to twice each value is assumed")
    if format == "weather_factory" and file.games is None:
        note = f"c_end and r_end are for {GAMES} games, since the number of games is unknown"
        file.notes.append(note)
    rows = [*(_members if format in KEYS else _lines)(file)]
    if format == "spsa_tuner":
        _swap_bounds(file, rows)
    for values in rows:
        name = values["name"]
        if format == "openbench_values" and values["start"] == 0:
            expected = "a line of the tune's input, which has the ranges"
            file.refuse(values["line"], f"{name}: a value of 0 gives no range", expected)
            continue
        if format == "openbench_values":
            # the range of Stockfish's TUNE
            values["min"], values["max"] = sorted((0.0, 2 * values["start"]))
        elif format == "openbench" and values["c_end"] == 0:
            # OpenBench sends the value and never changes it
            values |= {"c_end": None, "frozen": True}
            file.notes.append(f"{name} is frozen at {values['start']:g}: its c_end is 0")
        elif format == "weather_factory":
            c, r_end = gains(file.games or GAMES)
            values |= {"c_end": values["step"] * c, "r_end": r_end}
        fields = {_FIELDS.get(column, column): value for column, value in values.items()}
        # without a type the tuner rounds every value that it sends
        file.add(Entry(**fields), values.get("type"))
    unused = [entry.code for entry in file.entries if entry.not_used]
    if unused:
        names = ", ".join(unused[:5]) + (", …" if len(unused) > 5 else "")
        note = f"not used, so neither tuned nor sent to engines: {names} ({len(unused)})"
        file.notes.append(note)


def _lines(file: ParameterFile) -> Iterator[Values]:
    """Yield the values of each line; refuse other lines."""
    columns = COLUMNS[file.format]
    for place, row in enumerate(file.text.rows):
        values = _line_values(row, columns)
        header = [_ALIASES.get(cell.lower().replace(" ", "_")) for cell in row.cells or ()]
        if row.not_used and file.format != "yaneuraou":
            file.refuse(row.number, "[[NOT USED]] is a mark of YaneuraOu", "a line without it")
        elif isinstance(values, dict):
            if file.format == "openbench_values":
                # floats have a point, integers are rounded
                values["type"] = values["start"] % 1 == 0 and "." not in (row.cells or ())[-1]
            marks = {"comment": row.comment or None, "not_used": row.not_used, "line": row.number}
            yield {**values, **marks}
        elif place > 0 or len(header) < 2 or None in header:
            file.refuse(row.number, *values)
        elif header == list(columns):
            file.notes.append(f"line {row.number} is the header of the table")
        else:
            message = "the header names other columns, or in another order"
            file.refuse(row.number, message, ",".join(columns))


def _line_values(row: Row, columns: Sequence[str]) -> Values | Problem:
    expected = f"{len(columns)} columns: {','.join(columns)}"
    if row.cells is None:
        return "its quotes do not match", expected
    count = len(row.cells)
    if len(_cells(row)) > count:
        return "its columns are not separated by commas", expected
    if count != len(columns):
        return f"it has {count} column{'s' * (count != 1)}", expected
    cells = dict(zip(columns, row.cells, strict=True))
    return _converted(cells, {}, number, "a number such as 12 or 0.002")


def _members(file: ParameterFile) -> Iterator[Values]:
    """Yield the values of each member of an object; refuse other members."""
    for name, member in file.text.object.items():
        line = file.text.line_of(name)
        values = _member_values(member, KEYS[file.format])
        if isinstance(values, dict):
            yield {**values, "name": name, "line": line}
        else:
            message, expected = values
            file.refuse(line, f"{shown(name)}: {message}", expected)


def _member_values(member: Any, keys: Mapping[str, str]) -> Values | Problem:
    needed = [key for key in keys if key != "type"]
    expected = ", ".join(needed)
    if not isinstance(member, dict):
        return f"{shown(member)} is not an object", expected
    if unknown := [key for key in member if key not in keys]:
        return f"{shown(unknown[0])} is unknown", expected
    if missing := [key for key in needed if key not in member]:
        return f"{missing[0]} is missing", expected
    cells = {key: member.get(key, "int") for key in keys}
    return _converted(cells, keys, as_number, "a number without quotes")


def _converted(
    cells: Mapping[str, Any],
    columns: Mapping[str, str],
    convert: Callable[[Any], float | None],
    expected: str,
) -> Values | Problem:
    """Return the values of a parameter: its type is whether it is an integer, its name a text.

    columns   by key of `cells`, by default the key itself
    expected  a correct number
    """
    values: Values = {}
    for key, cell in cells.items():
        column = columns.get(key, key)
        if column == "name":
            values[column] = cell
        elif column == "type":
            if not isinstance(cell, str) or cell.lower() not in KINDS:
                return f"type {shown(cell)} is unknown", "int or float"
            values[column] = KINDS[cell.lower()]
        else:
            values[column] = convert(cell)
            if values[column] is None:
                return f"{key} {shown(cell)} is not a finite number", expected
    return values


def _swap_bounds(file: ParameterFile, rows: Sequence[Values]) -> None:
    """Put the smaller bound of SPSA Tuner's variables first.

    Its README and its own files have the maximum before the minimum; its program reads the minimum
    first.  If every line has the larger bound first, the file follows the README.
    """
    bounds = [(values["min"], values["max"]) for values in rows]
    if any(low < high for low, high in bounds) or all(low == high for low, high in bounds):
        return
    file.notes.append(
        "every line has the larger bound first, as in SPSA Tuner's README; "
        "its program reads the smaller bound first"
    )
    for values in rows:
        values["min"], values["max"] = values["max"], values["min"]


# Writing


def _numbers(entry: Entry, games: int | None) -> dict[str, float]:
    """Return the numbers of a parameter by column, with the usual values for missing ones.

    games  length of the tune, None if unknown
    """
    usual_c_end = (entry.maximum - entry.minimum) * DEFAULT_C
    # half of the smallest difference of whole numbers
    usual_c_end = max(usual_c_end, 0.5) if entry.integer else usual_c_end
    c_end = usual_c_end if entry.c_end is None else entry.c_end
    usual_grid = 1.0 if entry.integer else (entry.maximum - entry.minimum) / 100
    return {
        "start": entry.start,
        "min": entry.minimum,
        "max": entry.maximum,
        "c_end": c_end,
        "r_end": DEFAULT_R if entry.r_end is None else entry.r_end,
        "simul_elo": entry.simul_elo or 0.0,
        "step": c_end / gains(games or GAMES)[0] if entry.step is None else entry.step,
        "grid": usual_grid if entry.grid is None else entry.grid,
    }


def write(format: str, entries: Sequence[Entry], games: int | None) -> str:
    """Return the text of a file.  Raises UsageError for a name that the format cannot have."""
    if format in COLUMNS:
        return "".join(_line(format, entry, _numbers(entry, games)) for entry in entries)
    members: dict[str, Any] = {}
    for entry in entries:
        numbers = {column: plain(value) for column, value in _numbers(entry, games).items()}
        # without a type it is an integer
        values = numbers if entry.integer else {**numbers, "type": "float"}
        columns = KEYS[format].items()
        members[entry.code] = {key: values[column] for key, column in columns if column in values}
    return write_object(members)


def _line(format: str, entry: Entry, numbers: Mapping[str, float]) -> str:
    cells = {column: number_text(value) for column, value in numbers.items()}
    cells["name"] = written_name(format, entry.code)
    cells["type"] = "int" if entry.integer else "float"
    if format == "openbench" and entry.frozen:
        cells["c_end"] = "0"
    if format == "openbench_values" and not entry.integer and "." not in cells["start"]:
        cells["start"] += ".0"
    separator = ", " if format.startswith("openbench") else ","
    line = separator.join(cells[column] for column in COLUMNS[format])
    if format == "yaneuraou" and entry.comment:
        line += f" // {' '.join(entry.comment.replace(NOT_USED, '').split())}"
    if format == "yaneuraou" and entry.not_used:
        line += f" {NOT_USED}"
    return f"{line}\n"


def written_name(format: str, name: str) -> str:
    """Return a name as a cell.  Raises UsageError for a name that would be read differently."""
    problem = name_problem(name)
    pattern, expected = _NAMES.get(format, (None, ""))
    if pattern is not None and not pattern.fullmatch(name):
        problem = f"expected {expected}; {RENAME}"
    elif pattern is None and re.search(r',|"|//| #|\[\[|^[#{]', name):
        problem = problem or "it would be read differently"
    if problem:
        raise UsageError(f"{format}: {shown(name)} cannot be written as a name: {problem}")
    return name


def write_object(members: Mapping[str, Any]) -> str:
    """Return JSON with one line a member."""
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in members.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
