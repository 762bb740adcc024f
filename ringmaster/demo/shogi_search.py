"""Alpha-beta search of the demo shogi engine.

Iterative deepening with a quiescence search of captures and check evasions; no
tables that outlive a move, so that a move depends on the game and the options
alone.
"""

from __future__ import annotations

from collections.abc import Callable

from rsshogi.core import Board, Move
from rsshogi.types import Color

from ringmaster.demo.shogi_evaluation import Evaluation
from ringmaster.demo.universal import INFINITY, MATE, Deepening

_MAX_PLY = 64
# Depths of the quiescence search: any capture, then recaptures only; evasions of a
# check by the first ply only.
_EVASION_PLIES = 1
_RECAPTURE_PLIES = 3
#: What a capture may win besides material.
_SURPRISE = 200


class Search(Deepening):
    """One search of one position.

    board     is played on, and as it was in the end
    history   hashes of earlier positions of the game
    """

    def __init__(
        self,
        board: Board,
        evaluation: Evaluation,
        history: set[int],
        limit: int | None = None,
        on_check: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(limit, on_check)
        self._board = board
        self._evaluation = evaluation
        self._seen = {*history, board.zobrist_hash()}
        self._side = 0 if board.turn == Color.BLACK else 1
        self._material = evaluation.material(board)
        self._history: dict[int, int] = {}
        self._moves: dict[int, Move] = {}

    def quiesce(self) -> int:
        return self._quiesce(self._material, -INFINITY, INFINITY, 0, 0, -1)

    def static(self) -> int:
        """Return the static evaluation for the side to move."""
        return self._evaluation(self._board, self._material)

    def _root_moves(self) -> list[int]:
        ordered = self._ordered(self._side)
        self._moves = {move.value: move for _, _, move in ordered}
        return list(self._moves)

    def _reply(self, move: int, depth: int, beta: int) -> tuple[int, list[int]]:
        made = self._moves[move]
        material = self._material + self._evaluation.gain(self._board, made, self._side)
        return self._after(made, -material, depth, -INFINITY, beta, 1)

    def _after(
        self, move: Move, material: int, depth: int, alpha: int, beta: int, ply: int
    ) -> tuple[int, list[int]]:
        """Return the score of the position after a move, for who is to move then."""
        board = self._board
        board.apply_move(move)
        try:
            return self._node(material, depth, alpha, beta, ply, move.to_sq.value)
        finally:
            board.undo_move(move)

    def _node(
        self, material: int, depth: int, alpha: int, beta: int, ply: int, last: int
    ) -> tuple[int, list[int]]:
        board = self._board
        key = board.zobrist_hash()
        if key in self._seen:
            return 0, []
        if depth <= 0:
            return self._quiesce(material, alpha, beta, ply, 0, last), []
        self._count()
        side = self._side if ply % 2 == 0 else 1 - self._side
        moves = self._ordered(side)
        if not moves:
            return ply - MATE, []
        self._seen.add(key)
        best, best_line = -INFINITY, list[int]()
        try:
            for _, gain, move in moves:
                score, line = self._after(move, -material - gain, depth - 1, -beta, -alpha, ply + 1)
                score = -score
                if score > best:
                    best, best_line = score, [move.value, *line]
                    alpha = max(alpha, score)
                    if score >= beta:
                        number = move.value
                        self._history[number] = self._history.get(number, 0) + depth * depth
                        break
        finally:
            self._seen.discard(key)
        return best, best_line

    def _quiesce(
        self, material: int, alpha: int, beta: int, ply: int, depth: int, last: int
    ) -> int:
        """Return the score for the mover after captures.

        depth  plies since the quiescence search began
        last   target square of the move that led here
        """
        self._count()
        board = self._board
        side = self._side if ply % 2 == 0 else 1 - self._side
        if depth < _EVASION_PLIES and board.is_in_check():
            best = -INFINITY
            moves = self._ordered(side)
            if not moves:
                return ply - MATE
        else:
            best = self._evaluation(board, material)
            if best >= beta or ply >= _MAX_PLY:
                return best
            alpha = max(alpha, best)
            where = last if depth >= _RECAPTURE_PLIES else None
            moves = self._captures(side, alpha - best - _SURPRISE, where)
        for _, gain, move in moves:
            board.apply_move(move)
            try:
                score = -self._quiesce(
                    -material - gain, -beta, -alpha, ply + 1, depth + 1, move.to_sq.value
                )
            finally:
                board.undo_move(move)
            if score > best:
                best = score
                if score >= beta:
                    break
                alpha = max(alpha, score)
        return best

    def _captures(self, side: int, wanted: int, where: int | None) -> list[tuple[int, int, Move]]:
        """Return captures as (order, gain, move), best first.

        wanted  centipawns that a capture has to win to be of use
        where   the square on which captures are wanted, None for any
        """
        board, gain_of = self._board, self._evaluation.gain
        found = []
        for move in board.legal_moves():
            if move.is_drop():
                continue
            target = move.to_sq
            if where is not None and target.value != where:
                continue
            if board.is_square_empty(target):
                continue
            gain = gain_of(board, move, side)
            if gain >= wanted:
                found.append((gain, gain, move))
        found.sort(key=_order)
        return found

    def _ordered(self, side: int) -> list[tuple[int, int, Move]]:
        """Return all legal moves as (order, gain, move), best first."""
        board, gain_of, history = self._board, self._evaluation.gain, self._history
        found = []
        for move in board.legal_moves():
            gain = gain_of(board, move, side)
            found.append((8 * gain + history.get(move.value, 0), gain, move))
        found.sort(key=_order)
        return found


def _order(item: tuple[int, int, Move]) -> tuple[int, int]:
    """The most promising first; of equals the one with the smaller number."""
    return -item[0], item[2].value
