"""Parse a control file with lark, and build a tree of module `ast` from lark's tree.

CPython's parser and compiler do not see the text.  The tree has the statements and
expressions that safe mode evaluates; all else is refused at its place.
"""

from __future__ import annotations

import ast
import functools
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ringmaster.control.source import ControlFileProblems, Source, Span

if TYPE_CHECKING:  # a control file of one's own does not need lark
    import lark

    Tree = lark.Tree[lark.Token]

#: Characters of a control file in safe mode.
MOST_CHARACTERS: Final = 100_000
#: Levels of nesting, of brackets, blocks and operators.
DEEPEST: Final = 60

#: Syntax that is refused, by lark's rules.
_REFUSED: Final = {
    "assert_stmt": "assert",
    "async_stmt": "async",
    "async_funcdef": "async",
    "await_expr": "await",
    "classdef": "a class",
    "decorated": "a decorator",
    "del_stmt": "del",
    "ellipsis": "…, an ellipsis,",
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
_ESCAPES: Final = {
    **{"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f"},
    **{"n": "\n", "r": "\r", "t": "\t", "v": "\v"},
}
_ESCAPE: Final = re.compile(
    r"\\(?:([\n\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|N\{([^{}]*)\}|([xuUN]))"
)
#: lark's patterns of strings take time that is quadratic in the length of a wrong string.
_STRINGS: Final = {
    "STRING": r"([ubf]?r?|r[ubf])"
    r"""("(?!"")(?:[^"\\\n]|\\[\s\S])*"|'(?!'')(?:[^'\\\n]|\\[\s\S])*')""",
    "LONG_STRING": r"([ubf]?r?|r[ubf])"
    r'''("""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|\'\'\'(?:[^'\\]|\\[\s\S]|'(?!\'\'))*\'\'\')''',
}

_Node = TypeVar("_Node", ast.expr, ast.stmt, ast.arg, ast.keyword, ast.alias)


@functools.cache
def parser() -> lark.Lark:
    """Return lark's parser for Python, which takes about a second to build."""
    import lark
    from lark.indenter import DedentError, PythonIndenter

    class Indenter(PythonIndenter):
        def handle_NL(self, token: lark.Token) -> Iterator[lark.Token]:  # noqa: N802
            try:
                yield from super().handle_NL(token)
            except DedentError:
                raise _Misplaced(token.end_line or 1, token.end_column or 1) from None

    def edit(terminal: Any) -> None:
        if terminal.name in _STRINGS:
            terminal.pattern.value = _STRINGS[terminal.name]

    return lark.Lark.open_from_package(
        "lark",
        "python.lark",
        ["grammars"],
        parser="lalr",
        postlex=Indenter(),
        propagate_positions=True,
        maybe_placeholders=True,
        start=["file_input"],
        edit_terminals=edit,
    )


class _Misplaced(Exception):
    """A line whose indentation matches no line above it."""

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column


def refusal(source: Source, span: Span, message: str, expected: str = "") -> ControlFileProblems:
    """Return an error of a control file in safe mode."""
    return ControlFileProblems([source.diagnostic(span, message, expected)])


def parse_safely(source: Source) -> ast.Module:
    """Return the tree of a control file.  Raises ControlFileError."""
    size = len(source.text)
    if size > MOST_CHARACTERS:
        message = f"the file has {size} characters; safe mode reads {MOST_CHARACTERS}"
        raise refusal(source, Span(1, 1, 1, 2), message)
    tree = _lark_tree(source, source.text, None)
    _check_depth(tree, source)
    return ast.Module(body=Builder(source).statements(tree), type_ignores=[])


def _lark_tree(source: Source, text: str, fixed: Span | None) -> Tree:
    from lark.exceptions import LarkError

    try:
        return parser().parse(text + "\n")
    except (LarkError, AssertionError, _Misplaced) as error:
        line, column = getattr(error, "line", None) or 1, getattr(error, "column", None) or 1
        if isinstance(line, int) and line < 1:  # the end of the file
            line, column = len(source.lines), len(source.lines[-1]) + 1
        span = fixed or Span(line, column, line, column + 1)
        message = "the indentation matches no line above" if isinstance(error, _Misplaced) else (
            "this is not understood in safe mode"
        )
        raise refusal(source, span, message, "the simple Python of a control file") from None


def _check_depth(tree: Tree, source: Source) -> None:
    """Raise ControlFileError where the file is nested too deeply."""
    level = [tree]
    for _ in range(3 * DEEPEST):
        level = [c for node in level for c in node.children if c is not None and _is_tree(c)]
        if not level:
            return
    raise refusal(source, _span(level[0]), "this is nested too deeply for safe mode")


def _is_tree(child: Any) -> bool:
    return not isinstance(child, str)


def _span(node: Tree | lark.Token) -> Span:
    meta: Any = node if isinstance(node, str) else node.meta
    if getattr(meta, "line", None) is None:
        return Span(1, 1, 1, 2)
    return Span(meta.line, meta.column, meta.end_line, meta.end_column)


def _trees(node: Tree) -> list[Tree]:
    return [child for child in node.children if child is not None and not isinstance(child, str)]


class Builder:
    """Builds nodes of `ast` from lark's trees.

    fixed  the place of all nodes; None for their own
    """

    def __init__(self, source: Source, fixed: Span | None = None) -> None:
        self._source = source
        self._fixed = fixed
        self._depth = 0

    def _refuse(self, node: Tree | lark.Token, message: str) -> ControlFileProblems:
        return refusal(self._source, self._fixed or _span(node), message)

    def _at(self, new: _Node, node: Tree, end: Tree | None = None) -> _Node:
        """Give a new node its place in bytes, as CPython does."""
        span = self._fixed or _span(node)
        last = span if self._fixed or end is None else _span(end)
        new.lineno, new.col_offset = span.line, self._offset(span.line, span.column)
        new.end_lineno = last.end_line
        new.end_col_offset = self._offset(last.end_line, last.end_column)
        return new

    def _offset(self, line: int, column: int) -> int:
        text = self._source.lines[min(line, len(self._source.lines)) - 1]
        return column - 1 if text.isascii() else len(text[: column - 1].encode())

    # statements

    def statements(self, node: Tree | None) -> list[ast.stmt]:
        """Return the statements of a file, a block or a line."""
        found: list[ast.stmt] = []
        for child in () if node is None else _trees(node):
            rule = str(child.data)
            if rule in ("simple_stmt", "suite"):
                found += self.statements(child)
            else:
                found.append(self._at(self._build(child, "stmt", rule.removesuffix("_stmt")), child))
        return found

    def _build(self, node: Tree, kind: str, rule: str) -> Any:
        build = getattr(self, f"_{kind}_{rule}", None)
        if build is None:
            name = _REFUSED.get(str(node.data))
            what = f"{name} is" if name else "this is"
            raise self._refuse(node, f"{what} not allowed in safe mode")
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._refuse(node, "this is nested too deeply for safe mode")
        try:
            return build(node)
        finally:
            self._depth -= 1

    def _stmt_expr(self, node: Tree) -> ast.stmt:
        return ast.Expr(value=self.expression(_trees(node)[0]))

    def _stmt_assign(self, node: Tree) -> ast.stmt:
        (inner,) = _trees(node)
        parts = _trees(inner)
        if inner.data == "assign":
            targets = [self._target(part) for part in parts[:-1]]
            return ast.Assign(targets=targets, value=self.expression(parts[-1]))
        target = self._target(parts[0])
        if isinstance(target, ast.Tuple | ast.List):
            raise self._refuse(inner, "several names cannot be assigned in this way")
        if inner.data == "augassign":
            sign = str(parts[1].children[0]).removesuffix("=")
            value = self.expression(parts[2])
            return ast.AugAssign(target=_single(target), op=_OPERATORS[sign](), value=value)
        value_node = inner.children[2]
        return ast.AnnAssign(
            target=_single(target),
            annotation=self.expression(parts[1]),
            value=None if value_node is None else self.expression(parts[2]),
            simple=int(isinstance(target, ast.Name)),
        )

    def _stmt_pass(self, node: Tree) -> ast.stmt:
        return ast.Pass()

    def _stmt_break(self, node: Tree) -> ast.stmt:
        return ast.Break()

    def _stmt_continue(self, node: Tree) -> ast.stmt:
        return ast.Continue()

    def _stmt_return(self, node: Tree) -> ast.stmt:
        value = _trees(node)
        return ast.Return(value=self.expression(value[0]) if value else None)

    def _stmt_import(self, node: Tree) -> ast.stmt:
        (inner,) = _trees(node)
        if inner.data == "import_name":
            (names,) = _trees(inner)
            return ast.Import(names=[self._alias(name) for name in _trees(names)])
        module, *lists = _trees(inner)
        if module.data != "dotted_name" or not lists or lists[0].data != "import_as_names":
            raise self._refuse(node, "this import is not allowed in safe mode")
        names = [self._alias(name) for name in _trees(lists[0])]
        return ast.ImportFrom(module=self._dotted(module), names=names, level=0)

    def _alias(self, node: Tree) -> ast.alias:
        name, *other = _trees(node)
        text = self._dotted(name) if name.data == "dotted_name" else self._name(name)
        alias = ast.alias(name=text, asname=self._name(other[0]) if other else None)
        return self._at(alias, node)

    def _dotted(self, node: Tree) -> str:
        return ".".join(map(self._name, _trees(node)))

    def _stmt_if(self, node: Tree) -> ast.stmt:
        test, body, elifs, *last = node.children
        orelse = self.statements(last[0])  # type: ignore[arg-type]
        for clause in reversed(_trees(elifs)):  # type: ignore[arg-type]
            inner, block = _trees(clause)
            new = ast.If(
                test=self.expression(inner), body=self.statements(block), orelse=orelse
            )
            orelse = [self._at(new, clause, last[0] or node)]  # type: ignore[arg-type]
        return ast.If(test=self.expression(test), body=self.statements(body), orelse=orelse)  # type: ignore[arg-type]

    def _stmt_while(self, node: Tree) -> ast.stmt:
        test, body, *last = _trees(node)
        orelse = self.statements(last[0] if last else None)
        return ast.While(test=self.expression(test), body=self.statements(body), orelse=orelse)

    def _stmt_for(self, node: Tree) -> ast.stmt:
        target, items, body, *last = _trees(node)
        return ast.For(
            target=self._target(target),
            iter=self.expression(items),
            body=self.statements(body),
            orelse=self.statements(last[0] if last else None),
        )

    def _stmt_funcdef(self, node: Tree) -> ast.stmt:
        name, parameters, returns, body = node.children
        assert not isinstance(name, str | None) and not isinstance(body, str | None)
        new = ast.FunctionDef(
            name=self._name(name),
            args=self._parameters(parameters),
            body=self.statements(body),
            decorator_list=[],
            returns=None if returns is None else self.expression(returns),  # type: ignore[arg-type]
        )
        if hasattr(ast, "TypeVar"):  # Python 3.12
            new.type_params = []
        return new

    # parameters of functions

    def _parameters(self, node: Any) -> ast.arguments:
        found = ast.arguments(
            posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None,
            defaults=[],
        )  # fmt: skip
        if node is not None:
            self._add_parameters(node.children, found, after_star=False)
        return found

    def _add_parameters(
        self, children: Iterable[Any], found: ast.arguments, after_star: bool
    ) -> None:
        for child in children:
            rule = "" if child is None else "/" if isinstance(child, str) else str(child.data)
            if rule == "/":
                found.posonlyargs, found.args = found.args, []
            elif rule in ("starparams", "lambda_starparams"):
                self._add_star(child, found)
            elif rule in ("kwparams", "lambda_kwparams"):
                found.kwarg = self._parameter(_trees(child)[0])
            elif rule:
                self._add_parameter(child, found, after_star)

    def _add_star(self, node: Tree, found: ast.arguments) -> None:
        first, *rest = node.children
        assert not isinstance(first, str)
        if node.data == "starparams":
            if first is not None and first.data == "starparam":
                found.vararg = self._parameter(_trees(first)[0])
            (rest,) = ([*part.children] for part in rest)  # type: ignore[union-attr]
        elif first is not None:
            found.vararg = self._parameter(first)
        self._add_parameters(rest, found, after_star=True)

    def _add_parameter(self, node: Tree, found: ast.arguments, after_star: bool) -> None:
        default: ast.expr | None = None
        if node.data in ("paramvalue", "lambda_paramvalue"):
            node, value = _trees(node)
            default = self.expression(value)
        if after_star:
            found.kwonlyargs.append(self._parameter(node))
            found.kw_defaults.append(default)  # type: ignore[arg-type]
        else:
            found.args.append(self._parameter(node))
            if default is not None:
                found.defaults.append(default)
            elif found.defaults:
                raise self._refuse(node, "a parameter without a default follows one with a default")

    def _parameter(self, node: Tree) -> ast.arg:
        annotation = None
        whole = node
        if node.data == "typedparam":
            node, kind = _trees(node)
            annotation = self.expression(kind)
        return self._at(ast.arg(arg=self._name(node), annotation=annotation), whole)

    # expressions

    def expression(self, node: Tree) -> ast.expr:
        """Return an expression.  Raises ControlFileError."""
        new: ast.expr = self._build(node, "expr", str(node.data))
        return new if hasattr(new, "lineno") else self._at(new, node)

    def _target(self, node: Tree) -> ast.expr:
        return self._stored(self.expression(node), node)

    def _stored(self, new: ast.expr, node: Tree) -> ast.expr:
        """Return an expression as the target of an assignment."""
        match new:
            case ast.Name() | ast.Subscript():
                new.ctx = ast.Store()
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                new.ctx = ast.Store()
                for part in parts:
                    self._stored(part, node)
            case ast.Starred(value=part):
                new.ctx = ast.Store()
                self._stored(part, node)
            case _:
                raise self._refuse(node, "this cannot be assigned in safe mode")
        return new

    def _name(self, node: Tree) -> str:
        # CPython does the same with names
        name = unicodedata.normalize("NFKC", str(node.children[0]))
        if not name.isidentifier():
            raise self._refuse(node, f"{name!r} is not a name")
        return name

    def _expr_var(self, node: Tree) -> ast.expr:
        return ast.Name(id=self._name(_trees(node)[0]), ctx=ast.Load())

    def _expr_const_none(self, node: Tree) -> ast.expr:
        return ast.Constant(value=None)

    def _expr_const_true(self, node: Tree) -> ast.expr:
        return ast.Constant(value=True)

    def _expr_const_false(self, node: Tree) -> ast.expr:
        return ast.Constant(value=False)

    def _expr_number(self, node: Tree) -> ast.expr:
        (token,) = node.children
        text = str(token).replace("_", "")
        if token.type == "IMAG_NUMBER":  # type: ignore[union-attr]
            raise self._refuse(node, "complex numbers are not allowed in safe mode")
        try:
            is_float = token.type == "FLOAT_NUMBER"  # type: ignore[union-attr]
            return ast.Constant(value=float(text) if is_float else int(text, 0))
        except ValueError:
            raise self._refuse(node, "this number is too long") from None

    def _expr_string(self, node: Tree) -> ast.expr:
        return self._joined([node], node)

    def _expr_string_concat(self, node: Tree) -> ast.expr:
        return self._joined(_trees(node), node)

    def _joined(self, strings: list[Tree], node: Tree) -> ast.expr:
        """Return adjacent strings as one."""
        parts: list[ast.expr] = []
        is_formatted = False
        kind = None
        for number, one in enumerate(strings):
            token = str(one.children[0])
            prefix = token[: min(token.find(q) for q in "\"'" if q in token)].lower()
            quote = 3 if token[len(prefix) :][:3] in ('"""', "'''") else 1
            text = token[len(prefix) + quote : -quote]
            if "b" in prefix:
                raise self._refuse(one, "bytes are not allowed in safe mode")
            kind = "u" if prefix == "u" and number == 0 else kind
            is_formatted |= "f" in prefix
            if "f" in prefix:
                parts += self._formatted(text, "r" in prefix, one, 0)
            else:
                parts.append(self._text(self._decoded(text, "r" in prefix, one), node))
        merged = self._merged(parts, node)
        if is_formatted:
            return ast.JoinedStr(values=merged)
        value = merged[0] if merged else self._text("", node)
        assert isinstance(value, ast.Constant)
        value.kind = kind
        return value

    def _text(self, text: str, node: Tree) -> ast.expr:
        return self._at(ast.Constant(value=text), node)

    def _merged(self, parts: list[ast.expr], node: Tree) -> list[ast.expr]:
        merged: list[ast.expr] = []
        for part in parts:
            match [*merged[-1:], part]:
                case [ast.Constant(value=str(one)), ast.Constant(value=str(other))]:
                    merged[-1] = self._text(one + other, node)
                case _:
                    merged.append(part)
        return [part for part in merged if not isinstance(part, ast.Constant) or part.value]

    def _decoded(self, text: str, raw: bool, node: Tree) -> str:
        """Return the text of a string without its escapes."""
        if raw or "\\" not in text:
            return text

        def character(match: re.Match[str]) -> str:
            plain, octal, two, four, eight, name, wrong = match.groups()
            if plain is not None:
                return _ESCAPES[plain]
            try:
                if name is not None:
                    return unicodedata.lookup(name)
                return chr(int(octal, 8) if octal else int(two or four or eight or wrong, 16))
            except (ValueError, OverflowError, KeyError):
                raise self._refuse(node, f"{match[0]} is not a character") from None

        return _ESCAPE.sub(character, text)

    def _formatted(self, text: str, raw: bool, node: Tree, level: int) -> Iterator[ast.expr]:
        """Yield the parts of an f-string, or of the format in one."""
        if level > 1 or "\\N" in text:
            raise self._refuse(node, "this f-string is not understood in safe mode")
        try:
            fields = list(string.Formatter().parse(text))
        except ValueError as error:
            raise self._refuse(node, f"in the f-string: {error}") from None
        for literal, field, layout, conversion in fields:
            if literal:
                yield self._text(self._decoded(literal, raw, node), node)
            if field is None:
                continue
            if conversion not in (None, "r", "s", "a"):
                raise self._refuse(node, f"in the f-string: {conversion!r} is no conversion")
            nested = list(self._formatted(layout, raw, node, level + 1)) if layout else []
            new = ast.FormattedValue(
                value=self._inside(field, node),
                conversion=ord(conversion) if conversion else -1,
                format_spec=(
                    self._at(ast.JoinedStr(values=self._merged(nested, node)), node)
                    if layout
                    else None
                ),
            )
            yield self._at(new, node)

    def _inside(self, text: str, node: Tree) -> ast.expr:
        """Return the expression of an f-string; all of it has the string's place."""
        place = self._fixed or _span(node)
        if not text.strip() or set(text) & set("\\#\n\r"):
            raise refusal(self._source, place, "this f-string is not understood in safe mode")
        tree = _lark_tree(self._source, text.strip(), place)
        _check_depth(tree, self._source)
        statements = _trees(tree)
        if [s.data for s in statements] != ["expr_stmt"]:
            raise refusal(self._source, place, "an f-string has one expression in brackets")
        inner = Builder(self._source, place)
        inner._depth = self._depth
        return inner.expression(_trees(statements[0])[0])

    def _elements(self, node: Tree) -> list[ast.expr]:
        return [self._element(child) for child in _trees(node)]

    def _element(self, node: Tree) -> ast.expr:
        if node.data != "star_expr":
            return self.expression(node)
        value = self.expression(_trees(node)[0])
        return self._at(ast.Starred(value=value, ctx=ast.Load()), node)

    def _expr_tuple(self, node: Tree) -> ast.expr:
        return ast.Tuple(elts=self._elements(node), ctx=ast.Load())

    _expr_testlist_tuple = _expr_exprlist = _expr_subscript_tuple = _expr_tuple

    def _expr_list(self, node: Tree) -> ast.expr:
        return ast.List(elts=self._elements(node), ctx=ast.Load())

    def _expr_set(self, node: Tree) -> ast.expr:
        return ast.Set(elts=self._elements(node))

    def _expr_dict(self, node: Tree) -> ast.expr:
        keys: list[ast.expr | None] = []
        values = []
        for child in _trees(node):
            if child.data == "key_value":
                key, value = _trees(child)
                keys.append(self.expression(key))
            else:
                keys.append(None)
                value = child
            values.append(self.expression(value))
        return ast.Dict(keys=keys, values=values)

    def _generators(self, node: Tree) -> list[ast.comprehension]:
        """Return the loops of a comprehension, the rule of the same name."""
        _, loops, condition = node.children
        found = []
        for loop in _trees(loops):  # type: ignore[arg-type]
            is_async, target, items = loop.children
            if is_async is not None:
                raise self._refuse(loop, "async is not allowed in safe mode")
            found.append(
                ast.comprehension(
                    target=self._target(target),  # type: ignore[arg-type]
                    iter=self.expression(items),  # type: ignore[arg-type]
                    ifs=[],
                    is_async=0,
                )
            )
        if condition is not None:
            found[-1].ifs.append(self.expression(condition))  # type: ignore[arg-type]
        return found

    def _comprehension(self, node: Tree, cls: Any) -> Any:
        inner = node if node.data == "comprehension" else _trees(node)[0]
        return cls(
            elt=self.expression(_trees(inner)[0]), generators=self._generators(inner)
        )

    def _expr_list_comprehension(self, node: Tree) -> ast.expr:
        return self._comprehension(node, ast.ListComp)  # type: ignore[no-any-return]

    def _expr_set_comprehension(self, node: Tree) -> ast.expr:
        return self._comprehension(node, ast.SetComp)  # type: ignore[no-any-return]

    def _expr_tuple_comprehension(self, node: Tree) -> ast.expr:
        return self._comprehension(node, ast.GeneratorExp)  # type: ignore[no-any-return]

    _expr_comprehension = _expr_tuple_comprehension

    def _expr_dict_comprehension(self, node: Tree) -> ast.expr:
        (inner,) = _trees(node)
        key, value = _trees(_trees(inner)[0])
        return ast.DictComp(
            key=self.expression(key),
            value=self.expression(value),
            generators=self._generators(inner),
        )

    def _expr_funccall(self, node: Tree) -> ast.expr:
        function, *arguments = _trees(node)
        call = ast.Call(func=self.expression(function), args=[], keywords=[])
        if arguments:
            self._add_arguments(arguments[0], call)
        return call

    def _add_arguments(self, node: Tree, call: ast.Call) -> None:
        if any(child.data == "comprehension" for child in _trees(node)):
            call.args.append(self.expression(_trees(node)[0]))
            return
        for child in _trees(node):
            match str(child.data):
                case "starargs":
                    self._add_arguments(child, call)
                case "stararg":
                    value = self.expression(_trees(child)[0])
                    call.args.append(self._at(ast.Starred(value=value, ctx=ast.Load()), child))
                case "kwargs":
                    value_node, *rest = _trees(child)
                    value = self.expression(value_node)
                    call.keywords.append(self._at(ast.keyword(arg=None, value=value), child))
                    self._add_keywords(rest, call)
                case "argvalue":
                    self._add_keywords([child], call)
                case _:
                    if call.keywords:
                        raise self._refuse(child, "an argument without a name follows a named one")
                    call.args.append(self.expression(child))

    def _add_keywords(self, nodes: list[Tree], call: ast.Call) -> None:
        for node in nodes:
            name, *value = _trees(node) if node.data == "argvalue" else [node]
            if name.data != "var" or not value:
                raise self._refuse(node, "this is not a named argument")
            text = self._name(_trees(name)[0])
            if any(keyword.arg == text for keyword in call.keywords):
                raise self._refuse(node, f"argument {text!r} is given twice")
            new = ast.keyword(arg=text, value=self.expression(value[0]))
            call.keywords.append(self._at(new, node))

    def _expr_getattr(self, node: Tree) -> ast.expr:
        value, name = _trees(node)
        return ast.Attribute(value=self.expression(value), attr=self._name(name), ctx=ast.Load())

    def _expr_getitem(self, node: Tree) -> ast.expr:
        value, index = _trees(node)
        return ast.Subscript(
            value=self.expression(value), slice=self.expression(index), ctx=ast.Load()
        )

    def _expr_slice(self, node: Tree) -> ast.expr:
        bounds: list[Any] = list(node.children)
        step = bounds[2] and next(iter(_trees(bounds[2])), None)
        lower, upper, step = (
            None if part is None else self.expression(part) for part in (*bounds[:2], step)
        )
        return ast.Slice(lower=lower, upper=upper, step=step)

    def _expr_test(self, node: Tree) -> ast.expr:
        body, test, orelse = map(self.expression, _trees(node))
        return ast.IfExp(test=test, body=body, orelse=orelse)

    def _expr_lambdef(self, node: Tree) -> ast.expr:
        parameters, body = node.children
        assert not isinstance(body, str | None)
        return ast.Lambda(args=self._parameters(parameters), body=self.expression(body))

    _expr_lambdef_nocond = _expr_lambdef

    def _expr_assign_expr(self, node: Tree) -> ast.expr:
        name, value = _trees(node)
        target = self._at(ast.Name(id=self._name(name), ctx=ast.Store()), name)
        return ast.NamedExpr(target=target, value=self.expression(value))

    def _expr_or_test(self, node: Tree) -> ast.expr:
        return ast.BoolOp(op=ast.Or(), values=[*map(self.expression, _trees(node))])

    def _expr_and_test(self, node: Tree) -> ast.expr:
        return ast.BoolOp(op=ast.And(), values=[*map(self.expression, _trees(node))])

    def _expr_not_test(self, node: Tree) -> ast.expr:
        return ast.UnaryOp(op=ast.Not(), operand=self.expression(_trees(node)[0]))

    def _expr_comparison(self, node: Tree) -> ast.expr:
        first, *rest = _trees(node)
        signs = [" ".join(map(str, sign.children)) for sign in rest[::2]]
        if "<>" in signs:
            raise self._refuse(node, "the operator <> is Python 2; write !=")
        return ast.Compare(
            left=self.expression(first),
            ops=[_COMPARISONS[sign]() for sign in signs],
            comparators=[*map(self.expression, rest[1::2])],
        )

    def _expr_factor(self, node: Tree) -> ast.expr:
        sign, operand = node.children
        assert not isinstance(operand, str | None)
        return ast.UnaryOp(op=_UNARY[str(sign)](), operand=self.expression(operand))

    def _operation(self, node: Tree) -> ast.expr:
        """Return a chain of binary operators as nested pairs."""
        implied = _OF_RULE.get(str(node.data))
        operands = _trees(node)
        signs = [implied or str(c) for c in node.children if implied is None and not _is_tree(c)]
        signs = signs or [implied or ""] * (len(operands) - 1)
        if len(signs) > DEEPEST:
            raise self._refuse(node, f"more than {DEEPEST} operators in a row")
        value = self.expression(operands[0])
        for sign, operand in zip(signs, operands[1:], strict=True):
            right = self.expression(operand)
            value = self._at(ast.BinOp(left=value, op=_OPERATORS[sign](), right=right), node, operand)
        return value

    _expr_or_expr = _expr_xor_expr = _expr_and_expr = _operation
    _expr_shift_expr = _expr_arith_expr = _expr_term = _expr_power = _operation


def _single(target: ast.expr) -> ast.Name | ast.Attribute | ast.Subscript:
    assert isinstance(target, ast.Name | ast.Attribute | ast.Subscript)
    return target
