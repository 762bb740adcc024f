"""Measure the Elo lost in a tune by many iterations in progress at once.

    python benchmarks/spsa_delay.py [--replicates 120] [--games 30000]

Four parameters of benchmark A, by Elo lost at half a range; iterations of two games, with
1, 8, 64, 512 and 4,096 of them in progress when the first is completed.  Prints the Elo loss of
the estimate: its mean over the replicates and the 95 % interval.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from spsa_benchmark_a import DRAWS, PROBLEMS, adaptive, classic, constant

from ringmaster.stats.elo import Z95
from ringmaster.tuners.simulation import (
    FixedDraws,
    Shaped,
    SimulatedPlayers,
    SimulatedTune,
    simulate,
)
from ringmaster.tuners.spsa.perturbation import Counting

IN_FLIGHT = (1, 8, 64, 512, 4096)
METHODS = {
    "default": adaptive,
    "classic c=33.3 r=.002": classic(33.3, 0.002),
    "classic c=33.3 r=.02": classic(33.3, 0.02),
    "constant r=.008": constant(0.008),
}


def main() -> None:
    """Print a row for each problem, method and number of games."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--replicates", type=int, default=120)
    parser.add_argument("--games", type=int, nargs="+", default=[30_000])
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{'':10}{'':23}{'games':>7}" + "".join(f"{n:>16}" for n in IN_FLIGHT))
    for problem in ("n=4 e=2", "n=4 e=20"):
        space = PROBLEMS[problem].space()
        elo = Shaped(np.full(4, 100.0), PROBLEMS[problem].e, np.full(4, 100.0))
        players = SimulatedPlayers(elo, FixedDraws(DRAWS))
        for name, make in METHODS.items():
            for games in arguments.games:
                cells = []
                for in_flight in IN_FLIGHT:
                    counting = Counting()
                    method = make(space, counting, games // 2)
                    tune = SimulatedTune(method, games // 2, counting, in_flight=in_flight)
                    course = simulate(tune, players, arguments.replicates, seed=arguments.seed)
                    lost = course.estimate[-1]
                    error = Z95 * lost.std(ddof=1) / math.sqrt(len(lost))
                    cells.append(f"{lost.mean():9.3f} ±{error:.3f}")
                print(f"{problem:10}{name:23}{games:7}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
