"""Read packed positions of shogi: PSV, 40 bytes each (YaneuraOu), and hcpe, 38 bytes each
(Apery, dlshogi).

rsshogi unpacks the positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
from rsshogi.core import Board

from ringmaster.formats.source import MATE, SIZE, Batch, Source, batch_of
from ringmaster.games.legality import legality_check

#: Bytes of a packed position.
_PACKED = 32
#: Squares of a board, numbered file by file.
_SQUARES = 81
#: Pieces in hand by number.
_DROPPED = "PLNSBRG"
#: Records that are decoded to guess the format of a file.
_LOOKED_AT = 100

#: The records, in the layout of YaneuraOu and of Apery.
PSV = np.dtype(
    [
        ("position", "u1", _PACKED),
        ("score", "<i2"),
        ("move", "<u2"),
        ("ply", "<u2"),
        ("result", "i1"),
        ("padding", "u1"),
    ]
)
HCPE = np.dtype(
    [
        ("position", "u1", _PACKED),
        ("score", "<i2"),
        ("move", "<u2"),
        ("result", "u1"),
        ("padding", "u1"),
    ]
)

Records = npt.NDArray[np.void]


def decode(name: str, records: Records) -> list[bytes]:
    """Return the SFEN of "psv" or "hcpe" records without move numbers, b"" for a damaged one."""
    data = records["position"].tobytes()
    board = Board()
    unpack = board.set_packed_sfen if name == "psv" else board.set_hcp
    texts = []
    for at in range(0, len(data), _PACKED):
        try:
            unpack(data[at : at + _PACKED])
        except ValueError:
            texts.append(b"")
        else:
            texts.append(board.to_sfen().rpartition(" ")[0].encode())
    return texts


def fits(name: str, start: bytes) -> bool:
    """Return whether the beginning of a file may hold records of a format."""
    dtype = PSV if name == "psv" else HCPE
    count = min(len(start) // dtype.itemsize, _LOOKED_AT)
    if not count:
        return False
    records = np.frombuffer(start[: count * dtype.itemsize], dtype=dtype)
    if ((np.abs(records["result"]) > 1) if name == "psv" else (records["result"] > 2)).any():
        return False
    check = legality_check("shogi", "standard", verify_checks=True)
    try:
        for text in decode(name, records):
            check(f"{text.decode()} 1")  # refuses an empty text, too
    except ValueError:
        return False
    return True


def read_psv(source: Source) -> Iterator[Batch]:
    """Yield the positions of a PSV file.

    Score and result are the mover's; a result is 1, 0 or -1.
    """
    for place, records in _records(source, PSV):
        result = records["result"]
        ply = records["ply"].astype(np.int32)
        batch = _batch("psv", records, place, (result + 1) / 2, ply)
        if source.moves:
            batch.moves = [_psv_move(move) for move in records["move"].tolist()]
        yield _good(source, batch, np.abs(result) > 1, "the result is neither 1, 0 nor -1")


def read_hcpe(source: Source) -> Iterator[Batch]:
    """Yield the positions of an hcpe file.

    The score is the mover's.  The result is 0 for a draw, 1 for Black, 2 for White.
    """
    for place, records in _records(source, HCPE):
        # the upper bits hold the kind of ending (dlshogi)
        outcome = records["result"] & 3
        result = np.array([0.5, 1.0, 0.0, np.nan])[outcome]
        batch = _batch("hcpe", records, place, result, np.full(len(records), -1, dtype=np.int32))
        if source.moves:
            batch.moves = [_hcpe_move(move) for move in records["move"].tolist()]
        yield _good(source, batch, outcome > 2, "the result is neither 0, 1 nor 2")


def _batch(
    name: str,
    records: Records,
    place: int,
    result: npt.NDArray[np.float64],
    ply: npt.NDArray[np.int32],
) -> Batch:
    numbers = (np.maximum(ply, 0) + 1).tolist()
    boards = zip(decode(name, records), numbers, strict=True)
    texts = [b"%b %d" % each if each[0] else b"" for each in boards]
    teacher = np.clip(records["score"].astype(np.float32), -MATE, MATE)
    return batch_of((texts, result, teacher, ply, np.arange(place, place + len(records))))


def _good(source: Source, batch: Batch, wrong: npt.NDArray[np.bool_], message: str) -> Batch:
    """Return the batch without damaged records and those with wrong results."""
    bad = {int(i): message for i in np.flatnonzero(wrong)}
    if not all(batch.texts):
        damaged = "this is not a packed position: is the file of this format?"
        bad |= {i: damaged for i, text in enumerate(batch.texts) if not text}
    for i in sorted(bad):
        source.bad(int(batch.place[i]), bad[i])
    return batch.without(bad) if bad else batch


@cache
def _psv_move(move: int) -> str:
    """Return a move of YaneuraOu in USI's notation, "" for none."""
    origin, target, is_drop = move >> 7 & 127, move & 127, move & 0x4000
    return _usi_move(origin + _SQUARES - 1 if is_drop else origin, target, move & 0x8000)


@cache
def _hcpe_move(move: int) -> str:
    """Return a move of Apery in USI's notation, "" for none."""
    return _usi_move(move >> 7 & 127, move & 127, move & 0x4000)


def _usi_move(origin: int, target: int, promotes: int) -> str:
    """Return a move; origins behind the squares are those of drops."""
    if target >= _SQUARES or origin == target or origin >= _SQUARES + len(_DROPPED):
        return ""
    if origin >= _SQUARES:
        return f"{_DROPPED[origin - _SQUARES]}*{_square(target)}"
    return _square(origin) + _square(target) + ("+" if promotes else "")


def _square(number: int) -> str:
    file, rank = divmod(number, 9)
    return f"{file + 1}{'abcdefghi'[rank]}"


def _records(source: Source, dtype: np.dtype[np.void]) -> Iterator[tuple[int, Records]]:
    """Yield (number of the first record, records).  Raises DataFileError for a cut file."""
    source.where = "record"
    rest, place = b"", source.first
    whole = dtype.itemsize * SIZE
    for piece in source.pieces():
        rest += piece
        stop = len(rest) - len(rest) % dtype.itemsize
        for at in range(0, stop, whole):
            records = np.frombuffer(rest[at : min(at + whole, stop)], dtype=dtype)
            yield place, records
            place += len(records)
        rest = rest[stop:]
    if rest:
        message = f"the file ends within a record: {len(rest)} bytes of {dtype.itemsize}"
        source.bad(place, message)
