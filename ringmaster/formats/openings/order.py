"""The order in which a competition uses the openings of a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Literal

from ringmaster.model.randomness import OPENINGS_STREAM, words

Order = Literal["sequential", "random"]


def opening_order(
    count: int, order: Order = "sequential", seed: int = 0, start: int = 1
) -> Callable[[int], int]:
    """Return the function from a colour-swapped pair's number to its opening, both from 0.

    "sequential" repeats the order of the book's `count` openings.  "random" uses a new
    permutation in each pass.  Pass k depends on (seed, k) only, so that any pair's opening can
    be computed alone.

    start  the first place of the order that is used, from 1; it may exceed `count`
    """
    # two, since games of two passes can be in progress
    permutation = lru_cache(maxsize=2)(partial(_permutation, count, seed))

    def opening(pair_number: int) -> int:
        passed, place = divmod(start - 1 + pair_number, count)
        return permutation(passed)[place] if order == "random" else place

    return opening


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
