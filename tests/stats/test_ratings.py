"""Ratings of several players by maximum likelihood."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringmaster.stats.elo import elo_of_score, from_games
from ringmaster.stats.ratings import Rating, bradley_terry


def ratings(players: int, scores: dict[tuple[int, int], tuple[int, int, int]]) -> list[Rating]:
    found = bradley_terry(players, scores)
    assert found is not None
    return found


def test_two_players_are_as_far_apart_as_their_score_says() -> None:
    first, second = ratings(2, {(0, 1): (60, 30, 10)})
    assert first.elo - second.elo == pytest.approx(elo_of_score(0.75))
    assert first.elo == -second.elo


def test_error_of_two_players_agrees_with_that_of_a_match() -> None:
    # each is half the difference away from the average
    first, _ = ratings(2, {(0, 1): (480, 320, 200)})
    assert 2 * first.error == pytest.approx(from_games(480, 320, 200).error, rel=0.02)


def test_error_without_draws_is_the_models() -> None:
    n, p = 400, 0.6
    first, _ = ratings(2, {(0, 1): (240, 0, 160)})
    expected = 1.96 * 400 / math.log(10) / math.sqrt(n * p * (1 - p)) / 2
    assert first.error == pytest.approx(expected, rel=0.01)


def test_third_player_links_two_that_never_met() -> None:
    a, b, c = ratings(3, {(0, 1): (75, 0, 25), (1, 2): (75, 0, 25)})
    assert a.elo - b.elo == pytest.approx(elo_of_score(0.75))
    assert a.elo - c.elo == pytest.approx(2 * elo_of_score(0.75))
    assert b.error < a.error


@pytest.mark.parametrize(
    "scores",
    [
        {},
        {(0, 1): (3, 0, 3)},
        {(0, 1): (3, 0, 3), (1, 2): (4, 0, 0)},
        {(0, 1): (5, 0, 0), (1, 2): (5, 0, 0), (0, 2): (5, 0, 0)},
    ],
)
def test_no_ratings_where_none_would_be_finite(
    scores: dict[tuple[int, int], tuple[int, int, int]],
) -> None:
    assert bradley_terry(3, scores) is None


def test_circle_of_wins_rates_all_alike() -> None:
    found = ratings(3, {(0, 1): (5, 0, 0), (1, 2): (5, 0, 0), (0, 2): (0, 0, 5)})
    assert [r.elo for r in found] == pytest.approx([0, 0, 0], abs=1e-6)


def test_draws_alone_leave_the_errors_open() -> None:
    found = ratings(2, {(0, 1): (0, 10, 0)})
    assert [r.elo for r in found] == [0, 0]
    assert all(math.isinf(r.error) for r in found)


def test_very_lopsided_results_converge() -> None:
    a, b = ratings(2, {(0, 1): (1_000_000, 0, 1)})
    assert a.elo - b.elo == pytest.approx(2400, abs=1)


results = st.tuples(*[st.integers(0, 30)] * 3)


@given(st.lists(results, min_size=6, max_size=6))
def test_every_player_scores_what_its_rating_expects(drawn: list[tuple[int, int, int]]) -> None:
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    scores = dict(zip(pairs, drawn, strict=True))
    found = bradley_terry(4, scores)
    assume(found is not None)
    assert found is not None
    assert sum(r.elo for r in found) == pytest.approx(0, abs=1e-6)
    for player in range(4):
        points = expected = 0.0
        for (i, j), (wins, draws, losses) in scores.items():
            if player in (i, j):
                points += (wins if player == i else losses) + draws / 2
                other = j if player == i else i
                distance = found[player].elo - found[other].elo
                expected += (wins + draws + losses) / (1 + 10 ** (-distance / 400))
        assert points == pytest.approx(expected, abs=1e-3)
