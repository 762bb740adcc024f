"""The demo shogi engine: evaluation, alpha-beta search, and positions and moves of USI.

Weights are options, in centipawns per unit.  Material, hands and squares are updated move
by move.  No table outlives a move, so a move depends on the game and the options only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from rsshogi.core import Board, Move
from rsshogi.types import Color, PieceType, Square

from ringmaster.demo.console import Console, Option
from ringmaster.demo.universal import INFINITY, MATE, Deepening, Limits, UniversalEngine

#: The evaluation weights; a comment explains the weights below it.
WEIGHTS = (
    Option("PawnValue", 100, 10, 500),
    Option("LanceValue", 270, 10, 1000),
    Option("KnightValue", 300, 10, 1000),
    Option("SilverValue", 460, 10, 1400),
    Option("GoldValue", 520, 10, 1400),
    Option("BishopValue", 800, 50, 2500),
    Option("RookValue", 950, 50, 2500),
    Option("PromotedPawnValue", 480, 10, 1400),
    # promoted lances, knights and silvers
    Option("PromotedMinorValue", 510, 10, 1400),
    Option("HorseValue", 1050, 50, 3000),
    Option("DragonValue", 1250, 50, 3000),
    # extra value of a piece in hand, percent
    Option("HandBonus", 8, -50, 100),
    # a rank of advance of a pawn; of a silver or gold
    Option("PawnAdvance", 3, -40, 60),
    Option("GeneralAdvance", 4, -40, 60),
    # a file between the king and the middle file, on its first two ranks
    Option("KingShelter", 15, -60, 120),
    # a square beside the king under attack
    Option("KingDanger", 20, -60, 200),
)

#: Random centipawns up to Noise, a function of position and seed.
NOISE = (Option("Noise", 10, 0, 500), Option("Seed", 0, 0, 999_999_999))

_PAWN, _LANCE, _KNIGHT, _SILVER = (
    t.value for t in (PieceType.PAWN, PieceType.LANCE, PieceType.KNIGHT, PieceType.SILVER)
)
_BISHOP, _ROOK, _GOLD, _KING = (
    t.value for t in (PieceType.BISHOP, PieceType.ROOK, PieceType.GOLD, PieceType.KING)
)
#: Difference between the numbers of promoted and unpromoted piece types.
_PROMOTED = PieceType.PRO_PAWN.value - _PAWN
_TYPES = 16
_SQUARES = 81
_ALL = 0xFFFFFFFFFFFFFFFF

_SQUARE = tuple(Square.from_index(index) for index in range(_SQUARES))
_HANDS = (
    ("P", _PAWN),
    ("L", _LANCE),
    ("N", _KNIGHT),
    ("S", _SILVER),
    ("B", _BISHOP),
    ("R", _ROOK),
    ("G", _GOLD),
)


def _beside(square: int) -> tuple[Square, ...]:
    file, rank = divmod(square, 9)
    return tuple(
        _SQUARE[9 * f + r]
        for f in (file - 1, file, file + 1)
        for r in (rank - 1, rank, rank + 1)
        if 0 <= f < 9 and 0 <= r < 9 and (f, r) != (file, rank)
    )


_BESIDE = tuple(_beside(square) for square in range(_SQUARES))


class Evaluation:
    """The evaluation function for one set of weights.

    values  option values by name, for all of WEIGHTS and NOISE
    """

    def __init__(self, values: Mapping[str, int]) -> None:
        minor = values["PromotedMinorValue"]
        worth = [0] * _TYPES
        worth[_PAWN], worth[_LANCE] = values["PawnValue"], values["LanceValue"]
        worth[_KNIGHT], worth[_SILVER] = values["KnightValue"], values["SilverValue"]
        worth[_GOLD] = values["GoldValue"]
        worth[_BISHOP], worth[_ROOK] = values["BishopValue"], values["RookValue"]
        worth[_PAWN + _PROMOTED] = values["PromotedPawnValue"]
        for piece in (_LANCE, _KNIGHT, _SILVER):
            worth[piece + _PROMOTED] = minor
        worth[_BISHOP + _PROMOTED] = values["HorseValue"]
        worth[_ROOK + _PROMOTED] = values["DragonValue"]
        #: Values in hand, by piece type.
        self.hand = [value * (100 + values["HandBonus"]) // 100 for value in worth]
        black = [[self._at(values, worth, t, s) for s in range(_SQUARES)] for t in range(_TYPES)]
        white = [list(reversed(table)) for table in black]
        #: Values on the board, by side (Black's first), piece type and square.
        self.board = (black, white)
        self._danger = values["KingDanger"]
        self._noise = values["Noise"]
        # the odd multiplier spreads neighbouring seeds over the word
        self._seed = values["Seed"] * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D & _ALL

    @staticmethod
    def _at(values: Mapping[str, int], worth: list[int], piece: int, square: int) -> int:
        """Return the value of a black piece on a square."""
        file, rank = divmod(square, 9)
        if piece == _KING:
            return values["KingShelter"] * abs(file - 4) if rank >= 7 else 0
        value = worth[piece]
        if piece == _PAWN:
            value += values["PawnAdvance"] * (6 - rank)
        elif piece in (_SILVER, _GOLD):
            value += values["GeneralAdvance"] * (8 - rank)
        return value

    def material(self, board: Board) -> int:
        """Return the evaluation without king safety, for the side to move."""
        totals = [0, 0]
        for square, piece in board.iter_pieces():
            side = 0 if piece.color == Color.BLACK else 1
            totals[side] += self.board[side][piece.piece_type.value][square.value]
        for side, colour in enumerate((Color.BLACK, Color.WHITE)):
            counts = board.hand_counts(colour)
            totals[side] += sum(self.hand[piece] * counts[name] for name, piece in _HANDS)
        score = totals[0] - totals[1]
        return score if board.turn == Color.BLACK else -score

    def gain(self, board: Board, move: Move, side: int) -> int:
        """Return the change of `material` by a legal move, for the mover."""
        own = self.board[side]
        to = move.to_sq
        dropped = move.dropped_piece_type
        if dropped is not None:
            return own[dropped.value][to.value] - self.hand[dropped.value]
        origin = move.from_sq
        piece = board.piece_on(origin).piece_type.value
        arrived = piece + _PROMOTED if move.is_promotion() else piece
        gain = own[arrived][to.value] - own[piece][origin.value]
        captured = board.piece_on(to).piece_type.value
        if captured:
            base = captured - _PROMOTED if captured > _KING else captured
            gain += self.board[1 - side][captured][to.value] + self.hand[base]
        return gain

    def __call__(self, board: Board, material: int) -> int:
        """Return the value for the side to move, in centipawns, from its `material`."""
        mover = board.turn
        other = Color.WHITE if mover == Color.BLACK else Color.BLACK
        score = material
        if self._danger:
            attacked = board.is_attacked_by
            for square in _BESIDE[board.king_square(mover).value]:
                if attacked(square, other):
                    score -= self._danger
            for square in _BESIDE[board.king_square(other).value]:
                if attacked(square, mover):
                    score += self._danger
        if self._noise:
            mixed = (board.zobrist_hash() ^ self._seed) * 0x9E3779B97F4A7C15 & _ALL
            mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 & _ALL
            score += (mixed >> 32) % (2 * self._noise + 1) - self._noise
        return score


_MAX_PLY = 64
# Depths of the quiescence search: all captures, then recaptures; evasions at the first
# ply.
_EVASION_PLIES = 1
_RECAPTURE_PLIES = 3
#: Possible gain of a capture besides material.
_SURPRISE = 200


class Search(Deepening):
    """One search of one position.

    board     changed during the search, restored at its end
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
        shogi_move = self._moves[move]
        material = self._material + self._evaluation.gain(self._board, shogi_move, self._side)
        return self._after(shogi_move, -material, depth, -INFINITY, beta, 1)

    def _after(
        self, move: Move, material: int, depth: int, alpha: int, beta: int, ply: int
    ) -> tuple[int, list[int]]:
        """Return the score after a move, for the side to move then."""
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

        wanted  least useful gain of a capture, centipawns
        where   target square, None for any
        """
        board, gain_of = self._board, self._evaluation.gain
        moves = []
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
                moves.append((gain, gain, move))
        moves.sort(key=_order)
        return moves

    def _ordered(self, side: int) -> list[tuple[int, int, Move]]:
        """Return all legal moves as (order, gain, move), best first."""
        board, gain_of, history = self._board, self._evaluation.gain, self._history
        moves = []
        for move in board.legal_moves():
            gain = gain_of(board, move, side)
            moves.append((8 * gain + history.get(move.value, 0), gain, move))
        moves.sort(key=_order)
        return moves


def _order(item: tuple[int, int, Move]) -> tuple[int, int]:
    """Return a sort key: best first, then by number."""
    return -item[0], item[2].value


START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


class ShogiEngine(UniversalEngine):
    """The USI engine."""

    protocol: ClassVar[str] = "usi"
    notation: ClassVar[str] = "sfen"
    start: ClassVar[str] = START
    # of Fairy-Stockfish, which calls the first mover White
    evaluation_words: ClassVar[str] = "Total evaluation"

    def __init__(self, console: Console) -> None:
        super().__init__(console, WEIGHTS, NOISE)

    def _evaluation_of(self, values: dict[str, int]) -> Evaluation:
        return Evaluation(values)

    def _set_up(self, position: str) -> None:
        board = Board()
        board.set_sfen(position)
        if not board.is_valid():
            raise ValueError("not a position of a game")
        self._board = board

    def _play(self, text: str) -> bool:
        move = next((m for m in self._board.legal_moves() if m.to_usi() == text), None)
        if move is None:
            return False
        self._history.add(self._board.zobrist_hash())
        self._board.apply_move(move)
        return True

    def _search(self, limits: Limits, on_check: Callable[[], None]) -> Search:
        nodes = limits.get("nodes")
        return Search(self._board, self._function(), self._history, nodes, on_check)

    def _static(self, evaluation: Evaluation) -> int:
        score = Search(self._board, evaluation, set()).static()
        return score if self._colour() == "b" else -score

    def _in_check(self) -> bool:
        return self._board.is_in_check()

    def _any_move(self) -> str:
        move = next(iter(self._board.legal_moves()), None)
        return self._nothing() if move is None else move.to_usi()

    def _colour(self) -> str:
        return "b" if self._board.turn == Color.BLACK else "w"

    def _nothing(self) -> str:
        return "resign"

    def _names(self, line: list[int]) -> str:
        return " ".join(Move(number).to_usi() for number in line)
