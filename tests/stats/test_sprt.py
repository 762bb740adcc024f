"""The sequential test: known values, symmetries, and that it ends."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringmaster.stats.elo import NELO
from ringmaster.stats.sprt import Model, Sprt

counts = st.one_of(st.lists(st.integers(0, 100_000), min_size=n, max_size=n) for n in (3, 5))
models = st.sampled_from(["normalized", "logistic"])
elos = st.floats(-500, 500, allow_nan=False)


def test_bounds_are_walds() -> None:
    low, high = Sprt(0, 5, alpha=0.05, beta=0.1).bounds
    assert low == pytest.approx(math.log(0.1 / 0.95))
    assert high == pytest.approx(math.log(0.9 / 0.05))


def test_ratio_of_games_without_draws_is_that_of_a_coin() -> None:
    """Without draws the expected score says all: it is the win rate."""
    wins, losses = 560, 440
    s0, s1 = 0.5, 1 / (1 + 10 ** (-20 / 400))
    expected = wins * math.log(s1 / s0) + losses * math.log((1 - s1) / (1 - s0))
    found = Sprt(0, 20, model="logistic").llr([losses, 0, wins])
    assert found == pytest.approx(expected, abs=1e-3)
    # (s − ½)/√(s(1 − s)) of the same score
    nelo = (s1 - 0.5) / math.sqrt(s1 * (1 - s1)) * NELO
    found = Sprt(0, nelo).llr([losses, 0, wins])
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("model", ["normalized", "logistic"])
def test_ratio_is_near_the_normal_approximation_where_hypotheses_are_near(model: Model) -> None:
    """Van den Bergh, "The generalized SPRT": n(s1 − s0)(2s − s0 − s1)/(2σ²)."""
    results = [310, 2200, 4900, 2300, 330]
    n = sum(results)
    mean = sum(k * c for k, c in enumerate(results)) / 4 / n
    variance = sum(c * (k / 4 - mean) ** 2 for k, c in enumerate(results)) / n
    if model == "logistic":
        s0, s1 = (1 / (1 + 10 ** (-elo / 400)) for elo in (0, 4))
        expected = n * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)
    else:
        t, t1 = (mean - 0.5) / math.sqrt(variance), 4 / NELO * math.sqrt(2)
        expected = n * t1 * (2 * t - t1) / 2
    assert Sprt(0, 4, model=model).llr(results) == pytest.approx(expected, rel=0.01)


@given(counts, elos, elos, models)
def test_ratio_is_finite_whatever_the_results(
    results: list[int], elo0: float, elo1: float, model: Model
) -> None:
    assume(elo0 < elo1)
    assert math.isfinite(Sprt(elo0, elo1, model=model).llr(results))


@given(counts, elos, elos, models)
def test_turning_players_and_hypotheses_round_turns_the_ratio_round(
    results: list[int], elo0: float, elo1: float, model: Model
) -> None:
    assume(elo1 - elo0 > 0.1)
    one = Sprt(elo0, elo1, model=model).llr(results)
    other = Sprt(-elo1, -elo0, model=model).llr(results[::-1])
    assert one == pytest.approx(-other, rel=1e-5, abs=1e-5 * max(1, sum(results) / 1000))


positive = st.one_of(st.lists(st.integers(1, 300), min_size=n, max_size=n) for n in (3, 5))


@given(positive, st.data(), st.floats(-50, 49), models)
def test_ratio_rises_when_a_lost_result_becomes_a_won_one(
    results: list[int], data: st.DataObject, elo0: float, model: Model
) -> None:
    worse = data.draw(st.integers(0, len(results) // 2 - 1))
    better = list(results)
    better[-1 - worse] += 1
    results[worse] += 1
    test = Sprt(elo0, elo0 + 5, model=model)
    assert test.llr(better) > test.llr(results)


@given(positive, st.data(), st.floats(-50, 49))
def test_logistic_ratio_rises_with_every_better_result(
    results: list[int], data: st.DataObject, elo0: float
) -> None:
    place = data.draw(st.integers(0, len(results) - 2))
    better = list(results)
    better[place + 1] += 1
    results[place] += 1
    test = Sprt(elo0, elo0 + 5, model="logistic")
    assert test.llr(better) > test.llr(results)


def games_until_decided(test: Sprt, pattern: list[int]) -> tuple[str, int]:
    """Return what is accepted when results go on in one pattern, and after how many."""
    low, high = 0, 1
    while not test.judge([high * n for n in pattern]):
        low, high = high, 2 * high
        assert high < 1e9, "never decided"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test.judge([middle * n for n in pattern]) else (middle, high)
    return test.judge([high * n for n in pattern]), high * sum(pattern)


@pytest.mark.parametrize("model", ["normalized", "logistic"])
@pytest.mark.parametrize(
    ("pattern", "gain", "no_loss"),
    [
        ([0, 1, 0], "H0", "H1"),
        ([0, 0, 1, 0, 0], "H0", "H1"),
        ([0, 0, 1], "H1", "H1"),
        ([0, 0, 0, 0, 1], "H1", "H1"),
        ([1, 0, 0], "H0", "H0"),
        ([1, 0, 0, 0, 0], "H0", "H0"),
        ([0, 0, 0, 1, 0], "H1", "H1"),
        ([1, 0, 0, 0, 1], "H0", "H1"),
    ],
)
def test_results_that_are_all_alike_are_decided(
    pattern: list[int], gain: str, no_loss: str, model: Model
) -> None:
    for test, expected in ((Sprt(0, 5, model=model), gain), (Sprt(-5, 0, model=model), no_loss)):
        accepted, games = games_until_decided(test, pattern)
        assert accepted == expected
        assert games < 30_000


def test_draws_alone_do_not_decide_between_opposite_hypotheses() -> None:
    assert Sprt(-3, 3).llr([0, 1_000_000, 0]) == pytest.approx(0, abs=1e-3)


def test_nothing_played_is_no_evidence() -> None:
    assert Sprt(0, 5).llr([0, 0, 0]) == 0
    assert Sprt(0, 5).judge([0] * 5) == ""
    assert Sprt(0, 5).remaining(0, 0.0) is None


def test_remaining_results_are_those_that_bring_the_ratio_to_its_bound() -> None:
    test, pattern = Sprt(0, 20), [3, 20, 40, 26, 5]
    half = [3 * n for n in pattern]
    more = test.remaining(sum(half), test.llr(half))
    assert more is not None
    whole = 1 + more / sum(half)
    assert test.llr([round(whole * n) for n in half]) == pytest.approx(test.bounds[1], rel=0.03)
