"""Write to a terminal or a pipe without waiting for its reader.

A thread waits in the program's place, and dies with the program.  O_NONBLOCK would not do: it
belongs to the open file, which the shell and other programs share.
"""

from __future__ import annotations

import io
import os
import select
import threading
from contextlib import suppress
from typing import TextIO

#: Bytes that wait for a reader; later output is left out until they have been read.
MOST_WAITING = 1 << 20


class Outlet(io.RawIOBase):
    """The output to one descriptor.  No method but `settle` waits, and none raises.

    failure  the error that ended the output, such as a terminal that hung up; later output
             is dropped
    """

    def __init__(self, fd: int) -> None:
        self.failure: OSError | None = None
        self._fd = fd
        self._waiting = bytearray()
        self._left_out = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Write data later, whole or not at all; return its length."""
        with self._changed:
            if self._left_out or len(self._waiting) + len(data) > MOST_WAITING:
                self._left_out += len(data)
            elif self.failure is None:
                self._waiting += data
                self._changed.notify_all()
                if self._thread is None:
                    self._begin()
        return len(data)

    def _begin(self) -> None:
        """Start the thread, or write at once where the system allows no more threads."""
        thread = threading.Thread(target=self._write, daemon=True)
        try:
            thread.start()
            self._thread = thread
        except RuntimeError:
            with suppress(OSError):
                os.write(self._fd, self._waiting)
            self._waiting.clear()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                data = bytes(self._waiting[: 1 << 16])
            try:
                written = os.write(self._fd, data)
            except BlockingIOError:
                # another program has set O_NONBLOCK
                select.select([], [self._fd], [])
                written = 0
            except OSError as error:
                with self._changed:
                    self.failure = error
                    self._waiting.clear()
                    self._changed.notify_all()
                return
            with self._changed:
                del self._waiting[:written]
                if self._left_out and not self._waiting:
                    note = f"\n[{self._left_out:,} bytes that nobody read in time are left out]\n"
                    self._waiting += note.encode("ascii")
                    self._left_out = 0
                self._changed.notify_all()

    def is_settled(self) -> bool:
        """Return whether everything has been written, or the output has failed."""
        return not self._waiting

    def settle(self, patience: float) -> None:
        """Wait until everything has been written.

        patience  the longest wait in seconds
        """
        with self._changed:
            self._changed.wait_for(self.is_settled, patience)

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        """Return whether the output is a terminal."""
        return os.isatty(self._fd)

    def writable(self) -> bool:
        return True


def outlet_of(stream: TextIO) -> Outlet | None:
    """Return the outlet that a stream writes to, None for another stream."""
    buffer = getattr(stream, "buffer", None)
    return buffer if isinstance(buffer, Outlet) else None


def through(outlet: Outlet, like: TextIO) -> TextIO:
    """Return a stream to an outlet, with the encoding of another stream."""
    return io.TextIOWrapper(
        outlet,  # type: ignore[type-var]
        encoding=like.encoding,
        errors=like.errors,
        line_buffering=True,
    )


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Return the columns and rows of the terminal that a stream is."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    # a new pseudo-terminal may report 0 x 0
    return size.columns or 80, size.lines or 24
