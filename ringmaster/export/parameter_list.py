"""The control file's own `parameters = [...]`, with the tuned values as start values
and everything else as it is: ready to be pasted in its place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ringmaster.control.diagnostics import printable
from ringmaster.event import Event
from ringmaster.export.tuned import Tuned, calls_of
from ringmaster.model.calls import Call
from ringmaster.parameter_files import PowerOfTwo, number_text, plain

#: Columns of a line; a longer call is broken into a line an argument.
WIDTH = 96


def parameter_list(tuned: Sequence[Tuned], event: Event) -> tuple[str, list[str]]:
    """Return the assignment as Python, and a line for each argument that has to be
    put back by hand."""
    calls = calls_of(event, tuned)
    lines, notes = ["parameters = ["], []
    for number, one in enumerate(tuned):
        given = _fields(one) if calls is None else _given(calls[number])
        given["start"] = plain(one.value)
        parts, lost = [], []
        for name, value in given.items():
            text = _python(value, event, ("parameters", number, name))
            if text is None:
                lost.append(name)
            else:
                parts.append(f"{name}={text}")
        head = f"    Parameter({_text(one.code)}, "
        flat = head + ", ".join(parts) + "),"
        if len(flat) > WIDTH:
            inner = "".join(f"        {part},\n" for part in [_text(one.code), *parts])
            flat = f"    Parameter(\n{inner}    ),"
        lines.append(flat)
        for name in lost:
            lines.append(f"    # {printable(one.code)}: put {name} back, as it was")
            notes.append(f"control-file: parameter {one.code!r}: put {name} back by hand")
    return "\n".join([*lines, "]\n"]), notes


def _given(call: Call) -> dict[str, Any]:
    """Return the arguments of a call by name, but for the code."""
    named = dict(zip(call.positional, call.args, strict=False))
    return {name: value for name, value in {**named, **call.kwargs}.items() if name != "code"}


def _fields(one: Tuned) -> dict[str, Any]:
    """Return the arguments that make a parameter, without those left out."""
    known = one.parameter.canonical()
    return {
        name: value
        for name, value in known.items()
        if name != "code" and value is not None and value is not False
    }


def _python(value: Any, event: Event, path: tuple[str | int, ...]) -> str | None:
    """Return Python for an argument, None where there is none that means the same."""
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float):
        return repr(plain(value)) if math.isfinite(value) else None
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, PowerOfTwo):
        if value.whole:
            return "lambda x: round(2**x)"
        low, high = number_text(value.low), number_text(value.high)
        return f"lambda x: min(max(2**x, {low}), {high})"
    names = [n for n, v in event.loaded.namespace.items() if v is value and n.isidentifier()]
    return names[0] if names else _as_written(event, path)


def _as_written(event: Event, path: tuple[str | int, ...]) -> str | None:
    """Return a lambda as it stands in the control file, None if it is not there."""
    span = event.loaded.positions.find(path).value
    if span.line != span.end_line:
        return None
    text = event.loaded.origin.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    return text if text.startswith("lambda") else None


def _text(value: str) -> str:
    quoted = repr(value)
    return quoted if "'" in value or '"' in value else f'"{quoted[1:-1]}"'
