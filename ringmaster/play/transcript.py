"""The transcript of a game: everything that was said to and by its engines."""

from __future__ import annotations

import os
import time


class FileTranscript:
    """Appends the traffic of a game to a file, one line of it a line:
    seconds since the start, player code, ">" to the engine, "<" from it, "!"
    its standard error.  Bytes that are no text are escaped."""

    def __init__(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._file = open(path, "w", encoding="ascii", errors="backslashreplace")
        self._start = time.monotonic()

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Write lines down; see channel.Transcript."""
        now = time.monotonic() - self._start
        for line in data.split(b"\n"):
            text = line.rstrip(b"\r").decode("ascii", "backslashreplace")
            self._file.write(f"{now:10.4f} {code} {direction} {text}\n")

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()
