"""The demo chess engine: alpha-beta search, and positions and moves of UCI.

The quiescence search covers captures, promotions and check evasions.  No table outlives
a move, so a move depends on the game and the options only.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from types import ModuleType
from typing import Any, ClassVar

from ringmaster.demo import chess_rules
from ringmaster.demo.chess_evaluation import NOISE, WEIGHTS, Evaluation
from ringmaster.demo.chess_rules import Bitboards, MoveTable, bitboard_reader, legal_moves
from ringmaster.demo.console import Console
from ringmaster.demo.universal import INFINITY, MATE, Deepening, Limits, UniversalEngine

_MAX_PLY = 96
# Depths of the quiescence search: all captures for four plies, then recaptures; evasions
# at the first ply.  Self-play at depth 1 takes 47 ms a game, with all captures and four
# plies of evasions 85 ms.
_EVASION_PLIES = 1
_RECAPTURE_PLIES = 4
_ALL_SQUARES = (1 << 64) - 1


def _pawn_attackers(square: int, forward: int) -> int:
    """Return the squares of pawns that attack `square` and move `forward`."""
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
    history   hashes of earlier positions that can be repeated
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

        `_bounds` stores the evaluation of quiet positions for the opponent; a move that
        leaves a high one needs no search at depth 1.
        """
        board = self._board
        moves = []
        for move in legal_moves(board):
            child = board.__copy__()
            child.play_unchecked(self._moves[move])
            groups = child.generate_piece_moves()
            score = self._evaluate(child, self._read(child), groups)
            decided = not groups or child.checkers() or child.halfmove_clock >= 100
            if not decided and child.hash_without_ep() not in self._seen:
                self._bounds[move] = score
            moves.append((score, move))
        moves.sort()
        return [move for _, move in moves]

    def quiesce(self) -> int:
        return self._quiesce(self._board, -INFINITY, INFINITY, 0)

    def static(self) -> int:
        """Return the static evaluation for the side to move."""
        board = self._board
        return self._evaluate(board, self._read(board), board.generate_piece_moves())

    def _evaluate(self, board: Any, bitboards: Bitboards, groups: list[Any]) -> int:
        # in check there is no null move to count the other side's moves
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

        wanted  least useful gain of a capture, centipawns
        where   bitboard of target squares
        """
        white, black, pawns, knights, bishops, rooks, _, _ = bitboards
        if white_to_move:
            enemy, attackers = black, _BLACK_PAWN_ATTACKERS
        else:
            enemy, attackers = white, _WHITE_PAWN_ATTACKERS
        enemy_pawns = enemy & pawns
        values = self._evaluation.piece_values
        moves = []
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
                        moves.append((10_000, source | target << 6 | 4 << 12))
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
                # a capture may gain 150 besides material
                if gain + 150 < wanted:
                    continue
                if kind < 5 and values[kind] > gain and attackers[target] & enemy_pawns:
                    continue
                moves.append((8 * gain - kind, source | target << 6))
        moves.sort(reverse=True)
        return moves

    def _ordered(
        self, board: Any, bitboards: Bitboards, groups: list[Any]
    ) -> list[tuple[int, int]]:
        """Return all legal moves as (order, move): good captures, killers, then the rest."""
        white_to_move = board.side_to_move() == self._white
        order = {
            move: 1_000_000 + value
            for value, move in self._captures(groups, bitboards, white_to_move, 0, _ALL_SQUARES)
        }
        history = self._history
        moves = []
        for group in groups:
            source = index(group.from_square)
            targets = int(group.to)
            pawn = index(group.piece) == 0
            while targets:
                target = (targets & -targets).bit_length() - 1
                targets &= targets - 1
                move = source | target << 6
                if pawn and not 8 <= target < 56:
                    moves += [(0, move | kind << 12) for kind in (1, 2, 3)]
                    move |= 4 << 12
                moves.append((order.get(move) or history.get(move, 0), move))
        moves.sort(reverse=True)
        return moves


START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


class ChessEngine(UniversalEngine):
    """The UCI engine.

    rules  cozy_chess or its substitute; None selects it
    """

    protocol: ClassVar[str] = "uci"
    notation: ClassVar[str] = "fen"
    start: ClassVar[str] = START
    evaluation_words: ClassVar[str] = "Final evaluation"

    def __init__(self, console: Console, rules: ModuleType | None = None) -> None:
        self._rules = chess_rules.load() if rules is None else rules
        self._read = chess_rules.bitboard_reader(self._rules)
        self._moves = chess_rules.MoveTable(self._rules)
        super().__init__(console, WEIGHTS, NOISE)

    def _evaluation_of(self, values: dict[str, int]) -> Evaluation:
        return Evaluation(values)

    def _search(self, limits: Limits, on_check: Callable[[], None]) -> Search:
        return Search(
            self._board,
            self._moves,
            self._function(),
            self._history,
            limits.get("nodes"),
            on_check,
        )

    def _static(self, evaluation: Evaluation) -> int:
        score = Search(self._board, self._moves, evaluation, set()).static()
        return score if self._colour() == "w" else -score

    def _in_check(self) -> bool:
        return bool(self._board.checkers())

    def _any_move(self) -> str:
        return self._names(chess_rules.legal_moves(self._board)[:1]) or self._nothing()

    def _colour(self) -> str:
        return "w" if self._board.side_to_move() == self._rules.Color.White else "b"

    def _set_up(self, position: str) -> None:
        try:
            self._board: Any = self._rules.Board.from_fen(position, False)
        except Exception as error:
            raise ValueError(str(error)) from None

    def _play(self, text: str) -> bool:
        move = chess_rules.parse_uci(text, self._board, self._read(self._board))
        if move is None:
            return False
        self._history.add(self._board.hash_without_ep())
        self._board.play_unchecked(self._moves[move])
        if self._board.halfmove_clock == 0:
            self._history = set()
        return True

    def _complete(self, fields: list[str]) -> str:
        """Return a FEN with both counters, which EPD lacks, clipped to their ranges."""
        counters = []
        counter_fields = [*fields, "", ""][4:6]
        for counter, default, most in zip(counter_fields, (0, 1), (100, 9999), strict=False):
            if counter.isdecimal() and len(counter) < 9:
                counter = str(min(max(int(counter), default), most))
            counters.append(counter or str(default))
        return " ".join([*fields[:4], *counters, *fields[6:]])

    def _names(self, line: list[int]) -> str:
        """Return moves from the present position in UCI notation."""
        board = self._board.__copy__()
        names = []
        for move in line:
            bitboards = self._read(board)
            own = bitboards[0 if board.side_to_move() == self._rules.Color.White else 1]
            names.append(chess_rules.uci(move, own, bitboards[7]))
            board.play_unchecked(self._moves[move])
        return " ".join(names)
