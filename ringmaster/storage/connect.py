"""Connections to a status file; errors of SQLite and the system are translated here.

A reader must leave no files.  SQLite makes `-wal` and `-shm` files even for a connection
that only reads; they would belong to the reader, and another user's run could not write
them.  So SQLite's locks are used only where a run left its own files.  A file without a
`-wal` is read as one that nobody changes, and each read checks that it was not changed
(`View`).
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from ringmaster.errors import (
    StoreChanged,
    StoreCorrupt,
    StoreError,
    StoreUnpaired,
    StoreUnwritable,
)
from ringmaster.model.output_files import other_kind
from ringmaster.storage import rows, schema
from ringmaster.storage.copies import with_wal_copied
from ringmaster.storage.guard import check_alone, check_pair, renew, size, unreadable
from ringmaster.storage.lock import is_locked
from ringmaster.storage.pages import wal_fault

#: Seconds to wait for another process that writes.
BUSY_TIMEOUT = 10.0


@contextmanager
def translated(path: Path, doing: str = "write") -> Iterator[None]:
    """Translate errors of SQLite and the system; the block must not run a caller's code."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(path, error, doing) from error
    except UnicodeDecodeError as error:
        # SQLite quotes a damaged file in its own message
        raise StoreCorrupt(_damaged(path, error)) from error
    except OSError as error:
        raise StoreUnwritable(f"cannot {doing} {path}: {error.strerror}") from error


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Translate errors from a row with damaged data."""
    try:
        yield
    except (ValueError, TypeError, LookupError, RecursionError, zlib.error) as error:
        raise StoreCorrupt(_damaged(path, error)) from error


def _damaged(path: Path, error: object) -> str:
    return (
        f"{path} is damaged ({error}).  To repair it: ringmaster {path.stem}.ctl fsck (the "
        "damaged file is kept)"
    )


def translate(path: Path, error: sqlite3.Error, doing: str = "write") -> Exception:
    """Return the error to raise for an error of SQLite.

    A RuntimeError is a mistake of the program, not of the file.
    """
    # their subclasses are mistakes
    if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError, sqlite3.InternalError):
        return RuntimeError(f"{path}: {error}")
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return StoreUnwritable(
            f"cannot write {path}: the disk is full; recorded results are safe, make room and "
            "run again"
        )
    if name.startswith("SQLITE_CANTOPEN") and not path.parent.is_dir():
        return StoreUnwritable(f"cannot {doing} {path}: there is no folder {path.parent}")
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH")):
        return StoreUnwritable(
            f"cannot {doing} {path}: {error}; it and its folder must be yours to {doing}"
        )
    if name.startswith(("SQLITE_IOERR_READ", "SQLITE_IOERR_SHORT_READ")):
        return StoreUnwritable(f"cannot read {path}: {error}; is the disk failing?")
    if name.startswith("SQLITE_IOERR"):
        return StoreUnwritable(f"cannot {doing} {path}: {error}; is the disk full?")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return StoreUnwritable(f"cannot {doing} {path}: another program holds it locked")
    return StoreCorrupt(_damaged(path, error))


@contextmanager
def closed_after_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that may write; the caller holds the lock.  Makes a missing file.

    Raises StoreError; a refused or damaged file is not changed.
    """
    with translated(path):
        view, has_tables = _opened(path, owned=True)
        view.connection.close()
        connection = _open(str(path))
        with closed_after_error(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            # Debian's SQLite writes zeros over deleted data, here a record a game
            connection.execute("PRAGMA secure_delete = OFF")
            # the store makes them, and `guard` must know when
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            if not has_tables:
                schema.create(connection)
            # SQLite opens a write-protected file for reading: this would fail
            renew(connection)
    return connection


def _opened(path: Path, *, owned: bool = False) -> tuple[View, bool]:
    """Open a status file for reading; return whether it has tables, too.

    Every reader and writer comes through here: an older file beside a newer `-wal` was refused
    by a run, and exported as if it were whole.

    owned  the caller holds the lock, and will write: each row is checked, too

    Raises StoreError, sqlite3.Error, OSError.
    """
    check_alone(path)
    if kind := other_kind(path):
        raise StoreUnwritable(f"cannot open {path}: it is {kind}")
    if not path.exists():
        return View(path, _private()), False
    schema.check_header(path)
    wal = size(Path(f"{path}-wal")) > 0
    # one of a living run takes time, and changes
    if wal and (owned or not is_locked(path)):
        before = _signature(path)
        fault = wal_fault(path)
        if fault and _signature(path) == before:
            raise StoreCorrupt(_damaged(path, fault))
    view = View(path, _reader(path)) if wal else View(path, _in_place(path), _identity(path))
    with closed_after_error(view.connection):
        try:
            with view.reading():
                view.connection.execute("BEGIN")
                has_tables = schema.check(view.connection, str(path))
                if has_tables:
                    _check_contents(path, view.connection, wal=wal, owned=owned)
        except StoreCorrupt as error:
            if wal and isinstance(error.__cause__, sqlite3.DatabaseError):
                raise unreadable(path, error.__cause__) from error
            raise
    return view, has_tables


def _check_contents(path: Path, connection: sqlite3.Connection, *, wal: bool, owned: bool) -> None:
    if wal:
        with closing(_in_place(path)) as alone:
            try:
                check_pair(path, alone, connection)
            except StoreUnpaired:
                if not owned and is_locked(path):
                    raise _changing(path) from None
                raise
    if strange := schema.strange_names(connection):
        raise StoreCorrupt(_damaged(path, f"{strange[0]} is not as this version makes it"))
    if owned:
        for fault in rows.faults(connection):
            raise StoreCorrupt(_damaged(path, fault))


@dataclass(eq=False)
class View:
    """A connection that shows one state of the data until it is closed.

    It writes nothing, whether a run is alive, was killed, or has ended.

    at_rest  identity of a file that is read without SQLite's locks.  It changes when a
             later run writes megabytes or ends.
    """

    _path: Path
    connection: sqlite3.Connection
    _at_rest: tuple[int, ...] | None = None

    def check(self) -> None:
        """Raise StoreChanged if reads may have mixed several states."""
        if self._at_rest is not None and _identity(self._path) != self._at_rest:
            raise _changing(self._path)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Check after the reads of the block, also after an error.

        A file that changes during a read looks damaged.  Raises StoreChanged.
        """
        try:
            with translated(self._path, "read"):
                yield
        except StoreError:
            self.check()
            raise
        self.check()

    def detach(self) -> None:
        """Replace the connection by a private copy, before a long read.

        Raises StoreChanged.
        """
        if self._at_rest is None:
            return
        copy = _private()
        with closed_after_error(copy), self.reading():
            self.connection.backup(copy)
        copy.execute("PRAGMA query_only = ON")
        self.connection.close()
        self.connection, self._at_rest = copy, None


def connect_readonly(path: Path, *, lasting: bool = False) -> View:
    """Return a view of the data, a private copy if it shall be `lasting`.

    An empty file is read as one with empty tables.  Raises StoreError; StoreChanged if
    another try may succeed.
    """
    with translated(path, "read"):
        view, has_tables = _opened(path)
        with closed_after_error(view.connection):
            if not path.exists():
                raise StoreError(f"there is no status file {path}")
            if not has_tables:
                view.connection.close()
                view = View(path, _private())
                schema.create(view.connection)
            view.connection.execute("PRAGMA query_only = ON")
            if lasting:
                view.detach()
    return view


def _reader(path: Path) -> sqlite3.Connection:
    if size(Path(f"{path}-wal")) and Path(f"{path}-shm").exists():
        return _open(f"file:{quote(str(path))}?mode=ro")
    return retry_read(lambda: _copied(path))


def _copied(path: Path) -> sqlite3.Connection:
    """Return a private copy of the file and of a `-wal` without its `-shm`.

    Raises StoreChanged.
    """
    before = _signature(path)
    connection = _private()
    try:
        with with_wal_copied(path) as copy, closing(_open(str(copy))) as source:
            source.backup(connection)
    except (sqlite3.Error, OSError):
        if _signature(path) == before:
            connection.close()
            raise
    if _signature(path) != before:
        connection.close()
        raise _changing(path)
    return connection


def _in_place(path: Path) -> sqlite3.Connection:
    return _open(f"file:{quote(str(path))}?mode=ro&immutable=1")


def _changing(path: Path) -> StoreChanged:
    return StoreChanged(f"cannot read {path}: it is changing all the time; try again")


def _private() -> sqlite3.Connection:
    """Return an empty database in memory, then in a nameless file: a million games need 260 MB."""
    return _open("")


def _open(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        name,
        uri=name.startswith("file:"),
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        cached_statements=256,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _signature(path: Path) -> tuple[tuple[int, ...], ...]:
    """Return values that change when a file or its `-wal` is written."""
    return _identity(path), _identity(Path(f"{path}-wal"))


def _identity(path: Path) -> tuple[int, ...]:
    """Return values that change when a file is written or replaced."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return (0,)
    return 1, there.st_ino, there.st_size, there.st_mtime_ns


T = TypeVar("T")

#: Reads before a file is reported to change all the time.
TRIES = 10


def retry_read(read: Callable[[], T]) -> T:
    """Call `read` until it raises no StoreChanged, at most ten times; return its result.

    A run that begins or ends during the read changes the status file.
    """
    for _ in range(TRIES - 1):
        try:
            return read()
        except StoreChanged:
            continue
    return read()
