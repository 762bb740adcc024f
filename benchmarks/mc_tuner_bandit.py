"""Measure the choice of the Monte Carlo tuner among 64 candidates of known win rates.

    python benchmarks/mc_tuner_bandit.py [--seeds 100] [--games 10000]
        [--in-flight 1 16] [--equal [ADVANTAGE]]

The candidates lie on an 8x8 grid over [-1, 1]², their win rates are
0.65 - 0.15 ((x - 0.3)² + (y + 0.2)²); coefficient 0.45, 5 wins in 10 initial
visits.  The table has the seeds with a chosen candidate within 0.02 of the best rate, and the
wins lost by games of other candidates than the best.  Several games at a time are played without
and with virtual visits.

With --equal all rates are 0.5, but that of one may be higher by the advantage.  The table then
also has the share of 95 % intervals that hold the true rate of the chosen candidate: those by its
own games, and those by the results of all.
"""

from __future__ import annotations

import argparse
import random
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import fmean

from ringmaster.stats.elo import wilson
from ringmaster.stats.shrinkage import chosen_share
from ringmaster.tuners.ucb import Path, Ucb


def rate(x: float, y: float) -> float:
    """Return the true win rate of a candidate."""
    return 0.65 - 0.15 * ((x - 0.3) ** 2 + (y + 0.2) ** 2)


def simulate(
    seed: int,
    in_flight: int,
    virtual: bool,
    games: int = 10_000,
    advantage: float | None = None,
) -> tuple[float, float, bool, bool]:
    """Return the win rate lost by the chosen candidate, the wins lost during the tune, and
    whether the intervals by its own games and by all results hold its rate.

    advantage  of one candidate over the others, which are equal; None for the hill
    """
    tree = Ucb(
        [8, 8],
        exploration_coefficient=0.45,
        initial_visits=10,
        initial_wins=5,
        virtual=virtual,
        seed=seed,
    )
    rates = [rate(*(2 * u - 1 for u in tree.centre((i,)))) for i in range(64)]
    if advantage is not None:
        rates = [0.5 + advantage, *[0.5] * 63]
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
    chosen = tree.node(tree.best())
    true = rates[chosen.path[0]]
    own = wilson(chosen.points, chosen.games)
    shrunk = wilson(*chosen_share(chosen.points, chosen.games, tree.results(1)))
    holds = [low <= true <= high for low, high in (own, shrunk)]
    return best - true, lost_wins, holds[0], holds[1]


def main() -> None:
    """Print a row for each number of games at a time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--equal", type=float, nargs="?", const=0.0, metavar="ADVANTAGE")
    arguments = parser.parse_args()
    coverage = "" if arguments.equal is None else f" {'own interval':>13} {'by all':>7}"
    print(
        f"{'in flight':>9} {'virtual visits':>14} {'within 0.02':>12} {'lost wins':>16}{coverage}"
    )
    with ProcessPoolExecutor() as pool:
        cases = [(n, on) for n in arguments.in_flight for on in (False, True) if on or n > 1]
        for in_flight, virtual in cases:
            run = partial(
                simulate,
                in_flight=in_flight,
                virtual=virtual,
                games=arguments.games,
                advantage=arguments.equal,
            )
            outcomes = list(pool.map(run, range(arguments.seeds)))
            worse, lost, own, by_all = zip(*outcomes, strict=True)
            good = sum(loss <= 0.02 for loss in worse)
            shares = f" {fmean(own):13.0%} {fmean(by_all):7.0%}" if coverage else ""
            print(
                f"{in_flight:9} {'on' if virtual else 'off':>14} "
                f"{f'{good} of {len(outcomes)}':>12} {fmean(lost):16.0f}{shares}"
            )


if __name__ == "__main__":
    main()
