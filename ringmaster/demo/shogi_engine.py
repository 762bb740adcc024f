"""The demo shogi engine: positions with their evaluation, over USI.

Weights are options, in centipawns per unit.  The evaluation is the sum of weights times
counts; HandBonus multiplies the values of pieces in hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import mul

from rsshogi.core import Board, Move
from rsshogi.types import Color, PieceType

from ringmaster.demo.console import Console, Option, noise
from ringmaster.demo.search import Position
from ringmaster.demo.universal import UniversalEngine

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
_NAMES = tuple(option.name for option in WEIGHTS)
#: Names of the values of all pieces but the king.
_VALUES = dict(zip((*"PLNSGBR", "+P", "+L", "+B", "+R"), _NAMES, strict=False))
_VALUES |= dict.fromkeys(("+N", "+S"), "PromotedMinorValue")
#: The row of the pieces in hand, after those of the ranks.
_HANDS = 9
#: For each side: its sign in the counts, and the other side.
_SIDES = {Color.BLACK: (1, Color.WHITE), Color.WHITE: (-1, Color.BLACK)}

#: The bits of a move's target square.
_SQUARE = 127
#: Centipawns that a capture may gain besides material.
_SURPRISE = 200


class ShogiPosition(Position):
    """A position with its evaluation.

    values  option values by name
    """

    def __init__(self, sfen: str, values: dict[str, int]) -> None:
        self._board = Board(sfen)
        self._values = values
        self._weights = tuple(values[name] for name in _NAMES)
        self._value_of = _row_values(self._weights)
        #: Value in hand as a part of the value on the board.
        self._hand = 1 + values["HandBonus"] / 100
        #: Gains of captures: the enemy's loss, and about as much in hand.
        self._gains = {
            PieceType.from_usi(piece): 2 * values[name] for piece, name in _VALUES.items()
        }
        self._moves: list[Move] = []

    def key(self) -> int:
        return int(self._board.zobrist_hash())

    def in_check(self) -> bool:
        return self._board.is_in_check()

    def play(self, move: int) -> None:
        self._moves.append(Move(move))
        self._board.apply_move(self._moves[-1])

    def undo(self) -> None:
        self._board.undo_move(self._moves.pop())

    @staticmethod
    def name(move: int) -> str:
        return Move(move).to_usi()

    def moves(self) -> list[int]:
        return [move.value for move in self._board.legal_moves()]

    def captures(self, wanted: int, last: int | None) -> list[int]:
        enemy = int(self._board.pieces_by_color(_SIDES[self._board.turn][1]))
        where = enemy if last is None else 1 << (last & _SQUARE)
        hits = [move for move in self._board.legal_moves() if where >> (move.value & _SQUARE) & 1]
        piece_on, gains = self._board.piece_on, self._gains
        gained = [(gains[piece_on(move.to_sq).piece_type], move.value) for move in hits]
        return [move for gain, move in sorted(gained, reverse=True) if gain >= wanted - _SURPRISE]

    def evaluate(self) -> int:
        on_board_and_in_hand = sum(map(self._value_of, range(10), self._rows()))
        score = int(on_board_and_in_hand + self._values["KingDanger"] * self._danger())
        mover = score if self._board.turn == Color.BLACK else -score
        return mover + noise(self._values, self.key())

    def coefficients(self) -> list[float]:
        *ranks, in_hand = map(_counts, range(10), self._rows())
        on_board = map(sum, zip(*ranks, strict=True))
        counts = [a + self._hand * b for a, b in zip(on_board, in_hand, strict=True)]
        # values in hand are not linear in the weights: the slope at the present ones
        counts[_NAMES.index("HandBonus")] = sum(map(mul, self._weights, in_hand)) / 100
        counts[_NAMES.index("KingDanger")] = self._danger()
        return counts

    def _rows(self) -> list[str]:
        """Return the nine ranks and the hands as in SFEN."""
        squares, _, hands, _ = self._board.to_sfen().split(" ")
        return [*squares.split("/"), hands]

    def _danger(self) -> int:
        """Return the attacked squares beside White's king less those beside Black's."""
        board = self._board
        danger = 0
        for colour, (sign, enemy) in _SIDES.items():
            beside = board.attacks_by(colour, PieceType.KING)
            while (square := beside.pop_lsb()) is not None:
                danger -= sign * board.is_attacked_by(square, enemy)
        return danger


@lru_cache(4)
def _row_values(weights: tuple[int, ...]) -> Callable[[int, str], float]:
    """Return a function that evaluates one of a position's rows for Black, without KingDanger."""
    hand = 1 + weights[_NAMES.index("HandBonus")] / 100

    # a move changes two or three rows; some megabytes
    @lru_cache(50_000)
    def value(rank: int, row: str) -> float:
        return float(sum(map(mul, weights, _counts(rank, row))) * (hand if rank == _HANDS else 1))

    return value


def _counts(rank: int, row: str) -> list[int]:
    """Return Black's counts less White's in a row of an SFEN, in the order of WEIGHTS.

    rank  from 0 for White's first to 8, or _HANDS
    """
    counts = dict.fromkeys(_NAMES, 0)
    file = -1
    for number, letters in re.findall(r"([0-9]*)(\+?[a-zA-Z])", row):
        piece = letters.upper()
        sign, to_go = (1, rank) if piece == letters else (-1, 8 - rank)
        file += 1 + int(number or 0)
        if rank == _HANDS:
            counts[_VALUES[piece]] += sign * int(number or 1)
            continue
        if piece != "K":
            counts[_VALUES[piece]] += sign
        elif to_go >= 7:
            counts["KingShelter"] += sign * abs(file - 4)
        if piece == "P":
            counts["PawnAdvance"] += sign * (6 - to_go)
        elif piece in ("S", "G"):
            counts["GeneralAdvance"] += sign * (8 - to_go)
    return list(counts.values())


class ShogiEngine(UniversalEngine):
    game = "shogi"
    protocol = "usi"
    notation = "sfen"
    no_move = "resign"
    # of Fairy-Stockfish, which calls the first mover White
    evaluation_words = "Total evaluation"

    def __init__(self, console: Console) -> None:
        super().__init__(console, WEIGHTS)

    def _read(self) -> ShogiPosition:
        return ShogiPosition(self._game.position(), self.values)
