"""The rules of shogi, played forward from a position, fast enough for instant engines.

rsshogi knows the legal moves.  This module adds repetition, entering kings and endings.

The fourth occurrence of a position (board, hands and side to move) is a draw.  It is a loss
for a side that has given check with every move since the first occurrence.  A side without a
legal move has lost, in check or not.
"""

from __future__ import annotations

import re
from typing import Final

from rsshogi.core import Board, Move
from rsshogi.types import Color, Piece, PieceType, Square

from ringmaster.errors import IllegalMove, cut
from ringmaster.games.game import Ending, Game
from ringmaster.games.sfen import DEAD_RANKS, NAMES, START_SFEN, normalise_sfen

_MATE: Final = (Ending(0, "mate"), Ending(1, "mate"))
_STALEMATE: Final = (Ending(0, "stalemate"), Ending(1, "stalemate"))
_REPETITION: Final = Ending(None, "repetition")
_PERPETUAL: Final = (Ending(0, "perpetual check"), Ending(1, "perpetual check"))
_TRIAL: Final = (Ending(0, "trial"), Ending(1, "trial"))
_DECLARATION: Final = (Ending(0, "declaration"), Ending(1, "declaration"))
_IMPASSE: Final = Ending(None, "impasse")

_COLOURS: Final = (Color.BLACK, Color.WHITE)
_SIDES: Final = ("Black", "White")
#: Goal of each king under the trial rule: the other king's first square.
_TRIAL_SQUARE: Final = (Square.from_usi("5a"), Square.from_usi("5i"))

_USI_MOVE: Final = re.compile(r"(?:[1-9][a-i]|[PLNSGBR]\*)[1-9][a-i]\+?")
_LOWER_DROP: Final = re.compile(r"[plnsgbr]\*[1-9][a-i]")


