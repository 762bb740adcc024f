"""Parse a control file with lark, and build a tree of module `ast` from lark's tree.

CPython's parser reads names, literals and parameters alone.  The tree has the statements and
expressions that safe mode evaluates; all else is refused at its place.
"""

from __future__ import annotations

import ast
import functools
import keyword
import re
import warnings
from collections.abc import Callable
from typing import Any, Final

import lark
from lark.exceptions import LarkError
from lark.indenter import PythonIndenter

from ringmaster.control.source import ControlFileProblems, Source, Span

#: A tree or a token of lark, or None.
Tree = Any

#: Words and signs of a text.
MOST_TOKENS: Final = 20_000
#: Levels of nesting in the tree; each operator and `elif` in a row is one.
DEEPEST: Final = 100

#: Patterns for lark: its own take time that is quadratic in the length of a wrong string.
_PATTERNS: Final = {
    "STRING": r"(u|[bf]?r?|r[bf])"
    r"""("(?!"")(?:[^"\\\n]|\\[\s\S])*"|'(?!'')(?:[^'\\\n]|\\[\s\S])*')""",
    "LONG_STRING": r"(u|[bf]?r?|r[bf])"
    r'''("""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|\'\'\'(?:[^'\\]|\\[\s\S]|'(?!\'\'))*\'\'\')''',
}

#: Rules of lark's grammar that CPython's parser reads, and what to write around their text.
_READ: Final = {
    **dict.fromkeys(("name", "number", "string", "string_concat"), "(\n{}\n)"),
    "parameters": "def f(\n{}\n): pass",
    "lambda_params": "(lambda\n{}\n: 0)",
}
_NO_PARAMETERS: Final = ast.arguments([], [], None, [], [], None, [])
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


def _list_of(*parts: Any) -> list[Any]:
    """Return parts, with the parts of lists among them, without None."""
    listed = (part if isinstance(part, list) else [part] for part in parts)
    return [item for items in listed for item in items if item is not None]


def _alias(name: Any, other: ast.Name | None) -> ast.alias:
    text = name.id if isinstance(name, ast.Name) else name
    return ast.alias(text, None if other is None else other.id)


#: Rules of lark's grammar whose node, list or text is made of the parts alone.
_RULES: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(("file_input", "suite", "simple_stmt", "elifs", "comp_fors"), _list_of),
    **dict.fromkeys(("dotted_as_names", "import_as_names", "arguments", "starargs"), _list_of),
    **dict.fromkeys(
        ("assign_stmt", "import_stmt", "augassign_op", "sliceop", "var"), lambda part: part
    ),
    **dict.fromkeys(
        ("tuple", "testlist_tuple", "exprlist", "subscript_tuple"),
        lambda *parts: ast.Tuple([*parts], ast.Load()),
    ),
    "pass_stmt": ast.Pass,
    "break_stmt": ast.Break,
    "continue_stmt": ast.Continue,
    "expr_stmt": ast.Expr,
    "return_stmt": ast.Return,
    "import_name": ast.Import,
    "import_from": lambda module, names: ast.ImportFrom(module, [*names], 0),
    "import_as_name": _alias,
    "dotted_as_name": _alias,
    "dotted_name": lambda *names: ".".join(name.id for name in names),
    "elif_": lambda test, body: ast.If(test, body, []),
    "while_stmt": lambda test, body, orelse: ast.While(test, body, orelse or []),
    "const_none": lambda: ast.Constant(None),
    "const_true": lambda: ast.Constant(True),
    "const_false": lambda: ast.Constant(False),
    "list": lambda *parts: ast.List([*parts], ast.Load()),
    "set": lambda *parts: ast.Set([*parts]),
    "argvalue": lambda name, value: ast.keyword(name.id, value),
    "key_value": lambda key, value: (key, value),
    "star_expr": lambda value: ast.Starred(value, ast.Load()),
    "stararg": lambda value: ast.Starred(value, ast.Load()),
    "list_comprehension": lambda inner: ast.ListComp(inner.elt, inner.generators),
    "set_comprehension": lambda inner: ast.SetComp(inner.elt, inner.generators),
    "tuple_comprehension": lambda inner: ast.GeneratorExp(inner.elt, inner.generators),
    "dict_comprehension": lambda inner: ast.DictComp(inner.key, inner.value, inner.generators),
    "getattr": lambda value, name: ast.Attribute(value, name.id, ast.Load()),
    "getitem": lambda value, index: ast.Subscript(value, index, ast.Load()),
    "slice": ast.Slice,
    "test": lambda body, test, orelse: ast.IfExp(test, body, orelse),
    "or_test": lambda *values: ast.BoolOp(ast.Or(), [*values]),
    "and_test": lambda *values: ast.BoolOp(ast.And(), [*values]),
    "not_test": lambda operand: ast.UnaryOp(ast.Not(), operand),
    "factor": lambda sign, operand: ast.UnaryOp(_UNARY[sign](), operand),
    "comp_op": lambda *words: " ".join(words),
}


