"""The tuned values of a competition for `export-parameters`, and the control file's own
`parameters = [...]` with the tuned values as start values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.competitions.tuning.parameter_binding import transformed
from ringmaster.control import python_text
from ringmaster.control.source import printable
from ringmaster.errors import RingmasterError, SettingError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.settings import Call
from ringmaster.parameter_files import Entry, PowerOfTwo, number_text, plain

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
                self.name,
                start,
                low,
                high,
                c_end=p.c_end,
                r_end=p.r_end,
                step=p.step,
                integer=p.integer,
                scale=p.scale,
            )
        else:
            # the gains are not in the engines' units
            doubled = isinstance(p.transform, PowerOfTwo)
            whole = all(isinstance(number, int) for number in numbers)
            entry = Entry(
                self.name, start, low, high, integer=whole, scale="log" if doubled else "linear"
            )
        if not whole_row:
            return msgspec.structs.replace(entry, frozen=p.frozen)
        return msgspec.structs.replace(entry, comment=p.comment or "", not_used=p.not_used)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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
    if not getattr(loaded.competition, "has_closing_match", False):
        return []
    rows = {row["code"]: row for row in loaded.competition.summary().data().get("parameters", ())}
    parameters = []
    for index, p in enumerate(getattr(loaded.competition, "declared", ())):
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
        arguments = _call_arguments(calls[number]) if has_calls else _parameter_arguments(one)
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


def _call_arguments(call: Call) -> dict[str, Any]:
    """Return the arguments of a call by name, except the code."""
    named = dict(zip(call.positional, call.args, strict=False))
    return {name: value for name, value in {**named, **call.kwargs}.items() if name != "code"}


def _parameter_arguments(one: Tuned) -> dict[str, Any]:
    """Return the arguments of a parameter that have a value."""
    known = one.parameter.canonical()
    return {
        name: value
        for name, value in known.items()
        if name != "code" and value is not None and value is not False
    }


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
    if isinstance(value, PowerOfTwo):
        return python_text.Code(value.source)
    for name, each in loaded.control_file.namespace.items():
        if each is value and name.isidentifier():
            return python_text.Code(name)
    span = loaded.control_file.setting_places.find(path).value
    text = loaded.control_file.origin.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    if span.line == span.end_line and text.startswith("lambda"):
        return python_text.Code(text)
    raise ValueError("there is no source")
