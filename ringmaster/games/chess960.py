"""Chess960 (Fischer random chess), and its 960 start positions.

Castling is written as UCI_Chess960 prescribes: the king takes its own rook.  Positions are
read as X-FEN (KQkq for the outermost rook, a file letter for any other) or Shredder-FEN
(always file letters), and written as X-FEN.
"""

from __future__ import annotations

from ringmaster.games.chess import (
    CASTLING_STRINGS,
    HAVE_COZY,
    ChessGame,
    ReferenceChessGame,
    chess960_board,
    normalise_fen,
    usual_board,
)

if HAVE_COZY:
    import cozy_chess as cozy


class Chess960Game(ChessGame):
    """A game of Chess960 on cozy_chess."""

    chess960 = True

    __slots__ = ()

    @staticmethod
    def _read(fen: str) -> tuple[str, cozy.Board]:
        usual = usual_board(fen, chess960=True)
        if usual is not None:
            return fen, usual[0]
        fen = normalise_fen(fen, chess960=True)
        return fen, chess960_board(fen)

    def fen(self) -> str:
        board, turn, castling, *rest = super().fen().split()
        if castling != "-":
            castling = "".join(map(self._rights, (cozy.Color.White, cozy.Color.Black)))
        return " ".join((board, turn, castling, *rest))

    def _rights(self, colour: cozy.Color) -> str:
        """Return a side's castling rights in X-FEN.

        A file letter replaces K or Q where another rook stands further out.
        """
        board = self._board
        rights = board.castle_rights(colour)
        white = colour == cozy.Color.White
        back = cozy.BitBoard.from_rank(cozy.Rank.First if white else cozy.Rank.Eighth)
        rooks = [
            square.file().__index__()
            for square in board.colored_pieces(colour, cozy.Piece.Rook) & back
        ]
        letters = ""
        for file, letter, outer in ((rights.short, "k", max), (rights.long, "q", min)):
            if file is not None:
                index = file.__index__()
                letters += letter if outer(rooks) == index else "abcdefgh"[index]
        return letters.upper() if white else letters

    def _castling(self, move: str) -> cozy.Move | None:
        # e1g1, castling in standard chess, is an ordinary move of the king here
        return cozy.Move.from_str(move) if move in CASTLING_STRINGS else None


class ReferenceChess960Game(ReferenceChessGame):
    """A game of Chess960 on python-chess, with the behaviour of `Chess960Game`."""

    chess960 = True

    __slots__ = ()


def new_chess960_game(fen: str | None = None) -> Chess960Game | ReferenceChess960Game:
    """Return a new game on the fastest backend of this machine.

    Raises ValueError for a FEN that is not a legal position.
    """
    return Chess960Game(fen) if HAVE_COZY else ReferenceChess960Game(fen)


def start_fen(number: int) -> str:
    """Return start position `number`, 0 to 959, in Scharnagl's order (518: standard chess).

    Raises ValueError for another number.
    """
    import chess

    return chess.Board.from_chess960_pos(number).fen()