class ShogiGame(Game):
    """A game of shogi; player 0 is Black (sente), even where White moves first."""

    colours = ("black", "white")

    __slots__ = (
        "_board",
        "_checks",
        "_counts",
        "_ending",
        "_entering_king",
        "_first_seen",
        "_missing",
        "_side",
        "_witness",
    )

    def __init__(self, sfen: str | None = None, *, entering_king: str = "27") -> None:
        """Start from `sfen` or the usual position.

        entering_king  "27" or "24" points by declaration, "trial", or "none"

        Raises ValueError for an SFEN that is not a legal position with both kings.
        """
        super().__init__()
        sfen = START_SFEN if sfen is None else normalise_sfen(sfen)
        self._board = board = Board(sfen)
        self._side = 0 if sfen.split()[1] == "b" else 1
        self._entering_king = entering_king
        #: Ply of each position's first occurrence, and the counts of repeated positions.
        self._first_seen = {board.zobrist_hash(): 0}
        self._counts: dict[int, int] = {}
        #: Consecutive checking moves of each side.
        self._checks = [0, 0]
        #: A move of each side, legal at the last check.
        self._witness: list[Move | None] = [None, None]
        #: Ending by the last move, except mate and stalemate.
        self._ending: Ending | None = None
        self._missing = 0
        if self._side:
            self._missing = max(0, 54 - sum(self._count(side, in_camp=False)[1] for side in (0, 1)))

    @property
    def to_move(self) -> int:
        return self._side

    def play(self, move: str) -> None:
        board = self._board
        step = USI_MOVES.get(move)
        if step is None:
            raise self._refusal(move)
        try:
            board.apply_move(step)
        except ValueError:
            raise self._refusal(move) from None
        moves = self.moves
        moves.append(move)
        side = self._side
        self._side = 1 - side
        checks = self._checks
        checks[side] = checks[side] + 1 if board.is_in_check() else 0
        self._ending = None
        ply = len(moves)
        key = board.zobrist_hash()
        first = self._first_seen.setdefault(key, ply)
        if first != ply:
            self._counts[key] = count = self._counts.get(key, 1) + 1
            if count >= 4:
                self._ending = self._repetition((ply - first) // 2)
        if self._entering_king == "trial" and self._has_arrived(side, step):
            self._ending = _TRIAL[side]

    def ending(self) -> Ending | None:
        board = self._board
        side = self._side
        # a move that was legal two plies ago mostly still is: all legal moves are seldom needed
        witness = self._witness[side]
        if witness is None or not board.is_legal_move(witness):
            legal = board.legal_moves()
            if not legal:
                return (_MATE if board.is_in_check() else _STALEMATE)[1 - side]
            self._witness[side] = legal[-1]
        return self._ending

    def position(self) -> str:
        """Return the SFEN with the move number."""
        return self._board.to_sfen()

    def in_check(self) -> bool:
        return self._board.is_in_check()

    def declare(self) -> Ending | None:
        """Return the ending after the side to move declares its king's entry.

        None means that `why_not_declare` forbids the declaration.  By 27 points, Black wins
        with 28 and White with 27.  By 24 points, 31 win, and 24 to 30 draw.
        """
        if self.why_not_declare():
            return None
        if self._entering_king == "24" and self._count(self._side, in_camp=True)[1] < 31:
            return _IMPASSE
        return _DECLARATION[self._side]

    def why_not_declare(self) -> str:
        """Return the reason that forbids a declaration by the side to move, "" for none.

        Source: rules of the Computer Shogi Association's tournaments (27 points) and of the
        Japan Shogi Association (24 points).  Both require the king and ten other pieces in
        the camp, and no check.
        """
        if self._entering_king not in ("27", "24"):
            return "there is no declaration under the rules of this game"
        board, side = self._board, self._side
        name = _SIDES[side]
        if not _in_camp(board.king_square(_COLOURS[side]), side):
            return f"{name}'s king is not in the enemy's camp"
        if board.is_in_check():
            return f"{name} is in check"
        pieces, points = self._count(side, in_camp=True)
        if pieces < 10:
            return f"{name} has {pieces} pieces beside its king in the enemy's camp, not 10"
        needed = 24 if self._entering_king == "24" else (28, 27)[side]
        if points < needed:
            return f"{name} has {points} points, not {needed}"
        return ""

    def _count(self, side: int, *, in_camp: bool) -> tuple[int, int]:
        """Return a side's pieces on the board, without the king, and the points of all its pieces.

        in_camp  count pieces on the board in the enemy's camp only
        """
        colour = _COLOURS[side]
        in_hand = self._board.hand_counts(colour).items()
        # the giver of a handicap counts the missing pieces
        points = self._missing if side else 0
        points += sum((5 if name in "RB" else 1) * count for name, count in in_hand)
        pieces = 0
        for square, piece in self._board.iter_pieces():
            is_counted = piece.color == colour and piece.piece_type != PieceType.KING
            if is_counted and (not in_camp or _in_camp(square, side)):
                pieces += 1
                points += 5 if piece.piece_type in _GREAT else 1
        return pieces, points

    def _repetition(self, moves: int) -> Ending:
        """Return the ending at a fourth occurrence, `moves` moves a side after the first."""
        black, white = (checks >= moves for checks in self._checks)
        # two sides that both gave perpetual check draw
        if black == white:
            return _REPETITION
        return _PERPETUAL[1 if black else 0]

    def _has_arrived(self, side: int, step: Move) -> bool:
        """Return whether the king of `side` has just reached its goal under the trial rule."""
        goal = _TRIAL_SQUARE[side]
        return (
            step.to_sq == goal
            and not step.is_drop()
            and self._board.king_square(_COLOURS[side]) == goal
        )

    def _refusal(self, move: str) -> IllegalMove:
        return IllegalMove(
            cut(move, 40), self.position(), _why_illegal(self._board, self._side, move)
        )


_GREAT: Final = frozenset((PieceType.ROOK, PieceType.BISHOP, PieceType.DRAGON, PieceType.HORSE))


def _in_camp(square: Square, side: int) -> bool:
    """Return whether a square is in the enemy's camp, seen from `side`."""
    return square.rank <= 2 if side == 0 else square.rank >= 6


def _why_illegal(board: Board, side: int, move: str) -> str:
    if not _USI_MOVE.fullmatch(move):
        if _LOWER_DROP.fullmatch(move):
            return f"a drop is written with a capital, {move[0].upper()}{move[1:]}"
        return "not a move in USI notation"
    return (_why_no_drop if move[1] == "*" else _why_no_move)(board, side, move)


def _why_no_drop(board: Board, side: int, move: str) -> str:
    letter, target = move[0], move[2:4]
    square = Square.from_usi(target)
    kind = PieceType.from_usi(letter)
    name, who = NAMES[letter], _SIDES[side]
    if move.endswith("+"):
        return "a piece is dropped unpromoted"
    if not board.hand(_COLOURS[side]).count(kind):
        return f"{who} has no {name} in hand"
    if not board.is_square_empty(square):
        return f"there is a piece on {target}"
    if _is_dead(letter, target, side):
        return f"a {name} on {target} could never move"
    pawns = board.pieces_for(PieceType.PAWN, _COLOURS[side])
    if letter == "P" and any(pawns.test(Square.from_usi(target[0] + rank)) for rank in "abcdefghi"):
        return f"{who} has a pawn on file {target[0]} already"
    # the remaining reasons are an unanswered check, and mate by a dropped pawn
    state = board.to_position_state()
    state.set_piece(square, Piece.from_color_type(_COLOURS[side], kind))
    after = Board()
    after.set_position_state(state)
    if after.is_attacked_by(after.king_square(_COLOURS[side]), _COLOURS[1 - side]):
        return "it leaves the king in check"
    return "a pawn must not be dropped to give mate"


def _why_no_move(board: Board, side: int, move: str) -> str:
    start, target = move[:2], move[2:4]
    source, square = Square.from_usi(start), Square.from_usi(target)
    if board.is_square_empty(source):
        return f"there is no piece on {start}"
    piece = board.piece_on(source)
    if piece.color != _COLOURS[side]:
        return f"the piece on {start} is {_SIDES[1 - side]}'s"
    kind = piece.piece_type
    letter = kind.to_usi()[-1]
    name = ("promoted " if kind.is_promoted() else "") + NAMES[letter]
    own = not board.is_square_empty(square) and board.piece_on(square).color == _COLOURS[side]
    attackers = board.attackers_to_color_current(_COLOURS[side], square)
    if own or not attackers.test(source):
        return f"the {name} on {start} cannot do that"
    if move.endswith("+"):
        if not kind.is_promotable() or kind.is_promoted():
            return f"a {name} does not promote"
        if not (_in_camp(source, side) or _in_camp(square, side)):
            return "a piece promotes only in the enemy's camp"
    elif not kind.is_promoted() and _is_dead(letter, target, side):
        return f"a {name} has to promote on {target}"
    return "it leaves the king in check"


def _is_dead(letter: str, target: str, side: int) -> bool:
    """Return whether an unpromoted piece could never move from a square."""
    from_edge = "abcdefghi".index(target[1]) if side == 0 else "ihgfedcba".index(target[1])
    return from_edge < DEAD_RANKS.get(letter, 0)


def _steps() -> dict[str, Move]:
    """Return every string that can be a move.

    The table checks the form of a move: rsshogi itself accepts "p*5e", "null" and "0000".
    """
    names = [file + rank for file in "123456789" for rank in "abcdefghi"]
    strings = [start + end for start in names for end in names if start != end]
    camps = set("abcghi")
    strings += [move + "+" for move in strings if camps & {move[1], move[3]}]
    strings += [f"{piece}*{square}" for piece in "PLNSGBR" for square in names]
    return {move: Move.from_usi(move) for move in strings}


#: Moves by their USI string.
USI_MOVES: Final = _steps()
