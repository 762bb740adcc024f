"""SFEN of many boards at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.boards import Boards
from ringmaster.datasets.pieces import SHOGI
from ringmaster.games.sfen import HAND_LETTERS

_LETTER = np.zeros(32, dtype=np.uint8)
_PROMOTED = np.zeros(32, dtype=np.bool_)
for _number, _piece in SHOGI.pieces.items():
    for _colour in (0, 16):
        _text = _piece.letter.lower() if _colour else _piece.letter
        _LETTER[_number + _colour] = ord(_text[-1])
        _PROMOTED[_number + _colour] = len(_text) > 1
_LETTERS = "".join(HAND_LETTERS)
_HELD: dict[bytes, bytes] = {}
_REMEMBERED = 1 << 16


def sfens(boards: Boards, ply: npt.NDArray[np.int32]) -> list[bytes]:
    """Return the positions as SFEN; where the ply is not known (−1), with number 1."""
    fields = _board_fields(boards.squares)
    sides = (b" b ", b" w ")
    return [
        b"%b%b%b %d" % (field, sides[side], _hands(held), max(number, 0) + 1)
        for field, side, held, number in zip(
            fields,
            boards.side.tolist(),
            _rows(boards.hands),
            ply.tolist(),
            strict=True,
        )
    ]


def _rows(hands: npt.NDArray[np.uint8]) -> list[bytes]:
    data, width = hands.tobytes(), hands.shape[1]
    return [data[i : i + width] for i in range(0, len(data), width)]


def _board_fields(squares: npt.NDArray[np.uint8]) -> list[bytes]:
    """Return the first fields.  Every square has at most three characters of its own: a
    plus, a letter or the length of the gap that ends here, a slash behind a rank."""
    n = len(squares)
    empty = (squares == 0).reshape(n, 9, 9)
    gap = np.zeros((n, 9, 9), dtype=np.uint8)
    running = np.zeros((n, 9), dtype=np.uint8)
    for file in range(9):
        running = (running + np.uint8(1)) * empty[:, :, file]
        gap[:, :, file] = running
    # a gap is written where the next square is not part of it
    ends = np.ones((n, 9, 9), dtype=np.bool_)
    ends[:, :, :-1] = ~empty[:, :, 1:]
    digit = np.where(empty & ends, gap + np.uint8(ord("0")), np.uint8(0)).reshape(n, 81)
    text = np.zeros((n, 81, 3), dtype=np.uint8)
    text[:, :, 0] = np.where(_PROMOTED[squares], np.uint8(ord("+")), np.uint8(0))
    text[:, :, 1] = np.where(squares == 0, digit, _LETTER[squares])
    text[:, 8:80:9, 2] = ord("/")
    text[:, 80, 2] = ord(" ")
    flat = text.ravel()
    whole: bytes = flat[flat != 0].tobytes()
    return whole.split(b" ")[:-1]


def _hands(held: bytes) -> bytes:
    try:
        return _HELD[held]
    except KeyError:
        if len(_HELD) >= _REMEMBERED:
            _HELD.clear()
        text = "".join(
            f"{count if count > 1 else ''}{letter}"
            for letter, count in zip(_LETTERS, held, strict=True)
            if count
        )
        found = _HELD[held] = (text or "-").encode()
        return found
