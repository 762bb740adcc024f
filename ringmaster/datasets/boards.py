"""Positions as rows of squares, made of text and asked by the thousand: who is in check,
which of them a closer look should judge, what tells equal positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.pieces import CHESS, PROMOTED, SHOGI, PieceSet
from ringmaster.games.sfen import HAND_LETTERS, held_of

Squares = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


@dataclass
class Boards:
    """Many positions of one game.

    squares  (n, squares of a board), numbers of pieces
    side     (n,), 1 where the second player is to move
    rights   (n,), castling rights and en passant that tell positions apart, 0 in shogi
    hands    (n, 14) in shogi: pieces in hand, the first player's as USI orders them, then
             the second's; (n, 0) in chess
    doubt    (n,), whether something about it that is not on the board looks wrong
    """

    pieces: PieceSet
    squares: Squares
    side: Squares
    rights: Words
    hands: Squares
    doubt: Mask

    def __len__(self) -> int:
        return len(self.squares)

    def in_check(self, side: npt.NDArray[np.uint8]) -> Mask:
        """Return by position whether the king of `side` is attacked; that there is one
        is taken for granted."""
        pieces, n = self.pieces, len(self)
        area = pieces.size**2
        kings = pieces.king + side * np.uint8(pieces.colour)
        king = (self.squares == kings[:, None]).argmax(axis=1)
        framed = np.zeros((n, area + 1), dtype=np.uint8)
        framed[:, :area] = self.squares
        flat = framed.ravel()
        start = np.arange(n, dtype=np.intp) * (area + 1)
        seen = flat[pieces.rays[king] + start[:, None, None]]
        distance = (seen != 0).argmax(axis=2)
        # the first piece on each ray, 0 where there is none
        first = np.take_along_axis(seen, distance[:, :, None], axis=2)[:, :, 0]
        directions = np.arange(seen.shape[1])
        near = (distance == 0).astype(np.intp)
        attacked = pieces.attackers[side[:, None], first, directions, near].any(axis=1)
        leaps = flat[pieces.jumps[side, king] + start[:, None]]
        knights = pieces.knight + (1 - side) * np.uint8(pieces.colour)
        return np.asarray(attacked | (leaps == knights[:, None]).any(axis=1))

    def material(self) -> npt.NDArray[np.float32]:
        """Return how many pawns the first player is ahead, roughly."""
        values = self.pieces.values
        ahead = values[self.squares].sum(axis=1)
        if self.hands.shape[1]:
            held = values[np.array(self.pieces.hand)]
            ahead = ahead + self.hands @ np.concatenate([held, -held])
        return np.asarray(ahead, dtype=np.float32)

    def keys(self) -> Words:
        """Return 64 bits that are the same for equal positions, counters apart, and
        differ for others (of 8 million, two with a chance of 2e-6)."""
        width = self.squares.shape[1] + self.hands.shape[1]
        row = np.zeros((len(self), -(-width // 8) * 8), dtype=np.uint8)
        row[:, : self.squares.shape[1]] = self.squares
        row[:, self.squares.shape[1] : width] = self.hands
        key = self.rights * np.uint64(2) + self.side
        for word in row.view(np.uint64).T:
            key = _mixed(key ^ word)
        return key

    def suspects(self) -> Mask:
        """Return which positions the rules should be asked about; all that are not
        legal are among them."""
        doubt = self._chess_doubt() if self.pieces is CHESS else self._shogi_doubt()
        return doubt | self.in_check(1 - self.side)

    def _counts(self, table: Words) -> npt.NDArray[np.int64]:
        """Return (n, 9) numbers of pieces by what `_counting` counts."""
        sums = table[self.squares].sum(axis=1, dtype=np.uint64)
        shifts = _WIDTH * np.arange(9, dtype=np.uint64)
        return np.asarray(sums[:, None] >> shifts & np.uint64(127)).astype(np.int64)

    def _chess_doubt(self) -> Mask:
        ends = self.squares[:, _ENDS]
        counts = self._counts(_CHESS_COUNTED)
        return np.asarray(
            self.doubt
            | ((ends == 1) | (ends == 9)).any(axis=1)
            | (counts[:, :2] != 1).any(axis=1)
            | (counts[:, 2:6] > (8, 8, 16, 16)).any(axis=1)
        )

    def _shogi_doubt(self) -> Mask:
        counts = self._counts(_SHOGI_COUNTED)
        held = self.hands[:, :7].astype(np.int64) + self.hands[:, 7:]
        doubt = self.doubt | (counts[:, :2] != 1).any(axis=1)
        doubt |= (counts[:, 2:] + held > _ALL).any(axis=1)
        for colour in (0, 16):
            ranks = self.squares.reshape(-1, 9, 9)
            if colour:
                ranks = ranks[:, ::-1]
            pawns = ranks == 1 + colour
            doubt |= (pawns.sum(axis=1, dtype=np.uint8) > 1).any(axis=1)
            doubt |= (pawns[:, 0] | (ranks[:, 0] == 2 + colour)).any(axis=1)
            doubt |= (ranks[:, :2] == 3 + colour).any(axis=(1, 2))
        return np.asarray(doubt)


#: How many there are of a piece of shogi, in the order of hands.
_ALL = (2, 2, 4, 4, 4, 4, 18)
#: The first and the last rank.
_ENDS = np.array([*range(8), *range(56, 64)], dtype=np.intp)
#: Bits of a number, of which a word holds nine: enough for a board full of one piece.
_WIDTH = np.uint64(7)


def _counting(*counted: tuple[int, ...]) -> Words:
    """Return by piece a word of which each field is 1 for the pieces that it counts."""
    table = np.zeros(32, dtype=np.uint64)
    for i, numbers in enumerate(counted):
        table[list(numbers)] |= np.uint64(1) << _WIDTH * np.uint64(i)
    return table


_CHESS_COUNTED = _counting((6,), (14,), (1,), (9,), tuple(range(1, 7)), tuple(range(9, 15)))
_SHOGI_COUNTED = _counting(
    (8,),
    (24,),
    *((n, n + 16) + ((n + PROMOTED, n + PROMOTED + 16) if n != 5 else ()) for n in SHOGI.hand),
)


def _mixed(key: Words) -> Words:
    """Return `key` with each bit depending on all (finaliser of splitmix64: Steele,
    Lea, Flood, "Fast splittable pseudorandom number generators", 2014)."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def _table(pieces: PieceSet, what: str) -> Squares:
    """Return by character how many squares it stands for, or its piece."""
    table = np.zeros(256, dtype=np.uint8)
    for digit in range(1, pieces.size + 1):
        table[ord(str(digit))] = digit if what == "width" else 0
    for number, piece in pieces.pieces.items():
        if len(piece.letter) == 1:
            one = what == "width"
            table[ord(piece.letter)] = 1 if one else number
            table[ord(piece.letter.lower())] = 1 if one else number + pieces.colour
    return table