class _Misplaced(LarkError):
    """A word that no file may have at its place, and the reason."""

    def __init__(self, token: lark.Token, reason: str) -> None:
        self.line = token.end_line
        self.column = token.end_column
        self.reason = reason


class _Indenter(PythonIndenter):
    def process(self, stream: Any) -> Any:
        for count, token in enumerate(super().process(stream)):  # type: ignore[no-untyped-call]
            if count > MOST_TOKENS:
                raise _Misplaced(token, f"more than {MOST_TOKENS} words and signs")
            yield token


@functools.cache
def _parser() -> lark.Lark:
    """Return lark's parser for Python, which takes about a second to build."""

    def edit(terminal: Any) -> None:
        terminal.pattern.value = _PATTERNS.get(terminal.name, terminal.pattern.value)

    return lark.Lark.open_from_package(
        "lark",
        "python.lark",
        ["grammars"],
        parser="lalr",
        postlex=_Indenter(),
        propagate_positions=True,
        maybe_placeholders=True,
        start=["file_input"],
        edit_terminals=edit,
    )


def parse_safely(source: Source) -> ast.Module:
    """Return the tree of a control file.  Raises ControlFileError, RecursionError."""
    try:
        lark_tree = _parser().parse(source.text + "\n")
    except (LarkError, AssertionError) as error:
        line, column = getattr(error, "line", 1), getattr(error, "column", 1)
        if not isinstance(line, int) or line < 1:  # the end of the file
            line, column = len(source.lines), len(source.lines[-1]) + 1
        raise source.refusal(
            Span(line, column, line, column + 1),
            getattr(error, "reason", "this is not understood in safe mode"),
            "the simple Python of a control file",
        ) from None
    with warnings.catch_warnings(action="ignore"):  # plain mode shows those of strings
        tree = ast.Module(_Builder(source).built(lark_tree), [])
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    deep = next(node for node in level if isinstance(node, ast.expr | ast.stmt))
    raise source.refusal(source.span_of(deep), "this is nested too deeply for safe mode")


