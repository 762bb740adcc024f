"""The feature file: counts of an evaluation's features in each position of a position file.

It is a sparse matrix with the layout of `columns`.  Row i is position i of the position file.
Counts and feature numbers use the smallest integer types that hold them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.output_files import writing
from ringmaster.positions.columns import ColumnFile, Count, new_columns

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


def write_features(
    path: Path,
    names: Sequence[str],
    rows: int,
    key: str,
    blocks: Iterable[tuple[Numbers, Any]],
    *,
    phase: bool,
) -> npt.NDArray[np.intp]:
    """Write a feature file from rows in any order; memory takes nine bytes a row.

    rows    number of positions
    key     see `FeatureFile.key`
    blocks  numbers of rows, (k,), and their counts, a sparse matrix of SciPy by rows, (k, F);
            the first version of a row stays
    phase   whether there is a column with the phase behind the counts

    Return the rows that are missing in all blocks; then there is no file.  Raises
    StoreUnwritable.
    """
    lengths, seen = np.zeros(rows, dtype=np.int32), np.zeros(rows, dtype=bool)
    phases = np.zeros(rows if phase else 0, dtype=np.float32)
    small = "<u1" if len(names) <= 1 << 8 else "<u2" if len(names) <= 1 << 16 else "<u4"
    largest = calls = 0
    with writing(path), TemporaryFile(dir=path.parent) as spool:
        for numbers, matrix in blocks:
            first = np.zeros(len(numbers), dtype=bool)
            first[np.unique(numbers, return_index=True)[1]] = True
            first &= ~seen[numbers]
            if not first.all():
                numbers, matrix = numbers[first], matrix[first]
            if phase:
                phases[numbers] = matrix[:, [-1]].toarray()[:, 0]
                matrix = matrix[:, :-1]
            kind = _kind_of(matrix.data)
            largest, calls = max(largest, kind), calls + 1
            seen[numbers] = True
            lengths[numbers] = np.diff(matrix.indptr)
            counts = matrix.data.astype(_KINDS[kind])
            for column in (numbers, matrix.indices.astype(small), counts):
                np.save(spool, column)
        missing = np.flatnonzero(~seen)
        if len(missing):
            return missing
        indptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
        total = int(indptr[-1])
        columns = {"indptr": (rows + 1, "<u8"), "columns": (total, small)}
        columns["values"] = (total, _KINDS[largest])
        if phase:
            columns["phase"] = (rows, "<f4")
        facts = {"names": list(names), "rows": rows, "key": key}
        with new_columns(path, MAGIC, facts, columns) as view:
            view["indptr"][:] = indptr
            if phase:
                view["phase"][:] = phases
            spool.seek(0)
            for _ in range(calls):
                numbers, indices, counts = (np.load(spool) for _ in range(3))
                begins = np.cumsum(lengths[numbers]) - lengths[numbers]
                # the start of the row plus the place in the row
                into = np.repeat(indptr[numbers] - begins, lengths[numbers])
                into += np.arange(len(indices))
                view["columns"][into], view["values"][into] = indices, counts
    return missing


def _kind_of(values: Numbers) -> int:
    """Return the index in _KINDS of the smallest type that holds all values."""
    if not len(values):
        return 0
    if values.dtype.kind == "f" and (values != np.rint(values)).any():
        return 2
    low, high = float(values.min()), float(values.max())
    return 0 if low >= -128 and high <= 127 else 1 if low >= -32768 and high <= 32767 else 2
