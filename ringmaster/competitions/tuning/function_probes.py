"""Try functions of the control file: transform, scale and make_candidate."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from ringmaster.competitions.competition import PlayedValue
from ringmaster.errors import SettingError, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.settings import SettingPath

#: Most players built by probes of make_candidate, which may be slow or write files.
MOST_PLAYERS = 64
#: Number of these with values inside the ranges.
_INSIDE = 24
#: Relative rounding error of one formula written in two ways.
_ROUNDING = 1e-12


def same_value(one: Any, other: Any) -> bool:
    """Return whether two canonical values are the same to an engine.

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


def contradictions(
    played: Iterable[PlayedValue], *, failures: bool = True
) -> dict[SettingPath, str]:
    """Return, by setting, how its function contradicts the first value that differs.

    failures  whether a function that fails contradicts
    """
    reasons: dict[SettingPath, str] = {}
    compared: set[tuple[SettingPath, Hashable]] = set()
    for one in played:
        if one.path in reasons or (one.path, one.argument) in compared:
            continue
        compared.add((one.path, one.argument))
        before = one.value
        try:
            now = canonical(one.call())
        except SettingError as error:
            if not failures:
                continue
            gave = f"for {shown(one.argument)} it gave {shown(before)} in results so far"
            reasons[one.path] = f"{gave}; now {error}"
            continue
        if same_value(before, now):
            continue
        if isinstance(before, dict) and isinstance(now, dict):
            keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
            before, now = ({k: v[k] for k in keys if k in v} for v in (before, now))
        reasons[one.path] = (
            f"for {shown(one.argument)} it gave {shown(before)} in results so far, "
            f"and gives {shown(now)} now"
        )
    return reasons


class FailedValue(str):
    """Stands in reports for an engine value whose function fails; a reason in brackets."""


def spread(size: int, most: int) -> list[int]:
    """Return at most `most` evenly spread indices of `size`, including the first and last."""
    if size <= most:
        return list(range(size))
    return [place * (size - 1) // (most - 1) for place in range(most)]


def combinations(middle: Sequence[Any], columns: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return points to probe make_candidate with, `MOST_PLAYERS` at most.

    middle   a typical value of each parameter
    columns  the probed values of each, ascending

    The first points have all parameters at an end of their ranges, the next ones values
    inside.  Others have one parameter at an end and typical values elsewhere.
    """
    points = [tuple(middle), tuple(c[0] for c in columns), tuple(c[-1] for c in columns)]
    for number in range(_INSIDE):
        # a Kronecker sequence of the golden ratio, shifted for each parameter
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
    """Return a value in a printf template; a tuple or mapping may fill several conversions.

    Raises any exception of the template or the value's methods.
    """
    if isinstance(value, tuple | Mapping):
        try:
            return template % value
        except (TypeError, KeyError):  # one conversion for the whole value
            pass
    return template % (value,)
