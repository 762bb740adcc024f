"""Parse a control file with lark, and build a tree of module `ast` from lark's tree.

CPython's parser and compiler do not see the text.  The tree has the statements and
expressions that safe mode evaluates; all else is refused at its place.
"""

from __future__ import annotations

import ast
import string
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from ringmaster.control import safe_parser
from ringmaster.control.safe_parser import Tree, lark_tree, refusal, span_of, trees_in
from ringmaster.control.source import ControlFileProblems, Source, Span
from ringmaster.errors import shown

#: Characters of a control file in safe mode.
MOST_CHARACTERS: Final = 100_000
#: Levels of nesting, of brackets, blocks and operators.
DEEPEST: Final = 60
#: Characters of a name.
LONGEST_NAME: Final = 100

#: Syntax that is refused by its name, by lark's rules.
_REFUSED: Final = {
    "assert_stmt": "assert",
    "async_stmt": "async",
    "async_funcdef": "async",
    "await_expr": "await",
    "classdef": "a class",
    "decorated": "a decorator",
    "del_stmt": "del",
    "global_stmt": "global",
    "match_stmt": "match",
    "nonlocal_stmt": "nonlocal",
    "raise_stmt": "raise",
    "try_finally": "try",
    "try_stmt": "try",
    "with_stmt": "with",
    "yield_expr": "yield",
    "yield_from": "yield",
    "yield_stmt": "yield",
}
_OPERATORS: Final[dict[str, type[ast.operator]]] = {
    **{"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv},
    **{"%": ast.Mod, "**": ast.Pow, "<<": ast.LShift, ">>": ast.RShift, "@": ast.MatMult},
    **{"|": ast.BitOr, "^": ast.BitXor, "&": ast.BitAnd},
}
#: Operators that lark's tree leaves out.
_OF_RULE: Final = {"or_expr": "|", "xor_expr": "^", "and_expr": "&", "power": "**"}
_UNARY: Final[dict[str, type[ast.unaryop]]] = {"+": ast.UAdd, "-": ast.USub, "~": ast.Invert}
_COMPARISONS: Final[dict[str, type[ast.cmpop]]] = {
    **{"<": ast.Lt, ">": ast.Gt, "==": ast.Eq, ">=": ast.GtE, "<=": ast.LtE, "!=": ast.NotEq},
    **{"in": ast.In, "not in": ast.NotIn, "is": ast.Is, "is not": ast.IsNot},
}
_CONSTANTS: Final = {"const_none": None, "const_true": True, "const_false": False}
_WORDS: Final = {"pass_stmt": ast.Pass, "break_stmt": ast.Break, "continue_stmt": ast.Continue}

_Node = TypeVar("_Node", bound=ast.AST)


def parse_safely(source: Source) -> ast.Module:
    """Return the tree of a control file.  Raises ControlFileError."""
    size = len(source.text)
    if size > MOST_CHARACTERS:
        message = f"the file has {size} characters; safe mode reads {MOST_CHARACTERS}"
        raise refusal(source, Span(1, 1, 1, 2), message)
    tree = lark_tree(source, source.text)
    return ast.Module(body=Builder(source).statements(tree), type_ignores=[])


class Builder:
    """Builds nodes of `ast` from lark's trees.  Its methods raise ControlFileError.

    fixed  the place of all nodes, None for their own
    depth  levels of nesting around them
    """

    def __init__(self, source: Source, fixed: Span | None = None, depth: int = 0) -> None:
        self._source = source
        self._fixed = fixed
        self._depth = depth

    def _refuse(self, node: Tree, message: str) -> ControlFileProblems:
        return refusal(self._source, self._fixed or span_of(node), message)

    def _at(self, new: _Node, node: Tree, end: Tree | None = None) -> _Node:
        """Give a new node its place in bytes, as CPython does."""
        span = self._fixed or span_of(node)
        last = span if self._fixed or end is None else span_of(end)
        place: Any = new
        place.lineno, place.col_offset = span.line, self._offset(span.line, span.column)
        place.end_lineno = last.end_line
        place.end_col_offset = self._offset(last.end_line, last.end_column)
        return new

    def _offset(self, line: int, column: int) -> int:
        text = self._source.lines[min(line, len(self._source.lines)) - 1]
        return column - 1 if text.isascii() else len(text[: column - 1].encode())

    def _build(self, kind: str, node: Tree) -> Any:
        """Return what the method for a rule of lark makes."""
        rule = str(node.data)
        build = getattr(self, f"_{kind}_{rule}", None)
        if build is None:
            what = f"{_REFUSED[rule]} is" if rule in _REFUSED else "this is"
            raise self._refuse(node, f"{what} not allowed in safe mode")
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._refuse(node, "this is nested too deeply for safe mode")
        try:
            new = build(node)
        finally:
            self._depth -= 1
        return new if hasattr(new, "lineno") else self._at(new, node)

    # statements

    def statements(self, node: Tree | None) -> list[ast.stmt]:
        """Return the statements of a file, a block or a line."""
        found: list[ast.stmt] = []
        for child in () if node is None else trees_in(node):
            if child.data in ("simple_stmt", "suite"):
                found += self.statements(child)
            elif child.data in _WORDS:
                found.append(self._at(_WORDS[str(child.data)](), child))
            else:
                found.append(self._build("stmt", child))
        return found

    def _stmt_expr_stmt(self, node: Tree) -> ast.stmt:
        return ast.Expr(value=self.expression(trees_in(node)[0]))

    def _stmt_assign_stmt(self, node: Tree) -> ast.stmt:
        (inner,) = trees_in(node)
        parts = trees_in(inner)
        if inner.data == "assign":
            targets = [self._target(part) for part in parts[:-1]]
            return ast.Assign(targets=targets, value=self.expression(parts[-1]))
        target: Any = self._target(parts[0])
        if not isinstance(target, ast.Name | ast.Subscript):
            raise self._refuse(inner, "several names cannot be assigned in this way")
        if inner.data == "augassign":
            sign = _OPERATORS[str(parts[1].children[0]).removesuffix("=")]
            return ast.AugAssign(target=target, op=sign(), value=self.expression(parts[2]))
        return ast.AnnAssign(
            target=target,
            annotation=self.expression(parts[1]),
            value=self._optional(inner.children[2]),
            simple=int(isinstance(target, ast.Name)),
        )

    def _stmt_return_stmt(self, node: Tree) -> ast.stmt:
        return ast.Return(value=self._optional(node.children[0]))

    def _stmt_import_stmt(self, node: Tree) -> ast.stmt:
        (inner,) = trees_in(node)
        if inner.data == "import_name":
            return ast.Import(names=[self._alias(name) for name in trees_in(trees_in(inner)[0])])
        module, *lists = trees_in(inner)
        if module.data != "dotted_name" or not lists or lists[0].data != "import_as_names":
            raise self._refuse(node, "this import is not allowed in safe mode")
        aliases = [self._alias(name) for name in trees_in(lists[0])]
        return ast.ImportFrom(module=self._dotted(module), names=aliases, level=0)

    def _alias(self, node: Tree) -> ast.alias:
        name, *other = trees_in(node)
        text = self._dotted(name) if name.data == "dotted_name" else self._name(name)
        return self._at(ast.alias(name=text, asname=self._name(other[0]) if other else None), node)

    def _dotted(self, node: Tree) -> str:
        return ".".join(map(self._name, trees_in(node)))

    def _stmt_if_stmt(self, node: Tree) -> ast.stmt:
        test, body, elifs, last = node.children
        orelse = self.statements(last)
        if len(elifs.children) > DEEPEST:
            raise self._refuse(node, f"more than {DEEPEST} elif in a row")
        for clause in reversed(trees_in(elifs)):
            orelse = [self._at(self._if(clause.children, orelse), clause, last or node)]
        return self._if([test, body], orelse)

    def _if(self, parts: list[Tree], orelse: list[ast.stmt]) -> ast.stmt:
        test, body = parts
        return ast.If(test=self.expression(test), body=self.statements(body), orelse=orelse)

    def _stmt_while_stmt(self, node: Tree) -> ast.stmt:
        test, body, last = node.children
        return ast.While(
            test=self.expression(test), body=self.statements(body), orelse=self.statements(last)
        )

    def _stmt_for_stmt(self, node: Tree) -> ast.stmt:
        target, items, body, last = node.children
        return ast.For(
            target=self._target(target),
            iter=self.expression(items),
            body=self.statements(body),
            orelse=self.statements(last),
        )

    def _stmt_funcdef(self, node: Tree) -> ast.stmt:
        name, parameters, returns, body = node.children
        new: Any = ast.FunctionDef(
            name=self._name(name),
            args=self._parameters(parameters),
            body=self.statements(body),
            decorator_list=[],
            returns=self._optional(returns),
        )
        if hasattr(ast, "TypeVar"):  # Python 3.12
            new.type_params = []
        return new  # type: ignore[no-any-return]

    # parameters of functions

    def _parameters(self, node: Tree | None) -> ast.arguments:
        found = ast.arguments(
            posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None,
            defaults=[],
        )  # fmt: skip
        self._add_parameters([] if node is None else node.children, found, False)
        return found

    def _add_parameters(self, nodes: Iterable[Tree], found: ast.arguments, named: bool) -> None:
        for node in nodes:
            if isinstance(node, str):  # the /
                found.posonlyargs, found.args = found.args, []
            elif node is None:
                continue
            elif node.data in ("starparams", "lambda_starparams"):
                first, *rest = node.children
                if node.data == "starparams":
                    first = next(iter(first.children), None)
                    rest = rest[0].children
                found.vararg = None if first is None else self._parameter(first)
                self._add_parameters(rest, found, True)
            elif node.data in ("kwparams", "lambda_kwparams"):
                found.kwarg = self._parameter(trees_in(node)[0])
            else:
                self._add_parameter(node, found, named)

    def _add_parameter(self, node: Tree, found: ast.arguments, named: bool) -> None:
        default: Any = None
        if node.data in ("paramvalue", "lambda_paramvalue"):
            node, value = trees_in(node)
            default = self.expression(value)
        if named:
            found.kwonlyargs.append(self._parameter(node))
            found.kw_defaults.append(default)
            return
        found.args.append(self._parameter(node))
        if default is not None:
            found.defaults.append(default)
        elif found.defaults:
            raise self._refuse(node, "a parameter without a default follows one with a default")

    def _parameter(self, node: Tree) -> ast.arg:
        name, *kind = trees_in(node) if node.data == "typedparam" else [node]
        annotation = self.expression(kind[0]) if kind else None
        return self._at(ast.arg(arg=self._name(name), annotation=annotation), node)

    # expressions

    def expression(self, node: Tree) -> ast.expr:
        """Return an expression."""
        new: ast.expr
        if node.data in _CONSTANTS:
            new = self._at(ast.Constant(value=_CONSTANTS[str(node.data)]), node)
        else:
            new = self._build("expr", node)
        return new

    def _optional(self, node: Tree | None) -> ast.expr | None:
        return None if node is None else self.expression(node)

    def _expressions(self, nodes: Iterable[Tree]) -> list[ast.expr]:
        return [*map(self.expression, nodes)]

    def _target(self, node: Tree) -> ast.expr:
        return self._stored(self.expression(node), node)

    def _stored(self, new: ast.expr, node: Tree) -> ast.expr:
        """Return an expression as the target of an assignment."""
        match new:
            case ast.Name() | ast.Subscript():
                parts: list[ast.expr] = []
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if sum(isinstance(part, ast.Starred) for part in parts) > 1:
                    raise self._refuse(node, "two names with a star")
            case ast.Starred(value=part):
                parts = [part]
            case _:
                raise self._refuse(node, "this cannot be assigned in safe mode")
        new.ctx = ast.Store()
        for part in parts:
            self._stored(part, node)
        return new

    def _name(self, node: Tree) -> str:
        # CPython does the same with names
        name = unicodedata.normalize("NFKC", str(node.children[0]))
        if not name.isidentifier() or len(name) > LONGEST_NAME:
            raise self._refuse(node, f"{shown(name)} is not a name")
        return name

    def _expr_var(self, node: Tree) -> ast.expr:
        return ast.Name(id=self._name(trees_in(node)[0]), ctx=ast.Load())

    def _expr_number(self, node: Tree) -> ast.expr:
        (token,) = node.children
        if token.type == "IMAG_NUMBER":
            raise self._refuse(node, "complex numbers are not allowed in safe mode")
        try:
            return ast.Constant(value=safe_parser.number(token, token.type == "FLOAT_NUMBER"))
        except ValueError as error:
            raise self._refuse(node, str(error)) from None

    def _expr_string(self, node: Tree) -> ast.expr:
        strings = trees_in(node) if node.data == "string_concat" else [node]
        parts: list[ast.expr] = []
        prefixes = []
        for one in strings:
            try:
                prefix, text = safe_parser.split_literal(str(one.children[0]))
                prefixes.append(prefix)
                if "f" in prefix:
                    parts += self._formatted(text, "r" in prefix, one)
                else:
                    parts.append(self._text(text, "r" in prefix, node))
            except ValueError as error:
                raise self._refuse(one, str(error)) from None
        parts = self._merged(parts, node)
        if any("f" in prefix for prefix in prefixes):
            return ast.JoinedStr(values=parts)
        whole: Any = parts[0] if parts else self._text("", True, node)
        whole.kind = "u" if prefixes[0] == "u" else None
        return whole  # type: ignore[no-any-return]

    _expr_string_concat = _expr_string

    def _text(self, text: str, raw: bool, node: Tree) -> ast.Constant:
        value = text if raw else safe_parser.decoded(text)
        return self._at(ast.Constant(value=value), node)

    def _merged(self, parts: list[ast.expr], node: Tree) -> list[ast.expr]:
        """Return parts of a string without neighbours of plain text."""
        merged: list[ast.expr] = []
        for part in parts:
            match [*merged[-1:], part]:
                case [ast.Constant(value=str(one)), ast.Constant(value=str(other))]:
                    merged[-1] = self._text(one + other, True, node)
                case _:
                    merged.append(part)
        return [part for part in merged if not isinstance(part, ast.Constant) or part.value]

    def _formatted(self, text: str, raw: bool, node: Tree, level: int = 0) -> Iterator[ast.expr]:
        """Yield the parts of an f-string, or of the layout in one.  Raises ValueError."""
        if level > 1 or "\\N" in text:
            raise ValueError("this f-string is not understood in safe mode")
        for literal, field, layout, conversion in string.Formatter().parse(text):
            if literal:
                yield self._text(literal, raw, node)
            if field is None:
                continue
            if conversion not in (None, "r", "s", "a"):
                raise ValueError(f"{conversion!r} is no conversion")
            nested = list(self._formatted(layout or "", raw, node, level + 1))
            spec = self._at(ast.JoinedStr(values=self._merged(nested, node)), node)
            new = ast.FormattedValue(
                value=self._inside(field, node),
                conversion=ord(conversion) if conversion else -1,
                format_spec=spec if layout else None,
            )
            yield self._at(new, node)

    def _inside(self, text: str, node: Tree) -> ast.expr:
        """Return the expression of an f-string; all of it has the string's place."""
        if not text.strip() or set(text) & set("\\#\n\r"):
            raise ValueError("this f-string is not understood in safe mode")
        place = self._fixed or span_of(node)
        statements = trees_in(lark_tree(self._source, text.strip(), place))
        if [s.data for s in statements] != ["expr_stmt"]:
            raise ValueError("an f-string has one expression in brackets")
        inner = Builder(self._source, place, self._depth)
        return inner.expression(trees_in(statements[0])[0])

    def _elements(self, node: Tree) -> list[ast.expr]:
        return [self._starred(c) if c.data == "star_expr" else self.expression(c)
                for c in trees_in(node)]  # fmt: skip

    def _starred(self, node: Tree) -> ast.expr:
        value = self.expression(trees_in(node)[0])
        return self._at(ast.Starred(value=value, ctx=ast.Load()), node)

    def _expr_tuple(self, node: Tree) -> ast.expr:
        return ast.Tuple(elts=self._elements(node), ctx=ast.Load())

    _expr_testlist_tuple = _expr_exprlist = _expr_subscript_tuple = _expr_tuple

    def _expr_list(self, node: Tree) -> ast.expr:
        return ast.List(elts=self._elements(node), ctx=ast.Load())

    def _expr_set(self, node: Tree) -> ast.expr:
        return ast.Set(elts=self._elements(node))

    def _expr_dict(self, node: Tree) -> ast.expr:
        pairs = [trees_in(c) if c.data == "key_value" else [None, c] for c in trees_in(node)]
        return ast.Dict(
            keys=[self._optional(key) for key, _ in pairs],
            values=self._expressions(value for _, value in pairs),
        )

    def _generators(self, node: Tree) -> list[ast.comprehension]:
        """Return the loops of a comprehension, the rule of that name."""
        _, loops, condition = node.children
        found = []
        for loop in trees_in(loops):
            is_async, target, items = loop.children
            if is_async is not None:
                raise self._refuse(loop, "async is not allowed in safe mode")
            found.append(
                ast.comprehension(
                    target=self._target(target), iter=self.expression(items), ifs=[], is_async=0
                )
            )
        if condition is not None:
            found[-1].ifs.append(self.expression(condition))
        return found

    def _expr_list_comprehension(self, node: Tree, cls: Any = ast.ListComp) -> Any:
        inner = node if node.data == "comprehension" else trees_in(node)[0]
        return cls(elt=self.expression(trees_in(inner)[0]), generators=self._generators(inner))

    def _expr_set_comprehension(self, node: Tree) -> Any:
        return self._expr_list_comprehension(node, ast.SetComp)

    def _expr_tuple_comprehension(self, node: Tree) -> Any:
        return self._expr_list_comprehension(node, ast.GeneratorExp)

    _expr_comprehension = _expr_tuple_comprehension

    def _expr_dict_comprehension(self, node: Tree) -> ast.expr:
        (inner,) = trees_in(node)
        key, value = self._expressions(trees_in(trees_in(inner)[0]))
        return ast.DictComp(key=key, value=value, generators=self._generators(inner))

    def _expr_funccall(self, node: Tree) -> ast.expr:
        function, *arguments = trees_in(node)
        call = ast.Call(func=self.expression(function), args=[], keywords=[])
        for part in arguments:
            self._add_arguments(trees_in(part), call)
        return call

    def _add_arguments(self, nodes: list[Tree], call: ast.Call) -> None:
        for node in nodes:
            match str(node.data):
                case "starargs":
                    self._add_arguments(trees_in(node), call)
                case "stararg":
                    call.args.append(self._starred(node))
                case "kwargs":
                    value, *rest = trees_in(node)
                    new = ast.keyword(arg=None, value=self.expression(value))
                    call.keywords.append(self._at(new, node))
                    self._add_arguments(rest, call)
                case "argvalue":
                    self._add_keyword(node, call)
                case _:
                    if call.keywords:
                        raise self._refuse(node, "an argument without a name follows a named one")
                    call.args.append(self.expression(node))

    def _add_keyword(self, node: Tree, call: ast.Call) -> None:
        name, value = trees_in(node)
        if name.data != "var":
            raise self._refuse(node, "this is not a named argument")
        text = self._name(trees_in(name)[0])
        if any(keyword.arg == text for keyword in call.keywords):
            raise self._refuse(node, f"argument {text!r} is given twice")
        new = ast.keyword(arg=text, value=self.expression(value))
        call.keywords.append(self._at(new, node))

    def _expr_getattr(self, node: Tree) -> ast.expr:
        value, name = trees_in(node)
        return ast.Attribute(value=self.expression(value), attr=self._name(name), ctx=ast.Load())

    def _expr_getitem(self, node: Tree) -> ast.expr:
        value, index = self._expressions(trees_in(node))
        return ast.Subscript(value=value, slice=index, ctx=ast.Load())

    def _expr_slice(self, node: Tree) -> ast.expr:
        lower, upper, step = node.children
        step = step and step.children[0]
        lower, upper, step = map(self._optional, (lower, upper, step))
        return ast.Slice(lower=lower, upper=upper, step=step)

    def _expr_test(self, node: Tree) -> ast.expr:
        body, test, orelse = self._expressions(trees_in(node))
        return ast.IfExp(test=test, body=body, orelse=orelse)

    def _expr_lambdef(self, node: Tree) -> ast.expr:
        parameters, body = node.children
        return ast.Lambda(args=self._parameters(parameters), body=self.expression(body))

    _expr_lambdef_nocond = _expr_lambdef

    def _expr_assign_expr(self, node: Tree) -> ast.expr:
        name, value = trees_in(node)
        target = self._at(ast.Name(id=self._name(name), ctx=ast.Store()), name)
        return ast.NamedExpr(target=target, value=self.expression(value))

    def _expr_or_test(self, node: Tree) -> ast.expr:
        sign = ast.Or() if node.data == "or_test" else ast.And()
        return ast.BoolOp(op=sign, values=self._expressions(trees_in(node)))

    _expr_and_test = _expr_or_test

    def _expr_not_test(self, node: Tree) -> ast.expr:
        return ast.UnaryOp(op=ast.Not(), operand=self.expression(trees_in(node)[0]))

    def _expr_comparison(self, node: Tree) -> ast.expr:
        first, *rest = trees_in(node)
        signs = [" ".join(sign.children) for sign in rest[::2]]
        if "<>" in signs:
            raise self._refuse(node, "the operator <> is Python 2; write !=")
        return ast.Compare(
            left=self.expression(first),
            ops=[_COMPARISONS[sign]() for sign in signs],
            comparators=self._expressions(rest[1::2]),
        )

    def _expr_factor(self, node: Tree) -> ast.expr:
        sign, operand = node.children
        return ast.UnaryOp(op=_UNARY[str(sign)](), operand=self.expression(operand))

    def _operation(self, node: Tree) -> ast.expr:
        """Return a chain of binary operators as nested pairs."""
        first, *others = trees_in(node)
        signs = [child for child in node.children if isinstance(child, str)]
        if len(others) > DEEPEST:
            raise self._refuse(node, f"more than {DEEPEST} operators in a row")
        value = self.expression(first)
        for sign, other in zip(signs or [_OF_RULE[node.data]] * len(others), others, strict=True):
            new = ast.BinOp(left=value, op=_OPERATORS[sign](), right=self.expression(other))
            value = self._at(new, node, other)
        return value

    _expr_or_expr = _expr_xor_expr = _expr_and_expr = _operation
    _expr_shift_expr = _expr_arith_expr = _expr_term = _expr_power = _operation
