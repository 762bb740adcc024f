"""Memory-mapped files of columns: the common format of position files and feature files.

Layout: eight magic bytes, eight bytes with the length of the header (little-endian), the header
(JSON), then the columns, each at a multiple of 64 bytes.  Reading runs no code.
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
    """Return the next allowed start of a column."""
    return -(-size // _ALIGNED) * _ALIGNED


def read_header(path: Path, magic: bytes, kind: type[HeaderT], name: str) -> tuple[HeaderT, int]:
    """Return a file's header, and the offset of its columns.

    name  kind of the file, in words
    Raises StoreCorrupt for a damaged file or one of another kind, OSError.
    """
    with path.open("rb") as file:
        start = file.read(len(magic) + 8)
        length = int.from_bytes(start[len(magic) :], "little")
        if not start.startswith(magic) or length > _MOST_HEADER:
            raise StoreCorrupt(f"{path} is not a {name}; move it away")
        text = file.read(length)
    try:
        header = msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise damaged(path, f" ({error})") from error
    return header, aligned(len(start) + length)


def damaged(path: Path, how: str = "") -> StoreCorrupt:
    """Return the error for a damaged file."""
    return StoreCorrupt(f"{path} is damaged{how}; delete it; the next run makes a new one")


def start_of(magic: bytes, header: msgspec.Struct) -> bytes:
    """Return the bytes of a file before its first column."""
    text = msgspec.json.encode(header)
    start = magic + len(text).to_bytes(8, "little") + text
    return start.ljust(aligned(len(start)), b"\0")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into a StoreUnwritable that names the final file."""
    try:
        yield
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path`, whole and on disk, at the end of the block.

    After an error nothing is left of it.  Raises StoreUnwritable.
    """
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
