"""What readers give: labelled positions by the thousand, a column for each label."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

#: Positions in a batch: enough for NumPy, little enough for the processor's cache.
SIZE = 8192

NAN = float("nan")


class Record(NamedTuple):
    """One position, for readers that have them one at a time.

    text     FEN or SFEN; counters may be missing
    result   of the game, 0 to 1 as the format has it, NaN unknown
    teacher  centipawns as the format has it, NaN unknown
    ply      plies played before it, -1 unknown
    game     what names its game within the file, None unknown
    place    number of its line, record or game in the file, from 1
    length   plies of its whole game, 0 unknown
    """

    text: bytes
    result: float = NAN
    teacher: float = NAN
    ply: int = -1
    game: str | None = None
    place: int = 0
    length: int = 0


@dataclass
class Batch:
    """Positions in the order of their file; columns as in `Record`.

    texts   single spaces, all fields; counters are completed by the reader
    game    a hash of the game's name, 0 unknown
    board   squares, where the reader has them already: see `boards`
    """

    texts: list[bytes]
    result: npt.NDArray[np.float32]
    teacher: npt.NDArray[np.float32]
    ply: npt.NDArray[np.int32]
    game: npt.NDArray[np.uint64]
    place: npt.NDArray[np.int64]
    length: npt.NDArray[np.int32]
    board: Any = None

    def __len__(self) -> int:
        return len(self.texts)

    def without(self, bad: Collection[int]) -> Batch:
        """Return the batch without some of its positions, given by their indices."""
        kept = [i for i in range(len(self)) if i not in bad]
        return Batch(
            [self.texts[i] for i in kept],
            self.result[kept],
            self.teacher[kept],
            self.ply[kept],
            self.game[kept],
            self.place[kept],
            self.length[kept],
        )


def hash_of(name: bytes | str) -> int:
    """Return 64 bits, never 0, that stand for the name of a game."""
    data = name.encode() if isinstance(name, str) else name
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") or 1


def make_batch(
    texts: list[bytes],
    result: list[float],
    teacher: list[float],
    ply: list[int],
    game: list[int],
    place: list[int],
    length: list[int] | None = None,
) -> Batch:
    """Return a batch of columns that are lists."""
    return Batch(
        texts,
        np.array(result, dtype=np.float32),
        np.array(teacher, dtype=np.float32),
        np.array(ply, dtype=np.int32),
        np.array(game, dtype=np.uint64),
        np.array(place, dtype=np.int64),
        np.array(length or [0] * len(texts), dtype=np.int32),
    )


def batches_of(records: Iterable[Record], size: int = SIZE) -> Iterator[Batch]:
    """Yield records as batches."""
    held: list[Record] = []
    hashes: dict[str | None, int] = {None: 0}
    for record in records:
        held.append(record)
        if len(held) == size:
            yield _batch(held, hashes)
            held = []
    if held:
        yield _batch(held, hashes)


def _batch(records: list[Record], hashes: dict[str | None, int]) -> Batch:
    games = []
    for record in records:
        known = hashes.get(record.game)
        if known is None:
            if len(hashes) > SIZE:  # names come in runs: old ones need not be kept
                hashes.clear()
                hashes[None] = 0
            hashes[record.game] = known = hash_of(record.game or "")
        games.append(known)
    return make_batch(
        [r.text for r in records],
        [r.result for r in records],
        [r.teacher for r in records],
        [r.ply for r in records],
        games,
        [r.place for r in records],
        [r.length for r in records],
    )
