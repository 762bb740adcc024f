"""Find the place of each part of a setting in the control file.

`SettingPlaces.find` follows a setting path through the tree of the file and through the
values that running the file left.  A recorded call holds its own place; it serves where
the tree cannot name a part: a Player made by a helper function, an item of a
comprehension.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ringmaster.control.calls import NAME as READ_PARAMETERS
from ringmaster.control.names import bindings
from ringmaster.control.source import Source, Span
from ringmaster.errors import shown
from ringmaster.model.settings import Call, SettingPath

#: The value of a path without a value.
UNKNOWN: Final = object()

#: For each kind of call, the names of its positional arguments.
Positional = Mapping[str, Sequence[str]]


def key_of(key: Any) -> str | int:
    """Return a dictionary key in the form of setting paths."""
    return key if isinstance(key, str | int) else shown(key)


def argument_index(kind: str, key: str | int, positional: Positional) -> int:
    """Return the index of the positional argument `key`, -1 for none."""
    if isinstance(key, int):
        return key
    names = positional.get(kind, ())
    return names.index(key) if key in names else -1


def part(value: Any, key: str | int, positional: Positional) -> Any:
    """Return the part of a raw value at a path's next key, or UNKNOWN."""
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
    """Return a path in Python's notation: `players['sf'].options`.

    An argument of a call is an attribute, every other part an index.
    """
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


#: Names followed from one to the next (`a = b`, `b = c`, …).
_HOPS = 20


class Place(msgspec.Struct, frozen=True):
    """The place of a setting path.

    value  the whole value
    name   the setting's name, the dictionary key or the keyword; None for list items and
           positional arguments
    """

    value: Span
    name: Span | None = None


class _Node(msgspec.Struct, frozen=True):
    """A part of an expression and the node that names it."""

    value: ast.AST
    name: ast.AST | None = None


class SettingPlaces:
    """Places of settings in one control file.

    module      its tree
    namespace   global names after running the file
    positional  for each kind of call, the names of its positional arguments
    """

    def __init__(
        self,
        source: Source,
        module: ast.Module,
        namespace: Mapping[str, Any],
        positional: Positional,
    ) -> None:
        self._source = source
        self._namespace = namespace
        self._positional = positional
        self._bindings: dict[str, list[_Node]] = {}
        for binding in bindings(module.body):
            if binding.value is not None:
                node = _Node(binding.value, binding.target)
                self._bindings.setdefault(binding.name, []).append(node)
        self._calls: dict[tuple[int, int], list[ast.Call]] = {}
        for call in ast.walk(module):
            if isinstance(call, ast.Call):
                span = source.span_of(call)
                self._calls.setdefault((span.line, span.column), []).append(call)

    def find(self, path: SettingPath) -> Place:
        """Return the place of a setting path, or of the innermost part around it.

        A path is a setting's name, then dictionary keys, indexes, and names or indexes of
        call arguments.  The place of a missing setting is that of the competition type.
        """
        name = str(path[0]) if path else "competition_type"
        innermost = self._last("competition_type")
        node = self._last(name)
        value = self._namespace.get(name, UNKNOWN)
        for key in path[1:]:
            node = self._recorded(value) or node
            innermost = node or innermost
            node = node and self._child(node.value, key, value)
            value = part(value, key, self._positional)
        node = node or self._recorded(value)
        if node is not None:
            name_span = None if node.name is None else self._source.span_of(node.name)
            return Place(self._source.span_of(node.value), name_span)
        return Place(self._source.span_of(innermost.value) if innermost else Span(1, 1, 1, 2))

    def _last(self, name: str) -> _Node | None:
        """Return the last value that the file gives to a top-level name."""
        nodes = self._bindings.get(name)
        return nodes[-1] if nodes else None

    def _recorded(self, value: Any) -> _Node | None:
        if isinstance(value, Call) and value.position is not None:
            for written in self._calls.get(value.position, ()):
                if ast.unparse(written.func) in (value.kind, READ_PARAMETERS):
                    return _Node(written)
        return None

    def _child(self, node: ast.AST, key: str | int, value: Any) -> _Node | None:
        """Return the part of `node` at `key`; `value` is the node's value after the run."""
        node = self._followed(node, value)
        if isinstance(node, ast.Dict):
            return self._entry(node, key, value)
        if isinstance(node, ast.Call):
            return self._argument(node, key, value)
        items = list(_items(node))
        if isinstance(key, int):
            return _Node(items[key]) if 0 <= key < len(items) else None
        for pair in reversed(items):
            match pair:
                case ast.Tuple([name, item]) | ast.List([name, item]):
                    if self._literal(name) == key:
                        return _Node(item, name)
        return None

    def _followed(self, node: ast.AST, value: Any) -> ast.AST:
        """Return the node that a name is bound to, if it is bound only once.

        A local name of a function may have the same spelling and another value.
        """
        for _ in range(_HOPS):
            if not isinstance(node, ast.Name):
                break
            nodes = self._bindings.get(node.id, ())
            if len(nodes) != 1 or self._namespace.get(node.id) is not value:
                break
            node = nodes[0].value
        return node

    def _entry(self, node: ast.Dict, key: str | int, value: Any) -> _Node | None:
        pairs = list(zip(node.keys, node.values, strict=True))
        for name, item in reversed(pairs):
            written = UNKNOWN if name is None else self._literal(name)
            if written is not UNKNOWN and key_of(written) == key:
                return _Node(item, name)
        # a computed key: entries and items correspond one to one, without **another
        if None not in node.keys and isinstance(value, Mapping) and len(value) == len(pairs):
            for (name, item), actual in zip(pairs, value, strict=True):
                if key_of(actual) == key:
                    return _Node(item, name)
        return None

    def _argument(self, node: ast.Call, key: str | int, value: Any) -> _Node | None:
        function = ast.unparse(node.func)
        if isinstance(value, Call):
            if function != value.kind:
                return None  # the arguments are those of a helper function
        elif function not in self._positional and function != "dict":
            return None
        for keyword in node.keywords:
            if keyword.arg == key:
                return _Node(keyword.value, keyword)
        index = argument_index(function, key, self._positional)
        before = node.args[: index + 1]
        if index < 0 or len(before) <= index or any(isinstance(a, ast.Starred) for a in before):
            return None
        return _Node(before[index])

    def _literal(self, node: ast.expr) -> Any:
        """Return the value of a literal or a top-level name, else UNKNOWN."""
        if isinstance(node, ast.Name):
            return self._namespace.get(node.id, UNKNOWN)
        return literal(node)


def literal(node: ast.expr) -> Any:
    """Return the value of a literal that may be a key, else UNKNOWN."""
    try:
        value = ast.literal_eval(node)
        hash(value)
    except (ValueError, TypeError):
        return UNKNOWN
    return value


def _items(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the items of a list, a tuple or a sum of lists, up to an unknown number."""
    operands = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        operands.append(node.right)
        node = node.left
    for operand in (node, *reversed(operands)):
        if not isinstance(operand, ast.List | ast.Tuple | ast.Set):
            return
        for item in operand.elts:
            if isinstance(item, ast.Starred):
                return
            yield item
