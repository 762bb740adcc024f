"""The event log and the history: text files that are made from the store, for
people to read.

Lines are written after the commit that they tell of, so a kill between the two
leaves the history a line short; `resume` adds what is missing and doubles
nothing, by looking for the result's line at the end of the file.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ringmaster.errors import StoreUnwritable

#: Bytes at the end of the history in which a line is looked for.
_TAIL = 1 << 20
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NAME = re.compile(r"[A-Za-z0-9!$%&*+\-:;<=>?^_~][A-Za-z0-9!$%&*+\-.:;<=>?^_~]{0,199}")


def one_line(text: str) -> str:
    """Return text without anything that could end a line or move a cursor."""
    text = text.replace("\r", "").replace("\n", " | ")
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


class Journal:
    """Appends to both files; every line is written through at once.

    clock  local time for the event log, as time.localtime gives it

    Raises StoreUnwritable.
    """

    def __init__(
        self, log: Path, hist: Path, clock: Callable[[], time.struct_time] = time.localtime
    ) -> None:
        self._paths = (log, hist)
        self._clock = clock
        self._log = _open(log)
        self._hist: int | None = None

    def log(self, message: str) -> None:
        """Append an event with the time of day."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", self._clock())
        _write(self._log, f"{stamp} {one_line(message)}\n", self._paths[0])

    def history(self, lines: Sequence[str]) -> None:
        """Append lines to the history; all in one write."""
        if self._hist is None:
            self._hist = _open(self._paths[1])
        text = "".join(f"{one_line(line)}\n" for line in lines)
        _write(self._hist, text, self._paths[1])

    def has_line(self, line: str) -> bool:
        """Whether the history holds a line, near its end."""
        return one_line(line) in self._tail()

    def _tail(self) -> frozenset[str]:
        path = self._paths[1]
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _TAIL))
                return frozenset(file.read().decode("utf-8", "replace").split("\n"))
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise StoreUnwritable(f"cannot read {path}: {error.strerror}") from error

    def close(self) -> None:
        """Close both files."""
        for fd in (self._log, self._hist):
            if fd is not None:
                os.close(fd)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error


def _write(fd: int, text: str, path: Path) -> None:
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error


def write_record(folder: Path, name: str, text: str) -> None:
    """Write a game record; it is there whole or not at all.

    Raises ValueError for a name that is no plain file name, StoreUnwritable.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a game record")
    temporary = folder / f".{name}.new"
    try:
        folder.mkdir(exist_ok=True)
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(temporary, folder / name)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreUnwritable(f"cannot write {folder / name}: {error.strerror}") from error
