"""Estimates of all trials together."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from ringmaster.errors import RingmasterError
from ringmaster.tuners.search import surrogate as module
from ringmaster.tuners.search.space import Dimension, Space, Values
from ringmaster.tuners.search.surrogate import Surrogate, scores_with_variances
from tests.requirements import package

package("sklearn")
pytestmark = pytest.mark.optional

X = Dimension("x", 50, 0, 100, integer=True)
IDLE = Dimension("idle", 50, 0, 100, integer=True)
STYLE = Dimension("style", 0, 0, 1, integer=True, choices=True)
RISK = Dimension("risk", 2, 1, 9, log=True, only_if=((1, (1,)),))
#: Values of a trial, and its pairs by score.
Trial = tuple[Values, tuple[int, ...]]


def trial(values: Values, score: float, pairs: int = 20) -> Trial:
    """Return a trial with only wins and losses of pairs."""
    won = round(score * pairs)
    return tuple(values), (pairs - won, 0, 0, 0, won)


def posterior(trials: Sequence[Trial], *dimensions: Dimension) -> Surrogate:
    values, counts = zip(*trials, strict=True)
    return Surrogate(Space(dimensions or (X, IDLE)), values, counts)


def hill(count: int) -> list[Trial]:
    """Return lucky and unlucky trials; the best x is 70."""
    rng = random.Random(4)
    trials = []
    for _ in range(count):
        x, idle = rng.randint(0, 100), rng.randint(0, 100)
        score = 0.55 - ((x - 70) / 100) ** 2
        won = sum(rng.random() < score for _ in range(20))
        trials.append(trial([x, idle], won / 20))
    return trials


def test_best_trial_is_near_the_optimum_and_not_the_luckiest() -> None:
    trials = hill(100)
    surrogate = posterior(trials)
    best = trials[surrogate.rows[surrogate.best]]
    luckiest = max(won / 20 for _, (*_, won) in trials)
    assert abs((best[0][0] or 0) - 70) < 15
    assert surrogate.estimates[surrogate.best].score < luckiest - 0.1


def test_estimate_of_one_trial_is_between_its_score_and_those_of_similar_trials() -> None:
    trials = [trial([50, 50], 0.5) for _ in range(9)] + [trial([50, 50], 0.9)]
    estimates = posterior(trials).estimates
    assert 0.5 < estimates[-1].score < 0.6
    # equal values have equal estimates
    assert estimates[0].score == pytest.approx(estimates[-1].score, abs=1e-6)


def test_known_score_is_its_own_estimate() -> None:
    trials = [((50, 50), (0, 0, 0, 0, 0)), trial([90, 10], 0.9)]
    estimate = posterior(trials).estimates[0]
    assert estimate.score == pytest.approx(0.5, abs=1e-3)
    assert estimate.deviation < 1e-3


def test_estimates_are_scores() -> None:
    trials = [trial([x, 50], score) for x, score in ((0, 0.0), (1, 0.0), (99, 1.0), (100, 1.0))]
    for estimate in posterior(trials).estimates:
        assert 0 <= estimate.score <= 1


def test_important_parameter_has_the_larger_share() -> None:
    importance = posterior(hill(60)).importance()
    assert importance["x"] > 0.7 > 0.3 > importance["idle"]


def test_importance_is_unknown_while_candidates_may_be_equal() -> None:
    rng = random.Random(1)
    trials = [trial([rng.randint(0, 100), 50], rng.choice([0.4, 0.5, 0.6])) for _ in range(20)]
    assert posterior(trials).importance() == {}


def test_only_the_start_and_the_latest_trials_make_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    assert posterior(hill(20)).rows == [0, 16, 17, 18, 19]


def test_variance_of_chance_comes_from_results_within_trials() -> None:
    _, draws = scores_with_variances(np.array([[0, 0, 1000, 0, 0]]))
    _, decided = scores_with_variances(np.array([[500, 0, 0, 0, 500]]))
    assert 1000 * draws[0] < 0.002
    assert 1000 * decided[0] == pytest.approx(0.25, abs=0.01)


def test_known_score_has_no_variance() -> None:
    scores, variances = scores_with_variances(np.array([[0, 0, 0, 0, 0], [0, 0, 5, 0, 5]]))
    assert scores.tolist() == [0.5, 0.75]
    assert variances[0] == 0 < variances[1]


def test_better_choice_is_the_best_and_the_important_parameter() -> None:
    rng = random.Random(2)
    trials = []
    for _ in range(60):
        style = rng.randint(0, 1)
        risk = rng.uniform(1, 9) if style else None
        won = sum(rng.random() < (0.7 if style else 0.4) for _ in range(20))
        trials.append(trial([rng.randint(0, 100), style, risk], won / 20))
    surrogate = posterior(trials, X, STYLE, RISK)
    assert trials[surrogate.best][0][1] == 1
    importance = surrogate.importance()
    assert importance["style"] > 0.7 > 0.3 > max(importance["x"], importance["risk"])


def test_only_parameter_has_all_importance() -> None:
    rng = random.Random(3)
    trials = [trial([x], 0.2 + 0.6 * x / 100) for x in (rng.randint(0, 100) for _ in range(30))]
    assert posterior(trials, X).importance() == {"x": pytest.approx(1, abs=0.15)}


def test_intervals_hold_the_true_scores_and_luck_does_not_choose() -> None:
    held, regret, luckiest_regret = [], 0.0, 0.0
    for seed in range(20):
        rng = random.Random(seed)
        trials, truth = [], []
        for _ in range(60):
            x, idle = rng.randint(0, 100), rng.randint(0, 100)
            truth.append(0.55 - 0.4 * ((x - 70) / 100) ** 2 - 0.2 * ((idle - 30) / 100) ** 2)
            won = sum(rng.random() < truth[-1] for _ in range(20))
            trials.append(trial([x, idle], won / 20))
        surrogate = posterior(trials)
        for score, estimate in zip(truth, surrogate.estimates, strict=True):
            held.append(abs(score - estimate.score) < 1.96 * estimate.deviation)
        luckiest = max(range(60), key=lambda i: trials[i][1][-1])
        regret += (max(truth) - truth[surrogate.best]) / 20
        luckiest_regret += (max(truth) - truth[luckiest]) / 20
    assert sum(held) / len(held) > 0.9
    assert regret < luckiest_regret / 2


def test_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.gaussian_process", None)
    with pytest.raises(RingmasterError, match=r"scikit-learn.*pip install '.*\[tuners\]'"):
        posterior(hill(10))
