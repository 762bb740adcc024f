"""Parse a control file with lark, and build a tree of module `ast` from lark's tree.

CPython's parser and compiler do not see the text.  The tree has the statements and
expressions that safe mode evaluates; all else is refused at its place.
"""

from __future__ import annotations

import ast
import functools
import keyword
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import lark
from lark.exceptions import LarkError
from lark.indenter import DedentError, PythonIndenter

from ringmaster.control.source import ControlFileProblems, Source, Span
from ringmaster.errors import shown

#: A tree or a token of lark, or None.
Tree = Any

#: Characters of a control file in safe mode.
MOST_CHARACTERS: Final = 100_000
#: Words and signs of a text.
MOST_TOKENS: Final = 20_000
#: Levels of nesting in lark's tree; brackets, blocks and operators have at most three.
DEEPEST: Final = 180
#: Operators or `elif` in a row, which are nested in a tree of `ast`.
MOST_IN_A_ROW: Final = 60
#: Characters of a name, and digits of a number.
LONGEST_NAME: Final = 100
LONGEST_NUMBER: Final = 1000

#: Patterns for lark: its own take time that is quadratic in the length of a wrong string.
_PATTERNS: Final = {
    "STRING": r"(u|[bf]?r?|r[bf])"
    r"""("(?!"")(?:[^"\\\n]|\\[\s\S])*"|'(?!'')(?:[^'\\\n]|\\[\s\S])*')""",
    "LONG_STRING": r"(u|[bf]?r?|r[bf])"
    r'''("""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|\'\'\'(?:[^'\\]|\\[\s\S]|'(?!\'\'))*\'\'\')''',
}
_LITERAL: Final = re.compile(r"(\w*)('''|\"\"\"|'|\")")
_ESCAPE: Final = re.compile(
    r"\\(?:[\n\\'\"abfnrtv]|([0-7]{1,3})|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"
    r"|U[0-9a-fA-F]{8}|N\{[^{}]*\}|[xuUN])"
)

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
#: Rules whose parts may have a star.
_STARRED: Final = frozenset({"tuple", "list", "set", "exprlist", "arguments", "starargs"})


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
    **dict.fromkeys(("starparams", "poststarparams"), _list_of),
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
    "import_as_name": _alias,
    "dotted_as_name": _alias,
    "dotted_name": lambda *names: ".".join(name.id for name in names),
    "elif_": lambda test, body: ast.If(test, body, []),
    "while_stmt": lambda test, body, orelse: ast.While(test, body, orelse or []),
    "typedparam": lambda name, kind: ast.arg(name.id, kind),
    "paramvalue": lambda parameter, default: (parameter, default),
    "lambda_paramvalue": lambda parameter, default: (parameter, default),
    "starguard": lambda: ("*", None),
    "starparam": lambda parameter: ("*", parameter),
    "lambda_starparams": lambda parameter, *rest: [("*", parameter), *rest],
    "kwparams": lambda parameter: ("**", parameter),
    "lambda_kwparams": lambda parameter: ("**", parameter),
    "const_none": lambda: ast.Constant(None),
    "const_true": lambda: ast.Constant(True),
    "const_false": lambda: ast.Constant(False),
    "list": lambda *parts: ast.List([*parts], ast.Load()),
    "set": lambda *parts: ast.Set([*parts]),
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

    def handle_NL(self, token: lark.Token) -> Iterator[lark.Token]:  # noqa: N802
        try:
            yield from super().handle_NL(token)
        except DedentError:
            raise _Misplaced(token, "the indentation matches no line above") from None


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
    """Return the tree of a control file.  Raises ControlFileError."""
    size = len(source.text)
    if size > MOST_CHARACTERS:
        message = f"the file has {size} characters; safe mode reads {MOST_CHARACTERS}"
        raise source.refusal(Span(1, 1, 1, 2), message)
    try:
        return ast.Module(body=_Builder(source).statements(source.text), type_ignores=[])
    except RecursionError:
        message = "this is nested too deeply for safe mode"
        raise source.refusal(Span(1, 1, 1, 2), message) from None


