"""A terminal's screen, as far as the live display makes use of one."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class FakeScreen:
    """Obeys cursor movement, erasing and cursor visibility; wraps and scrolls.

    `history` has the lines that went out at the top.  Raises ValueError for
    any other escape sequence.
    """

    encoding = "utf-8"

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.history: list[str] = []
        self.cursor_visible = True
        self.writes: list[str] = []
        self._x = self._y = 0

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("no descriptor")

    def flush(self) -> None:
        pass

    def lines(self) -> list[str]:
        """Return what is on the screen, without empty lines at the end."""
        lines = ["".join(row).rstrip() for row in self.cells]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; what was there stays where it fits."""
        self.cells = [(row + [" "] * columns)[:columns] for row in self.cells[:rows]]
        self.cells += [[" "] * columns for _ in range(rows - len(self.cells))]
        self.columns, self.rows = columns, rows
        self._x, self._y = min(self._x, columns - 1), min(self._y, rows - 1)

    def write(self, text: str) -> int:
        self.writes.append(text)
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"unknown sequence {text[position : position + 10]!r}")
            position = match.end()
            if match[2]:
                self._control(match[1], match[2])
            elif match[3] == "\r":
                self._x = 0
            elif match[3] == "\n":
                self._x = 0
                self._down()
            else:
                for char in match[4]:
                    self._put(char)
        return len(text)

    def _put(self, char: str) -> None:
        if self._x == self.columns:
            self._x = 0
            self._down()
        self.cells[self._y][self._x] = char
        self._x += 1

    def _down(self) -> None:
        if self._y < self.rows - 1:
            self._y += 1
            return
        self.history.append("".join(self.cells.pop(0)).rstrip())
        self.cells.append([" "] * self.columns)

    def _control(self, arguments: str, command: str) -> None:
        if command == "m" or arguments == "?2026":
            return
        if arguments == "?25":
            self.cursor_visible = command == "h"
        elif command == "A":
            self._y = max(0, self._y - int(arguments or 1))
        elif command == "K" and arguments == "2":
            self.cells[self._y] = [" "] * self.columns
        elif command == "J" and arguments == "2":
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif command == "H" and not arguments:
            self._x = self._y = 0
        else:
            raise ValueError(f"unknown sequence CSI {arguments}{command}")
