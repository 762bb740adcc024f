"""Rows that were changed without damage to the file's structure."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ringmaster.errors import StoreCorrupt
from ringmaster.storage import rows
from ringmaster.storage.entries import IssuedJob, RunEntry
from ringmaster.storage.store import Store
from tests.storage.test_store import result

CHANGES = [
    "UPDATE results SET winner = 1 - winner WHERE seq = 2",
    "UPDATE results SET detail = detail || ' ' WHERE seq = 2",
    "UPDATE results SET seconds = 'long' WHERE seq = 2",
    "UPDATE results SET plies = 1.5 WHERE seq = 2",
    "UPDATE state SET data = replace(data, '3', '4')",
    "UPDATE state SET seq = 1",
    "UPDATE issues SET ticket = '{}'",
    "UPDATE runs SET settings = '{}'",
    "UPDATE notes SET value = '2'",
    "UPDATE names SET name = 'other' WHERE id = 1",
    "DELETE FROM results WHERE seq = 2",
    "DELETE FROM results WHERE seq = 3",
    "UPDATE counts SET completed = 2",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.status"
    with closing(Store.open(path)) as store:
        store.begin_run(RunEntry(0, 1.0, "1", "source", "hash", {"games": 3}))
        for number in range(3):
            with store.transaction() as transaction:
                transaction.store_result({"n": number}, result(f"g{number}"))
        with store.transaction() as transaction:
            transaction.save_state({"n": 3})
            transaction.issue(IssuedJob("g3", 0, {"n": 3}))
            transaction.set_value("key", 1)
    return path


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        cursor = connection.execute(statement)
        assert cursor.rowcount == 1
        connection.commit()


@pytest.mark.parametrize("statement", CHANGES)
def test_run_refuses_a_changed_row(path: Path, statement: str) -> None:
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match=r"t\.status is damaged .*ringmaster t\.ctl fsck"):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("statement", CHANGES[:-1])
def test_reader_never_shows_a_changed_row(path: Path, statement: str) -> None:
    change(path, statement)

    def read() -> None:
        with closing(Store.open_readonly(path)) as store:
            if "seq = 3" in statement:
                # the last one: only the count shows it
                assert sum(store.counts()) == 3
                raise StoreCorrupt
            list(store.results())
            store.snapshot(), store.issues(), store.runs(), store.read_value("key")

    with pytest.raises(StoreCorrupt):
        read()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pending SET text = x'00'",
        "UPDATE pending SET text = 17",
        "DELETE FROM counts",
        "DROP TABLE pending",
    ],
)
def test_reader_refuses_damage_that_no_checksum_shows(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        row = rows.stored("pending", ("t.games", "g1.pgn", ""))
        connection.execute(rows.insertion("pending"), row)
        connection.execute(statement)

    def read() -> None:
        with closing(Store.open_readonly(path)) as store:
            store.counts()
            list(store.pending())

    with pytest.raises(StoreCorrupt, match=r"t\.status is damaged"):
        read()


def test_damage_is_told_with_its_rows(path: Path) -> None:
    change(path, "UPDATE results SET plies = plies + 1 WHERE seq = 2")
    with closing(sqlite3.connect(path)) as connection:
        assert list(rows.faults(connection)) == ["results: damaged at row 2"]


def _read_all(path: Path) -> None:
    with closing(Store.open_readonly(path)) as store:
        list(store.results())
        store.hosts()
        store.snapshot()
        store.last_run()
        store.read_value("key", dict[str, int])


DEEP = '{"a":' * 50_000 + "1" + "}" * 50_000


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("results", "winner", 7),
        ("results", "plies", 1.5),
        ("results", "faulty", -1),
        ("results", "host", 99),
        ("results", "ticket", DEEP),
        ("results", "usage", "[[1, 2]]"),
        ("state", "data", DEEP),
        ("state", "data", "[]"),
        ("runs", "settings", "[]"),
        ("runs", "settings", DEEP),
        ("notes", "value", '{"a": []}'),
        ("notes", "value", DEEP),
    ],
    ids=lambda value: str(value)[:20],
)
def test_wrong_value_with_a_right_checksum_is_told(
    path: Path, table: str, column: str, value: str | float
) -> None:
    columns = list(rows.TABLES[table])
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchone()
        values = [value if name == column else old for name, old in zip(columns, row, strict=True)]
        connection.execute(
            f"UPDATE {table} SET {column} = ?, checksum = ? "
            f"WHERE rowid = (SELECT min(rowid) FROM {table})",
            (value, rows.checksum(values)),
        )
        connection.commit()
    with pytest.raises(StoreCorrupt):
        _read_all(path)
