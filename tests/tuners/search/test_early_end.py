"""The sequential test against a reference score."""

from __future__ import annotations

import random

import pytest

from ringmaster.tuners.search.early_end import is_hopeless


def play_pairs(rng: random.Random, score: float, draws: float) -> list[int]:
    """Return the counts of 100 pairs, judged after each; [] after an early end."""
    counts = [0, 0, 0, 0, 0]
    win = score - draws / 2
    for _ in range(100):
        points = 0
        for _ in range(2):
            x = rng.random()
            points += 2 if x < win else 1 if x < win + draws else 0
        counts[points] += 1
        if is_hopeless(counts, score, 0.05):
            return []
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(("score", "draws"), [(0.5, 0.0), (0.5, 0.6), (0.3, 0.2), (0.8, 0.3)])
def test_candidate_as_good_as_the_reference_is_rarely_ended(score: float, draws: float) -> None:
    rng = random.Random(1)
    rounds = 300
    ended = sum(not play_pairs(rng, score, draws) for _ in range(rounds))
    assert ended / rounds <= 0.05


def test_candidate_that_loses_every_game_is_ended_after_a_few_pairs() -> None:
    assert not is_hopeless([1, 0, 0, 0, 0], 0.5, 0.05)
    assert is_hopeless([8, 0, 0, 0, 0], 0.5, 0.05)


def test_candidate_that_wins_every_game_is_never_ended() -> None:
    assert not is_hopeless([0, 0, 0, 0, 1000], 1.0, 0.5)


def test_smaller_error_needs_more_results() -> None:
    needed = [
        next(n for n in range(100) if is_hopeless([n, 0, 0, 0, 0], 0.5, error))
        for error in (0.2, 0.05, 0.001)
    ]
    assert needed == sorted(set(needed))
