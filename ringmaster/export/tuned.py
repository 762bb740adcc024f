"""The tuned values of an event, as `export-parameters` writes them: what it has tuned,
where it is now, and what its engines are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.errors import RingmasterError
from ringmaster.event import Event
from ringmaster.model.calls import Call
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.wording import shown
from ringmaster.parameter_files import Entry, PowerOfTwo, number_text
from ringmaster.storage.sqlite_store import SqliteStore

#: Digits of a tuned value that has any number of them; no tune knows more.
DIGITS = 6


@dataclass(frozen=True)
class Tuned:
    """One tuned parameter.

    value           what the tune gives, in the parameter's own units, rounded for reading
    given           what engines are given for it
    given_at_start  for the start value
    low, high       for the bounds
    theta           the value before it was rounded to a whole number, None: the same
    """

    parameter: TunedParameter
    value: float
    given: Any
    given_at_start: Any
    low: Any
    high: Any
    theta: float | None = None

    @property
    def code(self) -> str:
        """Its name in the control file."""
        return self.parameter.code

    @property
    def name(self) -> str:
        """Its name to the engine."""
        return self.parameter.option or self.parameter.code

    def entry(self, *, whole_row: bool = False) -> Entry | None:
        """Return it as a line of a parameter file, None if engines are given no number
        within bounds.

        whole_row  whether the value is not rounded, and what else its row has is there
        """
        p = self.parameter
        numbers = (self.given, self.low, self.high)
        if not all(is_number(number) for number in numbers):
            return None
        low, high = sorted((float(self.low), float(self.high)))
        start = float(self.given)
        if not low <= start <= high:
            return None  # its transform goes up and down
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
            )
        else:
            # gains are in other units than what engines are given
            doubled = isinstance(p.transform, PowerOfTwo)
            whole = all(isinstance(number, int) for number in numbers)
            entry = Entry(
                self.name, start, low, high, integer=whole, scale="log" if doubled else "linear"
            )
        if not whole_row:
            return entry
        return msgspec.structs.replace(entry, comment=p.comment or "", not_used=p.not_used)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def tuned_parameters(path: Path) -> tuple[Event, list[Tuned]]:
    """Return a control file's event, as far as it has been played, and the parameters
    of its tune, those not used included.  Raises RingmasterError when it tunes none."""
    event = Event(path)
    if event.paths.status.exists():
        store = SqliteStore.open_readonly(event.paths.status)
        try:
            event.restore(store)
        finally:
            store.close()
    rows = {row["code"]: row for row in event.competition.summary().get("parameters", ())}
    found = []
    for p in getattr(event.competition, "declared", ()):
        row = rows.get(p.code, {"value": p.start})
        # what is made of the tune, where that is not simply where it is
        found.append(_tuned(p, row.get("estimate", row.get("value"))))
    if not found:
        raise RingmasterError(
            f"{path} has no tuned parameters: its competition_type is "
            f"{event.competition.type_name!r}; expected 'spsa' or 'texel'"
        )
    return event, found


def _tuned(p: TunedParameter, exact: float) -> Tuned:
    theta = p.clip(exact if exact == p.start else _short(exact))
    value = p.clip(float(p.engine_value(exact))) if p.integer else theta
    return Tuned(
        parameter=p,
        value=value,
        given=_given(p, value),
        given_at_start=_given(p, p.start),
        low=_given(p, p.minimum),
        high=_given(p, p.maximum),
        theta=theta,
    )


def _given(p: TunedParameter, value: float) -> Any:
    """Return what engines are given for a value of the parameter."""
    played = p.engine_value(value)
    if p.transform is None:
        return played
    try:
        given = p.transform(played)
    except Exception as error:  # a function of the control file
        raise RingmasterError(
            f"parameter {p.code!r}: transform({played:g}) raised {type(error).__name__}: {error}"
        ) from error
    if isinstance(given, float) and math.isfinite(given):
        return _short(given)
    if not isinstance(given, str | bool | int):
        raise RingmasterError(f"parameter {p.code!r}: transform({played:g}) gave {shown(given)}")
    return given


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def text_of(tuned: Tuned, value: Any) -> str:
    """Return a value as engines are given it."""
    if tuned.parameter.format is not None:
        # it was tried when the control file was loaded
        return str(tuned.parameter.format % (value,))
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, float) else str(value)


def calls_of(event: Event, tuned: Sequence[Tuned]) -> list[Call] | None:
    """Return the calls of Parameter(…) as they stand in the control file, None where
    they are not to be had one by one."""
    raw = event.loaded.namespace.get("parameters")
    if not isinstance(raw, list | tuple) or not all(isinstance(c, Call) for c in raw):
        return None
    return list(raw) if len(raw) == len(tuned) else None
