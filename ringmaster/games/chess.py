"""The rules of chess and Chess960, played forward from a position, fast enough for instant engines.

`ChessGame` plays on cozy_chess (about a microsecond a ply).  `ReferenceChessGame` plays on
python-chess, on machines without a cozy_chess wheel and as the oracle of the tests.
`chess_rules` picks one of the two.

Castling in Chess960 is written as UCI_Chess960 prescribes: the king takes its own rook.
Positions are read as X-FEN (KQkq for the outermost rook, a file letter for any other) or
Shredder-FEN (always file letters), and written as X-FEN.

The third occurrence of a position is a draw, and so is the 100th ply without a capture or a
pawn move.  The first ending in the order mate, stalemate, material, repetition, 50 moves
counts.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from ringmaster.errors import IllegalMove, cut
from ringmaster.games.clean_text import shown
from ringmaster.games.game import Ending, Game

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

#: The fields after the board: name, form, and the form in words.
_FEN_FIELDS = (
    ("side to move is", re.compile("[wb]"), "w or b"),
    ("castling rights are", re.compile("-|[KQkqA-Ha-h]{1,4}"), "such as KQkq, Kq or -"),
    ("en-passant square is", re.compile("-|[a-h][36]"), "on rank 3 or 6, or a -"),
    ("half-move clock is", re.compile("[0-9]{1,6}"), "a number"),
    ("move number is", re.compile("[0-9]{1,6}"), "a number"),
)


def normalise_fen(fen: str, chess960: bool = False) -> str:
    """Return `fen` as python-chess writes it.

    It has single spaces, castling rights in the order KQkq (X-FEN in Chess960), and an
    en-passant square only where the capture is legal.  Missing counters are 0 and 1.

    Raises ValueError for anything but a legal position.  The message does not repeat the FEN.
    """
    import chess

    fields = with_counters(fen).split()
    if len(fields) != 6:
        raise ValueError(f"a FEN has 6 fields, or 4 without counters; this has {len(fields)}")
    # python-chess reads White's rights before Black's only
    fields[2] = "".join(sorted(fields[2], key=str.islower))
    for text, (name, form, expected) in zip(fields[1:], _FEN_FIELDS, strict=True):
        if not form.fullmatch(text):
            raise ValueError(f"the {name} {shown(text)}, not {expected}")
    try:
        board = chess.Board(" ".join(fields), chess960=chess960)
    except ValueError as error:
        raise ValueError(str(error).partition(": ")[0]) from None
    wrong = board.status()
    if wrong:
        raise ValueError("; ".join(_IN_WORDS[flag.name or ""] for flag in wrong))
    return board.fen()


def with_counters(fen: str) -> str:
    """Return a FEN with default counters, without a semicolon at its end."""
    fields = fen.partition(";")[0].split()
    return " ".join([*fields, *("0", "1")[len(fields) - 4 :]] if len(fields) in (4, 5) else fields)


#: chess.Status flags by name: python-chess takes long to import.
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
    "TOO_MANY_CHECKERS": "the king is in check from more than two pieces",
    "IMPOSSIBLE_CHECK": "no last move could have given this check",
}


try:
    import cozy_chess as cozy

    HAVE_COZY = True
except ImportError:
    HAVE_COZY = False

_MATE: Final = (Ending(0, "mate"), Ending(1, "mate"))
_STALEMATE: Final = Ending(None, "stalemate")
_MATERIAL: Final = Ending(None, "material")
_REPETITION: Final = Ending(None, "repetition")
_50_MOVES: Final = Ending(None, "50 moves")

_UCI_MOVE: Final = re.compile("[a-h][1-8][a-h][1-8][nbrq]?")

#: Castling in standard chess: the move in UCI, and the king's capture of its rook.
_CASTLING: Final = {"e1g1": "e1h1", "e1c1": "e1a1", "e8g8": "e8h8", "e8c8": "e8a8"}
_KING_TAKES_ROOK: Final = {rook: king for king, rook in _CASTLING.items()}
#: Both forms; they may be moves of other pieces as well.
CASTLING_STRINGS: Final = frozenset((*_CASTLING, *_KING_TAKES_ROOK))


class _ChessRules(Game):
    """Base of both backends: names of the sides and errors of illegal moves."""

    colours = ("white", "black")
    #: Whether a king castles by taking its rook, from anywhere on the first rank.
    chess960: ClassVar[bool] = False

    __slots__ = ()

    def _refusal(self, move: str) -> IllegalMove:
        fen = self.position()
        return IllegalMove(cut(move, 40), fen, _why_illegal(fen, move, self.chess960))


class ChessGame(_ChessRules):
    """A game of chess on cozy_chess."""

    __slots__ = ("_board", "_clock", "_dead", "_first_ply", "_repeats", "_seen", "_side")

    def __init__(self, fen: str | None = None) -> None:
        """Start from `fen` (six fields) or the usual position.

        Raises ValueError for a FEN that python-chess does not call valid.
        """
        super().__init__()
        if fen is None:
            fen = START_FEN
        board = usual_board(fen, self.chess960)
        if board is None:
            fen = normalise_fen(fen, self.chess960)
            board = _board(fen, self.chess960)
        # cozy_chess has an 8-bit clock that stops at 100 and a 16-bit move number.  Its
        # counters start at 0 1, and `_clock` and `_first_ply` hold the real ones.
        fields = fen.split()
        self._board = board
        self._side = 0 if fields[1] == "w" else 1
        self._clock = int(fields[4])
        self._first_ply = 2 * (int(fields[5]) - 1) + self._side
        self._take_stock()

    @property
    def board(self) -> cozy.Board:
        """The board, for reading only; its counters are not the game's."""
        return self._board

    @property
    def to_move(self) -> int:
        return self._side

    def step(self, move: str) -> cozy.Move | None:
        """Return a move in cozy_chess's form, None for text that cannot be a move.

        Kings castle by taking their rook.  Legality is not checked.
        """
        step = _STEPS.get(move)
        return self._castling(move) if step is None else step

    def play(self, move: str) -> None:
        board = self._board
        step = self.step(move)
        if step is None or not board.try_play(step):
            raise self._refusal(move)
        self.moves.append(move)
        self._side ^= 1
        if board.halfmove_clock:
            self._clock += 1
            key = board.hash()
            self._repeats = repeats = self._seen.get(key, 0) + 1
            self._seen[key] = repeats
        else:
            self._clock = 0
            self._take_stock()

    def ending(self) -> Ending | None:
        status = self._board.status()
        if status != _ONGOING:
            if status == _WON:
                return _MATE[1 - self._side]
            # cozy_chess also reports a draw after 100 plies
            if not self._board.generate_moves():
                return _STALEMATE
        if self._dead:
            return _MATERIAL
        if self._repeats >= 3:
            return _REPETITION
        if self._clock >= 100:
            return _50_MOVES
        return None

    def position(self) -> str:
        """Return the FEN in the form of `normalise_fen`."""
        board, turn, castling, en_passant, _, _ = self._board.fen().split()
        if en_passant != "-" and not self._can_take_en_passant():
            en_passant = "-"
        number = (self._first_ply + len(self.moves)) // 2 + 1
        return f"{board} {turn} {castling} {en_passant} {self._clock} {number}"

    def in_check(self) -> bool:
        return bool(self._board.checkers())

    def _take_stock(self) -> None:
        """Restart the count of repetitions and check the material.

        No earlier position can recur after a capture or a pawn move.
        """
        board = self._board
        key = board.hash()
        # cozy_chess hashes the file of every double step, but positions differ only where
        # the capture is legal
        if board.en_passant() is not None and not self._can_take_en_passant():
            key = board.hash_without_ep()
        self._seen = {key: 1}
        self._repeats = 1
        self._dead = not board.pieces(_PAWN) and self._insufficient()

    def _insufficient(self) -> bool:
        """Return whether neither side can mate: bare kings, one minor piece, or bishops all on
        squares of one colour."""
        board = self._board
        if board.pieces(_ROOK) or board.pieces(_QUEEN):
            return False
        bishops = board.pieces(_BISHOP)
        if board.pieces(_KNIGHT):
            return len(board.occupied()) == 3
        return not bishops & _DARK or not bishops & _LIGHT

    def _can_take_en_passant(self) -> bool:
        board = self._board
        file = board.en_passant()
        if file is None:
            return False
        index = file.__index__()
        home, target = ("5", "6") if self._side == 0 else ("4", "3")
        target = _FILES[index] + target
        for side in (index - 1, index + 1):
            if 0 <= side < 8:
                step = _STEPS[_FILES[side] + home + target]
                if board.piece_on(step.from_square) == _PAWN and board.is_legal(step):
                    return True
        return False

    def _castling(self, move: str) -> cozy.Move | None:
        """Return the step for a move that is castling if a king makes it, or None."""
        if move not in CASTLING_STRINGS:
            return None
        square = cozy.Square.E1 if move[1] == "1" else cozy.Square.E8
        if self._board.piece_on(square) != _KING:
            return cozy.Move.from_str(move)
        return cozy.Move.from_str(_CASTLING[move]) if move in _CASTLING else None


