"""The transcript of a game: everything that was said to and by its engines."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TextIO

#: Bytes of the end of a game that are kept until it is known whether they are wanted.
MOST_KEPT = 1 << 20
#: What an entry takes in memory beside its lines.
_ENTRY = 200


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
        """Write lines down; see channel.Transcript."""
        self.write(time.monotonic() - self.start, code, direction, data)

    def want(self) -> None:
        """Nothing to do: it is written as the game goes."""

    def write(self, now: float, code: str, direction: str, data: bytes) -> None:
        """Write down lines of `now` seconds after the start."""
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
    """Keeps the end of a game's traffic in memory, and writes it when the game has
    turned out to be one to look at: as FileTranscript does, with a first line that
    says how much of the beginning is missing.  Of a check before a game, it is passed on.

    most  bytes to keep, about
    """

    def __init__(self, path: str, most: int = MOST_KEPT) -> None:
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
        """Have `close` write what is kept."""
        self._wanted = True

    def pass_on(self, transcript: GameTranscript, player: str) -> None:
        """Write what is kept to the transcript of a game that is about to begin, which
        counts seconds from the same start or an earlier one.

        player  code of the player in the game, which may be another one's than in the check
        """
        age = self.start - transcript.start
        for now, _, direction, data in self._kept:
            transcript.write(now + age, player, direction, data)

    def close(self) -> None:
        """Write the file, if it is wanted."""
        if self._wanted:
            file = FileTranscript(self._path)
            if self._lost:
                missing = f"({self._lost} lines before this are not kept)".encode()
                file.write(0.0, "ringmaster", "!", missing)
            for entry in self._kept:
                file.write(*entry)
            file.close()
            self.failure = file.failure
        self._kept.clear()


GameTranscript = FileTranscript | FaultTranscript
