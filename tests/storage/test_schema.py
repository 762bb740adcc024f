"""The tables of a status file: made whole or not at all, and exactly these."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ringmaster.errors import StoreCorrupt, StoreUnsupported
from ringmaster.storage import schema
from ringmaster.storage.paths import APPLICATION_ID, UNRELEASED_ID
from ringmaster.storage.repair import salvage
from ringmaster.storage.schema import FORMAT, check, create
from ringmaster.storage.store import Store
from tests.storage.test_store import record, result


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "t.status", isolation_level=None)
    yield connection
    connection.close()


def dump(connection: sqlite3.Connection) -> list[str]:
    version = connection.execute("PRAGMA user_version").fetchone()
    return [*connection.iterdump(), str(version)]


def test_empty_file_gets_the_tables(connection: sqlite3.Connection) -> None:
    assert not check(connection, "t.status")
    create(connection)
    assert check(connection, "t.status")
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, sqlite3.OperationalError])
def test_file_whose_making_is_cut_off_stays_empty(
    connection: sqlite3.Connection, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def statements() -> Iterator[str]:
        yield "CREATE TABLE one (x)"
        raise error("cut off")

    before = dump(connection)
    monkeypatch.setattr(schema, "_TABLES", statements())
    with pytest.raises(error, match="cut off"):
        create(connection)
    assert dump(connection) == before
    assert not connection.in_transaction


def test_newer_file_is_refused(connection: sqlite3.Connection) -> None:
    create(connection)
    connection.execute(f"PRAGMA user_version = {FORMAT + 2}")
    message = rf"t\.status was written by a newer ringmaster \(format {FORMAT + 2}.*up to {FORMAT}"
    with pytest.raises(StoreUnsupported, match=message):
        check(connection, "t.status")


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE theirs (x)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"],
)
def test_database_of_another_program_is_refused(
    connection: sqlite3.Connection, statement: str
) -> None:
    connection.execute(statement)
    with pytest.raises(StoreCorrupt, match="is not a status file of ringmaster"):
        check(connection, "t.status")


#: Rows without end, under the name and with the columns of a table.
ENDLESS = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT x AS id, x AS seq, 'a' || x AS name, 1 AS checksum, 1 AS completed, 1 AS void FROM n"
)


@pytest.mark.parametrize("open_store", [Store.open, Store.open_readonly])
@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE names", f"CREATE VIEW names AS {ENDLESS}"],
        ["DROP TABLE results", f"CREATE VIEW results AS {ENDLESS}"],
        ["DROP TABLE counts", f"CREATE VIEW counts AS {ENDLESS}"],
        ["CREATE TRIGGER more AFTER INSERT ON results BEGIN DELETE FROM results; END"],
        ["CREATE INDEX more ON results (abs(plies))"],
        ["ALTER TABLE names RENAME TO others"],
    ],
)
def test_table_that_is_not_as_ringmaster_makes_it_is_refused_and_its_rows_are_left_out(
    tmp_path: Path, open_store: Callable[[Path], Store], statements: list[str]
) -> None:
    status = tmp_path / "t.status"
    with closing(Store.open(status)) as store:
        record(store, result("g1"), result("g2"))
    with closing(sqlite3.connect(status, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    before = status.read_bytes()
    with pytest.raises(StoreCorrupt, match=r"damaged \(\w+ is not as this version makes it\)"):
        open_store(status)
    assert status.read_bytes() == before
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        found = salvage(status, new)
    assert found.results == (0 if "results" in statements[0] and len(statements) > 1 else 2)


def test_record_of_a_game_that_waits_for_its_file_is_never_unpacked(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(1 << 26))
    status = tmp_path / "t.status"
    Store.open(status).close()
    with closing(sqlite3.connect(status, isolation_level=None)) as connection:
        row = (1, "t.games", "g.pgn", bomb, 0)
        connection.execute("INSERT INTO pending VALUES (?, ?, ?, ?, ?)", row)
    with (
        closing(Store.open_readonly(status)) as store,
        pytest.raises(StoreCorrupt, match="damaged"),
    ):
        list(store.pending())


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("open_store", [Store.open, Store.open_readonly])
def test_file_of_an_unreleased_version_is_refused_and_not_touched(
    tmp_path: Path, open_store: Callable[[Path], Store], is_killed: bool
) -> None:
    made, status = tmp_path / "made.status", tmp_path / "t.status"
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        if is_killed:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA application_id = {UNRELEASED_ID}")
        connection.execute("PRAGMA user_version = 6")
        connection.execute("CREATE TABLE counts (completed, void)")
        for suffix in ("", "-wal"):
            if Path(f"{made}{suffix}").exists():
                shutil.copyfile(f"{made}{suffix}", f"{status}{suffix}")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(StoreUnsupported, match=r"by an unreleased version.*t\.ctl reset"):
        open_store(status)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
