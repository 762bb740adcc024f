"""The rate of a candidate chosen for its results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ringmaster.stats.elo import share_interval, wilson
from ringmaster.stats.shrinkage import chosen_share

TUNES, CANDIDATES, GAMES = 20, 64, 500


def tunes(better: float) -> list[tuple[list[tuple[float, int]], int, float]]:
    """Return results of UCB tunes: those of the candidates, the best one, its true rate."""
    random = np.random.default_rng(8)
    rates = np.full(CANDIDATES, 0.5)
    rates[0] += better
    games, wins = np.zeros((2, TUNES, CANDIDATES))
    every = np.arange(TUNES)
    for number in range(GAMES):
        visits = games + 10
        urgency = (wins + 5) / visits + 0.45 * np.sqrt(math.log(number + 10) / visits)
        chosen = (urgency + 1e-9 * random.random(urgency.shape)).argmax(1)
        games[every, chosen] += 1
        wins[every, chosen] += random.random(TUNES) < rates[chosen]
    best = wins.argmax(1)
    counts = games.astype(int)
    return [
        (list(zip(wins[i].tolist(), counts[i].tolist(), strict=True)), int(b), float(rates[b]))
        for i, b in enumerate(best)
    ]


def covered(interval: tuple[float, float], rate: float) -> bool:
    return interval[0] <= rate <= interval[1]


@pytest.mark.parametrize("better", [0.0, 0.1, 0.2])
def test_interval_of_the_chosen_holds_the_truth(better: float) -> None:
    shares = [
        (chosen_share(*results[best], results), rate) for results, best, rate in tunes(better)
    ]
    assert sum(covered(wilson(*share), rate) for share, rate in shares) >= 0.9 * TUNES


def test_interval_of_its_own_games_does_not() -> None:
    own = [covered(wilson(*results[best]), rate) for results, best, rate in tunes(0.0)]
    assert sum(own) < 0.75 * TUNES


def test_equal_results_make_the_chosen_equal_and_precise() -> None:
    points, games = chosen_share(50, 100, [(50, 100)] * 64)
    assert points / games == pytest.approx(0.5)
    assert games > 1000


def test_results_far_apart_leave_the_chosen_its_own_rate() -> None:
    many = [(9.0 * place, 450) for place in range(51)]
    assert share_interval(*chosen_share(405, 450, many)) == share_interval(405, 450)


def test_only_candidate_has_its_own_rate() -> None:
    points, games = chosen_share(30.5, 50, [(30.5, 50), (0.0, 0)])
    assert points / games == pytest.approx(0.61, abs=0.01)
    assert games == pytest.approx(50, rel=0.25)


def test_order_of_the_candidates_changes_no_digit() -> None:
    results, best, _ = tunes(0.1)[0]
    assert chosen_share(*results[best], results) == chosen_share(*results[best], results[::-1])
