"""A pipe on which workers pass on the engines' standard error while games are played.

Workers write whole lines, of at most `select.PIPE_BUF` bytes a write, so those of several
workers do not mix.  They never wait: where nobody reads in time, lines are lost.
"""

from __future__ import annotations

import os
from contextlib import suppress

_CHUNK = 1 << 16


class ErrorLines:
    """The parent's side of the pipe.

    write_fd  the end for workers; it does not block
    """

    def __init__(self) -> None:
        self._read_fd, self.write_fd = os.pipe()
        self._partial = b""
        for fd in (self._read_fd, self.write_fd):
            os.set_blocking(fd, False)

    def fileno(self) -> int:
        """Return the descriptor that is readable when there are lines."""
        return self._read_fd

    def take(self) -> list[str]:
        """Return the lines that have come; does not wait."""
        data = self._partial
        with suppress(BlockingIOError):
            data += os.read(self._read_fd, _CHUNK)
        *lines, self._partial = data.split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def close(self) -> None:
        """Close both ends; workers have theirs as long as they live."""
        os.close(self._read_fd)
        os.close(self.write_fd)
