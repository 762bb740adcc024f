"""Packed positions of shogi: PSV, 40 bytes each (YaneuraOu), and hcpe, 38 bytes each
(Apery, dlshogi).  Both hold a position in 256 bits: who is to move, the squares of the
kings, then the other squares and the hands in a prefix code, from the lowest bit on.

Thousands of records are decoded side by side, a square of all of them at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.batch import SIZE, Batch
from ringmaster.datasets.boards import Boards
from ringmaster.datasets.labels import ABSURD, MATE
from ringmaster.datasets.pieces import PROMOTED, SHOGI
from ringmaster.datasets.sfen_text import sfens
from ringmaster.datasets.source import Source

Bytes = npt.NDArray[np.uint8]

#: Bytes of a packed position.
_PACKED = 32
#: Records at the beginning of a file by which its format is guessed.
_LOOKED_AT = 100

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
        ("pad", "u1"),
    ]
)

#: Numbers of pieces by their letters.
_NUMBERS = {piece.letter: number for number, piece in SHOGI.pieces.items()}


@dataclass(frozen=True)
class Coding:
    """A prefix code: by a byte, lowest bit first, the piece and the bits it takes.

    board  pieces on squares, 0 for none
    hand   pieces in hand, 0 for bits that are none
    """

    board: tuple[Bytes, Bytes]
    hand: tuple[Bytes, Bytes]


def _coding(
    stems: dict[str, tuple[int, int]],
    hands: dict[str, tuple[int, int]],
    colour_first: bool,
    unflagged: str = "G",
) -> Coding:
    """Return a code made of (bits, how many) for each piece, behind which two bits say the
    colour and whether it is promoted (a gold has the colour only); in hand the latter is 0,
    and `unflagged` pieces are without it."""
    board: dict[tuple[int, int], int] = {(0, 1): 0}
    hand: dict[tuple[int, int], int] = {}
    for letter, (stem, length) in stems.items():
        number = _NUMBERS[letter]
        for colour in (0, 1):
            if letter == "G":
                board[stem | colour << length, length + 1] = number + 16 * colour
                continue
            for promoted in (0, 1):
                flags = colour | promoted << 1 if colour_first else promoted | colour << 1
                code = stem | flags << length
                board[code, length + 2] = number + PROMOTED * promoted + 16 * colour
    for letter, (stem, length) in hands.items():
        for colour in (0, 1):
            # an unused bit comes before the colour
            above = length if letter in unflagged else length + 1
            hand[stem | colour << above, above + 1] = _NUMBERS[letter] + 16 * colour
    return Coding(_by_byte(board), _by_byte(hand))


def _by_byte(codes: dict[tuple[int, int], int]) -> tuple[Bytes, Bytes]:
    pieces, lengths = np.zeros(256, dtype=np.uint8), np.zeros(256, dtype=np.uint8)
    for (code, length), piece in codes.items():
        for rest in range(0, 256, 1 << length):
            pieces[code | rest], lengths[code | rest] = piece, length
    return pieces, lengths


_STEMS = {"P": (0b01, 2), "L": (0b0011, 4), "G": (0b01111, 5), "B": (0b011111, 6)}
_STEMS |= {"R": (0b111111, 6)}
#: YaneuraOu: a piece in hand has its code on the board without the lowest bit.
_YANEURAOU = _STEMS | {"N": (0b1011, 4), "S": (0b0111, 4)}
_CODINGS = {
    "psv": _coding(_YANEURAOU, {p: (c >> 1, n - 1) for p, (c, n) in _YANEURAOU.items()}, False),
    # Apery: the colour before the promotion, knight and silver the other way round
    "hcpe": _coding(
        _STEMS | {"N": (0b0111, 4), "S": (0b1011, 4)},
        {
            "P": (0b0, 1),
            "L": (0b001, 3),
            "N": (0b011, 3),
            "S": (0b101, 3),
            "G": (0b0111, 4),
            "B": (0b11111, 5),
            "R": (0b111111, 6),
        },
        True,
        unflagged="GR",
    ),
}
#: Packed squares go down the files from that on the right; boards go along the ranks from
#: the file on the left.
_SQUARE = np.array([(i % 9) * 9 + 8 - i // 9 for i in range(81)], dtype=np.intp)
#: Where a piece in hand is counted, by its number.
_IN_HAND = np.zeros(32, dtype=np.intp)
for _place, _number in enumerate(SHOGI.hand):
    _IN_HAND[_number], _IN_HAND[_number + 16] = _place, _place + len(SHOGI.hand)
_BITS = 8 * _PACKED


def decode(name: str, packed: Bytes) -> Boards:
    """Return the positions of (n, 32) bytes, by the code of "psv" or "hcpe".

    What cannot be one has its `doubt` set.
    """
    n = len(packed)
    data = np.zeros((n, _PACKED + 2), dtype=np.uint8)
    data[:, :_PACKED] = packed
    # 16 bits from each byte on, so that any 8 are a shift away
    pairs = data[:, :-1].astype(np.uint16) | data[:, 1:].astype(np.uint16) << np.uint16(8)
    flat = pairs.ravel()
    start = np.arange(n, dtype=np.intp) * (_PACKED + 1)
    side = data[:, 0] & np.uint8(1)
    squares = np.zeros((n, 81), dtype=np.uint8)
    doubt = np.zeros(n, dtype=np.bool_)
    every = np.arange(n)
    kings = []
    for colour, first in ((0, 1), (1, 8)):
        king = (pairs[:, first >> 3] >> np.uint16(first & 7) & np.uint16(127)).astype(np.intp)
        doubt |= king > 80
        kings.append(np.minimum(king, 80))
        squares[every, _SQUARE[kings[colour]]] = SHOGI.king + 16 * colour
    doubt |= kings[0] == kings[1]
    coding = _CODINGS[name]
    bit = np.full(n, 15, dtype=np.intp)
    pieces, lengths = coding.board
    for i in range(81):
        code = (flat[start + (bit >> 3)] >> (bit & 7).astype(np.uint16)) & np.uint16(255)
        free = (kings[0] != i) & (kings[1] != i)
        column = squares[:, _SQUARE[i]]
        column[free] = pieces[code[free]]
        bit += np.where(free, lengths[code], 0)
        np.minimum(bit, _BITS, out=bit)
    hands = np.zeros((n, 2 * len(SHOGI.hand)), dtype=np.uint8)
    pieces, lengths = coding.hand
    left = np.flatnonzero(bit < _BITS)
    while len(left):
        at = bit[left]
        code = (flat[start[left] + (at >> 3)] >> (at & 7).astype(np.uint16)) & np.uint16(255)
        piece, length = pieces[code], lengths[code]
        none = length == 0
        doubt[left[none]] = True
        hands[left, _IN_HAND[piece]] += ~none
        bit[left] = np.where(none, _BITS, at + length)
        left = left[bit[left] < _BITS]
    doubt |= bit != _BITS
    return Boards(SHOGI, squares, side, np.zeros(n, dtype=np.uint64), hands, doubt)


def fits(name: str, start: bytes) -> bool:
    """Whether the beginning of a file may be of records of a format."""
    dtype = PSV if name == "psv" else HCPE
    count = min(len(start) // dtype.itemsize, _LOOKED_AT)
    if not count:
        return False
    records = np.frombuffer(start[: count * dtype.itemsize], dtype=dtype)
    if ((np.abs(records["result"]) > 1) if name == "psv" else (records["result"] > 2)).any():
        return False
    return not decode(name, records["position"]).suspects().any()


def read_psv(source: Source) -> Iterator[Batch]:
    """Yield the positions of a PSV file: score and result are the mover's, a result 1, 0
    or −1; what the padding says (some write the version of their program) is not asked."""
    for place, records, boards in _records(source, "psv", PSV):
        result = records["result"]
        _refuse(source, place, np.abs(result) > 1, "the result is neither 1, 0 nor -1")
        ply = records["ply"].astype(np.int32)
        yield _batch(source, boards, place, (result + 1) / 2, records["score"], ply)


def read_hcpe(source: Source) -> Iterator[Batch]:
    """Yield the positions of an hcpe file: the score is the mover's, the result 0 for a
    draw, 1 for Black, 2 for White."""
    for place, records, boards in _records(source, "hcpe", HCPE):
        # the upper bits say how the game ended (dlshogi)
        outcome = records["result"] & 3
        _refuse(source, place, outcome > 2, "the result is neither 0, 1 nor 2")
        result = np.array([0.5, 1.0, 0.0, np.nan])[outcome]
        ply = np.full(len(records), -1, dtype=np.int32)
        yield _batch(source, boards, place, result, records["score"], ply)


def _records(
    source: Source, name: str, dtype: np.dtype[np.void]
) -> Iterator[tuple[int, npt.NDArray[np.void], Boards]]:
    """Yield (number of the first record, records, their positions)."""
    source.where = "record"
    rest, place = b"", 1
    whole = dtype.itemsize * SIZE
    for piece in source.pieces():
        rest += piece
        stop = len(rest) - len(rest) % dtype.itemsize
        for at in range(0, stop, whole):
            records = np.frombuffer(rest[at : min(at + whole, stop)], dtype=dtype)
            boards = decode(name, records["position"])
            _refuse(
                source,
                place,
                boards.doubt,
                f"this is no packed position: is the file of the format {name!r}?",
            )
            yield place, records, boards
            place += len(records)
        rest = rest[stop:]
    if rest:
        raise source.error(
            place, f"the file ends within a record: {len(rest)} bytes of {dtype.itemsize}"
        )


def _refuse(source: Source, place: int, bad: npt.NDArray[np.bool_], message: str) -> None:
    """Raises DatasetError for the first record that is bad."""
    if bad.any():
        raise source.error(place + int(bad.argmax()), message)


def _batch(
    source: Source,
    boards: Boards,
    place: int,
    result: npt.NDArray[np.float64],
    score: npt.NDArray[np.int16],
    ply: npt.NDArray[np.int32],
) -> Batch:
    n = len(boards)
    assert np.iinfo(score.dtype).max <= ABSURD
    return Batch(
        texts=sfens(boards, ply),
        result=result.astype(np.float32),
        teacher=np.clip(score.astype(np.float32), -MATE, MATE),
        ply=ply,
        game=np.zeros(n, dtype=np.uint64),
        place=np.arange(place, place + n, dtype=np.int64),
        length=np.zeros(n, dtype=np.int32),
        board=boards,
    )
