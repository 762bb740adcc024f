"""What can be learnt from a settings table without a control file: the types
in it, and the kinds of call that it understands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ringmaster.model.settings import CallOf, Setting, SettingType


def types_in(table: Sequence[Setting]) -> Iterator[SettingType]:
    """Yield every type in a table, outer ones before those inside them, each
    object once.

    A type's inner types are whatever SettingTypes and Settings its attributes
    hold, directly or in lists, tuples and dictionaries; so a new kind of type
    needs no registration.
    """
    seen: set[int] = set()
    yield from _walk(table, seen)


def _walk(value: object, seen: set[int]) -> Iterator[SettingType]:
    if isinstance(value, Setting):
        yield from _walk(value.type, seen)
    elif isinstance(value, SettingType):
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            for inner in _attributes(value):
                yield from _walk(inner, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _walk(item, seen)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _walk(item, seen)


def _attributes(value: SettingType) -> Iterator[object]:
    yield from getattr(value, "__dict__", {}).values()
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                yield getattr(value, name, None)


def calls_in(table: Sequence[Setting]) -> dict[str, CallOf]:
    """Return the first CallOf of each kind, by kind, in the order of the table."""
    calls: dict[str, CallOf] = {}
    for type_ in types_in(table):
        if isinstance(type_, CallOf):
            calls.setdefault(type_.kind, type_)
    return calls
