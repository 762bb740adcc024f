"""Build lark's parser for Python, parse a text within bounds, and decode its literals."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ringmaster.control.source import ControlFileProblems, Source, Span

if TYPE_CHECKING:  # a control file of one's own does not need lark
    import lark

#: A tree or a token of lark.
Tree = Any

#: Words and signs of a text.
MOST_TOKENS: Final = 20_000
#: Levels of nesting in lark's tree.
DEEPEST: Final = 180
#: Letters before a string.
_PREFIXES: Final = frozenset({"", "f", "fr", "r", "rf", "u"})
_ESCAPES: Final = {
    **{"\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f"},
    **{"n": "\n", "r": "\r", "t": "\t", "v": "\v"},
}
_ESCAPE: Final = re.compile(
    r"\\(?:([\n\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|N\{([^{}]*)\}|([xuUN]))"
)
#: Patterns for lark: its own take time that is quadratic in the length of a wrong string.
_PATTERNS: Final = {
    "STRING": r"([ubf]?r?|r[ubf])"
    r"""("(?!"")(?:[^"\\\n]|\\[\s\S])*"|'(?!'')(?:[^'\\\n]|\\[\s\S])*')""",
    "LONG_STRING": r"([ubf]?r?|r[ubf])"
    r'''("""(?:[^"\\]|\\[\s\S]|"(?!""))*"""|\'\'\'(?:[^'\\]|\\[\s\S]|'(?!\'\'))*\'\'\')''',
}


@functools.cache
def parser() -> lark.Lark:
    """Return lark's parser for Python, which takes about a second to build."""
    import lark
    from lark.indenter import DedentError, PythonIndenter

    class Indenter(PythonIndenter):
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

    def edit(terminal: Any) -> None:
        terminal.pattern.value = _PATTERNS.get(terminal.name, terminal.pattern.value)

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
    """A word that no file may have at its place, and the reason."""

    def __init__(self, token: lark.Token, reason: str) -> None:
        self.line = token.end_line
        self.column = token.end_column
        self.reason = reason


def refusal(source: Source, span: Span, message: str, expected: str = "") -> ControlFileProblems:
    """Return an error of a control file in safe mode."""
    return ControlFileProblems([source.diagnostic(span, message, expected)])


def lark_tree(source: Source, text: str, fixed: Span | None = None) -> Tree:
    """Return lark's tree of a text.  Raises ControlFileError.

    fixed  the place of an error, None for its own
    """
    from lark.exceptions import LarkError

    try:
        tree = parser().parse(text + "\n")
    except (LarkError, AssertionError, _Misplaced) as error:
        line, column = getattr(error, "line", 1), getattr(error, "column", 1)
        if not isinstance(line, int) or line < 1:  # the end of the file
            line, column = len(source.lines), len(source.lines[-1]) + 1
        raise refusal(
            source,
            fixed or Span(line, column, line, column + 1),
            getattr(error, "reason", "this is not understood in safe mode"),
            "the simple Python of a control file",
        ) from None
    level: list[Tree] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in trees_in(node)]
        if not level:
            return tree
    raise refusal(source, fixed or span_of(level[0]), "this is nested too deeply for safe mode")


def span_of(node: Tree) -> Span:
    """Return the place of a tree or token."""
    meta: Any = node if isinstance(node, str) else node.meta
    if getattr(meta, "line", None) is None:
        return Span(1, 1, 1, 2)
    return Span(meta.line, meta.column, meta.end_line, meta.end_column)


def trees_in(node: Tree) -> list[Tree]:
    """Return the trees in a tree."""
    # the other children are tokens, which are strings, and None
    return [child for child in node.children if child is not None and not isinstance(child, str)]


# strings and numbers, without CPython's parser


def split_literal(token: str) -> tuple[str, str]:
    """Return the letters before a string and the text between its quotes.  Raises ValueError."""
    prefix = token[: min(token.find(quote) for quote in "\"'" if quote in token)]
    quotes = 3 if token[len(prefix) :].startswith(('"""', "'''")) else 1
    if prefix.lower() not in _PREFIXES:
        raise ValueError(f"{prefix} before a string is not allowed in safe mode")
    return prefix.lower(), token[len(prefix) + quotes : -quotes]


def decoded(text: str) -> str:
    """Return a text with its escapes replaced.  Raises ValueError."""
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    plain, octal, two, four, eight, name, wrong = match.groups()
    if plain is not None:
        return _ESCAPES[plain]
    try:
        if name is not None:
            return unicodedata.lookup(name)
        return chr(int(octal, 8) if octal else int(two or four or eight or wrong, 16))
    except (ValueError, OverflowError, KeyError):
        raise ValueError(f"{match[0]} is not a character") from None


def number(token: str, is_float: bool) -> int | float:
    """Return a number.  Raises ValueError."""
    digits = token.replace("_", "")
    if len(digits) > 1000:
        raise ValueError("this number is too long")
    return float(digits) if is_float else int(digits, 0)
