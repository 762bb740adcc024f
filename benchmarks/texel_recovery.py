"""Whether the optimisers of a Texel tune find weights that are known, and in how many passes.

    python benchmarks/texel_recovery.py [--replicates 100] [--tunes 5] [--games 4000]

Positions of the shipped chess engine's own games, of which half the moves are random, are
scored in process by its own evaluation: a sum of its thirteen weights times what it counts,
in whole centipawns.  The true weights are those that it has by default, each multiplied by a
random factor; the tune begins at the default.  Results come by games, one for all positions of
a game: the probability of a win wanders at random from one half on and nowhere (it is a
martingale), a game's positions are drawn from those whose true scores are what it says, and
the result is drawn at the end.  So each label is without bias, and labels of one game are
alike.  A second world has an evaluation that is not linear: scores level off, and mobility
counts for more the more shelter the kings have.

Printed are, by world and optimiser, means over the tunes: passes that were asked for (batches
in parts), positions that were scored, in passes over all; errors of training and validation
at the values that were best, and those of the truth; how far the win probabilities are from
the true ones (root mean square, over all positions that there are); how far the weights are
from the truth, in shares of their ranges.  Then, for each tune, how many passes Gauss-Newton
needs to come to the errors that local search ends with: of training, of validation, and of
validation but for the standard error of the difference (paired, by games); and that difference
at the end.  Then, over the replicates, how often true weights are inside Gauss-Newton's 95 %
intervals.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from ringmaster.demo import chess_rules
from ringmaster.demo.chess_evaluation import WEIGHTS, Evaluation
from ringmaster.demo.chess_search import Search
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.texel.gauss_newton import GaussNewton
from ringmaster.tuners.texel.genetic import Genetic
from ringmaster.tuners.texel.local_search import LocalSearch
from ringmaster.tuners.texel.loss import Array, Floats, Loss, sigmoid
from ringmaster.tuners.texel.optimiser import Errors, Optimiser, Pass
from ringmaster.tuners.texel.spsa_batches import SpsaBatches
from tests.tuners.texel.worlds import MemoryData, World

SCALE = 150.0
SHARDS = 16
#: Odd, so that no shard has the same plies of all games.
PER_GAME = 9
Theta = tuple[float, ...]
NAMES = [weight.name for weight in WEIGHTS]
MOBILITY, SHIELD = NAMES.index("Mobility"), NAMES.index("KingShield")
DEFAULT = np.array([weight.default for weight in WEIGHTS], dtype=np.float64)
PARAMETERS = [
    TunedParameter(w.name, float(w.default), float(w.min), float(w.max), integer=True)
    for w in WEIGHTS
]
WIDTH = np.array([p.maximum - p.minimum for p in PARAMETERS])


def counts_of_positions(games: int, seed: int) -> Array:
    """Return what the evaluation counts, from White, in positions of self-play, (n, weights)."""
    rng, rules = random.Random(seed), chess_rules.load()
    moves, read = chess_rules.MoveTable(rules), chess_rules.bitboard_reader(rules)
    values = {w.name: w.default for w in WEIGHTS}
    engine = Evaluation({**values, "Noise": 0, "Seed": 0})
    # ten of each, since what is a tenth of a weight is cut to whole numbers
    ones = [
        Evaluation({**dict.fromkeys(values, 0), name: 10, "Noise": 0, "Seed": 0}) for name in NAMES
    ]
    none = Evaluation({**dict.fromkeys(values, 0), "Noise": 0, "Seed": 0})
    found = []
    for _ in range(games):
        board = rules.Board()
        for ply in range(140):
            legal = chess_rules.legal_moves(board)
            if not legal or board.halfmove_clock >= 60:
                break
            other = board.null_move()
            if ply >= 8 and ply % 3 == 0 and other is not None:
                white = board.side_to_move() == rules.Color.White
                own = sum(map(len, board.generate_piece_moves()))
                mobility = own - sum(map(len, other.generate_piece_moves()))
                boards, sign = read(board), 1 if white else -1
                rest = none(boards, white, mobility, 0)
                row = [sign * (e(boards, white, mobility, 0) - rest) / 10 for e in ones]
                found.append(row)
            if rng.random() < 0.5:
                move = rng.choice(legal)
            else:
                search = Search(board, moves, engine, set())
                for _ in search.run(1):
                    pass
                move = legal[0] if search.best is None else search.best
            board = board.__copy__()
            board.play_unchecked(moves[move])
    return np.array(found, dtype=np.float64)


@dataclass
class Engine(World):
    """A world whose scores may be no linear function of the weights."""

    sheltered: bool = False

    def scores(self, theta: Sequence[float] | Array) -> Floats:
        """Return what the engine says of all positions."""
        return scores_of(self.counts, np.asarray(theta, dtype=np.float64), self.sheltered)


def scores_of(counts: Array, weights: Array, sheltered: bool) -> Floats:
    """Return scores in whole centipawns."""
    found = counts @ weights
    if sheltered:
        found = found + counts[:, MOBILITY] * np.abs(counts[:, SHIELD]) * (
            weights[MOBILITY] * weights[SHIELD] / 40
        )
        found = 1200 * np.tanh(found / 1200)
    return np.rint(found).astype(np.float32)


class Maker:
    """Makes worlds of the same positions, and knows the truth."""

    def __init__(self, pool: Array, true: Array, sheltered: bool, games: int) -> None:
        self.pool, self.true, self.sheltered, self.games = pool, true, sheltered, games
        scores = scores_of(pool, true, sheltered)
        self._order = np.argsort(scores, kind="stable")
        self._sorted = scores[self._order].astype(np.float64)
        self.probability = sigmoid(scores / SCALE)

    def world(self, seed: int) -> Engine:
        """Return a world with results of its own."""
        rng = np.random.default_rng(seed)
        p, now = np.empty((self.games, PER_GAME)), np.full(self.games, 0.5)
        for t in range(PER_GAME):
            now = now + rng.choice([-1.0, 1.0], self.games) * 0.7 * now * (1 - now)
            p[:, t] = now
        drawn, u = np.minimum(now, 1 - now), rng.random(self.games)
        result = np.where(u < now - drawn / 2, 1.0, np.where(u < now + drawn / 2, 0.5, 0.0))
        wanted = SCALE * np.log(p / (1 - p)).reshape(-1)
        # one of the twenty whose scores are nearest, on both sides alike
        place = np.searchsorted(self._sorted, wanted) + rng.integers(-10, 11, len(wanted))
        rows = self._order[np.clip(place, 0, len(self._order) - 1)]
        return Engine(
            self.pool[rows],
            np.repeat(result, PER_GAME),
            np.repeat(np.arange(self.games, dtype=np.uint32), PER_GAME),
            self.games // 5 * PER_GAME,
            SCALE,
            sheltered=self.sheltered,
        )

    def off(self, theta: Sequence[float]) -> float:
        """Return how far win probabilities are from the true ones, root mean square."""
        scores = scores_of(self.pool, np.asarray(theta), self.sheltered)
        return math.sqrt(np.square(sigmoid(scores / SCALE) - self.probability).mean())

    def away(self, theta: Sequence[float]) -> float:
        """Return how far the weights are from the truth, root mean square, in ranges."""
        return math.sqrt(np.square((np.asarray(theta) - self.true) / WIDTH).mean())


class Batched(MemoryData):
    """Positions of which only those are scored that a pass is over."""

    def play(self, asked: Pass) -> Errors:
        """Score a pass."""
        if not isinstance(asked.part, tuple):
            return super().play(asked)
        rows = self.rows("train")
        used = np.concatenate([rows[shard] for shard in asked.part])
        world = self.world
        assert isinstance(world, Engine)
        scores = scores_of(world.counts[used], np.asarray(asked.theta), world.sheltered)
        loss = self.loss.total(scores, world.results[used], np.ones(len(used)))
        return Errors(train=loss.loss / loss.weight)


@dataclass
class Tune:
    """What came of a tune.

    passes     asked for, batches in parts
    share      positions that were scored, in passes over all
    reached    (passes asked for, errors, values) where the values that are best so far changed
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
    while (asked := optimiser.ask()) is not None:
        part = len(asked.part) / SHARDS if isinstance(asked.part, tuple) else 1.0
        passes += part
        share += 1.0 if asked.part == "all" else part * (1 - held)
        errors = data.play(asked)
        data.forget(optimiser.tell(asked.number, errors, data))
        if asked.part == "all" and optimiser.best == asked.theta:
            reached.append((passes, errors, asked.theta))
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


