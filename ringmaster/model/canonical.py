"""Values as JSON data by which the settings of two runs are compared.

Plain data stand for themselves.  What JSON does not know becomes a dictionary
with the key "$":

    {"$": "float", "text": "nan"}        also ints beyond 64 bits, bytes, …
    {"$": "Linear", "lower": 0, …}       a struct, a dataclass, an object
    {"$": "deque", "$items": […]}        a container that is no list or dictionary
    {"$": "name", "text": "math.sqrt"}   what is installed, by its name
    {"$": "path", "text": "./x", "whole": …}  one in the competition directory
    {"$": "unseen", "what": …, "why": …} what cannot be compared
    {"$": "code", "source": …}           a function or class of the control file
    {"$": "function", "name": …, "is": …, "uses": {…}}

The last is a function (or an object with a class of the control file) as a
whole: what it is, and everything of the control file that it uses, however
indirectly, by name.  Inside it a function is {"$": "function", "ref": its name
in "uses"}, and types count: a tuple is no list there.

A key of a dictionary or an attribute that begins with "$" has another before it.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import json
import math
import os
import pathlib
import re
import types
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final

import msgspec

from ringmaster.model import function_source as source
from ringmaster.model.function_uses import STANDS_FOR as STANDS_FOR
from ringmaster.model.function_uses import Uses, name_of, tagged, unseen
from ringmaster.model.inspection import (
    CONTAINERS,
    has_source,
    is_a,
    is_own,
    items_of,
    keeps_more,
    name_in_module,
    pairs_of,
    public_name,
    scalar_of,
    state_of,
)

#: Levels of nesting that are looked into; a fixed number, so that it is the same
#: for every run.
DEEPEST = 64
#: Values that are looked at; objects that hold one another may have any number.
MOST_VALUES = 2_000_000

#: Records of ringmaster whose values are anybody's, so that their types count.
TYPES_COUNT: Final = frozenset({"Explicit"})
#: What "$" says of other things than objects.
_RESERVED: Final = frozenset(
    {"array", "bytes", "code", "cycle", "deque", "float", "function", "int", "large", "method"}
    | {"name", "partial", "path", "set", "str", "tuple", "unseen", "wrapped"}
)

#: Values that their repr tells apart.
_TOLD_BY_REPR: Final = (
    *(complex, range, bytes, bytearray, type(Ellipsis), type(NotImplemented)),
    *(fractions.Fraction, decimal.Decimal, types.GenericAlias, types.UnionType),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo),
)
_FUNCTIONS: Final = (
    *(type, types.FunctionType, types.MethodType, types.BuiltinFunctionType),
    functools.partial,
)


def canonical(value: Any, file: str = "") -> Any:
    """Return `value` as JSON data, equal for equal values.

    What cannot be compared says so, and holds no more than its type's name.

    file  the control file, absolute: what functions use may be in its directory
    """
    return _Canonical(file).of(value)


class _Canonical:
    """One value with all that it reaches."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._directory = os.path.dirname(file)
        #: What functions use; None outside of functions.
        self._uses: Uses | None = None
        self._types_count = False
        self._open: set[int] = set()
        #: An id means something only while its object lives.
        self._alive: list[Any] = []
        self._left = MOST_VALUES

    def of(self, value: Any) -> Any:
        if value is None or value is True or value is False:
            return value
        cls = type(value)
        if cls is int or cls is float or cls is str:
            return self._scalar(value)
        self._left -= 1
        if self._left < 0:
            return unseen(_what(value), "there is too much of it")
        if id(value) in self._open:
            return tagged("cycle")
        if len(self._open) >= DEEPEST:
            return unseen(_what(value), "it is nested too deeply")
        self._open.add(id(value))
        self._alive.append(value)
        try:
            return self._compound(value)
        except Exception as error:
            content = unseen(_what(value), f"looking into it raised {type(error).__name__}")
            return {**content, **self._class_of(type(value))}
        finally:
            self._open.discard(id(value))

    def _compound(self, value: Any) -> Any:
        cls = type(value)
        if is_own(cls):
            return self._record(value)
        of_file = has_source(cls)
        if self._uses is None and (of_file or callable(value)):
            return self._whole(value)
        if is_a(value, *_FUNCTIONS):
            return self._function(value)
        if is_a(value, enum.Enum):
            name = public_name(cls) if not of_file else cls.__name__
            content = {"name": value._name_, "value": self.of(value._value_)}
            return {"$": _kind(name), **content, **self._class_of(cls)}
        if of_file:
            return self._object(value)
        if isinstance(value, types.ModuleType):
            return self._module(value)
        return self._installed(value)

    def _scalar(self, value: int | float | str) -> Any:
        if isinstance(value, str):
            inside = self._uses is not None and self._directory and os.path.isabs(value)
            if inside and relative(value, self._directory) != value:
                return self._path(value)
        return _scalar(value)

    def _path(self, path: str) -> dict[str, Any]:
        # when the directory has been moved, one of the two is the same: the first
        # where a function has asked where its file is, else the second
        text, whole = _printable(relative(path, self._directory)), _printable(path)
        return tagged("path", text=text, **({} if text == whole else {"whole": whole}))

    def _record(self, value: Any) -> Any:
        """Return an object of ringmaster by what it says of itself, or by its
        fields."""
        cls = type(value)
        if hasattr(cls, "canonical"):
            content = value.canonical()
            if not isinstance(content, dict | types.MappingProxyType):
                return self.of(content)
            # its "$" is ours
            return {k if k == "$" else escaped(k): self.of(v) for k, v in content.items()}
        if isinstance(value, msgspec.Struct):
            names: Iterable[str] = value.__struct_fields__
        elif is_dataclass(value):
            names = [field.name for field in fields(value)]
        else:
            return tagged(cls.__name__)
        before, self._types_count = self._types_count, cls.__name__ in TYPES_COUNT
        try:
            return {"$": cls.__name__, **{name: self.of(getattr(value, name)) for name in names}}
        finally:
            self._types_count = before

    def _installed(self, value: Any) -> Any:
        """Return an object of Python or of an installed library: containers and
        values are looked into, of all others the type is known."""
        cls = type(value)
        if cls is list:
            return [self.of(item) for item in value]
        if cls is tuple:
            items = [self.of(item) for item in value]
            typed = self._uses is not None or self._types_count
            return tagged("tuple", **{"$items": items}) if typed else items
        if cls is dict or cls is types.MappingProxyType:
            return self._mapping(value.items())
        if (plain := scalar_of(value)) is not None:
            return self._scalar(plain)
        if isinstance(value, pathlib.PurePath):
            # not str(…): 3.11 to 3.13 have it in different modules
            return self._path(str(value))
        if isinstance(value, re.Pattern):  # its repr is cut
            return tagged("Pattern", pattern=self.of(value.pattern), flags=value.flags)
        if isinstance(value, slice):
            bounds = value.start, value.stop, value.step
            return tagged("slice", **{"$items": [self.of(bound) for bound in bounds]})
        if isinstance(value, _TOLD_BY_REPR) or cls.__module__ in ("typing", "operator"):
            text = repr(value)
            if " at 0x" not in text:
                return tagged(cls.__name__, text=_printable(text))
        if cls.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
            return self._array(value)
        if isinstance(value, CONTAINERS):
            return self._container(value)
        if (named := name_in_module(value)) is not None:  # os.environ
            return tagged("name", text=named)
        held = state_of(value)
        if "__wrapped__" in held:  # functools.cache and the like
            by = tagged("name", text=public_name(cls))
            return tagged("wrapped", by=by, function=self.of(held["__wrapped__"]))
        if callable(value) and not held and isinstance(getattr(value, "__name__", None), str):
            return tagged("name", text=public_name(value))  # a method of a type, a numpy ufunc
        return self._foreign(value)

    def _foreign(self, value: Any) -> dict[str, Any]:
        """Return what only a library knows the inside of, with the functions and
        objects of the control file that it holds."""
        content = unseen(_what(value), "what it holds is not looked into")
        holds = {
            escaped(name): self.of(item)
            for name, item in state_of(value).items()
            if has_source(type(item))
            or (isinstance(item, types.FunctionType | type) and has_source(item))
        }
        return {**content, "holds": holds} if holds else content

    def _object(self, value: Any) -> dict[str, Any]:
        """Return an object of a class of the control file."""
        cls = type(value)
        if keeps_more(cls):
            return {**self._foreign(value), **self._class_of(cls)}
        content = self._container(value)
        if (plain := scalar_of(value)) is not None:
            content["$items"] = self._scalar(plain)
        return {**content, **self._class_of(cls)}

    def _container(self, value: Any) -> dict[str, Any]:
        """Return the attributes of an object, and its items if it has any."""
        content: dict[str, Any] = {"$": _kind(type(value).__name__)}
        if (pairs := pairs_of(value)) is not None:
            content["$items"] = self._mapping(pairs)
        elif is_a(value, set, frozenset):
            content["$items"] = sorted(map(self.of, items_of(value) or ()), key=_text)
        elif (items := items_of(value)) is not None:
            content["$items"] = [self.of(item) for item in items]
        elif is_a(value, bytes, bytearray):
            content["$items"] = bytes(value).hex()
        if is_a(value, collections.defaultdict):
            content["default_factory"] = self.of(value.default_factory)
        if is_a(value, collections.deque):
            content["maxlen"] = value.maxlen
        if is_a(value, array.array):
            content["typecode"] = value.typecode
        for name, item in state_of(value).items():
            content[escaped(name)] = self.of(item)
        return content

    def _class_of(self, cls: type) -> dict[str, Any]:
        return {"$class": self.of(cls)} if self._uses is not None and has_source(cls) else {}

    def _mapping(self, pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in pairs:
            text = self._key(key)
            while text in result:  # 1 and "1"
                text += f" ({type(key).__name__})"
            result[text] = self.of(item)
        return result

    def _key(self, key: Any) -> str:
        if type(key) is str:
            return escaped(_printable(key))
        if key is None or type(key) in (bool, int, float, bytes):
            return repr(key)
        if isinstance(key, enum.Enum):
            return f"{type(key).__name__}.{key._name_}"
        plain = type(key) is tuple and all(type(k) in (int, str, float) for k in key)
        return _printable(repr(key)) if plain else f"<{_text(self.of(key))}>"

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

    def _module(self, module: types.ModuleType) -> Any:
        installed = source.is_installed_module(module.__name__)
        tree = None if installed else source.module_node(module)
        if self._uses is None or tree is None:
            return tagged("name", text=module.__name__)
        return tagged("code", source=_printable(source.normalised(tree)))

    # functions

    def _whole(self, value: Any) -> Any:
        """Return a function, or an object of a class of the file, with all it uses."""
        if isinstance(value, types.FunctionType):
            value = vars(value).get(STANDS_FOR, value)
        self._uses = uses = Uses(self.of, self._file)
        name = name_of(value)
        try:
            if isinstance(value, types.FunctionType | type) and has_source(value):
                what = uses.whole(name, value)
            else:
                # it is open already: that is what it is
                what = self._compound(value)
                uses.finish()
        finally:
            self._uses = None
        return tagged("function", name=name, **{"is": what, "uses": uses.table})

    def _function(self, value: Any) -> Any:
        """Return a callable inside a function's table: a reference to its entry
        where it has source, else what it is."""
        assert self._uses is not None
        match value:
            case types.FunctionType() | type() if has_source(value):
                return self._uses.reference(value)
            case types.FunctionType():
                return self._installed_function(value)
            case functools.partial():
                return tagged(
                    "partial",
                    function=self.of(value.func),
                    args=[self.of(argument) for argument in value.args],
                    keywords={k: self.of(v) for k, v in value.keywords.items()},
                )
            case types.MethodType() | types.BuiltinFunctionType():
                this = value.__self__
                if this is None or isinstance(this, types.ModuleType):
                    return tagged("name", text=public_name(value))
                if (named := name_in_module(value)) is not None:  # random.choice
                    return tagged("name", text=named)
                if isinstance(value, types.MethodType):
                    function = self.of(value.__func__)
                else:
                    function = value.__name__
                return tagged("method", of=self.of(this), function=function)
        return tagged("name", text=public_name(value))

    def _installed_function(self, function: types.FunctionType) -> Any:
        held = vars(function)
        if "__wrapped__" not in held:
            return tagged("name", text=public_name(function))
        module = function.__globals__.get("__name__")
        by = tagged("name", text=f"{module}.{function.__code__.co_qualname}")
        content = tagged("wrapped", by=by, function=self.of(held["__wrapped__"]))
        registry = held.get("registry")  # functools.singledispatch
        if isinstance(registry, types.MappingProxyType):
            content["registry"] = {public_name(cls): self.of(f) for cls, f in registry.items()}
        return content


def escaped(key: str) -> str:
    """Return a key as it is stored: "$" at its beginning is ours."""
    return f"${key}" if key.startswith("$") else key


def unescaped(key: str) -> str:
    """Return the key that is stored as `key`."""
    return key[1:] if key.startswith("$$") else key


def relative(path: str, directory: str) -> str:
    """Return an absolute path as "./…" if it is in a directory, "." if it is it,
    else unchanged: nothing changes when the directory is moved."""
    if directory and path == directory:
        return "."
    inside = directory and path.startswith(directory.rstrip(os.sep) + os.sep)
    return f".{os.sep}{path[len(directory.rstrip(os.sep)) + 1 :]}" if inside else path


def _what(value: Any) -> str:
    return f"a {public_name(type(value))}"


def _kind(name: str) -> str:
    """Return a class's name as "$" has it."""
    return f"{name} object" if name in _RESERVED and name not in _OF_PYTHON else name


#: Reserved names that are those of the containers themselves.
_OF_PYTHON: Final = frozenset({"array", "deque", "set", "tuple"})


def _scalar(value: int | float | str) -> Any:
    if isinstance(value, str):
        return value if value.isascii() or _encodable(value) else tagged("str", text=ascii(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else tagged("float", text=repr(value))
    # what a JSON decoder gives back as it was
    return value if -(2**63) <= value < 2**63 else tagged("int", text=hex(value))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(text: str) -> str:
    return text if _encodable(text) else ascii(text)


def _text(value: Any) -> str:
    return json.dumps(value)
