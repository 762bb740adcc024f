"""Migrations of a status file: whole or not at all, and never twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ringmaster.errors import StoreCorrupt, StoreTooNew
from ringmaster.storage import migrations
from ringmaster.storage.migrations import APPLICATION_ID, MIGRATIONS, check, check_header, migrate
from ringmaster.storage.store import Store
from tests import recorded
from tests.program import PLAYOFF, ringmaster, shown, write_control_file


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "t.status", isolation_level=None)
    yield connection
    connection.close()


def dump(connection: sqlite3.Connection) -> list[str]:
    version = connection.execute("PRAGMA user_version").fetchone()
    return [*connection.iterdump(), str(version)]


def add_column(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE runs ADD COLUMN host TEXT NOT NULL DEFAULT ''")
    connection.execute("INSERT INTO notes (key, value) VALUES ('migrated', '1')")


def add_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE more (one)")


NEWER = (*MIGRATIONS, ("hosts of runs", add_column), ("more", add_table))


def test_empty_file_is_brought_to_the_newest_version(connection: sqlite3.Connection) -> None:
    migrate(connection, "t.status")
    assert check(connection, "t.status") == len(MIGRATIONS)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("SELECT number, name FROM migrations").fetchall() == [
        (number, name) for number, (name, _) in enumerate(MIGRATIONS, 1)
    ]


def test_migrating_twice_does_nothing(connection: sqlite3.Connection) -> None:
    migrate(connection, "t.status")
    before = dump(connection)
    migrate(connection, "t.status")
    assert dump(connection) == before


def test_older_file_gets_missing_tables_and_keeps_its_data(
    connection: sqlite3.Connection,
) -> None:
    migrate(connection, "t.status")
    connection.execute("INSERT INTO notes (key, value) VALUES ('old', '1')")
    migrate(connection, "t.status", NEWER)
    assert check(connection, "t.status", len(NEWER)) == len(NEWER)
    assert connection.execute("SELECT key FROM notes ORDER BY key").fetchall() == [
        ("migrated",),
        ("old",),
    ]
    assert connection.execute("SELECT count(*) FROM migrations").fetchone() == (len(NEWER),)


def made_older(status: Path, version: int) -> None:
    """Replace a status file by one of an earlier format with the same rows."""
    older = status.with_suffix(".older")
    with closing(sqlite3.connect(status)) as rows, closing(sqlite3.connect(older)) as connection:
        connection.isolation_level = None
        migrate(connection, "older", MIGRATIONS[:version])
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (table,) in tables:
            if table == "migrations":
                continue
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            connection.execute(f"DELETE FROM {table}")
            connection.executemany(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})",
                rows.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall(),
            )
        assert check(connection, "older") == version
    older.replace(status)


VERSIONS = range(1, len(MIGRATIONS))


@pytest.mark.parametrize("version", VERSIONS)
def test_results_of_each_earlier_format_are_read_and_new_ones_added(
    tmp_path: Path, version: int
) -> None:
    control = recorded.write(tmp_path)
    games = [(recorded.ticket("0", i), recorded.won(f"0_{i}", i % 2)) for i in range(3)]
    recorded.recorded(control, games)
    status = control.with_suffix(".status")
    made_older(status, version)
    before = status.read_bytes()
    wanted = [result for _, result in games]
    reader = Store.open_readonly(status)
    assert [game.result for game in reader.games()] == wanted
    assert (reader.counts(), reader.runs()) == ((3, 0), 1)
    reader.close()
    assert status.read_bytes() == before
    store = Store.open(status)
    more = recorded.won("0_3")
    recorded.add(store, [(recorded.ticket("0", 3), more)])
    store.close()
    reader = Store.open_readonly(status)
    assert [game.result for game in reader.games()] == [*wanted, more]
    reader.close()


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("version", VERSIONS)
def test_run_goes_on_from_each_earlier_format(tmp_path: Path, version: int) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 10)
    assert ringmaster(control, "-q", "-g", "11").returncode == 0
    made_older(control.with_suffix(".status"), version)
    assert shown(control)["games"]["completed"] == 11
    done = ringmaster(control, "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert shown(control)["games"]["completed"] == 30


def test_games_of_a_file_without_fingerprints_are_read_and_new_ones_compared(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.status"
    old = sqlite3.connect(path, isolation_level=None)
    migrate(old, "t.status", MIGRATIONS[:3])
    old.execute("INSERT INTO names VALUES (1, 'engine')")
    old.execute("UPDATE counts SET completed = 1")
    old.execute(
        "INSERT INTO results (game_id, attempt, once, ticket, outcome, reason, detail, forfeit, "
        "score, plies, seconds, usage, finished) VALUES ('0', 0, -1, '{}', 'draw', 'mate', '', 0, "
        "'0', 9, 1.5, '[[1,0.5,9,1.0,1.0,1],[1,0.5,9,1.0,1.0,1]]', 5)"
    )
    old.close()
    reader = Store.open_readonly(path)
    (before,) = reader.games()
    reader.close()
    assert (before.result.fingerprint, before.result.repeats) == (None, False)
    store = Store.open(path)
    with store.transaction() as transaction:
        assert not transaction.has_game(3)
        again = msgspec.structs.replace(before.result, game_id="1", fingerprint=3)
        transaction.store_result({}, again)
        assert transaction.has_game(3)
    assert [game.result for game in store.games()] == [before.result, again]
    store.close()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, sqlite3.OperationalError])
@pytest.mark.parametrize("start", [0, 1])
def test_migration_that_is_cut_off_leaves_the_version_before_it(
    connection: sqlite3.Connection, start: int, error: type[BaseException]
) -> None:
    def half(connection: sqlite3.Connection) -> None:
        MIGRATIONS[0][1](connection) if start == 0 else add_column(connection)
        raise error("cut off")

    migrate(connection, "t.status", MIGRATIONS[:start])
    before = dump(connection)
    with pytest.raises(error, match="cut off"):
        migrate(connection, "t.status", (*MIGRATIONS[:start], ("half", half)))
    assert dump(connection) == before
    assert not connection.in_transaction
    migrate(connection, "t.status", NEWER)
    assert check(connection, "t.status", len(NEWER)) == len(NEWER)


def test_migrations_before_one_that_fails_stay(connection: sqlite3.Connection) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        migrate(connection, "t.status", (*NEWER, ("fails", fail)))
    assert check(connection, "t.status", len(NEWER)) == len(NEWER)


def test_disk_that_fills_during_a_migration_leaves_the_version_before_it(
    connection: sqlite3.Connection,
) -> None:
    connection.execute("PRAGMA max_page_count = 3")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        migrate(connection, "t.status")
    assert check(connection, "t.status") == 0


def test_two_programs_that_migrate_at_once_do_it_once(tmp_path: Path) -> None:
    path = tmp_path / "t.status"
    one = sqlite3.connect(path, isolation_level=None)
    two = sqlite3.connect(path, isolation_level=None)
    try:
        begun: list[str] = []

        def note(statement: str) -> None:
            # the other one gets in between the first look and the lock
            if statement.startswith("BEGIN") and not begun:
                begun.append(statement)
                migrate(two, "t.status", NEWER)

        one.set_trace_callback(note)
        migrate(one, "t.status", NEWER)
        assert begun
        assert one.execute("SELECT count(*) FROM migrations").fetchone() == (len(NEWER),)
        assert one.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    finally:
        one.close()
        two.close()


def test_newer_file_is_refused(connection: sqlite3.Connection, tmp_path: Path) -> None:
    migrate(connection, "t.status", NEWER)
    before = dump(connection)
    newest = len(MIGRATIONS)
    message = rf"t\.status was written by a newer ringmaster \(format {newest + 2}.*up to {newest}"
    with pytest.raises(StoreTooNew, match=message):
        migrate(connection, "t.status")
    with pytest.raises(StoreTooNew, match=message):
        check_header(tmp_path / "t.status")
    assert dump(connection) == before


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE theirs (x)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"],
)
def test_database_of_another_program_is_refused(
    connection: sqlite3.Connection, statement: str
) -> None:
    connection.execute(statement)
    before = dump(connection)
    with pytest.raises(StoreCorrupt, match="is not a status file of ringmaster"):
        migrate(connection, "t.status")
    assert dump(connection) == before


def test_migrations_that_have_been_released_are_not_changed() -> None:
    # add to the end of migrations.MIGRATIONS, never edit
    assert [name for name, _ in migrations.MIGRATIONS][:1] == ["first tables"]
