"""The table of what a function uses: functions and classes of the control file
by what they say, values by what `of` makes of them (`model.canonical`)."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import hashlib
import json
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ringmaster.model import function_source as source
from ringmaster.model.inspection import has_source, is_a

#: A value that a function uses, longer than this as JSON, is kept as its hash.
LONGEST_USE = 4000

#: The attribute by which a function of ours names the one it stands for.
STANDS_FOR = "ringmaster_stands_for"


def tagged(kind: str, **content: Any) -> dict[str, Any]:
    """Return what is no plain data as JSON data."""
    return {"$": kind, **content}


def unseen(what: str, why: str) -> dict[str, Any]:
    """Return as JSON data what cannot be compared: "a socket.socket", and why."""
    return tagged("unseen", what=what, why=why)


def unseen_in(content: Any) -> Iterator[dict[str, Any]]:
    """Yield everything in JSON data that cannot be compared."""
    if isinstance(content, dict):
        if content.get("$") == "unseen":
            yield content
        for item in content.values():
            yield from unseen_in(item)
    elif isinstance(content, list):
        for item in content:
            yield from unseen_in(item)


def _without_directory(content: Any) -> Any:
    """Return JSON data without where the competition directory is."""
    if isinstance(content, dict):
        path = content.get("$") == "path"
        return {k: _without_directory(v) for k, v in content.items() if not (path and k == "whole")}
    return [*map(_without_directory, content)] if isinstance(content, list) else content


def name_of(value: Any) -> str:
    """Return a function's or class's name, of another object its class's."""
    if isinstance(value, functools.partial):
        return name_of(value.func)
    named = types.FunctionType | type | types.MethodType | types.BuiltinFunctionType
    return str(value.__name__) if isinstance(value, named) else type(value).__name__