class Chess960Game(ChessGame):
    """A game of Chess960 on cozy_chess."""

    chess960 = True

    __slots__ = ()

    def position(self) -> str:
        board, turn, castling, *rest = super().position().split()
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
                letters += letter if outer(rooks) == index else _FILES[index]
        return letters.upper() if white else letters

    def _castling(self, move: str) -> cozy.Move | None:
        # e1g1, castling in standard chess, is an ordinary move of the king here
        return cozy.Move.from_str(move) if move in CASTLING_STRINGS else None


class ReferenceChessGame(_ChessRules):
    """A game of chess on python-chess, with the behaviour of `ChessGame`."""

    __slots__ = ("_board",)

    def __init__(self, fen: str | None = None) -> None:
        """Start from `fen` or the usual position.  Raises ValueError for an invalid FEN."""
        import chess

        super().__init__()
        fen = normalise_fen(START_FEN if fen is None else fen, self.chess960)
        self._board: Any = chess.Board(fen, chess960=self.chess960)

    @property
    def to_move(self) -> int:
        return 0 if self._board.turn else 1

    def play(self, move: str) -> None:
        import chess

        board = self._board
        if not _UCI_MOVE.fullmatch(move) or move[:2] == move[2:4]:
            raise self._refusal(move)
        step = chess.Move.from_uci(move)
        king_moves = board.piece_type_at(step.from_square) == chess.KING
        if not board.is_legal(step) or (
            king_moves and not self.chess960 and move in _KING_TAKES_ROOK
        ):
            raise self._refusal(move)
        board.push(step)
        self.moves.append(move)

    def ending(self) -> Ending | None:
        board = self._board
        if not any(board.generate_legal_moves()):
            return _MATE[1 - self.to_move] if board.is_check() else _STALEMATE
        if board.is_insufficient_material():
            return _MATERIAL
        if board.is_repetition(3):
            return _REPETITION
        if board.halfmove_clock >= 100:
            return _50_MOVES
        return None

    def position(self) -> str:
        return str(self._board.fen())

    def in_check(self) -> bool:
        return bool(self._board.is_check())


