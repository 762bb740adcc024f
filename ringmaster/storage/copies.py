"""Copies of a status file: by hand, and each day; and putting one back.

A copy is made by SQLite's backup functions, so it is whole, also during a run.  A status file
and its `-wal` are one database: whoever copies or moves one alone loses results.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ringmaster.errors import StoreError, StoreUnwritable
from ringmaster.model.output_files import make_folder, replacing, writing
from ringmaster.storage import rows

#: Daily copies that are kept.
DAILY = 3
_COMPANIONS = ("", "-wal", "-shm", "-journal")


def folder_of(status: Path) -> Path:
    """Return the folder of a status file's copies."""
    return status.with_suffix(".backups")


def stamp() -> str:
    """Return the present time for a file's name."""
    return time.strftime("%Y%m%d-%H%M%S")


def new_name(folder: Path, name: str) -> Path:
    """Return the path of a `.status` file that does not exist."""
    path, number = folder / f"{name}.status", 1
    while os.path.lexists(path):
        path, number = folder / f"{name}-{number}.status", number + 1
    return path


def write_copy(connection: sqlite3.Connection, target: Path) -> None:
    """Write a connection's data to a file, whole or not at all; make its folder.

    Raises StoreUnwritable.
    """
    with writing(target):
        make_folder(target.parent)
    try:
        with replacing(target, sync=True) as part, closing(sqlite3.connect(part.name)) as copy:
            connection.backup(copy)
            # a copy without -wal can be moved
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise StoreUnwritable(f"cannot write {target}: {error}") from error


@contextmanager
def with_wal_copied(path: Path) -> Iterator[Path]:
    """Copy a status file and its `-wal`, if they exist, to a temporary folder for a while.

    Raises OSError.
    """
    with tempfile.TemporaryDirectory(prefix="ringmaster-") as folder:
        copy = Path(folder) / "copy"
        for companion in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{companion}", f"{copy}{companion}")
        yield copy


class DailyCopies:
    """Writes a copy of a run's status file each day, and deletes older ones.

    connection  the run's
    warn        receives a warning about a copy that cannot be written
    now         seconds since the epoch
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        status: Path,
        warn: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self._folder = folder_of(status)
        self._warn = warn
        self._now = now
        # nothing is lost of a run that begins now
        (is_empty,) = connection.execute("SELECT completed + void = 0 FROM counts").fetchone()
        self._last = self._name() if is_empty else ""

    def _name(self) -> str:
        return time.strftime("daily-%Y%m%d.status", time.localtime(self._now()))

    def write_if_due(self) -> None:
        """Write today's copy unless there is one."""
        today = self._name()
        if today == self._last:
            return
        self._last = today
        if (self._folder / today).exists():
            return
        try:
            write_copy(self._connection, self._folder / today)
            for old in sorted(self._folder.glob("daily-*.status"))[:-DAILY]:
                old.unlink()
        except (OSError, StoreUnwritable) as error:
            self._warn(f"warning: no daily copy of the results: {error}")


def put_in_place(connection: sqlite3.Connection, status: Path, name: str) -> Path | None:
    """Replace a status file by a connection's data; return where the former one, with its
    `-wal`, is now among the copies, None without one.

    The caller holds the lock.  Raises StoreUnwritable.
    """
    new = status.with_name(f".{status.name}.restored")
    write_copy(connection, new)
    former = None
    with writing(status):
        there = [suffix for suffix in _COMPANIONS if os.path.exists(f"{status}{suffix}")]
        if any(os.path.getsize(f"{status}{suffix}") for suffix in there):
            folder = folder_of(status)
            make_folder(folder)
            former = new_name(folder, f"{name}-{stamp()}")
            for suffix in there:
                os.rename(f"{status}{suffix}", f"{former}{suffix}")
        os.replace(new, status)
    return former


def check_copy(path: Path, connection: sqlite3.Connection) -> None:
    """Raise StoreError for a copy with a fault."""
    try:
        fault = next(rows.faults(connection), "")
    except sqlite3.Error as error:
        fault = str(error)
    if fault:
        raise StoreError(
            f"{path} is damaged ({fault}), and was not copied.  In the place of a status file, "
            "fsck saves what is whole of it"
        )
