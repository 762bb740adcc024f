"""What a tune can be expected to give, before its first game: time constants, noise, and
the Elo that will be left.

Near an optimum where a distance c costs E_c Elo, θ approaches it with a time constant of

    λ = C/(4·R·E_c) games

so that what is lost falls with exp(−2·games/λ), while the chance of the games adds to it
what tends to

    C·(1 − d)·R/8 Elo

for each parameter, d being the share of draws (both follow from the mean and the
variance of θ's step; E[W−L] = Δ/C a game).  Against a reference with the same R both are
twice that: half of the games, each as noisy.  With R and c that change from iteration to
iteration the two are followed through the tune.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ringmaster.tuners.spsa.gains import C, Gains
from ringmaster.tuners.spsa.space import Array, Space
from ringmaster.tuners.spsa.tuner import Counting

#: Stretches of a tune within which R and c are taken for constant.
_STRETCHES = 2000


def games_to_halve_loss(
    space: Space,
    c: Array,
    *,
    elo: Array,
    lost_at_start: Array,
    draw_ratio: float,
    reference: bool = False,
) -> Array:
    """Return after how many games a parameter may be expected to lose half of what it loses
    at the start, (n,), infinite where that is nothing.

    So many games at d = c tell as much of an optimum as is known beforehand, which is its
    mean square distance, lost_at_start/elo, and no method has better.  The number of the
    parameters does not matter: each is noise to the others, but next to none beside chance.
    """
    square = np.square(np.minimum(c / (space.width / 2), 1.0)) * elo * lost_at_start
    with np.errstate(divide="ignore"):
        games = (1 - draw_ratio) * (C / 4) ** 2 / square
    return games * (4 if reference else 1)


@dataclass(frozen=True, eq=False)
class Outlook:
    """What to expect of a tune with gain sequences; arrays (n,).

    c_first, c_last, r_first, r_last  the sequences at both ends
    time_constant   λ at the end, games
    time_constants  how many of them the tune lasts, over all its games
    fastest         games of an iteration over the smallest λ of the tune
    lost_at_start, lost_at_end  expected Elo below the optimum, of the last θ
    noise           to what the loss at the end tends if the tune goes on, Elo
    """

    c_first: Array
    c_last: Array
    r_first: Array
    r_last: Array
    time_constant: Array
    time_constants: Array
    fastest: Array
    lost_at_start: Array
    lost_at_end: Array
    noise: Array


def uniform_loss(space: Space, elo: Array) -> Array:
    """Return the expected Elo lost at the start, (n,), where an optimum may be anywhere
    within the bounds and `elo` are lost at half a range from it."""
    above, below = space.maximum - space.start, space.start - space.minimum
    square = (above**3 + below**3) / (3 * space.width)
    return elo * square / np.square(space.width / 2)


def outlook(
    space: Space,
    gains: Gains,
    counting: Counting,
    iterations: int,
    *,
    elo: Array,
    lost_at_start: Array,
    draw_ratio: float,
    reference: bool = False,
) -> Outlook:
    """Return what to expect.

    elo            Elo lost at half a range from the optimum, (n,)
    lost_at_start  Elo, (n,)
    reference      whether both sides play a fixed opponent
    """
    half = space.width / 2
    games = counting.games_per_iteration
    # beginnings of the stretches: gain sequences change most at first
    ends = (1, iterations + 1, _STRETCHES)
    edges = sorted(
        {round(k) for k in (*np.geomspace(*ends).tolist(), *np.linspace(*ends).tolist())}
    )
    lost = lost_at_start.astype(np.float64)
    passed, fastest = np.zeros(len(space)), np.zeros(len(space))
    for begin, end in pairwise(edges):
        k = counting.k((int(begin) + int(end)) // 2)
        rate = _rate(gains, k, half, elo, reference)
        noise = _noise(gains, k, draw_ratio, reference)
        length = (end - begin) * games
        lost = noise + (lost - noise) * np.exp(-2 * length * rate)
        passed += length * rate
        fastest = np.maximum(fastest, games * rate)
    first, last = counting.k(1), counting.k(iterations)
    with np.errstate(divide="ignore"):
        time_constant = 1 / _rate(gains, last, half, elo, reference)
    return Outlook(
        gains.c(first),
        gains.c(last),
        gains.R(first),
        gains.R(last),
        time_constant,
        passed,
        fastest,
        lost_at_start,
        lost,
        _noise(gains, last, draw_ratio, reference),
    )


def _rate(gains: Gains, k: float, half: Array, elo: Array, reference: bool) -> Array:
    """Return 1/λ, (n,)."""
    # the bounds leave no more than half a range on either side
    elo_at_c = elo * np.square(np.minimum(gains.c(k) / half, 1.0))
    return 4 * gains.R(k) * elo_at_c / C / (2 if reference else 1)


def _noise(gains: Gains, k: float, draw_ratio: float, reference: bool) -> Array:
    """Return to what chance would bring the loss with this R, Elo, (n,)."""
    return C * (1 - draw_ratio) * gains.R(k) / 8 * (2 if reference else 1)
