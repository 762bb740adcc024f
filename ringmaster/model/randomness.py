"""Counter-based random bits: every draw is a function of (seed, stream, number).

Nothing is drawn in sequence, so nothing is stored: a perturbation, a colour or an opening
can be computed again at any time.  The words are those of Philox 4x64 with 10 rounds
(Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), with numpy's block
numbers.  Words are stable between versions of numpy; its distributions may not be.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: One stream for each purpose, so that no two purposes share their draws.
SPSA_STREAM = 1
OPENINGS_STREAM = 2
UCB_STREAM = 3
COLOUR_STREAM = 4
CROSS_ENTROPY_STREAM = 5
CLOP_STREAM = 6
TIME_CONTROLS_STREAM = 7
LADDER_STREAM = 8
BOOK_STREAM = 11
SPLIT_STREAM = 12
SAMPLE_STREAM = 13
LABELLED_STREAM = 14
GENETIC_STREAM = 22
BATCHES_STREAM = 23
TEXEL_LINEAR_STREAM = 25
BOOTSTRAP_STREAM = 26
OPTUNA_STREAM = 31

_MASK = (1 << 64) - 1
#: Multipliers and key increments of Philox 4x64.
_M0, _M1 = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_W0, _W1 = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10
#: Number of words above which numpy is faster.
_MANY = 64


def words(seed: int, stream: int, number: int, count: int) -> list[int]:
    """Return `count` words of 64 random bits.

    seed is any integer, used modulo 2**128; stream and number must fit in 64 bits.
    """
    if count > _MANY:
        return word_array(seed, stream, number, count).tolist()  # type: ignore[no-any-return]  # NumPy says Any
    key = seed % (1 << 128)
    drawn: list[int] = []
    while len(drawn) < count:
        # a block has four words; blocks count from 1
        drawn += _block(key & _MASK, key >> 64, len(drawn) // 4 + 1, number, stream)
    return drawn[:count]


def word_array(seed: int, stream: int, number: int, count: int) -> npt.NDArray[np.uint64]:
    """Return the same words as an array."""
    import numpy as np

    key = seed % (1 << 128)
    generator = _philox()
    generator.state = {
        "bit_generator": "Philox",
        "state": {
            # Philox itself advances the lowest word of the counter
            "counter": np.array([0, number, stream, 0], dtype=np.uint64),
            "key": np.array([key & _MASK, key >> 64], dtype=np.uint64),
        },
        # an empty buffer
        "buffer": np.zeros(4, dtype=np.uint64),
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator.random_raw(count)


@functools.cache
def _philox() -> np.random.Philox:
    """Return a generator whose state each draw sets: construction takes much longer."""
    import numpy as np

    return np.random.Philox(key=0)


def _block(k0: int, k1: int, c0: int, c1: int, c2: int) -> tuple[int, int, int, int]:
    c3 = 0
    for _ in range(_ROUNDS):
        first, second = _M0 * c0, _M1 * c2
        c0 = (second >> 64) ^ c1 ^ k0
        c2 = (first >> 64) ^ c3 ^ k1
        c1, c3 = second & _MASK, first & _MASK
        k0 = k0 + _W0 & _MASK
        k1 = k1 + _W1 & _MASK
    return c0, c1, c2, c3


def uniform(word: int) -> float:
    """Return a word as a number in [0, 1), from its upper 53 bits."""
    return (word >> 11) * 2.0**-53
