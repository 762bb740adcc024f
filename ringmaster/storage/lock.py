"""The lock that keeps two runs of one competition apart.

It is an exclusive `flock` on the event log, which is there from the first run
on and is not the control file (editors replace that).  The kernel releases it
when its holder dies, so it can never be stale; the descriptor is not inherited.
Whoever only looks takes a shared lock for an instant, and a run that starts in
that instant waits for it.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from ringmaster.errors import AlreadyRunning, StoreUnwritable

#: Seconds to wait for others that only look, and between two tries.
_PATIENCE = 5.0
_PAUSE = 0.001


class CompetitionLock:
    """Held inside the `with` block.

    Raises AlreadyRunning when another process holds it, StoreUnwritable when
    the log cannot be created or locked.
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
                # not the log any more: deleted (reset) before it was locked
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
                    + "; wait for it, or end it with the stop action"
                )
            # only shared locks: somebody looks
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
    """Whether a run is alive.  Raises StoreUnwritable when that cannot be known."""
    try:
        fd = _open(log, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(fd, fcntl.LOCK_SH, log)
    finally:
        os.close(fd)


def _open(log: Path, flags: int) -> int:
    """Raises FileNotFoundError only without O_CREAT."""
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
            f"cannot lock {log}: {error.strerror}; keep the event on a file system that has locks"
        ) from error
    return True


def _is_still(log: Path, fd: int) -> bool:
    try:
        there = os.stat(log)
    except OSError:
        # opening it again says what is the matter
        return False
    here = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _holder(fd: int) -> int | None:
    """Return the process that holds the exclusive lock, where Linux tells."""
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
