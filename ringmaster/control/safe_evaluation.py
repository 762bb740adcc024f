"""Evaluate the tree of a control file within bounds; CPython does not run it.

Names, scopes and functions are those of Python.  Functions of the file are evaluated in the
same way when a competition calls them later.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from ringmaster.control.calls import ParameterReader, Recorder
from ringmaster.control.names import bindings
from ringmaster.control.safe_bounds import OutOfBounds
from ringmaster.control.safe_limits import (
    BUILTINS,
    ITEMS,
    ITERATORS,
    MODULES,
    MOST_CALL_STEPS,
    MOST_STEPS,
    Limits,
    guard_of,
)
from ringmaster.control.source import PLACE, Source
from ringmaster.errors import SafeModeError
from ringmaster.model.settings import Call

#: Steps to read a parameter file.
FILE: Final = 20_000
_IMPORTS: Final = {f"import {module.__name__}": module for module in MODULES} | {
    f"from {module.__name__} import {name}": getattr(module, name)
    for module, names in MODULES.items()
    for name in names
}
_SIGNS: Final[Mapping[type, Callable[[Any], Any]]] = {
    **{ast.Not: operator.not_, ast.USub: operator.neg},
    **{ast.UAdd: operator.pos, ast.Invert: operator.invert},
}

_Function = ast.FunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class _Leave(BaseException):
    """Leaves a loop or a function; it is no error.

    way  the statement
    """

    def __init__(self, way: ast.stmt, value: Any = None) -> None:
        self.way = way
        self.value = value


@dataclass(slots=True, eq=False)
class Scope:
    """Names of a function call, or of a comprehension.

    own     names that belong to it
    outer   the scope around it, None for the names of the file
    values  names that have a value
    """

    own: frozenset[str]
    outer: Scope | None
    is_comprehension: bool = False
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class SafeFunction:
    """A function of a control file in safe mode.

    scope  the scope around it
    own    names that belong to it
    """

    evaluator: SafeEvaluator
    node: _Function
    scope: Scope | None
    own: frozenset[str]
    __signature__: inspect.Signature

    def __post_init__(self) -> None:
        self.__name__ = getattr(self.node, "name", "<lambda>")

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        return self.evaluator.call_later(self, [*args], named)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


class SafeEvaluator:
    """Evaluates one control file.

    namespace  its global names
    """

    def __init__(self, source: Source, tree: ast.Module, namespace: dict[str, Any]) -> None:
        self.tree = tree
        self.namespace = namespace
        self.limits = Limits(self.call, MOST_STEPS, {})
        self._source = source
        self._frozen: dict[int, Any] = {}

    def run(self) -> None:
        """Evaluate the file.  An exception has its place in the attribute PLACE."""
        try:
            self._block(self.tree.body, None)
        except _Leave:
            raise SafeModeError("this is outside of a function or loop") from None
        for name, value in self.namespace.items():
            try:
                self.limits.read(value)
            except SafeModeError as error:
                places = {binding.name: binding.target for binding in bindings(self.tree.body)}
                self._note(error, places.get(name, self.tree.body[-1]))
                raise
        self._frozen = dict(_containers_in(self.namespace))

    def call_later(self, function: SafeFunction, args: list[Any], named: dict[str, Any]) -> Any:
        """Return the result of a call by the competition, with new limits."""
        self.limits = Limits(self.call, MOST_CALL_STEPS, self._frozen)
        result = self._invoke(function, args, named)
        self.limits.read(result)
        return result

    def _note(self, error: BaseException, node: ast.AST) -> None:
        if PLACE not in vars(error):
            vars(error)[PLACE] = self._source.span_of(node)

    # statements

    def _block(self, body: Sequence[ast.stmt], scope: Scope | None) -> None:
        for statement in body:
            self.value(statement, scope)

    def _expr(self, node: ast.Expr, scope: Scope | None) -> None:
        self.value(node.value, scope)

    def _pass(self, node: ast.Pass, scope: Scope | None) -> None:
        pass

    def _break(self, node: ast.Break | ast.Continue, scope: Scope | None) -> None:
        raise _Leave(node)

    _continue = _break

    def _return(self, node: ast.Return, scope: Scope | None) -> None:
        raise _Leave(node, None if node.value is None else self.value(node.value, scope))

    def _assign(self, node: ast.Assign, scope: Scope | None) -> None:
        value = self.value(node.value, scope)
        for target in node.targets:
            self._store(target, value, scope)

    def _annassign(self, node: ast.AnnAssign, scope: Scope | None) -> None:
        if node.value is not None:
            self._store(node.target, self.value(node.value, scope), scope)

    def _augassign(self, node: ast.AugAssign, scope: Scope | None) -> None:
        target = node.target
        if isinstance(target, ast.Subscript):
            owner, index = self.value(target.value, scope), self._index(target.slice, scope)
            changed = self._changed(
                node.op, self.limits.item(owner, index), self.value(node.value, scope)
            )
            self.limits.set_item(owner, index, changed)
            return
        assert isinstance(target, ast.Name)
        old = self._look_up(target.id, scope)
        self._store(target, self._changed(node.op, old, self.value(node.value, scope)), scope)

    def _changed(self, sign: ast.operator, old: Any, value: Any) -> Any:
        """Return the result of an operator such as +=; lists and the like are changed."""
        if not isinstance(old, list | set | dict):
            return self.limits.operate(type(sign), old, value)
        self.limits.change(old)
        if isinstance(old, list) and isinstance(sign, ast.Add):
            old += self.limits.list_of(value)
            return old
        new = self.limits.operate(type(sign), old, value)
        if isinstance(old, list):
            old[:] = new
        else:
            old.clear()
            old.update(new)
        return old

    def _if(self, node: ast.If, scope: Scope | None) -> None:
        self._block(node.body if self.value(node.test, scope) else node.orelse, scope)

    def _while(self, node: ast.While, scope: Scope | None) -> None:
        while self.value(node.test, scope):
            if not self._repeat(node.body, scope):
                return
        self._block(node.orelse, scope)

    def _for(self, node: ast.For, scope: Scope | None) -> None:
        items = self.value(node.iter, scope)
        for item in items if isinstance(items, ITERATORS) else self.limits.lazy(items):
            self._store(node.target, item, scope)
            if not self._repeat(node.body, scope):
                return
        self._block(node.orelse, scope)

    def _repeat(self, body: Sequence[ast.stmt], scope: Scope | None) -> bool:
        """Execute the body of a loop; return whether the loop goes on."""
        try:
            self._block(body, scope)
        except _Leave as left:
            if isinstance(left.way, ast.Return):
                raise
            return isinstance(left.way, ast.Continue)
        return True

    def _functiondef(self, node: ast.FunctionDef, scope: Scope | None) -> None:
        self._bind(node.name, self._lambda(node, scope), scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope | None) -> None:
        start = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
        for alias in () if start == "from __future__ import" else node.names:
            text = f"{start} {alias.name}"
            if text not in _IMPORTS:
                raise SafeModeError(f"{text} is not allowed in safe mode")
            self._bind(alias.asname or alias.name, _IMPORTS[text], scope)

    _importfrom = _import

    # names

    def _bind(self, name: str, value: Any, scope: Scope | None) -> None:
        names = self.namespace if scope is None else scope.values
        names[name] = value

    def _store(self, target: ast.expr, value: Any, scope: Scope | None) -> None:
        match target:
            case ast.Name(id=name):
                self._bind(name, value, scope)
            case ast.Subscript(value=owner, slice=index):
                self.limits.set_item(self.value(owner, scope), self._index(index, scope), value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpack(parts, self.limits.list_of(value), scope)
            case _:
                raise SafeModeError("this cannot be assigned in safe mode")

    def _unpack(self, parts: list[ast.expr], values: list[Any], scope: Scope | None) -> None:
        stars = [i for i, part in enumerate(parts) if isinstance(part, ast.Starred)]
        missing = len(parts) - len(stars) - len(values)
        if missing > 0 or (missing < 0 and not stars):
            raise ValueError(f"cannot unpack {len(values)} values (expected {len(parts)})")
        if stars:
            (first,) = stars
            last = len(values) - (len(parts) - first - 1)
            values = [*values[:first], values[first:last], *values[last:]]
        for part, value in zip(parts, values, strict=True):
            self._store(part.value if isinstance(part, ast.Starred) else part, value, scope)

    def _look_up(self, name: str, scope: Scope | None) -> Any:
        while scope is not None and name not in scope.own:
            scope = scope.outer
        values: Mapping[str, Any] = self.namespace if scope is None else scope.values
        if name in values:
            return values[name]
        if scope is None and name in BUILTINS:
            return BUILTINS[name]
        if scope is None and hasattr(builtins, name):
            raise SafeModeError(f"{name} is not allowed in safe mode")
        raise NameError(f"name {name!r} is not defined", name=name)

    # expressions

    def value(self, node: ast.AST, scope: Scope | None) -> Any:
        """Return the value of an expression, or execute a statement."""
        self.limits.spend(1)
        try:
            # methods are named like the classes of nodes
            method = getattr(self, f"_{type(node).__name__.lower()}", self._refuse)
            return method(node, scope)
        except (RecursionError, MemoryError) as error:
            is_deep = isinstance(error, RecursionError)
            fault = "calls are nested too deeply" if is_deep else "too much memory"
            too_much = SafeModeError(f"{fault} for safe mode")
            self._note(too_much, node)
            raise too_much from None
        except (Exception, OutOfBounds) as error:
            self._note(error, node)
            raise

    def _refuse(self, node: ast.AST, scope: Scope | None) -> None:
        raise SafeModeError("this is not allowed in safe mode")

    def _values(self, nodes: Sequence[ast.expr], scope: Scope | None) -> list[Any]:
        """Return the values of a display or of arguments, with the items of starred ones."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += self.limits.list_of(self.value(node.value, scope))
            else:
                values.append(self.value(node, scope))
        self.limits.create(len(values))
        return values

    def _constant(self, node: ast.Constant, scope: Scope | None) -> Any:
        if not isinstance(node.value, str | int | float | None):
            raise SafeModeError(f"{type(node.value).__name__} is not allowed in safe mode")
        return self.limits.checked(node.value)

    def _name(self, node: ast.Name, scope: Scope | None) -> Any:
        return self._look_up(node.id, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope | None) -> Any:
        return tuple(self._values(node.elts, scope))

    def _list(self, node: ast.List, scope: Scope | None) -> Any:
        return self._values(node.elts, scope)

    def _set(self, node: ast.Set, scope: Scope | None) -> Any:
        return self.limits.set_of(self._values(node.elts, scope))

    def _dict(self, node: ast.Dict, scope: Scope | None) -> Any:
        result: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if key is not None:
                name = self.value(key, scope)
                self.limits.set_item(result, name, self.value(item, scope))
                continue
            other = self.value(item, scope)
            if not isinstance(other, dict):
                raise TypeError(f"{type(other).__name__!r} object is not a mapping")
            self.limits.keys([*result, *other])
            result.update(other)
        return result

    def _boolop(self, node: ast.BoolOp, scope: Scope | None) -> Any:
        value = None
        for operand in node.values:
            value = self.value(operand, scope)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _unaryop(self, node: ast.UnaryOp, scope: Scope | None) -> Any:
        return _SIGNS[type(node.op)](self.value(node.operand, scope))

    def _binop(self, node: ast.BinOp, scope: Scope | None) -> Any:
        left = self.value(node.left, scope)
        return self.limits.operate(type(node.op), left, self.value(node.right, scope))

    def _compare(self, node: ast.Compare, scope: Scope | None) -> Any:
        left = self.value(node.left, scope)
        result = True
        for sign, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other, scope)
            result = self.limits.compare(type(sign), left, right)
            if not result:
                break
            left = right
        return result

    def _ifexp(self, node: ast.IfExp, scope: Scope | None) -> Any:
        return self.value(node.body if self.value(node.test, scope) else node.orelse, scope)

    def _namedexpr(self, node: ast.NamedExpr, scope: Scope | None) -> Any:
        value = self.value(node.value, scope)
        while scope is not None and scope.is_comprehension:
            scope = scope.outer
        self._bind(node.target.id, value, scope)
        return value

    def _subscript(self, node: ast.Subscript, scope: Scope | None) -> Any:
        return self.limits.item(self.value(node.value, scope), self._index(node.slice, scope))

    def _index(self, node: ast.expr, scope: Scope | None) -> Any:
        if not isinstance(node, ast.Slice):
            return self.value(node, scope)
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part, scope) for part in parts))

    def _attribute(self, node: ast.Attribute, scope: Scope | None) -> Any:
        return self._member(self.value(node.value, scope), node.attr)

    def _member(self, owner: Any, name: str) -> Any:
        member = f"from {owner.__name__} import {name}" if isinstance(owner, ModuleType) else ""
        if member in _IMPORTS:
            return _IMPORTS[member]
        if isinstance(owner, Recorder):
            return owner.variant(name)
        raise SafeModeError(f".{name} is not allowed in safe mode")

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope | None) -> Any:
        return self.limits.checked("".join([self.value(part, scope) for part in node.values]))

    def _formattedvalue(self, node: ast.FormattedValue, scope: Scope | None) -> Any:
        value = self.value(node.value, scope)
        layout = "" if node.format_spec is None else self.value(node.format_spec, scope)
        conversion = chr(node.conversion) if node.conversion > 0 else ""
        return self.limits.format(value, layout, conversion)

    # comprehensions

    def _listcomp(self, node: ast.ListComp, scope: Scope | None) -> Any:
        return self.limits.list_of(self._generatorexp(node, scope))

    def _setcomp(self, node: ast.SetComp, scope: Scope | None) -> Any:
        return self.limits.set_of(self._generatorexp(node, scope))

    def _dictcomp(self, node: ast.DictComp, scope: Scope | None) -> Any:
        pairs = self.limits.list_of(self._generatorexp(node, scope))
        self.limits.keys([key for key, _ in pairs])
        return dict(pairs)

    def _generatorexp(self, node: _Comprehension, scope: Scope | None) -> Iterator[Any]:
        """Return an iterator over a comprehension; its first list is evaluated at once."""
        first = self.limits.lazy(self.value(node.generators[0].iter, scope))
        return self._loop(node, 0, first, Scope(_bound_names(node), scope, True))

    def _loop(
        self, node: _Comprehension, number: int, items: Iterator[Any], scope: Scope
    ) -> Iterator[Any]:
        loop = node.generators[number]
        for item in items:
            self._store(loop.target, item, scope)
            if not all(self.value(test, scope) for test in loop.ifs):
                continue
            if number + 1 < len(node.generators):
                inner = self.value(node.generators[number + 1].iter, scope)
                yield from self._loop(node, number + 1, self.limits.lazy(inner), scope)
            elif isinstance(node, ast.DictComp):
                yield self.value(node.key, scope), self.value(node.value, scope)
            else:
                yield self.value(node.elt, scope)

    # functions

    def _lambda(self, node: _Function, scope: Scope | None) -> SafeFunction:
        defaults = self._values(node.args.defaults, scope)
        absent = inspect.Parameter.empty
        named = [absent if d is None else self.value(d, scope) for d in node.args.kw_defaults]
        own = _bound_names(node)
        self.limits.spend(len(own))
        return SafeFunction(self, node, scope, own, _signature_of(node.args, defaults, named))

    def _call(self, node: ast.Call, scope: Scope | None) -> Any:
        method = ""
        if isinstance(node.func, ast.Attribute):
            function, method = self.value(node.func.value, scope), node.func.attr
            if isinstance(function, Recorder | ModuleType):
                function, method = self._member(function, method), ""
        else:
            function = self.value(node.func, scope)
        args = self._values(node.args, scope)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg is not None:
                value = {keyword.arg: value}
            if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
                raise TypeError("argument after ** must be a dictionary with strings as keys")
            if not named.keys().isdisjoint(value):
                raise TypeError("got multiple values for a keyword argument")
            self.limits.create(len(value))
            named |= value
        if method:
            return self.limits.method(function, method, args, named)
        if isinstance(function, ParameterReader):
            self.limits.spend(FILE)
        if isinstance(function, Recorder | ParameterReader):
            place = self._source.span_of(node)
            return function.called((place.line, place.column), *args, **named)
        return self.call(function, args, named)

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(function, SafeFunction):
            return self._invoke(function, args, named)
        guard = guard_of(function)
        if guard is not None:
            return self.limits.checked(guard(self.limits, *args, **named))
        if isinstance(function, Recorder):
            return function.called(None, *args, **named)
        raise TypeError(f"{type(function).__name__!r} object is not callable")

    def _invoke(self, function: SafeFunction, args: list[Any], named: dict[str, Any]) -> Any:
        self.limits.spend(len(function.__signature__.parameters))
        try:
            bound = function.__signature__.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{function.__name__}() {error}") from None
        bound.apply_defaults()
        scope = Scope(function.own, function.scope)
        scope.values.update(bound.arguments)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            self._block(function.node.body, scope)
        except _Leave as left:
            if not isinstance(left.way, ast.Return):
                raise SafeModeError("this is outside of a loop") from None
            return left.value


