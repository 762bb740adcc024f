"""Write the moves of finished games in standard algebraic notation (SAN).

cozy_chess takes 1.5 microseconds a ply, python-chess 15.  python-chess writes the games that
the fast rules cannot play, and all games on machines without cozy_chess.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ringmaster.games.chess import HAVE_COZY, ChessGame
from ringmaster.games.chess960 import Chess960Game
from ringmaster.games.variants import san_moves as variant_san_moves

if HAVE_COZY:
    import cozy_chess as cozy

    _WON: Final = cozy.GameStatus.Won

_FILES: Final = "abcdefgh"


def san_moves(variant: str, fen: str | None, moves: Sequence[str]) -> list[str]:
    """Return moves of chess or a variant in algebraic notation, up to the first illegal one.

    Raises ValueError for an invalid FEN.
    """
    if variant not in ("standard", "chess960"):
        return variant_san_moves(variant, fen, moves)
    if HAVE_COZY:
        try:
            game = Chess960Game(fen) if variant == "chess960" else ChessGame(fen)
        except ValueError:
            # python-chess also plays from positions that are not legal
            return reference_san_moves(variant, fen, moves)
        sans = fast_san_moves(game, moves)
        if len(sans) == len(moves):
            return sans
    return reference_san_moves(variant, fen, moves)


class _Kind:
    """A kind of piece of one side.

    letter   in upper case
    squares  its squares; None for pawns and kings, which SAN never has to tell apart
    """

    __slots__ = ("letter", "squares")

    def __init__(self, letter: str, squares: list[str] | None) -> None:
        self.letter = letter
        self.squares = squares


def fast_san_moves(game: ChessGame, moves: Sequence[str]) -> list[str]:
    """Play moves on a new game's board and return their SAN, up to the first illegal move.

    The board judges legality.  The pieces are tracked here, since looking one up on the
    board takes as long as a move.
    """
    board = game.board
    play, checkers = board.try_play, board.checkers
    kinds: dict[str, _Kind] = {
        letter: _Kind(letter.upper(), None if letter in "PpKk" else []) for letter in "PNBRQKpnbrqk"
    }
    at = _pieces_of(board, kinds)
    sans = []
    for move in moves:
        step = game.step(move)
        start, target = move[:2], move[2:4]
        piece = at.get(start)
        if step is None or piece is None:
            break
        del at[start]
        kind, squares = piece.letter, piece.squares
        victim = at.get(target)
        if squares is not None:
            origin = _origin(game, start, target, squares) if len(squares) > 1 else ""
            san = f"{kind}{origin}x{target}" if victim else f"{kind}{origin}{target}"
            squares.remove(start)
            squares.append(target)
        elif kind == "P":
            san = target
            if start[0] != target[0]:
                san = f"{start[0]}x{target}"
                if victim is None:
                    at.pop(target[0] + start[1], None)
            if len(move) > 4:
                piece = kinds[move[4].upper() if piece is kinds["P"] else move[4]]
                san = f"{san}={piece.letter}"
                if piece.squares is not None:
                    piece.squares.append(target)
        else:
            corner = str(step.to_square)
            rook = kinds["R" if piece is kinds["K"] else "r"]
            if at.get(corner) is rook:
                san, files = ("O-O-O", "cd") if corner < start else ("O-O", "gf")
                victim, target = None, files[0] + start[1]
                _put_rook(at, rook, corner, files[1] + start[1])
            else:
                san = f"Kx{target}" if victim else f"K{target}"
        if not play(step):
            break
        if victim is not None and victim.squares is not None:
            victim.squares.remove(target)
        at[target] = piece
        if checkers():
            san += "#" if board.status() == _WON else "+"
        sans.append(san)
    return sans


def _pieces_of(board: cozy.Board, kinds: dict[str, _Kind]) -> dict[str, _Kind]:
    """Return the piece on each square, and add the squares to `kinds` (by FEN letter)."""
    at = {}
    for rank, row in zip("87654321", board.fen().split(maxsplit=1)[0].split("/"), strict=True):
        file = 0
        for letter in row:
            if letter in "12345678":
                file += int(letter)
                continue
            square = _FILES[file] + rank
            at[square] = kind = kinds[letter]
            if kind.squares is not None:
                kind.squares.append(square)
            file += 1
    return at


def _put_rook(at: dict[str, _Kind], rook: _Kind, corner: str, square: str) -> None:
    """Move the rook in castling."""
    assert rook.squares is not None
    del at[corner]
    at[square] = rook
    rook.squares.remove(corner)
    rook.squares.append(square)


def _origin(game: ChessGame, start: str, target: str, places: list[str]) -> str:
    """Return the file, rank or square that SAN needs for the piece on `start`.

    places  squares of its kind; "" is returned where no other piece can reach `target`
    """
    others = []
    for other in places:
        if other != start:
            step = game.step(other + target)
            if step is not None and game.board.is_legal(step):
                others.append(other)
    if not others:
        return ""
    if all(other[0] != start[0] for other in others):
        return start[0]
    return start if any(other[1] == start[1] for other in others) else start[1]


def reference_san_moves(variant: str, fen: str | None, moves: Sequence[str]) -> list[str]:
    """Return the SAN of moves by python-chess, up to the first illegal move.

    Raises ValueError for a FEN that python-chess cannot read.
    """
    import chess

    board = chess.Board(fen or chess.STARTING_FEN, chess960=variant == "chess960")
    sans = []
    for move in moves:
        try:
            step = chess.Move.from_uci(move)
        except ValueError:
            break
        if not board.is_legal(step):
            break
        sans.append(board.san_and_push(step))
    return sans
