"""What is said about a control file: one problem with its place, and how a list
of them is printed.  Finding the place is left to `source` and `positions`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ringmaster.errors import ControlFileError

Severity = Literal["error", "warning"]

#: Terminal columns of the source line that are shown, and how many of them lie
#: before the caret when the line has to be cut.
WIDTH = 96
BEFORE_CARET = 48
TAB = 4
MESSAGE_LENGTH = 600

#: Control, format (bidirectional overrides too), surrogate, line and paragraph
#: separator: whatever a terminal may act on instead of showing it.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_COMBINING = frozenset({"Mn", "Me"})


class Diagnostic(msgspec.Struct, frozen=True):
    """One problem.

    path         the control file as the user named it
    line, column from 1, in characters; line None when it is the file as a whole
    end_column   the column after the last marked character of that line
    setting      the setting path as text, "" when there is none
    source_line  the text of that line, None to show none
    details      further lines, shown below it
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
        """Return the line that says where and what."""
        where = self.path if self.line is None else f"{self.path}:{self.line}:{self.column}"
        parts = [where, self.severity, *([self.setting] if self.setting else []), self.message]
        text = ": ".join(parts) + (f"; expected {self.expected}" if self.expected else "")
        text = printable(text)
        return text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 1] + "…"

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
    """Return the diagnostics as text: errors first, each kind in the order of
    the file, the first `most` in full and the number of the others."""
    ordered = sorted(diagnostics, key=lambda d: (d.severity != "error", d.line or 0, d.column))
    lines = [str(diagnostic) for diagnostic in ordered[:most]]
    if len(ordered) > most:
        lines.append(f"and {len(ordered) - most} more")
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return `text` with every character that a terminal might act on escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if unicodedata.category(c) in _UNSAFE else c for c in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _cells(line: str) -> list[tuple[str, int]]:
    """Return for each character what is shown for it, and its terminal columns."""
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
    """Return which characters fit: at most WIDTH columns, `start` among them."""
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
    # Near the end of the line the room that is left goes to what comes before.
    while low > 0 and used + widths[low - 1] <= WIDTH:
        low -= 1
        used += widths[low]
    return low, high
