"""The built-in functions of safe mode, each within `Limits`.

Control files get CPython's own functions as values; a call is looked up here.  A function
of the control file among the arguments is called by the evaluator, not by CPython.
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from ringmaster.control.safe_limits import ITERATORS, MODULES, MOST_BITS, Limits
from ringmaster.errors import SafeModeError


class Evaluator(Protocol):
    """The evaluator of a control file."""

    limits: Limits

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Return the result of a call."""


_Guard = Callable[..., Any]


def _plain(function: Any) -> _Guard:
    """Return the guard of a function that reads its arguments once."""

    def guard(run: Evaluator, *args: Any, **named: Any) -> Any:
        run.limits.read(args)
        return function(*args, **named)

    return guard


def _range(run: Evaluator, *args: Any) -> Any:
    return range(*args)


def _len(run: Evaluator, value: Any, /) -> Any:
    return len(value)


def _list(run: Evaluator, items: Any = (), /) -> Any:
    return run.limits.list_of(items)


def _tuple(run: Evaluator, items: Any = (), /) -> Any:
    return tuple(run.limits.list_of(items))


def _set(run: Evaluator, items: Any = (), /) -> Any:
    members = run.limits.list_of(items)
    run.limits.keys(members)
    return set(members)


def _dict(run: Evaluator, items: Any = (), /, **named: Any) -> Any:
    if isinstance(items, dict):
        run.limits.keys([*items])
        return dict(items, **named)
    return dict(run.limits.pairs(items), **named)


def _str(run: Evaluator, value: Any = "", /) -> Any:
    return run.limits.text(value)


def _repr(run: Evaluator, value: Any, /) -> Any:
    return run.limits.text(value, repr)


def _round(run: Evaluator, number: Any, ndigits: Any = None) -> Any:
    if isinstance(ndigits, int) and abs(ndigits) > MOST_BITS:
        raise SafeModeError(f"more than {MOST_BITS} digits in safe mode")
    return round(number, ndigits)


def _pow(run: Evaluator, base: Any, exp: Any) -> Any:
    return run.limits.operate(ast.Pow, base, exp)


def _sum(run: Evaluator, items: Any, /, start: Any = 0) -> Any:
    added = run.limits.list_of(items)
    if isinstance(start, str) or all(isinstance(item, int | float) for item in (start, *added)):
        return sum(added, start)
    for item in added:
        start = run.limits.operate(ast.Add, start, item)
    return start


def _any(run: Evaluator, items: Any, /) -> Any:
    return any(run.limits.lazy(items))


def _all(run: Evaluator, items: Any, /) -> Any:
    return all(run.limits.lazy(items))


def _next(run: Evaluator, iterator: Any, /, *default: Any) -> Any:
    if not isinstance(iterator, ITERATORS):
        raise TypeError(f"{type(iterator).__name__!r} object is not an iterator")
    run.limits.spend(1)
    return next(iterator, *default)


def _zip(run: Evaluator, *items: Any, strict: Any = False) -> Any:
    return zip(*map(run.limits.lazy, items), strict=bool(strict))


def _enumerate(run: Evaluator, iterable: Any, start: Any = 0) -> Any:
    return enumerate(run.limits.lazy(iterable), start)


def _reversed(run: Evaluator, items: Any, /) -> Any:
    if isinstance(items, (set, *ITERATORS)):
        raise TypeError(f"{type(items).__name__!r} object is not reversible")
    return reversed(run.limits.list_of(items))


def _map(run: Evaluator, function: Any, /, *items: Any) -> Any:
    return map(
        lambda *args: run.call(function, [*args], {}), *(run.limits.lazy(item) for item in items)
    )


def _filter(run: Evaluator, function: Any, items: Any, /) -> Any:
    accept = bool if function is None else lambda item: run.call(function, [item], {})
    return filter(accept, run.limits.lazy(items))


def _keys(run: Evaluator, items: list[Any], key: Any) -> list[Any]:
    """Return the keys by which items are ordered."""
    keys = items if key is None else [run.call(key, [item], {}) for item in items]
    for _ in range(len(keys).bit_length()):
        run.limits.read(keys)
    return keys


def _sorted(run: Evaluator, items: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    listed = run.limits.list_of(items)
    keys = _keys(run, listed, key)
    order = sorted(range(len(listed)), key=keys.__getitem__, reverse=bool(reverse))
    return [listed[i] for i in order]


def sort(run: Evaluator, items: list[Any], /, *, key: Any = None, reverse: Any = False) -> None:
    """Sort a list in place."""
    run.limits.change(items)
    items[:] = _sorted(run, items, key=key, reverse=reverse)


def _extreme(function: Any) -> _Guard:
    """Return the guard of `min` or `max`."""

    def guard(run: Evaluator, *args: Any, key: Any = None, **named: Any) -> Any:
        if len(args) != 1:
            items: Any = [*args]
        else:
            items = run.limits.list_of(args[0])
        if not items:
            return function([], **named)
        if len(args) > 1 and named:
            return function(*args, **named)  # TypeError
        keys = _keys(run, items, key)
        return items[function(range(len(items)), key=keys.__getitem__)]

    return guard


def _isinstance(run: Evaluator, value: Any, kinds: Any, /) -> Any:
    run.limits.read(kinds)
    return isinstance(value, kinds)


def _fsum(run: Evaluator, items: Any, /) -> Any:
    return math.fsum(run.limits.list_of(items))


_PLAIN: Final = (abs, bool, callable, chr, divmod, float, int, ord)
_GUARDS: Final[Mapping[Any, _Guard]] = {
    **{function: _plain(function) for function in _PLAIN},
    **{
        function: _plain(function)
        for module, names in MODULES.items()
        for name in names
        if isinstance(function := getattr(module, name), types.BuiltinFunctionType)
    },
    all: _all,
    any: _any,
    dict: _dict,
    enumerate: _enumerate,
    filter: _filter,
    isinstance: _isinstance,
    len: _len,
    list: _list,
    map: _map,
    math.fsum: _fsum,
    max: _extreme(max),
    min: _extreme(min),
    next: _next,
    pow: _pow,
    range: _range,
    repr: _repr,
    reversed: _reversed,
    round: _round,
    set: _set,
    sorted: _sorted,
    str: _str,
    sum: _sum,
    tuple: _tuple,
    zip: _zip,
}


def guard_of(function: Any) -> _Guard | None:
    """Return the function to call in place of a built-in one, None for others."""
    listed = isinstance(function, type | types.BuiltinFunctionType)
    return _GUARDS.get(function) if listed else None


#: The built-in functions by name.
BUILTINS: Final[Mapping[str, Any]] = {
    name: function for name, function in vars(builtins).items() if guard_of(function)
}
