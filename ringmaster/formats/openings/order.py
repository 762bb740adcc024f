"""The order in which a competition uses the openings of a list."""

from __future__ import annotations

from typing import Literal

from ringmaster.games.clean_text import shown
from ringmaster.model.randomness import OPENINGS_STREAM, words

Order = Literal["sequential", "random"]


class OpeningOrder:
    """Order in which colour-swapped pairs use the `count` openings of a book.

    "sequential" repeats the book's order.  "random" uses a new permutation in each pass.
    Pass k depends on (seed, k) only, so that any pair's opening can be computed alone.
    """

    def __init__(
        self, count: int, order: Order = "sequential", seed: int = 0, start: int = 1
    ) -> None:
        """Begin at place `start` of the order, from 1; it may exceed `count`.

        Raises ValueError for a `count` or `start` below 1, or an unknown `order`.
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
        #: Permutations by pass: two, since games of two passes can be in progress.
        self._passes: dict[int, list[int]] = {}

    def index(self, pair_number: int) -> int:
        """Return the opening's index for pair `pair_number`, both from 0."""
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
    """Return pass `number` over range(count) by Fisher and Yates's shuffle.

    The upper half of a 64-bit word times i selects one of i, with a bias below i / 2**64.
    """
    order = list(range(count))
    drawn = words(seed, OPENINGS_STREAM, number, count - 1)
    for i, word in zip(range(count, 1, -1), drawn, strict=True):
        j = word * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
