"""Migrations of a status file: whole or not at all, and never twice."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ringmaster.errors import StoreCorrupt, StoreUnsupported
from ringmaster.storage import copies, migrations
from ringmaster.storage.migrations import APPLICATION_ID, MIGRATIONS, check, check_header, migrate
from ringmaster.storage.paths import UNRELEASED_ID
from ringmaster.storage.store import Store
from tests import recorded


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
    connection.execute("INSERT INTO notes VALUES ('migrated', '1', 0)")


def add_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE more (one)")


NEWER = (*MIGRATIONS, ("hosts of runs", add_column), ("more", add_table))


@contextmanager
def version_with(steps: Sequence[tuple[str, migrations.Migration]]) -> Iterator[None]:
    """Let the block be of another version, with these migrations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", steps)
        yield


def test_empty_file_is_brought_to_the_newest_version(connection: sqlite3.Connection) -> None:
    migrate(connection, "t.status")
    assert check(connection, "t.status") == len(MIGRATIONS)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("SELECT number, name FROM migrations").fetchall() == [
        (number, name) for number, (name, _) in enumerate(MIGRATIONS, 1)
    ]


def test_older_file_gets_missing_tables_and_keeps_its_data(
    connection: sqlite3.Connection,
) -> None:
    migrate(connection, "t.status")
    connection.execute("INSERT INTO notes VALUES ('old', '1', 0)")
    with version_with(NEWER):
        migrate(connection, "t.status")
        assert check(connection, "t.status") == len(NEWER)
    assert connection.execute("SELECT key FROM notes ORDER BY key").fetchall() == [
        ("migrated",),
        ("old",),
    ]
    assert connection.execute("SELECT count(*) FROM migrations").fetchone() == (len(NEWER),)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, sqlite3.OperationalError])
@pytest.mark.parametrize("start", [0, 1])
def test_migration_that_is_cut_off_leaves_the_version_before_it(
    connection: sqlite3.Connection, start: int, error: type[BaseException]
) -> None:
    def half(connection: sqlite3.Connection) -> None:
        MIGRATIONS[0][1](connection) if start == 0 else add_column(connection)
        raise error("cut off")

    with version_with(MIGRATIONS[:start]):
        migrate(connection, "t.status")
    before = dump(connection)
    with (
        version_with((*MIGRATIONS[:start], ("half", half))),
        pytest.raises(error, match="cut off"),
    ):
        migrate(connection, "t.status")
    assert dump(connection) == before
    assert not connection.in_transaction
    with version_with(NEWER):
        migrate(connection, "t.status")
        assert check(connection, "t.status") == len(NEWER)


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
                migrate(two, "t.status")

        one.set_trace_callback(note)
        with version_with(NEWER):
            migrate(one, "t.status")
        assert begun
        assert one.execute("SELECT count(*) FROM migrations").fetchone() == (len(NEWER),)
        assert one.execute("SELECT count(*) FROM notes").fetchone() == (1,)
    finally:
        one.close()
        two.close()


def test_newer_file_is_refused(connection: sqlite3.Connection, tmp_path: Path) -> None:
    with version_with(NEWER):
        migrate(connection, "t.status")
    before = dump(connection)
    newest = len(MIGRATIONS)
    message = rf"t\.status was written by a newer ringmaster \(format {newest + 2}.*up to {newest}"
    with pytest.raises(StoreUnsupported, match=message):
        migrate(connection, "t.status")
    with pytest.raises(StoreUnsupported, match=message):
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


def test_results_of_an_older_format_are_read_and_copied_before_new_ones_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = recorded.write(tmp_path)
    games = [(recorded.ticket("0", i), recorded.won(f"0_{i}", i % 2)) for i in range(3)]
    status = recorded.recorded(control, games).with_suffix(".status")
    before = status.read_bytes()
    newer = (*MIGRATIONS, ("more", add_table))
    monkeypatch.setattr(migrations, "MIGRATIONS", newer)
    with closing(Store.open_readonly(status)) as reader:
        assert [game.result for game in reader.games()] == [result for _, result in games]
    assert status.read_bytes() == before
    with closing(Store.open(status)) as store:
        recorded.add(store, [(recorded.ticket("0", 3), recorded.won("0_3"))])
    with closing(sqlite3.connect(status)) as connection:
        assert check(connection, "t.status") == len(newer)
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (4,)
    (copy,) = copies.folder_of(status).iterdir()
    with closing(sqlite3.connect(copy)) as connection:
        assert check(connection, "t.status") == len(MIGRATIONS)
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (3,)


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
