"""Measure the regret of the CLOP tuner on the test functions of CLOP's paper.

    python benchmarks/clop_benchmark_b.py [--replicates 60] [--games 1000 10000]
        [--only log flat …] [--seed 0] [-j 1]

Regret is P(optimum) − P(estimate), the mean over tunes with its standard error; "CLOP" is
the figure of CLOP's own program, of 200 tunes with one parameter and 60 with more.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.tuners.clop_tunes import simulated_regrets

#: Function, number of parameters, and regret of CLOP's own program by number of games.
PUBLISHED: dict[str, tuple[str, int, dict[int, float]]] = {
    "log": ("log", 1, {1000: 0.0058, 10_000: 0.00106, 31_600: 0.00047, 100_000: 0.00023}),
    "flat": ("flat", 1, {1000: 0.0228, 10_000: 0.0056, 31_600: 0.0007, 100_000: 0.00035}),
    "power": ("power", 1, {1000: 0.0162, 10_000: 0.0129, 31_600: 0.0083, 100_000: 0.0034}),
    "angle": ("angle", 1, {1000: 0.0197, 10_000: 0.0107, 31_600: 0.0064, 100_000: 0.0039}),
    "rosenbrock": ("rosenbrock", 2, {1000: 0.0103, 10_000: 0.0025, 31_600: 0.0013}),
    "correlated": ("correlated", 2, {1000: 0.0042, 10_000: 0.0023, 31_600: 0.0013}),
    "log2": ("log", 2, {1000: 0.0157, 10_000: 0.0029, 31_600: 0.00105}),
    "log5": ("log", 5, {1000: 0.072, 10_000: 0.0202, 31_600: 0.0091}),
}


def _one(name: str, count: int, games: tuple[int, ...], seed: int) -> np.ndarray:
    return simulated_regrets(name, count, games, replicates=1, first_seed=seed)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--games", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--only", nargs="+", choices=PUBLISHED, default=list(PUBLISHED))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    games = tuple(sorted(arguments.games))
    seeds = range(arguments.seed, arguments.seed + arguments.replicates)
    print(f"{'function':12} {'games':>7}  {'regret':>17}  {'median':>7}  {'CLOP':>7}")
    with ProcessPoolExecutor(arguments.j) as pool:
        for key in arguments.only:
            name, count, published = PUBLISHED[key]
            regrets = np.array(list(pool.map(partial(_one, name, count, games), seeds)))
            errors = regrets.std(axis=0) / math.sqrt(len(regrets))
            for i, number in enumerate(games):
                print(
                    f"{key:12} {number:7}  {regrets[:, i].mean():.5f} ± {errors[i]:.5f}  "
                    f"{np.median(regrets[:, i]):.5f}  {published.get(number, math.nan):7.5f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
