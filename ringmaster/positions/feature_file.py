"""The feature file: counts of an evaluation's features in each position of a position file.

It is a sparse matrix with the layout of `columns`.  Row i is position i of the position file.
Counts and feature numbers use the smallest integer types that hold them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.positions.columns import ColumnFile, Count, new_columns, writing

MAGIC = b"RMFEA\x00\x01\n"
#: Types of counts; the smallest that holds all counts is used.
_KINDS = ("<i1", "<i2", "<f4")

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[Any]


class Facts(msgspec.Struct):
    """The header's facts; see `FeatureFile`."""

    names: tuple[str, ...]
    rows: Count
    key: str


class FeatureFile(ColumnFile):
    """A feature file opened for reading; all arrays are read-only views.

    names    of the features, (F,)
    indptr   (n + 1,): row i has `columns` and `values` from indptr[i] to indptr[i + 1]
    columns  numbers of features
    values   counts for the side that moves first (White's minus Black's)
    phase    (n,): 1 in the opening, 0 in the endgame; None if unknown
    key      origin of the file, set by its writer
    """

    MAGIC, KIND, FACTS = MAGIC, "feature file", Facts
    REQUIRED = ("indptr", "columns", "values")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        facts: Facts = self.facts
        self.names, self.rows, self.key = facts.names, facts.rows, facts.key
        self.indptr: npt.NDArray[np.uint64] = self.column("indptr", self.rows + 1)
        count = int(self.indptr[-1])
        self.columns: Numbers = self.column("columns", count)
        self.values: Numbers = self.column("values", count)
        self.phase: Floats | None = self.column("phase", self.rows)

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
        self._lengths = np.zeros(rows, dtype=np.int32)
        self._seen = np.zeros(rows, dtype=bool)
        self._phase = np.zeros(rows if phase else 0, dtype=np.float32)
        count = len(names)
        self._column = "<u1" if count <= 1 << 8 else "<u2" if count <= 1 << 16 else "<u4"
        self._kind = 0
        self._calls = 0
        self._spool: IO[bytes]

    def __enter__(self) -> FeatureWriter:
        with writing(self._path):
            self._spool = tempfile.TemporaryFile(dir=self._path.parent)
        return self

    def __exit__(self, *_: object) -> None:
        with writing(self._path):
            self._spool.close()

    def add(self, rows: Numbers, matrix: Any) -> None:
        """Add rows; the first version of a row stays.

        rows    numbers of the rows, (k,)
        matrix  their counts, a sparse matrix of SciPy by rows, (k, F).  Behind the counts there
                is a column with the phase, if rows have one
        """
        first = np.zeros(len(rows), dtype=bool)
        first[np.unique(rows, return_index=True)[1]] = True
        first &= ~self._seen[rows]
        if not first.all():
            rows, matrix = rows[first], matrix[first]
        if self._phased:
            self._phase[rows] = matrix[:, [-1]].toarray()[:, 0]
            matrix = matrix[:, :-1]
        columns, values, lengths = matrix.indices, matrix.data, np.diff(matrix.indptr)
        kind = _kind_of(values)
        self._kind = max(self._kind, kind)
        self._seen[rows] = True
        self._lengths[rows] = lengths
        self._calls += 1
        with writing(self._path):
            for column in (rows, columns.astype(self._column), values.astype(_KINDS[kind])):
                np.save(self._spool, column)

    def missing(self) -> npt.NDArray[np.intp]:
        """Return the rows that have not been added."""
        return np.flatnonzero(~self._seen)

    def finish(self) -> None:
        """Complete the file."""
        indptr = np.append(0, np.cumsum(self._lengths, dtype=np.int64))
        count, kind = int(indptr[-1]), _KINDS[self._kind]
        columns = {
            "indptr": (len(indptr), "<u8"),
            "columns": (count, self._column),
            "values": (count, kind),
        }
        if self._phased:
            columns["phase"] = (len(self._phase), "<f4")
        facts = {"names": self._names, "rows": len(self._lengths), "key": self._key}
        with new_columns(self._path, MAGIC, facts, columns) as view:
            view["indptr"][:] = indptr
            if self._phased:
                view["phase"][:] = self._phase
            self._spool.seek(0)
            for _ in range(self._calls):
                rows, numbers, values = (np.load(self._spool) for _ in range(3))
                lengths = self._lengths[rows]
                begins = np.cumsum(lengths) - lengths
                # the start of the row plus the place in the row
                into = np.repeat(indptr[rows] - begins, lengths) + np.arange(len(numbers))
                view["columns"][into], view["values"][into] = numbers, values


def _kind_of(values: Numbers) -> int:
    """Return the index in _KINDS of the smallest type that holds all values."""
    if not len(values):
        return 0
    if values.dtype.kind == "f" and (values != np.rint(values)).any():
        return 2
    low, high = float(values.min()), float(values.max())
    return 0 if low >= -128 and high <= 127 else 1 if low >= -32768 and high <= 32767 else 2
