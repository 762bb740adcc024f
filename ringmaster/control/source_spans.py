"""Find the place of each part of a setting in the control file.

`SettingPlaces.find` follows a setting path through lark's syntax tree and through the
values that running the file left.  A recorded call holds its own place; it serves where
the tree cannot name a part: a Player made by a helper function, an item of a
comprehension.  Where lark cannot parse the file, the place of the call or of the whole
setting is returned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ringmaster.control.calls import NAME as READ_PARAMETERS
from ringmaster.control.names import node_span
from ringmaster.control.safe_parser import parser
from ringmaster.control.safe_syntax import Builder
from ringmaster.control.source import Source, Span
from ringmaster.errors import ControlFileError, shown
from ringmaster.model.settings import (
    Call,
    SettingPath,
)

if TYPE_CHECKING:  # a correct control file does not need lark
    import lark

    Tree = lark.Tree[lark.Token]

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
#: Statements and clauses that may bind a name at the top level of the file.
_BLOCKS = frozenset(
    {
        *("file_input", "simple_stmt", "suite", "assign_stmt", "if_stmt", "elifs", "elif_"),
        *("while_stmt", "for_stmt", "try_stmt", "try_finally", "except_clauses", "except_clause"),
        *("finally", "with_stmt", "match_stmt", "case", "decorated"),
    }
)


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

    value: Tree
    name: Tree | None = None

    def place(self) -> Place:
        return Place(_span(self.value), None if self.name is None else _span(self.name))


class SettingPlaces:
    """Places of settings in one control file.

    module      its tree of module `ast`
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
        self._module = module
        self._namespace = namespace
        self._positional = positional
        self._bindings: dict[str, list[_Node]] = {}
        self._calls: dict[tuple[int, int], list[Tree]] = {}
        tree = parse(source.text)
        self._complete = tree is not None
        if tree is not None:
            for name, node in _bindings(tree):
                self._bindings.setdefault(name, []).append(node)
            for call in tree.find_data("funccall"):
                self._calls.setdefault((call.meta.line, call.meta.column), []).append(call)

    def find(self, path: SettingPath) -> Place:
        """Return the place of a setting path, or of the innermost part around it.

        A path is a setting's name, then dictionary keys, indexes, and names or indexes of
        call arguments.
        """
        name = str(path[0]) if path else "competition_type"
        bindings = self._bindings.get(name)
        node = bindings[-1] if bindings else None
        place = node.place() if node is not None else self._without_tree(name)
        value = self._namespace.get(name, UNKNOWN)
        for key in path[1:]:
            if isinstance(value, Call):
                node, place = self._at_call(value, node, place)
            node = self._child(node.value, key, value) if node is not None else None
            value = part(value, key, self._positional)
            place = node.place() if node is not None else Place(place.value)
        if node is None and isinstance(value, Call):
            place = self._at_call(value, None, place)[1]
        return place

    def _at_call(self, call: Call, node: _Node | None, place: Place) -> tuple[_Node | None, Place]:
        """Return the node and place of a recorded call, or `node` and `place` if unknown."""
        if call.position is None:
            return node, place
        for written in self._calls.get(call.position, ()):
            if _function(written) in (call.kind, READ_PARAMETERS):
                return _Node(written), Place(_span(written))
        if not self._complete:
            line, column = call.position
            place = Place(Span(line, column, line, column + len(call.kind)))
        return node, place

    def _without_tree(self, name: str) -> Place:
        """Return the place of the last assignment of `name`, by the tree of module `ast`.

        A name that is not assigned gets the place of `competition_type`.
        """
        places: dict[str, Place] = {}
        for statement in self._module.body:
            if isinstance(statement, ast.FunctionDef):
                places[statement.name] = Place(node_span(statement, self._source))
            elif isinstance(statement, ast.Assign):
                value = node_span(statement.value, self._source)
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        places[target.id] = Place(value, node_span(target, self._source))
        if name in places:
            return places[name]
        around = places.get("competition_type")
        return Place(around.value if around else Span(1, 1, 1, 2))

    def _child(self, node: Tree, key: str | int, value: Any) -> _Node | None:
        """Return the part of `node` at `key`; `value` is the node's value after the run."""
        node = self._followed(node, value)
        if node.data == "dict":
            return self._entry(node, key, value)
        if node.data == "funccall":
            return self._argument(node, key, value)
        if isinstance(key, int) and key >= 0:
            for index, item in enumerate(_items(node)):
                if index == key:
                    return _Node(item)
        for pair in reversed([*_items(node)]) if isinstance(key, str) else ():
            parts = _trees(pair)
            if pair.data in ("tuple", "list") and len(parts) == 2:
                name, item = parts
                if self._literal(name) == key:
                    return _Node(item, name)
        return None

    def _followed(self, node: Tree, value: Any) -> Tree:
        """Return the node that a name is bound to, if it is bound only once.

        A local name of a function may have the same spelling and another value.
        """
        for _ in range(_HOPS):
            name = _variable(node)
            bindings = self._bindings.get(name, ())
            if len(bindings) != 1 or self._namespace.get(name) is not value:
                break
            node = bindings[0].value
        return node

    def _entry(self, node: Tree, key: str | int, value: Any) -> _Node | None:
        entries: list[_Node] = []
        plain = True
        for entry in _trees(node):
            if entry.data == "key_value":
                name, item = _trees(entry)
                entries.append(_Node(item, name))
            else:
                plain = False  # **another
        for entry_node in reversed(entries):
            assert entry_node.name is not None
            written = self._literal(entry_node.name)
            if written is not UNKNOWN and key_of(written) == key:
                return entry_node
        # a computed key: entries and items correspond one to one
        if plain and isinstance(value, Mapping) and len(value) == len(entries):
            for entry_node, actual in zip(entries, value, strict=True):
                if key_of(actual) == key:
                    return entry_node
        return None

    def _argument(self, node: Tree, key: str | int, value: Any) -> _Node | None:
        function = _function(node)
        if isinstance(value, Call):
            if function != value.kind:
                return None  # the arguments are those of a helper function
        elif function not in self._positional and function != "dict":
            return None
        positional, keywords = _arguments(node)
        if key in keywords:
            return keywords[key]
        index = argument_index(function, key, self._positional)
        return positional[index] if 0 <= index < len(positional) else None

    def _literal(self, node: Tree) -> Any:
        """Return the value of a literal or a top-level name, else UNKNOWN."""
        variable = _variable(node)
        if variable:
            return self._namespace.get(variable, UNKNOWN)
        try:
            return ast.literal_eval(Builder(self._source).expression(node))
        except (ValueError, ControlFileError):
            return UNKNOWN


