"""Warnings about names: a top-level name that nothing in the file reads and
that looks like a setting is probably a misspelt one."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from ringmaster.control.diagnostics import Diagnostic
from ringmaster.control.source import Source, Span

#: difflib ratio from which two names are alike: `exploration_coeficient` is,
#: `opening` and `opponent` are not.
ALIKE = 0.8

#: Where one of these is called, any name may be read without being written out.
_INDIRECT = frozenset({"globals", "locals", "vars", "eval", "exec", "dir"})


def unused_names(
    tree: ast.Module,
    source: Source,
    competition_type: str,
    settings: Collection[str],
    elsewhere: Mapping[str, Sequence[str]],
) -> list[Diagnostic]:
    """Return a warning for each unread top-level name that resembles a setting
    or is one of another competition type.

    elsewhere  setting names of other types, each with the types it belongs to;
               looked into only when there is an unread name
    """
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _is_read(n)}
    if read & _INDIRECT:
        return []
    warnings = []
    seen = {"competition_type", *settings}
    for name, span in _bound(tree.body, source):
        if name in seen or name in read or name.startswith("_"):
            continue
        seen.add(name)
        if name in elsewhere:
            types = " and ".join(repr(t) for t in elsewhere[name])
            message = (
                f"{name!r} has no meaning when competition_type is {competition_type!r}; "
                f"it is a setting of {types}"
            )
            warnings.append(source.diagnostic(span, message, severity="warning"))
        elif meant := _alike(name, settings):
            message = f"{name!r} is not a setting, and nothing uses it"
            warnings.append(source.diagnostic(span, message, repr(meant), severity="warning"))
    return warnings


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _alike(name: str, settings: Collection[str]) -> str | None:
    import difflib

    folded = {s.casefold(): s for s in settings}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=ALIKE)
    return folded[close[0]] if close else None


def _bound(body: Sequence[ast.stmt], source: Source) -> Iterator[tuple[str, Span]]:
    """Yield names bound by assignments and function definitions at top level,
    also inside `if`, `for`, `with` and `try`; loop variables, imports and
    classes are nobody's misspelt settings."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from _names(target, source)
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                yield from _names(target, source)
            case ast.FunctionDef(name=name, lineno=line):
                start = source.lines[line - 1].find(name) + 1
                yield name, Span(line, start, line, start + len(name))
            case ast.ClassDef() | ast.AsyncFunctionDef():
                pass
            case _:
                for field in ("body", "orelse", "finalbody"):
                    yield from _bound(getattr(statement, field, []), source)
                for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                    yield from _bound(part.body, source)


def _names(target: ast.expr, source: Source) -> Iterator[tuple[str, Span]]:
    if isinstance(target, ast.Name):
        yield target.id, node_span(target, source)
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _names(element, source)


def node_span(node: ast.expr | ast.stmt, source: Source) -> Span:
    """Return the place of a node that CPython's parser made."""
    end_line = node.lineno if node.end_lineno is None else node.end_lineno
    end = node.col_offset if node.end_col_offset is None else node.end_col_offset
    return source.span(node.lineno, node.col_offset, end_line, end)
