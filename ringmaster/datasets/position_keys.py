"""Numbers by which positions of one source are found in another."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.boards import chess_boards, shogi_boards
from ringmaster.model.players import GameName

Words = npt.NDArray[np.uint64]
#: Fields of a text that tell a position; the counters are behind them.
_FIELDS = {"chess": 4, "shogi": 3, "go": 3}


def position_keys(texts: list[bytes], game: GameName) -> Words:
    """Return 64 bits for each position, (n,): the same for equal positions, counters and
    how castling and en passant are written apart; those of a variant of chess are told by
    their text."""
    if not texts:
        return np.zeros(0, dtype=np.uint64)
    keys = _by_boards(texts, game)
    if keys is not None:
        return keys
    found = [_by_boards([text], game) for text in texts]
    return np.array(
        [_by_text(t, game) if k is None else k[0] for t, k in zip(texts, found, strict=True)],
        dtype=np.uint64,
    )


def _by_boards(texts: list[bytes], game: GameName) -> Words | None:
    """Return the keys of the usual rules, None when one of the texts is not of them."""
    try:
        boards = shogi_boards(texts) if game == "shogi" else chess_boards(texts)
    except (KeyError, IndexError, ValueError):
        return None
    return None if boards is None else boards.keys()


def _by_text(text: bytes, game: GameName) -> int:
    told = b" ".join(text.split()[: _FIELDS[game]])
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "little")
