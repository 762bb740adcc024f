"""The feature file: counts of an evaluation's features in each position of a position file.

It is a sparse matrix with the layout of `columns`.  Row i is position i of the position file.
Counts and feature numbers use the smallest integer types that hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.positions.columns import (
    aligned,
    damaged,
    read_header,
    replacing,
    start_of,
    writing,
)

MAGIC = b"RMFEA\x00\x01\n"
#: Types of counts; the smallest that holds all counts is used.
_KINDS = ("<i1", "<i2", "<f4")
#: Types of feature numbers and of places.
_WHOLE = ("<u1", "<u2", "<u4", "<u8")

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[Any]


class _Header(msgspec.Struct):
    names: list[str]
    rows: int
    key: str
    columns: dict[str, tuple[int, int, str]]


class FeatureFile:
    """A feature file opened for reading; all arrays are read-only views.

    names    of the features, (F,)
    indptr   (n + 1,): row i has `columns` and `values` from indptr[i] to indptr[i + 1]
    columns  numbers of features
    values   counts for the side that moves first (White's minus Black's)
    phase    (n,): 1 in the opening, 0 in the endgame; None if unknown
    key      origin of the file, set by its writer

    Raises StoreCorrupt for a damaged file or one of another kind, OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        header, begin = read_header(path, MAGIC, _Header, "feature file")
        self.names = tuple(header.names)
        self.rows, self.key = header.rows, header.key
        size = path.stat().st_size - begin
        if missing := {"indptr", "columns", "values"} - header.columns.keys():
            raise damaged(path, f" (no {min(missing)})")
        if any(
            min(at, length) < 0 or at + length > size for at, length, _ in header.columns.values()
        ):
            raise damaged(path, " (cut off)")
        data = np.memmap(path, dtype=np.uint8, mode="r")

        def column(name: str) -> Any:
            at, length, kind = header.columns[name]
            if kind not in (*_KINDS, *_WHOLE):
                raise damaged(path, f" (unknown numbers {kind!r})")
            dtype = np.dtype(kind)
            if length % dtype.itemsize:
                raise damaged(path)
            return data[begin + at : begin + at + length].view(dtype)

        self.indptr: npt.NDArray[np.uint64] = column("indptr")
        self.columns: Numbers = column("columns")
        self.values: Numbers = column("values")
        self.phase: Floats | None = column("phase") if "phase" in header.columns else None
        lengths = (len(self.indptr), len(self.columns), len(self.values))
        count = int(self.indptr[-1]) if len(self.indptr) else -1
        if lengths != (self.rows + 1, count, count):
            raise damaged(path)

    def __len__(self) -> int:
        return self.rows


