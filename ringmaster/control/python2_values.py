"""Find expressions to which Python 2, and so Gomill, gave another value without an error.

They are `round` of a half, `/` in modules beside a control file, and bytes in text.
Gomill divides in control files as Python 3 does; in modules `/` of two integers dropped
the fraction, unless the module said `from __future__ import division`.
"""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Iterator
from typing import Any, Final

from ringmaster.control.names import node_span
from ringmaster.control.sibling_modules import imported_siblings
from ringmaster.control.source import Diagnostic, Source
from ringmaster.errors import ControlFileError
from ringmaster.model.settings import Call, SettingPath

#: Competition types that Gomill has: a file of another one was never run by Python 2.
_GOMILL_TYPES: Final = frozenset({"playoff", "allplayall", "mc_tuner", "ce_tuner", "clop_tuner"})

#: Syntax that Python 2 does not have.
_PYTHON_3: Final = (
    *(ast.AnnAssign, ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await, ast.JoinedStr),
    *(ast.Match, ast.MatMult, ast.NamedExpr, ast.Nonlocal, ast.YieldFrom),
)


def changed_values(
    tree: ast.Module, source: Source, competition_type: str, *, modules: bool = True
) -> list[Diagnostic]:
    """Return a warning for each expression that may have another value in Python 2.

    The control file is read, and with `modules` also modules beside it.  A file that Gomill
    could not run has no warnings.  A ce_tuner has none about `round`: its samples are no halves.
    """
    if competition_type not in _GOMILL_TYPES or _is_of_another_game(tree):
        return []
    may_be_halves = competition_type != "ce_tuner"
    warned = [] if _is_python_3(tree) or not may_be_halves else list(_rounded(tree, source))
    for path in imported_siblings(tree, source.file.parent) if modules else ():
        try:
            module = Source.read(path)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                its_tree = ast.parse(module.text)
        except (ControlFileError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # its import raises the error
        if not _is_python_3(its_tree):
            warned += _rounded(its_tree, module) if may_be_halves else ()
            warned += _divided(its_tree, module)
    return warned


def _is_of_another_game(tree: ast.Module) -> bool:
    """Whether the file sets `game` to another game than Go; Gomill plays only Go."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="game")], value=ast.Constant(value=game)):
                return game != "go"
    return False


def _is_python_3(tree: ast.Module) -> bool:
    """Whether a file has syntax that Python 2 does not have."""
    for node in ast.walk(tree):
        match node:
            case ast.arguments(kwonlyargs=[_, *_]) | ast.arguments(posonlyargs=[_, *_]):
                return True
            case ast.FunctionDef(returns=ast.expr()) | ast.arg(annotation=ast.expr()):
                return True
            case ast.Raise(cause=ast.expr()) | ast.ClassDef(keywords=[_, *_]):
                return True
            case ast.Call(func=ast.Name(id="print"), keywords=[_, *_]):
                return True
            case _ if isinstance(node, _PYTHON_3):
                return True
    return False


def _rounded(tree: ast.Module, source: Source) -> Iterator[Diagnostic]:
    """Warn of each call of the built-in `round` that may be given a half."""
    if "round" in _bound(tree):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="round"), args=[value, *digits]):
                if not digits and _is_no_half(value):
                    continue
                if digits:
                    example, expected = (
                        "round(0.25, 1) is 0.2; in Python 2 it was 0.3",
                        ("math.floor(10 * x + 0.5) / 10, and so on for more digits"),
                    )
                else:
                    example, expected = (
                        "round(2.5) is 2; in Python 2 it was 3.0",
                        ("math.floor(x + 0.5), or math.ceil(x - 0.5) for x below 0"),
                    )
                message = f"halves are rounded to the even digit: {example}, and so in Gomill"
                yield source.diagnostic(
                    node_span(node, source), message, expected, severity="warning"
                )


def _divided(tree: ast.Module, source: Source) -> Iterator[Diagnostic]:
    """Warn of each `/` of a module whose operands may both be integers."""
    for statement in tree.body:
        match statement:
            case ast.ImportFrom(module="__future__", names=names):
                if any(alias.name == "division" for alias in names):
                    return
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                pass
            case ast.AugAssign(target=left, op=ast.Div(), value=right):
                pass
            case _:
                continue
        if not _is_float(left) and not _is_float(right):
            yield source.diagnostic(
                node_span(node, source),
                "/ gives a fraction: 7 / 2 is 3.5; in a module of Python 2 it was 3",
                "// for whole numbers, or `from __future__ import division` at the top of the "
                "module if a fraction is meant",
                severity="warning",
            )


def _bound(tree: ast.Module) -> set[str]:
    """Return the names that a file defines at any level."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.arg(arg=name)
            ):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name)
    return names


def _is_no_half(node: ast.expr) -> bool:
    """Whether an argument is a literal number other than a half."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return False
    return isinstance(value, int | float) and value % 1 != 0.5


def _is_float(node: ast.expr) -> bool:
    """Whether an operand is evidently no integer."""
    match node:
        case ast.Constant(value=value):
            return not isinstance(value, int)
        case ast.UnaryOp(operand=operand):
            return _is_float(operand)
        case ast.BinOp(left=left, right=right):
            return _is_float(left) or _is_float(right)
        case (
            ast.Call(func=ast.Name(id="float"))
            | ast.Call(func=ast.Attribute(value=ast.Name(id="math" | "random")))
        ):
            return True
    return False


_FORMATTED_BYTES = re.compile(r"(?<![\w'\"])b(?:'[^'\n]*'|\"[^\"\n]*\")(?!\w)")


def formatted_bytes(value: Any, path: SettingPath, most: int = 10_000) -> Iterator[SettingPath]:
    """Yield the paths of texts in a raw setting that bytes were formatted into.

    "%s" % b"x" is "b'x'", and was "x" in Python 2.  At most `most` values are read.
    """
    waiting = [(value, path)]
    for _ in range(most):
        if not waiting:
            return
        value, path = waiting.pop()
        if isinstance(value, str):
            if _FORMATTED_BYTES.search(value) and not _has_code(value):
                yield path
        elif isinstance(value, Call):
            waiting += [(item, (*path, i)) for i, item in enumerate(value.args)]
            waiting += [(item, (*path, name)) for name, item in value.kwargs.items()]
        elif isinstance(value, dict):
            waiting += [(v, (*path, k)) for k, v in value.items() if isinstance(k, str | int)]
        elif isinstance(value, list | tuple):
            waiting += [(item, (*path, i)) for i, item in enumerate(value)]


def _has_code(text: str) -> bool:
    """Whether a text, or a word of a command line, is a Python program.

    A program may have bytes.
    """
    try:
        words = [text, *shlex.split(text)]
    except ValueError:
        words = [text]
    for word in words:
        try:
            tree = ast.parse(word)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
            return True
    return False
