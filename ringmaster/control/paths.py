"""Setting paths against the values of a control file: what a path leads to, and
how it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ringmaster.model.settings import (
    Call,
    SettingPath,
)
from ringmaster.model.wording import shown

#: What a path leads to when it leads nowhere.
UNKNOWN: Final = object()

#: For each kind of call, the names of its positional arguments.
Positional = Mapping[str, Sequence[str]]


def key_of(key: Any) -> str | int:
    """Return a dictionary key as setting paths have it."""
    return key if isinstance(key, str | int) else shown(key)


def argument_index(kind: str, key: str | int, positional: Positional) -> int:
    """Return which positional argument `key` means, -1 for none."""
    if isinstance(key, int):
        return key
    names = positional.get(kind, ())
    return names.index(key) if key in names else -1


def part(value: Any, key: str | int, positional: Positional) -> Any:
    """Return the part of a raw value that a path's next key means, or UNKNOWN."""
    if isinstance(value, Call):
        if key in value.kwargs:
            return value.kwargs[str(key)]
        value, key = value.args, argument_index(value.kind, key, positional)
    elif isinstance(value, Mapping):
        return next((item for k, item in value.items() if key_of(k) == key), UNKNOWN)
    if isinstance(value, list | tuple) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    if isinstance(value, list | tuple):  # pairs of keys and values
        pairs = (pair for pair in value if isinstance(pair, list | tuple) and len(pair) == 2)
        return next((item for name, item in reversed([*pairs]) if name == key), UNKNOWN)
    return UNKNOWN


def path_text(path: SettingPath, namespace: Mapping[str, Any], positional: Positional) -> str:
    """Return a path as Python would reach it: an argument of a call as an
    attribute, the rest as indexes (`players['sf'].options`)."""
    if not path:
        return ""
    text = str(path[0])
    value = namespace.get(text, UNKNOWN)
    for key in path[1:]:
        items = isinstance(value, Mapping | list | tuple)
        indexed = isinstance(key, int) or items or not key.isidentifier()
        text += f"[{key!r}]" if indexed else f".{key}"
        value = part(value, key, positional)
    return text
