"""Write and read moves in standard algebraic notation (SAN).

cozy_chess finds the pieces that can make a move: a ply takes 1 to 2 microseconds, with
python-chess 10.  python-chess judges words and games that this fast way cannot play, and all
games on machines without cozy_chess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ringmaster.games.chess import HAVE_COZY, ChessGame, ReferenceChessGame
from ringmaster.games.game import Game, beginning
from ringmaster.games.variants import OWN, VariantGame
from ringmaster.games.variants import san_moves as variant_san_moves

#: A move, perhaps long ("e2-e4", "Ng1xf3") or in UCI; groups: piece, file, rank, target,
#: promotion.
_MOVE: Final = re.compile(
    r"(?:P|([NBRQK]))?([a-h]?)([1-8]?)[-x:]?([a-h][1-8])(?:[=/(]?([NBRQnbrq])\)?)?"
    r"(?:e\.?p\.?)?[+#]*"
)
_CASTLING: Final = re.compile("[Oo0]-[Oo0](-[Oo0])?[+#]*")


def san_moves(variant: str, fen: str | None, moves: Sequence[str]) -> list[str]:
    """Return moves of chess or a variant in algebraic notation, up to the first illegal one.

    Raises ValueError for an invalid FEN.
    """
    if variant not in OWN:
        return variant_san_moves(variant, fen, moves)
    game = beginning("chess", variant=variant)(fen)
    if isinstance(game, ChessGame):
        return _fast_san_moves(game, moves)
    assert isinstance(game, ReferenceChessGame)
    return reference_san_moves(game, moves)


def move_of(game: Game, san: str) -> str:
    """Return the legal move that a word of a game record means, as the engines write it.

    Long notation and UCI are accepted, too.  Raises ValueError with the end of a sentence
    that the word begins.
    """
    match = _MOVE.fullmatch(san) or _CASTLING.fullmatch(san)
    if isinstance(game, ChessGame) and match is not None:
        move = _fast_move(game, match) if match.re is _MOVE else _fast_castling(game, match)
        if move is not None:
            return move
    if isinstance(game, VariantGame):
        return game.from_san(san)
    assert isinstance(game, ChessGame | ReferenceChessGame)
    if match is None:
        raise ValueError("is not a move")
    return _reference_move(game, match)


if HAVE_COZY:
    import cozy_chess as cozy

    _WON: Final = cozy.GameStatus.Won
    _PAWN: Final = cozy.Piece.Pawn
    _KINDS: Final = {
        "N": cozy.Piece.Knight,
        "B": cozy.Piece.Bishop,
        "R": cozy.Piece.Rook,
        "Q": cozy.Piece.Queen,
        "K": cozy.Piece.King,
    }
    _LETTERS: Final = {piece: letter for letter, piece in _KINDS.items()}
    #: The two ranks behind a rank, seen from a side; pawns stand on neither edge.
    _RANKS_BEHIND: Final = {
        cozy.Color.White: {str(rank): f"{rank - 1}{rank - 2}" for rank in range(3, 9)},
        cozy.Color.Black: {str(rank): f"{rank + 1}{rank + 2}" for rank in range(1, 7)},
    }
    _SQUARES: Final = {
        file + rank: cozy.Square.from_str(file + rank) for file in "abcdefgh" for rank in "12345678"
    }


def _fast_san_moves(game: ChessGame, moves: Sequence[str]) -> list[str]:
    """Play moves on a new game's board and return their SAN, up to the first illegal move."""
    board = game.board
    sans: list[str] = []
    for move in moves:
        step = game.step(move)
        if step is None or not board.is_legal(step):
            break
        square = step.to_square
        piece = board.piece_on(step.from_square)
        assert piece is not None
        target = move[2:4]
        takes = board.piece_on(square) is not None
        if piece == _PAWN:
            san = target if move[0] == move[2] else f"{move[0]}x{target}"
            if len(move) > 4:
                san += f"={move[4].upper()}"
        elif takes and board.color_on(square) == board.side_to_move():
            san = "O-O" if str(square) > move[:2] else "O-O-O"
        else:
            letter = _LETTERS[piece]
            origins = _origins(board, letter, square)
            origin = _distinction(game, origins, move) if len(origins) > 1 else ""
            san = f"{letter}{origin}{'x' if takes else ''}{target}"
        board.play_unchecked(step)
        if board.checkers():
            san += "#" if board.status() == _WON else "+"
        sans.append(san)
    return sans


