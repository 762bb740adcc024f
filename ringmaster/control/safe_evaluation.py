"""Evaluate the tree of a control file within bounds; CPython does not compile it.

Names, scopes and functions are those of Python.  Functions of the file are evaluated in the
same way when a competition calls them later.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from ringmaster.control.calls import ParameterReader, Recorder
from ringmaster.control.names import node_span
from ringmaster.control.safe_builtins import BUILTINS, guard_of, sort
from ringmaster.control.safe_functions import (
    EMPTY,
    SafeFunction,
    Scope,
    bound_names,
    containers_in,
    scope_of,
    signature_of,
)
from ringmaster.control.safe_limits import ITERATORS, MODULES, MOST_CALL_STEPS, Limits
from ringmaster.control.source import PLACE, Source
from ringmaster.errors import SafeModeError

#: Calls of functions of the file inside each other.
MOST_CALLS: Final = 50
#: Named arguments of a call.
MOST_NAMED: Final = 200
#: Steps to read a parameter file.
FILE: Final = 20_000
_MODULES: Final = {module.__name__: module for module in MODULES}

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class _Leave(Exception):
    """Leaves a loop or a function.

    way  the statement
    """

    def __init__(self, way: ast.stmt, value: Any = None) -> None:
        self.way = way
        self.value = value


class SafeEvaluator:
    """Evaluates one control file.

    namespace  its global names
    """

    def __init__(self, source: Source, tree: ast.Module, namespace: dict[str, Any]) -> None:
        self.tree = tree
        self.namespace = namespace
        self.limits = Limits()
        self._source = source
        self._calls = 0
        self._bound: dict[ast.AST, frozenset[str]] = {}
        self._statement: ast.stmt = tree.body[0]
        self._places: dict[str, ast.stmt] = {}
        self._frozen: dict[int, Any] | None = None

    def run(self) -> None:
        """Evaluate the file.  An exception has its place in the attribute PLACE."""
        try:
            self._block(self.tree.body, None)
            for name, value in self.namespace.items():
                try:
                    self.limits.read(value)
                except SafeModeError as error:
                    self._note(error, self._places.get(name, self._statement))
                    raise
        except _Leave as left:
            outside = SafeModeError("this is outside of a function or loop")
            self._note(outside, left.way)
            raise outside from None
        except RecursionError as error:
            raise self._too_deep(error) from None
        self._frozen = dict(containers_in(self.namespace))

    def call_later(self, function: SafeFunction, args: list[Any], named: dict[str, Any]) -> Any:
        """Return the result of a call by the competition, with new limits."""
        self.limits = Limits(MOST_CALL_STEPS, self._frozen)
        self._calls = 0
        try:
            result = self._invoke(function, args, named)
            self.limits.read(result)
            return result
        except RecursionError as error:
            raise self._too_deep(error) from None

    def _too_deep(self, error: RecursionError) -> SafeModeError:
        new = SafeModeError("calls are nested too deeply for safe mode")
        vars(new).update(vars(error))
        return new

    def _note(self, error: BaseException, node: ast.expr | ast.stmt) -> None:
        if PLACE not in vars(error):
            vars(error)[PLACE] = node_span(node, self._source)

    # statements

    def _block(self, body: Sequence[ast.stmt], scope: Scope | None) -> None:
        for statement in body:
            if scope is None:
                self._statement = statement
            self.limits.spend(1)
            execute = _STATEMENTS.get(type(statement))
            try:
                if execute is None:
                    raise SafeModeError("this statement is not allowed in safe mode")
                execute(self, statement, scope)
            except _Leave:
                raise
            except Exception as error:
                self._note(error, statement)
                raise

    def _expr(self, node: ast.Expr, scope: Scope | None) -> None:
        self.value(node.value, scope)

    def _pass(self, node: ast.Pass, scope: Scope | None) -> None:
        pass

    def _leave(self, node: ast.Break | ast.Continue, scope: Scope | None) -> None:
        raise _Leave(node)

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
        if scope is not None and scope_of(target.id, scope) is not scope:
            raise SafeModeError(f"{target.id!r} is no variable of this function")
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
        for item in self._iterate(self.value(node.iter, scope)):
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

    def _iterate(self, value: Any) -> Iterator[Any]:
        return iter(value) if isinstance(value, ITERATORS) else self.limits.lazy(value)

    def _functiondef(self, node: ast.FunctionDef, scope: Scope | None) -> None:
        self._bind(node.name, self._function(node, scope), scope)

    def _import(self, node: ast.Import, scope: Scope | None) -> None:
        for alias in node.names:
            if alias.name not in _MODULES:
                raise SafeModeError(f"import {alias.name} is not allowed in safe mode")
            self._bind(alias.asname or alias.name, _MODULES[alias.name], scope)

    def _importfrom(self, node: ast.ImportFrom, scope: Scope | None) -> None:
        if node.module == "__future__":
            return
        module = _MODULES.get(node.module or "")
        for alias in node.names:
            if module is None or alias.name not in MODULES[module]:
                what = f"from {node.module} import {alias.name}"
                raise SafeModeError(f"{what} is not allowed in safe mode")
            self._bind(alias.asname or alias.name, getattr(module, alias.name), scope)

    # names

    def _bind(self, name: str, value: Any, scope: Scope | None) -> None:
        if scope is None:
            self.namespace[name] = value
            self._places[name] = self._statement
        else:
            scope.values[name] = value

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
        if len(values) < len(parts) - len(stars):
            raise ValueError(
                f"not enough values to unpack (expected {len(parts)}, got {len(values)})"
            )
        if not stars and len(values) > len(parts):
            raise ValueError(f"too many values to unpack (expected {len(parts)})")
        if stars:
            first, last = stars[0], len(values) - (len(parts) - stars[0] - 1)
            values = [*values[:first], values[first:last], *values[last:]]
        for part, value in zip(parts, values, strict=True):
            self._store(part.value if isinstance(part, ast.Starred) else part, value, scope)

    def _look_up(self, name: str, scope: Scope | None) -> Any:
        owner = scope_of(name, scope)
        values: Mapping[str, Any] = self.namespace if owner is None else owner.values
        if name in values:
            return values[name]
        if owner is None and name in BUILTINS:
            return BUILTINS[name]
        if owner is None and hasattr(builtins, name):
            raise SafeModeError(f"{name} is not allowed in safe mode")
        raise NameError(f"name {name!r} is not defined", name=name)

    # expressions

    def value(self, node: ast.expr, scope: Scope | None) -> Any:
        """Return the value of an expression."""
        self.limits.spend(1)
        evaluate = _EXPRESSIONS.get(type(node))
        try:
            if evaluate is None:
                raise SafeModeError("this expression is not allowed in safe mode")
            return evaluate(self, node, scope)
        except Exception as error:
            self._note(error, node)
            raise

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
        return self.limits.checked(node.value)

    def _name(self, node: ast.Name, scope: Scope | None) -> Any:
        return self._look_up(node.id, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope | None) -> Any:
        return tuple(self._values(node.elts, scope))

    def _list(self, node: ast.List, scope: Scope | None) -> Any:
        return self._values(node.elts, scope)

    def _set(self, node: ast.Set, scope: Scope | None) -> Any:
        values = self._values(node.elts, scope)
        self.limits.keys(values)
        return set(values)

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
        value = self.value(node.operand, scope)
        match node.op:
            case ast.Not():
                return not value
            case ast.USub():
                return -value
            case ast.UAdd():
                return +value
        return ~value

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
        if any(owner is module and name in names for module, names in MODULES.items()):
            return getattr(owner, name)
        if isinstance(owner, Recorder):
            return owner.variant(name)
        raise SafeModeError(f".{name} is not allowed in safe mode")

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope | None) -> Any:
        text = "".join([self.value(part, scope) for part in node.values])
        return self.limits.checked(text)

    def _formattedvalue(self, node: ast.FormattedValue, scope: Scope | None) -> Any:
        value = self.value(node.value, scope)
        converts: Mapping[int, Callable[[Any], str]]
        converts = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
        if node.conversion in converts:
            value = self.limits.text(value, converts[node.conversion])
        layout = "" if node.format_spec is None else self.value(node.format_spec, scope)
        return self.limits.format(value, layout)

    # comprehensions

    def _listcomp(self, node: ast.ListComp, scope: Scope | None) -> Any:
        return self.limits.list_of(self._items(node, scope))

    def _setcomp(self, node: ast.SetComp, scope: Scope | None) -> Any:
        values = self.limits.list_of(self._items(node, scope))
        self.limits.keys(values)
        return set(values)

    def _dictcomp(self, node: ast.DictComp, scope: Scope | None) -> Any:
        pairs = self.limits.list_of(self._items(node, scope))
        self.limits.keys([key for key, _ in pairs])
        return dict(pairs)

    def _items(self, node: _Comprehension, scope: Scope | None) -> Iterator[Any]:
        """Return an iterator over a comprehension; its first list is evaluated at once."""
        first = self.limits.lazy(self.value(node.generators[0].iter, scope))
        return self._loop(node, 0, first, Scope(self._names_bound(node), scope, True))

    def _names_bound(self, node: ast.AST) -> frozenset[str]:
        """Return the names that belong to a function or comprehension."""
        if node not in self._bound:
            parts = (
                [g.target for g in node.generators] if isinstance(node, _Comprehension) else [node]
            )
            self._bound[node] = frozenset().union(*map(bound_names, parts))
        return self._bound[node]

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

    def _function(self, node: ast.FunctionDef | ast.Lambda, scope: Scope | None) -> SafeFunction:
        defaults = self._values(node.args.defaults, scope)
        named = [EMPTY if d is None else self.value(d, scope) for d in node.args.kw_defaults]
        own = self._names_bound(node)
        self.limits.spend(len(own))
        return SafeFunction(self, node, scope, own, signature_of(node.args, defaults, named))

    def _call(self, node: ast.Call, scope: Scope | None) -> Any:
        function, method = None, ""
        if isinstance(node.func, ast.Attribute):
            function = self.value(node.func.value, scope)
            method = node.func.attr
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
            if len(named) > MOST_NAMED:
                raise SafeModeError(f"more than {MOST_NAMED} named arguments in safe mode")
        if method == "sort" and isinstance(function, list):
            return sort(self, function, *args, **named)
        if method:
            return self.limits.method(function, method, args, named)
        if isinstance(function, ParameterReader):
            self.limits.spend(FILE)
        if isinstance(function, Recorder | ParameterReader):
            place = node_span(node, self._source)
            return function.called((place.line, place.column), *args, **named)
        return self.call(function, args, named)

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Return the result of a call."""
        if isinstance(function, SafeFunction):
            return self._invoke(function, args, named)
        guard = guard_of(function)
        if guard is not None:
            return self.limits.checked(guard(self, *args, **named))
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
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise SafeModeError(f"more than {MOST_CALLS} calls inside each other in safe mode")
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            self._block(function.node.body, scope)
        except _Leave as left:
            if not isinstance(left.way, ast.Return):
                raise SafeModeError("this is outside of a loop") from None
            return left.value
        finally:
            self._calls -= 1
        return None


