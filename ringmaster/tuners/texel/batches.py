"""Batches of shards: which part of the training positions is used when."""

from __future__ import annotations

import math

import numpy as np

from ringmaster.model.randomness import BATCHES_STREAM, word_array


class Batches:
    """Shards in random order, a further order each time all have been used.

    shards  how many there are
    size    how many a batch has; batches of an order are without common shards, and what is
            left over of it is not used
    """

    def __init__(self, shards: int, size: int, seed: int) -> None:
        self.shards, self.size, self.seed = shards, size, seed

    @property
    def share(self) -> float:
        """The share of training that a batch is."""
        return self.size / self.shards

    def batch(self, number: int) -> tuple[int, ...]:
        """Return the shards of a batch, in order; a function of the seed and the number."""
        if self.size >= self.shards:
            return tuple(range(self.shards))
        epoch, place = divmod(number, self.shards // self.size)
        random = word_array(self.seed, BATCHES_STREAM, epoch, self.shards)
        order = np.argsort(random, kind="stable")
        return tuple(sorted(order[place * self.size : (place + 1) * self.size].tolist()))


def batch_size(share: float | None, default: float, shards: int, what: str = "batch") -> int:
    """Return how many shards a batch has whose share of them all is given.

    Raises ValueError where the share is not one.
    """
    if share is None:
        share = default
    if not 0 < share <= 1:
        raise ValueError(
            f"{what} is a share of the positions, above 0 and at most 1, not {share:g}"
        )
    return min(shards, max(1, math.ceil(share * shards - 1e-9)))
