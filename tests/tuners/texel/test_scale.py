"""The fit of the win-rate scale: against a dense search, over shards, and what cannot be fitted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.tuners.texel.loss import Array, Loss, LossKind
from ringmaster.tuners.texel.scale import (
    HIGHEST,
    LOWEST,
    ScoreHistogram,
    fit_scale,
    golden_section,
    k_of,
)


def played(scale: float, count: int, seed: int = 0, spread: float = 1.5) -> tuple[Array, Array]:
    """Return scores in whole centipawns and results that have this scale."""
    rng = np.random.default_rng(seed)
    scores = np.rint(rng.normal(0, spread * scale, count))
    return scores, (rng.random(count) < 1 / (1 + np.exp(-scores / scale))).astype(float)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from([60.0, 120.0, 300.0, 600.0]), st.integers(0, 1000), st.booleans())
def test_no_other_scale_has_a_smaller_loss(scale: float, seed: int, squared: bool) -> None:
    kind: LossKind = "squared" if squared else "cross_entropy"
    scores, results = played(scale, 3000, seed)
    fit = fit_scale(scores, results, np.ones(3000), kind)
    assert fit.error == pytest.approx(Loss(kind, fit.scale).values(scores, results).mean())
    assert fit.scale == pytest.approx(scale, rel=0.25)
    assert not fit.warning
    for other in fit.scale * np.array([0.5, 0.9, 0.999, 1.001, 1.1, 2.0]):
        assert Loss(kind, other).values(scores, results).mean() >= fit.error


def test_fit_over_shards_is_that_over_all() -> None:
    scores, results = played(150, 5000)
    weights = np.random.default_rng(1).integers(0, 4, 5000).astype(float)
    histogram = ScoreHistogram()
    for s in range(7):
        histogram.add(scores[s::7], results[s::7], weights[s::7])
    whole = fit_scale(scores, results, weights)
    assert histogram.fit().scale == pytest.approx(whole.scale, rel=1e-7)
    repeated = np.repeat(np.arange(5000), weights.astype(int))
    again = fit_scale(scores[repeated], results[repeated], np.ones(len(repeated)))
    assert whole.scale == pytest.approx(again.scale, rel=1e-6)


def test_scores_that_are_not_whole_lose_almost_nothing_in_the_bins() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(0, 150, 20_000)
    results = (rng.random(20_000) < 1 / (1 + np.exp(-scores / 100))).astype(float)
    fit = fit_scale(scores, results, np.ones(20_000))
    exact = golden_section(
        lambda x: float(Loss("squared", math.exp(x)).values(scores, results).mean()), 4.0, 5.5
    )
    assert fit.scale == pytest.approx(math.exp(exact), rel=1e-4)


def test_positions_without_score_or_result_are_left_out() -> None:
    scores, results = played(150, 4000)
    whole = fit_scale(scores, results, np.ones(4000))
    more = fit_scale(
        np.r_[scores, np.nan, 100, 100], np.r_[results, 1, np.nan, 0], np.r_[np.ones(4002), 0]
    )
    assert more == whole


def test_scale_at_an_end_is_found_with_a_warning() -> None:
    scores, results = played(150, 4000)
    low = fit_scale(scores / 1000, results, np.ones(4000))
    assert low.scale == pytest.approx(LOWEST, rel=0.02)
    assert "at an end" in low.warning
    assert "the least" in low.warning
    # certain of everything, and right in 51 of 100
    high = fit_scale(10_000 * np.sign(scores), 0.5 + 0.01 * np.sign(scores), np.ones(4000))
    assert high.scale == pytest.approx(HIGHEST, rel=0.02)
    assert "the largest" in high.warning


@pytest.mark.parametrize("result", [0.0, 0.5, 1.0])
def test_equal_results_are_an_error(result: float) -> None:
    scores, _ = played(150, 100)
    with pytest.raises(ValueError, match=f"all results are {result:g}"):
        fit_scale(scores, np.full(100, result), np.ones(100))


def test_scores_from_the_wrong_side_are_an_error_that_says_so() -> None:
    scores, results = played(150, 1000)
    with pytest.raises(ValueError, match=r"opposite of the results.*score_pov"):
        fit_scale(-scores, results, np.ones(1000))


def test_scores_that_say_nothing_are_an_error() -> None:
    rng = np.random.default_rng(3)
    results = rng.choice([0.0, 1.0], 2000)
    with pytest.raises(ValueError, match="nothing to do with the results"):
        fit_scale(rng.normal(0, 100, 2000), results, np.ones(2000))
    with pytest.raises(ValueError, match="nothing to do with the results"):
        fit_scale(np.zeros(2000), results, np.ones(2000))


def test_nothing_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="no position has teacher's scores and a result"):
        ScoreHistogram().fit(what="teacher's scores")


def test_k_is_what_the_field_calls_it() -> None:
    assert k_of(173.7178) == pytest.approx(1.0)
    assert k_of(k_of(150.0)) == pytest.approx(150.0)


@given(st.floats(-5, 5), st.floats(0.1, 10))
def test_golden_section_finds_a_minimum_between_the_ends_or_at_one(at: float, steep: float) -> None:
    found = golden_section(lambda x: steep * abs(x - at) ** 1.5, -3.0, 3.0)
    assert found == pytest.approx(min(max(at, -3.0), 3.0), abs=1e-5)
