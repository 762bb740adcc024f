"""Find the source of functions and classes, in one layout, and the names that they use.

Comments, blank lines, docstrings and the way of writing an expression do not count.
Nothing is run.
"""

from __future__ import annotations

import ast
import copy
import dis
import functools
import linecache
import os
import sys
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_THIS_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED = frozenset({"site-packages", "dist-packages"})

#: Instructions by which code reads a name of its module (or of a class body).
_READS_NAME = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_READS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
#: Instructions without a meaning that may stand between the two.
_FILLING = frozenset({"EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP"})

_Tree = TypeVar("_Tree", bound=ast.AST)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class FunctionParts(msgspec.Struct, frozen=True):
    """A function's source, and the names and values that it uses.

    namespace  the names of its module
    chains     names of the module that it reads, each with its attributes
    enclosed   names and values of the functions around it
    source     normalised, None where there is none
    defaults   of its parameters
    """

    namespace: Mapping[str, Any]
    chains: Sequence[tuple[str, ...]]
    enclosed: Sequence[tuple[str, Any]]
    source: str | None
    defaults: Mapping[str, Any]


class Interpreted(ABC):
    """A function of a control file that ringmaster evaluates itself."""

    __name__: str

    @abstractmethod
    def parts(self) -> FunctionParts:
        """Return its source and the names that it uses."""


def parts_of(function: types.FunctionType | Interpreted) -> FunctionParts:
    """Return a function's source and the names that it uses."""
    if isinstance(function, Interpreted):
        return function.parts()
    code = function.__code__
    enclosed = []
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            enclosed.append((name, cell.cell_contents))
        except ValueError:  # not bound yet
            continue
    names = code.co_varnames[: code.co_argcount]
    values = function.__defaults__ or ()
    defaults = dict(zip(names[len(names) - len(values) :], values, strict=True))
    return FunctionParts(
        function.__globals__,
        list(references(code)),
        enclosed,
        function_source(function),
        defaults | (function.__kwdefaults__ or {}),
    )


def is_installed(file: str) -> bool:
    """Whether a file belongs to Python, an installed package or ringmaster.

    Installed code is compared by name, other code by source.
    """
    if file.startswith("<frozen "):
        return True
    parts = file.split(os.sep)
    if not _INSTALLED.isdisjoint(parts):
        return True
    return any(file.startswith(folder + os.sep) for folder in (_STANDARD_LIBRARY, _THIS_PACKAGE))


def is_installed_module(name: str | None) -> bool:
    """Whether `is_installed` holds for an imported module; False for a control file."""
    module = sys.modules.get(name or "")
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    return file is None or is_installed(os.path.abspath(file))


def has_source(value: Any) -> bool:
    """Whether a function or class is of the control file or a file beside it."""
    if isinstance(value, Interpreted):
        return True
    if isinstance(value, type):
        return value.__module__ != "builtins" and not is_installed_module(value.__module__)
    return not (
        is_installed_module(value.__globals__.get("__name__"))
        or is_installed(value.__code__.co_filename)
    )


def function_source(function: types.FunctionType) -> str | None:
    """Return the normalised source of a function, None where there is none.

    Lambdas of one line that compile alike are returned together.
    """
    code = function.__code__
    nodes = [
        node
        for node in _definitions(code.co_filename, function.__globals__).get(code.co_name, ())
        if not isinstance(node, ast.ClassDef) and _first_line(node) == code.co_firstlineno
    ]
    if len(nodes) > 1:
        nodes = [node for node in nodes if _compiles_to(node, code)] or nodes
    return "\n".join(map(ast.unparse, nodes)) or None


def class_node(cls: type, file: str) -> ast.ClassDef | None:
    """Return the definition of a class in a file; of several of one name the last."""
    named = _definitions(file, None).get(cls.__qualname__.rpartition(".")[2], ())
    classes = [node for node in named if isinstance(node, ast.ClassDef)]
    return classes[-1] if classes else None


def _definitions(
    file: str, namespace: Mapping[str, Any] | None
) -> Mapping[str, Sequence[_Definition]]:
    known = namespace if namespace is None or isinstance(namespace, dict) else dict(namespace)
    return _parsed("".join(linecache.getlines(file, known)))


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> dict[str, list[_Definition]]:
    """Return every function, lambda and class of a text by name; empty if it is wrong."""
    tree = _tree(text)
    definitions: dict[str, list[_Definition]] = {}
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, _Definition):
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            definitions.setdefault(name, []).append(node)
    return definitions