@functools.lru_cache(maxsize=1000)
def _bound_names(node: _Function | _Comprehension) -> frozenset[str]:
    """Return the names that belong to a function or comprehension.

    Those of functions and comprehensions inside do not count.
    """
    found: set[str] = set()
    waiting: list[ast.AST]
    if isinstance(node, _Comprehension):
        waiting = [loop.target for loop in node.generators]
    else:
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


def _signature_of(node: ast.arguments, defaults: list[Any], named: list[Any]) -> inspect.Signature:
    """Return the signature of a function.

    defaults  values of the last positional parameters that have one
    named     values of parameters after a star; `Parameter.empty` for none
    """
    kinds = inspect.Parameter
    plain: list[tuple[str, Any]] = [(arg.arg, kinds.POSITIONAL_ONLY) for arg in node.posonlyargs]
    plain += [(arg.arg, kinds.POSITIONAL_OR_KEYWORD) for arg in node.args]
    padded = [*[kinds.empty] * (len(plain) - len(defaults)), *defaults]
    parameters = [kinds(*arg, default=value) for arg, value in zip(plain, padded, strict=True)]
    if node.vararg is not None:
        parameters.append(kinds(node.vararg.arg, kinds.VAR_POSITIONAL))
    for arg, default in zip(node.kwonlyargs, named, strict=True):
        parameters.append(kinds(arg.arg, kinds.KEYWORD_ONLY, default=default))
    if node.kwarg is not None:
        parameters.append(kinds(node.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _containers_in(value: Any) -> Iterator[tuple[int, Any]]:
    """Yield the id of each list, dictionary and set that a value leads to, and the object."""
    seen: set[int] = set()
    waiting: list[Any] = [value]
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
                waiting += [found.scope]
                waiting += [p.default for p in found.__signature__.parameters.values()]
            case Scope():
                waiting += [found.values, found.outer]
            case _ if isinstance(found, ITEMS):
                waiting += found
            case _:
                continue
        seen.add(id(found))
        yield id(found), found