class Uses:
    """What one function uses.

    table  what is used, by name, as JSON data
    of     makes JSON data of a value; for functions and classes with source it
           asks for `reference`
    file   the control file
    """

    def __init__(self, of: Callable[[Any], Any], file: str) -> None:
        self.table: dict[str, Any] = {}
        self._of = of
        self._files = {"": file}
        self._keys: dict[int, str] = {}
        #: Functions whose entries are not made yet: one after the other, since
        #: they may call one another to any depth.
        self._waiting: deque[tuple[str, types.FunctionType | type]] = deque()
        self._walked: set[tuple[int, tuple[str, ...]]] = set()
        self._home = 0

    def whole(self, name: str, value: types.FunctionType | type) -> Any:
        """Return what a function is; `table` has all it uses."""
        self._keys[id(value)] = name
        self.table[name] = None  # it may use itself
        what = self._entry(value)
        self.finish()
        del self.table[name]
        return what

    def finish(self) -> None:
        """Make the entries of all functions that were referred to."""
        while self._waiting:
            key, value = self._waiting.popleft()
            self.table[key] = self._entry(value)

    def reference(self, value: types.FunctionType | type) -> dict[str, Any]:
        """Return a reference to a function's or class's own entry."""
        if id(value) not in self._keys:
            key = self._free(name_of(value))
            self._keys[id(value)] = key
            self.table[key] = None
            self._waiting.append((key, value))
        return tagged("function", ref=self._keys[id(value)])

    def _entry(self, value: types.FunctionType | type) -> Any:
        what = f"{'class' if isinstance(value, type) else 'function'} {name_of(value)}"
        try:
            text = self._class(value) if isinstance(value, type) else self._function(value)
        except Exception as error:
            return unseen(what, f"looking into it raised {type(error).__name__}")
        if isinstance(text, dict):
            return text
        content = unseen(what, "it has no source") if text is None else tagged("code", source=text)
        if isinstance(value, types.FunctionType):
            if defaults := self._defaults(value):
                content["defaults"] = defaults
            if attributes := self._attributes(value):
                content["attributes"] = attributes
        return content

    def _function(self, function: types.FunctionType) -> str | None:
        self._note_names(function)
        nodes = source.function_nodes(function)
        return "\n".join(map(source.normalised, nodes)) if nodes else None

    def _attributes(self, function: types.FunctionType) -> dict[str, Any]:
        held = vars(function)
        return {name: self._use(held[name]) for name in sorted(held) if name != STANDS_FOR}

    def _defaults(self, function: types.FunctionType) -> dict[str, Any]:
        """Return default arguments by name, without those that stand in the
        source as literals."""
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        positional = function.__defaults__ or ()
        values = dict(zip(names[len(names) - len(positional) :], positional, strict=True))
        values |= function.__kwdefaults__ or {}
        literal: set[str] = set()
        if values and (nodes := source.function_nodes(function)):
            node = nodes[0].args
            arguments = [*node.posonlyargs, *node.args]
            with_default = arguments[len(arguments) - len(node.defaults) :]
            pairs = [*zip(with_default, node.defaults, strict=True)]
            pairs += [(a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d]
            literal = {argument.arg for argument, default in pairs if _is_literal(default)}
        return {k: self._use(v) for k, v in values.items() if k not in literal}

    def _note_names(self, function: types.FunctionType) -> None:
        """Note the names of its module and of the functions around it that a
        function uses."""
        namespace = function.__globals__
        self._home = self._home or id(namespace)
        self._files.setdefault(str(namespace.get("__name__")), str(namespace.get("__file__", "")))
        for chain in source.references(function.__code__):
            mark = (id(namespace), chain)
            if mark not in self._walked and chain[0] in namespace and chain[0] != "__builtins__":
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
        while is_a(value, types.ModuleType) and used < len(chain):
            if source.is_installed_module(value.__name__):
                break
            value = getattr(value, chain[used], None)
            used += 1
        name = ".".join(chain[:used])
        if id(namespace) != self._home:
            name = f"{namespace.get('__name__')}.{name}"
        self._note(name, value)

    def _note(self, name: str, value: Any) -> None:
        content = self._use(value)
        simple = name.rpartition(".")[2]
        if content in (tagged("function", ref=simple), tagged("name", text=simple)):
            return  # noted under its own name, or of no more to tell
        if self.table.get(name, content) != content:
            name = self._free(name)
        self.table[name] = content

    def _use(self, value: Any) -> Any:
        content = self._of(value)
        text = json.dumps(content)
        if len(text) <= LONGEST_USE:
            return content
        text = json.dumps(_without_directory(content))
        digest = hashlib.sha256(text.encode()).hexdigest()
        large = tagged("large", type=type(value).__name__, sha256=digest)
        if hidden := next(unseen_in(content), None):
            large["holds"] = unseen(hidden["what"], hidden["why"])
        return large

    # classes

    def _class(self, cls: type) -> Any:
        """Return the source of a class, None without; a name when it has no
        source and needs none, since all that it has is noted."""
        node = source.class_node(cls, self._files.get(cls.__module__) or self._files[""])
        for base in cls.__bases__:
            if base is not object:
                self._note(base.__name__, base)
        if type(cls) is not type and has_source(type(cls)):
            self._note(type(cls).__name__, type(cls))
        body = source.names_bound(node) if node is not None else frozenset()
        functions = False
        for name, member in list(vars(cls).items()):
            for part in source.parts_of(member):
                if is_a(part, types.FunctionType) and has_source(part):
                    if name not in body and source.is_generated(part):
                        continue  # by dataclass, NamedTuple, …
                    functions = True
                    self._note_method(cls, name, part, node)
                elif _is_data(cls, name, part, name in body):
                    self._note(f"{cls.__name__}.{name}", part)
        for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
            if field.default_factory is not dataclasses.MISSING:
                self._note(f"{cls.__name__}.{field.name}", field.default_factory)
        if issubclass(cls, enum.Enum):
            for name, member in cls.__members__.items():
                self._note(f"{cls.__name__}.{name}", member._value_)
        if node is not None:
            return source.normalised(node)
        return None if functions else tagged("name", text=cls.__name__)

    def _note_method(
        self, cls: type, name: str, function: types.FunctionType, node: ast.ClassDef | None
    ) -> None:
        if node is None or not source.stands_in(function, node):
            self._note(f"{cls.__name__}.{name}", function)  # a decorator's, or put there later
            return
        self._note_names(function)
        for argument, content in (self._defaults(function) | self._attributes(function)).items():
            self.table[self._free(f"{cls.__name__}.{name}.{argument}")] = content

    def _free(self, name: str) -> str:
        """Return a name for an entry that is not taken."""
        number, free = 2, name
        while free in self.table:
            free = f"{name} ({number})"
            number += 1
        return free


def _is_data(cls: type, name: str, member: Any, in_body: bool) -> bool:
    """Whether an entry of a class is a value of its own, and not what Python and
    the standard library put there."""
    if name.startswith("__") and name.endswith("__"):
        return in_body and name not in ("__slots__", "__doc__", "__module__", "__qualname__")
    if issubclass(cls, enum.Enum):
        # the members are noted by their values
        return name not in cls.__members__ and not (name.startswith("_") and name.endswith("_"))
    # attributes of slots, fields of a NamedTuple
    is_slot = not has_source(type(member)) and hasattr(type(member), "__set__")
    is_method = is_a(member, types.FunctionType) and not in_body
    return not is_slot and not is_method and name != "_abc_impl"


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return False
    return True
