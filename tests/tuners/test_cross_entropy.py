"""The cross-entropy method: sampling, elites, the step, and that it converges."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.cross_entropy import Distribution, elite_size, ranked

START = Distribution((1.0, -2.0), (4.0, 0.25))


def test_samples_have_the_mean_and_variance_of_the_distribution() -> None:
    samples = [START.sample(1, 0, i) for i in range(4000)]
    for i in range(2):
        column = [s[i] for s in samples]
        spread = math.sqrt(START.variances[i])
        assert statistics.fmean(column) == pytest.approx(START.means[i], abs=4 * spread / 60)
        assert statistics.pvariance(column) == pytest.approx(START.variances[i], rel=0.1)


def test_sample_is_a_function_of_seed_generation_and_number() -> None:
    assert START.sample(1, 2, 3) == START.sample(1, 2, 3)
    others = {START.sample(*key) for key in [(2, 2, 3), (1, 3, 3), (1, 2, 4), (1, 2, 3)]}
    assert len(others) == 4


def test_parameter_without_variance_stays_where_it_is() -> None:
    fixed = Distribution((5.0,), (0.0,))
    assert fixed.sample(1, 0, 0) == (5.0,)
    assert fixed.update([fixed.sample(1, 0, i) for i in range(3)], 0.5).variances == (0.0,)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.floats(0.01, 1),
    st.floats(-1e6, 1e6),
    st.floats(0, 1e6),
)
def test_update_is_that_of_the_paper_with_the_biased_variance(
    elite: list[float], step: float, mean: float, variance: float
) -> None:
    after = Distribution((mean,), (variance,)).update([(x,) for x in elite], step)
    expected = step * statistics.fmean(elite) + (1 - step) * mean
    assert after.means[0] == pytest.approx(expected, rel=1e-9, abs=1e-6)
    spread = step * statistics.pvariance(elite) + (1 - step) * variance
    assert after.variances[0] == pytest.approx(spread, rel=1e-6, abs=1e-6)
    assert after.variances[0] >= 0


@pytest.mark.parametrize(
    ("proportion", "samples", "size"), [(0.1, 100, 10), (0.1, 4, 1), (0.25, 10, 3), (1.0, 7, 7)]
)
def test_elite_is_the_nearest_whole_number_but_never_none(
    proportion: float, samples: int, size: int
) -> None:
    assert elite_size(proportion, samples) == size


def test_ranking_puts_most_points_first_and_equals_in_order() -> None:
    assert ranked([1.0, 3.0, 2.5, 3.0]) == [1, 3, 2, 0]


def test_distribution_moves_to_the_optimum_of_a_noiseless_function() -> None:
    distribution = Distribution((0.0, 0.0), (4.0, 4.0))
    for generation in range(20):
        samples = [distribution.sample(3, generation, i) for i in range(100)]
        worth = [-((x - 2) ** 2) - (y + 1) ** 2 for x, y in samples]
        elite = [samples[i] for i in ranked(worth)[:10]]
        distribution = distribution.update(elite, 0.8)
    assert distribution.means == pytest.approx((2.0, -1.0), abs=0.05)
    assert max(distribution.variances) < 0.01
