"""Which labelled positions a data set takes in, and from what files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Whose side a number is told from: the player who moves first in a game, or who is to
#: move in the position.
Pov = Literal["first", "mover"]
#: What `score_pov` and `result_pov` may be in a control file.
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
    """What `Positions(…)` says.

    paths       files, read in this order
    format      a name of `FORMATS`, None: by suffix and first lines of each file
    score_pov   whose side scores are told from, None: as the format has it
    result_pov  the same of results
    in_check    whether positions in check are kept
    score_cap   largest |score| in centipawns, None: any
    first_ply   plies of a game that are left out
    duplicates  "merge": equal positions become one, with averaged labels
    most        positions that are kept, a random sample; None: all
    skip_bad    whether positions that cannot be read are left out and counted
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
