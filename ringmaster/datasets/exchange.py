"""Whether a position is quiet: nothing can be won by captures on one square, or by a
promotion.

Static exchange evaluation as in chess programs: the captures on a square are made in
turn, each by the least valuable man that can, and either side may stop.  Pins are not
looked at; men that stand behind others join in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ringmaster.games.text import shown
from ringmaster.model.players import GameName

if TYPE_CHECKING:
    import chess
    from rsshogi.core import Board, Move

#: More than all else together.
_KING = 10_000


def is_quiet(text: str, game: GameName, chess960: bool = False) -> bool:
    """Whether the side to move, which is not in check, wins nothing at once.

    text  FEN or SFEN of a legal position

    Raises ValueError for what is none.
    """
    try:
        gains = _shogi_gains(text) if game == "shogi" else _chess_gains(text, chess960)
        return all(gain <= 0 for gain in gains)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{shown(text)} is no position: {error}") from None


def swap_off(gain: int, man: int, next_attacker: Callable[[int], int | None]) -> int:
    """Return what a capture is worth to its side.

    gain           value of what is captured at first
    man            value of the man that captures
    next_attacker  gives the value of the least man with which side 0 (which made the
                   first capture) or 1 can capture next, and takes it off the board;
                   None when there is none
    """
    gains = [gain]
    side = 1
    following = next_attacker(side)
    while following is not None:
        reply = next_attacker(1 - side)
        if following >= _KING and reply is not None:
            # a king does not go where it can be taken
            break
        gains.append(man - gains[-1])
        man, side, following = following, 1 - side, reply
    while len(gains) > 1:
        last = gains.pop()
        # each side captures only where it gains by it
        gains[-1] = -max(-gains[-1], last)
    return gains[0]


# chess

_CHESS = {1: 100, 2: 320, 3: 330, 4: 500, 5: 950, 6: _KING}


def _chess_gains(text: str, chess960: bool) -> Iterator[int]:
    import chess

    board = chess.Board(text, chess960=chess960)
    mover = board.turn
    for move in board.generate_legal_moves(to_mask=board.occupied_co[not mover]):
        victim = board.piece_type_at(move.to_square) or 0
        yield _chess_exchange(board, move, _CHESS[victim])
    if board.ep_square is not None:
        for move in board.generate_legal_ep():
            yield _chess_exchange(board, move, _CHESS[chess.PAWN])
    last = chess.BB_RANK_8 if mover else chess.BB_RANK_1
    for move in board.generate_legal_moves(board.pawns, last & ~board.occupied):
        if move.promotion == chess.QUEEN:
            yield _chess_exchange(board, move, 0)


def _chess_exchange(board: chess.Board, move: chess.Move, gain: int) -> int:
    import chess

    square = move.to_square
    occupied = board.occupied & ~chess.BB_SQUARES[move.from_square]
    if board.is_en_passant(move):
        occupied &= ~chess.BB_SQUARES[square + (-8 if board.turn else 8)]
    piece = board.piece_type_at(move.from_square) or 0
    man = _CHESS[piece]
    if move.promotion:
        man = _CHESS[move.promotion]
        gain += man - _CHESS[chess.PAWN]

    def next_attacker(side: int) -> int | None:
        nonlocal occupied
        colour = board.turn if side == 0 else not board.turn
        attackers = board.attackers_mask(colour, square, occupied) & occupied
        if not attackers:
            return None
        for kind in chess.PIECE_TYPES:
            if here := attackers & board.pieces_mask(kind, colour):
                occupied &= ~(here & -here)
                return _CHESS[kind]
        return None

    return swap_off(gain, man, next_attacker)


# shogi

#: By SFEN's letters.  The proportions are those that shogi programs agree on roughly.
_SHOGI = {
    **{"P": 90, "L": 315, "N": 405, "S": 495, "G": 540, "B": 855, "R": 990, "K": _KING},
    **{"+P": 540, "+L": 540, "+N": 540, "+S": 540, "+B": 945, "+R": 1395},
}


def _captured(letters: str) -> int:
    """Return what capturing a man is worth: it leaves the board, and comes into the
    other hand, unpromoted."""
    return _SHOGI[letters] + _SHOGI[letters[-1]]


def _shogi_gains(text: str) -> Iterator[int]:
    from rsshogi.core import Board

    board = Board(text)
    enemies = board.pieces_by_color(board.turn.flip())
    for move in board.legal_moves():
        if move.is_drop():
            continue
        captures = enemies.test(move.to_sq)
        if captures or move.is_promotion():
            yield _shogi_exchange(board, move, captures)


def _shogi_exchange(board: Board, move: Move, captures: bool) -> int:
    square = move.to_sq
    letters = board.piece_on(move.from_sq).piece_type.to_usi()
    gain = _captured(board.piece_on(square).piece_type.to_usi()) if captures else 0
    man = _captured(letters)
    if move.is_promotion():
        gain += _SHOGI[f"+{letters}"] - _SHOGI[letters]
        man = _captured(f"+{letters}")
    if letters == "K":
        man = _KING
    occupied = board.pieces()
    occupied.clear(move.from_sq)
    occupied.set(square)
    sides = (board.turn, board.turn.flip())

    def next_attacker(side: int) -> int | None:
        least = None
        remaining = board.attackers_to_color(sides[side], square, occupied)
        while (at := remaining.pop_lsb()) is not None:
            if not occupied.test(at):
                continue
            kind = board.piece_on(at).piece_type.to_usi()
            value = _KING if kind == "K" else _captured(kind)
            if least is None or value < least[0]:
                least = value, at
        if least is None:
            return None
        occupied.clear(least[1])
        return least[0]

    return swap_off(gain, man, next_attacker)
