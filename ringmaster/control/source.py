"""The text of a control file, places in it, and diagnostics.

Columns count characters from 1.  CPython's columns count UTF-8 bytes from 0; they are
converted here.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import linecache
import os
import re
import stat
import types
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ringmaster.errors import ControlFileError, cut

Severity = Literal["error", "warning"]

#: Terminal columns of a source line, and columns before the caret of a cut line.
WIDTH = 96
BEFORE_CARET = 48
TAB = 4
MESSAGE_LENGTH = 600

#: Unicode categories on which a terminal may act: control, format (bidirectional
#: overrides too), surrogate, line and paragraph separator.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_COMBINING = frozenset({"Mn", "Me"})


class Diagnostic(msgspec.Struct, frozen=True):
    """One problem of a control file.

    path         the control file as the user named it
    line, column from 1, in characters; line None for the file as a whole
    end_column   the column after the last marked character
    setting      the setting path as text, or ""
    source_line  the text of the line, None to show none
    details      further lines below it
    """

    path: str
    line: int | None
    column: int
    end_column: int
    setting: str
    message: str
    expected: str = ""
    severity: Severity = "error"
    source_line: str | None = None
    details: tuple[str, ...] = ()

    def header(self) -> str:
        """Return the first line: place, severity, setting and message."""
        where = self.path if self.line is None else f"{self.path}:{self.line}:{self.column}"
        parts = [where, self.severity, *([self.setting] if self.setting else []), self.message]
        text = ": ".join(parts) + (f"; expected {self.expected}" if self.expected else "")
        return cut(printable(text), MESSAGE_LENGTH)

    def __str__(self) -> str:
        """Return the header, and the source line with a caret below it."""
        lines = [self.header()]
        if self.line is not None and self.source_line is not None:
            shown, caret = _excerpt(self.source_line, self.column - 1, self.end_column - 1)
            lines += [f"{self.line:>5} | {shown}", f"{'':>5} | {caret}"]
        return "\n".join([*lines, *(f"{'':>8}{printable(line)}" for line in self.details)])


class ControlFileProblems(ControlFileError):
    """A ControlFileError with its diagnostics as data, in `diagnostics`."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))


def render(diagnostics: Sequence[Diagnostic], most: int = 8) -> str:
    """Return the first `most` diagnostics as text, and the number of the others.

    Errors come first; each kind is in the order of the file.
    """
    ordered = sorted(diagnostics, key=lambda d: (d.severity != "error", d.line or 0, d.column))
    lines = [str(diagnostic) for diagnostic in ordered[:most]]
    if len(ordered) > most:
        lines.append(f"and {len(ordered) - most} more")
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return `text` with every character escaped on which a terminal might act."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if unicodedata.category(c) in _UNSAFE else c for c in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _cells(line: str) -> list[tuple[str, int]]:
    """Return for each character its printable form and its terminal columns."""
    cells: list[tuple[str, int]] = []
    at = 0
    for char in line:
        category = unicodedata.category(char)
        if char == "\t":
            shown = " " * (TAB - at % TAB)
            width = len(shown)
        elif category in _UNSAFE:
            shown = _escape(char)
            width = len(shown)
        elif category in _COMBINING:
            shown, width = char, 0
        else:
            shown, width = char, 2 if unicodedata.east_asian_width(char) in "WF" else 1
        cells.append((shown, width))
        at += width
    return cells


def _excerpt(line: str, start: int, end: int) -> tuple[str, str]:
    """Return the line as shown, and carets under its characters [start, end)."""
    cells = _cells(line.rstrip())
    start = max(0, min(start, len(cells)))
    end = max(start, min(end, len(cells)))
    low, high = _window([width for _, width in cells], start)
    before = "…" if low else ""
    after = "…" if high < len(cells) else ""
    shown = before + "".join(text for text, _ in cells[low:high]) + after
    indent = len(before) + sum(width for _, width in cells[low:start])
    marked = sum(width for _, width in cells[start : min(end, high)])
    return shown, " " * indent + "^" * max(1, marked)


def _window(widths: Sequence[int], start: int) -> tuple[int, int]:
    """Return the range of characters to show: at most WIDTH columns, with `start`."""
    if sum(widths) <= WIDTH:
        return 0, len(widths)
    low, used = start, 0
    while low > 0 and used + widths[low - 1] <= BEFORE_CARET:
        low -= 1
        used += widths[low]
    high = start
    while high < len(widths) and used + widths[high] <= WIDTH:
        used += widths[high]
        high += 1
    # near the end of the line there is room for more characters before it
    while low > 0 and used + widths[low - 1] <= WIDTH:
        low -= 1
        used += widths[low]
    return low, high


#: Bytes of the largest control file.
LARGEST = 10**7
#: The attribute of an exception of safe mode with its place, a Span.
PLACE = "control_file_span"

#: The encoding that a Python 2 file may declare in its first or second line
#: (PEP 263); control files are UTF-8 in Gomill, too.
_CODING = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")


class Span(msgspec.Struct, frozen=True):
    """A stretch of source from (line, column) to before (end_line, end_column)."""

    line: int
    column: int
    end_line: int
    end_column: int


