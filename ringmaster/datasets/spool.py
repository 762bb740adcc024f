"""Positions in temporary files while a set is made, so that memory stays small.

Keys are in many files by their highest bits: equal positions are in the same one, which fits
into memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.boards import Mask, Words

#: Numbers of a position; `word` is random, `run` counts runs of one game's positions.
ROW = np.dtype(
    [
        ("result", "<f4"),
        ("teacher", "<f4"),
        ("word", "<u8"),
        ("run", "<u4"),
        ("ply", "<i4"),
        ("length", "<i4"),
        ("size", "<u2"),
    ]
)
#: A key with the number of its position and the labels.
_KEYED = np.dtype([("key", "<u8"), ("row", "<u8"), ("result", "<f4"), ("teacher", "<f4")])
_BITS = 6
_PARTS = 1 << _BITS
_BLOCK = 1 << 14

Rows = npt.NDArray[np.void]


class Spool:
    """Temporary files of positions beside the final one.  Use it in a `with` block.

    count  number of positions
    """

    def __init__(self, folder: Path) -> None:
        self.count = 0
        with ExitStack() as stack:
            files = [
                stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(_PARTS + 2)
            ]
            self._texts, self._rows, *self._keys = files
            self._stack = stack.pop_all()

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, texts: list[bytes], rows: Rows, keys: Words) -> None:
        """Append positions; the sizes of rows are set here."""
        rows["size"] = np.fromiter(map(len, texts), dtype=np.uint16, count=len(texts))
        self._texts.write(b"".join(texts))
        self._rows.write(rows.tobytes())
        keyed = np.empty(len(rows), dtype=_KEYED)
        keyed["key"], keyed["row"] = keys, np.arange(self.count, self.count + len(rows))
        keyed["result"], keyed["teacher"] = rows["result"], rows["teacher"]
        part = (keys >> np.uint64(64 - _BITS)).astype(np.uint8)
        data = memoryview(keyed[np.argsort(part, kind="stable")].tobytes())
        ends = np.cumsum(np.bincount(part, minlength=_PARTS)) * _KEYED.itemsize
        begin = 0
        for file, end in zip(self._keys, ends.tolist(), strict=True):
            file.write(data[begin:end])
            begin = end
        self.count += len(rows)

    def rows(self) -> Iterator[tuple[int, Rows]]:
        """Yield (number of the first position, rows) in the order of reading."""
        self._rows.seek(0)
        first = 0
        while data := self._rows.read(_BLOCK * ROW.itemsize):
            rows = np.frombuffer(bytearray(data), dtype=ROW)
            yield first, rows
            first += len(rows)

    def texts(self) -> Iterator[tuple[int, Rows, list[bytes]]]:
        """Yield the same with the texts of the positions."""
        self._texts.seek(0)
        for first, rows in self.rows():
            ends = np.cumsum(rows["size"], dtype=np.int64).tolist()
            data = self._texts.read(ends[-1])
            yield first, rows, [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]

    def equal(self, keep: Mask) -> Iterator[Rows]:
        """Yield keys of kept positions, many at a time: equal ones together, in their order."""
        for file in self._keys:
            file.seek(0)
            keyed = np.frombuffer(file.read(), dtype=_KEYED)
            keyed = keyed[keep[keyed["row"]]]
            yield keyed[np.argsort(keyed["key"], kind="stable")]
