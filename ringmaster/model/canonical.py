"""Values as JSON data by which the settings of two runs are compared.

Plain data stand for themselves.  What JSON does not know becomes a dictionary
with the key "$":

    {"$": "float", "text": "nan"}        also ints beyond 64 bits, bytes, …
    {"$": "Linear", "lower": 0, …}       a struct, a dataclass, an object
    {"$": "name", "text": "math.sqrt"}   what is installed, by its name
    {"$": "code", "source": …}           a function or class of the control file
    {"$": "function", "name": …, "is": …, "uses": {…}}

The last is a function as a whole: what it is, and everything of the control
file that it uses, however indirectly, by name.  Inside it a function is
{"$": "function", "ref": its name in "uses"}.
"""

from __future__ import annotations

import ast
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import json
import math
import os
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

import msgspec

from ringmaster.model import function_source as source

#: A value that a function uses, longer than this as JSON, is kept as its hash.
LONGEST_USE = 4000

#: Values that their repr tells apart.
_TOLD_BY_REPR: Final = (
    *(complex, range, slice, bytes, bytearray, type(Ellipsis), type(NotImplemented)),
    *(fractions.Fraction, decimal.Decimal, re.Pattern),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo),
)

#: The attribute by which a function of ours names the one it stands for.
STANDS_FOR = "ringmaster_stands_for"


def canonical(value: Any) -> Any:
    """Return `value` as JSON data, equal for equal values.

    What cannot be told apart by value becomes its type's name.
    """
    try:
        return _Canonical().of(value)
    except RecursionError:
        return tagged("too deep", text=type(value).__name__)


def tagged(kind: str, **content: Any) -> dict[str, Any]:
    """Return what is no plain data as JSON data."""
    return {"$": kind, **content}