def compare(maker: Maker, tunes: int) -> None:
    """Print a row for each optimiser, and how soon Gauss-Newton is where local search ends."""
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
    for name in ("local_search", "local_search, to its end"):
        print(
            f"passes of gauss_newton to the errors of {name}: training, validation, and that but "
            "for\nits standard error; validation error above that of local search"
        )
        for quick, slow in zip(done["gauss_newton"], done[name], strict=True):
            theta, held = slow.optimiser.best, slow.errors.validation
            needed = (
                first(quick, lambda e, t, goal=slow.errors.train: e.train <= goal),
                first(quick, lambda e, t, goal=held: e.validation <= goal),
                first(quick, lambda e, t, to=theta, w=slow.world: no_worse(w, t, to)),
            )
            above, error = difference(slow.world, quick.optimiser.best, theta)
            print(f"    {', '.join(needed)} of {slow.passes:g}; {above:+.7f} ±{error:.7f}")
    print()


def first(tune: Tune, good: Callable[[Errors, Theta], bool]) -> str:
    """Return after how many passes a tune's best values were good."""
    return next(
        (f"{passes:g}" for passes, errors, theta in tune.reached if good(errors, theta)), "never"
    )


def difference(world: World, theta: Theta, other: Theta) -> tuple[float, float]:
    """Return by how much the validation error of some values is above that of others, and
    its standard error, with games as clusters of positions."""
    loss, held = Loss("squared", world.scale), slice(-world.held, None)
    values = [loss.values(world.scores(t)[held], world.results[held]) for t in (theta, other)]
    by_game = np.bincount(world.games[held], values[0] - values[1])[world.games[held][0] :]
    return by_game.sum() / world.held, math.sqrt(
        np.square(by_game - by_game.mean()).sum()
    ) / world.held


