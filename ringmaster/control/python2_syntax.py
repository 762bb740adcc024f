"""Ways of writing of Python 2 that Python 3 does not read: where they are, and
what to write instead.  CPython finds the error; only its line is looked at."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from ringmaster.control.source import Source, Span

_STRING_OR_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""' + "|'''(?:\\\\.|[^\\\\])*?'''"
    r'|"(?:\\.|[^"\\\n])*"' + "|'(?:\\\\.|[^'\\\\\n])*'" + r"|#[^\n]*|[\"'][^\n]*",
    re.DOTALL,
)


class _Leftover(msgspec.Struct, frozen=True):
    """A way of writing that Python 3 does not read.

    pattern  as it looks where strings are blank
    remedy   what to write instead, given the text that was found, and the text
             from there to the end of the statement
    """

    what: str
    pattern: re.Pattern[str]
    remedy: Callable[[str, str], str]


def _print(found: str, rest: str) -> str:
    value = rest.removeprefix("print").strip()
    if not value or "\n" in value:
        return "print(…), the brackets around all of it"
    if not value.endswith(","):
        return f"print({value})"
    return f"print({value.rstrip(', ')}, end=' ')"


def _octal(found: str, rest: str) -> str:
    return f"0o{found.lstrip('0') or '0'}"


def _exec(found: str, rest: str) -> str:
    whole = rest.removeprefix("exec").strip()
    code, _, names = whole.rpartition(" in ")
    split = code and not any(names.count(quote) % 2 for quote in "'\"")
    return f"exec({code}, {names})" if split else f"exec({whole})"


def _except(found: str, rest: str) -> str:
    kinds, _, name = found.rpartition(",")
    return f"{kinds.rstrip()} as {name.strip()}"


def _raise(found: str, rest: str) -> str:
    kind, _, value = rest.partition(",")
    traced = re.fullmatch(r"([^()]+),\s*(\w+)", value.strip())
    if traced:
        return f"{kind.rstrip()}({traced[1]}).with_traceback({traced[2]})"
    return f"{kind.rstrip()}({value.strip()})"


#: A name that is followed by what would be its argument; in brackets it is one
#: in Python 3, too.
_STATEMENT = r"(?<![.\w]){}\b(?=\s+[^\s=.,()\]}};:]|[\"'])"

_SYNTAX: Final = (
    _Leftover("the print statement", re.compile(_STATEMENT.format("print")), _print),
    _Leftover("the exec statement", re.compile(_STATEMENT.format("exec")), _exec),
    _Leftover("`…`", re.compile(r"`[^`]*`?"), lambda found, rest: f"repr({found.strip('`')})"),
    _Leftover("an octal number", re.compile(r"(?<![\w.])0[0-7]+(?![\w.])"), _octal),
    _Leftover(
        "a long number",
        re.compile(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|[0-9]+)[lL]\b"),
        lambda found, rest: found.rstrip("lL"),
    ),
    _Leftover(
        "a comma after except",
        re.compile(r"\bexcept\s+(?:[\w.]+|\([^()]*\))\s*,\s*\w+(?=\s*:)"),
        _except,
    ),
    _Leftover("a comma after raise", re.compile(r"\braise\s+[\w.]+\s*,"), _raise),
    _Leftover("the operator <>", re.compile(r"<>"), lambda found, rest: "!="),
    _Leftover(
        "a raw unicode string",
        re.compile(r"\b[uU][rR](?=[\"'])"),
        lambda found, rest: "r before the quotes",
    ),
    _Leftover(
        "a tuple as parameter",
        re.compile(r"\b(?:def\s+\w+\s*\(|lambda)\s*(?:\w+\s*,\s*)*(?=\()"),
        lambda found, rest: "one name, to be unpacked in the function: a, b = pair",
    ),
)


def syntax_remedy(source: Source, error: SyntaxError) -> tuple[Span | None, str]:
    """Return where the leftover of Python 2 is that a syntax error is about, if
    that can be said better than by CPython, and the remedy; "" for none."""
    if isinstance(error, TabError):
        return None, (
            "spaces only: Python 2 took a tab for spaces up to the next multiple of eight columns"
        )
    if "unicodeescape" in (error.msg or ""):
        return None, (
            "r before the quotes, or \\\\ for each backslash (in Python 2, \\U and \\N meant "
            "nothing in a plain string)"
        )
    line = error.lineno or 0
    if isinstance(error, IndentationError) or not 1 <= line <= len(source.lines):
        return None, ""
    blank = _blanked(source.text).split("\n")
    # CPython may complain of any part of it, or of what comes after it
    at = (error.offset or 1) - 1
    found: tuple[int, _Leftover, re.Match[str]] | None = None
    for leftover in _SYNTAX:
        for match in leftover.pattern.finditer(blank[line - 1]):
            if match.start() <= at <= match.end() + 1 or at <= match.start() <= at + 8:
                distance = abs(match.start() - at)
                if found is None or distance < found[0]:
                    found = (distance, leftover, match)
    if found is None:
        return None, ""
    _, leftover, match = found
    text = source.lines[line - 1]
    rest = _statement(source.lines, blank, line - 1, match.start())
    remedy = leftover.remedy(text[match.start() : match.end()], rest)
    more = sum(
        bool(leftover.pattern.search(other)) for i, other in enumerate(blank) if i != line - 1
    )
    also = f"; {more} more line{'s' * (more > 1)} of the file look{'s' * (more == 1)} the same"
    end = max(len(match[0].rstrip()), 1) + match.start() + 1
    span = Span(line, match.start() + 1, line, end)
    return span, f"{remedy} ({leftover.what} is Python 2{also * (more > 0)})"


def _blanked(text: str) -> str:
    """Return text of the same places with what is in quotes or a comment blank."""

    def blank(match: re.Match[str]) -> str:
        token = match[0]
        if token.startswith("#") or token[-1] != token[0]:  # a string without an end
            return " " * len(token)
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    return _STRING_OR_COMMENT.sub(blank, text)


def _statement(lines: list[str], blank: list[str], first: int, start: int) -> str:
    """Return the statement that begins at a place (index of its line, of its
    first character), to its end or to that of the bracket around it.

    blank  the lines with what is in quotes or a comment blank
    """
    depth = 0
    for number in range(first, len(lines)):
        line = blank[number]
        begin = start if number == first else 0
        for i in range(begin, len(line)):
            if line[i] in "([{":
                depth += 1
            elif line[i] in ")]}":
                depth -= 1
            if depth < 0 or (depth == 0 and line[i] == ";"):
                return "\n".join([*lines[first:number], lines[number][:i]])[start:]
        code = line.rstrip()
        # of a string that goes on in the next line one quote is here
        quotes = re.findall("[\"']", "".join([*blank[first:number], line])[start:])
        quoted = len(quotes) % 2
        if depth == 0 and not code.endswith("\\") and not quoted:
            return "\n".join([*lines[first:number], lines[number][: len(code)]])[start:]
    return lines[first][start:]
