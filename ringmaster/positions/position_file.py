"""The position file: labelled positions as columns of a memory-mapped file.

A second start costs nothing, and workers read their shards themselves.  Positions of training
come first, then positions of validation.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.players import GameName
from ringmaster.positions.columns import ColumnFile, Count, new_columns

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


class Facts(msgspec.Struct):
    """The header's facts; see `PositionFile`."""

    game: GameName
    key: str
    notes: list[str]
    train: Count
    validation: Count


class PositionFile(ColumnFile):
    """A position file opened for reading; see `COLUMNS` for its arrays.

    key                origin of the file, set by its writer
    notes              statistics of reading and filters
    train, validation  numbers of positions
    """

    MAGIC, KIND, REQUIRED, FACTS = MAGIC, "position file", tuple(_STORED), Facts

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        facts: Facts = self.facts
        self.game, self.key, self.notes = facts.game, facts.key, facts.notes
        self.train, self.validation = facts.train, facts.validation
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


#: Texts of some positions, a column of labels for each of COLUMNS, and whether the positions
#: belong to validation.
Part = tuple[list[bytes], dict[str, npt.NDArray[Any]], bool]


def write_positions(
    path: Path,
    facts: dict[str, Any],
    counts: tuple[int, int],
    sizes: tuple[int, int],
    parts: Iterable[Part],
) -> None:
    """Write a position file; it appears complete, or not at all.

    facts          game, key and notes
    counts, sizes  numbers of positions, and bytes of their texts, for training and validation

    Raises StoreUnwritable.
    """
    (train, held), size = counts, sum(sizes)
    facts = {**facts, "train": train, "validation": held}
    columns = {name: (train + held, dtype) for name, dtype in _STORED.items()}
    columns |= {"offsets": (train + held + 1, "<u8"), "text": (size, "<u1")}
    with new_columns(path, MAGIC, facts, columns) as arrays:
        arrays["offsets"][-1] = size
        # of training and of validation: the next position, and the place of its text
        firsts, places = [0, train], [0, sizes[0]]
        for texts, labels, is_held in parts:
            first, place = firsts[is_held], places[is_held]
            lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
            ends = place + np.cumsum(lengths)
            firsts[is_held] += len(texts)
            places[is_held] += int(lengths.sum())
            joined = np.frombuffer(b"".join(texts), dtype=np.uint8)
            arrays["text"][place : places[is_held]] = joined
            for name, column in {"offsets": ends - lengths, **labels}.items():
                arrays[name][first : firsts[is_held]] = column
