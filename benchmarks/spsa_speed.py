"""Measure the games a second of `simulate` in one process.

    python benchmarks/spsa_speed.py [--replicates 120] [--games 30000] [--json]

Replicates of tunes of 1, 4, 12 and 50 parameters, by the default and the classic method.  "cpu"
counts the process's own time; on a shared machine it is less than the time by the clock.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import show_figures
from spsa_benchmark_a import DRAWS, Problem, adaptive, classic

from ringmaster.tuners.simulation import (
    FixedDraws,
    Shaped,
    SimulatedPlayers,
    SimulatedTune,
    simulate,
)
from ringmaster.tuners.spsa import Counting


def main() -> None:
    """Print millions of games a second."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--replicates", type=int, default=120)
    parser.add_argument("--games", type=int, default=30_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = {}
    for n in (1, 4, 12, 50):
        space = Problem(np.full(n, 2.0), float(n)).space()
        players = SimulatedPlayers(
            Shaped(np.full(n, 100.0), np.full(n, 2.0), np.full(n, 100.0)), FixedDraws(DRAWS)
        )
        for name, make in (("default", adaptive), ("classic", classic(33.3, 0.002))):
            counting = Counting()
            method = make(space, counting, arguments.games // 2)
            wall, cpu = time.perf_counter(), time.process_time()
            simulate(
                SimulatedTune(method, arguments.games // 2, counting), players, arguments.replicates
            )
            millions = arguments.games * arguments.replicates / 1e6
            figures[f"{name}, n={n}, million games a second"] = millions / (
                time.perf_counter() - wall
            )
            figures[f"{name}, n={n}, by cpu"] = millions / (time.process_time() - cpu)
    show_figures(figures, as_json=arguments.json)


if __name__ == "__main__":
    main()
