"""The lock of a competition.

The run log is locked by an exclusive `flock` while a run is alive: two runs of one
competition exclude each other.  The kernel releases the lock when its holder dies.
Editors replace the control file, but not the log.  A reader takes a shared lock for an
instant; a run that starts then waits for it.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from ringmaster.errors import AlreadyRunning, StoreUnwritable

#: Seconds to wait for readers, and between two tries.
_PATIENCE = 5.0
_PAUSE = 0.001


class CompetitionLock:
    """The lock of a competition, held inside the `with` block.

    Raises AlreadyRunning when another process holds it, StoreUnwritable when the log
    cannot be created or locked.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._fd: int | None = None

    def __enter__(self) -> CompetitionLock:
        while self._fd is None:
            fd = _open(self._log, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                self._acquire(fd)
                if _is_still(self._log, fd):
                    self._fd = fd
            finally:
                # `reset` deleted the log before it was locked
                if self._fd is None:
                    os.close(fd)
        return self

    def _acquire(self, fd: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not _try_lock(fd, fcntl.LOCK_EX, self._log):
            if not _try_lock(fd, fcntl.LOCK_SH, self._log) or time.monotonic() > deadline:
                holder = _holder(fd)
                raise AlreadyRunning(
                    f"{self._log.stem} is being run by another ringmaster"
                    + (f" (process {holder})" if holder else "")
                    + f"; wait for it, or end it: ringmaster {self._log.stem}.ctl stop"
                )
            # only shared locks: a reader looks at it
            fcntl.flock(fd, fcntl.LOCK_UN)
            time.sleep(_PAUSE)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def is_locked(log: Path) -> bool:
    """Whether a run is alive.  Raises StoreUnwritable when the log cannot be opened."""
    try:
        fd = _open(log, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(fd, fcntl.LOCK_SH, log)
    finally:
        os.close(fd)


def _open(log: Path, flags: int) -> int:
    """Open the log.  Raises StoreUnwritable; without O_CREAT also FileNotFoundError."""
    try:
        return os.open(log, flags | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
        raise StoreUnwritable(f"cannot write {log}: there is no folder {log.parent}") from None
    except OSError as error:
        doing = "write" if flags & os.O_CREAT else "read"
        raise StoreUnwritable(f"cannot {doing} {log}: {error.strerror}") from error


def _try_lock(fd: int, kind: int, log: Path) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StoreUnwritable(
            f"cannot lock {log}: {error.strerror}; keep the competition on a file system "
            "that has locks"
        ) from error
    return True


def _is_still(log: Path, fd: int) -> bool:
    try:
        there = os.stat(log)
    except OSError:
        return False  # opening it again raises the error
    here = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _holder(fd: int) -> int | None:
    """Return the process that holds the exclusive lock, if Linux lists it."""
    here = os.fstat(fd)
    file = f"{os.major(here.st_dev):02x}:{os.minor(here.st_dev):02x}:{here.st_ino}"
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    for line in lines:
        # "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF", proc(5)
        words = line.split()
        if words[1:2] == ["FLOCK"] and words[3:4] == ["WRITE"] and words[5:6] == [file]:
            # 0 or -1: in another container
            return int(words[4]) if words[4].isdecimal() and words[4] != "0" else None
    return None