_STATEMENTS: Final[Mapping[type, Callable[..., None]]] = {
    ast.AnnAssign: SafeEvaluator._annassign,
    ast.Assign: SafeEvaluator._assign,
    ast.AugAssign: SafeEvaluator._augassign,
    ast.Break: SafeEvaluator._leave,
    ast.Continue: SafeEvaluator._leave,
    ast.Expr: SafeEvaluator._expr,
    ast.For: SafeEvaluator._for,
    ast.FunctionDef: SafeEvaluator._functiondef,
    ast.If: SafeEvaluator._if,
    ast.Import: SafeEvaluator._import,
    ast.ImportFrom: SafeEvaluator._importfrom,
    ast.Pass: SafeEvaluator._pass,
    ast.Return: SafeEvaluator._return,
    ast.While: SafeEvaluator._while,
}
_EXPRESSIONS: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Attribute: SafeEvaluator._attribute,
    ast.BinOp: SafeEvaluator._binop,
    ast.BoolOp: SafeEvaluator._boolop,
    ast.Call: SafeEvaluator._call,
    ast.Compare: SafeEvaluator._compare,
    ast.Constant: SafeEvaluator._constant,
    ast.Dict: SafeEvaluator._dict,
    ast.DictComp: SafeEvaluator._dictcomp,
    ast.FormattedValue: SafeEvaluator._formattedvalue,
    ast.GeneratorExp: SafeEvaluator._items,
    ast.IfExp: SafeEvaluator._ifexp,
    ast.JoinedStr: SafeEvaluator._joinedstr,
    ast.Lambda: SafeEvaluator._function,
    ast.List: SafeEvaluator._list,
    ast.ListComp: SafeEvaluator._listcomp,
    ast.Name: SafeEvaluator._name,
    ast.NamedExpr: SafeEvaluator._namedexpr,
    ast.Set: SafeEvaluator._set,
    ast.SetComp: SafeEvaluator._setcomp,
    ast.Subscript: SafeEvaluator._subscript,
    ast.Tuple: SafeEvaluator._tuple,
    ast.UnaryOp: SafeEvaluator._unaryop,
}
