"""The position file: labelled positions as columns of a memory-mapped file.

A second start costs nothing, and workers read their shards themselves.  The layout is that of
`columns`.  Positions of training come first, then positions of validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.errors import StoreUnwritable
from ringmaster.model.players import GameName
from ringmaster.positions.columns import (
    aligned,
    damaged,
    read_header,
    replacing,
    start_of,
    writing,
)

MAGIC = b"RMPOS\x00\x01\n"
_COPIED = 1 << 20

#: Columns with one number for each position.
COLUMNS: dict[str, str] = {
    "result": "<f4",
    "teacher": "<f4",
    "weight": "<f4",
    "progress": "<f4",
    "group": "<u4",
    "ply": "<u2",
}

Floats = npt.NDArray[np.float32]


class Labels(msgspec.Struct, frozen=True):
    """The labels of one position.

    result    of the game for the side that moves first (White in chess, Black in shogi): 0, 0.5,
              1, or a mean over duplicates; NaN if unknown
    teacher   centipawns for the same side, NaN if unknown
    weight    how many positions this one counts for (merged duplicates)
    progress  ply as a share of the game's length, 0 to 1; NaN if unknown
    group     number of the game: all positions of a game share it
    ply       plies since the beginning of the game, 0 if unknown
    """

    result: float
    teacher: float = float("nan")
    weight: float = 1.0
    progress: float = float("nan")
    group: int = 0
    ply: int = 0


class _Header(msgspec.Struct):
    game: GameName
    train: int
    validation: int
    key: str
    notes: list[str]
    columns: dict[str, tuple[int, int]]


class PositionFile:
    """A position file opened for reading; all columns are read-only views.

    key    origin of the file, set by its writer
    notes  statistics of reading and filters

    Raises StoreCorrupt for a damaged file or one of another kind, OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        header, begin = read_header(path, MAGIC, _Header, "position file")
        self.game: GameName = header.game
        self.train, self.validation = header.train, header.validation
        self.key, self.notes = header.key, header.notes
        size = path.stat().st_size - begin
        if missing := {"offsets", "text", *COLUMNS} - header.columns.keys():
            raise damaged(path, f" (no {min(missing)})")
        if any(min(at, length) < 0 or at + length > size for at, length in header.columns.values()):
            raise damaged(path, " (cut off)")
        self._data = np.memmap(path, dtype=np.uint8, mode="r", offset=0)
        self._begin, self._columns = begin, header.columns
        count = len(self)
        self._offsets = self._column("offsets", "<u8", count + 1)
        at, length = header.columns["text"]
        self._text = memoryview(self._data[begin + at : begin + at + length])  # type: ignore[arg-type]  # an array is a buffer
        self.result: Floats
        self.teacher: Floats
        self.weight: Floats
        self.progress: Floats
        self.group: npt.NDArray[np.uint32]
        self.ply: npt.NDArray[np.uint16]
        for name, kind in COLUMNS.items():
            setattr(self, name, self._column(name, kind, count))

    def __len__(self) -> int:
        return self.train + self.validation

    def _column(self, name: str, dtype: str, count: int) -> Any:
        at, length = self._columns[name]
        kind = np.dtype(dtype)
        if length != count * kind.itemsize:
            raise damaged(self.path)
        return self._data[self._begin + at : self._begin + at + length].view(kind)

    def text(self, index: int) -> bytes:
        """Return a position: FEN or SFEN, ASCII."""
        return bytes(self._text[self._offsets[index] : self._offsets[index + 1]])

    def texts(self, first: int, stop: int, step: int = 1) -> list[bytes]:
        """Return positions, selected as by range()."""
        text, offsets = self._text, self._offsets
        starts = offsets[first:stop:step].tolist()
        ends = offsets[first + 1 : stop + 1 : step].tolist()
        return [bytes(text[a:b]) for a, b in zip(starts, ends, strict=True)]


class _Part:
    """The columns of training or validation, each in a temporary file."""

    def __init__(self, path: Path, name: str) -> None:
        self.count = 0
        self.size = 0
        self.files: dict[str, IO[bytes]] = {}
        self.paths: list[Path] = []
        for column in ("offsets", "text", *COLUMNS):
            part = path.with_name(f"{path.name}.{name}-{column}~")
            self.paths.append(part)
            self.files[column] = part.open("w+b")


class PositionWriter:
    """Writes a position file with constant memory.

    path  the file appears there complete, or not at all
    key   see `PositionFile.key`

    Use it in a `with` block; `finish` completes the file.  Raises StoreUnwritable.
    """

    def __init__(self, path: Path, game: GameName, key: str) -> None:
        self._path, self._game, self._key = path, game, key
        self._parts: list[_Part] = []

    def __enter__(self) -> PositionWriter:
        try:
            with writing(self._path):
                self._parts = [_Part(self._path, "train"), _Part(self._path, "validation")]
        except StoreUnwritable:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for part in self._parts:
            for file in part.files.values():
                with suppress(OSError):  # the disk may be full
                    file.close()
        for path in (path for part in self._parts for path in part.paths):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def add(self, texts: list[bytes], labels: dict[str, npt.NDArray[Any]], held: bool) -> None:
        """Add positions.

        labels  a column for each of COLUMNS, as long as `texts`
        held    whether they belong to validation
        """
        part = self._parts[int(held)]
        lengths = np.fromiter(map(len, texts), dtype=np.uint64, count=len(texts))
        offsets = np.cumsum(lengths, dtype=np.uint64) - lengths + np.uint64(part.size)
        with writing(self._path):
            part.files["offsets"].write(offsets.astype("<u8").tobytes())
            part.files["text"].write(b"".join(texts))
            for name, dtype in COLUMNS.items():
                part.files[name].write(np.asarray(labels[name]).astype(dtype).tobytes())
        part.count += len(texts)
        part.size += int(lengths.sum())

    def finish(self, notes: list[str]) -> None:
        """Complete the file."""
        train, held = self._parts
        count, size = train.count + held.count, train.size + held.size
        lengths = {"offsets": 8 * (count + 1), "text": size}
        lengths |= {name: count * np.dtype(kind).itemsize for name, kind in COLUMNS.items()}
        columns, at = {}, 0
        for name, length in lengths.items():
            columns[name] = (at, length)
            at = aligned(at + length)
        header = _Header(self._game, train.count, held.count, self._key, notes, columns)
        with replacing(self._path) as file:
            file.write(start_of(MAGIC, header))
            for name in lengths:
                file.write(b"\0" * (aligned(file.tell()) - file.tell()))
                for chunk in self._chunks(name, train.size, size):
                    file.write(chunk)

    def _chunks(self, name: str, shift: int, end: int) -> Iterator[bytes]:
        for held, part in enumerate(self._parts):
            file = part.files[name]
            file.flush()
            file.seek(0)
            while chunk := file.read(_COPIED):
                if name == "offsets" and held:
                    chunk = (np.frombuffer(chunk, "<u8") + np.uint64(shift)).tobytes()
                yield chunk
        if name == "offsets":
            yield np.array([end], "<u8").tobytes()