class _Builder:
    """Builds nodes of `ast` from lark's trees.  Its methods raise ControlFileError.

    Each `_make` method is for a rule of lark's grammar that is not in `_RULES`.  It gets
    the tree, and the parts that were built from its children.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def _place(self, node: Tree) -> Span:
        meta: Any = node if isinstance(node, str) else node.meta
        if getattr(meta, "line", None) is None:
            return Span(1, 1, 1, 2)
        return Span(meta.line, meta.column, meta.end_line, meta.end_column)

    def _refuse(self, node: Tree, message: str) -> ControlFileProblems:
        return self._source.refusal(self._place(node), message)

    def _at(self, new: Any, node: Tree, end: Tree = None) -> Any:
        """Give a new node its place in bytes, as CPython does."""
        first, last = self._place(node), self._place(end or node)
        new.lineno, new.col_offset = first.line, self._offset(first.line, first.column)
        new.end_lineno = last.end_line
        new.end_col_offset = self._offset(last.end_line, last.end_column)
        return new

    def _offset(self, line: int, column: int) -> int:
        text = self._source.lines[min(line, len(self._source.lines)) - 1]
        return column - 1 if text.isascii() else len(text[: column - 1].encode())

    def built(self, node: Tree) -> Any:
        """Return the node of `ast`, or the list or text, that a tree of lark stands for."""
        if node is None or isinstance(node, str):
            return node
        make = getattr(self, f"_make_{node.data}", None)
        if make is None and node.data not in _RULES and node.data not in _READ:
            place = self._place(node)
            text = self._source.lines[place.line - 1][place.column - 1 :]
            word = re.split(r"\W", text, maxsplit=1)[0]
            what = word if keyword.iskeyword(word) else "this"
            raise self._refuse(node, f"{what} is not allowed in safe mode")
        parts = [] if node.data in _READ else [self.built(child) for child in node.children]
        try:
            if node.data in _READ:
                return self._read(node)
            new = make(node, *parts) if make else _RULES[node.data](*parts)
        except (AttributeError, LookupError, MemoryError, SyntaxError, TypeError, ValueError):
            raise self._refuse(node, "this is not understood in safe mode") from None
        has_place = isinstance(new, ast.AST) and "lineno" in new._attributes
        return self._at(new, node) if has_place and not hasattr(new, "lineno") else new

    # statements

    def _make_assign(self, node: Tree, *parts: ast.expr) -> ast.stmt:
        return ast.Assign([self._stored(part, node) for part in parts[:-1]], parts[-1])

    def _make_annassign(self, node: Tree, target: Any, kind: Any, value: Any) -> ast.stmt:
        is_name = int(isinstance(target, ast.Name))
        return ast.AnnAssign(self._one(target, node), kind, value, is_name)

    def _make_augassign(self, node: Tree, target: Any, sign: str, value: Any) -> ast.stmt:
        operator = _OPERATORS[sign.removesuffix("=")]
        return ast.AugAssign(self._one(target, node), operator(), value)

    def _one(self, target: ast.expr, node: Tree) -> Any:
        if not isinstance(target, ast.Name | ast.Subscript):
            raise self._refuse(node, "several names cannot be assigned in this way")
        return self._stored(target, node)

    def _stored(self, new: ast.expr, node: Tree) -> ast.expr:
        """Return an expression as the target of an assignment."""
        match new:
            case ast.Name() | ast.Subscript():
                parts: list[ast.expr] = []
            case ast.Tuple(parts) | ast.List(parts):
                pass
            case ast.Starred(part):
                parts = [part]
            case _:
                raise self._refuse(node, "this cannot be assigned in safe mode")
        new.ctx = ast.Store()
        for part in parts:
            self._stored(part, node)
        return new

    def _make_if_stmt(
        self, node: Tree, test: Any, body: Any, elifs: list[ast.If], orelse: Any
    ) -> ast.stmt:
        last = orelse or []
        for clause in reversed(elifs):
            clause.orelse = last
            last = [clause]
        return ast.If(test, body, last)

    def _make_for_stmt(
        self, node: Tree, target: Any, items: Any, body: Any, orelse: Any
    ) -> ast.stmt:
        return ast.For(self._stored(target, node), items, body, orelse or [])

    def _make_funcdef(
        self, node: Tree, name: ast.Name, parameters: Any, returns: Any, body: Any
    ) -> ast.stmt:
        new: Any = ast.FunctionDef(name.id, parameters or _NO_PARAMETERS, body, [], returns)
        new.type_params = []  # of Python 3.12
        return new  # type: ignore[no-any-return]

    def _read(self, node: Tree) -> Any:
        """Return a name, a literal, or parameters, as CPython's parser reads them."""
        text = self._source.text[node.meta.start_pos : node.meta.end_pos]
        statement: Any = ast.parse(_READ[node.data].format(text)).body[0]
        new = statement.args if isinstance(statement, ast.FunctionDef) else statement.value
        new = new.args if isinstance(new, ast.Lambda) else new
        shift = self._offset(node.meta.line, node.meta.column)
        for part in map(vars, ast.walk(new)):
            for line, column in (("lineno", "col_offset"), ("end_lineno", "end_col_offset")):
                if line in part:
                    part[column] += shift if part[line] == 2 else 0
                    part[line] += node.meta.line - 2
        return new

    # displays and comprehensions

    def _make_dict(self, node: Tree, *parts: Any) -> ast.expr:
        pairs = [part if isinstance(part, tuple) else (None, part) for part in parts]
        return ast.Dict([key for key, _ in pairs], [value for _, value in pairs])

    def _make_comp_for(self, node: Tree, is_async: Any, target: Any, items: Any) -> Any:
        if is_async is not None:
            raise self._refuse(node, "async is not allowed in safe mode")
        return ast.comprehension(self._stored(target, node), items, [], 0)

    def _make_comprehension(self, node: Tree, item: Any, loops: Any, condition: Any) -> ast.expr:
        if condition is not None:
            loops[-1].ifs.append(condition)
        if isinstance(item, tuple):
            return ast.DictComp(item[0], item[1], loops)
        return ast.GeneratorExp(item, loops)

    # calls and parts

    def _make_funccall(self, node: Tree, function: ast.expr, arguments: Any) -> ast.expr:
        call = ast.Call(function, [], [])
        for part in arguments or ():
            if isinstance(part, ast.keyword):
                call.keywords.append(part)
            elif call.keywords and not isinstance(part, ast.Starred):
                raise self._refuse(node, "an argument without a name follows a named one")
            else:
                call.args.append(part)
        return call

    def _make_kwargs(self, node: Tree, value: ast.expr, *rest: Any) -> list[Any]:
        return [self._at(ast.keyword(None, value), node), *rest]

    # operators

    def _make_lambdef(self, node: Tree, parameters: Any, body: ast.expr) -> ast.expr:
        return ast.Lambda(parameters or _NO_PARAMETERS, body)

    _make_lambdef_nocond = _make_lambdef

    def _make_assign_expr(self, node: Tree, name: Any, value: ast.expr) -> ast.expr:
        name.ctx = ast.Store()
        return ast.NamedExpr(name, value)

    def _make_comparison(self, node: Tree, first: ast.expr, *rest: Any) -> ast.expr:
        return ast.Compare(first, [_COMPARISONS[sign]() for sign in rest[::2]], [*rest[1::2]])

    def _make_operation(self, node: Tree, first: ast.expr, *rest: Any) -> ast.expr:
        """Return a chain of binary operators as nested pairs."""
        operands = [(part, child) for part, child in zip(rest, node.children[1:], strict=True)
                    if isinstance(part, ast.expr)]  # fmt: skip
        signs = [part for part in rest if isinstance(part, str)]
        signs = signs or [_OF_RULE[node.data]] * len(operands)
        value = first
        for sign, (operand, child) in zip(signs, operands, strict=True):
            value = self._at(ast.BinOp(value, _OPERATORS[sign](), operand), node, child)
        return value

    _make_or_expr = _make_xor_expr = _make_and_expr = _make_operation
    _make_shift_expr = _make_arith_expr = _make_term = _make_power = _make_operation