class ReferenceChess960Game(ReferenceChessGame):
    """A game of Chess960 on python-chess, with the behaviour of `Chess960Game`."""

    chess960 = True

    __slots__ = ()


def chess_rules(chess960: bool = False) -> type[ChessGame] | type[ReferenceChessGame]:
    """Return the class of games that is the fastest on this machine."""
    if chess960:
        return Chess960Game if HAVE_COZY else ReferenceChess960Game
    return ChessGame if HAVE_COZY else ReferenceChessGame


def start_fen(number: int) -> str:
    """Return start position `number`, 0 to 959, in Scharnagl's order (518: standard chess).

    Raises ValueError for another number.
    """
    import chess

    return chess.Board.from_chess960_pos(number).fen()


def _why_illegal(fen: str, move: str, chess960: bool) -> str:
    import chess

    if move == "0000":
        return "the null move"
    if not _UCI_MOVE.fullmatch(move):
        return "not a move in UCI notation"
    board = chess.Board(fen, chess960=chess960)
    start, end = chess.parse_square(move[:2]), chess.parse_square(move[2:4])
    piece = board.piece_at(start)
    if piece is None:
        return f"there is no piece on {move[:2]}"
    if piece.color != board.turn:
        return f"the piece on {move[:2]} is {'White' if piece.color else 'Black'}'s"
    king_moves = piece.piece_type == chess.KING
    if king_moves and not chess960 and move in _KING_TAKES_ROOK:
        return f"castling is written {_KING_TAKES_ROOK[move]}"
    if (
        king_moves
        and chess960
        and move in _CASTLING
        and chess.Board(fen).is_legal(chess.Move(start, end))
    ):
        return f"castling is written {_CASTLING[move]}, king takes rook, in Chess960"
    promoting = piece.piece_type == chess.PAWN and chess.square_rank(end) in (0, 7)
    if promoting and len(move) == 4 and board.is_pseudo_legal(chess.Move(start, end, chess.QUEEN)):
        return "it does not say what the pawn promotes to"
    if start != end and board.is_pseudo_legal(chess.Move.from_uci(move)):
        return "it leaves the king in check"
    name = chess.piece_name(piece.piece_type)
    return f"the {name} on {move[:2]} cannot do that"


