"""Files of columns that are mapped into memory: what position files and feature files have
in common.

Layout: eight bytes that say what it is, eight with the length of the header
(little-endian), the header (JSON), then the columns, each at a multiple of 64 bytes.  Reading
runs no code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from ringmaster.errors import StoreCorrupt, StoreUnwritable

_ALIGNED = 64
_MOST_HEADER = 1 << 24

HeaderT = TypeVar("HeaderT", bound=msgspec.Struct)


def aligned(size: int) -> int:
    """Return where the next column may begin."""
    return -(-size // _ALIGNED) * _ALIGNED


def read_header(path: Path, magic: bytes, kind: type[HeaderT], name: str) -> tuple[HeaderT, int]:
    """Return a file's header, and where its columns begin.

    name  what the file is, in words
    Raises StoreCorrupt for a file that is no such file or is damaged, OSError.
    """
    with path.open("rb") as file:
        start = file.read(len(magic) + 8)
        length = int.from_bytes(start[len(magic) :], "little")
        if not start.startswith(magic) or length > _MOST_HEADER:
            raise StoreCorrupt(f"{path} is no {name}; move it away")
        text = file.read(length)
    try:
        header = msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise damaged(path, f" ({error})") from error
    return header, aligned(len(start) + length)


def damaged(path: Path, how: str = "") -> StoreCorrupt:
    """Return the error for a file that is not as it was written."""
    return StoreCorrupt(f"{path} is damaged{how}; delete it, and it is made again")


def cut_off(path: Path) -> StoreCorrupt:
    """Return the error for a file that ends too early."""
    return StoreCorrupt(f"{path} is cut off; delete it, and it is made again")


def start_of(magic: bytes, header: msgspec.Struct) -> bytes:
    """Return what a file begins with, up to its first column."""
    text = msgspec.json.encode(header)
    start = magic + len(text).to_bytes(8, "little") + text
    return start.ljust(aligned(len(start)), b"\0")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into the StoreUnwritable that names the file in the end."""
    try:
        yield
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading and writing that takes the place of `path`, whole and on
    disk, when the block has ended without an error; otherwise nothing is left of it.  Raises
    StoreUnwritable."""
    whole = path.with_name(f"{path.name}.new~")
    try:
        with writing(path):
            with whole.open("w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            whole.replace(path)
    except BaseException:
        with suppress(OSError):
            whole.unlink(missing_ok=True)
        raise
