"""Read and write packed positions of shogi: PSV, 40 bytes each (YaneuraOu), and hcpe, 38 bytes each
(Apery, dlshogi).

rsshogi packs and unpacks the positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt
from rsshogi.core import AperyMove, Board, Move

from ringmaster.formats.source import MATE, SIZE, Batch, Record, Source, batch_of
from ringmaster.games.legality import legality_check

#: Bytes of a packed position.
_PACKED = 32
#: Records that are decoded to guess the format of a file.
_LOOKED_AT = 100

#: The fields that the formats share.
_COMMON = [("position", "u1", _PACKED), ("score", "<i2"), ("move", "<u2")]
#: The records, in the layout of YaneuraOu and of Apery.
PSV = np.dtype([*_COMMON, ("ply", "<u2"), ("result", "i1"), ("padding", "u1")])
HCPE = np.dtype([*_COMMON, ("result", "u1"), ("padding", "u1")])

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
        batch = _batch("psv", source, records, place, (result + 1) / 2, records["ply"])
        yield _good(source, batch, np.abs(result) > 1, "the result is neither 1, 0 nor -1")


def read_hcpe(source: Source) -> Iterator[Batch]:
    """Yield the positions of an hcpe file.

    The score is the mover's.  The result is 0 for a draw, 1 for Black, 2 for White.
    """
    for place, records in _records(source, HCPE):
        # the upper bits hold the kind of ending (dlshogi)
        outcome = records["result"] & 3
        result = np.array([0.5, 1.0, 0.0, np.nan])[outcome]
        batch = _batch("hcpe", source, records, place, result, np.full(len(records), -1))
        yield _good(source, batch, outcome > 2, "the result is neither 0, 1 nor 2")


def _batch(
    name: str,
    source: Source,
    records: Records,
    place: int,
    result: npt.NDArray[np.float64],
    ply: npt.NDArray[np.integer],
) -> Batch:
    places = np.arange(place, place + len(records))
    numbers = (np.maximum(ply, 0).astype(np.int32) + 1).tolist()
    texts = decode(name, records)
    full = [b"%b %d" % each if each[0] else b"" for each in zip(texts, numbers, strict=True)]
    score = np.clip(records["score"].astype(np.float32), -MATE, MATE)
    moves = records["move"].tolist() if source.moves else ()
    return batch_of((full, result, score, ply, places), (_usi(name, move) for move in moves))


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
def _usi(name: str, value: int) -> str:
    """Return a move of a record in USI's notation, "" for none."""
    move = Move(value) if name == "psv" else AperyMove(value)
    return move.to_usi() if move.is_normal() else ""


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


def write_psv(record: Record) -> bytes:
    """Return a PSV record; YaneuraOu's generator counts plies from the start of the game."""
    packed = list(Board(record.text.decode()).to_packed_sfen())
    move, ply = Move.from_usi(record.move).value, min(record.ply, 0xFFFF)
    row = (packed, round(record.teacher), move, ply, round(2 * record.result) - 1, 0)
    return np.array(row, dtype=PSV).tobytes()


def write_hcpe(record: Record) -> bytes:
    winner = {0.5: 0, 1.0: 1, 0.0: 2}[record.result]
    move, score = Move.from_usi(record.move), round(record.teacher)
    packed: bytes = Board(record.text.decode()).to_hcpe(move, score, winner)
    return packed
