"""Formats with a range for each parameter: CLOP and chess-tuning-tools.

CLOP: ``LinearParameter|IntegerParameter|GammaParameter|IntegerGammaParameter name min max``, alone
or in a ``.clop`` file; Gamma parameters have a logarithmic scale.

chess-tuning-tools: JSON values such as ``"Real(0, 10, prior=log-uniform)"``, ``"Integer(1, 100)"``
or a tuple of choices, alone or as `parameter_ranges` of its configuration.  Two numbers in
parentheses are a range, of whole numbers if both are, like in scikit-optimize.

The files have no start value: it is the middle of the range, on its scale.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from ringmaster.errors import UsageError, nearest, shown
from ringmaster.model.parameters import middle
from ringmaster.parameter_files.entries import (
    RENAME,
    Entry,
    ParameterFile,
    ReadOptions,
    plain,
)
from ringmaster.parameter_files.objects import as_number, load_object, object_or_none, write_object
from ringmaster.parameter_files.reading import Reading, Text, name_problem, number, number_text

#: CLOP's types by whether they are integers, and logarithmic.
#: CLOP's types of parameters: whether values are integers, and their scale logarithmic.
CLOP_TYPES = {
    "LinearParameter": (False, False),
    "IntegerParameter": (True, False),
    "GammaParameter": (False, True),
    "IntegerGammaParameter": (True, True),
}
CLOP_KINDS = {properties: kind for kind, properties in CLOP_TYPES.items()}
#: The other lines of a .clop file.
_SETTINGS = (
    *("Name", "Script", "Processor", "Replications", "DrawElo", "H", "Correlations"),
    "StopOnError",
)


def recognises_clop(text: Text) -> int:
    """Return the number of lines with a parameter."""
    return sum(_words(raw)[:1] in ([kind] for kind in CLOP_TYPES) for raw in text.lines)


def _words(raw: str) -> list[str]:
    return raw.partition("#")[0].split()


def read_clop(text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file.  Raises ParameterFileError."""
    reading = Reading(text, options)
    ignored: dict[str, None] = {}
    for line, raw in enumerate(text.lines, 1):
        words = _words(raw)
        if not words:
            continue
        kind = words[0]
        if kind in _SETTINGS:
            ignored[kind] = None
        elif kind not in CLOP_TYPES:
            expected = nearest(kind, [*CLOP_TYPES, *_SETTINGS])
            reading.refuse(line, f"{shown(kind)} cannot begin a line", expected)
        else:
            _read_line(reading, line, words, raw.partition("#")[2].strip())
    if ignored:
        reading.note(f"only the parameters are read, not {', '.join(ignored)}")
    if reading.entries:
        reading.note("each parameter starts in the middle of its range")
    return reading.finish("clop")


def _read_line(reading: Reading, line: int, words: list[str], comment: str) -> None:
    integer, logarithmic = CLOP_TYPES[words[0]]
    expected = f"{words[0]} NAME MIN MAX"
    if len(words) != 4:
        reading.refuse(line, f"it has {len(words)} words", expected)
        return
    low, high = number(words[2]), number(words[3])
    if low is None or high is None:
        wrong = words[2] if low is None else words[3]
        reading.refuse(line, f"{shown(wrong)} is not a finite number", expected)
        return
    reading.add(
        Entry(
            words[1],
            middle(low, high, integer, logarithmic),
            low,
            high,
            integer=integer,
            scale="log" if logarithmic else "linear",
            comment=comment,
            line=line,
        ),
        integer,
    )


def write_clop(entries: Sequence[Entry], games: int | None) -> str:
    """Return the lines of the parameters.  Raises UsageError for an impossible name."""
    lines = []
    for entry in entries:
        if name_problem(entry.code) or " " in entry.code or "#" in entry.code:
            raise UsageError(
                f"clop: {shown(entry.code)} cannot be a name: it has a space or a #; {RENAME}"
            )
        kind = CLOP_KINDS[entry.integer, entry.scale == "log"]
        bounds = f"{number_text(entry.minimum)} {number_text(entry.maximum)}"
        lines.append(f"{kind} {entry.code} {bounds}\n")
    return "".join(lines)


