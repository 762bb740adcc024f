"""Counts of features held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Counts:
    """A sparse matrix by rows; see `linear_model.Matrix`."""

    names: tuple[str, ...]
    indptr: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]
    phase: npt.NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls,
        dense: npt.NDArray[Any],
        names: Sequence[str],
        phase: npt.NDArray[np.float32] | None = None,
    ) -> Counts:
        """Return those of a dense matrix, (positions, features)."""
        rows, columns = np.nonzero(dense)
        pointers = np.zeros(len(dense) + 1, dtype=np.uint64)
        np.cumsum(np.bincount(rows, minlength=len(dense)), out=pointers[1:])
        return cls(
            tuple(names),
            pointers,
            columns.astype(np.uint16),
            dense[rows, columns].astype(np.float32),
            phase,
        )
