"""Simulated tunes of CLOP on its test functions, game by game through `Clop`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringmaster.tuners.clop import Axis, Clop, logistic
from ringmaster.tuners.simulation import CLOP_FUNCTIONS
from ringmaster.tuners.space import Array


def simulated_regrets(
    name: str,
    count: int,
    games: Sequence[int],
    *,
    replicates: int,
    first_seed: int = 0,
    H: float = 3.0,
    all_pairs: bool = True,
) -> Array:
    """Return the regret P(optimum) − P(estimate) of tunes, (replicates, len(games)).

    name   of CLOP_FUNCTIONS, with `count` values
    games  numbers of games, ascending
    """
    function = CLOP_FUNCTIONS[name]
    optimum = np.resize(function.optimum, count)
    regrets = np.zeros((replicates, len(games)))

    def probability(values: Sequence[float] | Array) -> float:
        return float(logistic(function.strength(np.asarray(values, dtype=float))))

    for replicate in range(replicates):
        seed = first_seed + replicate
        tuner = Clop([Axis(-1.0, 1.0)] * count, seed=seed, H=H, all_pairs=all_pairs)
        chance = np.random.default_rng([seed, 1]).random(games[-1]).tolist()
        for number in range(games[-1]):
            places = tuner.ask(number)
            tuner.tell(places, float(chance[number] < probability(tuner.played(places))))
            if number + 1 in games:
                regret = probability(optimum) - probability(tuner.estimate() or [])
                regrets[replicate, games.index(number + 1)] = regret
    return regrets
