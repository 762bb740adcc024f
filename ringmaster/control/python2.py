"""Tell of Python 2 in a control file: Gomill ran its files by it.

Syntax and names that Python 3 removed get a remedy beside the error.  Expressions that
have another value get a warning: `round` of a half, and `/` in modules beside the control
file.  Gomill divides in control files as Python 3 does; in modules `/` of two integers
dropped the fraction, unless the module said `from __future__ import division`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Final

from ringmaster.control.sibling_modules import imported_siblings
from ringmaster.control.source import Diagnostic, Source
from ringmaster.errors import ControlFileError

#: Patterns of CPython's message and of the text at its place, and the syntax of Python 3.
_SYNTAX: Final = (
    ("call to '(print|exec)'", "", "brackets: print(…) and exec(…) are functions in Python 3"),
    ("multiple exception types", "", "except ValueError as error, or except (A, B) as error"),
    ("", "`", "repr(…), which was `…` in Python 2"),
    ("unicodeescape", "", "r before the quotes, or \\\\ for each backslash"),
)

#: Names that were removed, and the names of Python 3.
_NAMES: Final[Mapping[str, str]] = {
    "xrange": "range",
    "unicode": "str",
    "basestring": "str",
    "unichr": "chr",
    "long": "int",
    "raw_input": "input",
    "file": "open",
    "reduce": "functools.reduce, after `import functools`",
    "execfile": "exec(open(name).read())",
    "cmp": "(a > b) - (a < b)",
    "StandardError": "Exception",
    "iteritems": ".items()",
    "itervalues": ".values()",
    "iterkeys": ".keys()",
    "has_key": "`key in dictionary`",
    "gomill": "no import: Player, Matchup and the other calls are predefined",
}

#: Competition types that Gomill has: a file of another one was never run by Python 2.
_GOMILL_TYPES: Final = frozenset({"playoff", "allplayall", "mc_tuner", "ce_tuner", "clop_tuner"})

#: Functions and modules whose results are seldom integers.
_OF_FLOATS: Final = frozenset({"float", "math", "random"})

#: Syntax that Python 2 does not have.
_PYTHON_3: Final = (ast.AnnAssign, ast.JoinedStr, ast.Match, ast.NamedExpr, ast.Nonlocal)


def syntax_remedy(error: SyntaxError) -> str:
    """Return Python 3 code for the Python 2 that a syntax error is about, "" if unknown."""
    at = (error.text or "")[max((error.offset or 1) - 1, 0) :]
    for message, text, instead in _SYNTAX:
        if re.search(message, error.msg) and re.match(text, at):
            return instead
    return ""


def remedy(error: BaseException) -> str:
    """Return Python 3 code for an error that Python 2 code raised, "" if unknown."""
    name = ""
    match error:
        case NameError() | ImportError():
            name = (error.name or "").partition(".")[0]
        case AttributeError() if isinstance(error.obj, Mapping):
            name = error.name or ""
    return f"{_NAMES[name]} ({name} is Python 2)" if name in _NAMES else ""


def changed_values(
    tree: ast.Module, source: Source, competition_type: str, *, modules: bool = True
) -> list[Diagnostic]:
    """Return a warning for each expression that may have another value in Python 2.

    The control file is read, and with `modules` also modules beside it.  A file that Gomill
    could not run has no warnings.  A ce_tuner has none about `round`: its samples are no halves.
    """
    if competition_type not in _GOMILL_TYPES:
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


def _is_python_3(tree: ast.Module) -> bool:
    """Return whether a file has syntax that Python 2 does not have."""
    for node in ast.walk(tree):
        match node:
            case ast.arguments(kwonlyargs=[_, *_]) | ast.arg(annotation=ast.expr()):
                return True
            case _ if isinstance(node, _PYTHON_3):
                return True
    return False


def _rounded(tree: ast.Module, source: Source) -> Iterator[Diagnostic]:
    """Warn of each call of the built-in `round`."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef("round") | ast.alias("round") | ast.alias(asname="round"):
                return
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("round"), [_, *digits]):
                yield source.diagnostic(
                    source.span_of(node),
                    "halves are rounded to the even digit: round(2.5) is 2; in Python 2 it was "
                    "3.0, and so in Gomill",
                    "" if digits else "math.floor(x + 0.5), or math.ceil(x - 0.5) for x below 0",
                    severity="warning",
                )


def _divided(tree: ast.Module, source: Source) -> Iterator[Diagnostic]:
    """Warn of each `/` of a module whose operands may both be integers."""
    for statement in tree.body:
        match statement:
            case ast.ImportFrom("__future__", names):
                if any(alias.name == "division" for alias in names):
                    return
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left, ast.Div(), right) | ast.AugAssign(left, ast.Div(), right):
                if not _is_float(left) and not _is_float(right):
                    yield source.diagnostic(
                        source.span_of(node),
                        "/ gives a fraction: 7 / 2 is 3.5; in a module of Python 2 it was 3",
                        "// for whole numbers, or `from __future__ import division` at the top "
                        "of the module if a fraction is meant",
                        severity="warning",
                    )


def _is_float(operand: ast.expr) -> bool:
    """Return whether an operand has a number with a point, or a function of such numbers."""
    parts = list(ast.walk(operand))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    values = [part.value for part in parts if isinstance(part, ast.Constant)]
    return not names.isdisjoint(_OF_FLOATS) or any(isinstance(value, float) for value in values)
