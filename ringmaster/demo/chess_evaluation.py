"""Static evaluation of the demo chess engine, on bitboards.

Weights are options, in centipawns per unit.  Pawn structure is cached.
"""

from __future__ import annotations

from collections.abc import Mapping

from ringmaster.demo.chess_rules import Bitboards
from ringmaster.demo.console import Option

#: The evaluation weights; a comment gives the unit of the weight below it.
WEIGHTS = (
    Option("PawnValue", 100, 20, 300),
    Option("KnightValue", 320, 50, 900),
    Option("BishopValue", 330, 50, 900),
    Option("RookValue", 500, 50, 1400),
    Option("QueenValue", 950, 100, 2500),
    Option("BishopPair", 35, -100, 200),
    # ten more legal moves than the opponent
    Option("Mobility", 40, -200, 400),
    # a pawn or minor piece on c3-f6; twice on d4, e4, d5, e5
    Option("Centre", 8, -40, 80),
    # a rank of a pawn's advance; PassedPawn is added for passed pawns
    Option("PawnAdvance", 3, -40, 60),
    Option("PassedPawn", 12, -40, 80),
    # a rook on a file without own pawns
    Option("OpenFile", 15, -50, 100),
    # a pawn before the own king, with queens on the board
    Option("KingShield", 10, -50, 80),
    # a ring of the king towards the centre, without queens
    Option("KingActivity", 8, -40, 80),
)

#: Random centipawns up to Noise, a function of position and seed.
NOISE = (Option("Noise", 10, 0, 500), Option("Seed", 0, 0, 999_999_999))

_FILE_A = 0x0101010101010101
_NOT_A = 0xFEFEFEFEFEFEFEFE
_NOT_H = 0x7F7F7F7F7F7F7F7F
_ALL = 0xFFFFFFFFFFFFFFFF
_WIDE_CENTRE = 0x00003C3C3C3C0000
_CENTRE = 0x0000001818000000

#: Rings from the rim: 0 on the rim, 3 on the four central squares.
_RING = tuple(min(s & 7, 7 - (s & 7), s >> 3, 7 - (s >> 3)) for s in range(64))
_DISTANCE = tuple(
    tuple(max(abs((a & 7) - (b & 7)), abs((a >> 3) - (b >> 3))) for b in range(64))
    for a in range(64)
)


def _shield(king: int, forward: int) -> int:
    column, row = king & 7, king >> 3
    return sum(
        1 << 8 * r + c
        for c in (column - 1, column, column + 1)
        for r in (row + forward, row + 2 * forward)
        if 0 <= c < 8 and 0 <= r < 8
    )


_SHIELD = tuple(tuple(_shield(s, forward) for s in range(64)) for forward in (1, -1))

# most cached pawn structures: some megabytes
_MAX_STRUCTURES = 20_000

# with so few pieces the evaluation drives a lone king to the rim
_FEW_MEN = 12


