"""The text of a control file: reading it, and the places in it.  Columns count
characters from 1; CPython's own count UTF-8 bytes from 0 and are converted here."""

from __future__ import annotations

import hashlib
import itertools
import linecache
import os
import re
import stat
import types
from pathlib import Path

import msgspec

from ringmaster.control.diagnostics import ControlFileProblems, Diagnostic, Severity

#: The encoding that a Python 2 file may declare in its first or second line
#: (PEP 263); control files are UTF-8 in Gomill, too.
_CODING = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")


class Span(msgspec.Struct, frozen=True):
    """A stretch of source: it starts at (line, column) and ends before
    (end_line, end_column)."""

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
        # As CPython reads line ends, and only them: str.splitlines would also
        # split at form feeds and U+2028.
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = self.text.split("\n")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Source:
        """Read a control file.  Raises ControlFileError when it is missing, is
        not a file, cannot be read, is not UTF-8 or has NUL bytes."""
        shown = os.fspath(path)
        try:
            file = Path(os.path.abspath(shown))
            mode = file.stat().st_mode
            if not stat.S_ISREG(mode):
                kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
                raise file_error(shown, f"is {kind}", "a control file")
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
            # What precedes the bad byte is sound, so its place is exact.
            good = cls(shown, file, error.object[: error.start].decode())
            line, column = len(good.lines), len(good.lines[-1]) + 1
            declared = _CODING.match(data)
            said = "" if declared is None else f" without the line that says {declared[1].decode()}"
            raise file_error(
                shown,
                f"byte 0x{error.object[error.start]:02x} is not valid UTF-8",
                f"a file saved as UTF-8{said}",
                line,
                column,
            ) from None
        source = cls(shown, file, text)
        for number, line_text in enumerate(source.lines, 1):
            if "\0" in line_text:
                column = line_text.index("\0") + 1
                raise ControlFileProblems(
                    [
                        source.diagnostic(
                            Span(number, column, number, column + 1), "the file has a NUL byte"
                        )
                    ]
                )
        return source

    @property
    def hash(self) -> str:
        """SHA-256 of `text` in UTF-8, as hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def register(self) -> None:
        """Make the lines known to `linecache`, hence to `inspect.getsource` and
        tracebacks, even if the file is changed on disk meanwhile."""
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
        """Return the span of a place as CPython gives it: lines from 1, byte
        offsets from 0."""
        return Span(line, self.column(line, offset), end_line, self.column(end_line, end_offset))

    def instruction(self, code: types.CodeType, offset: int) -> Span | None:
        """Return what the bytecode instruction at `offset` of `code` was made
        from; None when the code was compiled without positions."""
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
        """Return a diagnostic at `span`; of several lines the first is marked."""
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


def file_error(
    path: str, message: str, expected: str = "", line: int | None = None, column: int = 1
) -> ControlFileProblems:
    """Return the error for a file whose text cannot be shown."""
    return ControlFileProblems([Diagnostic(path, line, column, column + 1, "", message, expected)])
