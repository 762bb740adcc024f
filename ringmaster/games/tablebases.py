"""Syzygy tablebases: the result of a chess position with few men on the board.

python-chess reads the files.  What stands here is when their word may be taken:
the tables know nothing of castling rights, and a win in them is one for a
half-move clock at 0.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ringmaster.errors import EngineError
from ringmaster.games.game import Ending
from ringmaster.model.adjudication import Tablebases

if TYPE_CHECKING:
    import chess
    import chess.syzygy

#: What a file of win, draw and loss is called: "KQvKR.rtbw".
_TABLE = re.compile(r"(K[KQRBNP]*)v(K[KQRBNP]*)\.rtbw")
#: How such a file begins, and one of distances (.rtbz); each is as long as a
#: multiple of 64 bytes and a checksum of 16.
_MAGIC = {".rtbw": b"\x71\xe8\x23\x5d", ".rtbz": b"\xd7\x66\x0c\xa5"}
#: What a position is, from the mover's side: 2 won, 1 won but for the 50-move
#: rule, 0 drawn, -1 and -2 likewise lost.
Wdl = Callable[["chess.Board"], int | None]
#: Plies to the next move that the 50-move rule counts from, signed likewise.
Dtz = Callable[["chess.Board"], int | None]

TABLEBASES = "tablebases"


class Prober:
    """Tells the result of positions.

    wdl, dtz  as above; None for a position whose table is missing
    pieces    men on the board at most
    """

    def __init__(self, wdl: Wdl, dtz: Dtz, pieces: int, *, ignore_50_moves: bool = False) -> None:
        self._wdl = wdl
        self._dtz = dtz
        self._pieces = pieces
        self._ignore_50_moves = ignore_50_moves

    def probe(self, fen: str) -> Ending | None:
        """Return how a position (FEN) ends with best play, None when that is not known."""
        men, turn, castling, *_ = fen.split(" ", 3)
        if castling != "-" or sum(map(str.isalpha, men)) > self._pieces:
            return None
        import chess

        board = chess.Board(fen)
        try:
            wdl = self._wdl(board)
            if wdl is None:
                return None
            if abs(wdl) == 2 and not self._ignore_50_moves and not self._in_time(board):
                return None
        except Exception as error:
            # what python-chess raises when a file is not what it says it is
            problem = f"a tablebase cannot be read: {type(error).__name__}: {error}"
            raise EngineError(f"{problem}\nin {fen}") from error
        if wdl == 0 or (abs(wdl) == 1 and not self._ignore_50_moves):
            return Ending(None, TABLEBASES)
        mover = "wb".index(turn)
        return Ending(mover if wdl > 0 else 1 - mover, TABLEBASES)

    def _in_time(self, board: chess.Board) -> bool:
        """Whether a won position is won before the 50-move rule says otherwise."""
        if board.halfmove_clock == 0:
            return True
        dtz = self._dtz(board)
        # DTZ may be a ply too small: https://syzygy-tables.info/metrics#dtz
        return dtz is not None and board.halfmove_clock + abs(dtz) < 100


def find_problem(tables: Tablebases) -> str:
    """Return what is wrong with the folders of tablebases, "" if nothing is."""
    for path in tables.paths:
        try:
            if not _men_of_tables(path):
                return f"there is no Syzygy file (*.rtbw) in {path}"
            for file in sorted(Path(path).iterdir()):
                if _TABLE.fullmatch(file.with_suffix(".rtbw").name) and not _is_whole(file):
                    return f"{file} is no Syzygy file, or not a whole one"
        except OSError as error:
            return f"cannot read {path}: {error.strerror}"
    return ""


def _is_whole(file: Path) -> bool:
    """Whether a table begins and is as long as one; also any other file.  Raises OSError."""
    magic = _MAGIC.get(file.suffix)
    if magic is None:
        return True
    with file.open("rb") as stream:
        return stream.read(4) == magic and file.stat().st_size % 64 == 16


def _men_of_tables(path: str) -> int:
    """Return the men of the largest table in a folder, 0 without any.  Raises OSError."""
    found = (_TABLE.fullmatch(file.name) for file in Path(path).iterdir())
    return max((len(match[1]) + len(match[2]) for match in found if match), default=0)


@functools.lru_cache(maxsize=4)
def open_tablebases(tables: Tablebases) -> Prober:
    """Return the prober of some tablebases, opened once in a process.

    Raises EngineError (of no player) when a folder has none: the game cannot be set up.
    """
    problem = find_problem(tables)
    if problem:
        raise EngineError(problem)
    import chess.syzygy

    most = max(map(_men_of_tables, tables.paths))
    opened = chess.syzygy.Tablebase()
    for path in tables.paths:
        opened.add_directory(path)
    return Prober(
        opened.get_wdl,
        opened.get_dtz,
        most if tables.pieces is None else min(most, tables.pieces),
        ignore_50_moves=tables.ignore_50_moves,
    )
