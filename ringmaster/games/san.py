"""Standard algebraic notation: reading the moves of opening books, writing those
of game records, for chess, Chess960 and the variants.

Both are done on the fast rules where they are there, since books and recorded games
have many moves; python-chess stays the judge of what is not in the usual form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ringmaster.games.chess import HAVE_COZY, ChessGame, ReferenceChessGame
from ringmaster.games.chess960 import Chess960Game
from ringmaster.games.game import Game
from ringmaster.games.san_writer import fast_san_moves, reference_san_moves
from ringmaster.games.variants import VariantGame
from ringmaster.games.variants import san_moves as variant_san_moves

if HAVE_COZY:
    import cozy_chess as cozy

_FILES: Final = "abcdefgh"
_SAN: Final = re.compile(
    r"(?:(?P<piece>[NBRQK])(?P<file>[a-h]?)(?P<rank>[1-8]?)[x:]?(?P<to>[a-h][1-8])"
    r"|(?:(?P<from>[a-h])[1-8]?[x:])?(?P<square>[a-h][1-8])=?(?P<promotion>[NBRQ]?)"
    r"|(?P<castling>[O0](?:-[O0]){1,2}))[+#]*"
)


def read_san(game: Game, san: str) -> str:
    """Return the legal move that `san` means, in the protocol's notation.

    Check marks are not looked at.  Raises ValueError, which says what is wrong
    with the move but does not repeat it.
    """
    if isinstance(game, VariantGame):
        return game.from_san(san)
    if isinstance(game, ChessGame):
        match = _SAN.fullmatch(san)
        if match is not None:
            return _read_fast(game, match)
    if isinstance(game, ChessGame | ReferenceChessGame):
        return _read_slowly(game, san)
    raise ValueError("this game has no algebraic notation")


def _read_fast(game: ChessGame, match: re.Match[str]) -> str:
    board = game.board
    side = board.side_to_move()
    if match["castling"]:
        return _castling(game, long=len(match["castling"]) > 3)
    if match["piece"]:
        square, promotion = match["to"], ""
        candidates = _pieces(board, side, match["piece"], square, match["file"], match["rank"])
    else:
        square, promotion = match["square"], match["promotion"].lower()
        file = _FILES.index(match["from"] or square[0])
        candidates = _pawns(game, file, square)
    moves = [start + square + promotion for start in candidates]
    legal = [move for move in moves if board.is_legal(cozy.Move.from_str(move))]
    if len(legal) == 1:
        return legal[0]
    if legal:
        raise ValueError("it is ambiguous")
    raise ValueError("it is not legal here")


def _pieces(
    board: cozy.Board, side: cozy.Color, letter: str, square: str, file: str, rank: str
) -> list[str]:
    """Return where pieces stand that may go to `square`, if nothing is pinned."""
    target = cozy.Square.from_str(square)
    match letter:
        case "N":
            reach, piece = cozy.get_knight_moves(target), cozy.Piece.Knight
        case "B":
            reach, piece = cozy.get_bishop_moves(target, board.occupied()), cozy.Piece.Bishop
        case "R":
            reach, piece = cozy.get_rook_moves(target, board.occupied()), cozy.Piece.Rook
        case "Q":
            occupied = board.occupied()
            reach = cozy.get_bishop_moves(target, occupied) | cozy.get_rook_moves(target, occupied)
            piece = cozy.Piece.Queen
        case _:
            reach, piece = cozy.get_king_moves(target), cozy.Piece.King
    if board.color_on(target) == side:  # king takes rook is castling, not a move of the king
        return []
    found = (str(square) for square in reach & board.colored_pieces(side, piece))
    return [s for s in found if (not file or s[0] == file) and (not rank or s[1] == rank)]


def _pawns(game: ChessGame, file: int, square: str) -> list[str]:
    """Return where pawns on `file` stand that may go to `square`."""
    board = game.board
    back = 1 if game.to_move else -1
    found = []
    for steps in (1, 2):
        rank = int(square[1]) + steps * back
        if not 2 <= rank <= 7:
            break
        start = f"{_FILES[file]}{rank}"
        if board.piece_on(cozy.Square.from_str(start)) == cozy.Piece.Pawn:
            found.append(start)
            break
    return found


def _castling(game: ChessGame, *, long: bool) -> str:
    board = game.board
    rights = board.castle_rights(board.side_to_move())
    rook = rights.long if long else rights.short
    king = str(board.king(board.side_to_move()))
    if rook is None:
        raise ValueError("the side to move may not castle there any more")
    takes_rook = f"{king}{_FILES[rook.__index__()]}{king[1]}"
    if not board.is_legal(cozy.Move.from_str(takes_rook)):
        raise ValueError("it is not legal here")
    return takes_rook if game.chess960 else f"{king}{'c' if long else 'g'}{king[1]}"


def _read_slowly(game: ChessGame | ReferenceChessGame, san: str) -> str:
    """Let python-chess read what is not in the usual form, or on its rules."""
    import chess

    board = chess.Board(game.fen(), chess960=game.chess960)
    try:
        move = board.parse_san(san)
    except chess.AmbiguousMoveError:
        raise ValueError("it is ambiguous") from None
    except chess.IllegalMoveError:
        raise ValueError("it is not legal here") from None
    except ValueError:
        raise ValueError("it is not a move") from None
    if not move:
        raise ValueError("an engine cannot make a null move")
    return board.uci(move)


def san_moves(variant: str, fen: str | None, moves: Sequence[str]) -> list[str]:
    """Return moves of chess or a variant in algebraic notation, up to the first
    that is not legal.

    Raises ValueError for a FEN that cannot be read.
    """
    if variant not in ("standard", "chess960"):
        return variant_san_moves(variant, fen, moves)
    if HAVE_COZY:
        try:
            game = Chess960Game(fen) if variant == "chess960" else ChessGame(fen)
        except ValueError:
            # python-chess also shows games from positions that none can begin from
            return reference_san_moves(variant, fen, moves)
        sans = fast_san_moves(game, moves)
        if len(sans) == len(moves):
            return sans
    return reference_san_moves(variant, fen, moves)
