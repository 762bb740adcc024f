"""The position file: what is written comes back, and what is damaged is told."""

from __future__ import annotations

import errno
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import StoreCorrupt, StoreUnwritable
from ringmaster.positions import PositionFile
from ringmaster.positions.position_file import COLUMNS, MAGIC
from tests.positions.writing import write_positions

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)
ROWS = st.lists(
    st.tuples(
        TEXTS.map(str.encode),
        st.booleans(),
        st.floats(width=32, allow_nan=True),
        st.integers(0, 65535),
        st.integers(0, 2**32 - 1),
    ),
    max_size=40,
)


def labels(rows: list[Any]) -> dict[str, Any]:
    """Return the columns of rows; those that they have nothing for repeat the number."""
    number = np.array([row[2] for row in rows], dtype=np.float32)
    columns = dict.fromkeys(COLUMNS, number)
    columns["ply"] = np.array([row[3] for row in rows])
    columns["group"] = np.array([row[4] for row in rows])
    return columns


def write(path: Path, rows: list[Any]) -> None:
    """Write rows, some at a time."""
    held = [row[1] for row in rows]
    write_positions(path, [row[0] for row in rows], labels(rows), held, notes=["a note"])


@given(ROWS)
def test_positions_are_read_back_in_order_training_first(rows: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.positions"
        write(path, rows)
        read = PositionFile(path)
        expected = [r for r in rows if not r[1]] + [r for r in rows if r[1]]
        assert (read.train, read.validation) == (
            sum(not r[1] for r in rows),
            sum(r[1] for r in rows),
        )
        assert [read.text(i) for i in range(len(read))] == [r[0] for r in expected]
        wanted = labels(expected)
        for name in COLUMNS:
            np.testing.assert_array_equal(getattr(read, name), wanted[name].astype(COLUMNS[name]))
        assert (read.game, read.key, read.notes) == ("chess", "key", ["a note"])
        assert [p.name for p in Path(folder).iterdir()] == ["set.positions"]


@given(ROWS, st.integers(0, 40), st.integers(0, 40), st.integers(1, 9))
def test_texts_are_selected_as_by_range(rows: list[Any], first: int, stop: int, step: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.positions"
        write(path, rows)
        read = PositionFile(path)
        stop = min(stop, len(read))
        assert read.texts(first, stop, step) == [read.text(i) for i in range(first, stop, step)]


@given(st.data())
def test_truncated_file_is_refused(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.positions"
        write(path, [(b"x", False, 0.5, 1, 2)] * 5)
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
        with pytest.raises(StoreCorrupt):
            PositionFile(path)


@pytest.mark.parametrize("damage", ["column", "length", "negative"])
def test_wrong_header_is_damage(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "set.positions"
    write(path, [(b"x", False, 0.5, 1, 2)] * 5)
    data = path.read_bytes()
    size = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
    begin = len(MAGIC) + 8
    header = json.loads(data[begin : begin + size])
    if damage == "column":
        del header["columns"]["ply"]
    elif damage == "length":
        header["columns"]["ply"][1] -= 2
    else:
        header["columns"]["ply"][0] = -64
    text = json.dumps(header).encode()
    path.write_bytes(MAGIC + len(text).to_bytes(8, "little") + text + b"\0" * 4096)
    with pytest.raises(StoreCorrupt, match="damaged"):
        PositionFile(path)


def test_foreign_file_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("to be or not to be")
    with pytest.raises(StoreCorrupt, match="is not a position file; move it away"):
        PositionFile(path)


ONE = [(b"x", False, 0.5, 1, 2)]


def test_aborted_writer_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        write_positions(tmp_path / "x", [b"x"], labels(ONE) | {"unknown": [1]})
    assert list(tmp_path.iterdir()) == []


def test_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreUnwritable, match="No space left"):
        write(tmp_path / "set.positions", ONE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EOPNOTSUPP])
def test_room_on_the_disk_is_reserved_where_the_file_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def reserve(*_: int) -> None:
        raise OSError(code, "a reason")

    monkeypatch.setattr("os.posix_fallocate", reserve)
    if code == errno.EOPNOTSUPP:
        write(tmp_path / "set.positions", ONE)
        assert PositionFile(tmp_path / "set.positions").text(0) == b"x"
    else:
        with pytest.raises(StoreUnwritable, match="a reason"):
            write(tmp_path / "set.positions", ONE)
        assert list(tmp_path.iterdir()) == []


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match="cannot write"):
        write(tmp_path / "gone" / "set.positions", ONE)
