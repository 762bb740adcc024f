"""Syzygy tablebases: the result of a chess position with few pieces.

python-chess reads the files.  The tables know no castling rights, and their wins assume a
half-move clock of 0.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ringmaster.errors import EngineError
from ringmaster.games.game import Ending
from ringmaster.model.jobs import Tablebases

if TYPE_CHECKING:
    import chess
    import chess.syzygy

#: Name of a file: wins, draws and losses, or distances.
_TABLE = re.compile(r"K[KQRBNP]*vK[KQRBNP]*\.rtb[wz]")
#: First bytes of both.  Their length is a multiple of 64 bytes plus a checksum of 16.
_MAGIC = {".rtbw": b"\x71\xe8\x23\x5d", ".rtbz": b"\xd7\x66\x0c\xa5"}
#: Result from the mover's side: 2 won, 1 won but drawn by the 50-move rule, 0 drawn, -1 and
#: -2 lost.  None: the table is missing.
Wdl = Callable[["chess.Board"], int | None]
#: Plies to the next capture or pawn move, with the sign of the result.
Dtz = Callable[["chess.Board"], int | None]

TABLEBASES = "tablebases"


class Prober:
    """Looks up the results of positions with at most `pieces` pieces."""

    def __init__(self, wdl: Wdl, dtz: Dtz, pieces: int, *, ignore_50_moves: bool = False) -> None:
        self._wdl = wdl
        self._dtz = dtz
        self._pieces = pieces
        self._ignore_50_moves = ignore_50_moves

    def probe(self, fen: str) -> Ending | None:
        """Return the ending of a position (FEN) with best play, None if unknown.

        Raises EngineError for a damaged table.
        """
        placement, turn, castling, *_ = fen.split(" ", 3)
        if castling != "-" or sum(map(str.isalpha, placement)) > self._pieces:
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
            # python-chess raises errors of many types for a damaged file
            problem = f"a tablebase cannot be read: {type(error).__name__}: {error}"
            raise EngineError(f"{problem}\nin {fen}") from error
        if wdl == 0 or (abs(wdl) == 1 and not self._ignore_50_moves):
            return Ending(None, TABLEBASES)
        mover = "wb".index(turn)
        return Ending(mover if wdl > 0 else 1 - mover, TABLEBASES)

    def _in_time(self, board: chess.Board) -> bool:
        """Return whether the win comes before a draw by the 50-move rule."""
        if board.halfmove_clock == 0:
            return True
        dtz = self._dtz(board)
        # DTZ may be a ply too small: https://syzygy-tables.info/metrics#dtz
        return dtz is not None and board.halfmove_clock + abs(dtz) < 100


def find_problem(tables: Tablebases) -> str:
    """Return a fault of the folders of tablebases, "" for none."""
    for path in tables.paths:
        try:
            files = sorted(file for file in Path(path).iterdir() if _TABLE.fullmatch(file.name))
            if not any(file.suffix == ".rtbw" for file in files):
                return f"there is no Syzygy file (*.rtbw) in {path}"
            for file in files:
                with file.open("rb") as stream:
                    begins_well = stream.read(4) == _MAGIC[file.suffix]
                if not begins_well or file.stat().st_size % 64 != 16:
                    return f"{file} is not a complete Syzygy file"
        except OSError as error:
            return f"cannot read {path}: {error.strerror}"
    return ""


@functools.lru_cache(maxsize=4)
def open_tablebases(tables: Tablebases) -> Prober:
    """Return the prober of some tablebases, opened once in a process.

    Raises EngineError, of no player, for a folder without tables: the game is void.
    """
    problem = find_problem(tables)
    if problem:
        raise EngineError(problem)
    import chess.syzygy

    opened = chess.syzygy.Tablebase()
    for path in tables.paths:
        opened.add_directory(path)
    # names such as KQvKR
    most = max(map(len, opened.wdl), default=1) - 1
    return Prober(
        opened.get_wdl,
        opened.get_dtz,
        most if tables.pieces is None else min(most, tables.pieces),
        ignore_50_moves=tables.ignore_50_moves,
    )
