"""The tables of a status file, and the check that a file has these and nothing else."""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path
from typing import Final

from ringmaster.errors import StoreCorrupt, StoreUnsupported
from ringmaster.storage.paths import APPLICATION_ID, SQLITE_MAGIC, UNRELEASED_ID, maker

#: The version of the tables.
FORMAT: Final = 1

_HEADER = 100

_TABLES: Final = (
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        started REAL NOT NULL, ended REAL, end_reason TEXT NOT NULL DEFAULT '',
        version TEXT NOT NULL, parallel INTEGER NOT NULL,
        source TEXT NOT NULL, source_hash TEXT NOT NULL, settings TEXT NOT NULL,
        checksum INTEGER NOT NULL)""",
    # `rows.ResultRow`: results that count are unique by game id, void results by
    # (game id, attempt)
    """CREATE TABLE results (
        seq INTEGER PRIMARY KEY,
        game_id TEXT NOT NULL, attempt INTEGER NOT NULL, once INTEGER NOT NULL,
        ticket TEXT NOT NULL, outcome TEXT NOT NULL, winner INTEGER, reason TEXT NOT NULL,
        detail TEXT NOT NULL, forfeit INTEGER NOT NULL, score TEXT NOT NULL, faulty INTEGER,
        plies INTEGER NOT NULL, seconds REAL NOT NULL, usage TEXT NOT NULL,
        finished INTEGER NOT NULL, evaluation TEXT, fingerprint INTEGER,
        repeats INTEGER NOT NULL, host INTEGER, speed REAL, load REAL,
        first_build INTEGER, second_build INTEGER,
        checksum INTEGER NOT NULL,
        UNIQUE (game_id, once))""",
    "CREATE INDEX fingerprints ON results (fingerprint) WHERE fingerprint IS NOT NULL",
    """CREATE TABLE names (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER NOT NULL)""",
    # of the players; `data` is JSON
    """CREATE TABLE builds (
        number INTEGER PRIMARY KEY, data TEXT NOT NULL, checksum INTEGER NOT NULL)""",
    """CREATE TABLE issues (
        number INTEGER PRIMARY KEY,
        game_id TEXT NOT NULL UNIQUE, attempt INTEGER NOT NULL, ticket TEXT NOT NULL,
        checksum INTEGER NOT NULL)""",
    """CREATE TABLE state (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        seq INTEGER NOT NULL, data TEXT NOT NULL, checksum INTEGER NOT NULL)""",
    # `generation` changes after each checkpoint, `base` is the one before: see `guard`
    """CREATE TABLE counts (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        completed INTEGER NOT NULL, void INTEGER NOT NULL,
        base INTEGER NOT NULL, generation INTEGER NOT NULL)""",
    # AUTOINCREMENT: numbers rise, also after rows were deleted
    """CREATE TABLE pending (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        folder TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
        checksum INTEGER NOT NULL)""",
    """CREATE TABLE scores (
        pass INTEGER NOT NULL, shard INTEGER NOT NULL, data BLOB NOT NULL,
        UNIQUE (pass, shard))""",
    "CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL)",
)


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty file.  Raises sqlite3.Error; then the file stays empty."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO counts VALUES (1, 0, 0, random(), random())")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def check_header(path: Path) -> None:
    """Raise StoreCorrupt for a file that is no database; an empty one passes.  Raises OSError."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if header and (len(header) < _HEADER or not header.startswith(SQLITE_MAGIC)):
        if maker(path) == "Gomill":
            raise StoreCorrupt(
                f"{path} is a status file of Gomill; ringmaster cannot read its results; "
                "finish the competition with Gomill, or copy the control file under another "
                "name (or into another folder) and start over"
            )
        raise StoreCorrupt(_foreign(str(path)))


def check(connection: sqlite3.Connection, name: str) -> bool:
    """Return whether a file has tables; an empty one has none.

    Raises StoreUnsupported, and StoreCorrupt for a database of another program.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application == UNRELEASED_ID:
        raise StoreUnsupported(
            f"{name} was written by an unreleased version of ringmaster: finish the competition "
            f"with that version, or delete its results with ringmaster {Path(name).stem}.ctl reset"
        )
    if (version or application or tables) and application != APPLICATION_ID:
        raise StoreCorrupt(_foreign(name))
    if version > FORMAT:
        raise StoreUnsupported(
            f"{name} was written by a newer ringmaster (format {version}, this one reads up to "
            f"{FORMAT}); update ringmaster"
        )
    return bool(version)


def strange_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of tables that are missing, or not text for text as ringmaster makes them.

    A stranger's file had endless views of the tables' names.
    """
    there = set(connection.execute(_SCHEMA))
    return sorted({str(name) for name, *_ in there ^ _own()})


_SCHEMA = "SELECT name, type, sql FROM sqlite_master"


@cache
def _own() -> set[tuple[str, str, str | None]]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    create(connection)
    rows = set(connection.execute(_SCHEMA))
    connection.close()
    return rows


def _foreign(name: str) -> str:
    return (
        f"{name} is not a status file of ringmaster, or is damaged; restore a copy of it, or "
        "move it away (reset deletes it if the log beside it is ringmaster's)"
    )