class FeatureWriter:
    """Writes a feature file from rows in any order; memory takes nine bytes a row.

    path   the file appears there complete, or not at all
    names  of the features
    rows   number of positions
    key    see `FeatureFile.key`
    phase  whether the rows have a phase

    Use it in a `with` block; `finish` completes the file.  Raises StoreUnwritable.
    """

    def __init__(
        self, path: Path, names: Sequence[str], rows: int, key: str, *, phase: bool
    ) -> None:
        self._path, self._names, self._key, self._phased = path, list(names), key, phase
        self._lengths = np.zeros(rows, dtype=np.uint32)
        self._seen = np.zeros(rows, dtype=bool)
        self._phase = np.zeros(rows if phase else 0, dtype=np.float32)
        count = len(names)
        self._column = "<u1" if count <= 1 << 8 else "<u2" if count <= 1 << 16 else "<u4"
        self._kind = 0
        #: Of each call of `add`: numbers of rows and of counts, and the type of the counts.
        self._chunks: list[tuple[int, int, str]] = []
        self._spool: IO[bytes] | None = None
        self._spool_path = path.with_name(f"{path.name}.rows~")

    def __enter__(self) -> FeatureWriter:
        with writing(self._path):
            self._spool = self._spool_path.open("w+b")
        return self

    def __exit__(self, *_: object) -> None:
        if self._spool is not None:
            self._spool.close()
        with suppress(OSError):
            self._spool_path.unlink(missing_ok=True)

    def add(
        self,
        rows: npt.NDArray[np.int64],
        lengths: Numbers,
        columns: Numbers,
        values: Numbers,
        phase: Numbers | None = None,
    ) -> None:
        """Add rows, (k,) each; the first version of a row stays.

        lengths          number of features in each row
        columns, values  of all rows, one row after another; zeros may be left out
        """
        rows = np.asarray(rows, dtype=np.int64)
        first = np.zeros(len(rows), dtype=bool)
        first[np.unique(rows, return_index=True)[1]] = True
        first &= ~self._seen[rows]
        if not first.all():
            wanted = np.repeat(first, lengths)
            columns, values = columns[wanted], values[wanted]
            phase = None if phase is None else phase[first]
            rows, lengths = rows[first], np.asarray(lengths)[first]
        kind = _kind_of(values)
        self._kind = max(self._kind, kind)
        self._seen[rows] = True
        self._lengths[rows] = lengths
        if self._phased and phase is not None:
            self._phase[rows] = phase
        self._chunks.append((len(rows), len(columns), _KINDS[kind]))
        assert self._spool is not None, "not in a with block"
        with writing(self._path):
            self._spool.write(rows.astype("<i8").tobytes())
            self._spool.write(np.asarray(columns).astype(self._column).tobytes())
            self._spool.write(np.asarray(values).astype(_KINDS[kind]).tobytes())

    def missing(self) -> npt.NDArray[np.intp]:
        """Return the rows that have not been added."""
        return np.flatnonzero(~self._seen)

    def finish(self) -> None:
        """Complete the file."""
        indptr = np.zeros(len(self._lengths) + 1, dtype="<u8")
        np.cumsum(self._lengths, dtype=np.uint64, out=indptr[1:])
        count, kind = int(indptr[-1]), _KINDS[self._kind]
        sizes = {
            "indptr": (indptr.nbytes, "<u8"),
            "columns": (count * np.dtype(self._column).itemsize, self._column),
            "values": (count * np.dtype(kind).itemsize, kind),
        }
        if self._phased:
            sizes["phase"] = (self._phase.nbytes, "<f4")
        places, at = {}, 0
        for name, (size, dtype) in sizes.items():
            places[name] = (at, size, dtype)
            at = aligned(at + size)
        start = start_of(MAGIC, _Header(self._names, len(self._lengths), self._key, places))
        with replacing(self._path) as file:
            file.write(start)
            file.truncate(len(start) + at)
            file.flush()
            data = np.memmap(file, dtype=np.uint8, mode="r+")
            view = {
                name: data[len(start) + a : len(start) + a + size].view(dtype)
                for name, (a, size, dtype) in places.items()
            }
            view["indptr"][:] = indptr
            if self._phased:
                view["phase"][:] = self._phase
            for rows, columns, values in self._read():
                lengths = self._lengths[rows]
                # the start of the row plus the place in the row
                into = np.repeat(indptr[rows], lengths) + _places(lengths)
                view["columns"][into], view["values"][into] = columns, values
            data.flush()
            del view, data

    def _read(self) -> Iterator[tuple[npt.NDArray[np.int64], Numbers, Numbers]]:
        assert self._spool is not None
        self._spool.seek(0)
        for rows, count, kind in self._chunks:
            yield (
                np.frombuffer(self._spool.read(8 * rows), "<i8"),
                np.frombuffer(
                    self._spool.read(count * np.dtype(self._column).itemsize), self._column
                ),
                np.frombuffer(self._spool.read(count * np.dtype(kind).itemsize), kind),
            )


def _kind_of(values: Numbers) -> int:
    """Return the index in _KINDS of the smallest type that holds all values."""
    if not len(values):
        return 0
    if values.dtype.kind == "f" and (values != np.rint(values)).any():
        return 2
    low, high = float(values.min()), float(values.max())
    return 0 if low >= -128 and high <= 127 else 1 if low >= -32768 and high <= 32767 else 2


def _places(lengths: Numbers) -> npt.NDArray[np.uint64]:
    """Return 0, 1, … for each row, one row after another."""
    ends = np.cumsum(lengths, dtype=np.uint64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.uint64) - np.repeat(ends - lengths, lengths)
