"""Rows in the pages of a damaged SQLite file, found without its trees.

A damaged page of a tree hides all pages below it, and a `-wal` is read up to its first damaged
frame only; the rows themselves may be whole.

Source: https://www.sqlite.org/fileformat.html, 1.6, 2.1 and 4.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_LEAF: Final = 0x0D
_HEADER, _FRAME, _WAL_HEADER = 100, 24, 32
_SIZES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def leaf_rows(path: Path) -> Iterator[tuple[int, list[Any]]]:
    """Yield number and values of each row in a page of a table, in any order.

    Rows that continue on other pages are left out.  A row may come several times, in its
    versions; its values may be damaged.  Raises OSError.
    """
    size = _page_size(path)
    with path.open("rb") as file:
        first = file.read(size)
        # the first page has the table of tables only
        while page := file.read(size):
            yield from _rows(page)
    wal = Path(f"{path}-wal")
    if not first or not wal.exists():
        return
    with wal.open("rb") as file:
        file.seek(_WAL_HEADER)
        salts = None
        while frame := file.read(_FRAME + size):
            # later frames are of earlier times
            salts = salts or frame[8:16]
            if frame[8:16] == salts:
                yield from _rows(frame[_FRAME:])


def _page_size(path: Path) -> int:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(_HEADER)[16:18], "big")
    return size if size in (1 << n for n in range(9, 16)) else 4096


def _rows(page: bytes) -> Iterator[tuple[int, list[Any]]]:
    if page[0] != _LEAF:
        return
    for number in range(int.from_bytes(page[3:5], "big")):
        start = int.from_bytes(page[8 + 2 * number : 10 + 2 * number], "big")
        try:
            length, start = _varint(page, start)
            key, start = _varint(page, start)
            if length <= len(page) - start:
                yield key, _record(page[start : start + length])
        except (IndexError, ValueError, struct.error):
            continue


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return a number and the place behind it.  Raises IndexError."""
    value = 0
    for place in range(start, start + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[start + 8], start + 9


def _record(data: bytes) -> list[Any]:
    """Return the values of a row.  Raises IndexError, ValueError, struct.error."""
    start, place = _varint(data, 0)
    end = start
    values: list[Any] = []
    while place < end:
        kind, place = _varint(data, place)
        length = _SIZES.get(kind, 8 if kind == 7 else max(0, kind - 12) // 2)
        piece = data[start : start + length]
        start += length
        values.append(_value(kind, piece))
    return values


def _value(kind: int, data: bytes) -> Any:
    if kind == 7:
        return struct.unpack(">d", data)[0]
    if kind in _SIZES:
        return int.from_bytes(data, "big", signed=True)
    if kind >= 12:
        return data.decode() if kind % 2 else data
    return {8: 0, 9: 1}.get(kind)
