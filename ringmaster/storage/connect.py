"""Connections to a status file, and the one seam where the errors of SQLite
and of the system become ringmaster's.

A reader must leave no trace: SQLite makes `-wal` and `-shm` files even for a
connection that only reads, they would belong to whoever looked, and the next
run of another user could not write them.  So SQLite keeps a view only where a run
has left its own files; a file without a `-wal` is read as one that nobody changes,
and whether somebody has is looked at after each read (`View`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from ringmaster.errors import StoreChanged, StoreCorrupt, StoreError, StoreUnwritable
from ringmaster.storage.migrations import MIGRATIONS, check, check_header, migrate

#: Seconds to wait for another process that writes.
BUSY_TIMEOUT = 10.0
#: Times a file is copied again because it changed meanwhile.
_COPIES = 10


@contextmanager
def translated(path: Path, doing: str = "write") -> Iterator[None]:
    """Translate errors of SQLite and the system.

    It must never enclose code of a caller, whose errors are none of ours.
    """
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
    """Translate what comes of a row that does not hold what was stored."""
    try:
        yield
    except (ValueError, TypeError, KeyError, zlib.error) as error:
        raise StoreCorrupt(_damaged(path, error)) from error


def _damaged(path: Path, error: Exception) -> str:
    return f"{path} is damaged ({error}); put a copy of it back, or use reset to begin anew"


def translate(path: Path, error: sqlite3.Error, doing: str = "write") -> Exception:
    """Return what an error of SQLite means for the status file.

    A RuntimeError is a mistake of the program, not of the file.
    """
    if isinstance(
        error,
        sqlite3.ProgrammingError
        | sqlite3.InterfaceError
        | sqlite3.DataError
        | sqlite3.IntegrityError
        | sqlite3.NotSupportedError,
    ):
        return RuntimeError(f"{path}: {error}")
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return StoreUnwritable(
            f"cannot write {path}: the disk is full; what was recorded is kept, make room and "
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


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection that may write; the file is made, or brought up to
    date, if need be.

    Raises StoreError; a file that is refused is not touched.
    """
    if path.is_dir():
        raise StoreUnwritable(f"cannot write {path}: it is a folder")
    with translated(path):
        check_header(path)
        if _size(_beside(path)[0]):
            # the version may still be in the `-wal`, which the last to close
            # a connection that may write moves into the file
            with closing(_reader(path)) as reader:
                check(reader, str(path))
        connection = _open(str(path))
        try:
            check(connection, str(path))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            # Debian's SQLite writes zeros over what it deletes, here a record a game
            connection.execute("PRAGMA secure_delete = OFF")
            # a checkpoint forces the disk: fewer of them, of at most 16 MiB
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            migrate(connection, str(path))
            # SQLite opens a file that cannot be written for reading: find out now
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE counts SET void = void")
            connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
    return connection


class View:
    """A connection that shows one state of the data until it is closed; it writes
    nothing beside the file, whether a run is alive, was killed, or has ended.

    at_rest  of a file that is read in place without SQLite's locks: what tells that
             it has been written.  That takes a run that begins after this view and
             writes megabytes, or ends, before it is closed.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, at_rest: tuple[int, ...] | None = None
    ) -> None:
        self.connection = connection
        self._path = path
        self._at_rest = at_rest

    def check(self) -> None:
        """Raise StoreChanged if what has been read may be of several states."""
        if self._at_rest is not None and _identity(self._path) != self._at_rest:
            raise _changing(self._path)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Check after what is read in the block, also if it fails: what changes while it
        is read looks damaged.  Raises StoreChanged."""
        try:
            with translated(self._path, "read"):
                yield
        except StoreError:
            self.check()
            raise
        self.check()

    def detach(self) -> None:
        """Go over to a private copy: what takes long to read may be written meanwhile.

        Raises StoreChanged if it has been.
        """
        if self._at_rest is None:
            return
        copy = self.copied()
        copy.execute("PRAGMA query_only = ON")
        self.connection.close()
        self.connection, self._at_rest = copy, None

    def copied(self) -> sqlite3.Connection:
        """Return a private copy of the data.  Raises StoreChanged."""
        with self.reading():
            copy = _private_copy(self.connection)
            try:
                self.check()
            except BaseException:
                copy.close()
                raise
        return copy


def connect_readonly(path: Path) -> View:
    """Return a view of the data.

    A file that is empty or of an older format is read as `migrate` would make
    it.  Raises StoreError; StoreChanged where reading it again may do.
    """
    with translated(path, "read"):
        if path.is_dir():
            raise StoreError(f"there is no status file {path}: it is a folder")
        if not path.is_file():
            raise StoreError(f"there is no status file {path}")
        check_header(path)
        view = _view(path)
        try:
            with view.reading():
                view.connection.execute("BEGIN")
                version = check(view.connection, str(path))
            if version < len(MIGRATIONS):
                newer = view.copied()
                view.connection.close()
                view = View(path, newer)
                migrate(newer, str(path))
            view.connection.execute("PRAGMA query_only = ON")
        except BaseException:
            view.connection.close()
            raise
    return view


def _view(path: Path) -> View:
    at_rest = _identity(path)
    if _size(_beside(path)[0]):
        return View(path, _reader(path))
    return View(path, _in_place(path), at_rest)


def _reader(path: Path) -> sqlite3.Connection:
    wal, shm = _beside(path)
    if _size(wal) and shm.exists():
        return _open(f"file:{quote(str(path))}?mode=ro")
    return _copied(path)


def _copied(path: Path) -> sqlite3.Connection:
    """Return a private copy of the data: of the file alone, or of the file and a
    `-wal` without the `-shm` that belongs to it."""
    for _ in range(_COPIES):
        before = _signature(path)
        try:
            connection = _copied_once(path)
        except (sqlite3.Error, OSError):
            if _signature(path) == before:
                raise
            continue
        if _signature(path) == before:
            return connection
        connection.close()
    raise _changing(path)


def _copied_once(path: Path) -> sqlite3.Connection:
    wal, _ = _beside(path)
    if not _size(wal):
        with closing(_in_place(path)) as source:
            return _private_copy(source)
    with tempfile.TemporaryDirectory(prefix="ringmaster-") as folder:
        copy = Path(folder) / "copy"
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, f"{copy}-wal")
        with closing(_open(str(copy))) as source:
            return _private_copy(source)


def _in_place(path: Path) -> sqlite3.Connection:
    return _open(f"file:{quote(str(path))}?mode=ro&immutable=1")


def _changing(path: Path) -> StoreChanged:
    return StoreChanged(f"cannot read {path}: it is changing all the time; try again")


def _private_copy(source: sqlite3.Connection) -> sqlite3.Connection:
    # the empty name: in memory while it is small, then in a nameless file that
    # goes with the connection; a million games take 260 MB
    copy = _open("")
    try:
        source.backup(copy)
    except BaseException:
        copy.close()
        raise
    return copy


def _open(name: str) -> sqlite3.Connection:
    return sqlite3.connect(
        name,
        uri=name.startswith("file:"),
        timeout=BUSY_TIMEOUT,
        isolation_level=None,
        cached_statements=256,
    )


def _beside(path: Path) -> tuple[Path, Path]:
    return Path(f"{path}-wal"), Path(f"{path}-shm")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _signature(path: Path) -> tuple[tuple[int, ...], ...]:
    """What differs when a file or its `-wal` has been written."""
    return _identity(path), _identity(_beside(path)[0])


def _identity(path: Path) -> tuple[int, ...]:
    """What differs when a file has been written, or another put in its place."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return (0,)
    return 1, there.st_ino, there.st_size, there.st_mtime_ns
