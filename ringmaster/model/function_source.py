"""Where the source of a function or class is, and what it says whatever its
layout: so that two runs can be told to have used the same function.

Comments, blank lines, indentation, docstrings and the way of writing an
expression do not count.  Nothing is run.
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
from collections.abc import Iterator, Mapping
from typing import Any

_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_THIS_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED = frozenset({"site-packages", "dist-packages"})

#: Instructions by which code reads a name of its module (or of a class body).
_READS_NAME = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_READS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
#: Instructions that may stand between the two without meaning anything.
_FILLING = frozenset({"EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def is_installed(file: str) -> bool:
    """Whether code of this file is Python's own, an installed package's or
    ringmaster's: such code is compared by name, not by source."""
    if file.startswith("<frozen "):
        return True
    parts = file.split(os.sep)
    if not _INSTALLED.isdisjoint(parts):
        return True
    return any(file.startswith(folder + os.sep) for folder in (_STANDARD_LIBRARY, _THIS_PACKAGE))


def is_installed_module(name: str | None) -> bool:
    """Whether a module of this name is what `is_installed` calls so; a module
    that was never imported (a control file) is not."""
    module = sys.modules.get(name or "")
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    return file is None or is_installed(os.path.abspath(file))


class _Definitions:
    """What a file defines, found in one walk over its syntax tree.

    functions  by name and first line
    lambdas    by line
    classes    by name, in the order of the walk
    """

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.functions: dict[tuple[str, int], _Function] = {}
        self.lambdas: dict[int, list[ast.Lambda]] = {}
        self.classes: dict[str, list[ast.ClassDef]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault((node.name, _first_line(node)), node)
            elif isinstance(node, ast.Lambda):
                self.lambdas.setdefault(node.lineno, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, []).append(node)


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> _Definitions | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _Definitions(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _module(file: str, namespace: Mapping[str, Any] | None) -> _Definitions | None:
    known = namespace if namespace is None or isinstance(namespace, dict) else dict(namespace)
    text = "".join(linecache.getlines(file, known))
    return _parsed(text) if text.strip() else None


def function_nodes(function: types.FunctionType) -> list[_Function]:
    """Return the definition of a function; several lambdas that cannot be told
    apart (Python was told to keep no columns); none without source."""
    code = function.__code__
    found = _module(code.co_filename, function.__globals__)
    if found is None:
        return []
    if code.co_name != "<lambda>":
        node = found.functions.get((code.co_name, code.co_firstlineno))
        return [] if node is None else [node]
    lambdas = found.lambdas.get(code.co_firstlineno, [])
    return list(lambdas) if len(lambdas) < 2 else _innermost(lambdas, code)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _innermost(lambdas: list[ast.Lambda], code: types.CodeType) -> list[_Function]:
    """Return the lambda that code was made from: the smallest whose body has
    the place of every instruction.  Failing that (Python 3.12 gives constants
    no place, and may be told to keep none at all) those that compile alike."""
    # the first instructions of any function stand for it as a whole and have no width
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if places:
        around = [node for node in lambdas if all(_contains(node.body, p) for p in places)]
        inner = [a for a in around if not any(b is not a and b in ast.walk(a) for b in around)]
        if len(inner) == 1:
            return [inner[0]]
    return [node for node in lambdas if _compiles_to(node, code)] or [*lambdas]


def _contains(node: ast.expr, place: tuple[int | None, ...]) -> bool:
    line, end_line, column, end_column = (p or 0 for p in place)
    end = (node.end_lineno or 0, node.end_col_offset or 0)
    return (node.lineno, node.col_offset) <= (line, column) and (end_line, end_column) <= end


def _compiles_to(node: ast.Lambda, code: types.CodeType) -> bool:
    (made, *_) = compile(ast.Expression(node), "", "eval").co_consts
    return isinstance(made, types.CodeType) and _shape(made) == _shape(code)


def _shape(code: types.CodeType) -> tuple[object, ...]:
    # the repr tells 1 from 1.0; a nested function's would have its address
    constants = [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_argcount


def module_node(module: types.ModuleType) -> ast.Module | None:
    """Return the syntax tree of a module's file."""
    file = getattr(module, "__file__", None)
    found = _module(str(file), vars(module)) if file else None
    return None if found is None else found.tree


def parts_of(member: Any) -> list[Any]:
    """Return what an entry of a class body is made of: the functions of a
    property, of a cached one, of a class method, …; else the entry itself."""
    if type(member).__module__ not in ("builtins", "functools"):
        return [member]  # of the file, perhaps: nothing is asked of it
    match member:
        case staticmethod() | classmethod():
            return parts_of(member.__func__)
        case property():
            return [part for part in (member.fget, member.fset, member.fdel) if part is not None]
        case functools.cached_property():
            return [member.func]
        case functools.partialmethod():
            return [functools.partial(member.func, *member.args, **member.keywords)]
        case functools.singledispatchmethod():
            return [member.dispatcher]
    return [member]


def is_generated(function: types.FunctionType) -> bool:
    """Whether a function was made from no file and no known text."""
    file = function.__code__.co_filename
    return file.startswith("<") and not linecache.getlines(file)


def stands_in(function: types.FunctionType, node: ast.ClassDef) -> bool:
    """Whether a function of a class is one of those defined in its body."""
    name = function.__code__.co_name
    first = function.__code__.co_firstlineno
    if name == "<lambda>":
        return node.lineno <= first <= (node.end_lineno or 0)
    return any(
        isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        and n.name == name
        and _first_line(n) == first
        for n in ast.walk(node)
    )


def names_bound(node: ast.ClassDef) -> frozenset[str]:
    """Return the names that a class body defines."""
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(statement.name)
        else:
            stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
            found |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    return frozenset(found)


def class_node(cls: type, file: str) -> ast.ClassDef | None:
    """Return the definition of a class; of several of one name the last.

    file  where its module's text is, when the module was never imported
    """
    module = sys.modules.get(cls.__module__)
    parts = [part for member in vars(cls).values() for part in parts_of(member)]
    functions = [part for part in parts if isinstance(part, types.FunctionType)]
    own = [
        f
        for f in functions
        if f.__code__.co_qualname.startswith(cls.__qualname__ + ".") and not is_generated(f)
    ]
    if own:
        found = _module(own[0].__code__.co_filename, own[0].__globals__)
    elif module is not None and getattr(module, "__file__", None):
        found = _module(str(module.__file__), vars(module))
    else:
        found = _module(file, None) if file else None
    if found is None:
        return None
    named = found.classes.get(cls.__qualname__.rpartition(".")[2], [])
    lines = {f.__code__.co_firstlineno for f in own}
    around = [n for n in named if lines and n.lineno <= min(lines) <= (n.end_lineno or 0)]
    chosen = around or named
    return chosen[-1] if chosen else None


class _Bare(ast.NodeTransformer):
    """Drops docstrings, and every other string that nothing reads."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [statement for statement in body if not _is_bare_string(statement)]
            if kept or not isinstance(node, ast.Module):
                node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
        return node


def _is_bare_string(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def normalised(node: ast.AST) -> str:
    """Return what a definition says, in one layout."""
    bare = _Bare().visit(copy.deepcopy(node))
    return ast.unparse(ast.fix_missing_locations(bare))


def renormalised(text: str) -> str:
    """Return normalised source in this Python's layout: another release may
    have written it with other quotes or brackets."""
    found = _parsed(text)
    return text if found is None else normalised(found.tree)


def references(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Yield the names of its module that code reads, also in functions inside
    it, each with the attributes taken from it: ("math", "sqrt")."""
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
