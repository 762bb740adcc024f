"""Whether the labels of a file are told from the sides that they are said to be.

Where they are not, what goes with what is turned round for the positions of one side to
move, or for all: the score, the result and the men on the board rise and fall together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.settings import Pov

_WHAT = ("result", "score", "material")
#: A correlation is looked at when it is so many of its standard errors from 0.
_ERRORS = 5.0
#: Where the sides to move differ in sign, both must be this far from 0: that is what a label
#: of another side does, to both alike.
_SPLIT = 0.1
#: Where all is turned round it must be by more than this; who gives up men may be winning, in
#: shogi more than in chess, but scores do not contradict results.
_TURNED = {"material": 0.3, "score": 0.1}
#: What larger amounts are taken for: a mate says no more than a queen.
_SCORE, _MATERIAL = 1500.0, 15.0

Array = npt.NDArray[np.float32]


@dataclass
class Labels:
    """Correlations of what is known of the positions of one file, by side to move; all
    told from the first player as the settings have it."""

    sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 3, 6)))

    def add(
        self, result: Array, score: Array, material: Array, side: npt.NDArray[np.uint8]
    ) -> None:
        """Take in positions; labels that are not known are NaN."""
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

    def turned(self, a: str, b: str) -> tuple[bool, bool]:
        """Return by side to move whether two labels run against each other; the names in
        the order of `_WHAT`."""
        i = list(combinations(_WHAT, 2)).index((a, b))
        first, second = (_correlation(*self.sums[mover, i].tolist()) for mover in (0, 1))
        if first * second < 0 and min(abs(first), abs(second)) > _SPLIT:
            return first < 0, second < 0
        if max(first, second) <= 0 and min(first, second) < -_TURNED[b]:
            return first < 0, second < 0
        return False, False


def _correlation(n: float, x: float, y: float, xx: float, yy: float, xy: float) -> float:
    """Return a correlation from sums, 0 where it may as well be chance."""
    if n < 3:
        return 0.0
    spread = (xx - x * x / n) * (yy - y * y / n)
    if spread <= 0:
        return 0.0
    r = (xy - x * y / n) / math.sqrt(spread)
    return r if abs(r) * math.sqrt(n) > _ERRORS else 0.0


def contradiction(
    labels: Labels, sides: tuple[str, str], result: Pov, score: Pov
) -> tuple[str, str]:
    """Return what is wrong with the sides that the labels of a file are told from, and
    the setting that is to blame; two empty strings when nothing is.

    sides   names of the players, e.g. ("White", "Black")
    result  whose side results are taken to be told from, `score` the same of scores
    """
    for what, against, pov in (
        ("score", "material", score),
        ("result", "material", result),
        ("score", "result", score),
    ):
        turned = labels.turned(*sorted((what, against), key=_WHAT.index))
        if any(turned):
            than = "the results" if against == "result" else "the men on the board"
            return _sentence(what, than, turned, sides, pov), f"{what}_pov"
    return "", ""


def _sentence(
    what: str, against: str, turned: tuple[bool, bool], sides: tuple[str, str], pov: Pov
) -> str:
    where = "" if all(turned) else f" with {sides[turned.index(True)]} to move"
    first = sides[0].lower()
    names = {"first": first, "mover": "mover"}
    meant = {"first": f"{sides[0]}'s", "mover": "the mover's"}
    other: Pov = "mover" if pov == "first" else "first"
    text = f"taken as {meant[pov]}, the {what}s of positions{where} contradict {against}"
    # what is the mover's, taken for the first player's, is turned round for the second
    # player's positions only, and likewise the other way about
    if turned == (False, True):
        better = f'{what}_pov="{names[other]}", if they are {meant[other]}'
    else:
        better = "look at how the file was made"
    return f'{text}; {better}; {what}_pov="{names[pov]}" takes them as they are'
