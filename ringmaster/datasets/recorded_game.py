"""A game as a record tells it: its moves, what the engines said of them, and how it
ended.  The same for every format of game records."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ringmaster.model.players import GameName

#: What a mate is worth in centipawns, whatever its distance.
MATE = 10_000.0


@dataclass(slots=True)
class RecordedGame:
    """One game of a file.

    number   its place in the file, from 1
    line     where it begins, from 1
    id       what it is called there ("" unknown); ringmaster's own records have the
             game's id
    start    FEN or SFEN, None for the usual position
    moves    in the protocol's notation, all legal
    scores   as many: centipawns from the side that moves first in a game, of the
             position *before* the move; NaN where nothing is said
    book     how many moves at the beginning are the opening's
    result   from the same side, 0, 0.5 or 1; NaN when the game has none
    is_forfeit  whether the record says that a side lost by a fault, or on time
    """

    number: int
    line: int
    id: str = ""
    start: str | None = None
    moves: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    book: int = 0
    result: float = math.nan
    is_forfeit: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether the record has a result."""
        return not math.isnan(self.result)


#: Results from the side that moves first.
RESULTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


def plies_before(game: GameName, start: str | None) -> int:
    """Return how many plies a game had before its start position, by the move number
    that the position gives; 0 where it gives none."""
    fields = (start or "").split()
    if game == "shogi":
        # SFEN counts plies, from 1
        number = fields[3] if len(fields) > 3 else ""
        return max(int(number) - 1, 0) if number.isdecimal() else 0
    if len(fields) < 6 or not fields[-1].isdecimal():
        return 0
    return 2 * max(int(fields[-1]) - 1, 0) + (fields[1] == "b")


def limited(score: float) -> float:
    """Return centipawns with those that encode a mate as ±MATE.

    Engines and records write mates as 30,000 and more, less their distance; the
    largest score that is none is far below MATE.
    """
    return max(-MATE, min(MATE, score))
