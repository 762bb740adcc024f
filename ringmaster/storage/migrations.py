"""The schema of a status file, as numbered migrations.

Each migration and its record are one transaction: a file is at one version or
at the next, never between.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from ringmaster.errors import StoreCorrupt, StoreTooNew

#: Marks a SQLite file as ringmaster's ("RMST").
APPLICATION_ID = 0x524D5354

Migration = Callable[[sqlite3.Connection], None]


def _first(connection: sqlite3.Connection) -> None:
    for statement in (
        f"PRAGMA application_id = {APPLICATION_ID}",
        """CREATE TABLE runs (
            number INTEGER PRIMARY KEY,
            started REAL NOT NULL, ended REAL, end_reason TEXT NOT NULL DEFAULT '',
            version TEXT NOT NULL, parallel INTEGER NOT NULL,
            source TEXT NOT NULL, source_hash TEXT NOT NULL, settings TEXT NOT NULL)""",
        # `attempt` is -1 in `once` for results that count, so that they are
        # unique by game id and void ones by (game id, attempt)
        """CREATE TABLE results (
            seq INTEGER PRIMARY KEY,
            game_id TEXT NOT NULL, attempt INTEGER NOT NULL, once INTEGER NOT NULL,
            ticket TEXT NOT NULL, outcome TEXT NOT NULL, winner INTEGER, reason TEXT NOT NULL,
            detail TEXT NOT NULL, forfeit INTEGER NOT NULL, score TEXT NOT NULL, faulty INTEGER,
            plies INTEGER NOT NULL, seconds REAL NOT NULL, usage TEXT NOT NULL,
            UNIQUE (game_id, once))""",
        """CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)""",
        """CREATE TABLE issues (
            number INTEGER PRIMARY KEY,
            game_id TEXT NOT NULL UNIQUE, attempt INTEGER NOT NULL, ticket TEXT NOT NULL)""",
        "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER, data TEXT)",
        """CREATE TABLE counts (one INTEGER PRIMARY KEY CHECK (one = 1),
            completed INTEGER NOT NULL, void INTEGER NOT NULL)""",
        "INSERT INTO counts VALUES (1, 0, 0)",
        """CREATE TABLE pending (
            game_id TEXT NOT NULL, attempt INTEGER NOT NULL,
            folder TEXT NOT NULL, name TEXT NOT NULL, text BLOB NOT NULL,
            PRIMARY KEY (game_id, attempt))""",
        "CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ):
        connection.execute(statement)


#: Migration n (from 1) brings a file from version n - 1 to n; only ever added to.
MIGRATIONS: tuple[tuple[str, Migration], ...] = (("first tables", _first),)


def check(connection: sqlite3.Connection, name: str) -> int:
    """Return the version of a file, 0 for an empty one.

    Raises StoreTooNew, and StoreCorrupt for a database of another program.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (version or tables) and application != APPLICATION_ID:
        raise StoreCorrupt(f"{name} is not a status file of ringmaster; move it away")
    if version > len(MIGRATIONS):
        raise StoreTooNew(
            f"{name} was written by a newer ringmaster (format {version}, this one reads up to "
            f"{len(MIGRATIONS)}); update ringmaster"
        )
    return int(version)


def migrate(
    connection: sqlite3.Connection,
    name: str,
    migrations: tuple[tuple[str, Migration], ...] = MIGRATIONS,
) -> None:
    """Bring a file to the newest version; does nothing when it is there."""
    version = check(connection, name)
    for number, (title, apply) in enumerate(migrations, 1):
        if number <= version:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            # another process may have been faster
            if connection.execute("PRAGMA user_version").fetchone()[0] >= number:
                connection.execute("ROLLBACK")
                continue
            apply(connection)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, title TEXT, "
                "applied TEXT)"
            )
            connection.execute(
                "INSERT INTO migrations VALUES (?, ?, datetime('now'))", (number, title)
            )
            connection.execute(f"PRAGMA user_version = {number}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
