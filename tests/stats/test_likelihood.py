"""Best fits under a hypothesis, against SciPy's general solvers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from ringmaster.stats.likelihood import (
    fit_normalised,
    fit_score,
    log_likelihood,
    scores,
    shares,
)

number = st.one_of(st.sampled_from([0, 0, 1]), st.integers(0, 10_000), st.integers(0, 10_000_000))
counts = st.one_of(st.lists(number, min_size=n, max_size=n).filter(any) for n in (3, 5))


def moments(p: Sequence[float]) -> tuple[float, float]:
    worth = scores(len(p))
    mean = math.fsum(q * a for q, a in zip(p, worth, strict=True))
    variance = math.fsum(q * (a - mean) ** 2 for q, a in zip(p, worth, strict=True))
    return mean, math.sqrt(variance)


@given(counts, st.floats(0.06, 0.94))
def test_fit_has_the_expected_score_asked_for(seen: list[int], score: float) -> None:
    p = fit_score(shares(seen), score)
    assert sum(p) == pytest.approx(1, abs=1e-12)
    assert moments(p)[0] == pytest.approx(score, abs=1e-12)


@given(counts, st.floats(-1.3, 1.3))
def test_fit_has_the_normalised_score_asked_for(seen: list[int], t: float) -> None:
    p = fit_normalised(shares(seen), t)
    mean, deviation = moments(p)
    assert sum(p) == pytest.approx(1, abs=1e-12)
    assert mean - 0.5 == pytest.approx(t * deviation, abs=1e-9)


@pytest.mark.parametrize("t", [-0.02, 0.0003, 0.06])
def test_fit_of_very_many_results_all_alike_is_won_and_lost_alone(t: float) -> None:
    """Of two results, 0 and 1, p = ½ + t/(2√(1 + t²)) is the share that has t."""
    p = fit_normalised(shares([0, 0, 3_000_000]), t)
    assert p[2] == pytest.approx(0.5 + t / 2 / math.sqrt(1 + t * t), abs=1e-6)
    assert p[1] == pytest.approx(0, abs=1e-6)


def test_fit_of_a_score_is_where_scipy_finds_the_multiplier() -> None:
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
def test_no_general_solver_finds_a_likelier_fit(results: list[int], t: float) -> None:
    seen = shares(results)
    worth = np.array(scores(len(seen)))

    def off(x: np.ndarray) -> float:
        mean = float(x @ worth)
        return mean - 0.5 - t * math.sqrt(max(1e-18, float(x @ worth**2) - mean**2))

    found = log_likelihood(seen, fit_normalised(seen, t))
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
            assert -solution.fun <= found + 1e-6


def test_results_that_fit_already_are_left_as_they_are() -> None:
    seen = shares([10, 20, 40, 20, 10])
    assert fit_score(seen, 0.5) == pytest.approx(seen)
    assert fit_normalised(seen, 0.0) == pytest.approx(seen)
