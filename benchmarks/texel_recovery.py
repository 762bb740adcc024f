"""Test whether the optimisers of a Texel tune recover known weights, and count their passes.

    python benchmarks/texel_recovery.py [--replicates 100] [--tunes 5] [--games 4000]

The shipped chess engine counts its evaluation's terms in positions of random play.  In process
these score the positions: a sum of weights times counts, in whole centipawns.  The true weights
are the engine's defaults, each multiplied by a random factor; the tune begins at the defaults.
All positions of a game share one result.  The win probability of a game is a martingale that
begins at one half; positions are drawn with true scores of this probability, and the result is
drawn at the end.  So labels are unbiased, and labels of one game are correlated.  A second world
has a nonlinear evaluation: scores saturate, and mobility counts for more with more shelter of
the kings.

The first table has means over the tunes by world and optimiser: passes (batches in parts),
scored positions in passes over all, errors of training and validation at the best values and at
the truth, the root mean square error of win probabilities over all positions, and the distance
of the weights from the truth in shares of their ranges.  The second table has the share of true
weights inside Gauss-Newton's 95 % intervals.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chess
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.gauss_newton import GaussNewton
from ringmaster.tuners.texel.genetic import Genetic
from ringmaster.tuners.texel.local_search import LocalSearch
from ringmaster.tuners.texel.loss import Array, Floats, sigmoid
from ringmaster.tuners.texel.optimiser import Errors, Optimiser, Pass
from ringmaster.tuners.texel.spsa_batches import SpsaBatches
from tests.tuners.texel.worlds import MemoryData, World

SCALE = 150.0
SHARDS = 16
#: Odd, so that no shard has the same plies of all games.
PER_GAME = 9
Theta = tuple[float, ...]
ENGINE = [sys.executable, "-m", "ringmaster.demo", "chess"]
#: Options of the engine that are no weights.
OTHERS = ("Hash", "Noise", "Seed", "Threads")


def answers(lines: Sequence[str]) -> list[str]:
    """Return what the shipped engine prints after these commands."""
    text = "\n".join(["uci", *lines, "quit", ""])
    done = subprocess.run(ENGINE, input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def weights() -> list[TunedParameter]:
    """Return the weights of the engine's evaluation, from its options."""
    option = r"option name (\w+) type spin default (-?\d+) min (-?\d+) max (-?\d+)"
    found = [match for line in answers([]) if (match := re.fullmatch(option, line))]
    return [
        TunedParameter(name, *map(float, numbers), integer=True)
        for name, *numbers in (match.groups() for match in found)
        if name not in OTHERS
    ]


PARAMETERS = weights()
NAMES = [parameter.code for parameter in PARAMETERS]
MOBILITY, SHIELD = NAMES.index("Mobility"), NAMES.index("KingShield")
DEFAULT = np.array([parameter.start for parameter in PARAMETERS])
WIDTH = np.array([p.maximum - p.minimum for p in PARAMETERS])


def counts_of_positions(positions: int, seed: int) -> Array:
    """Return the counts of the evaluation in positions of random play, for White, (n, weights)."""
    rng = random.Random(seed)
    lines: list[str] = []
    while len(lines) < 2 * positions:
        board = chess.Board()
        for ply in range(140):
            legal = list(board.legal_moves)
            if not legal:
                break
            if ply >= 8 and ply % 3 == 0 and not board.is_check():
                lines += [f"position fen {board.fen()}", "features"]
            board.push(rng.choice(legal))
    printed = answers(["setoption name Noise value 0", *lines[: 2 * positions]])
    rows = []
    for words in (line.split() for line in printed if line.startswith("features ")):
        counts = dict(zip(words[1::2], map(float, words[2::2]), strict=True))
        rows.append([counts.get(name, 0.0) for name in NAMES])
    assert len(rows) == positions
    return np.array(rows)


@dataclass
class Engine(World):
    """A world with scores that may be nonlinear in the weights."""

    sheltered: bool = False
    pool: Array | None = None
    places: Array | None = None

    def scores(self, theta: Sequence[float] | Array) -> Floats:
        """Return the scores of all positions."""
        weights = np.asarray(theta, dtype=np.float64)
        # most positions occur several times
        if self.pool is not None:
            return scores_of(self.pool, weights, self.sheltered)[self.places]
        return scores_of(self.counts, weights, self.sheltered)


