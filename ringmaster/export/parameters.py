"""The tuned values of a competition, and the formats of `export-parameters`: a table, the control
file's own list, commands for engines, and the files of other tuners."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.competitions.result_lines import is_number
from ringmaster.competitions.tuning.parameter_binding import transformed
from ringmaster.competitions.tuning.player_tune import Tune
from ringmaster.control import python_text
from ringmaster.control.source import printable
from ringmaster.errors import RingmasterError, SettingError, UsageError, nearest, shown
from ringmaster.export.output import check_output, open_output
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import RIGHT, Table
from ringmaster.model.settings import Call
from ringmaster.model.time_control import number as number_text
from ringmaster.parameter_files.entries import Entry, plain
from ringmaster.parameter_files.formats import FORMATS as FILE_FORMATS
from ringmaster.parameter_files.formats import write_file
from ringmaster.reporting.tables import render_table

#: Significant digits of a tuned value; no tune is more precise.
DIGITS = 6


@dataclass(frozen=True)
class Tuned:
    """One tuned parameter.

    value           the tuned value in the parameter's own units, rounded for reading
    engine_value    the engines' value
    start_value     the engines' value at the start
    low, high       the engines' values at the bounds
    theta           the tuned value before rounding to an integer
    """

    parameter: TunedParameter
    value: float
    engine_value: Any
    start_value: Any
    low: Any
    high: Any
    theta: float | None = None

    @property
    def code(self) -> str:
        """The name in the control file."""
        return self.parameter.code

    @property
    def name(self) -> str:
        """The engine's name of the parameter."""
        return self.parameter.option or self.parameter.code

    def entry(self, *, whole_row: bool = False) -> Entry | None:
        """Return a line of a parameter file, None if the engines' value is not a number within
        its bounds.

        whole_row  with the unrounded value, the comment and the mark of unused parameters
        """
        p = self.parameter
        numbers = (self.engine_value, self.low, self.high)
        if not all(is_number(number) for number in numbers):
            return None
        low, high = sorted((float(self.low), float(self.high)))
        start = float(self.engine_value)
        if not low <= start <= high:
            return None  # the transform is not monotonic
        if p.transform is None:
            if whole_row and self.theta is not None:
                start = self.theta
            entry = Entry(
                self.name, start, low, high, p.c_end, p.r_end, p.integer, step=p.step, scale=p.scale
            )
        else:
            # the gains are not in the engines' units
            whole = all(isinstance(number, int) for number in numbers)
            entry = Entry(self.name, start, low, high, integer=whole)
        if not whole_row:
            return msgspec.structs.replace(entry, frozen=p.frozen)
        return msgspec.structs.replace(entry, comment=p.comment, not_used=p.not_used)


def tuned_parameters(path: Path, *, safe: bool = False) -> tuple[LoadedCompetition, list[Tuned]]:
    """Return the restored competition of a control file, with all parameters of its tune.

    Raises RingmasterError for a competition without parameters, and for refused changes.
    """
    loaded = LoadedCompetition(path, safe=safe)
    with loaded.restored():
        parameters = tuned_values(loaded)
    if not parameters:
        raise RingmasterError(
            f"{path} has no tuned parameters: its competition_type is "
            f"{loaded.competition.type_name!r}"
        )
    return loaded, parameters


def tuned_values(loaded: LoadedCompetition) -> list[Tuned]:
    """Return all parameters of a restored competition's tune, [] without a tune.

    Raises ControlFileError when a transform fails.
    """
    tune = loaded.competition
    if not isinstance(tune, Tune) or not tune.has_closing_match:
        return []
    rows = {row["code"]: row for row in tune.summary().data().get("parameters", ())}
    parameters = []
    for index, p in enumerate(tune.declared):
        row = rows.get(p.code, {"value": p.start})
        if not row.get("exists", True):
            # no engine gets a value of it
            p = msgspec.structs.replace(p, not_used=True)
            row = {"value": p.start}
        # `estimate` where the result of the tune is not its current value
        exact = row.get("estimate", row.get("value"))
        theta = p.clip(exact if exact == p.start else _short(exact))
        value = p.clip(float(p.played_value(exact))) if p.integer else theta
        try:
            parameters.append(
                Tuned(
                    parameter=p,
                    value=value,
                    engine_value=_engine_value(p, index, value),
                    start_value=_engine_value(p, index, p.start),
                    low=_engine_value(p, index, p.minimum),
                    high=_engine_value(p, index, p.maximum),
                    theta=theta,
                )
            )
        except SettingError as error:
            raise loaded.control_file.error([error]) from error
    return parameters


def _engine_value(p: TunedParameter, index: int, value: float) -> Any:
    """Return the engines' value for a value of the parameter.  Raises SettingError."""
    engine_value = transformed(p, index, p.played_value(value))
    if p.transform is not None and isinstance(engine_value, float):
        return _short(engine_value)
    return engine_value


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def text_of(tuned: Tuned, value: Any) -> str:
    """Return the text that engines receive for a value."""
    if tuned.parameter.format is not None:
        # loading the control file has checked the format
        return str(tuned.parameter.format % (value,))
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, float) else str(value)


def parameter_list(tuned: Sequence[Tuned], loaded: LoadedCompetition) -> tuple[str, list[str]]:
    """Return the assignment as Python, and a note for each argument to restore by hand."""
    raw = loaded.control_file.namespace.get("parameters")
    calls = [c for c in raw if isinstance(c, Call)] if isinstance(raw, list | tuple) else []
    # a parameter file has no calls
    has_calls = len(calls) == len(tuned)
    parameters, notes = [], []
    for number, one in enumerate(tuned):
        if has_calls:
            call = calls[number]
            arguments = {**dict(zip(call.positional, call.args, strict=False)), **call.kwargs}
        else:
            all_arguments = one.parameter.canonical().items()
            arguments = {k: v for k, v in all_arguments if v is not None and v is not False}
        arguments.pop("code", None)
        # the value of a choice is its index
        arguments["start"] = one.engine_value if "choices" in arguments else one.value
        known = {}
        for name, value in arguments.items():
            try:
                known[name] = _as_source(value, loaded, ("parameters", number, name))
            except ValueError:
                notes.append(f"parameter {one.code!r}: restore {name} by hand")
        parameters.append(python_text.Call("Parameter", (one.code,), known))
    comments = "".join(f"# {printable(note)}\n" for note in notes)
    text = f"{comments}{python_text.assignment('parameters', parameters)}\n"
    return text, [f"control-file: {note}" for note in notes]


def _as_source(value: Any, loaded: LoadedCompetition, path: tuple[str | int, ...]) -> Any:
    """Return an argument as a value or as Code.  Raises ValueError for one without a source."""
    if isinstance(value, float) and math.isfinite(value):
        return plain(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_as_source(item, loaded, path) for item in value]
    if isinstance(value, dict):
        return {key: _as_source(item, loaded, path) for key, item in value.items()}
    for name, each in loaded.control_file.namespace.items():
        if each is value and name.isidentifier():
            return python_text.Code(name)
    span = loaded.control_file.setting_places.find(path).value
    text = loaded.control_file.origin.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    if span.line == span.end_line and text.startswith("lambda"):
        return python_text.Code(text)
    raise ValueError("there is no source")


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
    # with unused parameters, comments and values before rounding
    rows = format == "yaneuraou"
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
}
#: All formats.
FORMATS = (*_OWN, *FILE_FORMATS)
