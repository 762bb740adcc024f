"""Losses against finite differences and against plain formulas, and where exponentials overflow."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.texel.loss import Loss, LossKind, Sum, entropy, mean

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
    found = loss.curvature(one(score))[0]
    assert found == pytest.approx(difference[0] / (2 * h), rel=1e-4, abs=1e-9 / scale**2)


@given(SCALES, SCORES)
def test_curvature_of_the_squared_error_is_exact_where_the_target_is_met(
    scale: float, score: float
) -> None:
    loss, h = Loss("squared", scale), 1e-3 * scale
    target = loss.probability(one(score))
    difference = loss.slope(one(score + h), target) - loss.slope(one(score - h), target)
    found = loss.curvature(one(score))[0]
    assert found == pytest.approx(difference[0] / (2 * h), rel=1e-3, abs=1e-9 / scale**2)


@given(SCALES, st.floats(-800, 800), TARGETS)
def test_losses_are_what_the_plain_formulas_give(scale: float, score: float, target: float) -> None:
    p = 1 / (1 + math.exp(-score / scale))
    assert Loss("squared", scale).values(one(score), one(target))[0] == pytest.approx(
        (target - p) ** 2, abs=1e-12
    )
    if 1e-6 < p < 1 - 1e-6:
        plain = -target * math.log(p) - (1 - target) * math.log(1 - p)
        found = Loss("cross_entropy", scale).values(one(score), one(target))[0]
        assert found == pytest.approx(plain, rel=1e-6, abs=1e-9)


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


def test_entropy_is_none_where_all_is_certain_and_ln_2_at_even_odds() -> None:
    assert entropy(np.array([0.0, 1.0, 0.5])).tolist() == [0, 0, pytest.approx(math.log(2))]


def test_positions_of_no_weight_may_have_no_score() -> None:
    scores = np.array([10.0, np.nan, -30.0], dtype=np.float32)
    target = np.array([1.0, np.nan, 0.5], dtype=np.float32)
    weight = np.array([2.0, 0.0, 1.0], dtype=np.float32)
    loss = Loss("squared", 100)
    each = loss.values(scores[[0, 2]], target[[0, 2]])
    assert loss.total(scores, target, weight) == pytest.approx((2 * each[0] + each[1], 3))


def test_score_that_is_missing_from_a_position_that_counts_is_not_hidden() -> None:
    found = Loss("squared", 100).total(one(np.nan), one(1.0), one(1.0))
    assert math.isnan(found.loss)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0.001, 1e6)), min_size=1), st.randoms())
def test_mean_does_not_depend_on_the_order_of_shards(
    parts: list[tuple[float, float]], rng: random.Random
) -> None:
    sums = [Sum(*part) for part in parts]
    shuffled = sums[:]
    rng.shuffle(shuffled)
    assert mean(sums) == mean(shuffled)


def test_mean_of_nothing_is_none() -> None:
    assert mean([]) is None
    assert mean([Sum(), Sum()]) is None
