"""Estimates of all trials together."""

from __future__ import annotations

import random

import pytest

from ringmaster.tuners.search import surrogate as module
from ringmaster.tuners.search.space import Dimension, Space
from ringmaster.tuners.search.surrogate import Observation, Surrogate, pair_variance

X = Dimension("x", 50, 0, 100, integer=True)
IDLE = Dimension("idle", 50, 0, 100, integer=True)
STYLE = Dimension("style", 0, 0, 1, integer=True, choices=True)
RISK = Dimension("risk", 2, 1, 9, log=True, only_if=((1, (1,)),))


def observation(values: list[float], score: float, pairs: int = 20) -> Observation:
    """Return a trial with only wins and losses of pairs."""
    won = round(score * pairs)
    return Observation(tuple(values), won / pairs, (pairs - won, 0, 0, 0, won))


def hill(count: int) -> list[Observation]:
    """Return lucky and unlucky trials; the best x is 70."""
    rng = random.Random(4)
    trials = []
    for _ in range(count):
        x, idle = rng.randint(0, 100), rng.randint(0, 100)
        score = 0.55 - ((x - 70) / 100) ** 2
        won = sum(rng.random() < score for _ in range(20))
        trials.append(observation([x, idle], won / 20))
    return trials


def test_best_trial_is_near_the_optimum_and_not_the_luckiest() -> None:
    trials = hill(100)
    surrogate = Surrogate(Space((X, IDLE)), trials)
    best = trials[surrogate.rows[surrogate.best]]
    luckiest = max(trials, key=lambda trial: trial.score)
    assert abs((best.values[0] or 0) - 70) < 15
    assert surrogate.estimates[surrogate.best].score < luckiest.score - 0.1


def test_estimate_of_one_trial_is_between_its_score_and_those_of_similar_trials() -> None:
    trials = [observation([50, 50], 0.5) for _ in range(9)] + [observation([50, 50], 0.9)]
    estimates = Surrogate(Space((X, IDLE)), trials).estimates
    assert 0.5 < estimates[-1].score < 0.6
    # equal values have equal estimates
    assert estimates[0].score == pytest.approx(estimates[-1].score, abs=1e-6)


def test_known_score_is_its_own_estimate() -> None:
    trials = [Observation((50, 50), 0.5), observation([90, 10], 0.9)]
    estimate = Surrogate(Space((X, IDLE)), trials).estimates[0]
    assert estimate.score == pytest.approx(0.5, abs=1e-3)
    assert estimate.deviation < 1e-3


def test_estimates_are_scores() -> None:
    trials = [
        observation([x, 50], score) for x, score in ((0, 0.0), (1, 0.0), (99, 1.0), (100, 1.0))
    ]
    for estimate in Surrogate(Space((X, IDLE)), trials).estimates:
        assert 0 <= estimate.score <= 1


def test_important_parameter_has_the_larger_share() -> None:
    importance = Surrogate(Space((X, IDLE)), hill(60)).importance()
    assert importance["x"] > 0.7 > 0.3 > importance["idle"]


def test_importance_is_unknown_while_candidates_may_be_equal() -> None:
    rng = random.Random(1)
    trials = [
        observation([rng.randint(0, 100), 50], rng.choice([0.4, 0.5, 0.6])) for _ in range(20)
    ]
    assert Surrogate(Space((X, IDLE)), trials).importance() == {}


def test_posterior_that_continues_an_earlier_one_equals_a_new_one() -> None:
    space, trials = Space((X, IDLE)), hill(40)
    continued = Surrogate(space, trials[:1])
    for count in range(2, 41):
        continued = Surrogate(space, trials[:count], continued)
    assert continued.estimates == Surrogate(space, trials).estimates


def test_only_the_start_and_the_latest_trials_make_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    assert Surrogate(Space((X, IDLE)), hill(20)).rows == [0, 16, 17, 18, 19]


def test_variance_of_chance_comes_from_results_within_trials() -> None:
    draws = [Observation((50, 50), 0.5, (0, 0, 1000, 0, 0))]
    decided = [observation([50, 50], 0.5, 1000)]
    assert pair_variance(draws) < 0.002
    assert pair_variance(decided) == pytest.approx(0.25, abs=0.01)


def test_estimates_need_no_optional_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "threadpoolctl", None)
    assert Surrogate(Space((X, IDLE)), hill(10)).estimates