def _origins(board: cozy.Board, letter: str, square: cozy.Square) -> cozy.BitBoard:
    """Return the pieces of the side to move that attack a square; some may be pinned."""
    pieces = board.colored_pieces(board.side_to_move(), _KINDS[letter])
    if letter == "N":
        return pieces & cozy.get_knight_moves(square)
    if letter == "B":
        return pieces & cozy.get_bishop_moves(square, board.occupied())
    if letter == "R":
        return pieces & cozy.get_rook_moves(square, board.occupied())
    if letter == "K":
        return pieces & cozy.get_king_moves(square)
    occupied = board.occupied()
    return pieces & (
        cozy.get_bishop_moves(square, occupied) | cozy.get_rook_moves(square, occupied)
    )


def _is_legal(game: ChessGame, move: str) -> bool:
    step = game.step(move)
    return step is not None and game.board.is_legal(step)


def _distinction(game: ChessGame, origins: cozy.BitBoard, move: str) -> str:
    """Return the file, rank or square that SAN needs to tell a move from those of other pieces."""
    start, target = move[:2], move[2:4]
    others = [
        other for other in map(str, origins) if other != start and _is_legal(game, other + target)
    ]
    if not others:
        return ""
    if all(other[0] != start[0] for other in others):
        return start[0]
    return start if any(other[1] == start[1] for other in others) else start[1]


def _fast_move(game: ChessGame, match: re.Match[str]) -> str | None:
    """Return the legal move of a match, None where python-chess has to judge."""
    letter, file, rank, target, promotion = match.groups()
    if letter is not None:
        if promotion:
            return None
        start = ""
        for origin in map(str, _origins(game.board, letter, _SQUARES[target])):
            if file in origin and rank in origin and _is_legal(game, origin + target):
                if start:
                    return None
                start = origin
        return start + target if start else None
    if file and rank:
        start = file + rank
    else:
        board = game.board
        ranks_behind = _RANKS_BEHIND[board.side_to_move()].get(target[1])
        if ranks_behind is None:
            return None
        start = (file or target[0]) + ranks_behind[0]
        if not file and board.piece_on(_SQUARES[start]) is None:
            start = target[0] + ranks_behind[1]
        if board.piece_on(_SQUARES[start]) != _PAWN:
            return None
    move = start + target + (promotion or "").lower()
    return move if _is_legal(game, move) else None


def _fast_castling(game: ChessGame, match: re.Match[str]) -> str | None:
    """Return castling as a legal move, None where python-chess has to judge."""
    board, long = game.board, match[1] is not None
    side = board.side_to_move()
    rights = board.castle_rights(side)
    file = rights.long if long else rights.short
    if file is None:
        return None
    king = str(board.king(side))
    rook = "abcdefgh"[file.__index__()]
    target = rook if game.chess960 else "c" if long else "g"
    move = king + target + king[1]
    return move if _is_legal(game, move) else None


def _reference_move(game: ChessGame | ReferenceChessGame, match: re.Match[str]) -> str:
    """Return the legal move that python-chess reads.  Raises ValueError; see `move_of`."""
    import chess

    board = chess.Board(game.position(), chess960=game.chess960)
    try:
        if match.re is _CASTLING:
            step = board.parse_san("O-O-O" if match[1] else "O-O")
        else:
            letter, file, rank, target, promotion = match.groups(default="")
            if file and rank and not letter:
                step = board.parse_uci(file + rank + target + promotion.lower())
            else:
                step = board.parse_san(letter + file + rank + target + promotion.upper())
    except chess.AmbiguousMoveError:
        raise ValueError("is ambiguous") from None
    except ValueError:
        raise ValueError("is not legal here") from None
    return board.uci(step)


def reference_san_moves(game: ReferenceChessGame, moves: Sequence[str]) -> list[str]:
    """Return the SAN of moves by python-chess, up to the first illegal move."""
    import chess

    sans: list[str] = []
    board = chess.Board(game.position(), chess960=game.chess960)
    for move in moves:
        try:
            sans.append(board.san_and_push(board.parse_uci(move)))
        except ValueError:
            break
    return sans
