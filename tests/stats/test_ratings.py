"""Ratings of several players by maximum likelihood."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringmaster.stats import ratings as module
from ringmaster.stats.elo import elo_of_score, from_games
from ringmaster.stats.ratings import Rating, Ratings, bradley_terry


def ratings(players: int, scores: dict[tuple[int, int], tuple[int, int, int]]) -> Ratings:
    fitted = bradley_terry(players, scores)
    assert fitted is not None
    return fitted


def test_two_players_have_the_distance_of_their_score() -> None:
    first, second = ratings(2, {(0, 1): (60, 30, 10)})
    assert first.elo - second.elo == pytest.approx(elo_of_score(0.75))
    assert first.elo == -second.elo


def test_error_of_two_players_agrees_with_that_of_a_match() -> None:
    # each is half the difference away from the average
    first, _ = ratings(2, {(0, 1): (480, 320, 200)})
    assert 2 * first.error == pytest.approx(from_games(480, 320, 200).error, rel=0.02)


def test_third_player_connects_two_players() -> None:
    a, b, c = ratings(3, {(0, 1): (75, 0, 25), (1, 2): (75, 0, 25)})
    assert a.elo - b.elo == pytest.approx(elo_of_score(0.75))
    assert a.elo - c.elo == pytest.approx(2 * elo_of_score(0.75))
    assert b.error < a.error


@pytest.mark.parametrize(
    "scores",
    [
        {},
        {(0, 1): (3, 0, 3)},
        {(0, 1): (3, 0, 3), (0, 2): (0, 0, 0)},
    ],
)
def test_unconnected_players_have_ratings_with_a_prior(
    scores: dict[tuple[int, int], tuple[int, int, int]],
) -> None:
    fitted = ratings(3, scores)
    assert fitted.prior == 1
    assert [r.elo for r in fitted] == pytest.approx([0, 0, 0], abs=1e-6)
    # a drawn game of each with an average player says little
    assert fitted.difference(0, 2).error > 500


@pytest.mark.parametrize(
    "scores",
    [
        {(0, 1): (3, 0, 3), (1, 2): (4, 0, 0)},
        {(0, 1): (5, 0, 0), (1, 2): (5, 0, 0), (0, 2): (5, 0, 0)},
        # nobody lost all, and two have all points of the third and the fourth
        {(0, 1): (3, 0, 3), (2, 3): (1, 1, 1), (0, 2): (4, 0, 0), (1, 3): (4, 0, 0)},
    ],
)
def test_prior_makes_ratings_finite_after_a_clean_sweep(
    scores: dict[tuple[int, int], tuple[int, int, int]],
) -> None:
    players = 1 + max(j for _, j in scores)
    fitted = ratings(players, scores)
    assert fitted.prior == 1
    assert math.fsum(r.elo for r in fitted) == pytest.approx(0, abs=1e-6)
    assert all(abs(r.elo) < 600 and 0 < r.error < 800 for r in fitted)
    assert fitted.covariance is not None
    for row in fitted.covariance:
        assert math.fsum(row) == pytest.approx(0, abs=1e-6)


def test_prior_is_a_drawn_game_against_an_average_player() -> None:
    """Four players and an imaginary fifth, fitted as any five, have the same distances."""
    scores = {(0, 1): (3, 1, 2), (0, 2): (2, 0, 4), (1, 2): (1, 2, 3)}
    scores |= {(i, 3): (6, 0, 0) for i in range(3)}
    with_prior = ratings(4, scores)
    fifth = ratings(5, scores | {(i, 4): (0, 1, 0) for i in range(4)})
    for i in range(4):
        distance = with_prior[i].elo - with_prior[0].elo
        assert distance == pytest.approx(fifth[i].elo - fifth[0].elo)


def test_prior_hardly_changes_ratings_of_many_games() -> None:
    without = ratings(2, {(0, 1): (480, 320, 200)})
    scores = {(0, 1): (480, 320, 200), (0, 2): (500, 0, 0), (1, 2): (500, 0, 0)}
    with_prior = ratings(3, scores)
    assert (without.prior, with_prior.prior) == (0, 1)
    expected = without[0].elo - without[1].elo
    assert with_prior[0].elo - with_prior[1].elo == pytest.approx(expected, abs=2)
    # the third is far behind, by an amount that is hardly known
    assert with_prior[1].elo - with_prior[2].elo > 800
    assert with_prior.difference(1, 2).error > 200


def test_draws_alone_leave_the_errors_open() -> None:
    fitted = ratings(2, {(0, 1): (0, 10, 0)})
    assert [r.elo for r in fitted] == [0, 0]
    assert all(math.isinf(r.error) for r in fitted)


results = st.tuples(*[st.integers(0, 30)] * 3)


@given(st.lists(results, min_size=6, max_size=6))
def test_expected_scores_of_ratings_are_the_scores(drawn: list[tuple[int, int, int]]) -> None:
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    scores = dict(zip(pairs, drawn, strict=True))
    fitted = ratings(4, scores)
    assume(not fitted.prior)
    assert sum(r.elo for r in fitted) == pytest.approx(0, abs=1e-6)
    for player in range(4):
        points = expected = 0.0
        for (i, j), (wins, draws, losses) in scores.items():
            if player in (i, j):
                points += (wins if player == i else losses) + draws / 2
                other = j if player == i else i
                distance = fitted[player].elo - fitted[other].elo
                expected += (wins + draws + losses) / (1 + 10 ** (-distance / 400))
        assert points == pytest.approx(expected, abs=1e-3)


SCORES = {(0, 1): (120, 60, 60), (0, 2): (100, 100, 40), (1, 2): (90, 60, 90)}


def test_anchor_shifts_all_ratings_and_has_no_error() -> None:
    free = bradley_terry(3, SCORES)
    anchored = bradley_terry(3, SCORES, anchor=(1, 2800))
    assert free is not None
    assert anchored is not None
    assert anchored[1] == Rating(2800, 0)
    for i in range(3):
        assert anchored[i].elo - 2800 == pytest.approx(free[i].elo - free[1].elo)
        assert anchored[i].error == pytest.approx(free.difference(i, 1).error)


def test_error_of_a_difference_agrees_with_many_tournaments() -> None:
    rng = np.random.default_rng(7)
    true = [60.0, 0.0, -60.0]
    differences, errors = [], []
    for _ in range(1500):
        scores = {}
        for i, j in SCORES:
            p = 1 / (1 + 10 ** ((true[j] - true[i]) / 400))
            # a third of all games is drawn
            wins, draws, losses = rng.multinomial(100, [p - 1 / 6, 1 / 3, 5 / 6 - p]).tolist()
            scores[i, j] = (wins, draws, losses)
        fitted = bradley_terry(3, scores)
        assert fitted is not None
        differences.append(fitted.difference(0, 2).elo)
        errors.append(fitted.difference(0, 2).error)
    assert np.mean(differences) == pytest.approx(120, abs=2)
    assert np.mean(errors) / 1.96 == pytest.approx(np.std(differences), rel=0.05)


def test_pairs_that_balance_openings_make_errors_smaller() -> None:
    """Every opening wins for White: games say nothing but chance, pairs all."""
    scores = dict.fromkeys(SCORES, (100, 0, 100))
    split = {key: [2, 0, 96, 0, 2] for key in SCORES}
    singly, by_pairs = bradley_terry(3, scores), bradley_terry(3, scores, split)
    assert singly is not None
    assert by_pairs is not None
    assert by_pairs[0].error == pytest.approx(singly[0].error * math.sqrt(4 * 4 / 200), rel=0.02)


def test_pairs_of_independent_games_have_the_errors_of_games() -> None:
    scores = dict.fromkeys(SCORES, (4000, 0, 4000))
    halves = {key: [1000, 0, 2000, 0, 1000] for key in SCORES}
    singly, by_pairs = bradley_terry(3, scores), bradley_terry(3, scores, halves)
    assert singly is not None
    assert by_pairs is not None
    assert by_pairs[0].error == pytest.approx(singly[0].error, rel=0.001)


def test_two_drawn_pairs_do_not_claim_certainty() -> None:
    scores = {(0, 1): (0, 4, 0), (1, 2): (100, 50, 100)}
    fitted = bradley_terry(3, scores)
    assert fitted is not None
    assert fitted.difference(0, 1).error > 100


def test_los_is_a_half_for_equals_and_complements_the_opponents() -> None:
    fitted = bradley_terry(3, SCORES)
    assert fitted is not None
    assert fitted.los(0, 1) == pytest.approx(1 - fitted.los(1, 0))
    assert fitted.los(0, 2) > 0.99
    even = bradley_terry(2, {(0, 1): (10, 3, 10)})
    assert even is not None
    assert even.los(0, 1) == pytest.approx(0.5)


@given(st.lists(results, min_size=6, max_size=6))
def test_covariance_is_symmetric_and_of_differences_that_are_not_negative(
    drawn: list[tuple[int, int, int]],
) -> None:
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    fitted = bradley_terry(4, dict(zip(pairs, drawn, strict=True)))
    assume(fitted is not None)
    assert fitted is not None
    if fitted.covariance is None:
        return
    matrix = np.array(fitted.covariance)
    assert np.isfinite(matrix).all()
    assert matrix == pytest.approx(matrix.T, rel=1e-6, abs=1e-6)
    assert matrix.sum(axis=1) == pytest.approx(0, abs=1e-4 * max(1, abs(matrix).max()))
    assert np.linalg.eigvalsh(matrix).min() > -1e-6 * abs(matrix).max()


@given(st.lists(results, min_size=10, max_size=10))
def test_ratings_without_numpy_equal_ratings_with_numpy(
    drawn: list[tuple[int, int, int]],
) -> None:
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    scores = dict(zip(pairs, drawn, strict=True))
    plain = bradley_terry(5, scores)
    assume(plain is not None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_FEW", 0)
        arrays = bradley_terry(5, scores)
    assert plain is not None
    assert arrays is not None
    assert [r.elo for r in plain] == pytest.approx([r.elo for r in arrays], abs=1e-6)
    assert [r.error for r in plain] == pytest.approx([r.error for r in arrays], rel=1e-5)
    assert (plain.covariance is None) == (arrays.covariance is None)


@pytest.mark.parametrize("players", [5, 60])
def test_players_hundreds_of_elo_apart_have_ratings(players: int) -> None:
    steps = {(i, i + 1): (10**6, 0, 1) for i in range(players - 1)}
    fitted = ratings(players, {**steps, (0, players - 1): (1, 0, 0)})
    expected = (players - 1) * 2400
    assert fitted[0].elo - fitted[-1].elo == pytest.approx(expected, rel=1e-3)
    assert math.isfinite(fitted[0].error)
