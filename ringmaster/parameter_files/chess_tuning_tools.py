"""chess-tuning-tools: JSON values such as ``"Real(0, 10, prior=log-uniform)"``,
``"Integer(1, 100)"``, or a tuple of choices; alone, or as `parameter_ranges` of its
whole configuration.

As in scikit-optimize, two numbers in parentheses are a range, of whole numbers if
both are.  No value to start from is given: the middle of the range is, on its scale.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from ringmaster.model.wording import shown
from ringmaster.parameter_files.clop import middle
from ringmaster.parameter_files.entries import (
    Entry,
    ParameterFile,
    ReadOptions,
    WriteOptions,
    plain,
)
from ringmaster.parameter_files.objects import as_number, load_object, object_or_none, write_object
from ringmaster.parameter_files.reading import Reading
from ringmaster.parameter_files.text import Text, number, number_text

_CALL = re.compile(r"\s*(Real|Integer|Categorical)\s*\((.*)\)\s*", re.DOTALL)
_PRIORS = {"uniform": "linear", "log-uniform": "log"}
#: Arguments that are about the model, not about the parameter.
_PASSED = frozenset({"base", "transform", "name", "dtype"})
_EXPECTED = 'such as "Real(0.5, 10)", "Real(1, 100, prior=log-uniform)" or "Integer(1, 100)"'


class _Wrong(Exception):
    """What is wrong with a range."""


def recognises(text: Text) -> int:
    """Return how many members are ranges of the format."""
    found = _ranges(object_or_none(text))
    return sum(isinstance(value, str | list) for value in found.values())


def _ranges(found: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {}
    inner = found.get("parameter_ranges", found)
    return inner if isinstance(inner, dict) else {}


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds.  Raises ParameterFileError."""
    reading = Reading(text, options)
    found = load_object(text)
    others = [name for name in found if name != "parameter_ranges"]
    if "parameter_ranges" in found and others:
        reading.note(f"only parameter_ranges are read, not {', '.join(others)}"[:300])
    for name, given in _ranges(found).items():
        line = text.line_of(name)
        try:
            entry, whole = _entry(name, given, line)
        except _Wrong as wrong:
            reading.refuse(line, f"{shown(name)}: {shown(given)}: {wrong}", _EXPECTED)
            continue
        reading.add(entry, whole)
    if any(not entry.choices for entry in reading.entries):
        reading.note("each parameter starts in the middle of its range")
    return reading.finish("chess_tuning_tools")


def _entry(name: str, given: Any, line: int | None) -> tuple[Entry, bool]:
    kind, values, prior = _parsed(given)
    if kind == "Categorical":
        if len(values) < 2:
            raise _Wrong("a choice of one")
        if any(isinstance(v, bool) or not isinstance(v, str | int | float) for v in values):
            raise _Wrong("choices that are neither numbers nor texts")
        return Entry(
            name, 0.0, 0.0, len(values) - 1.0, integer=True, choices=values, line=line
        ), True
    low, high = (as_number(value) for value in values)
    if low is None or high is None:
        raise _Wrong("a bound is not a finite number")
    integer, logarithmic = kind == "Integer", _PRIORS[prior] == "log"
    start = middle(low, high, integer, logarithmic)
    scale: Any = _PRIORS[prior]
    return Entry(name, start, low, high, integer=integer, scale=scale, line=line), integer


def _parsed(given: Any) -> tuple[str, tuple[Any, ...], str]:
    """Return kind, values (bounds or choices) and prior of a range."""
    if isinstance(given, str) and (call := _CALL.fullmatch(given)):
        if call[1] == "Categorical":
            match _literal(f"({call[2]},)"):
                case (list() | tuple() as choices,):
                    return "Categorical", tuple(choices), "uniform"
            raise _Wrong("its choices cannot be read")
        return call[1], *_arguments(call[2])
    values = _literal(given) if isinstance(given, str) else given
    if not isinstance(values, list | tuple):
        raise _Wrong("it is no range")
    values = tuple(values)
    prior = "uniform"
    if len(values) == 3 and values[2] in _PRIORS and not isinstance(values[0], str):
        *values_, prior = values
        values = tuple(values_)
    if len(values) == 2 and not any(isinstance(v, bool | str) for v in values):
        whole = all(isinstance(v, int) for v in values)
        return "Integer" if whole else "Real", values, prior
    return "Categorical", values, "uniform"


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, SyntaxWarning):
        raise _Wrong("it cannot be read") from None


def _arguments(text: str) -> tuple[tuple[float, ...], str]:
    """Return bounds and prior of Real(…) or Integer(…)."""
    names = iter(("low", "high", "prior"))
    given: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            name, value = next(names, ""), part
        name, value = name.strip(), value.strip().strip("\"'")
        if name in given or name not in ("low", "high", "prior", *_PASSED):
            raise _Wrong(f"{shown(part.strip())} is not understood")
        given[name] = value
    bounds = tuple(number(given.get(name, "")) for name in ("low", "high"))
    prior = given.get("prior", "uniform")
    if prior not in _PRIORS:
        raise _Wrong(f"prior {shown(prior)} is unknown")
    if None in bounds:
        raise _Wrong("it has no two numbers as bounds")
    return tuple(b for b in bounds if b is not None), prior


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the ranges as JSON."""
    members = {}
    for entry in entries:
        if entry.choices:
            choices = [c if isinstance(c, str) else plain(c) for c in entry.choices]
            members[entry.code] = f"Categorical({choices!r})"
            continue
        prior = ", prior=log-uniform" if entry.scale == "log" else ""
        kind = "Integer" if entry.integer else "Real"
        bounds = f"{number_text(entry.minimum)}, {number_text(entry.maximum)}"
        members[entry.code] = f"{kind}({bounds}{prior})"
    return write_object(members)
