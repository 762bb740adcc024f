"""`export-parameters`: tuned values as files of other tuners, as commands for engines,
as constants of a program, or as the control file's own list."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ringmaster.errors import UsageError
from ringmaster.event import Event
from ringmaster.export.constants import c_constants, c_macros, rust_constants
from ringmaster.export.export import check_output
from ringmaster.export.output import to_file, to_standard_output
from ringmaster.export.parameter_list import parameter_list
from ringmaster.export.tuned import Tuned, text_of, tuned_parameters
from ringmaster.model.report import RIGHT, Table
from ringmaster.model.wording import nearest, shown
from ringmaster.parameter_files import FORMATS as FILE_FORMATS
from ringmaster.parameter_files import WriteOptions, write_file
from ringmaster.reporting.tables import render_table

Rendered = tuple[str, list[str]]


def export_parameters(path: Path, format: str | None, output: Path | None) -> list[str]:
    """Write the tuned values of a control file's event; returns what is to be said of
    it, a line each.

    format  one of FORMATS, None for a table
    output  a file, written whole or not at all; None for standard output

    Raises UsageError for a format or a file that cannot be had, RingmasterError when
    nothing is tuned, StoreError when something cannot be read or written.
    """
    name = format_named(format or "table")
    if output is not None:
        check_output(output, path)
    event, tuned = tuned_parameters(path)
    text, notes = render(name, tuned, event)
    target = to_standard_output(sys.stdout) if output is None else to_file(output)
    with target as stream:
        stream.write(text.encode())
    return notes


def format_named(name: str) -> str:
    """Return a format as FORMATS has it.  Raises UsageError."""
    known = {format.replace("_", "-"): format for format in FORMATS}
    found = known.get(name.lower().replace("_", "-"))
    if found is None:
        raise UsageError(
            f"there is no format {shown(name)} of parameters; expected {nearest(name, FORMATS)}"
        )
    return found


def render(format: str, tuned: Sequence[Tuned], event: Event) -> Rendered:
    """Return the text of a format, and what was assumed in it, a sentence each.
    Raises UsageError for values that it cannot hold."""
    used = [one for one in tuned if not one.parameter.not_used]
    if format in _OWN:
        return _OWN[format](tuned if format == "control-file" else used, event)
    rows = FILE_FORMATS[format].rows
    frozen = [one.code for one in used if one.parameter.frozen]
    left_out = [one.code for one in tuned if one.parameter.not_used and not rows]
    entries = []
    for one in tuned:
        if one.code in frozen or one.code in left_out:
            continue
        entry = one.entry(whole_row=rows)
        if entry is None:
            raise UsageError(
                f"{format}: parameter {one.code!r}: engines are given {shown(one.given)}, which is "
                "no number within bounds"
            )
        entries.append(entry)
    text, notes = write_file(
        format, entries, WriteOptions(event.loaded.values.get("number_of_games"))
    )
    for why, codes in (("frozen", frozen), ("not used", left_out)):
        if codes:
            notes.append(f"{why}, and left out: {', '.join(codes)}")
    return text, [f"{format}: {note}" for note in notes]


def _table(tuned: Sequence[Tuned], event: Event) -> Rendered:
    rows = tuple(
        (
            one.code,
            text_of(one, one.given_at_start),
            text_of(one, one.given),
            text_of(one, one.low),
            text_of(one, one.high),
        )
        for one in tuned
    )
    headers = ("parameter", "start", "tuned", "min", "max")
    return render_table(Table(headers, rows, align=("left", *([RIGHT] * 4)))) + "\n", []


def _setoption(tuned: Sequence[Tuned], event: Event) -> Rendered:
    """Lines that set the options; UCI and USI have the same."""
    lines, others = [], []
    for one in tuned:
        p = one.parameter
        if p.gtp is not None or p.argument is not None or p.environ is not None:
            others.append(one.code)
            continue
        value = text_of(one, one.given)
        if not one.name.isprintable() or not value.isprintable():
            raise UsageError(f"setoption: {shown(one.name)} cannot be set to {shown(value)}")
        lines.append(f"setoption name {one.name} value {value}\n")
    if not lines:
        raise UsageError("setoption: no parameter is an option of the engine")
    notes = []
    if others:
        notes.append(f"setoption: no options of the engine, and left out: {', '.join(others)}")
    if event.loaded.values.get("make_candidate") is not None:
        notes.append("setoption: make_candidate says what engines get; these are its arguments")
    return "".join(lines), notes


_OWN: dict[str, Callable[[Sequence[Tuned], Event], Rendered]] = {
    "table": _table,
    "control-file": lambda tuned, event: parameter_list(tuned, event),
    "setoption": _setoption,
    "usi-setoption": _setoption,
    "c": lambda tuned, event: (c_macros(tuned), []),
    "cpp": lambda tuned, event: (c_constants(tuned), []),
    "rust": lambda tuned, event: (rust_constants(tuned), []),
}
#: Every format of parameters.
FORMATS = (*_OWN, *FILE_FORMATS)
