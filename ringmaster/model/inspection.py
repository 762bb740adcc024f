"""What an object is and holds, found out without running any code of its class:
a control file may define what it likes, and attributes that raise, too."""

from __future__ import annotations

import array
import collections
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from ringmaster.model.function_source import is_installed, is_installed_module

#: Types that hold nothing but what can be seen by going through them.
CONTAINERS: Final = (
    *(list, tuple, dict, set, frozenset, collections.deque, array.array),
    *(collections.UserDict, collections.UserList, collections.UserString, collections.ChainMap),
    types.SimpleNamespace,
)
_PLAIN: Final = (object, int, float, complex, str, bytes, bytearray, msgspec.Struct, *CONTAINERS)
#: Modules whose classes add behaviour to those derived from them, and no state.
_STATELESS: Final = frozenset(
    {"abc", "collections", "collections.abc", "enum", "msgspec", "msgspec._core", "typing"}
)


def has_source(value: Any) -> bool:
    """Whether a function or class is of the control file or a file beside it."""
    if isinstance(value, type):
        return value.__module__ != "builtins" and not is_installed_module(value.__module__)
    return not (
        is_installed_module(value.__globals__.get("__name__"))
        or is_installed(value.__code__.co_filename)
    )


def is_own(cls: type) -> bool:
    """Whether a class is ringmaster's."""
    module = str(cls.__module__)
    return module.partition(".")[0] == "ringmaster" and is_installed_module(module)


def keeps_more(cls: type) -> bool:
    """Whether objects of a class keep what only an installed library knows."""
    return any(
        base not in _PLAIN and not has_source(base) and base.__module__ not in _STATELESS
        for base in cls.__mro__
    )


def state_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object itself, by name."""
    found: dict[str, Any] = {}
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, types.MemberDescriptorType) and name != "__dict__":
                try:
                    found.setdefault(name, member.__get__(value, cls))
                except AttributeError:  # not set
                    continue
    try:
        found |= object.__getattribute__(value, "__dict__")
    except AttributeError:
        pass
    return {name: found[name] for name in sorted(found)}


def is_a(value: Any, *classes: type) -> bool:
    """Whether an object is of one of these classes; isinstance would ask it."""
    return issubclass(type(value), classes)


def items_of(value: Any) -> Iterable[Any] | None:
    """Return the items of a list, tuple, set, deque or array of any class; None
    for anything else."""
    for base in (list, tuple, set, frozenset, collections.deque, array.array):
        if is_a(value, base):
            through: Any = base.__iter__
            items: Iterable[Any] = through(value)
            return items
    return None


def pairs_of(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Return the keys and values of a dictionary of any class, in its order;
    None for anything else."""
    if is_a(value, collections.OrderedDict):
        return collections.OrderedDict.items(value)
    return dict.items(value) if is_a(value, dict) else None


def scalar_of(value: Any) -> int | float | str | None:
    """Return the string or number that an object is, whatever its class."""
    if is_a(value, str):
        return str.__str__(value)
    if is_a(value, int):
        return int.__int__(value)
    return float.__float__(value) if is_a(value, float) else None


def public_name(value: Any) -> str:
    """Return the name of an installed function or class, module included, by
    which it can be imported: releases differ in where they keep it."""
    module = getattr(value, "__module__", None)
    own = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    name = str(own or type(value).__qualname__)
    if not isinstance(module, str) or module == "builtins":
        return name
    for known in _public_modules(module):
        found: Any = sys.modules.get(known)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is value:
            return f"{known}.{name}"
    return f"{module}.{name}"


def _public_modules(module: str) -> Iterator[str]:
    """Yield names under which a module may be published, the shortest first."""
    parts = module.split(".")
    for used in range(1, len(parts)):
        yield ".".join(parts[:used])
    yield module.lstrip("_")


def name_in_module(value: Any) -> str | None:
    """Return the name of an object that an installed module has made, such as
    `os.environ` or `random.choice`; None if there is none."""
    owner = getattr(value, "__self__", None) if callable(value) else None
    module = str(type(value if owner is None else owner).__module__)
    if module == "builtins" or not is_installed_module(module):
        return None
    names = vars(sys.modules[module])
    if owner is not None:
        name = value.__name__
        return f"{module}.{name}" if names.get(name) == value else None
    found = next((name for name, item in names.items() if item is value), None)
    return None if found is None else f"{module}.{found}"
