"""Formats with a JSON object: weather-factory and Optuna Game Parameter Tuner.

The object may be a Python dict ('quotes', trailing commas): users copy both into files.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ringmaster.errors import ParameterFileError, shown
from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions, plain
from ringmaster.parameter_files.reading import KINDS, Reading, Text


class _Twice(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def load_object(text: Text) -> dict[str, Any]:
    """Return the object of a text.  Raises ParameterFileError, also for a repeated name."""
    try:
        try:
            members = json.loads(text.text, object_pairs_hook=_once, parse_constant=_no_constant)
        except ValueError as error:
            members = _python(text)
            if members is None:
                raise _malformed(text, error) from None
    except _Twice as twice:
        line = text.line_of(twice.key, 1)
        where = text.name if line is None else f"{text.name}:{line}"
        raise ParameterFileError(
            f"{where}: {shown(twice.key)} is there twice; expected it once"
        ) from None
    except RecursionError:
        raise ParameterFileError(f"{text.name}: it is nested too deeply") from None
    if not isinstance(members, dict):
        raise ParameterFileError(f'{text.name}: expected an object, {{"name": …}}')
    return members


def object_or_none(text: Text) -> dict[str, Any] | None:
    """Return the object of a text, None if the text is not a correct object."""
    try:
        return load_object(text) if text.is_object else None
    except ParameterFileError:
        return None


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise _Twice(key)
        members[key] = value
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no number {name}")


def _malformed(text: Text, error: ValueError) -> ParameterFileError:
    if not isinstance(error, json.JSONDecodeError):
        return ParameterFileError(f"{text.name}: {error}")
    return ParameterFileError(
        f"{text.name}:{error.lineno}: this is not JSON: {error.msg}", [text.excerpt(error.lineno)]
    )


def _python(text: Text) -> Any:
    """Return the value of a Python literal, None for any other text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.text.strip(), mode="eval")
        return _literal(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Dict(keys=keys, values=values):
            names = [_literal(key) if key is not None else None for key in keys]
            texts = [name for name in names if isinstance(name, str)]
            if len(texts) < len(names):
                raise ValueError
            return _once(zip(texts, map(_literal, values), strict=True))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Name(id="true" | "false" as name):
            return name == "true"
        case ast.Name(id="null"):
            return None
    raise ValueError


def fields(
    reading: Reading, name: str, parameter: Any, needed: Sequence[str], others: Sequence[str] = ()
) -> dict[str, float] | None:
    """Return the numbers of one parameter's object, None after refusing it.

    others  further allowed keys
    """
    numbers: dict[str, float | None] = {}
    wrong = "a number without quotes"
    if not isinstance(parameter, dict):
        problem, wrong = f"{shown(parameter)} is not an object", ", ".join(needed)
    elif unknown := [key for key in parameter if key not in (*needed, *others)]:
        problem, wrong = f"{shown(unknown[0])} is unknown", ", ".join(needed)
    elif missing := [key for key in needed if key not in parameter]:
        problem, wrong = f"{missing[0]} is missing", ", ".join(needed)
    else:
        numbers = {key: as_number(parameter[key]) for key in needed}
        bad = [key for key in needed if numbers[key] is None]
        problem = f"{bad[0]} {shown(parameter[bad[0]])} is not a finite number" if bad else ""
    if problem:
        reading.refuse(reading.text.line_of(name), f"{shown(name)}: {problem}", wrong)
        return None
    return {key: value for key, value in numbers.items() if value is not None}


def as_number(value: Any) -> float | None:
    """Return a finite number of a JSON file, None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def write_object(members: dict[str, Any]) -> str:
    """Return JSON with one line a member."""
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in members.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def members_with(key: str, text: Text) -> int:
    """Return the number of members of an object that are objects with a key."""
    members = object_or_none(text) or {}
    return sum(isinstance(value, dict) and key in value for value in members.values())


# weather-factory's gains are the same for all parameters, in units of `step`, without an end.  At
# the end of a tune of N games: c_end = step·c·N^−γ, r_end = (a/(N+A)^α) / (c·N^−γ)².

_WEATHER_FIELDS = ("value", "min_value", "max_value", "step")
#: The defaults of weather-factory.
ALPHA, GAMMA, A_CONSTANT, A_GAIN, C_GAIN = 0.601, 0.102, 100_000, 1.0, 1.0
#: Games of a tune of unknown length.
GAMES = 100_000


def gains(games: int) -> tuple[float, float]:
    """Return c_end, in units of `step`, and r_end of a tune of so many games."""
    c = C_GAIN * math.pow(games, -GAMMA)
    return c, A_GAIN / math.pow(games + A_CONSTANT, ALPHA) / c**2


def read_weather_factory(text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file.  Raises ParameterFileError."""
    reading = Reading(text, options)
    games = GAMES if options.games is None else options.games
    c, r_end = gains(games)
    if options.games is None:
        reading.note(f"c_end and r_end are for {GAMES} games, since the number of games is unknown")
    for name, parameter in load_object(text).items():
        values = fields(reading, name, parameter, _WEATHER_FIELDS)
        if values is not None:
            entry = Entry(
                name,
                values["value"],
                values["min_value"],
                values["max_value"],
                c_end=values["step"] * c,
                r_end=r_end,
                step=values["step"],
                line=text.line_of(name),
            )
            # weather-factory rounds every value
            reading.add(entry, None)
    return reading.finish("weather_factory")


def write_weather_factory(entries: Sequence[Entry], games: int | None) -> str:
    """Return the text of a file; c_end gives a missing step."""
    c, _ = gains(GAMES if games is None else games)
    members = {}
    for entry in entries:
        step = entry.gains()[0] / c if entry.step is None else entry.step
        values = (entry.start, entry.minimum, entry.maximum, step)
        members[entry.code] = dict(zip(_WEATHER_FIELDS, map(plain, values), strict=True))
    return write_object(members)


_OPTUNA_FIELDS = ("default", "min", "max", "step")


def read_optuna_tuner(text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file; `step` is the grid of values, not a perturbation.

    Raises ParameterFileError.
    """
    reading = Reading(text, options)
    for name, parameter in load_object(text).items():
        values = fields(reading, name, parameter, _OPTUNA_FIELDS, ("type",))
        if values is None:
            continue
        kind = parameter.get("type", "int")
        line = text.line_of(name)
        if kind not in KINDS:
            reading.refuse(line, f"{shown(name)}: type {shown(kind)} is unknown", "int or float")
            continue
        entry = Entry(
            name,
            values["default"],
            values["min"],
            values["max"],
            grid=values["step"],
            integer=KINDS[kind],
            line=line,
        )
        reading.add(entry, KINDS[kind])
    return reading.finish("optuna_tuner")


def write_optuna_tuner(entries: Sequence[Entry], games: int | None) -> str:
    """Return the text of a file; a missing grid is 1, or a hundredth of the range."""
    members: dict[str, Any] = {}
    for entry in entries:
        grid = entry.grid
        if grid is None:
            grid = 1.0 if entry.integer else (entry.maximum - entry.minimum) / 100
        numbers = (entry.start, entry.minimum, entry.maximum, grid)
        members[entry.code] = dict(zip(_OPTUNA_FIELDS, map(plain, numbers), strict=True))
        if not entry.integer:
            members[entry.code]["type"] = "float"
    return write_object(members)