def _tree(text: str) -> ast.Module | None:
    """Return the syntax tree of a text without docstrings, None for a syntax error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return _without_docstrings(tree)


def _without_docstrings(tree: _Tree) -> _Tree:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and any(map(_is_bare_string, body)):
            node.body = [  # type: ignore[attr-defined]
                *(statement for statement in body if not _is_bare_string(statement))
            ] or [ast.Pass(lineno=body[0].lineno, col_offset=body[0].col_offset)]
    return tree


@functools.lru_cache(maxsize=64)
def definition_source(node: ast.FunctionDef | ast.Lambda, tree: ast.Module) -> str:
    """Return what `function_source` returns, for a definition in a tree."""
    if isinstance(node, ast.FunctionDef):
        return ast.unparse(_without_docstrings(copy.deepcopy(node)))
    return _lambda_sources(tree)[node]


@functools.lru_cache(maxsize=2)
def _lambda_sources(tree: ast.Module) -> dict[ast.Lambda, str]:
    """Return for each lambda the source of those of its line that do the same."""
    groups: dict[tuple[object, ...], list[ast.Lambda]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            given = node.args
            names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            more = [arg and arg.arg for arg in (given.vararg, given.kwarg)]
            key = (node.lineno, *names, "*", *more, ast.dump(node.body))
            groups.setdefault(key, []).append(node)
    sources: dict[ast.Lambda, str] = {}
    for group in groups.values():
        sources |= dict.fromkeys(group, "\n".join(map(ast.unparse, group)))
    return sources


def bound_names(node: ast.AST) -> frozenset[str]:
    """Return the names that belong to a function or to a part of a file.

    Those of functions and comprehensions inside do not count.
    """
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        given = node.args
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        found |= {arg.arg for arg in every if arg is not None}
        waiting = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while waiting:
        part = waiting.pop()
        match part:
            case ast.FunctionDef(name=name):
                found.add(name)
                continue
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                # `:=` inside it binds a name out here
                inside = (n for n in ast.walk(part) if isinstance(n, ast.NamedExpr))
                found |= {n.target.id for n in inside}
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
        waiting += ast.iter_child_nodes(part)
    return frozenset(found)


@functools.lru_cache(maxsize=64)
def names_read(node: ast.FunctionDef | ast.Lambda) -> list[tuple[str, ...]]:
    """Return the names from outside that a function reads, each with its attributes."""
    body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
    own = bound_names(node)
    return [*dict.fromkeys(chain for part in body for chain in _read(part, own))]


def _read(node: ast.AST, bound: frozenset[str]) -> Iterator[tuple[str, ...]]:
    inner = bound
    parts: list[ast.AST] = [*ast.iter_child_nodes(node)]
    match node:
        case ast.FunctionDef() | ast.Lambda():
            inner = bound | bound_names(node)
            body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
            outer = [part for part in parts if part not in body]
            parts = [*body]
            for part in outer:
                yield from _read(part, bound)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            first = node.generators[0].iter
            yield from _read(first, bound)
            inner = bound.union(*(bound_names(loop.target) for loop in node.generators))
        case ast.Attribute():
            chain: tuple[str, ...] = ()
            while isinstance(node, ast.Attribute):
                chain, node = (node.attr, *chain), node.value
            if isinstance(node, ast.Name):
                if node.id not in bound:
                    yield (node.id, *chain)
                return
            parts = [node]
        case ast.Name(id=name, ctx=ast.Load()):
            if name not in bound:
                yield (name,)
    for part in parts:
        yield from _read(part, inner)


def _first_line(node: _Definition) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _compiles_to(node: _Definition, code: types.CodeType) -> bool:
    """Whether a lambda compiles to the same instructions as `code`."""
    if not isinstance(node, ast.Lambda):
        return True
    (compiled, *_) = compile(ast.Expression(node), "", "eval").co_consts
    return isinstance(compiled, types.CodeType) and _shape(compiled) == _shape(code)


def _shape(code: types.CodeType) -> tuple[object, ...]:
    # the repr tells 1 from 1.0; a nested function's would have its address
    constants = [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_argcount


def _is_bare_string(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@functools.lru_cache(maxsize=16)
def renormalised(text: str) -> str:
    """Return normalised source in this Python's layout.

    Releases of Python write other quotes and brackets.
    """
    tree = _tree(text)
    return text if tree is None else ast.unparse(tree)


def references(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Yield the names of its module that code reads, each with its attributes.

    Functions inside it count.  `math.sqrt` is ("math", "sqrt").
    """
    chain: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname in _READS_NAME:
            if chain:
                yield chain
            chain = (str(instruction.argval),)
        elif chain and instruction.opname in _READS_ATTRIBUTE:
            chain += (str(instruction.argval),)
        elif chain and instruction.opname not in _FILLING:
            yield chain
            chain = ()
    if chain:
        yield chain
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from references(constant)


def class_references(node: ast.ClassDef) -> Iterator[tuple[str, ...]]:
    """Yield the names that a class uses, in its bases, decorators, body and methods."""
    return references(compile(ast.Module([node], []), "", "exec", dont_inherit=True))
