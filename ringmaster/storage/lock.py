"""The lock that keeps two runs of one competition apart.

It is an exclusive `flock` on the event log, which is there from the first run
on and is not the control file (editors replace that).  The kernel releases it
when its holder dies, so it can never be stale; the descriptor is not inherited.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from ringmaster.errors import AlreadyRunning, StoreUnwritable


class CompetitionLock:
    """Held inside the `with` block.

    Raises AlreadyRunning when another process holds it, StoreUnwritable when
    the log cannot be created.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._fd: int | None = None

    def __enter__(self) -> CompetitionLock:
        while True:
            fd = _open(self._log, create=True)
            assert fd is not None
            if not _try_lock(fd):
                os.close(fd)
                raise AlreadyRunning(
                    f"{self._log.stem} is being run by another ringmaster; "
                    "wait for it, or end it with the stop action"
                )
            if _is_still(self._log, fd):
                self._fd = fd
                return self
            # deleted (reset) between opening and locking
            os.close(fd)

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
    """Whether a run is alive."""
    fd = _open(log, create=False)
    if fd is None:
        return False
    try:
        return not _try_lock(fd)
    finally:
        os.close(fd)


def _open(log: Path, *, create: bool) -> int | None:
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    try:
        return os.open(log, flags, 0o666)
    except FileNotFoundError:
        if not create:
            return None
        raise StoreUnwritable(f"cannot write {log}: no such folder") from None
    except OSError as error:
        raise StoreUnwritable(f"cannot write {log}: {error.strerror}") from error


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(log: Path, fd: int) -> bool:
    try:
        there = os.stat(log)
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
