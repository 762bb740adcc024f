"""Memory-mapped files of columns: the common format of position files and feature files.

Layout: eight magic bytes, eight bytes with the length of the header (little-endian), the header
(JSON), then the columns, each at a multiple of 64 bytes.  Reading runs no code.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from errno import EINVAL, EOPNOTSUPP
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.errors import StoreCorrupt, StoreUnwritable
from ringmaster.model.output_files import replacing

_ALIGNED = 64
_MOST_HEADER = 1 << 24
_KINDS = ("<u1", "<u2", "<u4", "<u8", "<i1", "<i2", "<f4")


#: A number of entries.
Count = Annotated[int, msgspec.Meta(ge=0)]


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

    MAGIC     first bytes of such a file
    KIND      the kind of file in words
    REQUIRED  names of columns that such a file has
    FACTS     type of `facts`, which have the `key` of the file's origin

    Raises StoreCorrupt for a damaged file or one of another kind, OSError.
    """

    MAGIC: ClassVar[bytes]
    KIND: ClassVar[str]
    REQUIRED: ClassVar[Collection[str]]
    FACTS: ClassVar[type[msgspec.Struct]]

    def __init__(self, path: Path) -> None:
        self.path, magic = path, self.MAGIC
        with path.open("rb") as file:
            start = file.read(len(magic) + 8)
            length = int.from_bytes(start[len(magic) :], "little")
            if not start.startswith(magic) or length > _MOST_HEADER:
                raise StoreCorrupt(f"{path} is not a {self.KIND}; move it away")
            text = file.read(length)
        try:
            header = msgspec.json.decode(text, type=Header)
            self.facts: Any = msgspec.convert(header.facts, self.FACTS)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self.damaged(f" ({error})") from error
        self._columns = header.columns
        self._begin = _aligned(len(start) + length)
        if missing := set(self.REQUIRED) - header.columns.keys():
            raise self.damaged(f" (no {min(missing)})")
        size = path.stat().st_size - self._begin
        for at, length, dtype in header.columns.values():
            if min(at, length) < 0 or at + length > size:
                raise self.damaged(" (cut off)")
            if dtype not in _KINDS or length % np.dtype(dtype).itemsize:
                raise self.damaged()
        self._data = np.memmap(path, dtype=np.uint8, mode="r")

    def damaged(self, reason: str = "") -> DamagedFile:
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

    @classmethod
    def existing(cls, path: Path, key: str) -> Self | None:
        """Return a file if it has this key, None for a missing, damaged or outdated one.

        Raises StoreCorrupt for a file of another kind, StoreUnwritable.
        """
        try:
            file = cls(path)
        except (FileNotFoundError, DamagedFile):
            return None
        except OSError as error:
            raise StoreUnwritable(f"cannot read {path}: {error.strerror}") from error
        return file if file.facts.key == key else None


def _aligned(size: int) -> int:
    """Return the next allowed start of a column."""
    return -(-size // _ALIGNED) * _ALIGNED


@contextmanager
def new_columns(
    path: Path, magic: bytes, facts: dict[str, Any], columns: dict[str, tuple[int, str]]
) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the columns of a new file as arrays, for writing.

    columns  numbers of entries, and types

    The file replaces `path` at the end of the block; after an error nothing is left of it.
    Raises StoreUnwritable.
    """
    places, end = {}, 0
    for name, (count, dtype) in columns.items():
        at, length = _aligned(end), count * np.dtype(dtype).itemsize
        places[name] = (at, length, dtype)
        end = at + length
    text = msgspec.json.encode(Header(facts, places))
    start = magic + len(text).to_bytes(8, "little") + text
    start = start.ljust(_aligned(len(start)), b"\0")
    with replacing(path, sync=True) as file:
        file.write(start)
        file.flush()
        file.truncate(len(start) + end)
        try:
            # writing to memory without room on the disk would end the process
            os.posix_fallocate(file.fileno(), 0, len(start) + end)
        except (AttributeError, OSError) as error:
            # not every system and file system can reserve room
            if getattr(error, "errno", EINVAL) not in (EINVAL, EOPNOTSUPP):
                raise
        data = np.asarray(np.memmap(file, dtype=np.uint8, mode="r+"))
        # the end of `replacing` brings mapped pages to the disk, too
        yield {
            name: data[len(start) + at :][:length].view(dtype)
            for name, (at, length, dtype) in places.items()
        }
