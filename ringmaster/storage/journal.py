"""The event log, the history and the tree log: text files that are made from the
store, for people (and, the tree log, for programs) to read.

Lines are written after the commit that they tell of, so a kill between the two
leaves the history a line short, or half a line.  Whoever starts the next run has
`complete_history` write what is missing of the last result's lines.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ringmaster.errors import StoreUnwritable

#: Bytes at the end of the history in which a line is looked for.
_TAIL = 1 << 20
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NAME = re.compile(r"[A-Za-z0-9!#$%&*+\-:;<=>?^_~][A-Za-z0-9!#$%&*+\-.:;<=>?^_~]{0,199}")


def one_line(text: str) -> str:
    """Return text without anything that could end a line, move a cursor or
    turn the direction of writing."""
    if text.isprintable():
        return text
    text = text.replace("\r", "").replace("\n", " | ")
    text = text.encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class Journal:
    """Appends to the files; every line is written through at once (those of `together`
    at its end), whole or not at all.  History and tree log are made by their first line.

    clock  local time for the event log, as time.localtime gives it

    Raises StoreUnwritable.  The caller holds the lock: nobody else writes.
    """

    def __init__(
        self,
        log: Path,
        hist: Path,
        clock: Callable[[], time.struct_time] = time.localtime,
        *,
        tree: Path | None = None,
    ) -> None:
        self._paths = (log, hist)
        self._tree = tree
        self._clock = clock
        self._log: int | None = open_to_append(log)
        self._hist: int | None = None
        #: What waits for the end of `together`: lines of the log and of the history.
        self._waiting: tuple[list[str], list[str]] = ([], [])
        self._waits = False
        self._stamp = ""

    def log(self, message: str) -> None:
        """Append an event with the time of day."""
        assert self._log is not None, "closed"
        if not self._waiting[0]:
            # the lines of a block are of one time
            self._stamp = time.strftime("%Y-%m-%d %H:%M:%S", self._clock())
        self._waiting[0].append(f"{self._stamp} {one_line(message)}\n")
        self._write()

    def history(self, lines: Sequence[str]) -> None:
        """Append lines to the history; all in one write."""
        if self._hist is None:
            self._hist = open_to_append(self._paths[1])
        self._waiting[1].extend([f"{one_line(line)}\n" for line in lines])
        self._write()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write the lines of a block at its end, those of a file in one write."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
            self._write()

    def _write(self) -> None:
        if self._waits:
            return
        for lines, fd, path in zip(
            self._waiting, (self._log, self._hist), self._paths, strict=True
        ):
            if lines and fd is not None:
                data = "".join(lines).encode()
                lines.clear()
                write_through(fd, data, path)

    def snapshot(self, line: str, *, unless_last: bool = False) -> None:
        """Append a line of JSON to the tree log.

        unless_last  not if it is the last line already
        """
        assert self._tree is not None, "no tree log"
        fd = open_to_append(self._tree)
        try:
            data = f"{line}\n".encode()
            size = os.fstat(fd).st_size
            start = max(0, size - len(data))
            if not unless_last or os.pread(fd, len(data), start) != data:
                write_through(fd, data, self._tree)
        finally:
            os.close(fd)

    def complete_log(self, messages: Sequence[str]) -> None:
        """Log what is missing of messages that were to be logged last."""
        size = 2 * sum(map(len, messages)) + _TAIL
        logged = self._tail(self._paths[0], size) if messages else b""
        with self.together():
            for message in messages:
                if f" {one_line(message)}\n".encode() not in logged:
                    self.log(message)

    def complete_history(self, lines: Sequence[str]) -> None:
        """Append what is missing of lines that were to be written last: all of
        them, the end of them, or nothing."""
        # with the line end before it, so that nothing is found within a line
        block = ("\n" + "".join(f"{one_line(line)}\n" for line in lines)).encode()
        tail = b"\n" + self._tail(self._paths[1], max(_TAIL, 2 * len(block)))
        if block in tail:
            return
        first = block[: block.index(b"\n", 1) + 1]
        start = tail.rfind(first)
        if start >= 0 and not block.startswith(tail[start:]):
            return  # it was there, and somebody has edited what comes after it
        if start >= 0:
            written = len(tail) - start
        else:
            # a kill may have cut even the first line short
            written = next(n for n in range(len(first) - 1, -1, -1) if tail.endswith(first[:n]))
        if self._hist is None:
            self._hist = open_to_append(self._paths[1], end_line=written < 2)
        # the line end before it is not a part of it
        write_through(self._hist, block[max(1, written) :], self._paths[1])

    def _tail(self, path: Path, size: int) -> bytes:
        """Return the end of a file, b"" without one."""
        try:
            with path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size))
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise StoreUnwritable(f"cannot read {path}: {error.strerror}") from error

    def close(self) -> None:
        """Close both files; idempotent."""
        for fd in (self._log, self._hist):
            if fd is not None:
                os.close(fd)
        self._log = self._hist = None


def open_to_append(path: Path, *, end_line: bool = True) -> int:
    """Open a file for appending, made if it is missing.

    end_line  end a last line that has no end

    Raises StoreUnwritable.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error
    try:
        if end_line:
            _end_last_line(fd, path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _end_last_line(fd: int, path: Path) -> None:
    """End a line that a power cut, or an editor, has left without its end; the
    next one would be glued to it."""
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        write_through(fd, b"\n", path)


def write_through(fd: int, data: bytes, path: Path) -> None:
    """Append data, whole or not at all; nobody else appends.  Raises StoreUnwritable."""
    written = 0
    try:
        while written < len(data):
            written += os.write(fd, data[written:] if written else data)
    except OSError as error:
        if written:
            with suppress(OSError):
                os.ftruncate(fd, os.fstat(fd).st_size - written)
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error


def write_record(folder: str | Path, name: str, text: str) -> None:
    """Write a game record; it is there whole or not at all.

    folder  made if it is missing

    Raises ValueError for a name that is no plain file name, StoreUnwritable.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a game record")
    temporary, path = f"{folder}/.{name}.new", f"{folder}/{name}"
    try:
        try:
            fd = _create(temporary)
        except FileNotFoundError:
            os.mkdir(folder)
            fd = _create(temporary)
        try:
            data = text.encode("utf-8", "backslashreplace")
            while data:
                data = data[os.write(fd, data) :]
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
