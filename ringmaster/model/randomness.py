"""Counter-based random bits: any draw is a function of (seed, stream, number).

Nothing is drawn in sequence, so nothing has to be stored: a perturbation, a
colour or an opening can be computed again at any time, in any order.  Only the
raw words of Philox are used (Salmon et al., "Parallel random numbers: as easy
as 1, 2, 3", 2011); the distributions that numpy makes of them may change
between its versions, the words may not.
"""

from __future__ import annotations

#: One stream for each purpose, so that no two purposes share their draws.
SPSA_STREAM = 1
OPENINGS_STREAM = 2


def words(seed: int, stream: int, number: int, count: int) -> list[int]:
    """Return `count` words of 64 random bits.

    seed is any integer (taken modulo 2**128); stream and number must fit in 64
    bits.
    """
    from numpy.random import Philox

    # The lowest word of the counter is the one that Philox itself advances.
    generator = Philox(key=seed % (1 << 128), counter=[0, number, stream, 0])
    return [int(word) for word in generator.random_raw(count)]


def uniform(word: int) -> float:
    """Return a word as a number in [0, 1), from its upper 53 bits."""
    return (word >> 11) * 2.0**-53
