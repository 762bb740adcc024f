"""Expectations of a tune before its first game: time constants, noise and the final loss.

Near an optimum where a distance c costs E_c Elo, θ approaches it with a time constant of

    λ = C/(4·R·E_c) games

so the loss falls with exp(−2·games/λ).  The randomness of the games adds a loss that
tends to

    C·(1 − d)·R/8 Elo

for each parameter, with the share of draws d (both follow from the mean and the variance
of θ's step; E[W−L] = Δ/C a game).  Against a reference both are doubled: half of the
games, each as noisy.  Where R and c change, both are integrated over the tune.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.method import Gains
from ringmaster.tuners.spsa.perturbation import Counting
from ringmaster.tuners.spsa.regression import C

#: Stretches of a tune with R and c treated as constant.
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
    """Return the games after which a parameter may lose half of its initial loss, (n,).

    Half of these games at d = c contribute as much information on the optimum as the prior,
    its mean square distance lost_at_start/elo; no method needs fewer than this half.  The
    default method needs all: θ remains at the start until the results differ from chance
    (simulated: 6 to 60 parameters; 1 or 2 need a third more).  The number of parameters does
    not matter else: their mutual noise is small beside that of the games.  Infinite where
    nothing is lost.
    """
    square = np.square(np.minimum(c / (space.width / 2), 1.0)) * elo * lost_at_start
    with np.errstate(divide="ignore"):
        games = 2 * (1 - draw_ratio) * (C / 4) ** 2 / square
    return games * (4 if reference else 1)


@dataclass(frozen=True, eq=False)
class Outlook:
    """Expectations of a tune with gain sequences; arrays (n,).

    c_first, c_last, r_first, r_last  the sequences at both ends
    time_constant   λ at the end, games
    time_constants  length of the tune in time constants
    fastest         games of an iteration divided by the smallest λ
    lost_at_start, lost_at_end  expected Elo below the optimum, of the last θ
    noise           limit of the loss with the last R, Elo
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
    """Return the expected Elo loss at the start, (n,), of optima uniform within the bounds.

    elo  Elo lost at half a range from the optimum
    """
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
    """Return the expectations of a tune.

    elo            Elo lost at half a range from the optimum, (n,)
    lost_at_start  Elo, (n,)
    reference      whether both sides play a fixed opponent
    """
    half = space.width / 2
    games = counting.games_per_iteration
    # boundaries of the stretches: gain sequences change most at first
    ends = (1, iterations + 1, _STRETCHES)
    edges = sorted(
        {round(k) for k in (*np.geomspace(*ends).tolist(), *np.linspace(*ends).tolist())}
    )
    lost = lost_at_start.astype(np.float64)
    time_constants, fastest = np.zeros(len(space)), np.zeros(len(space))
    for begin, end in pairwise(edges):
        k = counting.k((int(begin) + int(end)) // 2)
        rate = _rate(gains, k, half, elo, reference)
        noise = _noise(gains, k, draw_ratio, reference)
        length = (end - begin) * games
        lost = noise + (lost - noise) * np.exp(-2 * length * rate)
        time_constants += length * rate
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
        time_constants,
        fastest,
        lost_at_start,
        lost,
        _noise(gains, last, draw_ratio, reference),
    )


def _rate(gains: Gains, k: float, half: Array, elo: Array, reference: bool) -> Array:
    """Return 1/λ, (n,)."""
    # bounds limit the perturbation to half a range
    elo_at_c = elo * np.square(np.minimum(gains.c(k) / half, 1.0))
    return 4 * gains.R(k) * elo_at_c / C / (2 if reference else 1)


def _noise(gains: Gains, k: float, draw_ratio: float, reference: bool) -> Array:
    """Return the limit of the loss with this R, Elo, (n,)."""
    return C * (1 - draw_ratio) * gains.R(k) / 8 * (2 if reference else 1)
