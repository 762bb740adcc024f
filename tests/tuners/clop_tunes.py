"""The test functions of CLOP, and simulated tunes on them, game by game through `Clop`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ringmaster.tuners.clop import Axis, Clop, logistic
from ringmaster.tuners.space import Array


def _log(v: Array) -> Array:
    x = 2 * v + 1
    mean: Array = (2 * np.log(2 * x + 2.1) - 2 * x - 1).mean(axis=-1)
    return mean


def _flat(v: Array) -> Array:
    d = v[..., 0] + 0.6
    return 0.2 / (1 + 6 * d * d + d**3)


def _coulom_power(v: Array) -> Array:
    u = (v[..., 0] + 1) / 2
    return 0.2 * u * u - u**20


def _angle(v: Array) -> Array:
    d = v[..., 0] + 0.2
    above = np.sqrt(np.maximum(d, 0.0) + 2)
    below = 2 * np.sqrt(0.5 - np.minimum(d, 0.0))
    return 1 - (np.where(d > 0, above, below) - math.sqrt(2))


def _rosenbrock(v: Array) -> Array:
    x, y = 4 * v[..., 0], 10 * v[..., 1] + 4
    return 1 - 0.1 * (np.square(1 - x) + np.square(y - x * x))


def _correlated(v: Array) -> Array:
    def f(t: Array) -> Array:
        return t * t * (t * (1 - t) - 1)

    a, b = v[..., 0] + v[..., 1] + 0.1, v[..., 0] - v[..., 1] + 0.9
    return 0.2 * (f(10 * a) + f(b)) + 0.1


@dataclass(frozen=True)
class ClopFunction:
    """A test function with its number of values (0: any) and the place of its maximum.

    R. Coulom, "CLOP: Confident Local Optimization for Noisy Black-Box Parameter Tuning",
    Advances in Computer Games 13, 2011.  Values are in [−1, 1]; `strength` gives the
    log-odds S of winning against a fixed opponent, and two players play as S − T.
    """

    strength: Callable[[Array], Array]
    count: int
    optimum: tuple[float, ...]


#: Optima are zeros of the derivative (of angle: its jump).
CLOP_FUNCTIONS: Mapping[str, ClopFunction] = {
    # LOG with one value, LOG2 with two
    "log": ClopFunction(_log, 0, (-0.525,)),
    "flat": ClopFunction(_flat, 1, (-0.6,)),
    "power": ClopFunction(_coulom_power, 1, (2 * 0.02 ** (1 / 18) - 1,)),
    "angle": ClopFunction(_angle, 1, (-0.2,)),
    "rosenbrock": ClopFunction(_rosenbrock, 2, (0.25, -0.3)),
    "correlated": ClopFunction(_correlated, 2, (-0.5, 0.4)),
}


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