class _Canonical:
    """One value with all that it reaches."""

    def __init__(self) -> None:
        #: What functions use, by name; None outside of functions.
        self._uses: dict[str, Any] | None = None
        self._keys: dict[int, str] = {}
        self._open: set[int] = set()
        self._walked: set[tuple[int, tuple[str, ...]]] = set()
        self._home: int = 0
        #: An id means something only while its object lives.
        self._alive: list[Any] = []

    def of(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float | str) and not isinstance(value, enum.Enum):
            return _scalar(value)
        if id(value) in self._keys:
            return tagged("function", ref=self._keys[id(value)])
        if id(value) in self._open:
            return tagged("cycle")
        self._open.add(id(value))
        self._alive.append(value)
        try:
            return self._compound(value)
        finally:
            self._open.discard(id(value))

    def _compound(self, value: Any) -> Any:
        own = None if isinstance(value, type) else getattr(type(value), "canonical", None)
        if own is not None:
            return self.of(value.canonical())
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        if isinstance(value, set | frozenset):
            items = sorted((self.of(item) for item in value), key=_text)
            return tagged("set", items=items)
        if isinstance(value, enum.Enum):
            return tagged(type(value).__name__, name=value.name, value=self.of(value.value))
        if isinstance(value, os.PathLike):
            return _scalar(str(os.fspath(value)))
        if isinstance(value, _TOLD_BY_REPR):
            return tagged(type(value).__name__, text=_printable(repr(value)))
        if isinstance(value, types.ModuleType):
            tree = None if source.is_installed_module(value.__name__) else source.module_node(value)
            if self._uses is None or tree is None:
                return tagged("name", text=value.__name__)
            return tagged("code", source=_printable(source.normalised(tree)))
        if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
            return self._array(value)
        if callable(value) and not _is_record(value):
            return self._callable(value)
        return self._object(value)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in value.items():
            text = _key(key)
            while text in result:  # 1 and "1"
                text += f" ({type(key).__name__})"
            result[text] = self.of(item)
        return result

    def _array(self, value: Any) -> Any:
        if getattr(value, "ndim", 0) == 0:
            return self.of(value.tolist())
        data = (
            value.tobytes() if value.dtype.kind != "O" else _text(self.of(value.tolist())).encode()
        )
        return tagged(
            "array",
            shape=list(value.shape),
            type=str(value.dtype),
            sha256=hashlib.sha256(data).hexdigest(),
        )

    def _object(self, value: Any) -> dict[str, Any]:
        """A struct, a dataclass, or an object of the control file: its
        attributes; any other object: its type."""
        cls = type(value)
        if isinstance(value, msgspec.Struct):
            names: Iterator[str] = iter(value.__struct_fields__)
        elif is_dataclass(value):
            names = (f.name for f in fields(value))
        elif source.is_installed_module(cls.__module__):
            return tagged(cls.__name__)
        else:
            names = iter(getattr(value, "__dict__", {}))
        content = {name: self.of(getattr(value, name, None)) for name in names}
        if self._uses is not None and not source.is_installed_module(cls.__module__):
            content["class"] = self.of(cls)
        return {"$": cls.__name__, **content}

    # functions

    def _callable(self, value: Any) -> Any:
        value = getattr(value, "__dict__", {}).get(STANDS_FOR, value)
        if self._uses is not None:
            return self._described(value)
        uses: dict[str, Any] = {}
        self._uses = uses
        self._home = 0
        name = _name(value)
        if isinstance(value, types.FunctionType | type):  # it may use itself
            self._keys[id(value)] = name
            uses[name] = None
        try:
            what = self._definition(value)
        finally:
            self._uses = None
            self._keys.clear()
            self._walked.clear()
        if isinstance(value, types.FunctionType | type):
            del uses[name]
        return tagged("function", name=name, **{"is": what, "uses": uses})

    def _described(self, value: Any) -> Any:
        """A callable inside a function's table: a reference to its entry where
        it has source, else what it is."""
        if not isinstance(value, types.FunctionType | type) or not _has_source(value):
            return self._definition(value)
        assert self._uses is not None
        key = self._free(_name(value))
        self._keys[id(value)] = key
        self._uses[key] = None
        self._uses[key] = self._definition(value)
        return tagged("function", ref=key)

    def _definition(self, value: Any) -> Any:
        match value:
            case types.FunctionType():
                return self._function(value)
            case types.MethodType():
                return tagged(
                    "method", of=self.of(value.__self__), function=self.of(value.__func__)
                )
            case functools.partial():
                return tagged(
                    "partial",
                    function=self.of(value.func),
                    args=self.of(value.args),
                    keywords=self.of(value.keywords),
                )
            case type():
                return self._class(value)
            case types.BuiltinFunctionType():
                this = value.__self__
                if this is None or isinstance(this, types.ModuleType | type):
                    return tagged("name", text=_qualified(value))
                return tagged("method", of=self.of(this), function=value.__name__)
        if hasattr(value, "__wrapped__"):  # functools.cache and the like
            by = tagged("name", text=_qualified(type(value)))
            return tagged("wrapped", by=by, function=self.of(value.__wrapped__))
        if type(value).__module__ == "operator":
            return tagged("name", text=repr(value))
        if source.is_installed_module(type(value).__module__) and not hasattr(value, "__dict__"):
            named = getattr(value, "__name__", None)  # a method of a type, a numpy ufunc
            if isinstance(named, str):
                return tagged("name", text=_qualified(value))
        content = self._object(value)
        if len(content) == 1:  # installed: all that is known is what it holds
            held = getattr(value, "__dict__", {})
            content |= {name: self.of(item) for name, item in held.items()}
        return content

    def _function(self, function: types.FunctionType) -> Any:
        if not _has_source(function):
            by = tagged("name", text=_qualified(function))
            if not hasattr(function, "__wrapped__"):
                return by
            by["text"] = f"{function.__globals__.get('__name__')}.{function.__code__.co_qualname}"
            return tagged("wrapped", by=by, function=self.of(function.__wrapped__))
        nodes = source.function_nodes(function)
        self._note_uses(function)
        text = "\n".join(map(source.normalised, nodes)) if nodes else None
        entry = tagged("code", source=None if text is None else _printable(text))
        defaults = self._defaults(function, nodes[0].args if nodes else None)
        if defaults:
            entry["defaults"] = defaults
        return entry

    def _defaults(self, function: types.FunctionType, node: ast.arguments | None) -> dict[str, Any]:
        """Return default arguments by name, without those that stand in the
        source as literals."""
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        positional = function.__defaults__ or ()
        values = dict(zip(names[len(names) - len(positional) :], positional, strict=True))
        values |= function.__kwdefaults__ or {}
        literal: set[str] = set()
        if node is not None:
            arguments = [*node.posonlyargs, *node.args]
            with_default = arguments[len(arguments) - len(node.defaults) :]
            pairs = [*zip(with_default, node.defaults, strict=True)]
            pairs += [(a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d]
            literal = {argument.arg for argument, default in pairs if _is_literal(default)}
        return {k: self._use(v) for k, v in values.items() if k not in literal}

    def _note_uses(self, function: types.FunctionType) -> None:
        """Note the names of its module and of the functions around it that a
        function uses."""
        namespace = function.__globals__
        self._home = self._home or id(namespace)
        for chain in source.references(function.__code__):
            mark = (id(namespace), chain)
            if mark not in self._walked and chain[0] in namespace:
                self._walked.add(mark)
                self._note_global(namespace, chain)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            if name != "__class__":
                self._note(name, value)

    def _note_global(self, namespace: Mapping[str, Any], chain: tuple[str, ...]) -> None:
        value = namespace[chain[0]]
        used = 1
        while isinstance(value, types.ModuleType) and used < len(chain):
            if source.is_installed_module(value.__name__):
                break
            value = getattr(value, chain[used], None)
            used += 1
        name = ".".join(chain[:used])
        if id(namespace) != self._home:
            name = f"{namespace.get('__name__')}.{name}"
        self._note(name, value)

    def _note(self, name: str, value: Any) -> None:
        assert self._uses is not None
        content = self._use(value)
        simple = name.rpartition(".")[2]
        if content in (tagged("function", ref=simple), tagged("name", text=simple)):
            return  # noted under its own name, or of no more to tell
        if self._uses.get(name, content) != content:
            name = self._free(name)
        self._uses[name] = content

    def _use(self, value: Any) -> Any:
        content = self.of(value)
        text = _text(content)
        if len(text) <= LONGEST_USE:
            return content
        digest = hashlib.sha256(text.encode()).hexdigest()
        return tagged("large", type=type(value).__name__, sha256=digest)

    def _class(self, cls: type) -> Any:
        if not _has_source(cls):
            return tagged("name", text=_qualified(cls))
        node = source.class_node(cls)
        for base in cls.__bases__:
            if _has_source(base):
                self._note(base.__name__, base)
        functions = False
        for name, member in list(vars(cls).items()):
            for function in filter(_has_source, source.functions_of(member)):
                functions = True
                self._note_uses(function)
            if not name.startswith("__") and _is_data(member):
                self._note(f"{cls.__name__}.{name}", member)
        if node is None and not functions:  # then all that it has is noted
            return tagged("name", text=cls.__name__)
        return tagged("code", source=None if node is None else _printable(source.normalised(node)))

    def _free(self, name: str) -> str:
        """Return a name for an entry that is not taken."""
        assert self._uses is not None
        number, free = 2, name
        while free in self._uses:
            free = f"{name} ({number})"
            number += 1
        return free


def _has_source(value: types.FunctionType | type) -> bool:
    """Whether a function or class is of the control file or a file beside it."""
    if isinstance(value, type):
        return value.__module__ != "builtins" and not source.is_installed_module(value.__module__)
    return not (
        source.is_installed_module(value.__globals__.get("__name__"))
        or source.is_installed(value.__code__.co_filename)
    )


def _is_record(value: Any) -> bool:
    """Whether a value is one of ringmaster's own structs, whose attributes say
    everything although it may be called (a scale)."""
    plain = isinstance(value, msgspec.Struct) or (
        is_dataclass(value) and not isinstance(value, type)
    )
    return plain and source.is_installed_module(type(value).__module__)


def _is_data(value: Any) -> bool:
    return value is None or isinstance(value, int | float | str | list | tuple | dict | set | bytes)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _name(value: Callable[..., Any]) -> str:
    if isinstance(value, functools.partial):
        return _name(value.func)
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _qualified(value: Any) -> str:
    module = getattr(value, "__module__", None)
    own = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    name = str(own or type(value).__qualname__)
    return name if module in (None, "builtins") else f"{module}.{name}"


def _scalar(value: int | float | str) -> Any:
    if isinstance(value, str):
        text = str(value)
        if text.isascii() or _encodable(text):
            return text
        return tagged("str", text=ascii(text))
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else tagged("float", text=repr(number))
    whole = int(value)
    # what a JSON decoder gives back as it was
    return whole if -(2**63) <= whole < 2**63 else tagged("int", text=hex(whole))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(text: str) -> str:
    return text if _encodable(text) else ascii(text)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return _printable(key)
    if key is None or isinstance(key, bool | int | float | tuple | bytes):
        return _printable(repr(key))
    return f"<{type(key).__name__}>"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