def scores_of(counts: Array, weights: Array, sheltered: bool) -> Floats:
    """Return scores in whole centipawns."""
    scores = counts @ weights
    if sheltered:
        scores = scores + counts[:, MOBILITY] * np.abs(counts[:, SHIELD]) * (
            weights[MOBILITY] * weights[SHIELD] / 40
        )
        scores = 1200 * np.tanh(scores / 1200)
    return np.rint(scores).astype(np.float32)


class WorldMaker:
    """Make worlds of the same positions with known weights."""

    def __init__(self, pool: Array, true: Array, sheltered: bool, games: int) -> None:
        self.pool, self.true, self.sheltered, self.games = pool, true, sheltered, games
        scores = scores_of(pool, true, sheltered)
        self._order = np.argsort(scores, kind="stable")
        self._sorted = scores[self._order].astype(np.float64)
        self.probability = sigmoid(scores / SCALE)

    def world(self, seed: int) -> Engine:
        """Return a world with new results; a fifth of the games is held out."""
        games = self.games
        rng = np.random.default_rng(seed)
        p, now = np.empty((games, PER_GAME)), np.full(games, 0.5)
        for t in range(PER_GAME):
            now = now + rng.choice([-1.0, 1.0], games) * 0.7 * now * (1 - now)
            p[:, t] = now
        drawn, u = np.minimum(now, 1 - now), rng.random(games)
        result = np.where(u < now - drawn / 2, 1.0, np.where(u < now + drawn / 2, 0.5, 0.0))
        wanted = SCALE * np.log(p / (1 - p)).reshape(-1)
        # one of the twenty nearest scores
        place = np.searchsorted(self._sorted, wanted) + rng.integers(-10, 11, len(wanted))
        rows = self._order[np.clip(place, 0, len(self._order) - 1)]
        return Engine(
            self.pool[rows],
            np.repeat(result, PER_GAME),
            np.repeat(np.arange(games, dtype=np.uint32), PER_GAME),
            games // 5 * PER_GAME,
            SCALE,
            sheltered=self.sheltered,
            pool=self.pool,
            places=rows,
        )

    def off(self, theta: Sequence[float]) -> float:
        """Return the root mean square error of win probabilities."""
        scores = scores_of(self.pool, np.asarray(theta), self.sheltered)
        return math.sqrt(np.square(sigmoid(scores / SCALE) - self.probability).mean())

    def away(self, theta: Sequence[float]) -> float:
        """Return the root mean square distance of the weights from the truth, in ranges."""
        return math.sqrt(np.square((np.asarray(theta) - self.true) / WIDTH).mean())


class Batched(MemoryData):
    """Positions that are scored only if they belong to the pass."""

    def play(self, request: Pass) -> Errors:
        """Score a pass."""
        if request.part == "all":
            return super().play(request)
        rows = self.rows("train")
        shards = range(self.shards) if request.part == "train" else request.part
        used = np.concatenate([rows[shard] for shard in shards])
        world = self.world
        assert isinstance(world, Engine)
        scores = world.scores(request.theta)[used]
        loss = self.loss.total(scores, world.results[used], np.ones(len(used)))
        return Errors(train=loss.loss / loss.weight)


@dataclass
class Tune:
    """The result of a tune.

    passes     passes, batches in parts
    share      scored positions, in passes over all
    reached    (passes, errors, values) at each change of the best values
    """

    optimiser: Optimiser
    world: World
    passes: float
    share: float
    errors: Errors
    truth: Errors
    reached: list[tuple[float, Errors, Theta]]
    seconds: float


def tune(make: Callable[[int], Optimiser], world: World, true: Array, seed: int) -> Tune:
    """Run an optimiser to its end."""
    data, optimiser = Batched(world, shards=SHARDS), make(seed)
    held = world.held / len(world.results)
    passes = share = 0.0
    reached = []
    begun = time.perf_counter()
    while (request := optimiser.ask()) is not None:
        part = len(request.part) / SHARDS if isinstance(request.part, tuple) else 1.0
        passes += part
        share += 1.0 if request.part == "all" else part * (1 - held)
        errors = data.play(request)
        data.forget(optimiser.tell(request.number, errors, data))
        if request.part == "all" and optimiser.best == request.theta:
            reached.append((passes, errors, request.theta))
    assert optimiser.finished()
    seconds = time.perf_counter() - begun
    errors = data.play(Pass(0, optimiser.best, "all"))
    truth = data.play(Pass(0, tuple(true.tolist()), "all"))
    return Tune(optimiser, world, passes, share, errors, truth, reached, seconds)


