"""Operations, methods and built-in functions of safe mode, each within bounds.

The values are those of CPython, and so are the operations; the sizes of their results are
computed first.  Control files get CPython's own functions as values, and a call is looked
up here.  A function of the control file among the arguments is called by the evaluator.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import re
import string
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ringmaster.errors import SafeModeError
from ringmaster.model.settings import Call

#: Steps of the evaluation of a file.
MOST_STEPS: Final = 200_000
#: Steps of each later call of one of its functions.
MOST_CALL_STEPS: Final = 50_000
MOST_TEXT: Final = 100_000
MOST_BITS: Final = 4096
MOST_WIDTH: Final = 1000
#: Levels of lists in lists.
DEEPEST: Final = 40

VIEWS: Final[tuple[type[Any], ...]] = (type({}.keys()), type({}.values()), type({}.items()))
ITEMS: Final[tuple[type[Any], ...]] = (list, tuple, set, *VIEWS)
_SIZED: Final[tuple[type[Any], ...]] = (dict, str, range, *ITEMS)
ITERATORS: Final[tuple[type[Any], ...]] = (
    *(types.GeneratorType, map, filter, zip, enumerate, type(iter([])), type(reversed([]))),
)
_SUBSCRIPTED: Final = (list, tuple, str, dict, range)

OPERATORS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    **{ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod},
    **{ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift},
    **{ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor},
    **{ast.MatMult: operator.matmul, ast.Is: operator.is_, ast.IsNot: operator.is_not},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt},
    **{ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge},
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WIDTHS: Final = frozenset({"center", "ljust", "rjust", "zfill"})
_METHODS: Final[Mapping[type, frozenset[str]]] = {
    str: _WIDTHS
    | _names(
        "capitalize casefold count endswith find format index isalnum isalpha "
        "isascii isdecimal isdigit isidentifier islower isnumeric isspace istitle "
        "isupper join lower lstrip partition removeprefix removesuffix replace rfind "
        "rindex rpartition rsplit rstrip split splitlines startswith strip swapcase "
        "title upper"
    ),
    list: _names("append clear copy count extend index insert pop remove reverse sort"),
    tuple: frozenset({"count", "index"}),
    dict: _names("clear copy get items keys pop popitem setdefault update values"),
    set: _names(
        "add clear copy difference discard intersection isdisjoint issubset "
        "issuperset remove symmetric_difference union update"
    ),
}
_CHANGES: Final = _names(
    "add append clear discard extend insert pop popitem remove reverse setdefault sort update"
)
#: Methods of sets that read others.
_OF_SETS: Final = _names(
    "difference intersection isdisjoint issubset issuperset symmetric_difference union update"
)
_KEYED: Final = _names("add discard get pop remove setdefault")

MODULES: Final[Mapping[types.ModuleType, frozenset[str]]] = {
    math: _names(
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees "
        "e erf erfc exp exp2 expm1 fabs floor fmod frexp fsum gamma gcd hypot inf "
        "isclose isfinite isinf isnan isqrt ldexp lgamma log log10 log1p log2 modf "
        "nan pi pow radians remainder sin sinh sqrt tan tanh tau trunc"
    ),
    sys: frozenset({"executable"}),
}

_CONVERSION: Final = re.compile(
    r"%(?:\([^()]*\))?[-#0 +]*(\*|\d*)(?:\.(\*|\d*))?([a-zA-Z%]?)", re.ASCII
)


class Limits:
    """Counts the steps and the memory of an evaluation.

    call    calls a function of the control file with a list and a dictionary of arguments
    steps   that are allowed
    frozen  ids of containers that cannot be changed
    """

    def __init__(self, call: Callable[..., Any], steps: int, frozen: Mapping[int, Any]) -> None:
        self.call = call
        self._steps = self._left = steps
        self._frozen = frozen

    def spend(self, steps: int) -> None:
        """Count steps.  Raises SafeModeError."""
        self._left -= steps
        if self._left < 0:
            raise SafeModeError(f"more than {self._steps} steps of evaluation in safe mode")

    def create(self, items: int) -> None:
        """Count items of a list that will be created.  Raises SafeModeError."""
        self.spend(1 + items // 4)

    def write(self, characters: int) -> None:
        """Count at most so many characters of a text that will be created."""
        self.create(1 + characters // 16)

    def measure(self, value: Any, level: int = 0) -> int:
        """Return a bound of the length of a value's text, and count the steps to read it."""
        kind: type[Any] = type(value)
        if kind is str:
            return 2 + len(value) * (4 if value.isascii() else 10)
        if kind is int:
            return 2 + int(value.bit_length()) // 3
        if kind is range:
            return 3 * MOST_BITS
        if kind is Call:
            size = len(value.kind) + self.measure(value.args, level)
            return size + self.measure(value.kwargs, level)
        if kind not in (dict, *ITEMS):
            return 200
        if level > DEEPEST:
            raise SafeModeError("lists are nested too deeply for safe mode")
        self.spend(3 + len(value) // 2)
        below = level + 1
        if kind in (set, dict) and any(type(key) is tuple for key in value):
            self.spend(len(value) * (1 + len(value) // 50))
        if kind is dict:
            return 2 + sum(
                4 + self.measure(key, below) + self.measure(item, below)
                for key, item in value.items()
            )
        return 20 + sum([2 + self.measure(item, below) for item in value])

    def read(self, value: Any) -> None:
        """Count the steps of an operation that reads all of a value."""
        self.spend(1 + self.measure(value) // 16)

    def key(self, key: Any, size: int) -> None:
        """Count the search of a key in a dictionary of some size.

        Hashes of texts are random; those of tuples may be chosen to be equal.
        """
        if isinstance(key, slice):  # Python 3.12 accepts it
            raise TypeError("unhashable type: 'slice'")
        if isinstance(key, str | float) or key is None:
            return
        if not isinstance(key, int) or abs(key) >= sys.hash_info.modulus:
            self.read(key)
            self.spend(1 + size // 50)

    def keys(self, keys: Sequence[Any]) -> None:
        """Count the creation of a set or dictionary of some keys."""
        self.create(2 * len(keys))
        for key in keys:
            self.key(key, len(keys))

    def change(self, value: Any) -> None:
        """Raise SafeModeError if a list or dictionary cannot be changed any more."""
        if id(value) in self._frozen:
            raise SafeModeError(
                "in safe mode a function cannot change a list or dictionary of the file"
            )

    def checked(self, value: Any) -> Any:
        """Return a new value.  Raises SafeModeError if it is too large."""
        if type(value) is int and value.bit_length() > MOST_BITS:
            raise SafeModeError(f"an integer of more than {MOST_BITS} bits in safe mode")
        if type(value) is str:
            if len(value) > MOST_TEXT:
                raise SafeModeError(f"a text of more than {MOST_TEXT} characters in safe mode")
            self.write(len(value))
        if isinstance(value, complex):
            raise SafeModeError("complex numbers are not allowed in safe mode")
        return value

    # iteration

    def lazy(self, value: Any) -> Iterator[Any]:
        """Yield the items of a value; each is a step."""
        # iterators over iterators would nest without a limit
        return self._stepwise(self.list_of(value) if isinstance(value, ITERATORS) else iter(value))

    def _stepwise(self, items: Any) -> Iterator[Any]:
        for item in items:
            self.spend(1)
            yield item

    def list_of(self, value: Any) -> list[Any]:
        if isinstance(value, _SIZED):
            bits = (abs(value.start) + abs(value.stop)).bit_length() if type(value) is range else 0
            self.create(len(value) * (1 + bits // 256))
            return list(value)
        items = []
        for item in iter(value):
            self.create(1)
            items.append(item)
        return items

    def set_of(self, value: Any) -> set[Any]:
        items = self.list_of(value)
        self.keys(items)
        return set(items)

    # operators

    def operate(self, kind: type, left: Any, right: Any) -> Any:
        """Return the result of a binary operator."""
        if isinstance(left, int) and isinstance(right, int):
            bits = 0
            if kind is ast.Pow and right > 0:
                bits = (left.bit_length() - 1) * right
            elif kind is ast.LShift and left:
                bits = left.bit_length() + right
            if bits > MOST_BITS:
                raise SafeModeError(f"an integer of more than {MOST_BITS} bits in safe mode")
        elif isinstance(left, str) and kind is ast.Mod:
            return self.percent(left, right)
        elif kind is ast.Mult:
            for text, count in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and isinstance(count, int):
                    size = len(text) * max(count, 0)
                    self.write(size) if isinstance(text, str) else self.create(size)
        elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
            self.create(len(left) + len(right))
        elif isinstance(left, (set, dict, *VIEWS)):
            self.keys([*self.list_of(left), *self.list_of(right)])
        return self.checked(OPERATORS[kind](left, right))

    def compare(self, kind: type, left: Any, right: Any) -> Any:
        """Return the result of a comparison."""
        if kind in (ast.In, ast.NotIn):
            return self.contains(right, left) is (kind is ast.In)
        self.read((left, right))
        return OPERATORS[kind](left, right)

    def contains(self, container: Any, item: Any) -> bool:
        if isinstance(container, set | dict):
            self.key(item, len(container))
        elif isinstance(container, range):
            if not isinstance(item, int):
                self.spend(len(container))
        elif isinstance(container, ITERATORS):
            container = self.list_of(container)
        self.read(item)
        if not isinstance(container, dict | set):
            self.read(container)
        return item in container

    def item(self, value: Any, index: Any) -> Any:
        if not isinstance(value, _SUBSCRIPTED):
            raise TypeError(f"{type(value).__name__!r} object is not subscriptable")
        if isinstance(value, dict):
            self.key(index, len(value))
        elif isinstance(index, slice):
            self.create(len(range(*index.indices(len(value)))))
        return value[index]

    def set_item(self, value: Any, index: Any, item: Any) -> None:
        """Set the item or the slice of a list or dictionary."""
        if not isinstance(value, list | dict):
            raise TypeError(f"{type(value).__name__!r} object does not support item assignment")
        self.change(value)
        self.create(2)
        if isinstance(value, dict):
            self.key(index, len(value))
        elif isinstance(index, slice):
            self.spend(1 + len(value) // 64)
            item = self.list_of(item)
        value[index] = item

    # texts

    def text(self, value: Any, convert: Callable[[Any], str] = str) -> str:
        """Return the text of a value by `str`, `repr` or `ascii`."""
        if isinstance(value, str) and convert is str:
            return value
        self.write(self.measure(value) * (3 if convert is ascii else 1))
        text: str = self.checked(convert(value))
        return text

    def format(self, value: Any, layout: str, conversion: str = "") -> str:
        """Return a field of an f-string, or of `format`."""
        if conversion:
            value = self.text(value, {"r": repr, "a": ascii}.get(conversion, str))
        if not layout:
            return self.text(value)
        if any(len(n) > 4 or int(n) > MOST_WIDTH for n in re.findall(r"\d+", layout)):
            raise SafeModeError(f"a width of more than {MOST_WIDTH} in safe mode")
        self.write(self.measure(value) + 2 * MOST_WIDTH)
        return format(value, layout)

    def percent(self, text: str, values: Any) -> str:
        """Return text % values."""
        length, size = len(text), self.measure(values) + 400
        for match in _CONVERSION.finditer(text):
            widths = [width for width in match.groups()[:2] if width]
            if not match[3] or "*" in widths:
                raise SafeModeError(f"the format {match[0]!r} is not understood in safe mode")
            if any(len(width) > 4 or int(width) > MOST_WIDTH for width in widths):
                raise SafeModeError(f"a width of more than {MOST_WIDTH} in safe mode")
            length += size + sum(map(int, widths))
        self.write(length)
        result: str = text % values
        return result

    def _format_method(self, text: str, args: Sequence[Any], named: Mapping[str, Any]) -> str:
        """Return text.format(…) for fields without attributes and indexes."""
        result, number = "", 0
        for literal, field, layout, conversion in string.Formatter().parse(text):
            result += literal
            if field is None:
                continue
            if not re.fullmatch(r"\w*", field) or "{" in (layout or ""):
                raise SafeModeError(f"the field {field!r} is not allowed in safe mode")
            if not field or field.isdecimal():
                value = args[int(field or number)]
                number += 1
            else:
                value = named[field]
            result += self.checked(self.format(value, layout or "", conversion or ""))
        return result

    # methods

    def method(self, value: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
        kind = type(value)
        if name not in _METHODS.get(kind, ()):
            raise SafeModeError(f".{name} is not allowed in safe mode")
        if name in _CHANGES and kind is not str:
            self.change(value)
        self.spend(1)
        if kind is str:
            return self._of_text(value, name, args, named)
        if name == "sort":
            value[:] = _sorted(self, value, *args, **named)
            return None
        if name in ("extend", "update") or (kind is set and name in _OF_SETS):
            args = [self.pairs(arg) if kind is dict else self.list_of(arg) for arg in args]
        if kind is set and name in _OF_SETS:
            self.keys([*value, *(item for arg in args for item in arg)])
        elif name in ("count", "index", "copy") or (kind is list and name == "remove"):
            self.read(value)
            self.read(args)
        if name == "copy":
            self.create(len(value))
        elif kind is list and name != "append":
            # an item may move all the others
            self.spend(1 + len(value) // 64)
        if kind in (dict, set) and name in _KEYED and args:
            self.key(args[0], len(value))
        self.create(1)
        return self.checked(getattr(value, name)(*args, **named))

    def _of_text(self, value: str, name: str, args: list[Any], named: dict[str, Any]) -> Any:
        if name == "format":
            return self._format_method(value, args, named)
        if name == "join" and len(args) == 1:
            args = [self.list_of(args[0])]
            self.write(sum(len(t) + len(value) for t in args[0] if isinstance(t, str)))
        elif name == "replace" and len(args) >= 2 and all(isinstance(a, str) for a in args[:2]):
            self.write(len(value) + value.count(args[0]) * len(args[1]))
        elif name in _WIDTHS and isinstance(args[0] if args else None, int):
            self.write(max(len(value), args[0]))
        self.create(1 + len(value) // 4)
        # `strip` searches each character in its argument
        self.spend(len(value) * sum(len(a) for a in args if isinstance(a, str)) // 4096)
        self.read(args)
        return self.checked(getattr(value, name)(*args, **named))

    def pairs(self, value: Any) -> Any:
        """Return the pairs, or the dictionary, of which a dictionary is made."""
        if isinstance(value, dict):
            self.keys([*value])
            return value
        pairs = [self.list_of(pair) for pair in self.list_of(value)]
        self.keys([pair[0] for pair in pairs if pair])
        return pairs


# built-in functions


def _plain(function: Any) -> Callable[..., Any]:
    """Return the guard of a function that reads its arguments once."""

    def guard(limits: Limits, *args: Any, **named: Any) -> Any:
        limits.read(args)
        return function(*args, **named)

    return guard


def _round(limits: Limits, number: Any, ndigits: Any = None) -> Any:
    if isinstance(ndigits, int) and abs(ndigits) > MOST_BITS:
        raise SafeModeError(f"more than {MOST_BITS} digits in safe mode")
    return round(number, ndigits)


def _sum(limits: Limits, items: Any, /, start: Any = 0) -> Any:
    added = limits.list_of(items)
    if isinstance(start, str) or all(isinstance(item, int | float) for item in (start, *added)):
        return sum(added, start)
    for item in added:
        start = limits.operate(ast.Add, start, item)
    return start


def _reversed(limits: Limits, items: Any, /) -> Any:
    if isinstance(items, (set, *ITERATORS)):
        raise TypeError(f"{type(items).__name__!r} object is not reversible")
    return reversed(limits.list_of(items))


def _map(limits: Limits, function: Any, /, *items: Any) -> Any:
    return map(lambda *args: limits.call(function, [*args], {}), *map(limits.lazy, items))


def _filter(limits: Limits, function: Any, items: Any, /) -> Any:
    accept = bool if function is None else lambda item: limits.call(function, [item], {})
    return filter(accept, limits.lazy(items))


def _keys(limits: Limits, items: list[Any], key: Any) -> list[Any]:
    """Return the keys by which items are ordered."""
    keys = items if key is None else [limits.call(key, [item], {}) for item in items]
    for _ in range(len(keys).bit_length()):
        limits.read(keys)
    return keys


def _sorted(limits: Limits, items: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    listed = limits.list_of(items)
    keys = _keys(limits, listed, key)
    order = sorted(range(len(listed)), key=keys.__getitem__, reverse=bool(reverse))
    return [listed[i] for i in order]


def _extreme(function: Any) -> Callable[..., Any]:
    """Return the guard of `min` or `max`."""

    def guard(limits: Limits, *args: Any, key: Any = None, **named: Any) -> Any:
        items = limits.list_of(args[0]) if len(args) == 1 else [*args]
        if not items:
            return function([], **named)
        if len(args) > 1 and named:
            return function(*args, **named)  # TypeError
        keys = _keys(limits, items, key)
        return items[function(range(len(items)), key=keys.__getitem__)]

    return guard


_PLAIN: Final = (
    *(abs, bool, callable, chr, divmod, float, int, isinstance, ord),
    *filter(callable, [getattr(math, name) for name in MODULES[math]]),
)
_GUARDS: Final[Mapping[Any, Callable[..., Any]]] = {
    **{function: _plain(function) for function in _PLAIN},
    all: lambda limits, items, /: all(limits.lazy(items)),
    any: lambda limits, items, /: any(limits.lazy(items)),
    dict: lambda limits, items=(), /, **named: dict(limits.pairs(items), **named),
    enumerate: lambda limits, iterable, start=0: enumerate(limits.lazy(iterable), start),
    filter: _filter,
    len: lambda limits, value, /: len(value),
    list: lambda limits, items=(), /: limits.list_of(items),
    map: _map,
    math.fsum: lambda limits, items, /: math.fsum(limits.list_of(items)),
    max: _extreme(max),
    min: _extreme(min),
    next: lambda limits, iterator, /, *default: next(iterator, *default),
    pow: lambda limits, base, exp: limits.operate(ast.Pow, base, exp),
    range: lambda limits, *args: range(*args),
    repr: lambda limits, value, /: limits.text(value, repr),
    reversed: _reversed,
    round: _round,
    set: lambda limits, items=(), /: limits.set_of(items),
    sorted: _sorted,
    str: lambda limits, value="", /: limits.text(value),
    sum: _sum,
    tuple: lambda limits, items=(), /: tuple(limits.list_of(items)),
    zip: lambda limits, *items, strict=False: zip(*map(limits.lazy, items), strict=bool(strict)),
}


def guard_of(function: Any) -> Callable[..., Any] | None:
    """Return the function to call in place of a built-in one, None for others."""
    listed = isinstance(function, type | types.BuiltinFunctionType)
    return _GUARDS.get(function) if listed else None


#: The built-in functions by name.
BUILTINS: Final[Mapping[str, Any]] = {
    name: function for name, function in vars(builtins).items() if guard_of(function)
}
