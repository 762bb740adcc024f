"""A terminal's screen, as far as the live display makes use of one."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class FakeScreen:
    """Obeys cursor movement, erasing and cursor visibility; wraps and scrolls.

    `history` has the lines that went out at the top; the alternate screen has none, except
    for those in tmux whose window has grown: they go out when the normal screen returns.
    Raises ValueError for any other escape sequence.
    """

    encoding = "utf-8"

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.history: list[str] = []
        self.cursor_visible = True
        self.writes: list[str] = []
        self._x = self._y = 0
        #: Cells and cursor of the normal screen while the alternate one is shown.
        self._normal: tuple[list[list[str]], int, int] | None = None
        self._entered_rows = rows
        self._wraps = True

    @property
    def is_alternate(self) -> bool:
        return self._normal is not None

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
        self.cells = self._fitted(self.cells, columns, rows)
        if self._normal is not None:
            cells, x, y = self._normal
            cells = self._fitted(cells, columns, rows)
            self._normal = cells, min(x, columns - 1), min(y, rows - 1)
        self.columns, self.rows = columns, rows
        self._x, self._y = min(self._x, columns - 1), min(self._y, rows - 1)

    @staticmethod
    def _fitted(cells: list[list[str]], columns: int, rows: int) -> list[list[str]]:
        fitted = [(row + [" "] * columns)[:columns] for row in cells[:rows]]
        return fitted + [[" "] * columns for _ in range(rows - len(fitted))]

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
        if self._x == self.columns and self._wraps:
            self._x = 0
            self._down()
        self._x = min(self._x, self.columns - 1)
        self.cells[self._y][self._x] = char
        self._x += 1

    def _down(self) -> None:
        if self._y < self.rows - 1:
            self._y += 1
            return
        line = "".join(self.cells.pop(0)).rstrip()
        if not self.is_alternate:
            self.history.append(line)
        self.cells.append([" "] * self.columns)

    def _control(self, arguments: str, command: str) -> None:
        if command == "m" or arguments == "?2026":
            return
        if arguments == "?25":
            self.cursor_visible = command == "h"
        elif arguments == "?7":
            self._wraps = command == "h"
        elif arguments == "?1049":
            self._switch(to_alternate=command == "h")
        elif command == "J" and not arguments:
            self.cells[self._y][self._x :] = [" "] * (self.columns - self._x)
            for y in range(self._y + 1, self.rows):
                self.cells[y] = [" "] * self.columns
        elif command == "K" and arguments == "2":
            self.cells[self._y] = [" "] * self.columns
        elif command == "J" and arguments == "2":
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif command == "H" and not arguments:
            self._x = self._y = 0
        else:
            raise ValueError(f"unknown sequence CSI {arguments}{command}")

    def _switch(self, *, to_alternate: bool) -> None:
        if to_alternate == self.is_alternate:
            return
        if self._normal is None:
            self._normal = self.cells, self._x, self._y
            self._entered_rows = self.rows
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        else:
            grown = max(0, self._y + 1 - self._entered_rows)
            self.history += ["".join(row).rstrip() for row in self.cells[:grown]]
            self.cells, self._x, self._y = self._normal
            self._normal = None
