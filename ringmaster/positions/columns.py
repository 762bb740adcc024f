"""Memory-mapped files of columns: the common format of position files and feature files.

Layout: eight magic bytes, eight bytes with the length of the header (little-endian), the header
(JSON), then the columns, each at a multiple of 64 bytes.  Reading runs no code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import msgspec
import numpy as np

from ringmaster.errors import StoreCorrupt, StoreUnwritable

_ALIGNED = 64
_MOST_HEADER = 1 << 24
_KINDS = ("<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<f4")


class DamagedFile(StoreCorrupt):
    """A damaged file of columns, which can be made again."""


class Header(msgspec.Struct):
    """The header of a file.

    facts    of the file's writer
    columns  start, length in bytes, and type of each column
    """

    facts: dict[str, Any]
    columns: dict[str, tuple[int, int, str]]


class ColumnFile:
    """A file opened for reading; all columns are read-only views.

    magic     first bytes of such a file
    kind      the kind of file in words
    required  names of columns that such a file has

    Raises StoreCorrupt for a damaged file or one of another kind, OSError.
    """

    def __init__(self, path: Path, magic: bytes, kind: str, required: Collection[str]) -> None:
        self.path = path
        with path.open("rb") as file:
            start = file.read(len(magic) + 8)
            length = int.from_bytes(start[len(magic) :], "little")
            if not start.startswith(magic) or length > _MOST_HEADER:
                raise StoreCorrupt(f"{path} is not a {kind}; move it away")
            text = file.read(length)
        try:
            header = msgspec.json.decode(text, type=Header)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self.damaged(f" ({error})") from error
        self.facts = header.facts
        self._columns = header.columns
        self._begin = aligned(len(start) + length)
        if missing := set(required) - header.columns.keys():
            raise self.damaged(f" (no {min(missing)})")
        size = path.stat().st_size - self._begin
        for at, length, dtype in header.columns.values():
            if min(at, length) < 0 or at + length > size:
                raise self.damaged(" (cut off)")
            if dtype not in _KINDS or length % np.dtype(dtype).itemsize:
                raise self.damaged()
        self._data = np.memmap(path, dtype=np.uint8, mode="r")

    def damaged(self, reason: str = "") -> DamagedFile:
        """Return the error for a damaged file."""
        return DamagedFile(
            f"{self.path} is damaged{reason}; delete it; the next run makes a new one"
        )

    def column(self, name: str, count: int | None = None) -> Any:
        """Return a column, None if there is none.

        count  number of its entries.  Raises StoreCorrupt for another one
        """
        if name not in self._columns:
            return None
        at, length, dtype = self._columns[name]
        column = self._data[self._begin + at : self._begin + at + length].view(dtype)
        if count is not None and len(column) != count:
            raise self.damaged()
        return column


class KeyedFile(Protocol):
    """A file with the key of its origin."""

    key: str


FileT = TypeVar("FileT", bound=KeyedFile)


def existing(opened: Callable[[Path], FileT], path: Path, key: str) -> FileT | None:
    """Return a file if it has this key, None for a missing, damaged or outdated one.

    Raises StoreCorrupt for a file of another kind, StoreUnwritable.
    """
    try:
        file = opened(path)
    except (FileNotFoundError, DamagedFile):
        return None
    except OSError as error:
        raise StoreUnwritable(f"cannot read {path}: {error.strerror}") from error
    return file if file.key == key else None


def aligned(size: int) -> int:
    """Return the next allowed start of a column."""
    return -(-size // _ALIGNED) * _ALIGNED


def layout(
    magic: bytes, facts: dict[str, Any], columns: dict[str, tuple[int, str]]
) -> tuple[bytes, dict[str, int], int]:
    """Return the bytes before the first column, the place of each column, and the file's size.

    columns  numbers of entries, and types
    """
    places, end = {}, 0
    for name, (count, dtype) in columns.items():
        at, length = aligned(end), count * np.dtype(dtype).itemsize
        places[name] = (at, length, dtype)
        end = at + length
    text = msgspec.json.encode(Header(facts, places))
    start = magic + len(text).to_bytes(8, "little") + text
    start = start.ljust(aligned(len(start)), b"\0")
    return start, {name: len(start) + at for name, (at, _, _) in places.items()}, len(start) + end


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
