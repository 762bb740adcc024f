"""Static evaluation of the demo shogi engine.

Material, hands and where pieces stand are kept up to date move by move; only the
safety of the kings is looked at anew.  Weights are options, in centipawns a unit of
what they weigh, so that each of them is worth tuning.  Search is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from rsshogi.core import Board, Move
from rsshogi.types import Color, PieceType, Square

from ringmaster.demo.options import Option

#: The evaluation weights, and what one unit of each is.
WEIGHTS = (
    Option("PawnValue", 100, 10, 500),
    Option("LanceValue", 270, 10, 1000),
    Option("KnightValue", 300, 10, 1000),
    Option("SilverValue", 460, 10, 1400),
    Option("GoldValue", 520, 10, 1400),
    Option("BishopValue", 800, 50, 2500),
    Option("RookValue", 950, 50, 2500),
    Option("PromotedPawnValue", 480, 10, 1400),
    # Promoted lances, knights and silvers.
    Option("PromotedMinorValue", 510, 10, 1400),
    Option("HorseValue", 1050, 50, 3000),
    Option("DragonValue", 1250, 50, 3000),
    # Percent that a piece in hand is worth more than one on the board.
    Option("HandBonus", 8, -50, 100),
    # A rank that a pawn has advanced; that a silver or gold has.
    Option("PawnAdvance", 3, -40, 60),
    Option("GeneralAdvance", 4, -40, 60),
    # A file between the king and the middle one, on its first two ranks.
    Option("KingShelter", 15, -60, 120),
    # A square beside the king that the opponent attacks.
    Option("KingDanger", 20, -60, 200),
)

#: A random amount of up to so many centipawns, fixed for a position and seed.
NOISE = (Option("Noise", 10, 0, 500), Option("Seed", 0, 0, 999_999_999))

_PAWN, _LANCE, _KNIGHT, _SILVER = (
    t.value for t in (PieceType.PAWN, PieceType.LANCE, PieceType.KNIGHT, PieceType.SILVER)
)
_BISHOP, _ROOK, _GOLD, _KING = (
    t.value for t in (PieceType.BISHOP, PieceType.ROOK, PieceType.GOLD, PieceType.KING)
)
#: What promotion adds to a piece type's number.
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
        # The odd multiplier spreads neighbouring seeds over the word.
        self._seed = values["Seed"] * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D & _ALL

    @staticmethod
    def _at(values: Mapping[str, int], worth: list[int], piece: int, square: int) -> int:
        """Return what a piece of Black's is worth on a square."""
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
        """Return all but the safety of the kings, for the side to move."""
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
        """Return what a legal move changes of `material`, for the mover."""
        own = self.board[side]
        to = move.to_sq
        dropped = move.dropped_piece_type
        if dropped is not None:
            return own[dropped.value][to.value] - self.hand[dropped.value]
        origin = move.from_sq
        piece = board.piece_on(origin).piece_type.value
        arrived = piece + _PROMOTED if move.is_promotion() else piece
        gain = own[arrived][to.value] - own[piece][origin.value]
        taken = board.piece_on(to).piece_type.value
        if taken:
            base = taken - _PROMOTED if taken > _KING else taken
            gain += self.board[1 - side][taken][to.value] + self.hand[base]
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
