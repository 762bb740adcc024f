"""Losses against finite differences and against plain formulas, and where exponentials overflow."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ringmaster.tuners.texel.loss import (
    HIGHEST,
    LOWEST,
    Array,
    Fit,
    Loss,
    LossKind,
    ScoreHistogram,
    Sum,
    entropy,
    mean,
    sigmoid,
)

SCORES = st.floats(-1500, 1500)
TARGETS = st.floats(0, 1)
SCALES = st.floats(40, 800)
KINDS = st.sampled_from(["squared", "cross_entropy"])


def one(value: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([value])


@given(KINDS, SCALES, SCORES, TARGETS)
def test_slope_is_the_difference_quotient_of_the_loss(
    kind: LossKind, scale: float, score: float, target: float
) -> None:
    loss, h = Loss(kind, scale), 1e-3 * scale
    difference = loss.values(one(score + h), one(target)) - loss.values(one(score - h), one(target))
    slope = loss.slope(one(score), one(target))
    assert slope[0] == pytest.approx(difference[0] / (2 * h), rel=1e-4, abs=1e-9 / scale)


@given(SCALES, SCORES, TARGETS)
def test_curvature_of_the_cross_entropy_is_the_difference_quotient_of_its_slope(
    scale: float, score: float, target: float
) -> None:
    loss, h = Loss("cross_entropy", scale), 1e-3 * scale
    difference = loss.slope(one(score + h), one(target)) - loss.slope(one(score - h), one(target))
    actual = loss.curvature(one(score))[0]
    assert actual == pytest.approx(difference[0] / (2 * h), rel=1e-4, abs=1e-9 / scale**2)


@given(SCALES, SCORES)
def test_curvature_of_the_squared_error_is_exact_where_the_target_is_met(
    scale: float, score: float
) -> None:
    loss, h = Loss("squared", scale), 1e-3 * scale
    target = sigmoid(one(score) / scale)
    difference = loss.slope(one(score + h), target) - loss.slope(one(score - h), target)
    actual = loss.curvature(one(score))[0]
    assert actual == pytest.approx(difference[0] / (2 * h), rel=1e-3, abs=1e-9 / scale**2)


@given(SCALES, st.floats(-800, 800), TARGETS)
def test_losses_equal_the_plain_formulas(scale: float, score: float, target: float) -> None:
    p = 1 / (1 + math.exp(-score / scale))
    assert Loss("squared", scale).values(one(score), one(target))[0] == pytest.approx(
        (target - p) ** 2, abs=1e-12
    )
    if 1e-6 < p < 1 - 1e-6:
        plain = -target * math.log(p) - (1 - target) * math.log(1 - p)
        actual = Loss("cross_entropy", scale).values(one(score), one(target))[0]
        assert actual == pytest.approx(plain, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("score", [-1e9, -10_000.0, 10_000.0, 1e9])
@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["squared", "cross_entropy"])
def test_nothing_overflows_however_large_a_score(
    kind: LossKind, score: float, target: float
) -> None:
    loss = Loss(kind, 5.0)
    value, slope = loss.values(one(score), one(target)), loss.slope(one(score), one(target))
    assert np.isfinite([value, slope, loss.curvature(one(score))]).all()
    right = (score > 0) == (target == 1)
    if kind == "cross_entropy":
        assert value[0] == pytest.approx(0 if right else abs(score) / 5)
    else:
        assert value[0] == pytest.approx(0 if right else 1)


@given(SCALES, SCORES, TARGETS)
def test_cross_entropy_is_least_at_the_entropy_of_its_target(
    scale: float, score: float, target: float
) -> None:
    assert Loss("cross_entropy", scale).values(one(score), one(target))[0] >= (
        entropy(one(target))[0] - 1e-12
    )


def test_positions_of_no_weight_may_have_no_score() -> None:
    scores = np.array([10.0, np.nan, -30.0], dtype=np.float32)
    target = np.array([1.0, np.nan, 0.5], dtype=np.float32)
    weight = np.array([2.0, 0.0, 1.0], dtype=np.float32)
    loss = Loss("squared", 100)
    each = loss.values(scores[[0, 2]], target[[0, 2]])
    assert loss.total(scores, target, weight) == pytest.approx((2 * each[0] + each[1], 3))


def test_missing_score_of_a_weighted_position_gives_nan() -> None:
    actual = Loss("squared", 100).total(one(np.nan), one(1.0), one(1.0))
    assert math.isnan(actual.loss)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0.001, 1e6)), min_size=1), st.randoms())
def test_mean_does_not_depend_on_the_order_of_shards(
    parts: list[tuple[float, float]], rng: random.Random
) -> None:
    sums = [Sum(*part) for part in parts]
    shuffled = sums[:]
    rng.shuffle(shuffled)
    assert mean(sums) == mean(shuffled)


def fit_scale(scores: Array, labels: Array, weights: Array, kind: LossKind = "squared") -> Fit:
    histogram = ScoreHistogram()
    histogram.add(scores, labels, weights, np.arange(len(scores), dtype=np.uint32))
    return histogram.fit(kind)


def played(scale: float, count: int, seed: int = 0, spread: float = 1.5) -> tuple[Array, Array]:
    """Return scores in whole centipawns, and results of this win-rate scale."""
    rng = np.random.default_rng(seed)
    scores = np.rint(rng.normal(0, spread * scale, count))
    return scores, (rng.random(count) < 1 / (1 + np.exp(-scores / scale))).astype(float)


@settings(deadline=None)
@given(st.sampled_from([60.0, 120.0, 300.0, 600.0]), st.integers(0, 1000), st.booleans())
def test_no_other_scale_has_a_smaller_loss(scale: float, seed: int, squared: bool) -> None:
    kind: LossKind = "squared" if squared else "cross_entropy"
    scores, results = played(scale, 3000, seed)
    fit = fit_scale(scores, results, np.ones(3000), kind)
    error = Loss(kind, fit.scale).values(scores, results).mean()
    assert fit.scale == pytest.approx(scale, rel=0.25)
    assert not fit.warning
    for other in fit.scale * np.array([0.5, 0.9, 0.999, 1.001, 1.1, 2.0]):
        assert Loss(kind, other).values(scores, results).mean() >= error - 1e-15


def test_shards_give_the_same_fit_as_all_positions_together() -> None:
    scores, results = played(150, 5000)
    weights = np.random.default_rng(1).integers(0, 4, 5000).astype(float)
    histogram = ScoreHistogram()
    games = np.arange(5000, dtype=np.uint32)
    for s in range(7):
        histogram.add(scores[s::7], results[s::7], weights[s::7], games[s::7])
    whole = fit_scale(scores, results, weights)
    assert histogram.fit().scale == pytest.approx(whole.scale, rel=1e-7)
    repeated = np.repeat(np.arange(5000), weights.astype(int))
    again = fit_scale(scores[repeated], results[repeated], np.ones(len(repeated)))
    assert whole.scale == pytest.approx(again.scale, rel=1e-6)


def test_bins_hardly_change_the_fit_of_fractional_scores() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(0, 150, 20_000)
    results = (rng.random(20_000) < 1 / (1 + np.exp(-scores / 100))).astype(float)
    fit = fit_scale(scores, results, np.ones(20_000))
    exact = minimize_scalar(
        lambda x: float(Loss("squared", math.exp(x)).values(scores, results).mean()),
        bounds=(4.0, 5.5),
        options={"xatol": 1e-9},
    )
    assert fit.scale == pytest.approx(math.exp(exact.x), rel=1e-4)


def test_positions_without_score_or_result_are_left_out() -> None:
    scores, results = played(150, 4000)
    whole = fit_scale(scores, results, np.ones(4000))
    more = fit_scale(
        np.r_[scores, np.nan, 100, 100], np.r_[results, 1, np.nan, 0], np.r_[np.ones(4002), 0]
    )
    assert more == whole


def test_scale_at_an_end_of_its_range_has_a_warning() -> None:
    scores, results = played(150, 4000)
    low = fit_scale(scores / 1000, results, np.ones(4000))
    assert low.scale == pytest.approx(LOWEST, rel=0.02)
    assert "at an end" in low.warning
    assert "the smallest" in low.warning
    # large scores, right in 51 of 100
    high = fit_scale(10_000 * np.sign(scores), 0.5 + 0.01 * np.sign(scores), np.ones(4000))
    assert high.scale == pytest.approx(HIGHEST, rel=0.02)
    assert "the largest" in high.warning


@pytest.mark.parametrize("result", [0.0, 0.5, 1.0])
def test_equal_results_are_an_error(result: float) -> None:
    scores, _ = played(150, 100)
    with pytest.raises(ValueError, match=f"all results are {result:g}"):
        fit_scale(scores, np.full(100, result), np.ones(100))


def test_scores_of_the_wrong_side_are_an_error() -> None:
    scores, results = played(150, 1000)
    with pytest.raises(ValueError, match=r"contradict the results.*score_pov"):
        fit_scale(-scores, results, np.ones(1000))


def test_scores_without_correlation_are_an_error() -> None:
    rng = np.random.default_rng(3)
    results = rng.choice([0.0, 1.0], 2000)
    with pytest.raises(ValueError, match="do not correlate with the results"):
        fit_scale(rng.normal(0, 100, 2000), results, np.ones(2000))
    with pytest.raises(ValueError, match="do not correlate with the results"):
        fit_scale(np.zeros(2000), results, np.ones(2000))


@pytest.mark.parametrize("seed", range(10))
def test_results_of_other_games_are_an_error(seed: int) -> None:
    # positions of a game have similar scores and one result
    rng = np.random.default_rng(seed)
    scores = np.repeat(rng.normal(0, 200, 100), 60) + rng.normal(0, 100, 6000)
    games = np.repeat(np.arange(100, dtype=np.uint32), 60)
    results = np.repeat(rng.choice([0.0, 1.0], 100), 60)
    histogram = ScoreHistogram()
    histogram.add(scores, results, np.ones(6000), games)
    with pytest.raises(ValueError, match="do not correlate with the results"):
        histogram.fit()
