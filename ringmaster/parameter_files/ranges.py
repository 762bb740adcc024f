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
from collections.abc import Sequence
from typing import Any

import msgspec

from ringmaster.errors import UsageError, nearest, shown
from ringmaster.model.parameters import CLOP_TYPES, middle
from ringmaster.parameter_files.entries import RENAME, Entry, ParameterFile, ReadOptions, plain
from ringmaster.parameter_files.reading import Reading, Text, name_problem, number, number_text
from ringmaster.parameter_files.tables import as_number, write_object

#: CLOP's types by whether they are integers, and logarithmic.
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
    others: list[tuple[str, ...]] = []
    for line, raw in enumerate(text.lines, 1):
        words = _words(raw)
        if not words:
            continue
        kind = words[0]
        if kind in _SETTINGS:
            others.append(tuple(words))
        elif kind not in CLOP_TYPES:
            expected = nearest(kind, [*CLOP_TYPES, *_SETTINGS])
            reading.refuse(line, f"{shown(kind)} cannot begin a line", expected)
        else:
            _read_line(reading, line, words, raw.partition("#")[2].strip())
    if others:
        names = dict.fromkeys(words[0] for words in others)
        reading.note(f"only the parameters are read, not {', '.join(names)}")
    if reading.entries:
        reading.note("each parameter starts in the middle of its range")
    return msgspec.structs.replace(reading.finish("clop"), others=tuple(others))


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


_PRIORS = {"uniform": "linear", "log-uniform": "log"}
#: Arguments of the model, not of the parameter.
_IGNORED = frozenset({"base", "transform", "name", "dtype"})
_EXPECTED = 'such as "Real(0.5, 10)", "Real(1, 100, prior=log-uniform)" or "Integer(1, 100)"'


class _Wrong(Exception):
    """An error in a range."""


def recognises_ctt(text: Text) -> int:
    """Return the number of members with a range."""
    return sum(isinstance(value, str | list) for value in _ranges(text.members).values())


def _ranges(members: dict[str, Any]) -> dict[str, Any]:
    inner = members.get("parameter_ranges", members)
    return inner if isinstance(inner, dict) else {}


def read_ctt(text: Text, options: ReadOptions) -> ParameterFile:
    """Read a file.  Raises ParameterFileError."""
    reading = Reading(text, options)
    members = text.object
    others = [name for name in members if name != "parameter_ranges"]
    if "parameter_ranges" in members and others:
        reading.note(f"only parameter_ranges are read, not {', '.join(others)}"[:300])
    for name, description in _ranges(members).items():
        line = text.line_of(name)
        try:
            entry = _entry(name, description, line)
        except _Wrong as wrong:
            reading.refuse(line, f"{shown(name)}: {shown(description)}: {wrong}", _EXPECTED)
            continue
        reading.add(entry, entry.integer)
    if any(not entry.choices for entry in reading.entries):
        reading.note("each parameter starts in the middle of its range")
    return reading.finish("chess_tuning_tools")


def _entry(name: str, description: Any, line: int | None) -> Entry:
    kind, values, prior = _parsed(description)
    if kind == "Categorical":
        if len(values) < 2:
            raise _Wrong("a choice of one")
        if any(isinstance(v, bool) or not isinstance(v, str | int | float) for v in values):
            raise _Wrong("choices other than numbers and texts")
        last = len(values) - 1.0
        return Entry(name, 0.0, 0.0, last, integer=True, choices=values, line=line)
    if prior not in _PRIORS:
        raise _Wrong(f"prior {shown(prior)} is unknown")
    low, high = (as_number(value) for value in values) if len(values) == 2 else (None, None)
    if low is None or high is None:
        raise _Wrong("its bounds are not two finite numbers")
    scale: Any = _PRIORS[prior]
    start = middle(low, high, kind == "Integer", scale == "log")
    return Entry(name, start, low, high, integer=kind == "Integer", scale=scale, line=line)


def _parsed(description: Any) -> tuple[str, tuple[Any, ...], Any]:
    """Return kind, values (bounds or choices) and prior of a range."""
    values = description
    if isinstance(description, str):
        try:
            tree = ast.parse(description.strip(), mode="eval").body
            if isinstance(tree, ast.Call):
                return _call(tree)
            values = ast.literal_eval(tree)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise _Wrong("it cannot be read") from None
    if not isinstance(values, list | tuple):
        raise _Wrong("it is not a range")
    prior = "uniform"
    if len(values) == 3 and values[2] in _PRIORS and not isinstance(values[0], str):
        *values, prior = values
    if len(values) == 2 and not any(isinstance(v, bool | str) for v in values):
        whole = all(isinstance(v, int) for v in values)
        return "Integer" if whole else "Real", tuple(values), prior
    return "Categorical", tuple(values), "uniform"


def _call(call: ast.Call) -> tuple[str, tuple[Any, ...], Any]:
    """Return kind, values and prior of Real(…), Integer(…) or Categorical([…])."""
    kind = ast.unparse(call.func)
    if kind == "Categorical" and len(call.args) == 1 and not call.keywords:
        return kind, tuple(ast.literal_eval(call.args[0])), "uniform"
    if kind not in ("Real", "Integer") or len(call.args) > 3:
        raise _Wrong("it is not a range")
    arguments = dict(zip(("low", "high", "prior"), call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg in arguments or keyword.arg not in ("low", "high", "prior", *_IGNORED):
            raise _Wrong(f"{shown(ast.unparse(keyword))} is not understood")
        arguments[keyword.arg] = keyword.value
    # without quotes the name of a prior is a difference
    prior = ast.unparse(arguments["prior"]) if "prior" in arguments else "uniform"
    bounds = (ast.literal_eval(arguments[name]) for name in ("low", "high") if name in arguments)
    return kind, tuple(bounds), prior.replace(" ", "").strip("'")


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