class Evaluation:
    """The evaluation function for one set of weights.

    values  option values by name, for all of WEIGHTS and NOISE
    """

    def __init__(self, values: Mapping[str, int]) -> None:
        self.values = dict(values)
        #: Piece values in the order of Bitboards from pawn to queen.
        self.piece_values = tuple(
            values[name]
            for name in ("PawnValue", "KnightValue", "BishopValue", "RookValue", "QueenValue")
        )
        self._pair = values["BishopPair"]
        self._mobility = values["Mobility"]
        self._centre = values["Centre"]
        self._open_file = values["OpenFile"]
        self._shield = values["KingShield"]
        self._activity = values["KingActivity"]
        self._noise = values["Noise"]
        # the odd multiplier spreads neighbouring seeds over the word
        self._seed = values["Seed"] * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D & _ALL
        self._structures: dict[tuple[int, int], tuple[int, int, int]] = {}

    def __call__(
        self, bitboards: Bitboards, white_to_move: bool, mobility: int, halfmove_clock: int
    ) -> int:
        """Return the value for the side to move, in centipawns.

        mobility        legal moves of the side to move minus those of the other side
        halfmove_clock  plies since the last capture or pawn move
        """
        white, black, pawns, knights, bishops, rooks, queens, kings = bitboards
        white_pawns, black_pawns = pawns & white, pawns & black
        structure = self._structures.get((white_pawns, black_pawns))
        if structure is None:
            structure = self._structure(white_pawns, black_pawns)
        score, white_files, black_files = structure
        _, knight, bishop, rook, queen = self.piece_values

        white_bishops = (bishops & white).bit_count()
        black_bishops = (bishops & black).bit_count()
        white_rooks, black_rooks = rooks & white, rooks & black
        score += (
            knight * ((knights & white).bit_count() - (knights & black).bit_count())
            + bishop * (white_bishops - black_bishops)
            + rook * (white_rooks.bit_count() - black_rooks.bit_count())
            + self._pair * ((white_bishops > 1) - (black_bishops > 1))
        )
        if rooks:
            score += self._open_file * (
                (white_rooks & white_files).bit_count() - (black_rooks & black_files).bit_count()
            )
        central = (pawns | knights | bishops) & _WIDE_CENTRE
        if central:
            inner = central & _CENTRE
            score += self._centre * (
                (central & white).bit_count()
                - (central & black).bit_count()
                + (inner & white).bit_count()
                - (inner & black).bit_count()
            )
        white_king = (kings & white).bit_length() - 1
        black_king = (kings & black).bit_length() - 1
        if queens:
            score += queen * (
                (queens & white).bit_count() - (queens & black).bit_count()
            ) + self._shield * (
                (_SHIELD[0][white_king] & white_pawns).bit_count()
                - (_SHIELD[1][black_king] & black_pawns).bit_count()
            )
        else:
            score += self._activity * (_RING[white_king] - _RING[black_king])

        if (white | black).bit_count() <= _FEW_MEN:
            score += _bring_home(bitboards, white_king, black_king)
        if self._noise:
            mixed = (
                white * 0x9E3779B97F4A7C15
                ^ black * 0xC2B2AE3D27D4EB4F
                ^ pawns * 0x165667B19E3779F9
                ^ self._seed
            )
            mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 & _ALL
            score += (mixed >> 32) % (2 * self._noise + 1) - self._noise
        if not white_to_move:
            score = -score
        score += int(self._mobility * mobility / 10)
        if halfmove_clock > 10:
            # the leading side prefers progress to the 50-move rule
            score = int(score * (110 - halfmove_clock) / 100)
        return score

    def _structure(self, white: int, black: int) -> tuple[int, int, int]:
        """Return (score for White, files without white, without black pawns)."""
        files = []
        for pawns in (white, black):
            filled = pawns | pawns >> 32 | pawns << 32
            filled |= filled >> 16 | filled << 16
            filled |= filled >> 8 | filled << 8
            files.append(~filled & _ALL)
        # squares before and diagonally before enemy pawns: no passed pawns there
        down = black >> 8
        down |= down >> 8
        down |= down >> 16
        down |= down >> 32
        down |= (down & _NOT_A) >> 1 | (down & _NOT_H) << 1
        up = white << 8 & _ALL
        up |= up << 8 & _ALL
        up |= up << 16 & _ALL
        up |= up << 32 & _ALL
        up |= (up & _NOT_A) >> 1 | (up & _NOT_H) << 1
        advance = self.values["PawnAdvance"]
        passed = self.values["PassedPawn"]
        score = self.piece_values[0] * (white.bit_count() - black.bit_count())
        score += advance * (_steps(white) - _steps_down(black))
        score += passed * (_steps(white & ~down) - _steps_down(black & ~up))
        if len(self._structures) >= _MAX_STRUCTURES:
            self._structures.clear()
        self._structures[white, black] = structure = (score, files[0], files[1])
        return structure


def _steps(pawns: int) -> int:
    """Return the total advance of white pawns in ranks."""
    return sum((pawns >> shift).bit_count() for shift in (16, 24, 32, 40, 48))


def _steps_down(pawns: int) -> int:
    return sum((pawns << shift & _ALL).bit_count() for shift in (16, 24, 32, 40, 48))


def _bring_home(bitboards: Bitboards, white_king: int, black_king: int) -> int:
    """Return a bonus for White that rewards a cornered king of the weaker side.

    It applies if one side is ahead by at least a rook.
    """
    white, _, pawns, knights, bishops, rooks, queens, _ = bitboards
    ahead = 0
    for pieces, points in ((pawns, 1), (knights | bishops, 3), (rooks, 5), (queens, 9)):
        ahead += points * (2 * (pieces & white).bit_count() - pieces.bit_count())
    if -4 < ahead < 4:
        return 0
    distance = _DISTANCE[white_king][black_king]
    if ahead > 0:
        return 60 * (3 - _RING[black_king]) + 20 * (7 - distance)
    return -60 * (3 - _RING[white_king]) - 20 * (7 - distance)
