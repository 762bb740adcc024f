"""Notice that a status file was moved, deleted, replaced or written over from outside.

SQLite does not notice, and would go on in a file without a name, or in two files mixed.  A run
looks each second (`Guard`).  Between two runs, a file and a `-wal` that do not belong together
are found by their generations: each checkpoint begins one.  The `-wal` says which generation it
continues; an earlier copy of the file is of an earlier one.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

from ringmaster.errors import StoreCorrupt, StoreReplaced, StoreUnpaired, StoreUnwritable
from ringmaster.model.output_files import is_gone
from ringmaster.storage.copies import folder_of, new_name, stamp, write_copy


class Guard:
    """Notices changes of a status file that the run did not make.

    Keeps the file open until SQLite has closed it: closing it would end SQLite's locks.

    Raises OSError, sqlite3.Error.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._wal = Path(f"{path}-wal")
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._wal_fd = os.open(self._wal, os.O_RDONLY | os.O_CLOEXEC)
        self._failure: StoreReplaced | None = None
        #: Place and size of the page with the generation.
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'counts'"
        ).fetchone()
        (self._size,) = connection.execute("PRAGMA page_size").fetchone()
        self._place = (page - 1) * self._size
        self.note()

    def note(self) -> None:
        """Remember the file as it is, after a checkpoint."""
        self._seen = self._state()

    def _state(self) -> tuple[int, bytes]:
        """Return the size of the file, and its page with the generation."""
        # `touch` and some network file systems change the time alone
        return os.fstat(self._fd).st_size, os.pread(self._fd, self._size, self._place)

    def check(self, connection: sqlite3.Connection) -> None:
        """Raise StoreReplaced if the file is another one now; first write its data to a file."""
        if self._failure is None:
            change = self._change()
            if change is None:
                return
            self._failure = StoreReplaced(
                f"{self._path}{change} while the run was writing it: the run stops.  "
                f"{_rescued(self._path, connection, is_whole='over' not in change)}"
            )
        raise self._failure

    def _change(self) -> str | None:
        if is_gone(self._path, self._fd):
            return " was moved, deleted or replaced"
        if is_gone(self._wal, self._wal_fd):
            return "-wal was moved, deleted or replaced"
        if self._state() != self._seen:
            return " was written over by another program"
        return None

    def close(self) -> None:
        os.close(self._fd)
        os.close(self._wal_fd)


def _rescued(path: Path, connection: sqlite3.Connection, *, is_whole: bool) -> str:
    """Write the data of a connection to a file beside a path, or to the folder for temporary
    files; return sentences that tell what to do."""
    for folder in (path.parent, Path(tempfile.gettempdir())):
        rescue = new_name(folder, f"{path.stem}.rescued-{stamp()}")
        # a deleted folder stays deleted
        if not folder.is_dir():
            continue
        with suppress(StoreUnwritable):
            write_copy(connection, rescue)
            if is_whole:
                told = f"All recorded results are in {rescue}.  To go on with them:"
            else:
                told = (
                    f"What could still be read is in {rescue}; daily copies are in "
                    f"{folder_of(path)}.  To go on with one of them:"
                )
            return f"{told} ringmaster {path.stem}.ctl restore {rescue}"
    return "Its data could not be written to another file."


def renew(connection: sqlite3.Connection) -> None:
    """Write the `-wal` to the file, and begin a generation if that was done to the end.

    A reader may prevent it.  Raises sqlite3.Error.
    """
    busy, frames, written = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if not busy and frames == written:
        connection.execute("UPDATE counts SET base = generation, generation = random()")


def check_pair(path: Path, alone: sqlite3.Connection, whole: sqlite3.Connection) -> None:
    """Raise StoreUnpaired if a `-wal` does not belong to its file.

    alone  connection to the file without its `-wal`
    whole  connection to both
    """
    (base, generation) = whole.execute("SELECT base, generation FROM counts").fetchone()
    try:
        ((here,),) = alone.execute("SELECT generation FROM counts").fetchall()
    except sqlite3.DatabaseError:
        # a kill during a checkpoint, which SQLite repeats; or no tables yet, as a reader at the
        # start of the run prevented the first checkpoint
        return
    if here not in (base, generation):
        raise StoreUnpaired(
            f"{path} and {path.name}-wal do not belong together: {path.name} may be an older copy "
            f"that was put beside the -wal of a later run.  {_choice(path)}"
        )


def unreadable(path: Path, error: sqlite3.Error) -> StoreCorrupt:
    """Return the error for a file and a `-wal` that cannot be read together."""
    return StoreCorrupt(
        f"{path} and {path.name}-wal do not belong together, or are damaged ({error}).  "
        f"{_choice(path)}; if neither helps: ringmaster {path.stem}.ctl fsck"
    )


def _choice(path: Path) -> str:
    return (
        f"To use the copy, move {path.name}-wal and {path.name}-shm away; to use the later "
        f"results, put back the {path.name} that was there"
    )


def check_alone(path: Path) -> None:
    """Raise StoreUnpaired for a `-wal` without its file, which SQLite would delete."""
    if not size(path) and size(Path(f"{path}-wal")):
        raise StoreUnpaired(
            f"{path} is missing or empty, but {path.name}-wal has results of a run that was "
            f"killed: put back the {path.name} that was there, or move {path.name}-wal and "
            f"{path.name}-shm away to start over"
        )


def size(path: Path) -> int:
    """Return the size of a file in bytes, 0 without one."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
