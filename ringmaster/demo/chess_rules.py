"""Chess rules of the demo engine, by cozy_chess or `chess_fallback`.

Moves are integers, so that both order them alike: from square | to square << 6 |
promotion << 12, squares from a1 = 0, promotion 0 for none, 1 to 4 for knight, bishop,
rook, queen.  Castling is the king taking its own rook, as in cozy_chess.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import index
from types import ModuleType
from typing import Any

#: (white, black, pawns, knights, bishops, rooks, queens, kings), bit 0 is a1.
Bitboards = tuple[int, int, int, int, int, int, int, int]

_FILES = "abcdefgh"
_PROMOTIONS = " nbrq"


def load() -> ModuleType:
    """Return cozy_chess, or the substitute without its wheel."""
    try:
        return import_module("cozy_chess")
    except ImportError:
        return import_module("ringmaster.demo.chess_fallback")


def bitboard_reader(rules: ModuleType) -> Callable[[Any], Bitboards]:
    """Return a function that reads the eight bitboards of a board of `rules`."""
    white, black = rules.Color.White, rules.Color.Black
    piece = rules.Piece
    pawn, knight, bishop = piece.Pawn, piece.Knight, piece.Bishop
    rook, queen, king = piece.Rook, piece.Queen, piece.King

    def read(board: Any) -> Bitboards:
        colours, pieces = board.colors, board.pieces
        return (
            int(colours(white)),
            int(colours(black)),
            int(pieces(pawn)),
            int(pieces(knight)),
            int(pieces(bishop)),
            int(pieces(rook)),
            int(pieces(queen)),
            int(pieces(king)),
        )

    return read


class MoveTable(dict[int, Any]):
    """Move objects of `rules` by integer move, created on first use."""

    def __init__(self, rules: ModuleType) -> None:
        super().__init__()
        self.rules = rules
        piece = rules.Piece
        self._promotions = (None, piece.Knight, piece.Bishop, piece.Rook, piece.Queen)
        self._square = rules.Square.from_index
        self._move = rules.Move

    def __missing__(self, move: int) -> Any:
        self[move] = result = self._move(
            self._square(move & 63), self._square(move >> 6 & 63), self._promotions[move >> 12]
        )
        return result


def legal_moves(board: Any) -> list[int]:
    """Return all legal moves as integers, in ascending order."""
    moves = []
    for group in board.generate_piece_moves():
        source = index(group.from_square)
        promotes = index(group.piece) == 0
        targets = int(group.to)
        while targets:
            target = (targets & -targets).bit_length() - 1
            targets &= targets - 1
            move = source | target << 6
            if promotes and not 8 <= target < 56:
                moves += [move | kind << 12 for kind in (1, 2, 3, 4)]
            else:
                moves.append(move)
    return sorted(moves)


def uci(move: int, own: int, kings: int) -> str:
    """Return a move in UCI notation, with castling as two steps of the king.

    own, kings  bitboards of the mover's pieces and of all kings
    """
    source, target = move & 63, move >> 6 & 63
    if kings >> source & 1 and own >> target & 1:
        target = source + 2 if target > source else source - 2
    text = f"{square_name(source)}{square_name(target)}"
    return text + _PROMOTIONS[move >> 12] if move >> 12 else text


def parse_uci(text: str, board: Any, bitboards: Bitboards) -> int | None:
    """Return the legal move of a text in UCI notation, or None.

    Castling may also be the king taking its rook.
    """
    if not 4 <= len(text) <= 5:
        return None
    source, target = _square(text[:2]), _square(text[2:4])
    promotion = _PROMOTIONS.find(text[4:], 1) if len(text) == 5 else 0
    if source is None or target is None or promotion < 0:
        return None
    if bitboards[7] >> source & 1 and source in (4, 60) and abs(target - source) == 2:
        target = source + 3 if target > source else source - 4
    move = source | target << 6 | promotion << 12
    return move if move in legal_moves(board) else None


def square_name(square: int) -> str:
    """Return the name of a square, "a1" for 0."""
    return f"{_FILES[square & 7]}{(square >> 3) + 1}"


def _square(name: str) -> int | None:
    column = _FILES.find(name[0])
    if column < 0 or name[1] not in "12345678":
        return None
    return column + 8 * (int(name[1]) - 1)
