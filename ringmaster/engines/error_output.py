"""What an engine writes to standard error: read along the way, its last lines kept."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Final

from ringmaster.engines import tick

#: Lines of standard error kept for messages, and bytes kept of each.
STDERR_LINES: Final = 20
STDERR_LINE: Final = 500
#: Lines of standard error kept for the log, a game.
STDERR_LOG_LINES: Final = 1000

_CHUNK: Final = 1 << 16
#: Reads at once of an engine that may go on printing for ever.
_MOST_READS: Final = 64


class ErrorOutput:
    """The standard error of one engine; it keeps bounded parts of it.

    fd    its descriptor, which does not block; None from when it has ended, and for an
          engine whose standard error goes elsewhere
    note  is told of whole lines, without the last one's end
    """

    def __init__(self, fd: int | None, note: Callable[[bytes], None]) -> None:
        self.fd = fd
        self._note = note
        self._partial = b""
        self._tail: deque[str] = deque(maxlen=STDERR_LINES)
        self._log: list[str] = []

    def read(self) -> bool:
        """Take what there is; returns False at the end of the stream."""
        assert self.fd is not None
        try:
            chunk = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return True
        lines = (self._partial + chunk).split(b"\n")
        self._partial = lines.pop()[-STDERR_LINE:]
        if not chunk and self._partial:
            lines.append(self._partial)
            self._partial = b""
        if lines:
            self._note(b"\n".join(lines))
        room = STDERR_LOG_LINES - len(self._log)
        for line in lines[-max(room, STDERR_LINES) :]:
            text = line[:STDERR_LINE].rstrip(b"\r").decode("utf-8", "replace")
            self._tail.append(text)
            if len(self._log) < STDERR_LOG_LINES:
                self._log.append(text)
        return bool(chunk)

    def drain(self) -> None:
        """Take all that there is, as far as it ends."""
        for _ in range(_MOST_READS):
            # to ask costs less than a failed read
            if self.fd is None or not tick.has_input(self.fd):
                return
            try:
                before = len(self._tail), len(self._log)
                if not self.read():
                    return
                if before == (len(self._tail), len(self._log)):
                    return
            except OSError:
                return

    def take(self) -> list[str]:
        """Return the lines since the last call."""
        self.drain()
        lines, self._log = self._log, []
        return lines

    def last_words(self) -> str:
        """Return the last lines, "" if there are none."""
        self.drain()
        return "\n".join(line for line in self._tail if line.strip())
