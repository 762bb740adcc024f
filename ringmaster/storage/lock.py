"""The lock of a competition.

A live run locks the file that must not be written by two runs, the status file: a log may
be renamed or deleted during a run.  The kernel releases the lock when its holder dies.  A
reader takes a shared lock for an instant; a run that starts then waits for it.

The lock is one of an open file description (fcntl(2)).  It does not meet SQLite's own locks,
which are for other bytes and belong to processes, as `flock` would on some file systems.  A
system without such locks has `flock` on the run log (`OutputPaths.locked`).
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import time
from pathlib import Path

from ringmaster.errors import AlreadyRunning, StoreUnwritable
from ringmaster.model.output_files import is_gone, open_regular

#: Seconds to wait for readers, and between two tries.
_PATIENCE = 5.0
_PAUSE = 0.001
#: `struct flock` of fcntl(2): type, whence, start, length, process.
_FLOCK = struct.Struct("hhqqi")
_KINDS = {fcntl.LOCK_EX: fcntl.F_WRLCK, fcntl.LOCK_SH: fcntl.F_RDLCK, fcntl.LOCK_UN: fcntl.F_UNLCK}


class CompetitionLock:
    """The lock of a competition, held inside the `with` block.

    An empty file is made if there is none, and deleted at the end if it is still empty.

    Raises AlreadyRunning when another process holds it, StoreUnwritable when the file
    cannot be created or locked.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._fd: int | None = None

    def __enter__(self) -> CompetitionLock:
        while self._fd is None:
            fd = _open(self._file, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                self._acquire(fd)
                if not is_gone(self._file, fd):
                    self._fd = fd
            finally:
                # `reset` deleted the file before it was locked
                if self._fd is None:
                    os.close(fd)
        return self

    def _acquire(self, fd: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not _try_lock(fd, fcntl.LOCK_EX, self._file):
            if not _try_lock(fd, fcntl.LOCK_SH, self._file) or time.monotonic() > deadline:
                holder = _holder(self._file)
                name = self._file.stem
                raise AlreadyRunning(
                    f"{name} is being run by another ringmaster"
                    + (f" (process {holder})" if holder else "")
                    + f"; wait for it, or end it: ringmaster {name}.ctl stop"
                )
            # only shared locks: a reader looks at it
            _try_lock(fd, fcntl.LOCK_UN, self._file)
            time.sleep(_PAUSE)

    def __exit__(self, *error: object) -> None:
        if self._fd is not None:
            if not is_gone(self._file, self._fd) and not os.fstat(self._fd).st_size:
                self._file.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = None


def is_locked(file: Path) -> bool:
    """Return whether a run is alive.  Raises StoreUnwritable if the file cannot be opened."""
    try:
        fd = _open(file, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(fd, fcntl.LOCK_SH, file)
    finally:
        os.close(fd)


def _open(file: Path, flags: int) -> int:
    """Open the file.  Raises StoreUnwritable; without O_CREAT also FileNotFoundError."""
    doing = "write" if flags & os.O_CREAT else "read"
    try:
        return open_regular(file, flags)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
        raise StoreUnwritable(f"cannot write {file}: there is no folder {file.parent}") from None
    except OSError as error:
        raise StoreUnwritable(f"cannot {doing} {file}: {error.strerror}") from error


def _try_lock(fd: int, kind: int, file: Path) -> bool:
    try:
        if sys.platform == "linux":
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _FLOCK.pack(_KINDS[kind], os.SEEK_SET, 0, 1, 0))
        else:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StoreUnwritable(
            f"cannot lock {file}: {error.strerror}; keep the competition on a file system "
            "that has locks"
        ) from error
    return True


def _holder(file: Path) -> int | None:
    """Return another process that has opened the file as `__enter__` does, if Linux shows it."""
    import psutil  # few runs are refused

    place = os.path.realpath(file)
    for process in psutil.process_iter(["open_files"]):
        for opened in process.info["open_files"] or ():
            is_locked = opened.path == place and getattr(opened, "mode", "") == "a+"
            if is_locked and process.pid != os.getpid():
                return int(process.pid)
    return None
