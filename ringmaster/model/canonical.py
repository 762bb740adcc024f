"""Convert values to JSON data, so that the settings of two runs can be compared.

Plain data stand for themselves.  Other values become a dictionary with the key "$":

    {"$": "float", "text": "nan"}        also ints beyond 64 bits, bytes, …
    {"$": "Linear", "lower": 0, …}       a struct, a dataclass, an object
    {"$": "deque", "$items": […]}        a container that is no list or dictionary
    {"$": "name", "text": "math.sqrt"}   installed code, by its name
    {"$": "path", "text": "./x", "whole": …}  a file in the competition directory
    {"$": "unseen", "what": …, "why": …} a value that cannot be compared
    {"$": "code", "source": …}           a function or class of the control file
    {"$": "function", "name": …, "is": …, "uses": {…}}

"function" holds a function, or an object with a class of the control file: the value, and
every name of the control file that it uses, directly or indirectly.  Inside it a function
or class is {"$": "function", "ref": its name in "uses"}, and types count: a tuple is no
list there.

Keys of dictionaries and attributes that begin with "$" get another "$" before it.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import enum
import functools
import hashlib
import json
import math
import os
import pathlib
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ringmaster.model import function_source as source
from ringmaster.model.function_source import Interpreted, has_source, is_installed_module

#: Levels of nesting that are converted; fixed, so that all runs agree.
DEEPEST = 64
#: Objects and containers that are converted; plain numbers and strings do not count.
MOST_VALUES = 100_000
#: A value that a function uses is stored as its hash when its JSON is longer.
LONGEST_USE = 4000

#: Records of ringmaster with values of any type: types count in them.
TYPES_COUNT: Final = frozenset({"Explicit"})
#: Functions and classes.
_DEFINED: Final = (types.FunctionType, Interpreted, type)
#: The attribute by which a wrapper of ringmaster names the function of the control file.
STANDS_FOR: Final = "ringmaster_stands_for"

#: Kinds in "$" that no class of a control file may have as its name.
_RESERVED: Final = frozenset(
    {"code", "cycle", "float", "function", "int", "large", "method", "name"}
    | {"partial", "path", "set", "str", "tuple", "unseen", "wrapped"}
)
#: Objects of these modules are compared by their repr.
_BY_REPR: Final = frozenset(
    {"array", "builtins", "datetime", "decimal", "fractions", "operator", "types", "typing"}
)
#: Objects of these classes have no state beside items and attributes.
_OPEN: Final = (
    *(object, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset),
    *(collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter),
    *(collections.UserDict, collections.UserList, types.SimpleNamespace, msgspec.Struct),
)
#: Classes of these modules add no state to a subclass.
_STATELESS: Final = frozenset({"abc", "collections.abc", "enum", "msgspec._core", "typing"})


def canonical(value: Any, file: str = "") -> Any:
    """Return `value` as JSON data, equal for equal values.

    A value that cannot be compared is stored as the name of its type.

    file  the control file, absolute: its directory may be moved between runs
    """
    return _Conversion(file).data(value)


def tagged(kind: str, /, **content: Any) -> dict[str, Any]:
    """Return JSON data for a value that is no plain data."""
    return {"$": kind, **content}


def unseen(what: str, why: str) -> dict[str, Any]:
    """Return JSON data for a value that cannot be compared: "a socket.socket", and why."""
    return tagged("unseen", what=what, why=why)


def unseen_in(content: Any) -> Iterator[dict[str, Any]]:
    """Yield every value in JSON data that cannot be compared."""
    if isinstance(content, dict):
        if content.get("$") == "unseen":
            yield content
        for item in content.values():
            yield from unseen_in(item)
    elif isinstance(content, list):
        for item in content:
            yield from unseen_in(item)


class _Conversion:
    """Conversion of one value with everything that it reaches."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._directory = os.path.dirname(file)
        #: Entries of the names that the current function uses; None outside of functions.
        self._uses: dict[str, Any] | None = None
        #: Names of the entries of functions and classes, by id.
        self._entries: dict[int, str] = {}
        #: Functions whose entries are still empty: recursion could go to any depth.
        self._waiting: collections.deque[tuple[str, types.FunctionType | Interpreted | type]]
        self._waiting = collections.deque()
        #: Namespaces of modules, by the modules' names.
        self._namespaces: dict[str, Mapping[str, Any]] = {}
        self._home: Mapping[str, Any] | None = None
        self._types_count = False
        #: Ids of the values around the current one.
        self._open: set[int] = set()
        #: An id means something only while its object lives.
        self._alive: list[Any] = []
        self._left = MOST_VALUES

    def data(self, value: Any) -> Any:
        if value is None or value is True or value is False:
            return value
        if type(value) in (int, float, str):
            return self._scalar(value)
        self._left -= 1
        if self._left < 0:
            return unseen(_what(value), "it is too large")
        if id(value) in self._open:
            return tagged("cycle")
        if len(self._open) >= DEEPEST:
            return unseen(_what(value), "it is nested too deeply")
        self._open.add(id(value))
        self._alive.append(value)
        try:
            return self._compound(value)
        except Exception as error:
            return unseen(_what(value), f"reading it raised {type(error).__name__}")
        finally:
            self._open.discard(id(value))

    def _compound(self, value: Any) -> Any:
        cls = type(value)
        if _is_own(cls) and not isinstance(value, Interpreted):
            return self._record(value)
        if self._uses is None and (has_source(cls) or callable(value)):
            return self._function(value)
        if _is_a(value, *_DEFINED) and has_source(value):
            return self._reference(value)
        if _is_a(value, enum.Enum):
            content = tagged(_kind(cls), name=value._name_, value=self.data(value._value_))
            return {**content, **self._class_of(cls)}
        if has_source(cls):
            content = self._contents(value) if _is_open(cls) else self._foreign(value)
            return {**content, **self._class_of(cls)}
        return self._callable(value) if callable(value) else self._installed(value)

    def _scalar(self, value: int | float | str) -> Any:
        if isinstance(value, str):
            inside = self._uses is not None and self._directory and os.path.isabs(value)
            if inside and relative(value, self._directory) != value:
                return self._path(value)
            return value if _is_encodable(value) else tagged("str", text=ascii(value))
        if isinstance(value, float):
            return value if math.isfinite(value) else tagged("float", text=repr(value))
        # JSON decoders agree on 64 bits
        return value if -(2**63) <= value < 2**63 else tagged("int", text=hex(value))

    def _path(self, path: str) -> dict[str, Any]:
        # `text` stays the same when the directory is moved and the path was derived from
        # __file__; `whole` stays the same when the path was written out
        text, whole = _printable(relative(path, self._directory)), _printable(path)
        return tagged("path", text=text, **({} if text == whole else {"whole": whole}))

    def _record(self, value: Any) -> Any:
        """Convert an object of ringmaster by its `canonical` method, or by its fields."""
        cls = type(value)
        if hasattr(cls, "canonical"):
            content = value.canonical()
            if not isinstance(content, dict | types.MappingProxyType):
                return self.data(content)
            return {k if k == "$" else escaped(k): self.data(v) for k, v in content.items()}
        if isinstance(value, msgspec.Struct):
            names: Iterable[str] = value.__struct_fields__
        elif dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
        else:
            return tagged(cls.__name__)
        before, self._types_count = self._types_count, cls.__name__ in TYPES_COUNT
        try:
            return tagged(cls.__name__, **{name: self.data(getattr(value, name)) for name in names})
        finally:
            self._types_count = before

    def _installed(self, value: Any) -> Any:
        """Convert an object of Python or of an installed library."""
        cls = type(value)
        if cls is list:
            return [self.data(item) for item in value]
        if cls is tuple:
            items = [self.data(item) for item in value]
            typed = self._uses is not None or self._types_count
            return tagged("tuple", **{"$items": items}) if typed else items
        if cls is dict or cls is types.MappingProxyType:
            return self._mapping(value.items())
        if (plain := _scalar_in(value)) is not None:
            return self._scalar(plain)
        if isinstance(value, pathlib.PurePath):
            return self._path(str(value))
        if isinstance(value, types.ModuleType):
            return tagged("name", text=value.__name__)
        if isinstance(value, re.Pattern):  # its repr is cut
            return tagged("Pattern", pattern=self.data(value.pattern), flags=value.flags)
        if cls.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
            return self.data(value.tolist())
        if cls in _OPEN:
            return self._contents(value)
        text = repr(value) if cls.__module__ in _BY_REPR else " at 0x"
        return self._foreign(value) if " at 0x" in text else tagged(_kind(cls), text=text)

    def _foreign(self, value: Any) -> dict[str, Any]:
        """Convert an object that only a library can look into.

        Functions and objects of the control file that it holds are followed.  An object
        of the library's own module, such as `os.environ`, is known by its name.
        """
        module = type(value).__module__
        for name, item in vars(sys.modules.get(module, types)).items():
            if item is value:
                return tagged("name", text=f"{module}.{name}")
        held = {
            escaped(name): self.data(item)
            for name, item in _state_of(value).items()
            if has_source(type(item))
            or (isinstance(item, types.FunctionType | type) and has_source(item))
        }
        content = unseen(_what(value), "its contents are not read")
        return {**content, "holds": held} if held else content

    def _contents(self, value: Any) -> dict[str, Any]:
        """Convert an object by its items and attributes."""
        content = tagged(_kind(type(value)))
        if _is_a(value, dict):
            content["$items"] = self._mapping(_pairs_in(value))
        elif _is_a(value, set, frozenset):
            content["$items"] = sorted(map(self.data, _items_in(value)), key=json.dumps)
        elif _is_a(value, list, tuple, collections.deque):
            content["$items"] = [self.data(item) for item in _items_in(value)]
        elif _is_a(value, bytes, bytearray):
            content["$items"] = bytes(value).hex()
        elif (plain := _scalar_in(value)) is not None:
            content["$items"] = self._scalar(plain)
        state = _state_of(value).items()
        return content | {escaped(name): self.data(item) for name, item in state}

    def _class_of(self, cls: type) -> dict[str, Any]:
        return {"$class": self.data(cls)} if self._uses is not None and has_source(cls) else {}

    def _mapping(self, pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in pairs:
            text = self._key(key)
            while text in result:  # 1 and "1"
                text += f" ({type(key).__name__})"
            result[text] = self.data(item)
        return result

    def _key(self, key: Any) -> str:
        if type(key) is str:
            return escaped(_printable(key))
        plain = key is None or type(key) in (bool, int, float, bytes)
        return repr(key) if plain else f"<{json.dumps(self.data(key))}>"

    # functions

    def _function(self, value: Any) -> Any:
        """Convert a function, or an object of a class of the file, with all it uses."""
        if isinstance(value, types.FunctionType):
            value = vars(value).get(STANDS_FOR, value)
        uses: dict[str, Any] = {}
        self._uses = uses
        self._entries.clear()
        self._home = None
        name = _name_of(value)
        try:
            if _is_a(value, *_DEFINED) and has_source(value):
                uses[name] = None  # it may use itself
                self._entries[id(value)] = name
                what = self._code(value)
                del uses[name]
            else:
                what = self._compound(value)
            while self._waiting:
                key, function = self._waiting.popleft()
                uses[key] = self._code(function)
        finally:
            self._waiting.clear()
            self._uses = None
        return tagged("function", name=name, **{"is": what, "uses": uses})

    def _callable(self, value: Any) -> Any:
        """Convert a callable object without source."""
        if isinstance(value, functools.partial):
            keywords = {name: self.data(item) for name, item in value.keywords.items()}
            arguments = [self.data(item) for item in value.args]
            return tagged("partial", function=self.data(value.func), args=arguments,
                          keywords=keywords)  # fmt: skip
        if isinstance(value, types.MethodType | types.BuiltinFunctionType):
            owner = value.__self__
            if owner is not None and (has_source(type(owner)) or type(owner) in _OPEN):
                return tagged("method", of=self.data(owner), function=value.__name__)
        state = {} if isinstance(value, type | types.BuiltinFunctionType) else _state_of(value)
        if "__wrapped__" in state:  # functools.cache and the like
            wrapper = tagged("name", text=_public_name(type(value)))
            return tagged("wrapped", by=wrapper, function=self.data(state["__wrapped__"]))
        if isinstance(value, types.FunctionType | types.MethodType) or not state:
            return tagged("name", text=_public_name(value))
        return self._foreign(value)

    def _reference(self, value: types.FunctionType | Interpreted | type) -> dict[str, Any]:
        """Return a reference to the entry of a function or class with source."""
        assert self._uses is not None
        if id(value) not in self._entries:
            key = self._free_name(_name_of(value))
            self._entries[id(value)] = key
            self._uses[key] = None
            self._waiting.append((key, value))
        return tagged("function", ref=self._entries[id(value)])

    def _code(self, value: types.FunctionType | Interpreted | type) -> Any:
        """Return the source of a function or class; add the names that it uses."""
        what = f"{'class' if isinstance(value, type) else 'function'} {_name_of(value)}"
        try:
            return self._class(value) if isinstance(value, type) else self._def(value, what)
        except Exception as error:
            return unseen(what, f"reading it raised {type(error).__name__}")

    def _def(self, function: types.FunctionType | Interpreted, what: str) -> dict[str, Any]:
        parts = source.parts_of(function)
        self._add_names(parts.namespace, parts.chains)
        for name, value in parts.enclosed:
            if name != "__class__":
                self._add(name, value)
        if parts.source is None:
            content = unseen(what, "it has no source")
        else:
            content = tagged("code", source=parts.source)
        if parts.defaults:
            content["defaults"] = {name: self._use(item) for name, item in parts.defaults.items()}
        return content

    def _class(self, cls: type) -> dict[str, Any]:
        for member in vars(cls).values():
            if isinstance(member, types.FunctionType) and "__name__" in member.__globals__:
                self._namespaces.setdefault(member.__globals__["__name__"], member.__globals__)
        module = sys.modules.get(cls.__module__)
        namespace = self._namespaces.get(cls.__module__, {} if module is None else vars(module))
        # a module beside the control file is forgotten after the run
        sibling = os.path.join(self._directory, *cls.__module__.split(".")) + ".py"
        files = (str(namespace.get("__file__", "")), sibling, self._file)
        node = next(filter(None, (source.class_node(cls, file) for file in files)), None)
        if node is None:  # made by a call, such as namedtuple(…)
            return tagged("name", text=cls.__name__)
        self._add_names(namespace, source.class_references(node))
        return tagged("code", source=ast.unparse(node))

    def _add_names(self, namespace: Mapping[str, Any], chains: Iterable[tuple[str, ...]]) -> None:
        """Add the names of a module that code uses."""
        self._home = namespace if self._home is None else self._home
        self._namespaces.setdefault(str(namespace.get("__name__")), namespace)
        for chain in dict.fromkeys(chains):
            if chain[0] not in namespace or chain[0] in ("__builtins__", "__name__"):
                continue
            value, length = namespace[chain[0]], 1
            while (
                _is_a(value, types.ModuleType)
                and length < len(chain)
                and not is_installed_module(value.__name__)
            ):
                value = getattr(value, chain[length], None)
                length += 1
            name = ".".join(chain[:length])
            prefix = "" if namespace is self._home else f"{namespace.get('__name__')}."
            self._add(prefix + name, value)

    def _add(self, name: str, value: Any) -> None:
        assert self._uses is not None
        content = self._use(value)
        simple = name.rpartition(".")[2]
        if content in (tagged("function", ref=simple), tagged("name", text=simple)):
            return  # it has its own entry, or its name says all
        if self._uses.get(name, content) != content:
            name = self._free_name(name)
        self._uses[name] = content

    def _use(self, value: Any) -> Any:
        """Convert a value; a long one is replaced by its hash."""
        content = self.data(value)
        if len(json.dumps(content)) <= LONGEST_USE:
            return content
        text = json.dumps(_without_directory(content))
        digest = hashlib.sha256(text.encode()).hexdigest()
        large = tagged("large", type=type(value).__name__, sha256=digest)
        if hidden := next(unseen_in(content), None):
            large["holds"] = unseen(hidden["what"], hidden["why"])
        return large

    def _free_name(self, name: str) -> str:
        assert self._uses is not None
        number, free = 2, name
        while free in self._uses:
            free = f"{name} ({number})"
            number += 1
        return free


def escaped(key: str) -> str:
    """Return a key as it is stored: "$" at its beginning is ringmaster's."""
    return f"${key}" if key.startswith("$") else key


def unescaped(key: str) -> str:
    """Return the key that is stored as `key`."""
    return key[1:] if key.startswith("$$") else key


def relative(path: str, directory: str) -> str:
    """Return an absolute path as "./…" or "." if it is in a directory, else unchanged."""
    if directory and path == directory:
        return "."
    inside = directory and path.startswith(directory.rstrip(os.sep) + os.sep)
    return f".{os.sep}{path[len(directory.rstrip(os.sep)) + 1 :]}" if inside else path


def _without_directory(content: Any) -> Any:
    """Return JSON data without the location of the competition directory."""
    if isinstance(content, dict):
        path = content.get("$") == "path"
        return {k: _without_directory(v) for k, v in content.items() if not (path and k == "whole")}
    return [*map(_without_directory, content)] if isinstance(content, list) else content


# Objects of the control file may define any method, also one that raises: the functions
# below run no code of their classes.


def _is_own(cls: type) -> bool:
    """Whether a class is ringmaster's."""
    module = str(cls.__module__)
    return module.partition(".")[0] == "ringmaster" and is_installed_module(module)


def _is_open(cls: type) -> bool:
    """Whether no installed library hides state in objects of a class."""
    return all(
        base in _OPEN or has_source(base) or base.__module__ in _STATELESS for base in cls.__mro__
    )


def _is_a(value: Any, *classes: type) -> bool:
    """Do the same as isinstance, which may ask the object."""
    return issubclass(type(value), classes)


def _state_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object itself, by name."""
    state: dict[str, Any] = {}
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            if isinstance(member, types.MemberDescriptorType) and name != "__dict__":
                try:
                    state.setdefault(name, member.__get__(value, cls))
                except AttributeError:  # not set
                    continue
    try:
        state |= object.__getattribute__(value, "__dict__")
    except AttributeError:
        pass
    return {name: state[name] for name in sorted(state)}


def _items_in(value: Any) -> Iterable[Any]:
    """Return the items of a list, tuple, set or deque of any class."""
    for base in (list, tuple, set, frozenset):
        if _is_a(value, base):
            items: Iterable[Any] = base.__iter__(value)
            return items
    return collections.deque.__iter__(value)


def _pairs_in(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the keys and values of a dictionary of any class, in its order."""
    ordered = _is_a(value, collections.OrderedDict)
    return collections.OrderedDict.items(value) if ordered else dict.items(value)


def _scalar_in(value: Any) -> int | float | str | None:
    """Return the string or number that an object is, whatever its class."""
    if _is_a(value, str):
        return str.__str__(value)
    if _is_a(value, int):
        return int.__int__(value)
    return float.__float__(value) if _is_a(value, float) else None


def _name_of(value: Any) -> str:
    """Return a function's or class's name, of another object its class's."""
    if isinstance(value, functools.partial):
        return _name_of(value.func)
    named = types.FunctionType | Interpreted | type | types.MethodType | types.BuiltinFunctionType
    return str(value.__name__) if isinstance(value, named) else type(value).__name__


def _public_name(value: Any) -> str:
    """Return the name of installed code without private modules.

    Releases of Python move code between private modules.
    """
    module = getattr(value, "__module__", None)
    owner = getattr(value, "__self__", None)
    if module is None and owner is not None and not isinstance(owner, types.ModuleType):
        module = type(owner).__module__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    name = str(name or type(value).__qualname__)
    if not isinstance(module, str) or module == "builtins":
        return name
    parts = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join([*(parts or [module.lstrip("_")]), name])


def _what(value: Any) -> str:
    return f"a {_public_name(type(value))}"


def _kind(cls: type) -> str:
    """Return a class's name for "$"."""
    name = cls.__name__
    reserved = name in _RESERVED and cls not in (set, tuple)
    return f"{name} object" if reserved else name


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(text: str) -> str:
    return text if _is_encodable(text) else ascii(text)
