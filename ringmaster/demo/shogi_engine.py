"""The demo shogi engine: positions with their evaluation, over USI.

Weights are options, in centipawns per unit.  The evaluation is the sum of weights times
counts; HandBonus multiplies the values of pieces in hand.
"""

from __future__ import annotations

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
_IN_HAND = "PLNSGBR"
#: Single letters for promoted pieces.
_LETTERS = {"+P": "A", "+L": "C", "+N": "D", "+S": "E", "+B": "F", "+R": "H"}
_LETTERS |= {piece.lower(): letter.lower() for piece, letter in _LETTERS.items()}
#: (name of the weight, USI, single letter) of all pieces.
_PIECES = tuple(
    (name, piece, _LETTERS.get(piece, piece))
    for name, pieces in zip(_NAMES, (*_IN_HAND, "+P", "+L +N +S", "+B", "+R"), strict=False)
    for piece in pieces.split()
)
#: For each side: its sign in the counts, and the other side.
_SIDES = {Color.BLACK: (1, Color.WHITE), Color.WHITE: (-1, Color.BLACK)}

#: Centipawns that a capture may gain besides material.
_SURPRISE = 200


class ShogiPosition(Position):
    """A position with its evaluation.

    values  option values by name
    """

    def __init__(self, sfen: str, values: dict[str, int]) -> None:
        self._board = Board(sfen)
        self._values = values
        self._weights = [values[name] for name in _NAMES]
        #: Value in hand as a part of the value on the board.
        self._hand = 1 + values["HandBonus"] / 100
        worth = {PieceType.from_usi(piece): values[name] for name, piece, _ in _PIECES}
        #: Values of captured pieces: the enemy's loss, and a piece in hand.
        self._gains = {
            kind: round(value + self._hand * worth[kind.demote()]) for kind, value in worth.items()
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
        return [move for _, move in self._by_gain(self._board.legal_moves())]

    def captures(self, wanted: int, recaptures: bool) -> list[int]:
        enemies = self._board.pieces_by_color(_SIDES[self._board.turn][1])
        hits = [move for move in self._board.legal_moves() if enemies.test(move.to_sq)]
        if recaptures:
            hits = [move for move in hits if move.to_sq == self._moves[-1].to_sq]
        return [move for gain, move in self._by_gain(hits) if gain >= wanted - _SURPRISE]

    def _by_gain(self, moves: list[Move]) -> list[tuple[int, int]]:
        """Return moves with the values of the captured pieces, the best first."""
        piece_on, gains = self._board.piece_on, self._gains
        gained = [(gains.get(piece_on(m.to_sq).piece_type, 0), m.value) for m in moves]
        return sorted(gained, reverse=True)

    def evaluate(self) -> int:
        score = int(sum(map(mul, self._weights, self._counts())))
        mover = score if self._board.turn == Color.BLACK else -score
        return mover + noise(self._values, self.key())

    def coefficients(self) -> list[float]:
        counts = self._counts()
        # values in hand are not linear in the weights: the slope at the present ones
        in_hand = sum(map(mul, self._weights, self._hand_counts()))
        counts[_NAMES.index("HandBonus")] = in_hand / 100
        return counts

    def _hand_counts(self) -> list[int]:
        """Return the pieces in Black's hand less those in White's."""
        black, white = (self._board.hand_counts(colour) for colour in _SIDES)
        return [black[letter] - white[letter] for letter in _IN_HAND]

    def _counts(self) -> list[float]:
        """Return Black's counts less White's; HandBonus is in the counts of the pieces."""
        board = self._board
        squares = board.to_sfen().partition(" ")[0]
        for piece, letter in _LETTERS.items():
            squares = squares.replace(piece, letter)
        counts = dict.fromkeys(_NAMES, 0.0)
        for name, count in zip(_NAMES, self._hand_counts(), strict=False):
            counts[name] = self._hand * count
        for name, _, letter in _PIECES:
            counts[name] += squares.count(letter) - squares.count(letter.lower())
        for rank, row in enumerate(squares.split("/")):
            generals = row.count("S") + row.count("G")
            others = row.count("s") + row.count("g")
            counts["PawnAdvance"] += (6 - rank) * row.count("P") - (rank - 2) * row.count("p")
            counts["GeneralAdvance"] += (8 - rank) * generals - rank * others
        for colour, (sign, enemy) in _SIDES.items():
            king = board.king_square(colour).value
            file, rank = divmod(king if colour == Color.BLACK else 80 - king, 9)
            if rank >= 7:
                counts["KingShelter"] += sign * abs(file - 4)
            beside = board.attacks_by(colour, PieceType.KING)
            while (square := beside.pop_lsb()) is not None:
                counts["KingDanger"] -= sign * board.is_attacked_by(square, enemy)
        return list(counts.values())


class ShogiEngine(UniversalEngine):
    """The USI engine."""

    game = "shogi"
    protocol = "usi"
    notation = "sfen"
    sides = "bw"
    no_move = "resign"
    # of Fairy-Stockfish, which calls the first mover White
    evaluation_words = "Total evaluation"

    def __init__(self, console: Console) -> None:
        super().__init__(console, WEIGHTS)

    def read(self, position: str) -> ShogiPosition:
        return ShogiPosition(position, self.values)