OPTIMISERS: dict[str, Callable[[int], Optimiser]] = {
    "gauss_newton": lambda seed: GaussNewton(PARAMETERS),
    "gauss_newton, ridge path": lambda seed: GaussNewton(PARAMETERS, ridge=(None,)),
    "local_search": lambda seed: LocalSearch(PARAMETERS, seed=seed),
    "local_search, to its end": lambda seed: LocalSearch(PARAMETERS, seed=seed, patience=None),
    "genetic": lambda seed: Genetic(PARAMETERS, seed=seed, shards=SHARDS),
    "spsa_batches": lambda seed: SpsaBatches(PARAMETERS, seed=seed, shards=SHARDS),
}


def compare(maker: WorldMaker, tunes: int) -> None:
    """Print a row for each optimiser."""
    print(
        f"{'':26}{'passes':>9}{'over all':>9}{'training':>11}{'validation':>11}"
        f"{'p off':>9}{'weights off':>12}{'seconds':>9}"
    )
    done: dict[str, list[Tune]] = {}
    for name, make in OPTIMISERS.items():
        done[name] = [tune(make, maker.world(seed), maker.true, seed) for seed in range(tunes)]
        each = done[name]
        print(
            f"{name:26}{mean(t.passes for t in each):9.1f}{mean(t.share for t in each):9.1f}"
            f"{mean(t.errors.train for t in each):11.7f}"
            f"{mean(t.errors.validation for t in each):11.7f}"
            f"{mean(maker.off(t.optimiser.best) for t in each):9.5f}"
            f"{mean(maker.away(t.optimiser.best) for t in each):12.5f}"
            f"{mean(t.seconds for t in each):9.2f}",
            flush=True,
        )
    each = done["gauss_newton"]
    for label, errors, theta in (
        ("start", [t.reached[0][1].validation for t in each], DEFAULT),
        ("truth", [t.truth.validation for t in each], maker.true),
    ):
        train = mean(
            (t.truth.train if label == "truth" else t.optimiser.course[0].train) for t in each
        )
        print(
            f"{label:26}{'':18}{train:11.7f}{mean(errors):11.7f}{maker.off(theta):9.5f}"
            f"{maker.away(theta):12.5f}"
        )
    print()


def cover(maker: WorldMaker, replicates: int, name: str) -> None:
    """Print the share of true weights inside the intervals of Gauss-Newton."""
    inside, passes, width = np.zeros(len(NAMES)), 0.0, np.zeros(len(NAMES))
    for seed in range(replicates):
        outcome = tune(OPTIMISERS[name], maker.world(1000 + seed), maker.true, seed)
        intervals = outcome.optimiser.intervals
        assert intervals is not None
        low, high = intervals
        inside += (low <= maker.true) & (maker.true <= high)
        width += high - low
        passes += outcome.passes
    print(f"{replicates} replicates of {name}, {passes / replicates:.1f} passes each")
    print(f"{'weight':14}{'start':>7}{'true':>7}{'inside':>9}{'width':>9}")
    for i, name in enumerate(NAMES):
        print(
            f"{name:14}{DEFAULT[i]:7.0f}{maker.true[i]:7.0f}{inside[i] / replicates:9.1%}"
            f"{width[i] / replicates:9.1f}"
        )
    share = inside.sum() / replicates / len(NAMES)
    print(f"{'all':28}{share:9.1%}\n", flush=True)


def mean(values: Any) -> float:
    """Return the mean of numbers without None."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def main() -> None:
    """Print the tables of both worlds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--tunes", type=int, default=5)
    parser.add_argument("--games", type=int, default=4000, help="of a simulated set")
    parser.add_argument("--positions", type=int, default=9000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pool = counts_of_positions(arguments.positions, arguments.seed)
    # the same positions from the other side
    pool = np.concatenate([pool, -pool])
    factor = np.exp(np.random.default_rng(arguments.seed).normal(0.0, 0.4, len(NAMES)))
    true = np.rint(DEFAULT * factor)
    print(f"{len(pool)} positions, {arguments.games} games of {PER_GAME} in a set\n")
    for name, sheltered in (("linear", False), ("not linear", True)):
        print(f"{name} evaluation\n")
        maker = WorldMaker(pool, true, sheltered, arguments.games)
        compare(maker, arguments.tunes)
        for kind in ("gauss_newton", "gauss_newton, ridge path"):
            cover(maker, arguments.replicates, kind)


if __name__ == "__main__":
    main()