class Source:
    """A control file's text.

    path      as the user gave it, for messages
    file      absolute; also the `co_filename` of its code
    text      decoded, without BOM, line ends as "\\n"
    lines     text by lines, without line ends
    """

    def __init__(self, path: str, file: Path, text: str) -> None:
        self.path = path
        self.file = file
        self.filename = str(file)
        # line ends as CPython reads them: str.splitlines also splits at form feeds
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = self.text.split("\n")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Source:
        """Read a control file.

        Raises ControlFileError when it is missing, is not a file, cannot be read, is not
        UTF-8 or has NUL bytes.
        """
        shown = os.fspath(path)
        try:
            file = Path(os.path.abspath(shown))
            status = file.stat()
            mode = status.st_mode
            if not stat.S_ISREG(mode):
                kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
                raise file_error(shown, f"is {kind}", "a control file")
            if status.st_size > LARGEST:
                raise file_error(shown, f"has {status.st_size} bytes", "a control file")
            data = file.read_bytes()
        except FileNotFoundError:
            raise file_error(shown, "no such file") from None
        except PermissionError:
            raise file_error(shown, "permission to read the file is denied") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            reason = getattr(error, "strerror", None) or error
            raise file_error(shown, f"cannot be read: {reason}") from error
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            # the text before the bad byte gives its place
            good = cls(shown, file, error.object[: error.start].decode())
            line, column = len(good.lines), len(good.lines[-1]) + 1
            declared = _CODING.match(data)
            cookie = (
                "" if declared is None else f" without the line that says {declared[1].decode()}"
            )
            raise file_error(
                shown,
                f"byte 0x{error.object[error.start]:02x} is not valid UTF-8",
                f"a file saved as UTF-8{cookie}",
                line,
                column,
            ) from None
        source = cls(shown, file, text)
        for number, line_text in enumerate(source.lines, 1):
            if "\0" in line_text:
                column = line_text.index("\0") + 1
                span = Span(number, column, number, column + 1)
                raise source.refusal(span, "the file has a NUL byte")
        return source

    @property
    def hash(self) -> str:
        """SHA-256 of `text` in UTF-8, as hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def register(self) -> None:
        """Give the lines to `linecache`, for tracebacks: the file on disk may change."""
        lines = [line + "\n" for line in self.lines]
        linecache.cache[self.filename] = (len(self.text), None, lines, self.filename)

    def column(self, line: int, offset: int) -> int:
        """Return the column of byte `offset` (from 0) of `line` (from 1)."""
        if not 1 <= line <= len(self.lines):
            return 1
        text = self.lines[line - 1]
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="ignore")) + 1

    def span(self, line: int, offset: int, end_line: int, end_offset: int) -> Span:
        """Return the span of CPython's place: lines from 1, byte offsets from 0."""
        return Span(line, self.column(line, offset), end_line, self.column(end_line, end_offset))

    def span_of(self, node: ast.AST) -> Span:
        """Return the place of a node; a function and a named argument are at their names."""
        place: Any = node
        line, start = place.lineno, place.col_offset
        end_line, end = place.end_lineno or line, place.end_col_offset or start
        match node:
            case ast.FunctionDef(name) | ast.keyword(str(name)):
                text = self.lines[line - 1].encode()
                is_function = isinstance(node, ast.FunctionDef)
                at = text.find(name.encode(), start + (len("def ") if is_function else 0))
                if at >= 0:
                    start, end_line, end = at, line, at + len(name.encode())
        return self.span(line, start, end_line, end)

    def instruction(self, code: types.CodeType, offset: int) -> Span | None:
        """Return the source of the bytecode instruction at `offset` of `code`.

        None when the code was compiled without positions.
        """
        position = next(itertools.islice(code.co_positions(), offset // 2, None), None)
        line, end_line, column, end_column = position or (None, None, None, None)
        if line is None:
            return None
        if end_line is None or column is None or end_column is None:
            return Span(line, 1, line, 1)
        return self.span(line, column, end_line, end_column)

    def diagnostic(
        self,
        span: Span,
        message: str,
        expected: str = "",
        setting: str = "",
        severity: Severity = "error",
        details: tuple[str, ...] = (),
    ) -> Diagnostic:
        """Return a diagnostic at `span`; only its first line is marked."""
        line = min(max(span.line, 1), len(self.lines))
        text = self.lines[line - 1]
        column = min(max(span.column, 1), len(text) + 1)
        end = span.end_column if span.end_line == span.line else len(text.rstrip()) + 1
        return Diagnostic(
            path=self.path,
            line=line,
            column=column,
            end_column=max(end, column + 1),
            setting=setting,
            message=message,
            expected=expected,
            severity=severity,
            source_line=text,
            details=details,
        )

    def refusal(
        self, span: Span, message: str, expected: str = "", setting: str = ""
    ) -> ControlFileProblems:
        return ControlFileProblems([self.diagnostic(span, message, expected, setting)])


def file_error(
    path: str, message: str, expected: str = "", line: int | None = None, column: int = 1
) -> ControlFileProblems:
    """Return an error about a file without a readable text."""
    return ControlFileProblems([Diagnostic(path, line, column, column + 1, "", message, expected)])
