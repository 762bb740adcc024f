"""A genetic algorithm over bit strings, as iCE's author used for Texel's method.

The error is the fitness.  The entropy of the population shows its progress.  All bit strings of
a generation are scored on the same positions.  The best few remain unchanged; the others are
children of two parents, each the best of a few random ones (tournament selection), crossed by
parameters or by bits, with some bits flipped and a parameter occasionally moved by a power of
two of its precision (J. H. Holland, "Adaptation in Natural and Artificial Systems", 1975; D. E.
Goldberg and K. Deb, "A comparative analysis of selection schemes used in genetic algorithms",
1991).  The first population has the start values, neighbours of them, and random values.

A parameter has the levels start + k·precision within its bounds; the bounds are the last
levels.  Its bits are the Gray code (F. Gray, US patent 2,632,058) of a number that is spread
over the levels.  So every bit string is a value within the bounds, neighbouring levels mostly
differ by one bit, and the start value is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import GENETIC_STREAM, word_array
from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.texel.optimiser import WORST, Arguments, Point, Theta, finite
from ringmaster.tuners.texel.ridge import OwnTable
from ringmaster.tuners.texel.searching import Search

Bits = npt.NDArray[np.uint8]
Levels = npt.NDArray[np.int64]


class Coding:
    """The encoding of n parameters in b bits.

    precision  distance of neighbouring levels, (n,); whole for integers
    """

    def __init__(self, space: Space, precision: Array) -> None:
        self.space = space
        self.precision = precision
        # rounding must not create a second level at a bound
        below = np.ceil((space.start - space.minimum) / precision - 1e-9)
        above = np.ceil((space.maximum - space.start) / precision - 1e-9)
        self._below = below.astype(np.int64)
        self.levels: Levels = self._below + above.astype(np.int64) + 1
        self.widths = [int(count - 1).bit_length() for count in self.levels]
        ends = np.cumsum(self.widths)
        self.slices = [slice(int(e) - w, int(e)) for e, w in zip(ends, self.widths, strict=True)]

    @property
    def count(self) -> int:
        return sum(self.widths)

    def at(self, level: Levels) -> Array:
        """Return the values of levels, (…, n) each."""
        offset = (level - self._below) * self.precision
        return self.space.clip(self.space.start + offset)

    def nearest(self, values: Array) -> Levels:
        """Return the levels nearest to values, (…, n) each."""
        levels = np.floor((values - self.space.start) / self.precision + 0.5).astype(np.int64)
        clipped: Levels = np.clip(levels + self._below, 0, self.levels - 1)
        return clipped

    def level(self, bits: Bits) -> Levels:
        """Return the levels of bits; (…, b) to (…, n)."""
        levels = np.zeros((*bits.shape[:-1], len(self.levels)), dtype=np.int64)
        for i, place in enumerate(self.slices):
            # the bits of a Gray code's number are the parities of its leading bits
            number = np.bitwise_xor.accumulate(bits[..., place].astype(np.int64), axis=-1)
            most = (1 << self.widths[i]) - 1
            if most:
                code = number @ (1 << np.arange(self.widths[i])[::-1])
                levels[..., i] = np.rint(code * ((self.levels[i] - 1) / most))
        return levels

    def bits(self, level: Levels) -> Bits:
        """Return the bits of levels; (…, n) to (…, b)."""
        bits = np.zeros((*level.shape[:-1], self.count), dtype=np.uint8)
        for i, place in enumerate(self.slices):
            width = self.widths[i]
            if not width:
                continue
            most = (1 << width) - 1
            code = np.rint(level[..., i] * (most / (self.levels[i] - 1))).astype(np.int64)
            gray = code ^ (code >> 1)
            shifts = np.arange(width)[::-1]
            bits[..., place] = (gray[..., np.newaxis] >> shifts) & 1
        return bits


def entropy(shares: Array) -> float:
    """Return Σ −p·log₂p − (1−p)·log₂(1−p) of the shares of ones, (b,): bits still open."""
    p = np.clip(np.stack([shares, 1 - shares]), 1e-300, 1.0)
    return float(-(p * np.log2(p)).sum())


def convergence(shares: Array) -> float:
    """Return the mean of |2p − 1|: 0 if each bit is set half the time, 1 if all are equal."""
    return float(np.abs(2 * shares - 1).mean()) if len(shares) else 1.0


#: Default population: a constant, a number for each parameter, and the limit.
POPULATION, PER_PARAMETER, MOST_POPULATION = 32, 2, 200
#: Levels of a fractional parameter, and the limit for an integer.
REAL_LEVELS, MOST_LEVELS = 256, 4096
#: Default batch as a share of the training positions.
BATCH = 0.25
#: Largest distance of the start's neighbours as a share of the range.
NEIGHBOURHOOD = 1 / 8
#: Share of children with two parents, and of individuals that remain unchanged.
CROSSOVER, ELITE = 0.8, 0.1
#: Random individuals, the best of which becomes a parent.
TOURNAMENT = 3
#: Largest default share of bits flipped in a child.
MOST_MUTATION = 0.01
#: Individuals checked at the end if generations are scored on batches.
FINALISTS = 3


class Genetic(Search):
    """The genetic algorithm.

    population   individuals of a generation
    generations  limit of generations
    precision    smallest change of a parameter as a share of its range
    batch        share of the training shards that scores a generation, new for each; 1: all
    mutation     share of bits flipped; None: one a child, at most 1 %
    converged    `convergence` that ends the tune
    check        generations between checks of the best individual

    Other arguments: see `Search`.
    """

    _generation: int = 0
    #: Levels of the individuals, (population, n).
    _people: Levels
    _front: list[Theta]
    _shares: Array

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        population: int | None = None,
        generations: int = 100,
        precision: float | None = None,
        batch: float = BATCH,
        mutation: float | None = None,
        converged: float = 0.97,
        check: int = 10,
        **common: Unpack[Arguments],
    ) -> None:
        super().__init__(parameters, batch, **common)
        count = len(self.parameters)
        if population is None:
            population = min(POPULATION + PER_PARAMETER * count, MOST_POPULATION)
        self.population, self.generations, self.check = population, generations, check
        self.converged = converged
        self.elite = max(1, round(ELITE * population))
        width = self.space.width
        share = precision or 1 / REAL_LEVELS
        whole = np.maximum(1.0, np.ceil(width * (precision or 1 / MOST_LEVELS)))
        self.coding = Coding(self.space, np.where(self.space.integer, whole, width * share))
        bits = max(self.coding.count, 1)
        self.mutation = min(1 / bits, MOST_MUTATION) if mutation is None else mutation
        self._people = self._first()
        self._front = []
        self._shares = self.coding.bits(self._people).mean(axis=0)

    def _round(self) -> tuple[int, str]:
        return self._generation, f"generation {self._generation}"

    def _values(self) -> list[Theta]:
        return [self.space.played(values) for values in self.coding.at(self._people)]

    def _learn_errors(self, values: list[Theta], errors: list[float]) -> None:
        ranks = np.argsort(errors, kind="stable").astype(np.int64)
        best, error = values[ranks[0]], errors[ranks[0]]
        self._front = list(dict.fromkeys(values[i] for i in ranks))[:FINALISTS]
        self._shares = self.coding.bits(self._people).mean(axis=0)
        extra = self._extras() | {"median": float(np.median(errors))}
        self._generation += 1
        label = self._round()[1]
        self._notes.append(
            f"{label}: smallest error {error:.9f}"
            f"{'' if self.whole else ' on its batch'}, entropy {extra['entropy']:.1f} of "
            f"{self.coding.count} bits, convergence {100 * extra['convergence']:.1f} %"
        )
        extra |= {} if self.whole else {"batch error": error - self.penalty(best)}
        extra = {name: value for name, value in extra.items() if finite(value) is not None}
        if self.whole:
            self._take(best, error, label, **extra)
        else:
            self._record(Point(-1, best, WORST), label, False, extra)
        if convergence(self._shares) >= self.converged:
            self._stop("the population has converged")
        elif self._generation >= self.generations:
            self._stop(f"{self._generation} generations are done")
        else:
            self._people = self._children(ranks)
            if self._generation % self.check == 0 and not self._is_checked(best):
                self._due = best

    def _finalists(self) -> list[Theta]:
        return self._front[: 1 if self.whole else FINALISTS]

    def _first(self) -> Levels:
        """Return the first population, (population, n).

        It has the start, neighbours of the start in one half, and random values.
        """
        count, coding = self.population, self.coding
        draws = _Draws(self.seed, 0, 3 * count * len(self.space))
        shape = (count, len(self.space))
        moved, where, anywhere = draws.take(shape), draws.take(shape), draws.take(shape)
        near = (2 * where - 1) * NEIGHBOURHOOD * self.space.width * (moved < 0.5)
        values = self.space.clip(self.space.start + near)
        far = np.floor(anywhere * coding.levels).astype(np.int64)
        half = np.arange(count)[:, np.newaxis] <= count // 2
        level = np.where(half, coding.nearest(values), far)
        level[0] = coding.nearest(self.space.start)
        return level

    def _children(self, ranks: Levels) -> Levels:
        """Return the next generation, by the order of this one from the best down."""
        coding, count, n = self.coding, self.population, len(self.space)
        bits, born = coding.count, self.population - self.elite
        draws = _Draws(self.seed, self._generation, born * (2 * TOURNAMENT + 2 + 2 * bits + 5 * n))
        ordered = self._people[ranks]
        # the best rank wins a tournament
        entrants = np.floor(draws.take((2, born, TOURNAMENT)) * count).astype(np.int64)
        first, second = (coding.bits(ordered[each.min(axis=-1)]) for each in entrants)
        crossed, by_bits = draws.take((born, 1)), draws.take((born, 1))
        each_bit, each_parameter = draws.take((born, bits)), draws.take((born, n))
        parameter_draws = np.repeat(each_parameter, coding.widths, axis=1)
        swap = np.where(by_bits < 0.5, each_bit, parameter_draws) < 0.5
        children = np.where(swap & (crossed < CROSSOVER), second, first)
        flipped = draws.take((born, bits)) < self.mutation
        level = coding.level((children ^ flipped).astype(np.uint8))
        moves = draws.take((born, n)) < 1 / (2 * n)
        # a power of two, at most a quarter of the levels
        most = np.maximum(np.array(coding.widths) - 2, 0)
        power = 2 ** np.floor(draws.take((born, n)) * (most + 1)).astype(np.int64)
        sign = np.where(draws.take((born, n)) < 0.5, -1, 1)
        shifted = np.clip(level + sign * power, 0, coding.levels - 1)
        return np.concatenate([ordered[: self.elite], np.where(moves, shifted, level)])

    def report(self) -> list[OwnTable]:
        shares = [
            (f"{i / 10:.1f} to {(i + 1) / 10:.1f}", count)
            for i, count in enumerate(np.histogram(self._shares, 10, (0.0, 1.0))[0].tolist())
        ]
        return [("Bits by the share of individuals that have them set", ("share", "bits"), shares)]

    def _extras(self) -> dict[str, float]:
        return {"entropy": entropy(self._shares), "convergence": convergence(self._shares)}


class _Draws:
    """Uniform random numbers in [0, 1) of one generation, each used once."""

    def __init__(self, seed: int, generation: int, count: int) -> None:
        words = word_array(seed, GENETIC_STREAM, generation, count)
        self._left = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def take(self, shape: tuple[int, ...]) -> Array:
        """Return so many of them."""
        count = math.prod(shape)
        taken, self._left = self._left[:count], self._left[count:]
        return taken.reshape(shape)
