"""The order in which a competition uses the openings of a list."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Literal

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
        """Begin at place `start` of the order, from 1; it may exceed `count`."""
        self._count = count
        self._random = order == "random"
        self._skipped = start - 1
        # two, since games of two passes can be in progress
        self._permutation = lru_cache(maxsize=2)(partial(_permutation, count, seed))

    def index(self, pair_number: int) -> int:
        """Return the opening's index for pair `pair_number`, both from 0."""
        passed, place = divmod(self._skipped + pair_number, self._count)
        return self._permutation(passed)[place] if self._random else place


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
