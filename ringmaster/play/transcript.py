"""Transcripts: the traffic between ringmaster and the engines of a game.

An engine that prints for ever fills no disk: a file has the beginning and the end of a game.
"""

from __future__ import annotations

import os
import time
from collections import deque
from typing import TextIO

from ringmaster.errors import visible
from ringmaster.model.jobs import EvaluationJob, GameJob

#: Bytes of a game's beginning that are written as they come.
MAX_WRITTEN = 4 << 20
#: Bytes kept in memory of the end of a game.
MAX_KEPT = 1 << 20
#: Memory of an entry besides its lines, and a line's bytes besides its text, both rounded up.
_ENTRY, _LINE = 200, 25


class FileTranscript:
    """Writes the traffic to a file, line by line: seconds since the start, player code, ">" to
    the engine, "<" from it or "!" for standard error, text.  Escapes bytes that are no text.

    Behind the first `most` bytes the file has only the end of the game, and the number of lines
    between them.  After a write error `failure` has the reason, and nothing more is written; the
    game goes on.
    """

    def __init__(self, path: str, most: int = MAX_WRITTEN) -> None:
        self.failure = ""
        self._room = most
        self._end: _End | None = None
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
        if self._end is not None:
            self._end.add(now, code, direction, data)
            return
        self._write_lines(now, code, direction, data)
        if self._room <= 0:
            self._end = _End(MAX_KEPT)

    def _write_lines(self, now: float, code: str, direction: str, data: bytes) -> None:
        if self._file is None:
            return
        try:
            for line in data.split(b"\n"):
                text = visible(line.rstrip(b"\r").decode("ascii", "backslashreplace"))
                self._room -= self._file.write(f"{now:10.4f} {code} {direction} {text}\n")
        except OSError as error:
            self._fail(error)

    def write_end(self, end: _End) -> None:
        """Write the number of lost lines, and then the kept ones."""
        if end.lost:
            missing = f"({end.lost} lines are left out here)".encode()
            self._write_lines(end.time_of_loss, "ringmaster", "!", missing)
        for entry in end.entries:
            self._write_lines(*entry)

    def close(self) -> None:
        """Flush and close the file."""
        if self._end is not None:
            self.write_end(self._end)
        try:
            if self._file is not None:
                self._file.close()
        except OSError as error:
            self._fail(error)


class _End:
    """The last entries of a game's traffic.

    entries       the kept ones: seconds since the start, player code, direction, lines
    lost          number of earlier lines
    time_of_loss  of the last of these, in seconds since the start
    most          approximate bytes to keep
    """

    def __init__(self, most: int) -> None:
        self.entries: deque[tuple[float, str, str, bytes]] = deque()
        self.lost = 0
        self.time_of_loss = 0.0
        self._room = most

    def add(self, now: float, code: str, direction: str, data: bytes) -> None:
        """Keep lines, and drop the oldest ones for which there is no room."""
        self.entries.append((now, code, direction, data))
        self._room -= _size(data)
        while self._room < 0:
            self.time_of_loss, *_, lost = self.entries.popleft()
            self._room += _size(lost)
            self.lost += lost.count(b"\n") + 1


def _size(data: bytes) -> int:
    return len(data) + _LINE * data.count(b"\n") + _ENTRY


class FaultTranscript:
    """Keeps the end of a game's traffic in memory and writes it to a file after a fault.

    The first line gives the number of dropped lines.  A check's transcript is passed on to
    its game's.

    most  approximate bytes to keep
    """

    def __init__(self, path: str, most: int = MAX_KEPT) -> None:
        self.failure = ""
        self._path = path
        self._end = _End(most)
        self._wanted = False
        self.start = time.monotonic()

    @property
    def entries(self) -> deque[tuple[float, str, str, bytes]]:
        """The kept entries: seconds since the start, player code, direction, lines."""
        return self._end.entries

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Keep lines; see channel.Transcript."""
        self.write(time.monotonic() - self.start, code, direction, data)

    def write(self, now: float, code: str, direction: str, data: bytes) -> None:
        """Keep lines of `now` seconds after the start."""
        self._end.add(now, code, direction, data)

    def want(self) -> None:
        """Make `close` write the file."""
        self._wanted = True

    def pass_on(self, transcript: GameTranscript, player: str) -> None:
        """Write the kept entries to the transcript of a new game with the same start or an
        earlier one.

        player  code of the player in the game, which may differ from the check's
        """
        age = self.start - transcript.start
        for now, _, direction, data in self.entries:
            transcript.write(now + age, player, direction, data)

    def close(self) -> None:
        """Write the file after `want`."""
        if self._wanted:
            file = FileTranscript(self._path)
            file.write_end(self._end)
            file.close()
            self.failure = file.failure
        self._end.entries.clear()


GameTranscript = FileTranscript | FaultTranscript


def transcript_of(job: GameJob | EvaluationJob) -> GameTranscript | None:
    """Return the transcript that a job asks for."""
    if job.transcript is None:
        return None
    return (FaultTranscript if job.transcript_of_faults else FileTranscript)(job.transcript)
