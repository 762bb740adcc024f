"""Pages of a damaged SQLite file and of its `-wal`: rows that are found without trees.

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
#: The first bytes of a `-wal` by the byte order of its checksums.
_MAGIC: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_SIZES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def leaf_rows(path: Path) -> Iterator[tuple[int, list[Any]]]:
    """Yield number and values of each row in a page of a table, in any order.

    Rows that continue on other pages are left out.  A row may come several times, in its
    versions; its values may be damaged.  Raises OSError.
    """
    size = _page_size(path)
    with path.open("rb") as file:
        # the first page has the table of tables only
        file.seek(size)
        while page := file.read(size):
            yield from _rows(page)
    wal = Path(f"{path}-wal")
    if not wal.exists():
        return
    with wal.open("rb") as file:
        # frames of earlier times have other salts; the header or a frame may be damaged
        salts = {file.read(_WAL_HEADER)[16:24], file.read(_FRAME)[8:16]}
        file.seek(_WAL_HEADER)
        while len(frame := file.read(_FRAME + size)) > _FRAME:
            if frame[8:16] in salts:
                yield from _rows(frame[_FRAME:])


def wal_fault(path: Path) -> str:
    """Return what SQLite would not read of a file's `-wal`, "" for what a kill leaves.

    A power cut may leave half a transaction, but later ones only if many were made in its
    last second.  Raises OSError.
    """
    size = _page_size(path)
    with open(f"{path}-wal", "rb") as wal:
        header, first = wal.read(_WAL_HEADER), wal.read(_FRAME)
        if not first:
            return ""
        wal.seek(_WAL_HEADER)
        order = "<" if header[3:4] == b"\x82" else ">"
        place, salts, sums = "", header[16:24], (0, 0)
        if header[:4] in _MAGIC:
            sums = _checksum(header[:24], order, sums)
        if header[:4] not in _MAGIC or sums != struct.unpack(">2I", header[24:]):
            # without a header, frames of one time have the salts of the first
            place, salts = "in its header", first[8:16]
        number = commits = 0
        while len(frame := wal.read(_FRAME + size)) == _FRAME + size:
            number += 1
            is_new = frame[8:16] == salts
            if not place:
                sums = _checksum(frame[_FRAME:], order, _checksum(frame[:8], order, sums))
                if not is_new or sums != struct.unpack(">2I", frame[16:24]):
                    place = f"at frame {number}"
            # frames of earlier times may follow the last one
            if place and is_new and frame[4:8] != bytes(4):
                commits += 1
    return f"its -wal is damaged {place}" if commits > 1 else ""


def _checksum(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


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
