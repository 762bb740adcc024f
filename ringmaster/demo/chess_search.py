"""Alpha-beta search of the demo chess engine.

Iterative deepening with a quiescence search of captures, promotions and check
evasions; no tables that outlive a move, so that a move depends on the game and
the options alone.  The protocol and the clock belong to the caller, which may
stop the search at any node.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from ringmaster.demo.chess_evaluation import Evaluation
from ringmaster.demo.chess_rules import Bitboards, MoveTable, bitboard_reader, legal_moves
from ringmaster.demo.universal import INFINITY, MATE, Deepening

_MAX_PLY = 96
# Depths of the quiescence search.  Measured in self-play of depth 1: any capture
# for four plies, then recaptures only, and evasions of a check by the first ply
# only, take 47 ms a game where all captures and four plies of evasions take 85.
_EVASION_PLIES = 1
_RECAPTURE_PLIES = 4
_ALL_SQUARES = (1 << 64) - 1


def _pawn_attackers(square: int, forward: int) -> int:
    """Return where pawns attacking `square` stand, if they move `forward`."""
    row = (square >> 3) - forward
    return sum(
        1 << 8 * row + column
        for column in ((square & 7) - 1, (square & 7) + 1)
        if 0 <= row < 8 and 0 <= column < 8
    )


_WHITE_PAWN_ATTACKERS = tuple(_pawn_attackers(square, 1) for square in range(64))
_BLACK_PAWN_ATTACKERS = tuple(_pawn_attackers(square, -1) for square in range(64))


class Search(Deepening):
    """One search of one position.

    moves     the move objects of the rules that made the board
    history   hashes of earlier positions of the game that may occur again
    """

    def __init__(
        self,
        board: Any,
        moves: MoveTable,
        evaluation: Evaluation,
        history: set[int],
        limit: int | None = None,
        on_check: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(limit, on_check)
        self._board = board
        self._white = moves.rules.Color.White
        self._read = bitboard_reader(moves.rules)
        self._moves = moves
        self._evaluation = evaluation
        self._seen = {*history, board.hash_without_ep()}
        self._history: dict[int, int] = {}
        self._bounds: dict[int, int] = {}

    def _root_moves(self) -> list[int]:
        """Return the legal moves, best first by the evaluation after each.

        What a quiet position is worth to the opponent before he moves is kept in
        `_bounds`: a move that leaves him too much needs no search of depth 1.
        """
        board = self._board
        found = []
        for move in legal_moves(board):
            child = board.__copy__()
            child.play_unchecked(self._moves[move])
            groups = child.generate_piece_moves()
            score = self._evaluate(child, self._read(child), groups)
            decided = not groups or child.checkers() or child.halfmove_clock >= 100
            if not decided and child.hash_without_ep() not in self._seen:
                self._bounds[move] = score
            found.append((score, move))
        found.sort()
        return [move for _, move in found]

    def quiesce(self) -> int:
        return self._quiesce(self._board, -INFINITY, INFINITY, 0)

    def static(self) -> int:
        """Return the static evaluation for the side to move."""
        board = self._board
        return self._evaluate(board, self._read(board), board.generate_piece_moves())

    def _evaluate(self, board: Any, bitboards: Bitboards, groups: list[Any]) -> int:
        # Nobody can count the moves of the side that gives check.
        other = board.null_move()
        mobility = 0
        if other is not None:
            mobility = sum(map(len, groups)) - sum(map(len, other.generate_piece_moves()))
        white_to_move = board.side_to_move() == self._white
        return self._evaluation(bitboards, white_to_move, mobility, board.halfmove_clock)

    def _reply(self, move: int, depth: int, beta: int) -> tuple[int, list[int]] | None:
        if depth == 0 and self._bounds.get(move, -INFINITY) >= beta:
            self._count()
            return None
        child = self._board.__copy__()
        child.play_unchecked(self._moves[move])
        return self._node(child, depth, -INFINITY, beta, 1)

    def _node(
        self, board: Any, depth: int, alpha: int, beta: int, ply: int
    ) -> tuple[int, list[int]]:
        """Return the score of `board` for its mover, and the expected line."""
        key = board.hash_without_ep()
        if key in self._seen:
            return 0, []
        if depth <= 0:
            return self._quiesce(board, alpha, beta, ply), []
        self._count()
        groups = board.generate_piece_moves()
        if not groups:
            return (ply - MATE if board.checkers() else 0), []
        if board.halfmove_clock >= 100:
            return 0, []
        moves = self._ordered(board, self._read(board), groups)
        self._seen.add(key)
        best, best_line = -INFINITY, list[int]()
        try:
            for _, move in moves:
                child = board.__copy__()
                child.play_unchecked(self._moves[move])
                score, line = self._node(child, depth - 1, -beta, -alpha, ply + 1)
                score = -score
                if score > best:
                    best, best_line = score, [move, *line]
                    if score > alpha:
                        alpha = score
                    if score >= beta:
                        self._history[move] = self._history.get(move, 0) + depth * depth
                        break
        finally:
            self._seen.discard(key)
        return best, best_line

    def _quiesce(
        self, board: Any, alpha: int, beta: int, ply: int, depth: int = 0, last: int = 0
    ) -> int:
        """Return the score for the mover after captures and promotions.

        depth  plies since the quiescence search began
        last   target square of the move that led here
        """
        self._count()
        groups = board.generate_piece_moves()
        checked = bool(board.checkers())
        if not groups:
            return ply - MATE if checked else 0
        clock = board.halfmove_clock
        if clock >= 100:
            return 0
        bitboards = self._read(board)
        if checked and depth < _EVASION_PLIES:
            best = -INFINITY
            moves = self._ordered(board, bitboards, groups)
        else:
            best = self._evaluate(board, bitboards, groups)
            if best >= beta or ply >= _MAX_PLY:
                return best
            if best > alpha:
                alpha = best
            where = 1 << last if depth >= _RECAPTURE_PLIES else _ALL_SQUARES
            white_to_move = board.side_to_move() == self._white
            moves = self._captures(groups, bitboards, white_to_move, alpha - best, where)
        for _, move in moves:
            child = board.__copy__()
            child.play_unchecked(self._moves[move])
            score = -self._quiesce(child, -beta, -alpha, ply + 1, depth + 1, move >> 6 & 63)
            if score > best:
                best = score
                if score >= beta:
                    break
                if score > alpha:
                    alpha = score
        return best

    def _captures(
        self,
        groups: list[Any],
        bitboards: Bitboards,
        white_to_move: bool,
        wanted: int,
        where: int,
    ) -> list[tuple[int, int]]:
        """Return promising captures and promotions as (order, move), best first.

        wanted  centipawns that a capture has to win to be of use
        where   bitboard of the squares on which captures are wanted
        """
        white, black, pawns, knights, bishops, rooks, _, _ = bitboards
        if white_to_move:
            enemy, attackers = black, _BLACK_PAWN_ATTACKERS
        else:
            enemy, attackers = white, _WHITE_PAWN_ATTACKERS
        enemy_pawns = enemy & pawns
        values = self._evaluation.piece_values
        found = []
        for group in groups:
            targets = int(group.to) & where
            hits = targets & enemy
            kind = index(group.piece)
            if kind == 0:
                promoting = targets & 0xFF000000000000FF
                if promoting:
                    source = index(group.from_square)
                    hits &= ~promoting
                    while promoting:
                        target = (promoting & -promoting).bit_length() - 1
                        promoting &= promoting - 1
                        found.append((10_000, source | target << 6 | 4 << 12))
            if not hits:
                continue
            source = index(group.from_square)
            while hits:
                bit = hits & -hits
                hits ^= bit
                target = bit.bit_length() - 1
                if bit & pawns:
                    gain = values[0]
                elif bit & knights:
                    gain = values[1]
                elif bit & bishops:
                    gain = values[2]
                elif bit & rooks:
                    gain = values[3]
                else:
                    gain = values[4]
                # 150: what a capture may win besides material.
                if gain + 150 < wanted:
                    continue
                if kind < 5 and values[kind] > gain and attackers[target] & enemy_pawns:
                    continue
                found.append((8 * gain - kind, source | target << 6))
        found.sort(reverse=True)
        return found

    def _ordered(
        self, board: Any, bitboards: Bitboards, groups: list[Any]
    ) -> list[tuple[int, int]]:
        """Return all legal moves as (order, move): promising captures, then
        moves that refuted others, then the rest."""
        white_to_move = board.side_to_move() == self._white
        order = {
            move: 1_000_000 + value
            for value, move in self._captures(groups, bitboards, white_to_move, 0, _ALL_SQUARES)
        }
        history = self._history
        found = []
        for group in groups:
            source = index(group.from_square)
            targets = int(group.to)
            pawn = index(group.piece) == 0
            while targets:
                target = (targets & -targets).bit_length() - 1
                targets &= targets - 1
                move = source | target << 6
                if pawn and not 8 <= target < 56:
                    found += [(0, move | kind << 12) for kind in (1, 2, 3)]
                    move |= 4 << 12
                found.append((order.get(move) or history.get(move, 0), move))
        found.sort(reverse=True)
        return found
