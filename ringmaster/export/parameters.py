"""The formats of `export-parameters`: a table, the control file's own list, commands for engines,
constants of C and Rust, and the files of other tuners."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import chain, count
from pathlib import Path

from ringmaster.errors import UsageError, nearest, shown
from ringmaster.export.output import check_output, open_output
from ringmaster.export.tuned import Tuned, is_number, parameter_list, text_of, tuned_parameters
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import RIGHT, Table
from ringmaster.parameter_files import FORMATS as FILE_FORMATS
from ringmaster.parameter_files import write_file
from ringmaster.reporting.tables import render_table


def constants(tuned: Sequence[Tuned], line: Callable[[str, int | float], str]) -> str:
    """Return a line for each parameter, with the engine's name in a comment if it differs.

    line  returns the definition of a constant of a programming language

    Raises UsageError for a value that is not a number.
    """
    names: set[str] = set()
    lines = []
    for one in tuned:
        value = one.engine_value
        if not is_number(value):
            raise UsageError(f"parameter {one.code!r}: {shown(value)} is not a number")
        name = _constant_name(one.name, names)
        names.add(name)
        # "*" could begin or end a comment
        comment = "" if name == one.name else f"  /* {re.sub('[^ -)+-~]', '?', one.name)} */"
        lines.append(f"{line(name, value)}{comment}\n")
    return "".join(lines)


def _constant_name(name: str, used: Collection[str]) -> str:
    """Return a new name in upper case, which is no reserved word of any language."""
    # C++ reserves "__" and a "_" at the beginning
    word = re.sub("[^A-Za-z0-9]+", "_", name).strip("_") or "parameter"
    word = f"p_{word}" if word[0].isdigit() else word
    # LmrBase and LMRBase both become LMR_BASE
    word = re.sub("([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", word).upper()
    numbered = (f"{word}_{number}" for number in count(2))
    return next(each for each in chain([word], numbered) if each not in used)


def c_macro(name: str, value: int | float) -> str:
    """Return `#define NAME VALUE`."""
    return f"#define {name} {value!r}" if value >= 0 else f"#define {name} ({value!r})"


def rust_constant(name: str, value: int | float) -> str:
    """Return `pub const NAME: i32 = VALUE;`."""
    kind = "f64"
    if isinstance(value, int):
        kind = "i32" if -(2**31) <= value < 2**31 else "i64"
    return f"pub const {name}: {kind} = {value!r};"


Rendered = tuple[str, list[str]]


def export_parameters(
    path: Path, format: str | None, output: Path | None, *, safe: bool = False
) -> list[str]:
    """Write the tuned values of a control file's competition; return notes.

    format  one of FORMATS, None for a table
    output  None for standard output
    safe    whether the control file is evaluated in safe mode

    Raises UsageError for an unknown format or an impossible file, RingmasterError without tuned
    parameters, StoreError.
    """
    name = format_named(format or "table")
    check_output(output, path)
    loaded, tuned = tuned_parameters(path, safe=safe)
    text, notes = render(name, tuned, loaded)
    with open_output(output) as stream:
        stream.write(text.encode())
    return notes


def format_named(name: str) -> str:
    """Return the name of a format in FORMATS.  Raises UsageError."""
    known = {format.replace("_", "-"): format for format in FORMATS}
    format = known.get(name.lower().replace("_", "-"))
    if format is None:
        raise UsageError(
            f"there is no format {shown(name)} of parameters; expected {nearest(name, FORMATS)}"
        )
    return format


def render(format: str, tuned: Sequence[Tuned], loaded: LoadedCompetition) -> Rendered:
    """Return the text of a format, and notes.  Raises UsageError for impossible values."""
    used = [one for one in tuned if not one.parameter.not_used]
    if format in _OWN:
        return _OWN[format](tuned if format == "control-file" else used, loaded)
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
                f"{format}: parameter {one.code!r}: the engines' value {shown(one.engine_value)} "
                "is not a number within its bounds"
            )
        entries.append(entry)
    text, notes = write_file(format, entries, loaded.control_file.values.get("number_of_games"))
    for why, codes in (("frozen", frozen), ("not used", left_out)):
        if codes:
            notes.append(f"{why}, and left out: {', '.join(codes)}")
    return text, [f"{format}: {note}" for note in notes]


def _table(tuned: Sequence[Tuned], loaded: LoadedCompetition) -> Rendered:
    rows = []
    for one in tuned:
        values = (one.start_value, one.engine_value, one.low, one.high)
        rows.append((one.code, *(text_of(one, value) for value in values)))
    headers = ("parameter", "start", "tuned", "min", "max")
    return render_table(Table(headers, tuple(rows), align=("left", *([RIGHT] * 4)))) + "\n", []


def _setoption(tuned: Sequence[Tuned], loaded: LoadedCompetition) -> Rendered:
    """Return commands of UCI and USI that set the options."""
    lines, others = [], []
    for one in tuned:
        p = one.parameter
        if p.gtp is not None or p.argument is not None or p.environ is not None:
            others.append(one.code)
            continue
        value = text_of(one, one.engine_value)
        if not one.name.isprintable() or not value.isprintable():
            raise UsageError(f"setoption: {shown(one.name)} cannot be set to {shown(value)}")
        lines.append(f"setoption name {one.name} value {value}\n")
    if not lines:
        raise UsageError("setoption: no parameter is an option of the engine")
    notes = []
    if others:
        notes.append(f"setoption: left out, not an option of the engine: {', '.join(others)}")
    if loaded.control_file.values.get("make_candidate") is not None:
        notes.append("setoption: these are the arguments of make_candidate, which sets the options")
    return "".join(lines), notes


_OWN: dict[str, Callable[[Sequence[Tuned], LoadedCompetition], Rendered]] = {
    "table": _table,
    "control-file": lambda tuned, loaded: parameter_list(tuned, loaded),
    "setoption": _setoption,
    "c": lambda tuned, loaded: (constants(tuned, c_macro), []),
    "rust": lambda tuned, loaded: (constants(tuned, rust_constant), []),
}
#: All formats.
FORMATS = (*_OWN, *FILE_FORMATS)
