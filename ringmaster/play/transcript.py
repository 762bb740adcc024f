"""Transcripts: the traffic between ringmaster and the engines of a game."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TextIO

#: Bytes kept of the end of a game for a FaultTranscript.
MAX_KEPT = 1 << 20
#: Memory of an entry besides its lines, in bytes.
_ENTRY = 200


class FileTranscript:
    """Writes the traffic to a file, line by line: seconds since the start, player code, ">" to
    the engine, "<" from it or "!" for standard error, text.  Escapes bytes that are no text.

    After a write error `failure` has the reason, and nothing more is written; the game goes
    on.
    """

    def __init__(self, path: str) -> None:
        self.failure = ""
        self._file: TextIO | None = None
        self.start = time.monotonic()
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
        """Write lines; see channel.Transcript."""
        self.write(time.monotonic() - self.start, code, direction, data)

    def want(self) -> None:
        """Do nothing: the file is written in any case."""

    def write(self, now: float, code: str, direction: str, data: bytes) -> None:
        """Write lines of `now` seconds after the start."""
        if self._file is None:
            return
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


class FaultTranscript:
    """Keeps the end of a game's traffic in memory and writes it to a file after a fault.

    The first line gives the number of dropped lines.  A check's transcript is passed on to
    its game's.

    most  approximate bytes to keep
    """

    def __init__(self, path: str, most: int = MAX_KEPT) -> None:
        self.failure = ""
        self._path = path
        self._most = most
        self._size = 0
        self._lost = 0
        self._kept: deque[tuple[float, str, str, bytes]] = deque()
        self._wanted = False
        self.start = time.monotonic()

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Keep lines; see channel.Transcript."""
        self.write(time.monotonic() - self.start, code, direction, data)

    def write(self, now: float, code: str, direction: str, data: bytes) -> None:
        """Keep lines of `now` seconds after the start."""
        self._kept.append((now, code, direction, data))
        self._size += len(data) + _ENTRY
        while self._size > self._most:
            *_, lost = self._kept.popleft()
            self._size -= len(lost) + _ENTRY
            self._lost += lost.count(b"\n") + 1

    def want(self) -> None:
        """Make `close` write the file."""
        self._wanted = True

    def pass_on(self, transcript: GameTranscript, player: str) -> None:
        """Write the kept entries to the transcript of a new game with the same start or an
        earlier one.

        player  code of the player in the game, which may differ from the check's
        """
        age = self.start - transcript.start
        for now, _, direction, data in self._kept:
            transcript.write(now + age, player, direction, data)

    def close(self) -> None:
        """Write the file after `want`."""
        if self._wanted:
            file = FileTranscript(self._path)
            if self._lost:
                missing = f"({self._lost} earlier lines are dropped)".encode()
                file.write(0.0, "ringmaster", "!", missing)
            for entry in self._kept:
                file.write(*entry)
            file.close()
            self.failure = file.failure
        self._kept.clear()


GameTranscript = FileTranscript | FaultTranscript
