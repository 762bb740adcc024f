"""Count labels, and find scores and results with a wrong point of view.

A point of view shows in the correlations of scores and results with material.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ringmaster.formats.registry import Pov
from ringmaster.model.players import GameName

#: Correlations within this many standard errors of 0 count as 0.
_ERRORS = 5.0
#: Least |correlation| of each side to move where the two signs differ.
_SPLIT = 0.1
#: Least centipawns by which scores rise with a pawn of material.
_SLOWEST = 5.0
#: Limits of scores and of material: a mate tells no more than a queen.
_SCORE, _MATERIAL = 1500.0, 15.0

Floats = npt.NDArray[np.float32]


class LabelCounts:
    """Counts of labels, which are the first player's.

    results  numbers of positions that were lost, drawn and won, with an averaged result, and
             without a result
    scored   number of positions with a score
    """

    def __init__(self) -> None:
        self.positions = self.scored = 0
        self.results = np.zeros(5, dtype=np.int64)
        self._values: set[float] = set()

    def add(self, result: Floats, score: Floats) -> None:
        """Add positions; NaN is an unknown label."""
        self.positions += len(result)
        self.scored += int(np.count_nonzero(~np.isnan(score)))
        unknown = np.isnan(result)
        kind = np.select([unknown, result == 0, result == 0.5, result == 1], [4, 0, 1, 2], 3)
        self.results += np.bincount(kind, minlength=5)
        if len(self._values) < 2:
            self._values.update(np.unique(result[~unknown]).tolist())

    @property
    def known(self) -> int:
        """Return the number of positions with a result."""
        return int(self.results[:4].sum())

    @property
    def constant(self) -> float | None:
        """Return the result of all positions with one, None for different results."""
        return min(self._values) if len(self._values) == 1 else None


@dataclass
class Correlations:
    """Correlations of results, scores and material of one file, by side to move.

    All quantities are the first player's, by the points of view of the settings.
    """

    sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 3, 6)))

    def add(
        self, result: Floats, score: Floats, material: Floats, side: npt.NDArray[np.uint8]
    ) -> None:
        """Add positions; NaN is an unknown label."""
        columns = (
            result,
            np.clip(score, -_SCORE, _SCORE),
            np.clip(material, -_MATERIAL, _MATERIAL),
        )
        for mover in (0, 1):
            chosen = side == mover
            for i, (a, b) in enumerate(combinations(range(3), 2)):
                x, y = columns[a][chosen].astype(np.float64), columns[b][chosen].astype(np.float64)
                known = ~(np.isnan(x) | np.isnan(y))
                x, y = x[known], y[known]
                self.sums[mover, i] += (len(x), x.sum(), y.sum(), x @ x, y @ y, x @ y)

    def reversed(self, pair: int, least: float) -> tuple[bool, bool]:
        """Return for each side to move whether two quantities contradict each other.

        pair   see `correlation`
        least  least negative correlation where both signs are negative
        """
        first, second = (self.correlation(mover, pair, significant=True) for mover in (0, 1))
        differ = first * second < 0 and min(abs(first), abs(second)) > _SPLIT
        if differ or (max(first, second) <= 0 and min(first, second) < -least):
            return first < 0, second < 0
        return False, False

    def are_in_pawns(self) -> bool:
        """Return whether scores rise with material, but too slowly for centipawns."""
        n, x, y, _, yy, xy = self.sums[:, 2].sum(axis=0).tolist()
        is_significant = max(self.correlation(mover, 2, significant=True) for mover in (0, 1)) > 0
        return is_significant and xy - x * y / n < _SLOWEST * (yy - y * y / n)

    def correlation(self, mover: int, pair: int, *, significant: bool = False) -> float:
        """Return a correlation with a side to move, 0 if undefined.

        pair         0 result and score, 1 result and material, 2 score and material
        significant  whether a correlation that may be chance counts as 0
        """
        n, x, y, xx, yy, xy = self.sums[mover, pair].tolist()
        spread = (xx - x * x / n) * (yy - y * y / n) if n > 2 else 0.0
        if spread <= 1e-12 * n:
            return 0.0
        r = float((xy - x * y / n) / math.sqrt(spread))
        return 0.0 if significant and abs(r) * math.sqrt(n) <= _ERRORS else r


#: The players by the order of their first moves.
SIDES: dict[GameName, tuple[str, str]] = {
    "chess": ("White", "Black"),
    "shogi": ("Black", "White"),
}


def contradiction(labels: Correlations, game: GameName, result: Pov, score: Pov) -> tuple[str, str]:
    """Return a fault of the labels' points of view and the wrong setting, or two "".

    Scores in pawns are a fault without a setting.

    result, score  assumed points of view
    """
    # a player may win with less material, but scores do not contradict results
    for what, against, pov, pair, least in (
        ("score", "the men on the board", score, 2, 0.3),
        ("result", "the men on the board", result, 1, 0.3),
        ("score", "the results", score, 0, 0.1),
    ):
        wrong = labels.reversed(pair, least)
        if any(wrong):
            return _sentence(what, against, wrong, SIDES[game], pov), f"{what}_pov"
    if labels.are_in_pawns():
        return (
            "the scores rise too slowly with the material: are they pawns, not centipawns?",
            "",
        )
    return "", ""


def _sentence(
    what: str, against: str, wrong: tuple[bool, bool], sides: tuple[str, str], pov: Pov
) -> str:
    where = "" if all(wrong) else f" with {sides[wrong.index(True)]} to move"
    names = {"first": sides[0].lower(), "mover": "mover"}
    meant = {"first": f"{sides[0]}'s", "mover": "the mover's"}
    other: Pov = "mover" if pov == "first" else "first"
    text = f"read as {meant[pov]}, the {what}s of positions{where} contradict {against}"
    # a mistaken point of view changes the sign for the second player's positions only
    if wrong == (False, True):
        better = f'{what}_pov="{names[other]}", if they are {meant[other]}'
    else:
        better = "look at how the file was made"
    return f'{text}; {better}; {what}_pov="{names[pov]}" keeps them unchanged'
