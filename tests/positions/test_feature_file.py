from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ringmaster.errors import StoreCorrupt, StoreUnwritable
from ringmaster.positions import FeatureFile, write_features

NAMES = ("a", "b", "c")
rows = st.lists(
    st.dictionaries(
        st.integers(0, 2),
        st.one_of(st.integers(-40_000, 40_000), st.floats(-9, 9, width=32)).filter(bool),
    ),
    max_size=12,
)


def matrix(lengths: list[int], columns: list[int], values: list[float]) -> sparse.csr_array:
    """Return some rows with three features."""
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((np.array(values), columns, indptr), shape=(len(lengths), 3))


def write(path: Path, rows_given: list[dict[int, float]], order: list[int], *, phase: bool) -> None:
    """Write rows in an order, each call of `add` with up to three of them."""
    blocks = []
    for first in range(0, len(order), 3):
        some = order[first : first + 3]
        numbers = [pair for i in some for pair in sorted(rows_given[i].items())]
        counts = matrix(
            [len(rows_given[i]) for i in some],
            [column for column, _ in numbers],
            [value for _, value in numbers],
        )
        phases = np.array(some, dtype=np.float32)[:, None] / 16
        whole = sparse.hstack([counts, phases], format="csr") if phase else counts
        blocks.append((np.array(some, dtype=np.int64), whole))
    missing = write_features(path, NAMES, len(rows_given), "key", blocks, phase=phase)
    assert not len(missing)


@given(rows, st.randoms(use_true_random=False), st.booleans())
def test_rows_written_in_any_order_are_read_back(
    rows_given: list[dict[int, float]], random: np.random.Generator, phase: bool
) -> None:
    order = list(range(len(rows_given)))
    random.shuffle(order)  # type: ignore[arg-type]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.features"
        write(path, rows_given, order, phase=phase)
        actual = FeatureFile(path)
        assert (actual.names, actual.key, len(actual)) == (NAMES, "key", len(rows_given))
        for i, row in enumerate(rows_given):
            a, b = int(actual.indptr[i]), int(actual.indptr[i + 1])
            pairs = zip(actual.columns[a:b].tolist(), actual.values[a:b].tolist(), strict=True)
            assert dict(pairs) == {k: float(np.float32(v)) for k, v in row.items()}
        if phase:
            assert actual.phase is not None
            assert actual.phase.tolist() == [i / 16 for i in range(len(rows_given))]
        else:
            assert actual.phase is None
        assert [p.name for p in Path(folder).iterdir()] == ["x.features"]


@pytest.mark.parametrize(
    ("value", "kind"), [(127, "int8"), (-129, "int16"), (40_000, "float32"), (0.5, "float32")]
)
def test_counts_use_the_smallest_type(tmp_path: Path, value: float, kind: str) -> None:
    write(tmp_path / "x", [{0: 1}, {1: value}], [0, 1], phase=False)
    actual = FeatureFile(tmp_path / "x")
    assert (actual.values.dtype, actual.columns.dtype) == (kind, "uint8")


def test_first_row_of_a_position_is_kept(tmp_path: Path) -> None:
    blocks = [
        (np.array([1, 1, 0]), matrix([1, 2, 1], [0, 1, 2, 1], [5, 6, 7, 8])),
        (np.array([0]), matrix([1], [2], [9])),
    ]
    assert not len(write_features(tmp_path / "x", NAMES, 2, "", blocks, phase=False))
    actual = FeatureFile(tmp_path / "x")
    assert (actual.columns.tolist(), actual.values.tolist()) == ([1, 0], [8, 5])


def test_missing_rows_are_listed(tmp_path: Path) -> None:
    blocks = [(np.array([2, 0]), matrix([0, 0], [], []))]
    missing = write_features(tmp_path / "x", NAMES, 4, "", blocks, phase=False)
    assert missing.tolist() == [1, 3]
    assert list(tmp_path.iterdir()) == []


def test_foreign_or_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write(path, [{0: 1, 2: 3}] * 50, list(range(50)), phase=True)
    whole = path.read_bytes()
    for data, words in (
        (b"PNG" + whole, "is not a feature file"),
        (whole[:-200], "is damaged"),
        (whole[:20] + b"!" + whole[21:], "is damaged"),
    ):
        path.write_bytes(data)
        with pytest.raises(StoreCorrupt, match=words):
            FeatureFile(path)


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match="No such file"):
        write_features(tmp_path / "no" / "x", NAMES, 1, "", [], phase=False)