if HAVE_COZY:
    _FILES: Final = "abcdefgh"
    _PAWN: Final = cozy.Piece.Pawn
    _KNIGHT: Final = cozy.Piece.Knight
    _BISHOP: Final = cozy.Piece.Bishop
    _ROOK: Final = cozy.Piece.Rook
    _QUEEN: Final = cozy.Piece.Queen
    _KING: Final = cozy.Piece.King
    _WHITE: Final = cozy.Color.White
    _BLACK: Final = cozy.Color.Black
    _WON: Final = cozy.GameStatus.Won
    _ONGOING: Final = cozy.GameStatus.Ongoing
    _DARK: Final = cozy.BitBoard.DARK_SQUARES
    _LIGHT: Final = cozy.BitBoard.LIGHT_SQUARES

#: A FEN with fields in their usual form.
_PLAIN: Final = re.compile(
    r"(?!\S*[1-8]{2})(?:[1-8KQRBNPkqrbnp]+/){7}[1-8KQRBNPkqrbnp]+ [wb]"
    r" (-|(?! )[KQA-H]{0,2}[kqa-h]{0,2}) (?:-|[a-h][36]) [0-9]{1,2} [1-9][0-9]{0,3}"
)


def usual_board(fen: str, chess960: bool) -> cozy.Board | None:
    """Return the board of a FEN in the usual form, None where python-chess has to judge.

    cozy_chess differs on adjacent kings, on impossible checks, on the range of the counters, and
    on castling rights of a king off the e file.
    """
    form = _PLAIN.fullmatch(fen)
    if form is None:
        return None
    try:
        board = _board(fen, chess960)
    except ValueError:
        return None
    white, black = board.king(_WHITE), board.king(_BLACK)
    if board.checkers() or black in cozy.get_king_moves(white):
        return None
    rights = form[1]
    if not chess960 and (
        (white != cozy.Square.E1 and ("K" in rights or "Q" in rights))
        or (black != cozy.Square.E8 and ("k" in rights or "q" in rights))
    ):
        return None
    return board


def _board(fen: str, chess960: bool) -> cozy.Board:
    """Return the board of a FEN of six fields, without its counters.  Raises ValueError."""
    return _chess960_board(fen) if chess960 else cozy.Board.from_fen(without_counters(fen))


def _chess960_board(fen: str) -> cozy.Board:
    """Return the board of a FEN of Chess960, without its counters.

    Castling rights are files of rooks, or KQkq for the outermost ones.  Raises ValueError.
    """
    placement, turn, rights, en_passant, _, _ = fen.split()
    ranks = placement.split("/")
    files = ""
    for right in rights.strip("-"):
        is_white = right.isupper()
        rank = ranks[7 if is_white else 0].translate(_GAPS)
        king, rook = ("K", "R") if is_white else ("k", "r")
        outermost = {"K": rank.rfind(rook), "Q": rank.find(rook)}.get(right.upper())
        file = _FILES.index(right.lower()) if outermost is None else outermost
        is_outside = outermost is not None and (file > rank.find(king)) != (right in "Kk")
        if is_outside or not 0 <= file < 8:
            raise ValueError(f"no rook can castle by {right}")
        files += _FILES[file].upper() if is_white else _FILES[file]
    board = cozy.Board.from_fen(
        f"{placement} {turn} {files or '-'} {en_passant} 0 1", shredder=True
    )
    held = [board.castle_rights(colour) for colour in (_WHITE, _BLACK)]
    if sum((r.short is not None) + (r.long is not None) for r in held) != len(files):
        raise ValueError("two rooks castle to the same side")
    return board


#: The characters of empty squares by number.
_GAPS: Final = {ord(str(count)): " " * count for count in range(1, 9)}


def without_counters(fen: str) -> str:
    """Return a FEN with its counters at 0 and 1."""
    return fen.rsplit(" ", 2)[0] + " 0 1"


def _steps() -> dict[str, cozy.Move]:
    """Return every string that can be a move, except the eight of castling.

    The table checks the form of a move: cozy_chess itself accepts "e7e8k" and "a7a8qq".
    """
    names = [file + rank for file in _FILES for rank in "12345678"]
    strings = [start + end for start in names for end in names if start != end]
    for start, end in (("7", "8"), ("2", "1")):
        for file in range(8):
            for to_file in range(max(file - 1, 0), min(file + 2, 8)):
                pawn = f"{_FILES[file]}{start}{_FILES[to_file]}{end}"
                strings += [pawn + letter for letter in "nbrq"]
    return {s: cozy.Move.from_str(s) for s in strings if s not in CASTLING_STRINGS}


_STEPS: Final[dict[str, cozy.Move]] = _steps() if HAVE_COZY else {}
