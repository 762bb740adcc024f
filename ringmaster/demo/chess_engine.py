"""The demo chess engine: positions with their evaluation, over UCI.

Weights are options, in centipawns per unit.  The evaluation is the sum of weights times
counts, apart from the drive of a lone king to the rim, and shrinks with the 50-move clock.

Legal moves come from cozy_chess or python-chess.  Moves are numbers, so that both libraries order
them alike: from square | to square << 6 | kind << 12.  Squares are numbered from a1 = 0.  The
kind is 0, 1 to 4 for a promotion to knight, bishop, rook or queen, and CASTLING.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from operator import index, mul
from types import SimpleNamespace
from typing import Any, NamedTuple

from ringmaster.demo.console import Console, Option, noise
from ringmaster.demo.search import Position
from ringmaster.demo.universal import UniversalEngine
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
)

_NAMES = [file + rank for rank in "12345678" for file in "abcdefgh"]
_NOT_A = 0xFEFEFEFEFEFEFEFE
_NOT_H = 0x7F7F7F7F7F7F7F7F
_FILE_A = 0x0101010101010101
_LAST_RANKS = 0xFF000000000000FF
_WIDE_CENTRE = 0x00003C3C3C3C0000
_CENTRE = 0x0000001818000000
#: Squares before a square, on its file and beside it; and rings from 0 on the rim to 3.
_FRONT = tuple(
    sum(1 << q for q in range(64) if abs((q & 7) - (s & 7)) <= 1 and q >> 3 > s >> 3)
    for s in range(64)
)
_RING = tuple(min(s & 7, 7 - (s & 7), s >> 3, 7 - (s >> 3)) for s in range(64))


def _mirrored(squares: int) -> int:
    """Return squares with the ranks turned round."""
    return int.from_bytes(squares.to_bytes(8, "little"), "big")


#: The six squares before a king, for White and for Black.
_WHITE_SHIELD = [_FRONT[s] & 0xFFFF << (s & 56) + 8 for s in range(64)]
_SHIELDS = (_WHITE_SHIELD, [_mirrored(_WHITE_SHIELD[s ^ 56]) for s in range(64)])

#: Centipawns that a capture may gain besides material.
_SURPRISE = 100


class ChessPosition(Position):
    """A position with its evaluation.

    values  option values by name
    """

    def __init__(self, fen: str, values: dict[str, int], rules: CozyRules | PlainRules) -> None:
        *fields, clock, _ = fen.split()
        # cozy_chess has a clock up to 100, and a move number of 16 bits
        self._nodes = [rules.read(f"{' '.join(fields)} {min(int(clock), 100)} 1")]
        self._rules = rules
        self._values = values
        self._weights = [values[option.name] for option in WEIGHTS]
        #: Values of the pieces from pawn to king; no king is ever captured.
        self._pieces = [*self._weights[:5], 0]
        self._white = fields[1] == "w"

    def key(self) -> int:
        return self._nodes[-1].key

    def in_check(self) -> bool:
        return self._nodes[-1].checked

    def play(self, move: int) -> None:
        self._nodes.append(self._rules.play(self._nodes[-1].board, move))
        self._white = not self._white

    def undo(self) -> None:
        self._nodes.pop()
        self._white = not self._white

    @staticmethod
    def name(move: int) -> str:
        return _NAMES[move & 63] + _NAMES[move >> 6 & 63] + " nbrq "[move >> 12].strip()

    def moves(self) -> list[int]:
        return [move for _, _, move in sorted(self._moves_to(-1), reverse=True)]

    def captures(self, wanted: int, last: int | None) -> list[int]:
        enemy = self._nodes[-1].bitboards[1 if self._white else 0]
        least = max(wanted - _SURPRISE, 1)
        hits = self._moves_to(enemy if last is None else 1 << (last >> 6 & 63))
        promising = sorted((hit for hit in hits if hit[0] >= least), reverse=True)
        return [move for _, _, move in promising]

    def _moves_to(self, where: int) -> Iterator[tuple[int, int, int]]:
        """Yield promotions and the moves to a set of squares as (gain, minus piece, move).

        The gain is the captured or promoted piece, less the mover if a pawn can retake.
        """
        node = self._nodes[-1]
        white, black, *pieces = node.bitboards
        own, enemy = (white, black) if self._white else (black, white)
        values = self._pieces
        near = (enemy & pieces[0]) >> 8 if self._white else (enemy & pieces[0]) << 8
        guarded = (near & _NOT_A) >> 1 | (near & _NOT_H) << 1
        for group in node.groups:
            targets = int(group.to) & (where | _LAST_RANKS)
            if not targets:
                continue
            piece, source = index(group.piece), index(group.from_square)
            if piece:
                targets &= where
            for target in _squares(targets):
                bit = 1 << target
                move = source | target << 6
                gain = 0
                if bit & enemy:
                    victim = 0
                    while not bit & pieces[victim]:
                        victim += 1
                    # and a point, so that an even exchange is a gain
                    gain = values[victim] + 1
                if bit & guarded:
                    gain -= values[piece]
                if piece == 0 and bit & _LAST_RANKS:
                    for kind in (1, 2, 3, 4):
                        yield gain + values[kind], 0, move | kind << 12
                elif bit & own:
                    king = source + 2 if target > source else source - 2
                    yield 0, -piece, source | king << 6 | CASTLING << 12
                else:
                    yield gain, -piece, move

    def evaluate(self) -> int:
        node = self._nodes[-1]
        if not (node.groups or node.checked):
            return 0
        white, black, pawns, *_ = node.bitboards
        counts = self._counts()
        score = sum(map(mul, self._weights, counts))
        if (white | black).bit_count() <= 12:
            score += _drive(node.bitboards, counts)
        score += noise(self._values, hash((white, black, pawns)))
        return int((score if self._white else -score) * _remaining(node))

    def coefficients(self) -> list[float]:
        factor = _remaining(self._nodes[-1])
        return [count * factor for count in self._counts()]

    def _counts(self) -> list[float]:
        """Return White's counts less Black's, in the order of WEIGHTS."""
        node = self._nodes[-1]
        white, black, pawns, knights, bishops, rooks, queens, kings = node.bitboards
        count, advance, passed, white_files, black_files = _structure(pawns & white, pawns & black)
        white_bishops, black_bishops = (bishops & white).bit_count(), (bishops & black).bit_count()
        central = (pawns | knights | bishops) & _WIDE_CENTRE
        white_king, black_king = (kings & white).bit_length() - 1, (kings & black).bit_length() - 1
        shield = 0
        if queens:
            shield = _more(pawns, white & _SHIELDS[0][white_king], black & _SHIELDS[1][black_king])
        return [
            count,
            (knights & white).bit_count() - (knights & black).bit_count(),
            white_bishops - black_bishops,
            (rooks & white).bit_count() - (rooks & black).bit_count(),
            (queens & white).bit_count() - (queens & black).bit_count(),
            (white_bishops > 1) - (black_bishops > 1),
            node.mobility / (10 if self._white else -10),
            _more(central, white, black) + _more(central & _CENTRE, white, black),
            advance,
            passed,
            _more(rooks, white & ~white_files, black & ~black_files),
            shield,
        ]


def _remaining(node: Node) -> float:
    """Return the share of the evaluation that the 50-move clock has left."""
    # the leading side prefers progress to the 50-move rule
    return 1.0 if node.clock <= 10 else (100 - node.clock) / 90


def _more(pieces: int, white: int, black: int) -> int:
    """Return the number of white pieces less the number of black ones."""
    return (pieces & white).bit_count() - (pieces & black).bit_count()


# some megabytes
@lru_cache(20_000)
def _structure(white: int, black: int) -> tuple[int, int, int, int, int]:
    """Return the counts of white pawns less black ones, and the files of both.

    The counts are pawns, the ranks that they have advanced, and those of passed pawns.
    """
    count, advance, passed, white_files = _pawns(white, black)
    other = _pawns(_mirrored(black), _mirrored(white))
    return count - other[0], advance - other[1], passed - other[2], white_files, other[3]


def _pawns(own: int, enemy: int) -> tuple[int, int, int, int]:
    advance = passed = files = 0
    for square in _squares(own):
        steps = (square >> 3) - 1
        advance += steps
        if not enemy & _FRONT[square]:
            passed += steps
        files |= _FILE_A << (square & 7)
    return own.bit_count(), advance, passed, files


def _drive(bitboards: list[int], counts: list[float]) -> int:
    """Return a bonus for White that rewards a cornered king of the weaker side."""
    white, black, *_, kings = bitboards
    # in pawns
    ahead = sum(map(mul, (1, 3, 3, 5, 9), counts))
    if abs(ahead) < 4:
        return 0
    leader, loser = white & kings, black & kings
    if ahead < 0:
        leader, loser = loser, leader
    one, other = leader.bit_length() - 1, loser.bit_length() - 1
    distance = max(abs((one & 7) - (other & 7)), abs((one >> 3) - (other >> 3)))
    bonus = 60 * (3 - _RING[other]) + 20 * (7 - distance)
    return bonus if ahead > 0 else -bonus


def _squares(bitboard: int) -> Iterator[int]:
    while bitboard:
        low = bitboard & -bitboard
        yield low.bit_length() - 1
        bitboard ^= low


class ChessEngine(UniversalEngine):
    """The UCI engine.

    rules  None for the fastest of this machine
    """

    game = "chess"
    protocol = "uci"
    notation = "fen"
    no_move = "(none)"
    evaluation_words = "Final evaluation"

    def __init__(self, console: Console, rules: CozyRules | PlainRules | None = None) -> None:
        self._rules = rules or (CozyRules() if HAVE_COZY else PlainRules())
        super().__init__(console, WEIGHTS)

    def _read(self) -> ChessPosition:
        return ChessPosition(self._game.position(), self.values, self._rules)
