"""JSON objects of parameters, also as Python writes them ('quotes', trailing commas):
users copy both into files.  A name that is there twice is refused."""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ringmaster.errors import ParameterFileError
from ringmaster.model.wording import shown
from ringmaster.parameter_files.reading import Reading
from ringmaster.parameter_files.text import Text


class _Twice(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def load_object(text: Text) -> dict[str, Any]:
    """Return the object that a text is.  Raises ParameterFileError."""
    try:
        found = json.loads(text.text, object_pairs_hook=_once, parse_constant=_no_constant)
    except _Twice as error:
        raise _twice(text, error.key) from None
    except RecursionError:
        raise ParameterFileError(f"{text.name}: it is nested too deeply") from None
    except ValueError as error:
        try:
            found = _python(text)
        except _Twice as twice:
            raise _twice(text, twice.key) from None
        if found is None:
            raise _malformed(text, error) from None
    if not isinstance(found, dict):
        raise ParameterFileError(f'{text.name}: expected an object, {{"name": …}}')
    return found


def object_or_none(text: Text) -> dict[str, Any] | None:
    """Return the object that a text is, None if it is none that can be read."""
    try:
        return load_object(text) if text.is_object else None
    except ParameterFileError:
        return None


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Twice(key)
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON has")


def _twice(text: Text, key: str) -> ParameterFileError:
    line = text.line_of(key, 1)
    where = text.name if line is None else f"{text.name}:{line}"
    return ParameterFileError(f"{where}: {shown(key)} has been there already; expected it once")


def _malformed(text: Text, error: ValueError) -> ParameterFileError:
    line = getattr(error, "lineno", None)
    if line is None:
        return ParameterFileError(f"{text.name}: {error}")
    shown_line = shown(text.lines[min(line, len(text.lines)) - 1].strip(), 100)
    reason = getattr(error, "msg", str(error))
    return ParameterFileError(
        f"{text.name}:{line}: this is not JSON: {reason}", [f"{line:>5} | {shown_line}"]
    )


def _python(text: Text) -> Any:
    """Return the value of a Python literal, None if the text is none."""
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
    reading: Reading, name: str, given: Any, needed: Sequence[str], others: Sequence[str] = ()
) -> dict[str, float] | None:
    """Return the numbers of one parameter's object; None after refusing it.

    others  keys that are read elsewhere
    """
    found: dict[str, float] = {}
    wrong = "a number without quotes"
    if not isinstance(given, dict):
        problem, wrong = f"{shown(given)} is no object", ", ".join(needed)
    elif unknown := [key for key in given if key not in (*needed, *others)]:
        problem, wrong = f"{shown(unknown[0])} is unknown", ", ".join(needed)
    elif missing := [key for key in needed if key not in given]:
        problem, wrong = f"{missing[0]} is missing", ", ".join(needed)
    else:
        numbers = {key: as_number(given[key]) for key in needed}
        found = {key: value for key, value in numbers.items() if value is not None}
        bad = [key for key in needed if key not in found]
        problem = f"{bad[0]} {shown(given[bad[0]])} is not a finite number" if bad else ""
    if problem:
        reading.refuse(reading.text.line_of(name), f"{shown(name)}: {problem}", wrong)
        return None
    return found


def as_number(value: Any) -> float | None:
    """Return a number of a JSON file, None if it is none that is finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def write_object(members: dict[str, Any]) -> str:
    """Return JSON with a line a member."""
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in members.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def count(text: Text, fits: Any) -> int:
    """Return how many members of an object `fits` holds for."""
    found = object_or_none(text)
    return 0 if found is None else sum(bool(fits(value)) for value in found.values())
