"""The tuned values of a competition for `export-parameters`, and the control file's own
`parameters = [...]` with the tuned values as start values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.control.source import printable
from ringmaster.errors import RingmasterError, shown
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.settings import Call
from ringmaster.parameter_files import Entry, PowerOfTwo, number_text, plain
from ringmaster.storage.store import Store

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
            return entry
        return msgspec.structs.replace(entry, comment=p.comment or "", not_used=p.not_used)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def tuned_parameters(path: Path, *, safe: bool = False) -> tuple[LoadedCompetition, list[Tuned]]:
    """Return the restored competition of a control file, with all parameters of its tune.

    Raises RingmasterError for a competition without parameters.
    """
    loaded = LoadedCompetition(path, safe=safe)
    if loaded.paths.has_results:
        store = Store.open_readonly(loaded.paths.status)
        try:
            loaded.restore(store, loaded.compare(store))
        finally:
            store.close()
    parameters = tuned_values(loaded)
    if not parameters:
        raise RingmasterError(
            f"{path} has no tuned parameters: its competition_type is "
            f"{loaded.competition.type_name!r}"
        )
    return loaded, parameters


def tuned_values(loaded: LoadedCompetition) -> list[Tuned]:
    """Return all parameters of a restored competition's tune, [] without a tune."""
    rows = {row["code"]: row for row in loaded.competition.summary().data().get("parameters", ())}
    parameters = []
    if not getattr(loaded.competition, "has_closing_match", False):
        return []
    for p in getattr(loaded.competition, "declared", ()):
        row = rows.get(p.code, {"value": p.start})
        if not row.get("exists", True):
            # no engine gets a value of it
            p = msgspec.structs.replace(p, not_used=True)
            row = {"value": p.start}
        # `estimate` where the result of the tune is not its current value
        parameters.append(_tuned(p, row.get("estimate", row.get("value"))))
    return parameters


def _tuned(p: TunedParameter, exact: float) -> Tuned:
    theta = p.clip(exact if exact == p.start else _short(exact))
    value = p.clip(float(p.played_value(exact))) if p.integer else theta
    return Tuned(
        parameter=p,
        value=value,
        engine_value=_engine_value(p, value),
        start_value=_engine_value(p, p.start),
        low=_engine_value(p, p.minimum),
        high=_engine_value(p, p.maximum),
        theta=theta,
    )


def _engine_value(p: TunedParameter, value: float) -> Any:
    """Return the engines' value for a value of the parameter."""
    played = p.played_value(value)
    if p.transform is None:
        return played
    try:
        transformed = p.transform(played)
    except Exception as error:  # a function of the control file
        raise RingmasterError(
            f"parameter {p.code!r}: transform({played:g}) raised {type(error).__name__}: {error}"
        ) from error
    if isinstance(transformed, float) and math.isfinite(transformed):
        return _short(transformed)
    if not isinstance(transformed, str | bool | int):
        raise RingmasterError(
            f"parameter {p.code!r}: transform({played:g}) gave {shown(transformed)}"
        )
    return transformed


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


#: Columns of a line; a longer call is broken into a line an argument.
WIDTH = 96


def parameter_list(tuned: Sequence[Tuned], loaded: LoadedCompetition) -> tuple[str, list[str]]:
    """Return the assignment as Python, and a note for each argument to restore by hand."""
    raw = loaded.control_file.namespace.get("parameters")
    calls = [c for c in raw if isinstance(c, Call)] if isinstance(raw, list | tuple) else []
    # a parameter file has no calls
    has_calls = len(calls) == len(tuned)
    lines, notes = ["parameters = ["], []
    for number, one in enumerate(tuned):
        arguments = _call_arguments(calls[number]) if has_calls else _parameter_arguments(one)
        # the value of a choice is its index
        is_choice = "choices" in arguments
        arguments["start"] = one.engine_value if is_choice else plain(one.value)
        parts, missing = [], []
        for name, value in arguments.items():
            text = _argument_source(value, loaded, ("parameters", number, name))
            if text is None:
                missing.append(name)
            else:
                parts.append(f"{name}={text}")
        head = f"    Parameter({_string_literal(one.code)}, "
        flat = head + ", ".join(parts) + "),"
        if len(flat) > WIDTH:
            inner = "".join(f"        {part},\n" for part in [_string_literal(one.code), *parts])
            flat = f"    Parameter(\n{inner}    ),"
        lines.append(flat)
        for name in missing:
            lines.append(f"    # {printable(one.code)}: restore {name} by hand")
            notes.append(f"control-file: parameter {one.code!r}: restore {name} by hand")
    return "\n".join([*lines, "]\n"]), notes


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


def _argument_source(
    value: Any, loaded: LoadedCompetition, path: tuple[str | int, ...]
) -> str | None:
    """Return Python with the meaning of an argument, None if there is none."""
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float):
        return repr(plain(value)) if math.isfinite(value) else None
    if isinstance(value, str):
        return _string_literal(value)
    if isinstance(value, list | tuple):
        items = [_argument_source(item, loaded, path) for item in value]
        return None if None in items else f"[{', '.join(map(str, items))}]"
    if isinstance(value, dict):
        items = [_argument_source(item, loaded, path) for item in value.values()]
        pairs = zip(map(_string_literal, value), items, strict=True)
        return None if None in items else f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
    if isinstance(value, PowerOfTwo):
        if value.whole:
            return "lambda x: round(2**x)"
        low, high = number_text(value.low), number_text(value.high)
        return f"lambda x: min(max(2**x, {low}), {high})"
    names = [n for n, v in loaded.control_file.namespace.items() if v is value and n.isidentifier()]
    return names[0] if names else _as_written(loaded, path)


def _as_written(loaded: LoadedCompetition, path: tuple[str | int, ...]) -> str | None:
    """Return the source of a lambda on one line of the control file, else None."""
    span = loaded.control_file.setting_places.find(path).value
    if span.line != span.end_line:
        return None
    text = loaded.control_file.origin.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    return text if text.startswith("lambda") else None


def _string_literal(value: str) -> str:
    quoted = repr(value)
    return quoted if "'" in value or '"' in value else f'"{quoted[1:-1]}"'
