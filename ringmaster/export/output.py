"""Where exports go: standard output, or a file that is there whole or not at
all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from ringmaster.errors import StoreUnwritable


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Translate errors of the system.  Reading a store raises its own."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreUnwritable(f"cannot write {what}: {error.strerror or error}") from error


@contextmanager
def to_standard_output(stdout: TextIO) -> Iterator[BinaryIO]:
    """Give the stream of bytes below `stdout`: what is exported is UTF-8
    whatever the terminal is.  Raises StoreUnwritable, BrokenPipeError."""
    with _translated("the output"):
        stdout.flush()
        yield stdout.buffer
        stdout.buffer.flush()


@contextmanager
def to_file(path: Path) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become the file when the block ends, and are
    nothing when it fails.  A device or a pipe is written at once.

    Raises StoreUnwritable, BrokenPipeError.
    """
    with _translated(str(path)):
        # a link stays one
        path = path.resolve()
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as stream:
                yield stream
            return
        temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            with temporary.open("xb") as stream:
                yield stream
            if path.exists():
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
