"""Legal moves for the search of the chess engine, by cozy_chess or python-chess.

Moves are numbers, so that both libraries order them alike: from square | to square << 6 |
kind << 12.  Squares are numbered from a1 = 0.  The kind is 0, 1 to 4 for a promotion to
knight, bishop, rook or queen, and CASTLING.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from ringmaster.games.chess import HAVE_COZY

CASTLING = 5


class Node(NamedTuple):
    """A position as a search needs it.

    board      the library's board
    bitboards  white, black, pawns, knights, bishops, rooks, queens, kings; bit 0 is a1
    groups     legal moves: `piece` (0 for a pawn), `from_square`, `to`; kings take own rooks
    mobility   legal moves of the side to move less the other side's, 0 in check
    key        a hash of the position without the en-passant square
    clock      plies since the last capture or pawn move
    """

    board: Any
    bitboards: list[int]
    groups: list[Any]
    checked: bool
    mobility: int
    key: int
    clock: int


if HAVE_COZY:
    import cozy_chess as cozy

    _WHITE, _BLACK = cozy.Color.White, cozy.Color.Black
    _PIECES = cozy.Piece.ALL
    _PROMOTIONS = (None, *_PIECES[1:5], None)


class CozyRules:
    """Rules by cozy_chess."""

    def read(self, fen: str) -> Node:
        """Return a valid position; its clock is at most 100."""
        return self._node(cozy.Board.from_fen(fen))

    def play(self, board: Any, move: int) -> Node:
        """Return the position after a legal move; `board` is not changed."""
        after = board.__copy__()
        after.play_unchecked(_cozy_move(move))
        return self._node(after)

    def _node(self, board: Any) -> Node:
        other = board.null_move()
        groups = board.generate_piece_moves()
        moves = sum(map(len, groups))
        pieces = board.pieces
        return Node(
            board,
            [
                int(board.colors(_WHITE)),
                int(board.colors(_BLACK)),
                *[int(pieces(piece)) for piece in _PIECES],
            ],
            groups,
            other is None,
            moves - sum(map(len, other.generate_piece_moves())) if other else 0,
            board.hash_without_ep(),
            board.halfmove_clock,
        )


@cache
def _cozy_move(move: int) -> Any:
    source, target, kind = move & 63, move >> 6 & 63, move >> 12
    if kind == CASTLING:
        target += 1 if target > source else -2
    square = cozy.Square.from_index
    return cozy.Move(square(source), square(target), _PROMOTIONS[kind])


class PlainRules:
    """Rules by python-chess, 10 to 100 times slower; see CozyRules for the contracts."""

    def read(self, fen: str) -> Node:
        import chess

        # in Chess960 a king castles to the square of its rook
        return self._node(chess.Board(fen, chess960=True))

    def play(self, board: Any, move: int) -> Node:
        import chess

        after = board.copy(stack=False)
        kind = move >> 12
        promotion = kind + 1 if 1 <= kind <= 4 else None
        after.push(chess.Move(move & 63, move >> 6 & 63, promotion))
        return self._node(after)

    def _node(self, board: Any) -> Node:
        moves, checked, mobility = list(board.legal_moves), board.is_check(), 0
        targets: dict[int, int] = {}
        for move in moves:
            targets[move.from_square] = targets.get(move.from_square, 0) | 1 << move.to_square
        groups = [
            SimpleNamespace(piece=board.piece_type_at(source) - 1, from_square=source, to=to)
            for source, to in targets.items()
        ]
        if not checked:
            other = board.copy(stack=False)
            other.turn = not board.turn
            other.ep_square = None
            mobility = len(moves) - other.legal_moves.count()
        pieces = [board.bishops, board.rooks, board.queens, board.kings]
        white, black = board.occupied_co[True], board.occupied_co[False]
        bitboards = [white, black, board.pawns, board.knights, *pieces]
        key = hash((*bitboards, board.turn, board.clean_castling_rights()))
        return Node(board, bitboards, groups, checked, mobility, key, board.halfmove_clock)
