"""Positions in temporary files while a set is made, so that memory stays small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import numpy.typing as npt

#: A position.  `key` is equal for equal positions, and `word` is random.  `run` counts runs of one
#: game's positions, later games.  The set has the positions with a weight.
ROW = np.dtype(
    [
        ("key", "<u8"),
        ("word", "<u8"),
        ("result", "<f4"),
        ("teacher", "<f4"),
        ("weight", "<f4"),
        ("run", "<u4"),
        ("ply", "<i4"),
        ("length", "<i4"),
        ("size", "<u2"),
    ]
)
_BLOCK = 1 << 14
#: Positions whose keys are sorted at once.
_SORTED = 1 << 22

Rows = npt.NDArray[np.void]
Indices = npt.NDArray[np.intp]


@contextmanager
def new_spool(folder: Path) -> Iterator[Spool]:
    """Yield an empty spool, whose files are in a folder until the end of the block."""
    with TemporaryFile(dir=folder) as texts, TemporaryFile(dir=folder) as rows:
        yield Spool(texts, rows)


class Spool:
    """Temporary files of positions beside the final one.

    count  number of positions
    """

    def __init__(self, texts: IO[bytes], rows: IO[bytes]) -> None:
        self._texts, self._rows, self.count = texts, rows, 0

    def add(self, texts: list[bytes], rows: Rows) -> None:
        """Append positions; the sizes of rows are set here."""
        rows["size"] = np.fromiter(map(len, texts), dtype=np.uint16, count=len(texts))
        self._texts.write(b"".join(texts))
        self._rows.write(rows.tobytes())
        self.count += len(rows)

    @cached_property
    def rows(self) -> Rows:
        """All rows in the order of reading, after the last call of `add`; changes stay."""
        if not self.count:
            return np.zeros(0, dtype=ROW)
        self._rows.flush()
        return np.asarray(np.memmap(self._rows, dtype=ROW, mode="r+"))

    def blocks(self) -> Iterator[Rows]:
        """Yield the rows, many at a time; changes stay."""
        for first in range(0, self.count, _BLOCK):
            yield self.rows[first : first + _BLOCK]

    def texts(self) -> Iterator[tuple[Rows, list[bytes]]]:
        """Yield the same with the texts of the positions."""
        self._texts.seek(0)
        for rows in self.blocks():
            ends = np.cumsum(rows["size"], dtype=np.int64).tolist()
            data = self._texts.read(ends[-1])
            yield rows, [data[a:b] for a, b in pairwise([0, *ends])]

    def equal(self) -> Iterator[tuple[Indices, Indices]]:
        """Yield (numbers of the set's positions with an equal one, sizes of the groups).

        Equal positions are together, in the order of reading.
        """
        parts = -(-self.count // _SORTED)
        for part in range(parts):
            chosen = [
                i * _BLOCK + np.flatnonzero((rows["weight"] > 0) & (rows["key"] % parts == part))
                for i, rows in enumerate(self.blocks())
            ]
            numbers = np.concatenate(chosen)
            keys = self.rows["key"][numbers]
            order = np.argsort(keys, kind="stable")
            numbers, keys = numbers[order], keys[order]
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            sizes = np.diff(np.append(starts, len(keys)))
            yield numbers[np.repeat(sizes > 1, sizes)], sizes[sizes > 1]
