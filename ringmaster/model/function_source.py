"""Find the source of functions and classes, in one layout, and the names that they use.

Comments, blank lines, docstrings and the way of writing an expression do not count.
Nothing is run.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import os
import sys
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_THIS_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED = frozenset({"site-packages", "dist-packages"})

#: Instructions by which code reads a name of its module (or of a class body).
_READS_NAME = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_READS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
#: Instructions without a meaning that may stand between the two.
_FILLING = frozenset({"EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP"})

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


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
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and any(map(_is_bare_string, body)):
            node.body = [  # type: ignore[attr-defined]
                *(statement for statement in body if not _is_bare_string(statement))
            ] or [ast.Pass(lineno=body[0].lineno, col_offset=body[0].col_offset)]
    return tree


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
