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

from ringmaster.errors import nearest, shown
from ringmaster.model.parameters import Scale, middle
from ringmaster.model.time_control import number as number_text
from ringmaster.parameter_files.entries import Entry, ParameterFile, plain
from ringmaster.parameter_files.tables import write_object, written_name
from ringmaster.parameter_files.text import Text, as_number, number

#: CLOP's types of parameters: whether values are integers, and their scale logarithmic.
CLOP_TYPES = {
    "LinearParameter": (False, False),
    "IntegerParameter": (True, False),
    "GammaParameter": (False, True),
    "IntegerGammaParameter": (True, True),
}
CLOP_KINDS = {properties: kind for kind, properties in CLOP_TYPES.items()}
_IN_THE_MIDDLE = "each parameter starts in the middle of its range"
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


def read_clop(file: ParameterFile) -> None:
    for line, raw in enumerate(file.text.lines, 1):
        words = _words(raw)
        kind = words[0] if words else ""
        if kind in CLOP_TYPES:
            _read_parameter(file, line, words, raw.partition("#")[2].strip())
        elif kind in _SETTINGS:
            file.others.append(tuple(words))
        elif kind:
            expected = nearest(kind, [*CLOP_TYPES, *_SETTINGS])
            file.refuse(line, f"{shown(kind)} cannot begin a line", expected)
    if file.others:
        names = dict.fromkeys(words[0] for words in file.others)
        file.notes.append(f"only the parameters are read, not {', '.join(names)}")
    file.notes.append(_IN_THE_MIDDLE)


def _read_parameter(file: ParameterFile, line: int, words: list[str], comment: str) -> None:
    expected = f"{words[0]} NAME MIN MAX"
    if len(words) != 4:
        file.refuse(line, f"it has {len(words)} words", expected)
        return
    low, high = number(words[2]), number(words[3])
    if low is None or high is None:
        wrong = words[2] if low is None else words[3]
        file.refuse(line, f"{shown(wrong)} is not a finite number", expected)
        return
    integer, logarithmic = CLOP_TYPES[words[0]]
    start = middle(low, high, integer, logarithmic)
    scale: Scale = "log" if logarithmic else "linear"
    entry = Entry(words[1], start, low, high, scale=scale, comment=comment or None, line=line)
    file.add(entry, integer)


def write_clop(entries: Sequence[Entry], games: int | None) -> str:
    """Return the lines of the parameters.  Raises UsageError for an impossible name."""
    lines = []
    for entry in entries:
        kind = CLOP_KINDS[entry.integer, entry.scale == "log"]
        bounds = f"{number_text(entry.minimum)} {number_text(entry.maximum)}"
        lines.append(f"{kind} {written_name('clop', entry.code)} {bounds}\n")
    return "".join(lines)


_PRIORS: dict[str, Scale] = {"uniform": "linear", "log-uniform": "log"}
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


def read_ctt(file: ParameterFile) -> None:
    members = file.text.object
    others = [name for name in members if name != "parameter_ranges"]
    if "parameter_ranges" in members and others:
        file.notes.append(f"only parameter_ranges are read, not {', '.join(others)}"[:300])
    for name, description in _ranges(members).items():
        line = file.text.line_of(name)
        try:
            entry = _entry(name, description, line)
        except _Wrong as wrong:
            file.refuse(line, f"{shown(name)}: {shown(description)}: {wrong}", _EXPECTED)
        else:
            file.add(entry, entry.integer)
    if any(not entry.choices for entry in file.entries):
        file.notes.append(_IN_THE_MIDDLE)


def _entry(name: str, description: Any, line: int | None) -> Entry:
    kind, values = "", description
    if isinstance(description, str):
        try:
            kind, values = _parsed(ast.parse(description.strip(), mode="eval").body)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise _Wrong("it cannot be read") from None
    if not isinstance(values, list | tuple):
        raise _Wrong("it is not a range")
    has_prior = len(values) == 3 and not isinstance(values[0], str) and str(values[2]) in _PRIORS
    *bounds, prior = values if kind in ("Real", "Integer") or has_prior else (*values, "uniform")
    is_range = len(bounds) == 2 and not any(isinstance(v, bool | str) for v in bounds)
    if kind == "Categorical" or not (kind or is_range):
        return _choice(name, tuple(values), line)
    if prior not in _PRIORS:
        raise _Wrong(f"prior {shown(prior)} is unknown")
    low, high = map(as_number, bounds) if len(bounds) == 2 else (None, None)
    if low is None or high is None:
        raise _Wrong("its bounds are not two finite numbers")
    integer = kind == "Integer" if kind else all(isinstance(bound, int) for bound in bounds)
    scale = _PRIORS[prior]
    start = middle(low, high, integer, scale == "log")
    return Entry(name, start, low, high, integer=integer, scale=scale, line=line)


def _choice(name: str, values: tuple[Any, ...], line: int | None) -> Entry:
    if len(values) < 2:
        raise _Wrong("a choice of one")
    if any(isinstance(v, bool) or not isinstance(v, str | int | float) for v in values):
        raise _Wrong("choices other than numbers and texts")
    last = len(values) - 1.0
    return Entry(name, 0.0, 0.0, last, integer=True, choices=values, line=line)


def _parsed(tree: ast.expr) -> tuple[str, Any]:
    """Return kind and values: "Real" or "Integer" with bounds and prior, "Categorical" with
    choices, "" for a tuple of them."""
    if not isinstance(tree, ast.Call):
        return "", ast.literal_eval(tree)
    kind = ast.unparse(tree.func)
    if kind == "Categorical" and len(tree.args) == 1 and not tree.keywords:
        return kind, ast.literal_eval(tree.args[0])
    if kind not in ("Real", "Integer") or len(tree.args) > 3:
        raise _Wrong("it is not a range")
    arguments = dict(zip(("low", "high", "prior"), tree.args, strict=False))
    for keyword in tree.keywords:
        if keyword.arg in arguments or keyword.arg not in ("low", "high", "prior", *_IGNORED):
            raise _Wrong(f"{shown(ast.unparse(keyword))} is not understood")
        arguments[keyword.arg] = keyword.value
    # without quotes the name of a prior is a difference
    prior = ast.unparse(arguments["prior"]) if "prior" in arguments else "uniform"
    bounds = [ast.literal_eval(arguments[name]) for name in ("low", "high") if name in arguments]
    return kind, [*bounds, prior.replace(" ", "").strip("'")]


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