class _Builder:
    """Builds nodes of `ast` from lark's trees.  Its methods raise ControlFileError.

    Each `_make` method is for a rule of lark's grammar that is not in `_RULES`.  It gets
    the tree, and the parts that were built from its children.

    fixed  the place of all nodes, None for their own
    """

    def __init__(self, source: Source, fixed: Span | None = None) -> None:
        self._source = source
        self._fixed = fixed

    def statements(self, text: str) -> list[ast.stmt]:
        try:
            tree = _parser().parse(text + "\n")
        except (LarkError, AssertionError) as error:
            line, column = getattr(error, "line", 1), getattr(error, "column", 1)
            if not isinstance(line, int) or line < 1:  # the end of the file
                line, column = len(self._source.lines), len(self._source.lines[-1]) + 1
            raise self._source.refusal(
                self._fixed or Span(line, column, line, column + 1),
                getattr(error, "reason", "this is not understood in safe mode"),
                "the simple Python of a control file",
            ) from None
        level: list[Tree] = [tree]
        for _ in range(DEEPEST):
            level = [child for node in level for child in _trees_in(node)]
            if not level:
                statements: list[ast.stmt] = self._built(tree)
                return statements
        raise self._refuse(level[0], "this is nested too deeply for safe mode")

    def _place(self, node: Tree) -> Span:
        meta: Any = node if isinstance(node, str) else node.meta
        if self._fixed is not None or getattr(meta, "line", None) is None:
            return self._fixed or Span(1, 1, 1, 2)
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

    def _built(self, node: Tree) -> Any:
        """Return the node of `ast`, or the list or text, that a tree of lark stands for."""
        if node is None or isinstance(node, str):
            return node
        make = getattr(self, f"_make_{node.data}", None)
        if make is None and node.data not in _RULES:
            place = self._place(node)
            text = self._source.lines[place.line - 1][place.column - 1 :]
            word = re.split(r"\W", text, maxsplit=1)[0]
            what = word if keyword.iskeyword(word) else "this"
            raise self._refuse(node, f"{what} is not allowed in safe mode")
        parts = [self._built(child) for child in node.children]
        for child, part in zip(node.children, parts, strict=True):
            if isinstance(part, ast.Starred) and node.data not in _STARRED:
                raise self._refuse(child, "a star is not allowed here")
        new = make(node, *parts) if make else _RULES[node.data](*parts)
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
                if sum(isinstance(part, ast.Starred) for part in parts) > 1:
                    raise self._refuse(node, "two names with a star")
            case ast.Starred(part):
                parts = [part]
            case _:
                raise self._refuse(node, "this cannot be assigned in safe mode")
        new.ctx = ast.Store()
        for part in parts:
            self._stored(part, node)
        return new

    def _make_import_from(self, node: Tree, module: str, names: Any = None) -> ast.stmt:
        if names is None:
            raise self._refuse(node, "this import is not allowed in safe mode")
        return ast.ImportFrom(module, names, 0)

    def _make_if_stmt(
        self, node: Tree, test: Any, body: Any, elifs: list[ast.If], orelse: Any
    ) -> ast.stmt:
        if len(elifs) > MOST_IN_A_ROW:
            raise self._refuse(node, f"more than {MOST_IN_A_ROW} elif in a row")
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
        parameters = parameters or self._make_parameters(node)
        new: Any = ast.FunctionDef(name.id, parameters, body, [], returns)
        new.type_params = []  # of Python 3.12
        return new  # type: ignore[no-any-return]

    # parameters of functions

    def _make_parameters(self, node: Tree, *parts: Any) -> ast.arguments:
        new = ast.arguments([], [], None, [], [], None, [])
        named = False
        for part in _list_of(*parts):
            match part:
                case "/":
                    new.posonlyargs, new.args = new.args, []
                case "*", star:
                    new.vararg = None if star is None else _parameter(star)
                    named = True
                case "**", rest:
                    new.kwarg = _parameter(rest)
                case _:
                    one, default = part if isinstance(part, tuple) else (part, None)
                    if not named and default is None and new.defaults:
                        message = "a parameter without a default follows one with a default"
                        raise self._refuse(node, message)
                    (new.kwonlyargs if named else new.args).append(_parameter(one))
                    if named or default is not None:
                        (new.kw_defaults if named else new.defaults).append(default)
        return new

    _make_lambda_params = _make_parameters

    # names, numbers and strings

    def _make_name(self, node: Tree, token: str) -> ast.Name:
        # CPython does the same with names
        name = unicodedata.normalize("NFKC", str(token))
        if not name.isidentifier() or len(name) > LONGEST_NAME:
            raise self._refuse(node, f"{shown(name)} is not a name")
        return ast.Name(name, ast.Load())

    def _make_number(self, node: Tree, token: lark.Token) -> ast.expr:
        digits = token.replace("_", "")
        if token.type == "IMAG_NUMBER":
            raise self._refuse(node, "complex numbers are not allowed in safe mode")
        if len(digits) > LONGEST_NUMBER:
            raise self._refuse(node, "this number is too long")
        return ast.Constant(float(digits) if token.type == "FLOAT_NUMBER" else int(digits, 0))

    def _make_string(self, node: Tree, token: str) -> ast.expr:
        literal = _LITERAL.match(token)
        assert literal is not None
        prefix = literal[1].lower()
        text = token[literal.end() : -len(literal[2])]
        if "b" in prefix:
            raise self._refuse(node, f"{prefix} before a string is not allowed in safe mode")
        try:
            if "f" in prefix:
                return self._joined(self._formatted(text, "r" in prefix, node), node)
            return ast.Constant(_decoded(text, "r" in prefix), "u" if prefix == "u" else None)
        except ValueError as error:
            raise self._refuse(node, str(error)) from None

    def _make_string_concat(self, node: Tree, *parts: Any) -> ast.expr:
        if all(isinstance(part, ast.Constant) for part in parts):
            return ast.Constant("".join(part.value for part in parts), parts[0].kind)
        inner = [part.values if isinstance(part, ast.JoinedStr) else [part] for part in parts]
        return self._joined((item for items in inner for item in items), node)

    def _joined(self, parts: Iterable[ast.expr], node: Tree) -> ast.JoinedStr:
        """Return an f-string of parts, without neighbours of plain text and empty ones."""
        merged: list[ast.expr] = []
        for part in parts:
            match [*merged[-1:], part]:
                case [ast.Constant(str(one)), ast.Constant(str(other))]:
                    merged[-1] = ast.Constant(one + other)
                case _:
                    merged.append(part)
        merged = [part for part in merged if not isinstance(part, ast.Constant) or part.value]
        new: ast.JoinedStr = self._at(ast.JoinedStr(merged), node)
        return ast.fix_missing_locations(new)

    def _formatted(self, text: str, raw: bool, node: Tree, level: int = 0) -> Iterator[ast.expr]:
        """Yield the parts of an f-string, or of the layout in one.  Raises ValueError."""
        if level > 1 or "\\N" in text:
            raise ValueError("this f-string is not understood in safe mode")
        for literal, field, layout, conversion in string.Formatter().parse(text):
            if literal:
                yield ast.Constant(_decoded(literal, raw))
            if field is None:
                continue
            if conversion not in (None, "r", "s", "a"):
                raise ValueError(f"{conversion!r} is no conversion")
            inner = self._joined(self._formatted(layout or "", raw, node, level + 1), node)
            code = ord(conversion) if conversion else -1
            yield ast.FormattedValue(self._inside(field, node), code, inner if layout else None)

    def _inside(self, text: str, node: Tree) -> ast.expr:
        """Return the expression of an f-string; all of it has the string's place."""
        if not text.strip() or set(text) & set("\\#\n\r"):
            raise ValueError("this f-string is not understood in safe mode")
        match _Builder(self._source, self._place(node)).statements(text.strip()):
            case [ast.Expr(value)]:
                return value
        raise ValueError("an f-string has one expression in brackets")

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
                if part.arg is not None and part.arg in [other.arg for other in call.keywords]:
                    raise self._refuse(node, f"argument {part.arg!r} is given twice")
                call.keywords.append(part)
            elif call.keywords and not isinstance(part, ast.Starred):
                raise self._refuse(node, "an argument without a name follows a named one")
            else:
                call.args.append(part)
        return call

    def _make_kwargs(self, node: Tree, value: ast.expr, *rest: Any) -> list[Any]:
        return [self._at(ast.keyword(None, value), node), *rest]

    def _make_argvalue(self, node: Tree, name: ast.expr, value: ast.expr) -> ast.keyword:
        if not isinstance(name, ast.Name):
            raise self._refuse(node, "this is not a named argument")
        return ast.keyword(name.id, value)

    # operators

    def _make_lambdef(self, node: Tree, parameters: Any, body: ast.expr) -> ast.expr:
        return ast.Lambda(parameters or self._make_parameters(node), body)

    _make_lambdef_nocond = _make_lambdef

    def _make_assign_expr(self, node: Tree, name: Any, value: ast.expr) -> ast.expr:
        name.ctx = ast.Store()
        return ast.NamedExpr(name, value)

    def _make_comparison(self, node: Tree, first: ast.expr, *rest: Any) -> ast.expr:
        if "<>" in rest:
            raise self._refuse(node, "the operator <> is Python 2; write !=")
        return ast.Compare(first, [_COMPARISONS[sign]() for sign in rest[::2]], [*rest[1::2]])

    def _make_operation(self, node: Tree, first: ast.expr, *rest: Any) -> ast.expr:
        """Return a chain of binary operators as nested pairs."""
        operands = [(part, child) for part, child in zip(rest, node.children[1:], strict=True)
                    if isinstance(part, ast.expr)]  # fmt: skip
        if len(operands) > MOST_IN_A_ROW:
            raise self._refuse(node, f"more than {MOST_IN_A_ROW} operators in a row")
        signs = [part for part in rest if isinstance(part, str)]
        signs = signs or [_OF_RULE[node.data]] * len(operands)
        value = first
        for sign, (operand, child) in zip(signs, operands, strict=True):
            value = self._at(ast.BinOp(value, _OPERATORS[sign](), operand), node, child)
        return value

    _make_or_expr = _make_xor_expr = _make_and_expr = _make_operation
    _make_shift_expr = _make_arith_expr = _make_term = _make_power = _make_operation


def _trees_in(node: Tree) -> list[Tree]:
    # the other children are tokens, which are strings, and None
    return [child for child in node.children if child is not None and not isinstance(child, str)]


def _parameter(node: Any) -> ast.arg:
    return ast.copy_location(ast.arg(node.id), node) if isinstance(node, ast.Name) else node


def _decoded(text: str, raw: bool) -> str:
    """Return a text with its escapes replaced, unless it is raw.  Raises ValueError."""
    return text if raw else _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    try:
        return chr(int(match[1], 8)) if match[1] else match[0].encode().decode("unicode_escape")
    except ValueError:
        raise ValueError(f"{match[0]} is not a character") from None
