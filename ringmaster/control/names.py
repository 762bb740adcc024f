"""Top-level names that nothing in the file reads: misspelt settings, settings of
another competition type, and arguments that belong into a call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from ringmaster.control.diagnostics import Diagnostic, Severity
from ringmaster.control.source import Source, Span
from ringmaster.model.settings import REQUIRED, CallOf

#: difflib ratio from which two names are alike: `exploration_coeficient` is,
#: `opening` and `opponent` are not.
ALIKE = 0.8

#: Where one of these is called, any name may be read without being written out.
_INDIRECT = frozenset({"globals", "locals", "vars", "eval", "exec", "dir"})

#: Settings that say how much is played; a competition type has one of them at most.
_LENGTHS = ("number_of_games", "rounds", "number_of_generations")
#: Names that users of other programs give to these settings.
_NAMES_OF_LENGTHS = frozenset(
    {*_LENGTHS, "games", "generations", "iterations", "number_of_iterations", "number_of_rounds"}
)

#: Arguments with names that a file may well have for itself: a warning is enough.
_COMMON = frozenset({"name", "id", "description", "options", "cwd", "environ", "path", "file"})
#: Calls of which a control file has several.
_REPEATED = frozenset({"Player", "Matchup", "Parameter"})


class _Text:
    """Names that a control file mentions.

    read   names whose value is used, and updated: names that `+=` and the like change
    calls  names of the functions that are called
    given  keywords of calls, and strings, which may be keys of a dictionary
    bound  names bound at the top level, with the first place of each and whether
           several were bound there at once
    """

    def __init__(self, tree: ast.Module, source: Source) -> None:
        self.read: set[str] = set()
        self.updated: set[str] = set()
        self.calls: set[str] = set()
        self.given: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                    self.read.add(name)
                case ast.AugAssign(target=ast.Name(id=name)):
                    self.updated.add(name)
                case ast.Call(func=ast.Name(id=name)):
                    self.calls.add(name)
                case ast.keyword(arg=str(name)):
                    self.given.add(name)
                case ast.Constant(value=str(text)):
                    self.given.add(text)
        self.bound: dict[str, tuple[Span, bool]] = {}
        for name, span, unpacked in _bound(tree.body, source):
            self.bound.setdefault(name, (span, unpacked))


def unused_names(
    tree: ast.Module,
    source: Source,
    competition_type: str,
    settings: Collection[str],
    calls: Mapping[str, CallOf],
    elsewhere: Mapping[str, Sequence[str]],
) -> list[Diagnostic]:
    """Return a diagnostic for each unread top-level name that resembles a setting,
    is an argument of a call, or is a setting of another competition type.

    A name is an error when what it may stand for is given nowhere in the file: the
    competition would run with a default in its place.  Otherwise it is a warning,
    and so is a setting of another type.  Names that the file reads, that begin with
    an underscore or that are loop variables are the user's own.

    calls      the calls that the competition type understands, by kind
    elsewhere  setting names of other types, each with the types it belongs to;
               looked into only when there is an unread name
    """
    text = _Text(tree, source)
    if text.read & _INDIRECT:
        return []
    found = []
    seen = {"competition_type", *settings}
    for name, (span, unpacked) in text.bound.items():
        if name in seen or name in text.read or name.startswith("_"):
            continue
        unpacked = unpacked or name in text.updated
        meant = None if unpacked else _meant_length(name, settings)
        kinds = [] if meant or unpacked else _calls_with(name, calls, text)
        if kinds:
            message = f"{name!r} is an argument of {' and '.join(kinds)}; nothing uses it here"
            each = " or ".join(f"each {k}" if k in _REPEATED else k for k in kinds)
            expected = f"{name}=… in {each}"
            given = name in text.given or name in _COMMON
        elif meant is None and not unpacked and name in elsewhere:
            types = " and ".join(repr(t) for t in elsewhere[name])
            message = (
                f"{name!r} has no meaning when competition_type is {competition_type!r}; "
                f"it is a setting of {types}"
            )
            found.append(source.diagnostic(span, message, severity="warning"))
            continue
        elif meant := meant or _alike(name, settings):
            message = f"{name!r} is not a setting, and nothing uses it"
            expected = repr(meant)
            given = meant in text.bound
        else:
            continue
        expected += f", or '_{name}' for a variable of your own"
        severity: Severity = "warning" if given else "error"
        found.append(source.diagnostic(span, message, expected, severity=severity))
    return found


def _meant_length(name: str, settings: Collection[str]) -> str | None:
    """Return the setting of this type for how much is played, if a name means that."""
    if name.casefold() not in _NAMES_OF_LENGTHS:
        return None
    return next((length for length in _LENGTHS if length in settings), None)


def _calls_with(name: str, calls: Mapping[str, CallOf], text: _Text) -> list[str]:
    """Return the kinds of call in the file that may be given an argument of this name.

    A setting may stand for a call that is named like it: `positions = "a.epd"`.
    Arguments that a call must have are given already; single letters are too common.
    """
    if len(name) == 1:
        return []
    return [
        kind
        for kind, call in calls.items()
        if (kind in text.calls or kind.casefold() in text.bound)
        and any(s.name == name and s.default is not REQUIRED for s in call.settings)
    ]


def _alike(name: str, settings: Collection[str]) -> str | None:
    import difflib

    folded = {s.casefold(): s for s in settings}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=ALIKE)
    return folded[close[0]] if close else None


def _bound(body: Sequence[ast.stmt], source: Source) -> Iterator[tuple[str, Span, bool]]:
    """Yield names bound by assignments and function definitions at top level,
    also inside `if`, `for`, `with` and `try`, and whether several were bound at once;
    loop variables, imports and classes are nobody's misspelt settings."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets):
                for target in targets:
                    for name, span, unpacked in _names(target, source):
                        # `number_of_games = games = 20` says what `games` is
                        yield name, span, unpacked or len(targets) > 1
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                yield from _names(target, source)
            case ast.FunctionDef(name=name, lineno=line):
                start = source.lines[line - 1].find(name) + 1
                yield name, Span(line, start, line, start + len(name)), False
            case ast.ClassDef() | ast.AsyncFunctionDef():
                pass
            case _:
                for field in ("body", "orelse", "finalbody"):
                    yield from _bound(getattr(statement, field, []), source)
                for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                    yield from _bound(part.body, source)


def _names(
    target: ast.expr, source: Source, unpacked: bool = False
) -> Iterator[tuple[str, Span, bool]]:
    if isinstance(target, ast.Name):
        yield target.id, node_span(target, source), unpacked
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _names(element, source, True)


def node_span(node: ast.expr | ast.stmt, source: Source) -> Span:
    """Return the place of a node that CPython's parser made."""
    end_line = node.lineno if node.end_lineno is None else node.end_lineno
    end = node.col_offset if node.end_col_offset is None else node.end_col_offset
    return source.span(node.lineno, node.col_offset, end_line, end)
