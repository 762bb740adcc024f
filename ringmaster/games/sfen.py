"""Check and normalise positions of shogi in SFEN.

rsshogi checks pieces and their placement.  This module also checks the form, which rsshogi
takes more liberally, and that the side to move cannot capture the king.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from rsshogi.core import Board, ValidationIssue

from ringmaster.games.clean_text import shown

START_SFEN: Final = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

_RANK: Final = re.compile(r"(?:[1-9]|\+?[PLNSBRplnsbr]|[GKgk])+")
_SQUARES: Final = re.compile(r"\+?[A-Za-z]|[1-9]")
_HAND: Final = re.compile(r"-|(?:(?:[1-9][0-9]?)?[PLNSGBRplnsgbr])+")
_IN_HAND: Final = re.compile(r"([0-9]*)([A-Za-z])")
_COUNTER: Final = re.compile(r"[0-9]{1,4}")

#: Letters of Black's and White's pieces in hand, in the order of USI.
HAND_LETTERS: Final = ("RBGSNLP", "rbgsnlp")
#: English names by letter.
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
#: Number of ranks at the far edge on which a piece could never move again.
DEAD_RANKS: Final = {"P": 1, "L": 1, "N": 2}


def normalise_sfen(sfen: str) -> str:
    """Return `sfen` in USI's form.

    It has single spaces, hands in the order RBGSNLP with Black's first, and a move number
    (default 1).

    Raises ValueError for anything but a legal position with both kings.  The message does
    not repeat the SFEN.
    """
    fields = sfen.split()
    if len(fields) == 3:
        fields.append("1")
    if len(fields) != 4:
        raise ValueError(
            f"an SFEN has 4 fields (board, side, hands, move number), this has {len(fields)}"
        )
    board, side, hands, number = fields
    _check_board(board)
    if side not in ("b", "w"):
        raise ValueError(f"the side to move is {shown(side)}, not b or w")
    if not _HAND.fullmatch(hands):
        raise ValueError(f"the pieces in hand are {shown(hands)}, not such as 2P, Rb3p or -")
    if not _COUNTER.fullmatch(number):
        raise ValueError(f"the move number is {shown(number)}, not a number of at most 4 digits")
    position = Board(f"{board} {side} {hands} {int(number) or 1}")
    for issue in position.validate_all().issues:
        raise ValueError(_in_words(issue))
    turn = position.turn
    if position.is_attacked_by(position.king_square(turn.flip()), turn):
        raise ValueError("the side that is not to move is in check")
    return position.to_sfen()


def _in_words(issue: ValidationIssue) -> str:
    """Return the message for a fault that rsshogi has found."""
    side = "Black" if issue.color is not None and issue.color.is_black() else "White"
    name = "" if issue.piece_type is None else NAMES[issue.piece_type.to_usi()]
    match issue.kind:
        case "NO_KING":
            return f"{side} has no king"
        case "TWO_KINGS":
            return f"{side} has more than one king"
        case "DOUBLE_PAWN":
            return f"{side} has two pawns on file {issue.file_usi}"
        case "EXCESSIVE_PIECE_COUNT":
            return f"there are {issue.count} {name}s, of at most {issue.limit}"
        case "INVALID_PLACEMENT" if issue.square is not None:
            return f"a {name} on {issue.square.to_usi()} could never move"
    return issue.message


def _check_board(board: str) -> None:
    """Raise ValueError for a board without nine ranks of nine squares."""
    rows = board.split("/")
    if len(rows) != 9:
        raise ValueError(f"the board has {len(rows)} rank{'s' * (len(rows) != 1)}, not 9")
    for letter, row in zip("abcdefghi", rows, strict=True):
        if not _RANK.fullmatch(row):
            raise ValueError(f"rank {letter}, {shown(row)}, has an invalid character")
        squares = sum(int(item) if item.isdigit() else 1 for item in _SQUARES.findall(row))
        if squares != 9:
            raise ValueError(f"rank {letter}, {shown(row)}, has {squares} squares, not 9")


def held_of(hands: str) -> Counter[str]:
    """Return the number of pieces in hand by letter, Black's in upper case."""
    held: Counter[str] = Counter()
    for count, piece in _IN_HAND.findall(hands):
        held[piece] += int(count or 1)
    return held