_TABLES = {p.size: (_table(p, "width"), _table(p, "piece")) for p in (CHESS, SHOGI)}
_SLASH, _PLUS = ord("/"), ord("+")


def _squares(boards: list[bytes], pieces: PieceSet) -> Squares | None:
    """Return the squares of board fields, None when one of them has a rank that is too
    long or too short, or a + before what does not promote."""
    text = np.frombuffer(b"/".join(boards) + b"/", dtype=np.uint8)
    widths, numbers = _TABLES[pieces.size]
    width, number = widths[text], numbers[text]
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


def chess_boards(texts: list[bytes], chess960: bool = False) -> Boards | None:
    """Return the positions of FENs with six fields, None when one of them cannot be
    read."""
    fields = [text.split(b" ", 4) for text in texts]
    squares = _squares([f[0] for f in fields], CHESS)
    if squares is None:
        return None
    n = len(texts)
    side = np.fromiter((f[1] == b"b" for f in fields), dtype=np.uint8, count=n)
    castling: list[int] = []
    passing: list[int] = []
    for f in fields:
        try:
            castling.append(_CASTLING[f[2]])
        except KeyError:
            _CASTLING[f[2]] = number = int.from_bytes(bytes(sorted(f[2])), "little")
            castling.append(number)
        passing.append(_SQUARES_OF[f[3]])
    rights = np.array(castling, dtype=np.uint64)
    targets = np.array(passing, dtype=np.int64)
    boards = Boards(CHESS, squares, side, rights, _no_hands(n), np.zeros(n, dtype=np.bool_))
    boards.doubt |= _castling_doubt(boards, [f[2] for f in fields], chess960)
    _en_passant(boards, targets)
    return boards


#: Castling fields as numbers, the order of the letters apart.
_CASTLING: dict[bytes, int] = {}
#: En-passant fields as squares.
_SQUARES_OF = {
    b"-": -1,
    **{bytes([97 + c, 56 - r]): r * 8 + c for r in range(8) for c in range(8)},
}
#: What has to stand where for a right to castle: (square, piece) of king and rook.
_NEEDED = {
    ord("K"): ((60, 6), (63, 4)),
    ord("Q"): ((60, 6), (56, 4)),
    ord("k"): ((4, 14), (7, 12)),
    ord("q"): ((4, 14), (0, 12)),
}


