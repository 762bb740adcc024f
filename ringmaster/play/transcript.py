"""Transcripts: the traffic between ringmaster and the engines of a game.

An engine that prints for ever fills no disk: a file has the beginning and the end of a game.
"""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import suppress
from typing import TextIO

from ringmaster.errors import visible
from ringmaster.model.jobs import EvaluationJob, GameJob
from ringmaster.model.output_files import make_folder, open_regular

#: Bytes of a game's beginning that are written as they come.
MAX_WRITTEN = 4 << 20
#: Bytes kept in memory of the end of a game.
MAX_KEPT = 1 << 20
#: Memory of an entry besides its lines, and a line's bytes besides its text, both rounded up.
_ENTRY, _LINE = 200, 25


class GameTranscript:
    """Writes the traffic to a file, line by line: seconds since the start, player code, ">" to
    the engine, "<" from it or "!" for standard error, text.  Escapes bytes that are no text.

    Behind the beginning the file has only the end of the game, and the number of lines between
    them.  After a write error `failure` has the reason, and nothing more is written; the game
    goes on.

    of_faults  without a beginning, and only written by `close` after `want`.  A check's is passed
               on to its game's
    beginning  bytes written as they come
    most       approximate bytes kept of the end
    entries    the kept ones: seconds since the start, player code, direction, lines
    """

    def __init__(
        self,
        path: str,
        *,
        of_faults: bool = False,
        beginning: int = MAX_WRITTEN,
        most: int = MAX_KEPT,
    ) -> None:
        self.failure = ""
        self.entries: deque[tuple[float, str, str, bytes]] = deque()
        self._path = path
        self._is_wanted = not of_faults
        self._beginning = 0 if of_faults else beginning
        self._room = most
        self._lost = 0
        self._time_of_loss = 0.0
        self._file: TextIO | None = None
        self.start = time.monotonic()
        if not of_faults:
            self._open()

    def _open(self) -> None:
        try:
            make_folder(os.path.dirname(self._path))
            fd = open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            self._file = open(fd, "w", encoding="ascii", errors="backslashreplace")
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.failure = f"the transcript cannot be written: {error.strerror}"
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Write or keep lines; see channel.Transcript."""
        self._note(time.monotonic() - self.start, code, direction, data)

    def _note(self, now: float, code: str, direction: str, data: bytes) -> None:
        if self._beginning > 0:
            self._beginning -= self._write(now, code, direction, data)
            return
        self.entries.append((now, code, direction, data))
        self._room -= _size(data)
        while self._room < 0:
            self._time_of_loss, *_, lost = self.entries.popleft()
            self._room += _size(lost)
            self._lost += lost.count(b"\n") + 1

    def _write(self, now: float, code: str, direction: str, data: bytes) -> int:
        """Write lines and return their bytes."""
        written = 0
        if self._file is not None:
            try:
                for line in data.split(b"\n"):
                    text = visible(line.rstrip(b"\r").decode("ascii", "backslashreplace"))
                    written += self._file.write(f"{now:10.4f} {code} {direction} {text}\n")
            except OSError as error:
                self._fail(error)
        return written

    def want(self) -> None:
        """Make `close` write the file."""
        self._is_wanted = True

    def pass_on(self, transcript: GameTranscript, player: str) -> None:
        """Write the kept entries to the transcript of a new game with the same start or an
        earlier one.

        player  code of the player in the game, which may differ from the check's
        """
        age = self.start - transcript.start
        for now, _, direction, data in self.entries:
            transcript._note(now + age, player, direction, data)

    def close(self) -> None:
        """Write the end and close the file."""
        if self._is_wanted and self._file is None and not self.failure:
            self._open()
        if self._lost:
            missing = f"({self._lost} lines are left out here)".encode()
            self._write(self._time_of_loss, "ringmaster", "!", missing)
        for entry in self.entries:
            self._write(*entry)
        self.entries.clear()
        try:
            if self._file is not None:
                self._file.close()
        except OSError as error:
            self._fail(error)


def _size(data: bytes) -> int:
    return len(data) + _LINE * data.count(b"\n") + _ENTRY


def transcript_of(job: GameJob | EvaluationJob) -> GameTranscript | None:
    if job.transcript is None:
        return None
    return GameTranscript(job.transcript, of_faults=job.transcript_of_faults)
