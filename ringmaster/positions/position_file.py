"""The position file: labelled positions as columns of a memory-mapped file.

A second start costs nothing, and workers read their shards themselves.  Positions of training
come first, then positions of validation.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ringmaster.model.players import GameName
from ringmaster.positions.columns import ColumnFile, layout, replacing, writing

MAGIC = b"RMPOS\x00\x01\n"

#: Columns with one number for each position:
#: result    of the game for the side that moves first (White in chess, Black in shogi): 0, 0.5,
#:           1, or a mean over duplicates; NaN unknown
#: teacher   centipawns for the same side, NaN unknown
#: weight    number of merged positions that this one stands for
#: progress  ply as a share of the game's length, 0 to 1; NaN unknown
#: group     number of the game: all positions of a game share it
#: ply       plies since the beginning of the game, 0 unknown
COLUMNS: dict[str, str] = {
    "result": "<f4",
    "teacher": "<f4",
    "weight": "<f4",
    "progress": "<f4",
    "group": "<u4",
    "ply": "<u2",
}
_STORED = {"offsets": "<u8", "text": "<u1", **COLUMNS}

Floats = npt.NDArray[np.float32]


class PositionFile(ColumnFile):
    """A position file opened for reading; see `COLUMNS` for its arrays.

    key    origin of the file, set by its writer
    notes  statistics of reading and filters
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, MAGIC, "position file", _STORED)
        facts = self.facts
        try:
            self.game: GameName = facts["game"]
            self.train, self.validation = int(facts["train"]), int(facts["validation"])
            self.key, self.notes = str(facts["key"]), list(facts["notes"])
        except (KeyError, TypeError, ValueError):
            raise self.damaged(" (its header)") from None
        count = len(self)
        self._offsets = self.column("offsets", count + 1)
        self._text = memoryview(self.column("text"))
        self.result: Floats = self.column("result", count)
        self.teacher: Floats = self.column("teacher", count)
        self.weight: Floats = self.column("weight", count)
        self.progress: Floats = self.column("progress", count)
        self.group: npt.NDArray[np.uint32] = self.column("group", count)
        self.ply: npt.NDArray[np.uint16] = self.column("ply", count)

    def __len__(self) -> int:
        return self.train + self.validation

    def text(self, index: int) -> bytes:
        """Return a position: FEN or SFEN, ASCII."""
        return bytes(self._text[self._offsets[index] : self._offsets[index + 1]])

    def texts(self, first: int, stop: int, step: int = 1) -> list[bytes]:
        """Return positions, selected as by range()."""
        text, offsets = self._text, self._offsets
        starts = offsets[first:stop:step].tolist()
        ends = offsets[first + 1 : stop + 1 : step].tolist()
        return [bytes(text[a:b]) for a, b in zip(starts, ends, strict=True)]


class PositionWriter:
    """Writes a position file with constant memory.

    path  the file appears there complete, or not at all
    key   see `PositionFile.key`

    Use it in a `with` block; `finish` completes the file.  Raises StoreUnwritable.
    """

    def __init__(self, path: Path, game: GameName, key: str) -> None:
        self._path, self._game, self._key = path, game, key
        self._stack = ExitStack()
        #: Of training and of validation: temporary files, positions and bytes of text.
        self._files: tuple[dict[str, IO[bytes]], ...] = ()
        self._counts, self._sizes = [0, 0], [0, 0]

    def __enter__(self) -> PositionWriter:
        with writing(self._path), ExitStack() as stack:
            folder = self._path.parent
            self._files = tuple(
                {name: stack.enter_context(tempfile.TemporaryFile(dir=folder)) for name in _STORED}
                for _ in range(2)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        # closing flushes, which fails on a full disk
        with writing(self._path):
            self._stack.close()

    def add(self, texts: list[bytes], labels: dict[str, npt.NDArray[Any]], held: bool) -> None:
        """Add positions.

        labels  a column for each of COLUMNS, as long as `texts`
        held    whether they belong to validation
        """
        files = self._files[held]
        lengths = np.fromiter(map(len, texts), dtype=np.uint64, count=len(texts))
        offsets = np.cumsum(lengths, dtype=np.uint64) - lengths + np.uint64(self._sizes[held])
        with writing(self._path):
            files["offsets"].write(offsets.astype("<u8").tobytes())
            files["text"].write(b"".join(texts))
            for name, dtype in COLUMNS.items():
                files[name].write(np.asarray(labels[name]).astype(dtype).tobytes())
        self._counts[held] += len(texts)
        self._sizes[held] += int(lengths.sum())

    def finish(self, notes: list[str]) -> None:
        """Complete the file."""
        train, held = self._counts
        facts: dict[str, Any] = {"game": self._game, "train": train, "validation": held}
        facts |= {"key": self._key, "notes": notes}
        count, size = train + held, sum(self._sizes)
        sizes = {name: (count, dtype) for name, dtype in _STORED.items()}
        sizes |= {"offsets": (count + 1, "<u8"), "text": (size, "<u1")}
        start, places = layout(MAGIC, facts, sizes)
        with replacing(self._path) as file:
            file.write(start)
            for name, place in places.items():
                file.write(b"\0" * (place - file.tell()))
                for part in self._files:
                    part[name].flush()
                    part[name].seek(0)
                    if name == "offsets" and part is self._files[1]:
                        self._shift(part[name], file)
                    else:
                        shutil.copyfileobj(part[name], file)
                if name == "offsets":
                    file.write(np.array([size], "<u8").tobytes())

    def _shift(self, offsets: IO[bytes], file: IO[bytes]) -> None:
        """Copy the offsets of validation, whose texts are behind those of training."""
        while chunk := offsets.read(1 << 20):
            file.write((np.frombuffer(chunk, "<u8") + np.uint64(self._sizes[0])).tobytes())
