"""A genetic algorithm over strings of bits, as iCE's author used for Texel's method: the error
is the fitness, and the entropy of the population says how far it has got.

A generation is a population of bit strings (`bits`), all scored on the same positions.  The
best few go on unchanged; the others are children of two parents, each the best of a few drawn
at random (tournament selection), crossed by parameters or by bits, with some bits turned over
and a parameter moved by a power of two of its precision now and then.  (J. H. Holland,
"Adaptation in Natural and Artificial Systems", 1975; D. E. Goldberg and K. Deb, "A comparative
analysis of selection schemes used in genetic algorithms", 1991.)

The first population has the start values, their neighbourhood, and values from anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import GENETIC_STREAM, word_array
from ringmaster.tuners.texel.batches import Batches, batch_size
from ringmaster.tuners.texel.bits import (
    Bits,
    Coding,
    Levels,
    bits_of,
    convergence,
    entropy,
    histogram,
    text_of,
)
from ringmaster.tuners.texel.optimiser import Array, Part, Pass, Step
from ringmaster.tuners.texel.searching import (
    Search,
    SearchArguments,
    Table,
    Theta,
    finite,
    infinite,
    key_of,
)

#: Individuals, where nothing is said: so many, and for each parameter, and at most.
POPULATION, PER_PARAMETER, MOST_POPULATION = 32, 2, 200
#: Levels of a parameter that is no integer, and of an integer at most.
REAL_LEVELS, MOST_LEVELS = 256, 4096
#: A batch, where nothing is said, as a share of the training positions.
BATCH = 0.25
#: How far neighbours of the start are from it at most, as a share of the range.
NEIGHBOURHOOD = 1 / 8
#: Bits turned over per child at most, as a share of all.
MOST_MUTATION = 0.01
#: Individuals that are checked at the end where a generation has seen a batch only.
FINALISTS = 3


class Genetic(Search):
    """The genetic algorithm.

    population   individuals of a generation
    generations  how many there are at most
    precision    smallest change of a parameter, as a share of its range
    batch        the share of the training shards that a generation is scored on, drawn anew
                 for each; 1: all of them
    crossover    the share of children that have two parents
    tournament   how many individuals a parent is the best of
    mutation     the share of bits turned over; None: one a child, at most 1 %
    elite        the share that goes on unchanged
    converged    `bits.convergence` at which it ends
    check        generations from one check of the best individual to the next

    The other arguments are those of `Search`.
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        population: int | None = None,
        generations: int = 100,
        precision: float | None = None,
        batch: float | None = None,
        crossover: float = 0.8,
        tournament: int = 3,
        mutation: float | None = None,
        elite: float = 0.1,
        converged: float = 0.97,
        check: int = 10,
        **common: Unpack[SearchArguments],
    ) -> None:
        super().__init__(parameters, **common)
        count = len(self.parameters)
        if population is None:
            population = min(POPULATION + PER_PARAMETER * count, MOST_POPULATION)
        for name, number, least in (
            ("population", population, 4),
            ("generations", generations, 1),
            ("tournament", tournament, 2),
            ("check", check, 1),
        ):
            if number < least:
                raise ValueError(f"{name} must be {least} or more, not {number}")
        for name, share in (
            ("crossover", crossover),
            ("mutation", mutation or 0.0),
            ("elite", elite),
            ("converged", converged),
        ):
            if not 0 <= share <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {share:g}")
        if precision is not None and not 0 < precision <= 0.5:
            raise ValueError(f"precision must be above 0 and at most 0.5, not {precision:g}")
        self.population, self.generations, self.check = population, generations, check
        self.crossover, self.tournament, self.converged = crossover, tournament, converged
        self.elite = min(max(1, round(elite * population)), population - 1)
        width = self.space.width
        share = precision or 1 / REAL_LEVELS
        whole = np.maximum(1.0, np.ceil(width * (precision or 1 / MOST_LEVELS)))
        self.coding = Coding(self.space, np.where(self.space.integer, whole, width * share))
        bits = max(self.coding.count, 1)
        self.mutation = min(1 / bits, MOST_MUTATION) if mutation is None else mutation
        self.batches = Batches(self.shards, batch_size(batch, BATCH, self.shards), self.seed)
        self._generation = 0
        self._people = self._first()
        self._decoded: dict[str, Theta] | None = None
        #: Of this generation: errors by `key_of`, and what has been asked for.
        self._errors: dict[str, float] = {}
        self._issued: set[str] = set()
        self._leader: Theta | None = None
        self._front: list[Theta] = []
        self._said: list[str] = []
        self._table: list[list[Any]] = []
        self._shares = self._people.mean(axis=0)

    @property
    def whole(self) -> bool:
        """Whether a generation is scored on all training positions."""
        return self.batches.size == self.shards

    def _next(self) -> Pass | None:
        while not self._over:
            if self._leader is not None:
                if self.waiting:
                    return None
                return self._check(self._leader, f"generation {self._generation}")
            thetas = self._distinct()
            if not self._issued and not self._open(thetas):
                return None
            for name, theta in thetas.items():
                if name not in self._issued:
                    self._issued.add(name)
                    part: Part = "train" if self.whole else self.batches.batch(self._generation)
                    return self._issue(theta, part, "individual", name)
            if len(self._errors) < len(thetas):
                return None
            # all were known before
            self._end_generation()
        return None

    def _distinct(self) -> dict[str, Theta]:
        """Return the values of the generation, by `key_of`, each once."""
        if self._decoded is None:
            played = map(self._played, self.coding.values(self._people))
            self._decoded = {key_of(theta): theta for theta in played}
        return self._decoded

    def _open(self, thetas: Mapping[str, Theta]) -> bool:
        """Take what is known of a generation already; return whether the rest may be asked."""
        known = {
            name: error
            for name, theta in thetas.items()
            if self.whole and (error := self._error_of(theta)) is not None
        }
        if not self._allowed((len(thetas) - len(known)) * self.batches.share):
            self._stop("the passes are used up", "most_passes")
            return False
        self._errors = known
        self._issued = set(known)
        return True

    def _learn(self, purpose: str, asked: Theta, note: Any, error: float) -> list[str]:
        self._errors[str(note)] = error
        if len(self._errors) == len(self._distinct()):
            self._end_generation()
        return self._told()

    def _learn_check(self, note: Any, better: bool) -> list[str]:
        self._leader = None
        return self._told()

    def _told(self) -> list[str]:
        said, self._said = self._said, []
        return said

    def _end_generation(self) -> None:
        played = [self._played(values) for values in self.coding.values(self._people)]
        errors = np.array([self._errors[key_of(theta)] for theta in played])
        ranks = np.argsort(errors, kind="stable").astype(np.int64)
        best, error = played[ranks[0]], float(errors[ranks[0]])
        self._front = list(dict.fromkeys(played[i] for i in ranks))[:FINALISTS]
        self._shares = self._people.mean(axis=0)
        open_bits, agreed = entropy(self._shares), convergence(self._shares)
        self._generation += 1
        self._said.append(
            f"generation {self._generation}: smallest error {error:.9f}"
            f"{'' if self.whole else ' on its batch'}, entropy {open_bits:.1f} of "
            f"{self.coding.count} bits, convergence {100 * agreed:.1f} %"
        )
        row = [self._generation, self._used, error, float(np.median(errors)), open_bits, agreed]
        self._table.append([finite(x) if isinstance(x, float) else x for x in row])
        del self._table[:-100]
        self._note(best, error, {"entropy": open_bits, "convergence": agreed})
        if agreed >= self.converged:
            self._stop("the population has converged")
        elif self._generation >= self.generations:
            self._stop(f"{self._generation} generations are done")
        else:
            self._people = self._children(ranks)
            if self._generation % self.check == 0 and not self._is_checked(best):
                self._leader = best
        self._errors, self._issued, self._decoded = {}, set(), None

    def _note(self, best: Theta, error: float, extra: dict[str, float]) -> None:
        label = f"generation {self._generation}"
        if self.whole:
            self._take(best, error, label, **extra)
        else:
            if math.isfinite(error):
                extra["batch error"] = error - self.penalty(best)
            self._add(Step(self._used, best, None, None, label, False, extra))

    def _finalists(self) -> list[Theta]:
        return self._front[: 1 if self.whole else FINALISTS]

    # Populations

    def _first(self) -> Bits:
        """Return the start, neighbours of it in a half of the population, and others from
        anywhere; (population, bits)."""
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
        return coding.bits(level)

    def _children(self, ranks: Levels) -> Bits:
        """Return the next generation; ranks are the places of this one's individuals, the best
        first."""
        coding, count, n = self.coding, self.population, len(self.space)
        bits, made = coding.count, self.population - self.elite
        draws = _Draws(
            self.seed, self._generation, made * (2 * self.tournament + 2 + 2 * bits + 5 * n)
        )
        ordered = self._people[ranks]
        # the place in the ranking is what a tournament goes by
        entrants = np.floor(draws.take((2, made, self.tournament)) * count).astype(np.int64)
        first, second = (ordered[each.min(axis=-1)] for each in entrants)
        crossed, by_bits = draws.take((made, 1)), draws.take((made, 1))
        each_bit, each_parameter = draws.take((made, bits)), draws.take((made, n))
        of_parameter = np.repeat(each_parameter, coding.widths, axis=1)
        swap = np.where(by_bits < 0.5, each_bit, of_parameter) < 0.5
        children = np.where(swap & (crossed < self.crossover), second, first)
        children = children ^ (draws.take((made, bits)) < self.mutation)
        level = coding.level(children)
        moves = draws.take((made, n)) < 1 / (2 * n)
        # a power of two, at most a quarter of the levels
        most = np.maximum(np.array(coding.widths) - 2, 0)
        power = 2 ** np.floor(draws.take((made, n)) * (most + 1)).astype(np.int64)
        sign = np.where(draws.take((made, n)) < 0.5, -1, 1)
        shifted = np.clip(level + sign * power, 0, coding.levels - 1)
        moved = np.where(moves, shifted, level)
        # what did not move keeps its bits: several strings may be one level
        stays = np.repeat(~moves, coding.widths, axis=1)
        children = np.where(stays, children, coding.bits(moved)).astype(np.uint8)
        return np.concatenate([ordered[: self.elite], children])

    def report(self) -> list[Table]:
        headers = ("generation", "passes", "best", "median", "entropy", "convergence")
        rows = [
            (g, f"{p:.1f}", *(_number(x) for x in (b, m)), f"{e:.1f}", f"{100 * c:.1f} %")
            for g, p, b, m, e, c in self._table
        ]
        shares = [
            (f"{i / 10:.1f} to {(i + 1) / 10:.1f}", count)
            for i, count in enumerate(histogram(self._shares))
        ]
        return [
            ("Generations", headers, rows),
            ("Bits by the share of individuals that have them set", ("share", "bits"), shares),
        ]

    def _extras(self) -> dict[str, float]:
        return {"entropy": entropy(self._shares), "convergence": convergence(self._shares)}

    def _own_state(self) -> dict[str, Any]:
        return {
            "generation": self._generation,
            "people": [text_of(bits) for bits in self._people],
            "errors": {name: finite(error) for name, error in self._errors.items()},
            "issued": sorted(self._issued),
            "leader": None if self._leader is None else list(self._leader),
            "front": [list(theta) for theta in self._front],
            "said": list(self._said),
            "table": [list(row) for row in self._table],
            "shares": self._shares.tolist(),
        }

    def _restore_own(self, state: Mapping[str, Any]) -> None:
        self._generation = state["generation"]
        self._people = np.stack([bits_of(t, self.coding.count) for t in state["people"]])
        self._decoded = None
        self._errors = {name: infinite(error) for name, error in state["errors"].items()}
        self._issued = set(state["issued"])
        self._leader = None if state["leader"] is None else tuple(state["leader"])
        self._front = [tuple(theta) for theta in state["front"]]
        self._said = list(state["said"])
        self._table = [list(row) for row in state["table"]]
        self._shares = np.array(state["shares"])


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


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.9f}"
