"""Find top-level values that nothing uses: misspelt settings, settings of other programs or
of another competition type, and arguments that belong in a call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.control.source import Diagnostic, Severity, Source, Span
from ringmaster.errors import similar
from ringmaster.model.settings import REQUIRED, CallOf, Setting

#: difflib ratio of similar names: `exploration_coeficient` passes, but `opening` is not
#: similar to `opponent`.
ALIKE = 0.8

#: Calls that may read any name.
_INDIRECT = frozenset({"globals", "locals", "vars", "eval", "exec", "dir"})

#: Settings without a counterpart in Gomill, whose files may have variables of these names.
_NOT_GOMILLS = frozenset({"rules", "referee", "resources"})

#: Settings for the length of a competition; each type has one at most.
_LENGTHS = ("number_of_games", "rounds", "number_of_generations")
#: Names of these settings in other programs.
_NAMES_OF_LENGTHS = frozenset(
    {
        *_LENGTHS,
        "games",
        "generations",
        "iterations",
        "max_games",
        "number_of_iterations",
        "number_of_rounds",
        "round",
    }
)

#: Names of settings in fastchess, cutechess-cli and OpenBench, with what to write instead.
_FOREIGN = {
    "base_options": "'options' in a Player",
    "base_time_control": "'time_control'",
    "book": "'openings'",
    "book_name": "'openings'",
    "bounds": "'sprt'",
    "concurrency": "'parallel'",
    "dev_options": "'options' in a Player",
    "dev_time_control": "'time_control'",
    "draw": "'draw_adjudication'",
    "each": "'time_control', 'nodes', 'depth', 'move_time' or 'options' for all players",
    "engine": "'players'",
    "engines": "'players'",
    "event": "'description'",
    "hash": 'options = {"Hash": …}',
    "ko_rule": "'rules'",
    "maxmoves": "'move_limit'",
    "pgnout": "'record_files'",
    "proto": "'protocol' in a Player",
    "recover": "'failures'",
    "resign": "'resign_adjudication'",
    "scoring": "'rules'",
    "srand": "'seed'",
    "st": "'move_time'",
    "suicide": "'rules'",
    "tb": "'tablebases'",
    "tc": "'time_control'",
    "threads": 'options = {"Threads": …}',
    "timemargin": "'margin'",
}

#: Arguments with common names: a warning is enough.
_COMMON = frozenset({"name", "id", "description", "options", "cwd", "environ", "path", "file"})
#: Calls that a control file has several times.
_REPEATED = frozenset({"Player", "Matchup", "Parameter", "Stage"})


class NamesInFile:
    """Names in a control file.

    read     names with a value that is used
    updated  names that `+=` and the like change
    calls    names of called functions
    keys     keywords of calls, and strings, which may be keys of a dictionary
    bound    names bound at the top level, each with its first place and `Binding.is_plain`
    loops    variables of loops
    """

    def __init__(self, tree: ast.Module, source: Source) -> None:
        self.read: set[str] = set()
        self.updated: set[str] = set()
        self.calls: set[str] = set()
        self.keys: set[str] = set()
        self.loops: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.For(target=target):
                    self.loops.update(binding.name for binding in _bound(target, None))
                case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                    self.read.add(name)
                case ast.AugAssign(target=ast.Name(id=name)):
                    self.updated.add(name)
                case ast.Call(func=ast.Name(id=name)):
                    self.calls.add(name)
                case ast.keyword(arg=str(name)):
                    self.keys.add(name)
                case ast.Constant(value=str(text)):
                    self.keys.add(text)
        self.bound: dict[str, tuple[Span, bool]] = {}
        for binding in bindings(tree.body):
            span = source.span_of(binding.target)
            self.bound.setdefault(binding.name, (span, binding.is_plain))

    def reads(self, name: str) -> bool:
        """Return whether the file may use a name's value."""
        return name in self.read or bool(self.read & _INDIRECT)

    def own_variables(
        self, table: Iterable[Setting], namespace: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield settings whose values are variables of the file's own (see `Setting`).

        namespace  the file's names after its run
        """
        for setting in table:
            name = setting.name
            is_variable = setting.is_variable or (setting.refuses if name in _NOT_GOMILLS else None)
            if is_variable is None or name not in namespace:
                continue
            of_loop = name in self.loops and name not in self.bound
            if of_loop or (self.reads(name) and is_variable(namespace[name], namespace)):
                yield name


def unused_names(
    text: NamesInFile,
    source: Source,
    competition_type: str,
    settings: Collection[str],
    calls: Mapping[str, CallOf],
    types_with: Callable[[str], Sequence[str]],
) -> list[Diagnostic]:
    """Return a diagnostic for each top-level value that nothing uses.

    It is an error if the name resembles a setting, is a setting of another program or an
    argument of a call: the competition would run with a default.  An argument that is given
    somewhere is a warning, and so is every other value.  Of functions and unpacked names only
    those that resemble a setting count, as a warning beside the setting itself.  Names with a
    leading underscore, loop variables, classes and imports are skipped.

    calls      the calls of the competition type, by kind
    types_with  returns the types that have a setting; called only if needed
    """
    if text.read & _INDIRECT:
        return []
    diagnostics = []
    seen = {"competition_type", *settings}
    for name, (span, is_alone) in text.bound.items():
        if name in seen or name in text.read or name.startswith("_"):
            continue
        is_plain = is_alone and name not in text.updated
        meant = _meant_length(name, settings) if is_plain else None
        kinds = _calls_with(name, calls, text) if is_plain and meant is None else []
        foreign = _foreign(name) if is_plain and meant is None else ""
        message = f"{name!r} is not a setting, and nothing uses it"
        expected = ""
        severity: Severity = "error"
        if kinds:
            message = f"{name!r} is an argument of {' and '.join(kinds)}; nothing uses it here"
            each = " or ".join(f"each {k}" if k in _REPEATED else k for k in kinds)
            expected = f"{name}=… in {each}, or "
            if name in text.keys or name in _COMMON:
                severity = "warning"
        elif foreign:
            expected = f"{foreign}, or "
        elif meant is None and is_plain and (others := types_with(name)):
            types = " and ".join(map(repr, others))
            message = (
                f"{name!r} has no meaning when competition_type is {competition_type!r}; "
                f"it is a setting of {types}"
            )
            severity = "warning"
        elif meant := meant or next(iter(similar(name, settings, 1, ALIKE)), None):
            expected = f"{meant!r}, or "
            if not is_plain and meant in text.bound:
                severity = "warning"
        elif is_plain:
            severity = "warning"
        else:
            continue
        expected += f"'_{name}' for a variable of your own"
        diagnostics.append(source.diagnostic(span, message, expected, severity=severity))
    return diagnostics


def _meant_length(name: str, settings: Collection[str]) -> str | None:
    """Return this type's setting for its length, if a name means it."""
    if name.casefold() not in _NAMES_OF_LENGTHS:
        return None
    return next((length for length in _LENGTHS if length in settings), None)


def _foreign(name: str) -> str:
    """Return what to write for a setting of another program, "" for other names."""
    folded = name.casefold()
    # short names are exact
    near = [folded] if len(folded) < 8 else similar(folded, _FOREIGN, 1, ALIKE)
    return _FOREIGN.get(near[0], "") if near else ""


def _calls_with(name: str, calls: Mapping[str, CallOf], text: NamesInFile) -> list[str]:
    """Return the calls in the file that have an optional argument of this name.

    A setting may stand for the call of its name: `positions = "a.epd"`.  Single letters
    are too common.
    """
    if len(name) == 1:
        return []
    return [
        kind
        for kind, call in calls.items()
        if (kind in text.calls or kind.casefold() in text.bound)
        and any(s.name == name and s.default is not REQUIRED for s in call.settings)
    ]


class Binding(msgspec.Struct, frozen=True):
    """A name that a file binds at its top level.

    target    the node of the name; a function stands for itself
    value     the node of its value; `+=` and a function stand for themselves, None for none
    is_plain  whether it is neither a function nor one of several names bound at once
    """

    name: str
    target: ast.AST
    value: ast.AST | None
    is_plain: bool = True


def bindings(nodes: Iterable[ast.AST]) -> Iterator[Binding]:
    """Yield the names that assignments and functions among statements bind, in order.

    Bodies of `if`, `for`, `with` and `try` count; loop variables, imports and classes do
    not.
    """
    for node in nodes:
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    # `number_of_games = games = 20` explains `games`
                    yield from _bound(target, value, is_plain=len(targets) == 1)
            case ast.AnnAssign(target=target, value=value):
                yield from _bound(target, value)
            case ast.AugAssign(target=target):
                yield from _bound(target, node)
            case ast.FunctionDef(name):
                yield Binding(name, node, node, is_plain=False)
            case ast.ClassDef() | ast.AsyncFunctionDef():
                pass
            case ast.stmt() | ast.ExceptHandler() | ast.match_case():
                yield from bindings(ast.iter_child_nodes(node))


def _bound(target: ast.expr, value: ast.AST | None, is_plain: bool = True) -> Iterator[Binding]:
    if isinstance(target, ast.Name):
        yield Binding(target.id, target, value, is_plain)
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        starred = any(isinstance(part, ast.Starred) for part in (*target.elts, *values))
        paired = not starred and len(values) == len(target.elts)
        for index, element in enumerate(target.elts):
            yield from _bound(element, values[index] if paired else value, is_plain=False)
