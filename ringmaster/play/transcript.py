"""The transcript of a game: everything that was said to and by its engines."""

from __future__ import annotations

import os
import time
from typing import TextIO


class FileTranscript:
    """Appends the traffic of a game to a file, one line of it a line:
    seconds since the start, player code, ">" to the engine, "<" from it, "!"
    its standard error.  Bytes that are no text are escaped.

    A transcript that cannot be written costs the transcript, not the game:
    `failure` says why, and nothing more is written.
    """

    def __init__(self, path: str) -> None:
        self.failure = ""
        self._file: TextIO | None = None
        self._start = time.monotonic()
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._file = open(path, "w", encoding="ascii", errors="backslashreplace")
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = f"the transcript cannot be written: {error.strerror}"
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                pass

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Write lines down; see channel.Transcript."""
        if self._file is None:
            return
        now = time.monotonic() - self._start
        try:
            for line in data.split(b"\n"):
                text = line.rstrip(b"\r").decode("ascii", "backslashreplace")
                self._file.write(f"{now:10.4f} {code} {direction} {text}\n")
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Flush and close the file."""
        try:
            if self._file is not None:
                self._file.close()
        except OSError as error:
            self._fail(error)
