"""Functions of a control file that make engine parameters: a call of one, the values it
is probed with before the first game, and its agreement with the values already played."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringmaster.errors import SettingError
from ringmaster.model.settings import SettingPath, canonical
from ringmaster.model.wording import shown

#: Players that make_candidate is probed for at most; it may be slow, or write files.
MOST_PLAYERS = 64
#: Of these, players with values from anywhere in the ranges.
_INSIDE = 24
#: Values that differ by less are rounding errors of one formula written in two ways.
_ROUNDING = 1e-12


def plain(value: Any) -> Any:
    """Return a number of numpy's as Python's own."""
    is_number = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return value.item() if is_number else value


def call(function: Callable[[Any], Any], argument: Any, path: SettingPath, code: str) -> Any:
    """Return the value of a parameter's scale or transform.

    path  the setting that the function is
    code  the parameter
    Raises SettingError; its cause is the function's own exception.
    """
    try:
        return plain(function(argument))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: the file has no say in that
        raise SettingError(
            path,
            f"parameter {code!r}: called with ({argument!r}), it raised "
            f"{type(error).__name__}: {error}",
        ) from error


def same_value(one: Any, other: Any) -> bool:
    """Return whether two values, as `canonical` makes them, are the same to an engine.

    1 and 1.0 differ, since they are written differently.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=_ROUNDING)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_value(one[k], other[k]) for k in one)
    return bool(one == other)


def contradiction(argument: float, played: Any, value: Callable[[float], Any]) -> str:
    """Return why a function does not fit a value that was played, "" if it fits.

    played  as `canonical` made it
    value   calls the function; raises SettingError
    """
    try:
        now = canonical(value(argument))
    except SettingError as error:
        return f"for {argument!r} it gave {shown(played)} in games already played; now {error}"
    if same_value(played, now):
        return ""
    before = f"for {argument!r} it gave {shown(played)} in games already played"
    return f"{before}, and gives {shown(now)} now"


def spread(size: int, most: int) -> list[int]:
    """Return at most `most` places of `size`, evenly spread, the first and last included."""
    if size <= most:
        return list(range(size))
    return [place * (size - 1) // (most - 1) for place in range(most)]


def combinations(middle: Sequence[Any], columns: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return points to probe make_candidate with, `MOST_PLAYERS` at most.

    middle   a usual value of each parameter
    columns  the values that each was probed with, in ascending order

    First all parameters at an end of their ranges, then points from within, then one
    parameter at an end and the others at their usual values.
    """
    points = [tuple(middle), tuple(c[0] for c in columns), tuple(c[-1] for c in columns)]
    for number in range(_INSIDE):
        # a Kronecker sequence: the golden ratio's multiples, shifted for each parameter
        shares = [
            ((number + 1) * 0.6180339887498949 + i * 0.7548776662466927) % 1
            for i in range(len(columns))
        ]
        points.append(
            tuple(c[int(share * len(c))] for c, share in zip(columns, shares, strict=True))
        )
    for i, column in enumerate(columns):
        for end in (column[0], column[-1]):
            points.append((*middle[:i], end, *middle[i + 1 :]))
    return list(dict.fromkeys(points))[:MOST_PLAYERS]


def fill(template: str, value: Any) -> str:
    """Return a value as a printf template shows it: a tuple or a mapping may fill several
    conversions.  Raises whatever the template or the value's own methods raise."""
    if isinstance(value, tuple | Mapping):
        try:
            return template % value
        except (TypeError, KeyError):  # one conversion for the whole value
            pass
    return template % (value,)
