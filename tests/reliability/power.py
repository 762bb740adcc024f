"""States of a database that a loss of power may leave: a `-wal` cut or damaged at its end, and
a checkpoint that was cut.

The format is https://www.sqlite.org/fileformat.html, 4: a header of 32 bytes, then frames
of a header of 24 bytes and a page.
"""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.processes import await_that
from tests.program import PLAYOFF, start, write_control_file
from tests.reliability.killing import recorded

_HEADER, _FRAME_HEADER = 32, 24


class Cut(NamedTuple):
    """A damaged state.

    kind     "boundary", "inside", "zeros", "garbage" or "checkpoint"
    frames   whole frames at the beginning of the `-wal`
    """

    kind: str
    frames: int
    database: bytes
    wal: bytes

    def write(self, status: Path) -> None:
        """Replace a status file by this state."""
        for companion in ("-wal", "-shm"):
            Path(f"{status}{companion}").unlink(missing_ok=True)
        status.write_bytes(self.database)
        Path(f"{status}-wal").write_bytes(self.wal)


class Crashed:
    """A competition whose run was killed, with its `-wal`."""

    def __init__(self, folder: Path, games: int = 40, source: str = PLAYOFF) -> None:
        self.control = write_control_file(folder, source, games)
        self.status = self.control.with_suffix(".status")
        whole = self.control.read_text()
        # an engine has three or four moves a game: it hangs after two thirds of the games
        hanging = f'"--hang-on", "go:{15 * games // 2}", "--pid-file"'
        self.control.write_text(whole.replace('"--pid-file"', hanging))
        run = start(self.control, "run", "-q", "-j", "1")
        try:
            await_that(lambda: recorded(self.control) >= 2 * games, run)
        finally:
            run.kill()
            run.wait()
        self.control.write_text(whole)
        self.database = self.status.read_bytes()
        self.wal = Path(f"{self.status}-wal").read_bytes()
        (self.page,) = struct.unpack_from(">I", self.wal, 8)
        self.frames = (len(self.wal) - _HEADER) // (_FRAME_HEADER + self.page)

    def _end(self, frames: int) -> int:
        return _HEADER + frames * (_FRAME_HEADER + self.page) if frames else 0

    def copy(self, folder: Path) -> Path:
        """Copy the competition; return its control file."""
        shutil.copytree(self.control.parent, folder)
        return folder / self.control.name

    def cuts(self, seed: int = 1) -> Iterator[Cut]:
        """Yield the states after a loss of power at each boundary of a frame, and beyond it."""
        rng = random.Random(seed)
        for frames in range(self.frames + 1):
            whole, rest = self.wal[: self._end(frames)], self.wal[self._end(frames) :]
            yield Cut("boundary", frames, self.database, whole)
            if not rest:
                break
            # a part of the next frame, and blocks that were given out and never written
            yield Cut("inside", frames, self.database, whole + rest[: rng.randrange(1, 4096)])
            yield Cut("zeros", frames, self.database, whole + bytes(len(rest)))
            garbage = rng.randbytes(min(len(rest), 3 * self.page))
            yield Cut("garbage", frames, self.database, whole + garbage)
        yield from self._checkpoints()

    def _checkpoints(self) -> Iterator[Cut]:
        """Yield the states of a checkpoint that was cut: the `-wal` is on the disk before."""
        pages = {}
        for frame in range(self.frames):
            begin = self._end(frame) if frame else _HEADER
            (number,) = struct.unpack_from(">I", self.wal, begin)
            page = self.wal[begin + _FRAME_HEADER : begin + _FRAME_HEADER + self.page]
            pages[number] = page
        database = bytearray(self.database)
        for number in sorted(pages):
            end = number * self.page
            database.extend(bytes(max(0, end - len(database))))
            database[end - self.page : end] = pages[number]
            yield Cut("checkpoint", self.frames, bytes(database), self.wal)
