"""When a game is stopped before its rules end it, as data.

Scores are in centipawns, as engines report them.
"""

from __future__ import annotations

import msgspec


class DrawAdjudication(msgspec.Struct, frozen=True):
    """A draw when both engines' scores have been within `score` of 0 for
    `move_count` moves of each in a row, once `move_number` full moves have been played."""

    move_number: int = 40
    move_count: int = 8
    score: int = 10


class ResignAdjudication(msgspec.Struct, frozen=True):
    """A loss for the player whose scores have been `score` or more below 0 for
    `move_count` of its moves in a row; `two_sided`: only if the opponent's have
    been as far above 0 for as long."""

    move_count: int = 3
    score: int = 600
    two_sided: bool = False


class Tablebases(msgspec.Struct, frozen=True):
    """Syzygy tablebases that end a chess game as soon as they know its result.

    paths    absolute folders
    pieces   men on the board at most, None: as many as the files have
    ignore_50_moves  whether a win that the 50-move rule would spoil counts
    """

    paths: tuple[str, ...]
    pieces: int | None = None
    ignore_50_moves: bool = False