def parse(text: str) -> Tree | None:
    """Return lark's syntax tree of Python source, or None where lark fails.

    CPython has accepted the file; lark's grammar is narrower.
    """
    try:
        return parser().parse(text + "\n")
    except Exception:  # also AssertionError and RecursionError, besides LarkError
        return None


def _span(node: Tree) -> Span:
    meta = node.meta
    return Span(meta.line, meta.column, meta.end_line, meta.end_column)


def _trees(node: Tree) -> list[Tree]:
    # the other children are tokens, which are strings, and None
    return [child for child in node.children if child is not None and not isinstance(child, str)]


def _variable(node: Tree) -> str:
    """Return the name that a node is, or ""."""
    if node.data == "var":
        node = _trees(node)[0]
    return str(node.children[0]) if node.data == "name" else ""


def _function(call: Tree) -> str:
    return _variable(_trees(call)[0])


def _items(node: Tree) -> Iterator[Tree]:
    """Yield the items of a list, a tuple or a sum of lists, up to an unknown number."""
    operands = node.children if node.data == "arith_expr" else [node]
    for operand in operands:
        if operand == "+":
            continue
        if isinstance(operand, str) or operand.data not in ("list", "tuple", "set"):
            return
        for item in _trees(operand):
            if item.data == "star_expr":
                return
            yield item


def _arguments(call: Tree) -> tuple[list[_Node], dict[str | int, _Node]]:
    """Return the arguments before any *, and keyword arguments by name."""
    positional: list[_Node] = []
    keywords: dict[str | int, _Node] = {}
    waiting = [a for part in _trees(call)[1:] if part.data == "arguments" for a in _trees(part)]
    starred = False
    while waiting:
        argument = waiting.pop(0)
        if argument.data == "argvalue":
            name, item = _trees(argument)
            keywords[_variable(name)] = _Node(item, name)
        elif argument.data == "starargs":
            starred = True
            waiting[:0] = [a for a in _trees(argument) if a.data != "stararg"]
        elif argument.data == "kwargs":
            starred = True
            waiting[:0] = _trees(argument)[1:]
        elif not starred:
            positional.append(_Node(argument))
    return positional, keywords


def _bindings(node: Tree) -> Iterator[tuple[str, _Node]]:
    """Yield the top-level assignments of the file, in order."""
    if node.data == "assign":
        *targets, value = _trees(node)
        for target in targets:
            yield from _bound(target, value)
    elif node.data == "annassign":
        target, _, *rest = _trees(node)
        if rest:
            yield from _bound(target, rest[0])
    elif node.data == "augassign":
        target, _, value = _trees(node)
        yield from _bound(target, node)
    elif node.data == "funcdef":
        name = _trees(node)[0]  # a function's place is where it is named
        yield _variable(name), _Node(name, name)
    elif node.data in _BLOCKS:
        for child in _trees(node):
            yield from _bindings(child)


def _bound(target: Tree, value: Tree) -> Iterator[tuple[str, _Node]]:
    name = _variable(target)
    if name:
        yield name, _Node(value, target)
    elif target.data in ("tuple", "list"):
        targets, values = _trees(target), _trees(value)
        pairs = value.data in ("tuple", "list") and len(targets) == len(values)
        if pairs and not any(t.data == "star_expr" for t in targets + values):
            for one, its_value in zip(targets, values, strict=True):
                yield from _bound(one, its_value)
        else:
            for one in targets:
                yield from _bound(one, value)
