"""Whether an SFEN is a position that shogi allows, and what is wrong when it is not.

rsshogi reads a rank of ten squares, a position without kings, and a side that
has left its king in check; so the form and the pieces are looked at here, and
only attacks are left to it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from rsshogi.core import Board
from rsshogi.types import Color

from ringmaster.games.text import shown

START_SFEN: Final = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

_RANK: Final = re.compile(r"(?:[1-9]|\+?[PLNSBRplnsbr]|[GKgk])+")
_SQUARES: Final = re.compile(r"\+?[A-Za-z]|[1-9]")
_HAND: Final = re.compile(r"-|(?:(?:[1-9][0-9]?)?[PLNSGBRplnsgbr])+")
_IN_HAND: Final = re.compile(r"([0-9]*)([A-Za-z])")
_COUNTER: Final = re.compile(r"[0-9]{1,4}")

#: How many there are of a piece, both sides together, in the order of USI's hands.
LIMITS: Final = {"K": 2, "R": 2, "B": 2, "G": 4, "S": 4, "N": 4, "L": 4, "P": 18}
#: The pieces in hand of Black and of White, in the order of USI.
HAND_LETTERS: Final = ("RBGSNLP", "rbgsnlp")
#: English names, by the letter of SFEN.
NAMES: Final = {
    "K": "king",
    "R": "rook",
    "B": "bishop",
    "G": "gold",
    "S": "silver",
    "N": "knight",
    "L": "lance",
    "P": "pawn",
}
#: Ranks, counted from a side's far edge, on which a piece could never move again.
DEAD_RANKS: Final = {"P": 1, "L": 1, "N": 2}


def normalise_sfen(sfen: str) -> str:
    """Return `sfen` as USI writes it: single spaces, hands in the order
    RBGSNLP, Black's first, a move number (1 where none is given).

    Raises ValueError for anything but a legal position with both kings; the
    message does not repeat the SFEN.
    """
    fields = sfen.split()
    if len(fields) == 3:
        fields.append("1")
    if len(fields) != 4:
        raise ValueError(
            f"an SFEN has 4 fields (board, side, hands, move number), this has {len(fields)}"
        )
    board, side, hands, number = fields
    ranks = ranks_of(board)
    if side not in ("b", "w"):
        raise ValueError(f"the side to move is {shown(side)}, not b or w")
    if not _HAND.fullmatch(hands):
        raise ValueError(f"the pieces in hand are {shown(hands)}, not such as 2P, Rb3p or -")
    if not _COUNTER.fullmatch(number):
        raise ValueError(f"the move number is {shown(number)}, not a number of at most 4 digits")
    held = held_of(hands)
    _check_counts(ranks, held)
    _check_placement(ranks)
    position = f"{board} {side} {_hands(held)} {int(number) or 1}"
    _check_attacks(position, side)
    return position


def ranks_of(board: str) -> list[list[str]]:
    """Return the nine ranks from the top, each as nine pieces, "" where there
    is none.  Raises ValueError."""
    rows = board.split("/")
    if len(rows) != 9:
        raise ValueError(f"the board has {len(rows)} rank{'s' * (len(rows) != 1)}, not 9")
    ranks = []
    for letter, row in zip("abcdefghi", rows, strict=True):
        if not _RANK.fullmatch(row):
            raise ValueError(f"rank {letter}, {shown(row)}, has a character that is no piece")
        pieces: list[str] = []
        for item in _SQUARES.findall(row):
            pieces += [""] * int(item) if item.isdigit() else [item]
        if len(pieces) != 9:
            raise ValueError(f"rank {letter}, {shown(row)}, has {len(pieces)} squares, not 9")
        ranks.append(pieces)
    return ranks


def held_of(hands: str) -> Counter[str]:
    """Return how many pieces are in hand by their letters, Black's in upper case."""
    held: Counter[str] = Counter()
    for count, piece in _IN_HAND.findall(hands):
        held[piece] += int(count or 1)
    return held


def _hands(held: Counter[str]) -> str:
    text = ""
    for letters in HAND_LETTERS:
        for piece in letters:
            if count := held[piece]:
                text += (str(count) if count > 1 else "") + piece
    return text or "-"


def _check_counts(ranks: list[list[str]], held: Counter[str]) -> None:
    on_board = Counter(piece.lstrip("+") for rank in ranks for piece in rank if piece)
    for side, king in (("Black", "K"), ("White", "k")):
        if on_board[king] != 1:
            count = on_board[king] or "no"
            raise ValueError(f"{side} has {count} king{'s' * (on_board[king] > 1)}")
    for piece, limit in LIMITS.items():
        count = sum(pieces[p] for pieces in (on_board, held) for p in (piece, piece.lower()))
        if count > limit:
            raise ValueError(f"there are {count} {NAMES[piece]}s, of at most {limit}")


def _check_placement(ranks: list[list[str]]) -> None:
    for file in range(9):
        for side, pawn in (("Black", "P"), ("White", "p")):
            if sum(rank[file] == pawn for rank in ranks) > 1:
                raise ValueError(f"{side} has two pawns on file {9 - file}")
    for piece, count in DEAD_RANKS.items():
        for i in range(count):
            for side, letter, row in (("Black", piece, i), ("White", piece.lower(), 8 - i)):
                if letter in ranks[row]:
                    square = f"{9 - ranks[row].index(letter)}{'abcdefghi'[row]}"
                    raise ValueError(f"{side}'s {NAMES[piece]} on {square} could never move")


def _check_attacks(position: str, side: str) -> None:
    board = Board(position)
    mover, waiting = Color.BLACK, Color.WHITE
    if side == "w":
        mover, waiting = waiting, mover
    if board.is_attacked_by(board.king_square(waiting), mover):
        raise ValueError("the side that is not to move is in check")
