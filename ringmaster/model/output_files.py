"""Opening of output files.

A folder that was unpacked may hold links: `t.report` led to a user's `.bash_aliases`, which a
stranger's report was written to.  So no link is followed, and a new file takes a name whole.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ringmaster.errors import StoreUnwritable

_KINDS = (
    (stat.S_ISLNK, "a symbolic link, which is not followed"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
)


def other_kind(path: Path | str) -> str:
    """Return what is there in the place of a regular file, "" for one, or for nothing."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return ""
    if stat.S_ISREG(mode):
        return ""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "no regular file")


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Turn an OSError into a StoreUnwritable that names the final file."""
    try:
        yield
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def replacing(path: Path | str, *, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that takes the name `path`, whole, at the end of the block.

    After an error nothing is left of it.  Of two processes that write one file, the later one
    has the last word.

    sync  force it to the disk before

    Raises StoreUnwritable, also for a link, a folder or a device of this name.
    """
    part = f"{path}.new~"
    with writing(path):
        _refuse(path)
        with suppress(FileNotFoundError):
            # a kill left it
            os.unlink(part)
        with open(part, "x+b") as file:
            try:
                yield file
                file.flush()
                with suppress(FileNotFoundError):
                    os.fchmod(file.fileno(), stat.S_IMODE(os.lstat(path).st_mode))
                if sync:
                    os.fsync(file.fileno())
                if not is_gone(part, file.fileno()):
                    os.replace(part, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part)
                raise


def _refuse(path: Path | str) -> None:
    if kind := other_kind(path):
        raise OSError(errno.EEXIST, f"it is {kind}")


def open_regular(path: Path | str, flags: int) -> int:
    """Open a file, and follow no link.  Raises OSError, also for a folder or a FIFO."""
    _refuse(path)
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)


def make_folder(path: Path | str) -> None:
    """Make a folder unless it is there.  Raises OSError, also for a link to one."""
    try:
        os.mkdir(path)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise


def cache_folder(name: str) -> Path:
    """Return a folder of this program in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(base)) / "ringmaster" / name


def is_gone(path: Path | str, fd: int) -> bool:
    """Return whether an open file has been moved, deleted or replaced."""
    try:
        return not os.path.samestat(os.stat(path), os.fstat(fd))
    except OSError:
        return True  # opening it again raises the error
