"""A substitute for cozy_chess on top of python-chess, for platforms without its wheel.

The demo engine plays the same moves with it, 10 to 100 times slower.
"""

from __future__ import annotations

from typing import NamedTuple

import chess


class Color:
    """The two sides."""

    White = chess.WHITE
    Black = chess.BLACK


class Piece:
    """Piece kinds, numbered as in cozy_chess."""

    Pawn, Knight, Bishop, Rook, Queen, King = range(6)


class Square:
    """Squares, as numbers from a1 = 0."""

    @staticmethod
    def from_index(index: int) -> int:
        return index


class Move(NamedTuple):
    """A move; castling is the king taking its own rook."""

    from_square: int
    to_square: int
    promotion: int | None = None


class PieceMoves:
    """The legal moves of one piece; its length counts a promotion as four moves."""

    __slots__ = ("_count", "from_square", "piece", "to")

    def __init__(self, piece: int, from_square: int) -> None:
        self.piece = piece
        self.from_square = from_square
        #: Target squares as a bitboard.
        self.to = 0
        self._count = 0

    def add(self, target: int) -> None:
        self.to |= 1 << target
        self._count += 1

    def __len__(self) -> int:
        return self._count


class Board:
    """A position, with the used methods of cozy_chess.Board."""

    __slots__ = ("_board",)

    def __init__(self, board: chess.Board | None = None) -> None:
        self._board = chess.Board() if board is None else board

    @classmethod
    def from_fen(cls, fen: str, shredder: bool = False) -> Board:
        """Return the position of a FEN.  Raises ValueError."""
        if len(fen.split()) != 6:
            raise ValueError("a FEN has six fields")
        board = chess.Board(fen)
        if not board.is_valid():
            raise ValueError("not a possible position")
        return cls(board)

    def __copy__(self) -> Board:
        return Board(self._board.copy(stack=False))

    @property
    def halfmove_clock(self) -> int:
        return self._board.halfmove_clock

    def side_to_move(self) -> bool:
        return self._board.turn

    def colors(self, color: bool) -> int:
        return self._board.occupied_co[color]

    def pieces(self, piece: int) -> int:
        return self._board.pieces_mask(piece + 1, True) | self._board.pieces_mask(piece + 1, False)

    def checkers(self) -> int:
        return self._board.checkers_mask()

    def hash_without_ep(self) -> int:
        board = self._board
        return hash(
            (
                board.pawns,
                board.knights,
                board.bishops,
                board.rooks,
                board.queens,
                board.kings,
                board.occupied_co[True],
                board.turn,
                board.clean_castling_rights(),
            )
        )

    def null_move(self) -> Board | None:
        """Return the position with the other side to move, None when in check."""
        if self.checkers():
            return None
        board = self._board.copy(stack=False)
        board.push(chess.Move.null())
        return Board(board)

    def play_unchecked(self, move: Move) -> None:
        promotion = None if move.promotion is None else move.promotion + 1
        board = self._board
        # python-chess accepts castling as the king taking its own rook
        board.push(chess.Move(move.from_square, move.to_square, promotion))

    def generate_piece_moves(self) -> list[PieceMoves]:
        """Return the legal moves, grouped by piece."""
        board = self._board
        groups: dict[int, PieceMoves] = {}
        for move in board.legal_moves:
            source, target = move.from_square, move.to_square
            if board.is_castling(move):
                target = source + 3 if target > source else source - 4
            if source not in groups:
                groups[source] = PieceMoves((board.piece_type_at(source) or 1) - 1, source)
            groups[source].add(target)
        return list(groups.values())