def no_worse(world: World, theta: Theta, other: Theta) -> bool:
    """Return whether a validation error is above another by a standard error at most."""
    above, error = difference(world, theta, other)
    return above <= error


def cover(maker: Maker, replicates: int) -> None:
    """Print how often the true weights are inside the intervals of Gauss-Newton."""
    inside, passes, width = np.zeros(len(NAMES)), 0.0, np.zeros(len(NAMES))
    for seed in range(replicates):
        found = tune(OPTIMISERS["gauss_newton"], maker.world(1000 + seed), maker.true, seed)
        intervals = found.optimiser.intervals
        assert intervals is not None
        low, high = intervals
        inside += (low <= maker.true) & (maker.true <= high)
        width += high - low
        passes += found.passes
    print(f"{replicates} replicates of gauss_newton, {passes / replicates:.1f} passes each")
    print(f"{'weight':14}{'start':>7}{'true':>7}{'inside':>9}{'width':>9}")
    for i, name in enumerate(NAMES):
        print(
            f"{name:14}{DEFAULT[i]:7.0f}{maker.true[i]:7.0f}{inside[i] / replicates:9.1%}"
            f"{width[i] / replicates:9.1f}"
        )
    share = inside.sum() / replicates / len(NAMES)
    print(f"{'all':28}{share:9.1%}\n", flush=True)


def mean(values: Any) -> float:
    """Return the mean of numbers that are all there."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found)


def main() -> None:
    """Print the tables of both worlds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--tunes", type=int, default=5)
    parser.add_argument("--games", type=int, default=4000, help="of a simulated set")
    parser.add_argument("--self-play", type=int, default=300, help="games for positions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--positions", type=Path, help="file to keep the positions' counts in")
    arguments = parser.parse_args()
    if arguments.positions is not None and arguments.positions.exists():
        pool = np.load(arguments.positions)
    else:
        pool = counts_of_positions(arguments.self_play, arguments.seed)
        if arguments.positions is not None:
            np.save(arguments.positions, pool)
    # seen from the other side, too
    pool = np.concatenate([pool, -pool])
    factor = np.exp(np.random.default_rng(arguments.seed).normal(0.0, 0.4, len(NAMES)))
    true = np.rint(DEFAULT * factor)
    print(f"{len(pool)} positions, {arguments.games} games of {PER_GAME} in a set\n")
    for name, sheltered in (("linear", False), ("not linear", True)):
        print(f"{name} evaluation\n")
        maker = Maker(pool, true, sheltered, arguments.games)
        compare(maker, arguments.tunes)
        cover(maker, arguments.replicates)


if __name__ == "__main__":
    main()