_CALL = re.compile(r"\s*(Real|Integer|Categorical)\s*\((.*)\)\s*", re.DOTALL)
_PRIORS = {"uniform": "linear", "log-uniform": "log"}
#: Arguments of the model, not of the parameter.
_IGNORED = frozenset({"base", "transform", "name", "dtype"})
_EXPECTED = 'such as "Real(0.5, 10)", "Real(1, 100, prior=log-uniform)" or "Integer(1, 100)"'


class _Wrong(Exception):
    """An error in a range."""


def recognises_ctt(text: Text) -> int:
    """Return the number of members with a range."""
    members = _ranges(object_or_none(text))
    return sum(isinstance(value, str | list) for value in members.values())


def _ranges(members: dict[str, Any] | None) -> dict[str, Any]:
    if members is None:
        return {}
    inner = members.get("parameter_ranges", members)
    return inner if isinstance(inner, dict) else {}


def read_ctt(text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file.  Raises ParameterFileError."""
    reading = Reading(text, options)
    members = load_object(text)
    others = [name for name in members if name != "parameter_ranges"]
    if "parameter_ranges" in members and others:
        reading.note(f"only parameter_ranges are read, not {', '.join(others)}"[:300])
    for name, description in _ranges(members).items():
        line = text.line_of(name)
        try:
            entry, whole = _entry(name, description, line)
        except _Wrong as wrong:
            reading.refuse(line, f"{shown(name)}: {shown(description)}: {wrong}", _EXPECTED)
            continue
        reading.add(entry, whole)
    if any(not entry.choices for entry in reading.entries):
        reading.note("each parameter starts in the middle of its range")
    return reading.finish("chess_tuning_tools")


def _entry(name: str, description: Any, line: int | None) -> tuple[Entry, bool]:
    kind, values, prior = _parsed(description)
    if kind == "Categorical":
        if len(values) < 2:
            raise _Wrong("a choice of one")
        if any(isinstance(v, bool) or not isinstance(v, str | int | float) for v in values):
            raise _Wrong("choices other than numbers and texts")
        last = len(values) - 1.0
        return Entry(name, 0.0, 0.0, last, integer=True, choices=values, line=line), True
    low, high = (as_number(value) for value in values)
    if low is None or high is None:
        raise _Wrong("a bound is not a finite number")
    integer, logarithmic = kind == "Integer", _PRIORS[prior] == "log"
    start = middle(low, high, integer, logarithmic)
    scale: Any = _PRIORS[prior]
    return Entry(name, start, low, high, integer=integer, scale=scale, line=line), integer


def _parsed(description: Any) -> tuple[str, tuple[Any, ...], str]:
    """Return kind, values (bounds or choices) and prior of a range."""
    if isinstance(description, str) and (call := _CALL.fullmatch(description)):
        if call[1] == "Categorical":
            match _literal(f"({call[2]},)"):
                case (list() | tuple() as choices,):
                    return "Categorical", tuple(choices), "uniform"
            raise _Wrong("its choices cannot be read")
        return call[1], *_arguments(call[2])
    values = _literal(description) if isinstance(description, str) else description
    if not isinstance(values, list | tuple):
        raise _Wrong("it is not a range")
    values = tuple(values)
    prior = "uniform"
    if len(values) == 3 and values[2] in _PRIORS and not isinstance(values[0], str):
        *bounds, prior = values
        values = tuple(bounds)
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
    values: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            name, value = next(names, ""), part
        name, value = name.strip(), value.strip().strip("\"'")
        if name in values or name not in ("low", "high", "prior", *_IGNORED):
            raise _Wrong(f"{shown(part.strip())} is not understood")
        values[name] = value
    bounds = tuple(number(values.get(name, "")) for name in ("low", "high"))
    prior = values.get("prior", "uniform")
    if prior not in _PRIORS:
        raise _Wrong(f"prior {shown(prior)} is unknown")
    if None in bounds:
        raise _Wrong("its bounds are not two numbers")
    return tuple(b for b in bounds if b is not None), prior


def write_ctt(entries: Sequence[Entry], games: int | None) -> str:
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
