"""The sequential test: known values, symmetries, and that it ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from ringmaster.stats.elo import NELO
from ringmaster.stats.sprt import (
    Model,
    Sprt,
    fit_normalised,
    fit_score,
    log_likelihood,
    scores,
    shares,
)

number = st.one_of(st.sampled_from([0, 0, 1]), st.integers(0, 10_000), st.integers(0, 10_000_000))
result_counts = st.one_of(st.lists(number, min_size=n, max_size=n).filter(any) for n in (3, 5))


def moments(p: Sequence[float]) -> tuple[float, float]:
    worth = scores(len(p))
    mean = math.fsum(q * a for q, a in zip(p, worth, strict=True))
    variance = math.fsum(q * (a - mean) ** 2 for q, a in zip(p, worth, strict=True))
    return mean, math.sqrt(variance)


@given(result_counts, st.floats(0.06, 0.94))
def test_fit_has_the_required_expected_score(seen: list[int], score: float) -> None:
    p = fit_score(shares(seen), score)
    assert sum(p) == pytest.approx(1, abs=1e-12)
    assert moments(p)[0] == pytest.approx(score, abs=1e-12)


@given(result_counts, st.floats(-1.3, 1.3))
def test_fit_has_the_required_normalised_score(seen: list[int], t: float) -> None:
    p = fit_normalised(shares(seen), t)
    mean, deviation = moments(p)
    assert sum(p) == pytest.approx(1, abs=1e-12)
    assert mean - 0.5 == pytest.approx(t * deviation, abs=1e-9)


@pytest.mark.parametrize("t", [-0.02, 0.0003, 0.06])
def test_fit_of_many_equal_results_has_only_wins_and_losses(t: float) -> None:
    """Of two results, 0 and 1, p = ½ + t/(2√(1 + t²)) is the share that has t."""
    p = fit_normalised(shares([0, 0, 3_000_000]), t)
    assert p[2] == pytest.approx(0.5 + t / 2 / math.sqrt(1 + t * t), abs=1e-6)
    assert p[1] == pytest.approx(0, abs=1e-6)


def test_fit_of_a_score_agrees_with_scipys_multiplier() -> None:
    seen, score = shares([13, 40, 21, 7, 4]), 0.53
    slopes = [a - score for a in scores(5)]

    def mean(theta: float) -> float:
        return sum(q * b / (1 + theta * b) for q, b in zip(seen, slopes, strict=True))

    theta = brentq(mean, -1 / max(slopes) + 1e-9, -1 / min(slopes) - 1e-9, xtol=1e-14)
    expected = [q / (1 + theta * b) for q, b in zip(seen, slopes, strict=True)]
    assert fit_score(seen, score) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("results", "t"),
    [
        ([200, 500, 300], 0.02),
        ([3, 40, 120, 50, 5], 0.02),
        ([3, 40, 120, 50, 5], -0.4),
        # nearly all alike: there is a worse best fit nearby
        ([6, 0, 5000, 0, 0], 0.05),
        ([50, 0, 5000, 0, 0], 0.2),
        ([500, 500, 5000, 1, 6], 0.8),
    ],
)
def test_no_general_solver_finds_a_better_fit(results: list[int], t: float) -> None:
    seen = shares(results)
    worth = np.array(scores(len(seen)))

    def off(x: np.ndarray) -> float:
        mean = float(x @ worth)
        return mean - 0.5 - t * math.sqrt(max(1e-18, float(x @ worth**2) - mean**2))

    value = log_likelihood(seen, fit_normalised(seen, t))
    rng = np.random.default_rng(0)
    for _ in range(6):
        solution = minimize(
            lambda x: -float(np.dot(seen, np.log(x))),
            rng.dirichlet(np.ones(len(seen))).clip(1e-6, 1),
            bounds=[(1e-9, 1)] * len(seen),
            constraints=[
                {"type": "eq", "fun": lambda x: float(x.sum()) - 1},
                {"type": "eq", "fun": off},
            ],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        if solution.success and abs(off(solution.x)) < 1e-8:
            assert -solution.fun <= value + 1e-6


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
    value = Sprt(0, 20, model="logistic").llr([losses, 0, wins])
    assert value == pytest.approx(expected, abs=1e-3)
    # (s − ½)/√(s(1 − s)) of the same score
    nelo = (s1 - 0.5) / math.sqrt(s1 * (1 - s1)) * NELO
    value = Sprt(0, nelo).llr([losses, 0, wins])
    assert value == pytest.approx(expected, abs=2e-3)


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
def test_ratio_is_always_finite(results: list[int], elo0: float, elo1: float, model: Model) -> None:
    assume(elo0 < elo1)
    assert math.isfinite(Sprt(elo0, elo1, model=model).llr(results))


@given(counts, elos, elos, models)
def test_exchanging_players_and_hypotheses_negates_the_ratio(
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
def test_equal_results_are_decided(
    pattern: list[int], gain: str, no_loss: str, model: Model
) -> None:
    for test, expected in ((Sprt(0, 5, model=model), gain), (Sprt(-5, 0, model=model), no_loss)):
        accepted, games = games_until_decided(test, pattern)
        assert accepted == expected
        assert games < 30_000


def test_draws_alone_do_not_decide_between_opposite_hypotheses() -> None:
    assert Sprt(-3, 3).llr([0, 1_000_000, 0]) == pytest.approx(0, abs=1e-3)


def test_no_results_are_no_evidence() -> None:
    assert Sprt(0, 5).llr([0, 0, 0]) == 0
    assert Sprt(0, 5).judge([0] * 5) == ""
    assert Sprt(0, 5).remaining(0, 0.0) is None


def test_remaining_results_bring_the_ratio_to_its_bound() -> None:
    test, pattern = Sprt(0, 20), [3, 20, 40, 26, 5]
    half = [3 * n for n in pattern]
    more = test.remaining(sum(half), test.llr(half))
    assert more is not None
    whole = 1 + more / sum(half)
    assert test.llr([round(whole * n) for n in half]) == pytest.approx(test.bounds[1], rel=0.03)
