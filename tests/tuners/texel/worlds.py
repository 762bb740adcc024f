"""Simulated engines and labelled positions in memory, for tests of optimisers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.loss import Array, Floats, Loss, Sum, mean
from ringmaster.tuners.texel.optimiser import (
    Block,
    Data,
    Errors,
    Optimiser,
    Pass,
    Split,
    TellResult,
)


@dataclass
class World:
    """A simulated engine, and positions with results.

    counts    (n, P): the score is counts·θ
    mixed     (n,): adds the nonlinear term mixed·θ₀·θ₁/100
    bend      replaces every score x by bend·tanh(x/bend)
    whole     whether scores are whole centipawns
    results, games, weight  (n,)
    held      number of positions of validation; they come last
    """

    counts: Array
    results: Array
    games: npt.NDArray[np.uint32]
    held: int
    scale: float = 150.0
    mixed: Array | None = None
    bend: float | None = None
    whole: bool = True
    weight: Array | None = None

    def scores(self, theta: Sequence[float] | Array) -> Floats:
        """Return the scores of all positions with these weights."""
        weights = np.asarray(theta, dtype=np.float64)
        actual = self.counts @ weights
        if self.mixed is not None:
            actual = actual + self.mixed * weights[0] * weights[1] / 100
        if self.bend is not None:
            actual = self.bend * np.tanh(actual / self.bend)
        return (np.rint(actual) if self.whole else actual).astype(np.float32)


def world_of(
    true: Sequence[float],
    games: int = 400,
    per_game: int = 8,
    seed: int = 0,
    scale: float = 150.0,
    draws: float = 0.5,
    validation: float = 0.2,
    whole: bool = True,
    crossed: bool = False,
) -> World:
    """Return a world with true weights.

    The win probability of a game is a martingale from ½ on, and gives the true score of each
    position.  The result of the game is drawn by the last probability.  So all labels are
    unbiased, and labels of one game are correlated.

    crossed  whether there is a term of θ₀·θ₁
    """
    rng = np.random.default_rng(seed)
    weights = np.asarray(true, dtype=np.float64)
    p = np.empty((games, per_game))
    now = np.full(games, 0.5)
    for t in range(per_game):
        now = now + rng.choice([-1.0, 1.0], games) * 0.9 * now * (1 - now)
        p[:, t] = now
    drawn = draws * 2 * np.minimum(now, 1 - now)
    u = rng.random(games)
    result = np.where(u < now - drawn / 2, 1.0, np.where(u < now + drawn / 2, 0.5, 0.0))
    q = scale * np.log(p / (1 - p)).reshape(-1)
    counts = rng.normal(0.0, 1.0, (len(q), len(weights)))
    mixed = rng.normal(0.0, 1.0, len(q)) if crossed else None
    extra = 0.0 if mixed is None else mixed * weights[0] * weights[1] / 100
    off = q - counts @ weights - extra
    counts += np.outer(off, weights) / (weights @ weights)
    return World(
        counts,
        np.repeat(result, per_game),
        np.repeat(np.arange(games, dtype=np.uint32), per_game),
        int(games * validation) * per_game,
        scale,
        mixed,
        whole=whole,
    )


@dataclass
class MemoryData(Data):
    """The positions of a world in shards, with the scores of kept passes."""

    world: World
    kind: Literal["squared", "cross_entropy"] = "squared"
    shards: int = 5
    kept: dict[int, Floats] = field(default_factory=dict)
    read: int = 0

    @property
    def loss(self) -> Loss:
        return Loss(self.kind, self.world.scale)

    def rows(self, part: Split) -> list[npt.NDArray[np.intp]]:
        """Return the positions of each shard of a part."""
        count = len(self.world.results)
        border = count - self.world.held
        span = np.arange(border) if part == "train" else np.arange(border, count)
        return [span[s :: self.shards] for s in range(self.shards)]

    def blocks(self, passes: Sequence[int], part: Split) -> Iterator[Block]:
        self.read += 1
        world = self.world
        weight = np.ones(len(world.results)) if world.weight is None else world.weight
        for rows in self.rows(part):
            if len(rows):
                yield Block(
                    rows,
                    np.stack([self.kept[number][rows] for number in passes])
                    if passes
                    else np.empty((0, len(rows)), dtype=np.float32),
                    world.results[rows].astype(np.float32),
                    weight[rows].astype(np.float32),
                    world.games[rows],
                )

    def play(self, asked: Pass) -> Errors:
        """Score a pass, and keep its scores if requested."""
        scores = self.world.scores(asked.theta)
        if asked.keep:
            self.kept[asked.number] = scores
        if isinstance(asked.part, tuple):
            rows = self.rows("train")
            return Errors(train=self._error(scores, [rows[s] for s in asked.part]))
        train = self._error(scores, self.rows("train"))
        held = self._error(scores, self.rows("validation"))
        return Errors(
            train if asked.part != "validation" else None,
            held if asked.part != "train" else None,
        )

    def _error(self, scores: Floats, shards: list[npt.NDArray[np.intp]]) -> float | None:
        world = self.world
        weight = np.ones(len(world.results)) if world.weight is None else world.weight
        return mean(
            self.loss.total(scores[rows], world.results[rows], weight[rows]) if len(rows) else Sum()
            for rows in shards
        )

    def forget(self, response: TellResult) -> None:
        """Drop obsolete scores."""
        for number in response.forget:
            del self.kept[number]


def run(optimiser: Optimiser, data: MemoryData, most: int = 10_000) -> list[Pass]:
    """Run an optimiser to its end, one pass at a time; return the passes."""
    passes = []
    while (asked := optimiser.ask()) is not None:
        assert len(passes) < most, "the optimiser does not end"
        passes.append(asked)
        data.forget(optimiser.tell(asked.number, data.play(asked), data))
    assert optimiser.finished()
    return passes


def parameters_of(
    start: Sequence[float], low: float = 0.0, high: float = 200.0, integer: bool = True
) -> list[TunedParameter]:
    """Return parameters w0, w1, … with the same bounds."""
    return [
        TunedParameter(f"w{i}", float(value), low, high, integer=integer)
        for i, value in enumerate(start)
    ]


@dataclass(frozen=True, eq=False)
class Counts:
    """A sparse matrix by rows; see `features.Matrix`."""

    names: tuple[str, ...]
    indptr: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]
    phase: npt.NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls,
        dense: npt.NDArray[Any],
        names: Sequence[str],
        phase: npt.NDArray[np.float32] | None = None,
    ) -> Counts:
        """Return the counts of a dense matrix, (positions, features)."""
        rows, columns = np.nonzero(dense)
        pointers = np.zeros(len(dense) + 1, dtype=np.uint64)
        np.cumsum(np.bincount(rows, minlength=len(dense)), out=pointers[1:])
        return cls(
            tuple(names),
            pointers,
            columns.astype(np.uint16),
            dense[rows, columns].astype(np.float32),
            phase,
        )
