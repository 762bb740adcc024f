"""Measure the final Elo loss of SPSA methods on players of quadratic strength.

    python benchmarks/spsa_benchmark_a.py [--replicates 120] [--games 30000 120000 377000]
        [--only TEXT] [--seed 1] [-j 1]

A player loses Σ eᵢ·((xᵢ − 100)/100)² Elo, the range is [0, 200], every parameter starts
at 100 + 100·√(Elo at the start/Σe).  A game is drawn with probability 0.61, and won with
1/(1 + 10^(−Δ/400)) − 0.305.  Prints the Elo loss of the last θ, of the mean of its last
half and of the estimate: means over the replicates and standard errors.  "z" is the
difference to a published figure (of 120 replicates) in its standard errors; for the default
method, to the best published figure of the problem.  "moved" rows have another optimum.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from ringmaster.stats.elo import Z95
from ringmaster.tuners.simulation import (
    FixedDraws,
    Shaped,
    SimulatedPlayers,
    SimulatedTune,
    simulate,
)
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import Classic, Constant, GainMethod, Method
from ringmaster.tuners.spsa.perturbation import Counting

DRAWS = 0.61
#: Replicates of the published figures.
PUBLISHED = 120
GAMES = (30_000, 120_000, 377_000)


@dataclass(frozen=True, eq=False)
class Problem:
    """A loss function with its start: e, Elo lost at the start or the start itself, and optimum."""

    e: np.ndarray
    lost: float = 0.0
    start: float | None = None
    optimum: float = 100.0

    def space(self) -> Space:
        n = len(self.e)
        start = self.start
        if start is None:
            start = 100 + 100 * math.sqrt(self.lost / float(self.e.sum()))
        full = partial(np.full, n)
        return Space(full(start), full(0.0), full(200.0), np.zeros(n, dtype=bool))


PROBLEMS = {
    "n=4 e=2": Problem(np.full(4, 2.0), 2.0),
    "n=4 e=20": Problem(np.full(4, 20.0), 20.0),
    "n=12": Problem(np.repeat(0.25 * 2.0 ** np.arange(6), 2), 6.0),
    "moved 60, start 110, e=2": Problem(np.full(4, 2.0), start=110.0, optimum=60.0),
    "moved 60, start 110, e=20": Problem(np.full(4, 20.0), start=110.0, optimum=60.0),
    "moved 150, start 100, e=2": Problem(np.full(4, 2.0), start=100.0, optimum=150.0),
    "moved 190, start 110, e=2": Problem(np.full(4, 2.0), start=110.0, optimum=190.0),
    "moved 190, start 110, e=20": Problem(np.full(4, 20.0), start=110.0, optimum=190.0),
    "start at optimum 110, e=4": Problem(np.full(4, 4.0), start=110.0, optimum=110.0),
}


def classic(c: float, r: float) -> Callable[[Space, Counting, int], Method]:
    """Return a factory of the classic method; A = N/10."""

    def make(space: Space, counting: Counting, iterations: int) -> Method:
        N = counting.length(iterations)
        full = partial(np.full, len(space))
        gains = Classic(full(c), full(r), N, 0.602, 0.101, 0.1 * N, full(0.0))
        return GainMethod(space, gains)

    return make


def constant(r: float) -> Callable[[Space, Counting, int], Method]:
    """Return a factory of the constant method; c is a sixth of the range."""
    return lambda space, *_: GainMethod(space, Constant(space.width / 6, np.full(len(space), r)))


def adaptive(space: Space, counting: Counting, iterations: int) -> Method:
    return Adaptive(space)


@dataclass(frozen=True, eq=False)
class Row:
    """A problem, a method, and published losses: (last, mean) by games."""

    problem: str
    name: str
    make: Callable[[Space, Counting, int], Method]
    published: tuple[tuple[float, float], ...] = ()
    reference: bool = False


#: Losses of the last θ and of the mean of its last half.
Losses = tuple[float, float]
CLASSIC: dict[tuple[str, str], tuple[tuple[float, float], tuple[Losses, ...]]] = {
    ("n=4 e=2", "classic c=10 r=.002"): ((10, 0.002), ((1.91, 1.93), (1.70, 1.74), (1.18, 1.27))),
    ("n=4 e=2", "classic c=33.3 r=.002"): (
        (33.3, 0.002),
        ((1.25, 1.35), (0.40, 0.50), (0.152, 0.121)),
    ),
    ("n=4 e=2", "classic c=33.3 r=.004"): (
        (33.3, 0.004),
        ((0.94, 1.04), (0.34, 0.36), (0.288, 0.165)),
    ),
    ("n=4 e=20", "classic c=33.3 r=.002"): (
        (33.3, 0.002),
        ((0.26, 0.39), (0.138, 0.068), (0.139, 0.023)),
    ),
    ("n=12", "classic c=33.3 r=.002"): (
        (33.3, 0.002),
        ((2.16, 2.45), (0.79, 0.85), (0.520, 0.443)),
    ),
}
#: Gains found in hindsight for 377,000 games, and the published loss of the mean.
HINDSIGHT = {
    "n=4 e=2": ((75, 0.064), 0.014),
    "n=4 e=20": ((75, 0.0005), 0.0043),
    "n=12": ((75, 0.064), 0.035),
}
#: The best published figure of each problem, by games, without hindsight.
BEST = {
    "n=4 e=2": (0.94, 0.34, 0.121),
    "n=4 e=20": (0.26, 0.068, 0.023),
    "n=12": (2.16, 0.79, 0.443),
}
ROWS = [
    *(
        Row(problem, name, classic(*gains), published)
        for (problem, name), (gains, published) in CLASSIC.items()
    ),
    Row(
        "n=4 e=2",
        "constant r=.0031",
        constant(0.0031),
        ((1.30, 1.43), (0.48, 0.63), (0.219, 0.148)),
    ),
    Row(
        "n=4 e=2", "constant r=.008", constant(0.008), ((0.96, 1.04), (0.55, 0.44), (0.567, 0.204))
    ),
    Row(
        "n=4 e=2",
        "v a reference, classic c=33.3 r=.002",
        # published as .004, with half of our result: W − L of θ⁺ minus W − L of θ⁻
        classic(33.3, 0.002),
        ((1.61, 1.67), (1.01, 1.12), (0.57, 0.49)),
        True,
    ),
    *(Row(problem, "default", adaptive) for problem in PROBLEMS),
    *(
        Row(problem, "classic c=33.3 r=.002", classic(33.3, 0.002))
        for problem in PROBLEMS
        if "moved" in problem or "start at" in problem
    ),
    *(
        Row(problem, f"hindsight, classic c={c} r={r}", classic(c, r))
        for problem, ((c, r), _) in HINDSIGHT.items()
    ),
    # the same gains where the optimum is not in the middle of the range
    Row("moved 60, start 110, e=2", "hindsight, classic c=75 r=0.064", classic(75, 0.064)),
]


def play(index: int, games: int, replicates: int, seed: int) -> tuple[np.ndarray, float]:
    """Return the Elo lost, (3 kinds, replicates), and the games a second."""
    row = ROWS[index]
    problem = PROBLEMS[row.problem]
    space = problem.space()
    n = len(space)
    counting = Counting()
    tune = SimulatedTune(
        row.make(space, counting, games // 2),
        games // 2,
        counting,
        pairing="reference" if row.reference else "self_play",
    )
    elo = Shaped(np.full(n, problem.optimum), problem.e, np.full(n, 100.0))
    began = time.perf_counter()
    course = simulate(tune, SimulatedPlayers(elo, FixedDraws(DRAWS)), replicates, seed=seed)
    spent = time.perf_counter() - began
    lost = np.array([course.last[-1], course.mean[-1], course.estimate[-1]])
    return lost, games * replicates / spent


def line(row: Row, games: int, lost: np.ndarray, speed: float) -> str:
    """Return one line of the table."""
    mean = lost.mean(axis=1)
    error = lost.std(axis=1, ddof=1) / math.sqrt(lost.shape[1])
    cells = [f"{row.problem:26} {row.name:37}{games:7}"]
    cells += [f"{m:8.4f} ±{Z95 * e:.4f}" for m, e in zip(mean, error, strict=True)]
    at = GAMES.index(games) if games in GAMES else None
    if at is not None and row.published:
        for kind in (0, 1):
            known = row.published[at][kind]
            z = (mean[kind] - known) / (error[kind] * math.sqrt(1 + lost.shape[1] / PUBLISHED))
            cells.append(f"{known:6g} z {z:+5.1f}")
    elif games == GAMES[-1] and row.name.startswith("hindsight") and row.problem in HINDSIGHT:
        known = HINDSIGHT[row.problem][1]
        z = (mean[1] - known) / (error[1] * math.sqrt(1 + lost.shape[1] / PUBLISHED))
        cells.append(f"{known:6g} z {z:+5.1f}")
    elif at is not None and row.name == "default" and row.problem in BEST:
        best = BEST[row.problem][at]
        cells.append(f"best {best:6g} ratio {mean[2] / best:5.2f}")
    return "  ".join(cells) + f"  [{speed / 1e6:.2f} M games/s]"


def main() -> None:
    """Print a row for each problem, method and number of games."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--replicates", type=int, default=120)
    parser.add_argument("--games", type=int, nargs="+", default=list(GAMES))
    parser.add_argument("--only", default="", help="a part of the rows' names")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    jobs = [
        (i, games)
        for i, row in enumerate(ROWS)
        if arguments.only in f"{row.problem} {row.name}"
        for games in arguments.games
    ]
    heads = ("problem", "method", "games", "last", "mean of last half", "estimate")
    print("{:26} {:37}{:>7}{:>10}{:>20}{:>15}".format(*heads))
    with ProcessPoolExecutor(arguments.j) as pool:
        results = pool.map(
            play,
            *zip(*jobs, strict=True),
            [arguments.replicates] * len(jobs),
            [arguments.seed] * len(jobs),
        )
        for (i, games), (lost, speed) in zip(jobs, results, strict=True):
            print(line(ROWS[i], games, lost, speed), flush=True)


if __name__ == "__main__":
    main()
