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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ringmaster.errors import AlreadyRunning, StoreUnwritable
from ringmaster.model.output_files import is_gone, open_regular

#: Seconds to wait for readers, and between two tries.
_PATIENCE = 5.0
_PAUSE = 0.001
#: `struct flock` of fcntl(2): type, whence, start, length, process.
_FLOCK = struct.Struct("hhqqi")
_KINDS = {fcntl.LOCK_EX: fcntl.F_WRLCK, fcntl.LOCK_SH: fcntl.F_RDLCK}


@contextmanager
def competition_lock(file: Path) -> Iterator[None]:
    """Hold the lock of a competition inside the `with` block.

    An empty file is made if there is none, and deleted at the end if it is still empty.

    Raises AlreadyRunning when another process holds it, StoreUnwritable when the file
    cannot be created or locked.
    """
    fd = _locked(file)
    try:
        yield
    finally:
        if not is_gone(file, fd) and not os.fstat(fd).st_size:
            file.unlink(missing_ok=True)
        os.close(fd)


def _locked(file: Path) -> int:
    """Return the descriptor of the locked file."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        fd = _open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        with ExitStack() as stack:
            stack.callback(os.close, fd)
            if not _try_lock(fd, fcntl.LOCK_EX, file):
                if not _try_lock(fd, fcntl.LOCK_SH, file) or time.monotonic() > deadline:
                    name, holder = file.stem, _holder(file)
                    raise AlreadyRunning(
                        f"{name} is being run by another ringmaster"
                        + (f" (process {holder})" if holder else "")
                        + f"; wait for it, or end it: ringmaster {name}.ctl stop"
                    )
            elif not is_gone(file, fd):
                stack.pop_all()
                return fd
        # a reader looks at the file, or `reset` has deleted it
        time.sleep(_PAUSE)


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
    """Return another process that has opened the file as `_locked` does, if Linux shows it."""
    import psutil  # few runs are refused

    place = os.path.realpath(file)
    for process in psutil.process_iter(["open_files"]):
        for opened in process.info["open_files"] or ():
            is_locked = opened.path == place and getattr(opened, "mode", "") == "a+"
            if is_locked and process.pid != os.getpid():
                return int(process.pid)
    return None
