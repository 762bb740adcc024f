"""Measure the choice of the Monte Carlo tuner among 64 candidates of known win rates.

    python benchmarks/mc_tuner_bandit.py [--seeds 100] [--games 10000]
        [--in-flight 1 16]

The candidates lie on an 8x8 grid over [-1, 1]², their win rates are
0.65 - 0.15 ((x - 0.3)² + (y + 0.2)²); coefficient 0.45, 5 wins in 10 initial
visits.  The table has the seeds with a chosen candidate within 0.02 of the best rate, and the
wins lost by games of other candidates than the best.  Several games at a time are played without
and with virtual visits.
"""

from __future__ import annotations

import argparse
import random
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import fmean

from ringmaster.tuners.ucb import Path, Ucb


def rate(x: float, y: float) -> float:
    """Return the true win rate of a candidate."""
    return 0.65 - 0.15 * ((x - 0.3) ** 2 + (y + 0.2) ** 2)


def simulate(seed: int, in_flight: int, virtual: bool, games: int = 10_000) -> tuple[float, float]:
    """Return the win rate lost by the chosen candidate, and the wins lost during the tune."""
    tree = Ucb(
        [8, 8],
        exploration_coefficient=0.45,
        initial_visits=10,
        initial_wins=5,
        virtual=virtual,
        seed=seed,
    )
    rates = [rate(*(2 * u - 1 for u in tree.centre((i,)))) for i in range(64)]
    best = max(rates)
    rng = random.Random(seed)
    in_progress: list[Path] = []
    lost_wins = 0.0
    for number in range(games):
        path, _ = tree.choose(number)
        in_progress.append(path)
        lost_wins += best - rates[path[0]]
        if len(in_progress) == in_flight:
            done = in_progress.pop(0)
            tree.tell(done, float(rng.random() < rates[done[0]]))
    return best - rates[tree.best()[0]], lost_wins


def main() -> None:
    """Print a row for each number of games at a time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 16])
    arguments = parser.parse_args()
    print(f"{'in flight':>9} {'virtual visits':>14} {'within 0.02':>12} {'lost wins':>16}")
    with ProcessPoolExecutor() as pool:
        cases = [(n, on) for n in arguments.in_flight for on in (False, True) if on or n > 1]
        for in_flight, virtual in cases:
            run = partial(simulate, in_flight=in_flight, virtual=virtual, games=arguments.games)
            outcomes = list(pool.map(run, range(arguments.seeds)))
            good = sum(worse <= 0.02 for worse, _ in outcomes)
            print(
                f"{in_flight:9} {'on' if virtual else 'off':>14} "
                f"{f'{good} of {len(outcomes)}':>12} {fmean(lost for _, lost in outcomes):16.0f}"
            )


if __name__ == "__main__":
    main()
