"""The stop at a precision, and races: their error rates in simulated matches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ringmaster.stats.elo import elo_of_score, from_counts, moment
from ringmaster.stats.stopping import FEWEST, Precision, Race, boundary

#: Probabilities of a pair's points (0, ½, 1, 1½, 2) of equal players.
EQUAL = np.array([0.06, 0.21, 0.46, 0.21, 0.06])


def pairs_at(elo: float) -> np.ndarray:
    """Return the probabilities of a pair's points, tilted to an Elo difference."""
    target = 1 / (1 + 10 ** (-elo / 400))
    low, high = -9.0, 9.0
    for _ in range(60):
        middle = (low + high) / 2
        tilted = EQUAL * np.exp(middle * np.linspace(0, 1, 5))
        tilted /= tilted.sum()
        if tilted @ np.linspace(0, 1, 5) < target:
            low = middle
        else:
            high = middle
    return tilted


def test_few_results_reach_no_precision() -> None:
    assert Precision(500).measure([0, 0, FEWEST - 1, 0, 0]) > 500
    assert 14 < Precision(10).measure([0, 0, 60, 0, 0]) < 17
    counts = [60, 210, 460, 210, 60]
    error = Precision(9).measure(counts)
    assert from_counts(counts).error < error < 1.01 * from_counts(counts).error


def test_remaining_games_follow_the_square_of_the_width() -> None:
    assert Precision(3).remaining(1000, 6.0) == 3000
    assert Precision(3).remaining(1000, 2.9) == 0


def coverage(precision: float, elo: float, rng: np.random.Generator, matches: int = 2000) -> float:
    """Return the share of matches whose interval at the stop has the true difference."""
    test = Precision(precision)
    p = pairs_at(elo)
    most = int(4 * (390 / precision) ** 2) + 200
    hits = 0
    for _ in range(matches):
        drawn = rng.choice(5, size=most, p=p)
        counts = np.cumsum(drawn[:, None] == np.arange(5), axis=0)
        n = np.arange(1, most + 1)
        scores = counts @ np.linspace(0, 1, 5) / n
        variance = counts @ np.linspace(0, 1, 5) ** 2 / n - scores**2
        slope = 400 / math.log(10) / np.maximum(scores * (1 - scores), 1e-9)
        near = 1.96 * np.sqrt(variance / n) * slope < 1.05 * precision
        # the exact rule, from shortly before the stop
        for stop in np.flatnonzero(near & (n >= FEWEST)):
            if test.accepted_at(test.measure(counts[stop].tolist())):
                break
        estimate = from_counts(counts[stop].tolist())
        hits += estimate.low <= elo <= estimate.high
    return hits / matches


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "elo"), [(40, 0), (20, 0), (20, 60)])
def test_interval_at_the_stop_has_the_true_difference_as_often_as_it_says(
    precision: float, elo: float
) -> None:
    assert coverage(precision, elo, np.random.default_rng(7)) >= 0.93


def test_boundary_of_a_race_is_passed_late_and_rarely() -> None:
    assert boundary(500, 0.05) > 2.5
    assert boundary(500, 0.05 / 3) > boundary(500, 0.05)
    race = Race()
    equal, better = [60, 210, 460, 210, 60], [30, 160, 460, 260, 90]
    assert not race.shows_better(equal, equal, 3)
    assert race.shows_better(better, equal, 3)
    assert not race.shows_better(equal, better, 3)
    assert not race.shows_better([0, 0, 0, 0, FEWEST - 1], [FEWEST, 0, 0, 0, 0], 3)


def races(
    elo: list[float], race: Race, rng: np.random.Generator, runs: int = 2000
) -> tuple[float, float, float]:
    """Return the shares of races that drop and that choose the first candidate, and the average
    number of games of a candidate."""
    most, k = race.number_of_games // 2, len(elo)
    sums, squares = np.zeros((runs, k)), np.zeros((runs, k))
    alive = np.ones((runs, k), dtype=bool)
    games = np.zeros(runs)
    chances = [np.cumsum(pairs_at(e)) for e in elo]
    for n in range(1, most + 1):
        for i in range(k):
            points = np.searchsorted(chances[i], rng.random(runs)).clip(0, 4) / 4
            sums[:, i] += points
            squares[:, i] += points**2
        games += np.where(alive.sum(1) > 1, 2 * alive.sum(1) / k, 0)
        if n < FEWEST:
            continue
        means = sums / n
        # one more loss and one more win in the variance
        variances = (squares + 1) / (n + 2) - ((sums + 1) / (n + 2)) ** 2
        limit = boundary(n, race.error / (k - 1))
        difference = means[:, :, None] - means[:, None, :]
        spread = np.sqrt((variances[:, :, None] + variances[:, None, :]) / n)
        better = (difference >= limit * spread) & alive[:, :, None]
        alive &= ~better.any(axis=1)
    leader = np.where(alive, sums, -1).argmax(axis=1)
    return 1 - alive[:, 0].mean(), (leader == 0).mean(), games.mean()


def test_simulated_races_decide_as_the_rule_does() -> None:
    rng = np.random.default_rng(3)
    race = Race(error=0.2)
    chances = [pairs_at(elo) for elo in (0, 25)]
    for _ in range(500):
        one, other = (rng.multinomial(200, p) for p in chances)
        v = [
            ((c @ np.arange(5) ** 2 / 16 + 1) / 202, (c @ np.arange(5) / 4 + 1) / 202)
            for c in (one, other)
        ]
        spread = math.sqrt(sum(square - mean**2 for square, mean in v) / 200)
        difference = moment(other.tolist(), 0.0, 1) - moment(one.tolist(), 0.0, 1)
        expected = difference >= spread * boundary(200, 0.2 / 3)
        assert race.shows_better(other.tolist(), one.tolist(), 3) == expected


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0, 5, 20])
def test_best_candidate_is_dropped_no_more_often_than_the_error_says(gap: float) -> None:
    dropped, _, _ = races([gap, 0, 0, 0], Race(error=0.05), np.random.default_rng(11))
    assert dropped <= 0.05


def test_elo_of_the_simulated_pairs() -> None:
    scores = pairs_at(30) @ np.linspace(0, 1, 5)
    assert elo_of_score(float(scores)) == pytest.approx(30, abs=0.01)
