"""The formats of `export-parameters`: a table, the control file's own list, commands for engines,
constants of C and Rust, and the files of other tuners."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ringmaster.errors import UsageError, nearest, shown
from ringmaster.export.output import check_output, open_output
from ringmaster.export.tuned import Tuned, is_number, parameter_list, text_of, tuned_parameters
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import RIGHT, Table
from ringmaster.parameter_files import FORMATS as FILE_FORMATS
from ringmaster.parameter_files import write_file
from ringmaster.reporting.tables import render_table

_C = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
    "char32_t class co_await co_return co_yield compl concept const consteval constexpr constinit "
    "const_cast continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template "
    "this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned "
    "using virtual void volatile wchar_t while xor xor_eq main"
)
#: Reserved words of C and C++.
_RESERVED = frozenset(_C.split())


def c_macros(tuned: Sequence[Tuned]) -> str:
    """Return `#define NAME VALUE` lines."""
    lines = []
    for name, one in _named(tuned, _c_name):
        value = _number(one)
        text = f"({value})" if value.startswith("-") else value
        lines.append(f"#define {name} {text}{_comment(name, one, '/* ', ' */')}\n")
    return "".join(lines)


def rust_constants(tuned: Sequence[Tuned]) -> str:
    """Return `pub const NAME: i32 = VALUE;` lines."""
    lines = []
    for name, one in _named(tuned, _rust_name):
        kind = "f64"
        if isinstance(one.engine_value, int):
            kind = "i32" if -(2**31) <= one.engine_value < 2**31 else "i64"
        lines.append(f"pub const {name}: {kind} = {_number(one)};{_comment(name, one, '// ')}\n")
    return "".join(lines)


def _number(one: Tuned) -> str:
    if not is_number(one.engine_value):
        raise UsageError(f"parameter {one.code!r}: {shown(one.engine_value)} is not a number")
    return repr(one.engine_value)


def _named(tuned: Sequence[Tuned], name_of: Callable[[str], str]) -> Iterator[tuple[str, Tuned]]:
    """Yield the parameters with unique names."""
    used: set[str] = set()
    for one in tuned:
        name = name_of(one.name)
        unique, number = name, 1
        while unique in used:
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        yield unique, one


def _word(name: str) -> str:
    """Return a name as an identifier, with "_" for other characters."""
    # C++ reserves "__" and a "_" at the beginning
    word = re.sub("[^A-Za-z0-9]+", "_", name).strip("_") or "parameter"
    return f"p_{word}" if word[0].isdigit() else word


def _c_name(name: str) -> str:
    is_identifier = re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) and "__" not in name
    word = name if is_identifier else _word(name)
    return f"{word}_" if word in _RESERVED else word


def _rust_name(name: str) -> str:
    # LmrBase and LMRBase both become LMR_BASE
    parted = re.sub("([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", _word(name))
    return parted.upper()


def _comment(name: str, one: Tuned, opening: str, closing: str = "") -> str:
    """Return a comment with the engine's name of the parameter, if it differs."""
    if name == one.name:
        return ""
    text = "".join(c if c.isascii() and c.isprintable() else "?" for c in one.name)
    # a name must not end or continue the comment
    text = text.replace("*/", "* /").rstrip("\\")
    return f"  {opening}{text}{closing}"


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
    rows = tuple(
        (
            one.code,
            text_of(one, one.start_value),
            text_of(one, one.engine_value),
            text_of(one, one.low),
            text_of(one, one.high),
        )
        for one in tuned
    )
    headers = ("parameter", "start", "tuned", "min", "max")
    return render_table(Table(headers, rows, align=("left", *([RIGHT] * 4)))) + "\n", []


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
    "c": lambda tuned, loaded: (c_macros(tuned), []),
    "rust": lambda tuned, loaded: (rust_constants(tuned), []),
}
#: All formats.
FORMATS = (*_OWN, *FILE_FORMATS)
