"""Move the optimum under gains that were found in hindsight.

    python benchmarks/hindsight.py [--games 2000 10000] [--replicates 24] [--seed 1]

On the landscapes "far" and "bound" classic SPSA gets the gains of a grid that lose least there (the
"oracle" of `benchmarks/tuning.py`).  Then the optimum moves, and everything else remains.
Prints the median Elo lost by these gains, by the gains that are best for the moved optimum, and by
the default method, which is not told.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

from benchmarks.landscapes import FAMILIES, Landscape
from benchmarks.tuning import best_gains, classic
from ringmaster.tuners.simulation import SimulatedPlayers, SimulatedTune, simulate
from ringmaster.tuners.spsa import Counting
from ringmaster.tuners.spsa.adaptive import Adaptive

#: Optima by family; the family's own is the first.
OPTIMA = {
    "far": [[at] * 4 for at in (90, 95, 80, 70, 60)],
    "bound": [[at, 100 - at, at, 100 - at] for at in (0, 10, 20)],
}


def adaptive(landscape: Landscape, games: int, replicates: int, seed: int) -> float:
    """Return the median Elo lost by the default method."""
    tune = SimulatedTune(Adaptive(landscape.space), games // 2, Counting())
    players = SimulatedPlayers(landscape.elo, landscape.draws)
    lost = simulate(tune, players, replicates, seed=seed).estimate[-1]
    best = landscape.elo.loss(landscape.space.clip(landscape.optimum))
    return float(np.median(lost - best))


def main() -> None:
    """Print a row for each landscape, number of games and optimum."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--games", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--replicates", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rest = arguments.replicates, arguments.seed
    heads = "".join(name.rjust(10) for name in ("hindsight", "its best", "adaptive"))
    print(f"{'landscape':10}{'games':>7}  {'optimum':20}{heads}")
    for family, optima in OPTIMA.items():
        own = FAMILIES[family]()
        for games in arguments.games:
            c, r, which = best_gains(own, games, *rest)
            for optimum in optima:
                model = own.elo.at(np.array(optimum, dtype=np.float64))
                landscape = Landscape(own.space, model, own.draws)
                c2, r2, which2 = best_gains(landscape, games, *rest)
                medians = (
                    np.median(classic(landscape, c, r, games, *rest)[which]),
                    np.median(classic(landscape, c2, r2, games, *rest)[which2]),
                    adaptive(landscape, games, *rest),
                )
                figures = "".join(f"{median:10.2g}" for median in medians)
                print(f"{family:10}{games:7}  {optimum!s:20}{figures}", flush=True)


if __name__ == "__main__":
    main()
