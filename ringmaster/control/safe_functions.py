"""Functions and scopes of a control file in safe mode."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any, Protocol

from ringmaster.control.safe_limits import VIEWS
from ringmaster.model.settings import Call

#: No default.
EMPTY: Any = inspect.Parameter.empty


class Scope:
    """Names of a function call, or of a comprehension.

    own     names that belong to it
    values  those that have a value
    outer   the scope around it, None for the names of the file
    """

    __slots__ = ("is_comprehension", "outer", "own", "values")

    def __init__(
        self, own: frozenset[str], outer: Scope | None, is_comprehension: bool = False
    ) -> None:
        self.own = own
        self.values: dict[str, Any] = {}
        self.outer = outer
        self.is_comprehension = is_comprehension


class Evaluator(Protocol):
    """The evaluator of a control file."""

    def call_later(self, function: SafeFunction, args: list[Any], named: dict[str, Any]) -> Any:
        """Return the result of a call by the competition, with new limits."""


class SafeFunction:
    """A function of a control file in safe mode."""

    def __init__(
        self,
        evaluator: Evaluator,
        node: ast.FunctionDef | ast.Lambda,
        scope: Scope | None,
        own: frozenset[str],
        signature: inspect.Signature,
    ) -> None:
        self.__name__ = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        self.__signature__ = signature
        self._evaluator = evaluator
        self.node = node
        self.scope = scope
        self.own = own

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        return self._evaluator.call_later(self, [*args], named)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def defaults(self) -> dict[str, Any]:
        """Return the defaults of the parameters."""
        parameters = self.__signature__.parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}


def scope_of(name: str, scope: Scope | None) -> Scope | None:
    """Return the scope that a name belongs to, None for names of the file."""
    while scope is not None and name not in scope.own:
        scope = scope.outer
    return scope


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


def signature_of(node: ast.arguments, defaults: list[Any], named: list[Any]) -> inspect.Signature:
    """Return the signature of a function.

    defaults  values of the last positional parameters that have one
    named     values of parameters after a star; EMPTY for none
    """
    kinds = inspect.Parameter
    plain = [*node.posonlyargs, *node.args]
    padded = [*[EMPTY] * (len(plain) - len(defaults)), *defaults]
    parameters = [
        kinds(
            arg.arg,
            kinds.POSITIONAL_ONLY if arg in node.posonlyargs else kinds.POSITIONAL_OR_KEYWORD,
            default=default,
        )
        for arg, default in zip(plain, padded, strict=True)
    ]
    if node.vararg is not None:
        parameters.append(kinds(node.vararg.arg, kinds.VAR_POSITIONAL))
    for arg, default in zip(node.kwonlyargs, named, strict=True):
        parameters.append(kinds(arg.arg, kinds.KEYWORD_ONLY, default=default))
    if node.kwarg is not None:
        parameters.append(kinds(node.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def containers_in(value: Any) -> Iterator[tuple[int, Any]]:
    """Yield the id of each list, dictionary and set that a value leads to, and the object."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        match found:
            case dict():
                waiting += [*found.keys(), *found.values()]
            case Call():
                waiting += [found.args, found.kwargs]
            case SafeFunction():
                waiting += [found.defaults(), found.scope]
            case Scope():
                waiting += [found.values, found.outer]
            case list() | tuple() | set():
                waiting += found
            case _ if isinstance(found, VIEWS):
                waiting += found
            case _:
                continue
        seen.add(id(found))
        yield id(found), found
