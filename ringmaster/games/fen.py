"""Whether a FEN is a position that chess allows, and what is wrong when it is not.

python-chess is the judge: its parser and `Board.status` decide, here only put
into words.  The positions that come in quantity (opening books) mostly never
get here, see `chess.ChessGame`.
"""

from __future__ import annotations

import re

from ringmaster.games.text import shown

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

_CASTLING = re.compile(r"-|[KQA-H]{0,2}[kqa-h]{0,2}")
_EN_PASSANT = re.compile(r"-|[a-h][36]")
_COUNTER = re.compile(r"[0-9]{1,6}")
_RANK = re.compile(r"[1-8KQRBNPkqrbnp]+")


def normalise_fen(fen: str, chess960: bool = False) -> str:
    """Return `fen` as python-chess writes it: single spaces, castling rights in
    the order KQkq (in Chess960 as X-FEN has them), an en-passant square only where
    the capture is legal.

    Raises ValueError for anything but a legal position of standard chess, or of
    Chess960, in six fields; the message does not repeat the FEN.
    """
    import chess

    fields = fen.split()
    if len(fields) != 6:
        raise ValueError(f"a FEN has 6 fields, this has {len(fields)}")
    _check_fields(*fields)
    try:
        board = chess.Board(" ".join(fields), chess960=chess960)
    except ValueError as error:
        raise ValueError(str(error).partition(": ")[0]) from None
    wrong = board.status()
    if wrong:
        raise ValueError("; ".join(_IN_WORDS[flag.name or ""] for flag in wrong))
    return board.fen()


def _check_fields(
    board: str, turn: str, castling: str, en_passant: str, halfmoves: str, number: str
) -> None:
    """Raise ValueError naming the first field that cannot be read."""
    ranks = board.split("/")
    if len(ranks) != 8:
        raise ValueError(f"the board has {len(ranks)} rank{'s' * (len(ranks) != 1)}, not 8")
    for i, rank in enumerate(ranks):
        if not _RANK.fullmatch(rank):
            raise ValueError(f"rank {8 - i}, {shown(rank)}, has a character that is no piece")
        if re.search("[1-8][1-8]", rank):
            raise ValueError(f"rank {8 - i}, {shown(rank)}, has two numbers in a row")
        width = sum(int(c) if c.isdigit() else 1 for c in rank)
        if width != 8:
            raise ValueError(f"rank {8 - i}, {shown(rank)}, has {width} squares, not 8")
    if turn not in ("w", "b"):
        raise ValueError(f"the side to move is {shown(turn)}, not w or b")
    if not _CASTLING.fullmatch(castling):
        raise ValueError(f"the castling rights are {shown(castling)}, not such as KQkq, Kq or -")
    if not _EN_PASSANT.fullmatch(en_passant):
        raise ValueError(
            f"the en-passant square is {shown(en_passant)}, not on rank 3 or 6, or a -"
        )
    if not _COUNTER.fullmatch(halfmoves):
        raise ValueError(f"the half-move clock is {shown(halfmoves)}, not a number")
    if not _COUNTER.fullmatch(number):
        raise ValueError(f"the move number is {shown(number)}, not a number")


#: chess.Status flags by name, so that the module loads without python-chess.
_IN_WORDS = {
    "NO_WHITE_KING": "there is no white king",
    "NO_BLACK_KING": "there is no black king",
    "TOO_MANY_KINGS": "a side has more than one king",
    "TOO_MANY_WHITE_PAWNS": "White has more than 8 pawns",
    "TOO_MANY_BLACK_PAWNS": "Black has more than 8 pawns",
    "PAWNS_ON_BACKRANK": "there is a pawn on the first or the last rank",
    "TOO_MANY_WHITE_PIECES": "White has more than 16 pieces",
    "TOO_MANY_BLACK_PIECES": "Black has more than 16 pieces",
    "BAD_CASTLING_RIGHTS": "the castling rights do not fit the kings and rooks",
    "INVALID_EP_SQUARE": "no pawn has just moved past the en-passant square",
    "OPPOSITE_CHECK": "the side that is not to move is in check",
    "EMPTY": "the board is empty",
    "RACE_CHECK": "there is a check",
    "RACE_OVER": "the race is over",
    "RACE_MATERIAL": "there is other material",
    "TOO_MANY_CHECKERS": "the king is in check from more than two pieces",
    "IMPOSSIBLE_CHECK": "no last move could have given this check",
}
