"""Elo estimates against values worked out by hand and by simulation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.stats.elo import elo_of_score, from_games, from_pairs


def test_even_score_is_no_difference() -> None:
    assert elo_of_score(0.5) == 0
    assert elo_of_score(10 / 11) == pytest.approx(400)


def test_games_of_a_known_match() -> None:
    # 60 wins, 20 draws, 20 losses: score 0.7, variance of one game 0.16
    estimate = from_games(60, 20, 20)
    assert estimate.elo == pytest.approx(147.19, abs=0.01)
    deviation = 0.04
    assert estimate.low == pytest.approx(elo_of_score(0.7 - 1.959964 * deviation), abs=1e-3)
    assert estimate.high == pytest.approx(elo_of_score(0.7 + 1.959964 * deviation), abs=1e-3)


def test_pairs_that_always_split_have_a_smaller_error_than_games() -> None:
    games = from_games(50, 0, 50)
    pairs = from_pairs([1, 0, 48, 0, 1])
    assert pairs.elo == games.elo == 0
    assert pairs.error < games.error / 3


def test_nothing_played_says_so() -> None:
    assert str(from_games(0, 0, 0)) == "no games"
    assert from_pairs([0] * 5).los == 0.5


def test_clean_sweep_has_no_bounds() -> None:
    estimate = from_games(5, 0, 0)
    assert math.isinf(estimate.elo)
    assert str(estimate) == "Elo not known yet (too few games, or all alike)"


def test_two_or_three_games_claim_nothing() -> None:
    assert from_games(1, 1, 0).los == 0.5
    assert "not known yet" in str(from_pairs([0, 1, 0, 1, 0]))


def test_even_score_is_not_printed_as_minus_zero() -> None:
    assert str(from_games(5, 2, 5)).startswith("+0.0 ± ")


def test_open_interval_still_tells_its_other_end() -> None:
    assert str(from_games(9, 0, 1)).startswith("at least +")
    assert str(from_games(1, 0, 9)).startswith("at most -")


def test_only_draws_do_not_claim_certainty() -> None:
    estimate = from_games(0, 10, 0)
    assert estimate.los == 0.5
    assert math.isinf(estimate.error)


@given(st.lists(st.integers(0, 50), min_size=5, max_size=5))
def test_turning_a_match_round_turns_the_estimate_round(counts: list[int]) -> None:
    one, other = from_pairs(counts), from_pairs(counts[::-1])
    assert one.elo == pytest.approx(-other.elo)
    assert one.los == pytest.approx(1 - other.los)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_interval_holds_the_estimate(wins: int, draws: int, losses: int) -> None:
    estimate = from_games(wins, draws, losses)
    assert estimate.low <= estimate.elo <= estimate.high