def _castling_doubt(boards: Boards, fields: list[bytes], chess960: bool) -> Mask:
    doubt = np.zeros(len(boards), dtype=np.bool_)
    usual = boards.rights == _CASTLING.setdefault(b"-", ord("-"))
    if usual.all():
        return doubt
    for field in set(fields) - {b"-"}:
        which = boards.rights == _CASTLING[field]
        if chess960:
            doubt |= which & ~_can_castle(boards.squares, field)
            continue
        if len(set(field)) != len(field) or any(letter not in _NEEDED for letter in field):
            doubt |= which
            continue
        for letter in field:
            for square, piece in _NEEDED[letter]:
                doubt |= which & (boards.squares[:, square] != piece)
    return doubt


def _can_castle(squares: Squares, field: bytes) -> Mask:
    """Return where kings and rooks stand as castling rights of Chess960 need them: a file
    names the rook, K and Q any to that side of the king (Shredder-FEN and X-FEN)."""
    good = np.ones(len(squares), dtype=np.bool_)
    files = np.arange(8)
    for colour in (0, 8):
        letters = [chr(c) for c in field if (chr(c).islower() if colour else chr(c).isupper())]
        if not letters:
            continue
        rank = squares[:, :8] if colour else squares[:, 56:]
        king = (rank == 6 + colour).argmax(axis=1)
        good &= (rank == 6 + colour).any(axis=1)
        rooks = rank == 4 + colour
        sides = []
        for letter in letters:
            if letter.upper() in "KQ":
                right = np.full(len(squares), letter.upper() == "K")
                beyond = (files > king[:, None]) == right[:, None]
                good &= (rooks & beyond).any(axis=1)
            else:
                file = ord(letter.upper()) - ord("A")
                right = king < file
                good &= rooks[:, file]
            sides.append(right)
        good &= len(letters) == 1 or (len(letters) == 2 and sides[0] != sides[-1])
    return good


def _en_passant(boards: Boards, targets: npt.NDArray[np.int64]) -> None:
    """Put en passant into the rights, where a pawn can take so, and doubt the squares
    that no pawn can just have passed."""
    rows = np.flatnonzero(targets >= 0)
    if not len(rows):
        return
    target, side = targets[rows], boards.side[rows]
    squares = boards.squares[rows]
    forward = np.where(side == 0, 8, -8)  # from the target to the pawn that has passed it
    every = np.arange(len(rows))
    expected = (target // 8) == np.where(side == 0, 2, 5)
    target = np.where(expected, target, 24)  # where nothing leaves the board
    passed = squares[every, target + forward] == np.where(side == 0, 9, 1)
    empty = (squares[every, target] == 0) & (squares[every, target - forward] == 0)
    boards.doubt[rows] |= ~(expected & passed & empty)
    own = np.where(side == 0, 1, 9)
    file = target % 8
    left = (file > 0) & (squares[every, target + forward - 1] == own)
    right = (file < 7) & (squares[every, np.minimum(target + forward + 1, 63)] == own)
    taken = (left | right) & expected
    boards.rights[rows] += np.where(taken, file + 1, 0).astype(np.uint64) << np.uint64(40)


def _no_hands(n: int) -> Squares:
    return np.zeros((n, 0), dtype=np.uint8)


def shogi_boards(texts: list[bytes]) -> Boards | None:
    """Return the positions of SFENs, None when one of them cannot be read."""
    fields = [text.split(b" ") for text in texts]
    squares = _squares([f[0] for f in fields], SHOGI)
    if squares is None:
        return None
    n = len(texts)
    side = np.fromiter((f[1] == b"w" for f in fields), dtype=np.uint8, count=n)
    held = []
    for f in fields:
        try:
            held.append(_HANDS[f[2]])
        except KeyError:
            if len(_HANDS) > _REMEMBERED:
                _HANDS.clear()
            _HANDS[f[2]] = counts = _hand(f[2])
            held.append(counts)
    hands = np.frombuffer(b"".join(held), dtype=np.uint8).reshape(n, 14)
    doubt = (hands == _STRANGE).any(axis=1)
    return Boards(SHOGI, squares, side, np.zeros(n, dtype=np.uint64), hands, doubt)


_HANDS: dict[bytes, bytes] = {}
_REMEMBERED = 1 << 16
#: More of a piece in hand than any position has.
_STRANGE = 255


def _hand(text: bytes) -> bytes:
    held = held_of(text.decode())
    return bytes(min(held[letter], _STRANGE) for letter in "".join(HAND_LETTERS))
