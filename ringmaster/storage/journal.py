"""Run log, history and tree log: text files for people, derived from the store.

Lines are written after the commit of their result.  A kill between the two leaves the
history a line short, or half a line; the next run adds the rest (`complete_history`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ringmaster.errors import StoreUnwritable, visible
from ringmaster.model.output_files import is_gone, open_regular, writing
from ringmaster.storage.connect import translated
from ringmaster.storage.paths import OutputPaths

#: Bytes at the end of the history that are searched for a line.
_TAIL = 1 << 20


def one_line(text: str) -> str:
    """Return text without characters that end a line, move a cursor or turn the text."""
    if text.isprintable():
        return text
    return visible(text.replace("\r", "").replace("\n", " | "))


class Appended:
    """A file whose end is written; one that was renamed or deleted (logrotate) begins anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def open(self, *, end_line: bool = True) -> int:
        """Return the descriptor of the file, which is created if it is missing.

        end_line  whether to end an incomplete last line of a file that was not open

        Raises StoreUnwritable.
        """
        if self._fd is not None and is_gone(self.path, self._fd):
            self.close()
        if self._fd is None:
            with writing(self.path):
                self._fd = open_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                size = os.fstat(self._fd).st_size
                # a power cut or an editor may leave a line incomplete
                if end_line and size and os.pread(self._fd, 1, size - 1) != b"\n":
                    self.write(b"\n")
            except BaseException:
                self.close()
                raise
        return self._fd

    def write(self, data: bytes) -> None:
        """Append data, whole or not at all.  Raises StoreUnwritable."""
        fd = self.open()
        written = 0
        try:
            while written < len(data):
                written += os.write(fd, data[written:] if written else data)
        except OSError as error:
            if written:
                with suppress(OSError):
                    os.ftruncate(fd, os.fstat(fd).st_size - written)
            raise StoreUnwritable(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Journal:
    """Appends lines to the run log, the history and the tree log of a competition.

    Each line is written at once and whole, or not at all; `together` writes the lines of
    a block at its end.  The first line creates history and tree log.  The caller holds
    the lock.  Raises StoreUnwritable.

    clock  local time for the run log, as time.localtime returns it
    """

    def __init__(
        self, paths: OutputPaths, clock: Callable[[], time.struct_time] = time.localtime
    ) -> None:
        self._files = Appended(paths.log), Appended(paths.hist)
        self._tree = Appended(paths.tree_log)
        self._clock = clock
        self._files[0].open()
        #: Lines of the log and of the history until the end of `together`.
        self._waiting: tuple[list[str], list[str]] = ([], [])
        self._waits = False

    def log(self, message: str) -> None:
        """Append a message with the time of day."""
        now = time.strftime("%Y-%m-%d %H:%M:%S", self._clock())
        self._waiting[0].append(f"{now} {one_line(message)}\n")
        self._write()

    def history(self, lines: Sequence[str]) -> None:
        """Append lines to the history in one write."""
        self._waiting[1].extend([f"{one_line(line)}\n" for line in lines])
        self._write()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write the lines of a block at its end, each file in one write."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
            self._write()

    def _write(self) -> None:
        if self._waits:
            return
        for lines, file in zip(self._waiting, self._files, strict=True):
            if lines:
                data = "".join(lines).encode()
                lines.clear()
                file.write(data)

    def snapshot(self, line: str) -> None:
        """Append a line of JSON to the tree log, unless it is the last one already."""
        fd = self._tree.open()
        data = f"{line}\n".encode()
        start = max(0, os.fstat(fd).st_size - len(data))
        if os.pread(fd, len(data), start) != data:
            self._tree.write(data)

    def complete_history(self, lines: Sequence[str]) -> None:
        """Append the missing part of the last lines: all, the end, or nothing."""
        # the line end before it excludes a match within a line
        block = ("\n" + "".join(f"{one_line(line)}\n" for line in lines)).encode()
        history = self._files[1]
        tail = b"\n"
        with (
            translated(history.path, "read"),
            suppress(FileNotFoundError),
            history.path.open("rb") as file,
        ):
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - max(_TAIL, 2 * len(block))))
            tail += file.read()
        if block in tail:
            return
        first = block[: block.index(b"\n", 1) + 1]
        # a kill may have cut the lines short anywhere
        written = next(n for n in range(len(block), -1, -1) if tail.endswith(block[:n]))
        if written < len(first) and first in tail:
            return  # it was there, and the text after it was edited
        history.open(end_line=written < 2)
        # without the line end before it
        history.write(block[max(1, written) :])

    def close(self) -> None:
        """Close the files; idempotent."""
        for file in (*self._files, self._tree):
            file.close()
