"""Many positions of chess or shogi as arrays of NumPy, so that thousands are checked at once.

A board is a row of squares in the order of FEN and SFEN: from the rank that is furthest from
the first player, each rank from that player's left.  0 is an empty square.  A piece of the
second player has a greater number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ringmaster.formats.source import hash_of
from ringmaster.games.sfen import HAND_LETTERS, held_of
from ringmaster.model.players import GameName

Squares = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


class Pieces:
    """The pieces of a game as numbers; the second player's are greater by `colour`.

    size    ranks of the board
    width   number of squares for each character of a board field
    number  piece for each character
    values  in pawns by number, roughly; negative for the second player
    """

    def __init__(self, size: int, letters: str, values: Sequence[float], colour: int) -> None:
        self.size = size
        self.width = np.zeros(256, dtype=np.uint8)
        self.number = np.zeros(256, dtype=np.uint8)
        for digit in range(1, size + 1):
            self.width[ord(str(digit))] = digit
        for i, letter in enumerate(letters, 1):
            self.width[[ord(letter), ord(letter.lower())]] = 1
            self.number[[ord(letter), ord(letter.lower())]] = i, i + colour
        own = np.zeros(colour, dtype=np.float32)
        own[1 : len(values) + 1] = values
        self.values = np.concatenate([own, -own])


CHESS = Pieces(8, "PNBRQK", (1, 3, 3, 5, 9, 0), 8)
#: Added to the number of a promoted piece of shogi.
PROMOTED = 8
SHOGI = Pieces(9, "PLNSGBRK", (1, 3, 4, 5, 6, 8, 10, 0, 4, 5, 6, 6, 0, 10, 12), 16)
#: Values of pieces in hand, in the order of USI: both players' R, B, G, S, N, L and P.
_HELD = np.concatenate([SHOGI.values[7:0:-1], -SHOGI.values[7:0:-1]])


@dataclass
class Boards:
    """Many positions of one game.

    squares  (n, squares of a board), numbers of pieces
    side     (n,), 1 with the second player to move
    rights   (n,), castling rights and en passant as a number, 0 in shogi
    hands    (n, 14) in shogi: pieces in hand in the order of USI, the first player's first;
             (n, 0) in chess
    """

    pieces: Pieces
    squares: Squares
    side: Squares
    rights: Words
    hands: Squares

    def material(self) -> npt.NDArray[np.float32]:
        """Return the first player's lead in material, in pawns."""
        ahead = self.pieces.values[self.squares].sum(axis=1)
        if self.hands.shape[1]:
            ahead = ahead + self.hands @ _HELD
        return np.asarray(ahead, dtype=np.float32)

    def keys(self) -> Words:
        """Return 64 bits for each position, without its counters.

        Two of 8 million different positions have the same key with a probability of 2e-6.
        """
        width = self.squares.shape[1] + self.hands.shape[1]
        row = np.zeros((len(self.side), -(-width // 8) * 8), dtype=np.uint8)
        row[:, : self.squares.shape[1]] = self.squares
        row[:, self.squares.shape[1] : width] = self.hands
        key = self.rights * np.uint64(2) + self.side
        for word in row.view(np.uint64).T:
            key = mixed(key ^ word)
        return key


def mixed(key: Words) -> Words:
    """Return `key` with each bit depending on all bits.

    Source: finaliser of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
    generators", 2014).
    """
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


_SLASH, _PLUS = ord("/"), ord("+")


def _squares(boards: list[bytes], pieces: Pieces) -> Squares | None:
    """Return the squares of board fields.

    None means that a rank is too long or too short, or that a + precedes a piece that does
    not promote.
    """
    text = np.frombuffer(b"/".join(boards) + b"/", dtype=np.uint8)
    width, number = pieces.width[text], pieces.number[text]
    ends = np.cumsum(width, dtype=np.int64)[text == _SLASH]
    if len(ends) != len(boards) * pieces.size:
        return None
    if (ends != np.arange(1, len(ends) + 1) * pieces.size).any():
        return None
    if pieces is SHOGI:
        promoted = np.flatnonzero(text == _PLUS) + 1
        kind = number[promoted] & 15
        if ((kind == 0) | (kind == 5) | (kind == 8)).any():
            return None
        number[promoted] += PROMOTED
    return np.repeat(number, width).reshape(len(boards), -1)


def boards_of(texts: list[bytes], game: GameName) -> Boards | None:
    """Return the positions of FENs with six fields or SFENs, None for an invalid one among them."""
    fields = [text.split(b" ", 4) for text in texts]
    pieces, second = (SHOGI, b"w") if game == "shogi" else (CHESS, b"b")
    squares = _squares([f[0] for f in fields], pieces)
    if squares is None:
        return None
    n = len(texts)
    side = np.fromiter((f[1] == second for f in fields), dtype=np.uint8, count=n)
    if game == "shogi":
        held = b"".join(_hand(f[2]) for f in fields)
        hands = np.frombuffer(held, dtype=np.uint8).reshape(n, 14)
        return Boards(pieces, squares, side, np.zeros(n, dtype=np.uint64), hands)
    rights = np.array([_castling(f[2]) for f in fields], dtype=np.uint64)
    targets = np.array([_SQUARES_OF[f[3]] for f in fields], dtype=np.int64)
    boards = Boards(pieces, squares, side, rights, np.zeros((n, 0), dtype=np.uint8))
    _add_en_passant(boards, targets)
    return boards


@lru_cache(1 << 12)
def _castling(rights: bytes) -> int:
    """Return a castling field as a number that does not depend on the order of the letters."""
    return int.from_bytes(bytes(sorted(rights)), "little")


#: En-passant fields as squares.
_SQUARES_OF = {
    b"-": -1,
    **{bytes([97 + c, 56 - r]): r * 8 + c for r in range(8) for c in range(8)},
}


def _add_en_passant(boards: Boards, targets: npt.NDArray[np.int64]) -> None:
    """Add en passant to the rights where a pawn can capture."""
    rows = np.flatnonzero(targets >= 0)
    if not len(rows):
        return
    target, side = targets[rows], boards.side[rows]
    squares = boards.squares[rows]
    every = np.arange(len(rows))
    expected = (target // 8) == np.where(side == 0, 2, 5)
    target = np.where(expected, target, 24)  # any square whose neighbours are on the board
    passed = target + np.where(side == 0, 8, -8)
    own = np.where(side == 0, 1, 9)
    file = target % 8
    left = (file > 0) & (squares[every, passed - 1] == own)
    right = (file < 7) & (squares[every, np.minimum(passed + 1, 63)] == own)
    capture = (left | right) & expected
    boards.rights[rows] += np.where(capture, file + 1, 0).astype(np.uint64) << np.uint64(40)


@lru_cache(1 << 16)
def _hand(text: bytes) -> bytes:
    held = held_of(text.decode())
    return bytes(min(held[letter], 255) for letter in "".join(HAND_LETTERS))


#: Fields of a text without the counters.
_FIELDS = {"chess": 4, "shogi": 3, "go": 3}


def position_keys(texts: list[bytes], game: GameName) -> Words:
    """Return 64 bits for each position, (n,).

    Counters do not matter, nor does the notation of castling and en passant.  Positions of
    chess variants are compared by their text.
    """
    try:
        boards = boards_of(texts, game)
    except (KeyError, IndexError, ValueError):
        boards = None
    if boards is not None:
        return boards.keys()
    if len(texts) > 1:
        return np.concatenate([position_keys([text], game) for text in texts])
    return np.array([text_key(text, game) for text in texts], dtype=np.uint64)


def text_key(text: bytes, game: GameName) -> int:
    """Return 64 bits for a position's text, without its counters."""
    position = b" ".join(text.split()[: _FIELDS[game]])
    return hash_of(position)
