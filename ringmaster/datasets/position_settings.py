"""Settings of a set of labelled positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ringmaster.formats.registry import Pov
from ringmaster.formats.source import Source
from ringmaster.model.players import GameName

#: Values of `score_pov` and `result_pov` in a control file.
POV_NAMES: dict[str, Pov] = {
    "white": "first",
    "black": "first",
    "first": "first",
    "sente": "first",
    "mover": "mover",
}
Duplicates = Literal["merge", "keep"]


@dataclass(frozen=True)
class PositionSettings:
    """The arguments of `Positions(…)`.

    paths       files, in the order of reading
    format      a name of `FORMATS`, None: by suffix and first lines of each file
    score_pov   point of view of scores, None: the format's
    result_pov  point of view of results, None: the format's
    in_check    whether the set includes positions in check
    score_cap   largest |score| in centipawns, None: no limit
    first_ply   number of plies omitted at the start of a game
    duplicates  "merge": equal positions become one, with averaged labels
    most        size of a random sample, None: all positions
    skip_bad    whether bad positions are left out and counted
    results     unit of numeric results in text, "0-1" or "0-2", None: by the file
    moves       whether the set has legal moves beside the positions, not labels
    """

    paths: tuple[str, ...]
    format: str | None = None
    score_pov: Pov | None = None
    result_pov: Pov | None = None
    in_check: bool = False
    score_cap: float | None = None
    first_ply: int = 0
    duplicates: Duplicates = "merge"
    most: int | None = None
    skip_bad: bool = False
    results: str | None = None
    moves: bool = False

    def source(self, path: str, game: GameName, variant: str) -> Source:
        """Return one of the files for reading."""
        return Source(
            path, game, variant, skip_bad=self.skip_bad, results=self.results, moves=self.moves
        )
