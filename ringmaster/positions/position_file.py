"""The position file: labelled positions as columns of a memory-mapped file.

A second start costs nothing, and workers read their shards themselves.  Positions of training
come first, then positions of validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ringmaster.model.players import GameName
from ringmaster.positions.columns import ColumnFile, layout, replacing

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
            if min(self.train, self.validation) < 0:
                raise ValueError("a negative number of positions")
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
    """Adds positions to a file; see `position_writer`."""

    def __init__(
        self, file: IO[bytes], places: dict[str, int], train: int, train_size: int
    ) -> None:
        self._file, self._places = file, places
        #: Of training and of validation: numbers of written positions and bytes of text, counted
        #: from the start of the file.
        self._counts, self._sizes = [0, train], [0, train_size]

    def add(self, texts: list[bytes], labels: dict[str, npt.NDArray[Any]], held: bool) -> None:
        """Add positions.

        labels  a column for each of COLUMNS, as long as `texts`
        held    whether they belong to validation
        """
        count, size = self._counts[held], self._sizes[held]
        lengths = np.fromiter(map(len, texts), dtype=np.uint64, count=len(texts))
        offsets = np.cumsum(lengths, dtype=np.uint64) - lengths + np.uint64(size)
        self._write("text", size, b"".join(texts))
        for name, column in {"offsets": offsets, **labels}.items():
            self._write(name, count, np.asarray(column).astype(_STORED[name]).tobytes())
        self._counts[held] += len(texts)
        self._sizes[held] += int(lengths.sum())

    def _write(self, name: str, entry: int, data: bytes) -> None:
        """Write entries of a column from a place on."""
        self._file.seek(self._places[name] + entry * np.dtype(_STORED[name]).itemsize)
        self._file.write(data)


@contextmanager
def position_writer(
    path: Path,
    game: GameName,
    key: str,
    notes: list[str],
    counts: tuple[int, int],
    sizes: tuple[int, int],
) -> Iterator[PositionWriter]:
    """Write a position file, with constant memory; it appears complete, or not at all.

    key            see `PositionFile.key`
    counts, sizes  numbers of positions, and bytes of their texts, for training and validation

    Raises StoreUnwritable.
    """
    (train, held), size = counts, sum(sizes)
    facts = {"game": game, "train": train, "validation": held, "key": key, "notes": notes}
    columns = {name: (train + held, dtype) for name, dtype in _STORED.items()}
    columns |= {"offsets": (train + held + 1, "<u8"), "text": (size, "<u1")}
    start, places, length = layout(MAGIC, facts, columns)
    with replacing(path) as file:
        file.write(start)
        file.truncate(length)
        file.seek(places["offsets"] + 8 * (train + held))
        file.write(np.array([size], "<u8").tobytes())
        yield PositionWriter(file, places, train, sizes[0])
