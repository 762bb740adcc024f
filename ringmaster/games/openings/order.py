"""The order in which a competition goes through the openings of a book.

Which players get an opening, with which colours, is left to the competition.
"""

from __future__ import annotations

from typing import Literal

from ringmaster.games.text import shown
from ringmaster.model.randomness import OPENINGS_STREAM, words

Order = Literal["sequential", "random"]


class OpeningOrder:
    """Which of `count` openings a colour-swapped pair of games begins with.

    "sequential" goes through the book again and again.  "random" does too, in
    another order each time: pass k over the book is a permutation made from
    (seed, k) alone, the same on every machine, so any pair's opening can be
    found without those before it.
    """

    def __init__(
        self, count: int, order: Order = "sequential", seed: int = 0, start: int = 1
    ) -> None:
        """Begin at place `start` of the order, counted from 1 and beyond the
        first pass if it is larger than `count`.

        Raises ValueError when `count` or `start` is less than 1 or `order` is
        unknown.
        """
        if count < 1:
            raise ValueError("there must be at least one opening")
        if start < 1:
            raise ValueError(f"the start is {start}, but openings are counted from 1")
        if order not in ("sequential", "random"):
            raise ValueError(f"the order is {shown(order)}, not 'sequential' or 'random'")
        self._count = count
        self._random = order == "random"
        self._seed = seed
        self._skipped = start - 1
        #: Permutations by pass.  Two, since games of two passes are in progress
        #: together where one pass ends and the next begins.
        self._passes: dict[int, list[int]] = {}

    def index(self, pair_number: int) -> int:
        """Return the index of the opening of pair `pair_number` (from 0)."""
        passed, place = divmod(self._skipped + pair_number, self._count)
        if not self._random:
            return place
        order = self._passes.get(passed)
        if order is None:
            if len(self._passes) >= 2:
                del self._passes[max(self._passes, key=lambda k: abs(k - passed))]
            order = self._passes[passed] = _permutation(self._count, self._seed, passed)
        return order[place]


def _permutation(count: int, seed: int, number: int) -> list[int]:
    """Return pass `number` over range(count): Fisher and Yates's shuffle.

    A 64-bit word times i, upper half, chooses one of i with a bias below
    i / 2**64.
    """
    order = list(range(count))
    drawn = words(seed, OPENINGS_STREAM, number, count - 1)
    for i, word in zip(range(count, 1, -1), drawn, strict=True):
        j = word * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
