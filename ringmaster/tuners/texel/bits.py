"""Values of parameters as strings of bits, for the genetic optimiser.

A parameter has the levels start + k·precision within its bounds, the bounds themselves being
the last ones.  Its bits are the Gray code (F. Gray, US patent 2,632,058) of a number that is
spread over the levels, so that every string of bits is a value within the bounds, neighbouring
levels mostly differ by one bit, and the start value is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ringmaster.tuners.spsa.space import Array, Space

Bits = npt.NDArray[np.uint8]
Levels = npt.NDArray[np.int64]


class Coding:
    """How values are written as bits; n parameters, b bits in all.

    precision  (n,), the distance of neighbouring levels; whole for integers
    """

    def __init__(self, space: Space, precision: Array) -> None:
        self.space = space
        self.precision = precision
        # rounding must not make a level of its own of what is a bound
        below = np.ceil((space.start - space.minimum) / precision - 1e-9)
        above = np.ceil((space.maximum - space.start) / precision - 1e-9)
        self._below = below.astype(np.int64)
        self.levels: Levels = self._below + above.astype(np.int64) + 1
        self.widths = [int(count - 1).bit_length() for count in self.levels]
        ends = np.cumsum(self.widths)
        self.slices = [slice(int(e) - w, int(e)) for e, w in zip(ends, self.widths, strict=True)]

    @property
    def count(self) -> int:
        """How many bits there are."""
        return sum(self.widths)

    def values(self, bits: Bits) -> Array:
        """Return the values that bits stand for; (…, b) to (…, n)."""
        return self.at(self.level(bits))

    def at(self, level: Levels) -> Array:
        """Return the values at levels, (…, n) each."""
        offset = (level - self._below) * self.precision
        return self.space.clip(self.space.start + offset)

    def nearest(self, values: Array) -> Levels:
        """Return the levels nearest to values, (…, n) each."""
        found = np.floor((values - self.space.start) / self.precision + 0.5).astype(np.int64)
        clipped: Levels = np.clip(found + self._below, 0, self.levels - 1)
        return clipped

    def level(self, bits: Bits) -> Levels:
        """Return the levels that bits stand for; (…, b) to (…, n)."""
        found = np.zeros((*bits.shape[:-1], len(self.levels)), dtype=np.int64)
        for i, place in enumerate(self.slices):
            # a Gray code's number has the parities of its leading bits
            number = np.bitwise_xor.accumulate(bits[..., place].astype(np.int64), axis=-1)
            most = (1 << self.widths[i]) - 1
            if most:
                code = number @ (1 << np.arange(self.widths[i])[::-1])
                found[..., i] = np.rint(code * ((self.levels[i] - 1) / most))
        return found

    def bits(self, level: Levels) -> Bits:
        """Return the bits of levels; (…, n) to (…, b)."""
        found = np.zeros((*level.shape[:-1], self.count), dtype=np.uint8)
        for i, place in enumerate(self.slices):
            width = self.widths[i]
            if not width:
                continue
            most = (1 << width) - 1
            code = np.rint(level[..., i] * (most / (self.levels[i] - 1))).astype(np.int64)
            gray = code ^ (code >> 1)
            shifts = np.arange(width)[::-1]
            found[..., place] = (gray[..., np.newaxis] >> shifts) & 1
        return found


def text_of(bits: Bits) -> str:
    """Return one string of bits as text."""
    return np.packbits(bits).tobytes().hex()


def bits_of(text: str, count: int) -> Bits:
    """Return the bits of a text of `text_of`."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8), count=count)


def entropy(shares: Array) -> float:
    """Return Σ −p·log₂p − (1−p)·log₂(1−p) of the shares of ones, (b,): how many bits are
    still open."""
    p = np.clip(np.stack([shares, 1 - shares]), 1e-300, 1.0)
    return float(-(p * np.log2(p)).sum())


def convergence(shares: Array) -> float:
    """Return the mean of |2p − 1|: 0 where each bit is as often set as not, 1 where all
    individuals are the same."""
    return float(np.abs(2 * shares - 1).mean()) if len(shares) else 1.0


def histogram(shares: Array, bins: int = 10) -> Sequence[int]:
    """Return how many bits have a share of ones within each tenth of 0 to 1."""
    counts, _ = np.histogram(shares, bins=bins, range=(0.0, 1.0))
    return [int(count) for count in counts]
