"""Targets: what each kind makes of results and teachers' scores, which positions count, and the
entropies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.texel.loss import Loss
from ringmaster.tuners.texel.targets import (
    ENTROPIES,
    Blending,
    Mixture,
    Target,
    entropies_of,
)

NAN = float("nan")


def mixed(
    target: Target,
    result: float,
    teacher: float,
    scale: float = 600.0,
    ply: int = 30,
    progress: float = 0.5,
) -> tuple[float, bool, float]:
    """Return m, whether the position counts, and λ."""
    actual = target.mix(
        np.array([result]), np.array([teacher]), np.array([ply]), np.array([progress]), scale
    )
    return float(actual.target[0]), bool(actual.kept[0]), float(actual.lambdas[0])


def p_of(score: float, scale: float = 600.0) -> float:
    return 1 / (1 + math.exp(-score / scale))


@given(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]), st.floats(-3000, 3000))
def test_blend_is_between_result_and_teacher(share: float, result: float, score: float) -> None:
    m, kept, _ = mixed(Target("elmo", share), result, score)
    assert kept
    assert m == pytest.approx((1 - share) * result + share * p_of(score), abs=1e-6)


@pytest.mark.parametrize(
    ("target", "result", "teacher", "kept"),
    [
        (Target("elmo", 0.5), NAN, 100, False),
        (Target("elmo", 1.0), NAN, 100, True),
        (Target("elmo", 0.5), 1.0, NAN, False),
        (Target("elmo", 0.0), 1.0, NAN, True),
        (Target(), NAN, 100, False),
        (Target("gaussian", 1.0), NAN, 0, True),
        (Target("gaussian", 1.0), NAN, 100, False),
    ],
)
def test_position_without_a_label_counts_only_if_the_label_has_no_share(
    target: Target, result: float, teacher: float, kept: bool
) -> None:
    m, actual, _ = mixed(target, result, teacher)
    assert actual == kept
    assert not math.isnan(m)


def test_second_lambda_applies_from_the_limit() -> None:
    target = Target("elmo", 0.7, lambda2=0.2, lambda_limit=200)
    assert [mixed(target, 1, score)[2] for score in (-200, -199, 0, 199, 200)] == [
        0.2,
        0.7,
        0.7,
        0.7,
        0.2,
    ]


def test_gaussian_falls_from_lambda_as_the_bell_curve_does() -> None:
    target = Target("gaussian", 0.5, sigma=1000)
    assert mixed(target, 1, 0)[2] == 0.5
    assert mixed(target, 1, 1000)[2] == pytest.approx(0.5 * math.exp(-0.5))
    assert mixed(target, 1, -2000)[2] == pytest.approx(0.5 * math.exp(-2))


@pytest.mark.parametrize(("scale", "sigma"), [(600, 1001), (360, 600.6), (300, 500.5)])
def test_sigma_is_where_one_deviation_is_won_unless_given(scale: float, sigma: float) -> None:
    actual = mixed(Target("gaussian", 1.0), 1, sigma, scale)[2]
    assert actual == pytest.approx(math.exp(-0.5), rel=1e-3)


def test_positions_beyond_the_limit_are_left_out() -> None:
    target = Target("elmo", 0.5, eval_limit=1500)
    assert [mixed(target, 1, score)[1] for score in (-1501, -1500, 0, 1501)] == [
        False,
        True,
        True,
        False,
    ]
    assert mixed(Target(eval_limit=1500), 1, NAN)[1]


def test_function_receives_none_for_unknown_values() -> None:
    seen = []

    def blend(score: float | None, ply: int | None, progress: float | None) -> float:
        seen.append((score, ply, progress))
        return 0.0 if score is None else 0.25

    target = Target("function", function=blend)
    assert mixed(target, 1, NAN, ply=0, progress=NAN) == (1, True, 0)
    assert mixed(target, 1, 50.0, ply=12, progress=0.25)[2] == 0.25
    assert seen == [(None, None, None), (50.0, 12, 0.25)]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda score, ply, progress: 1.2, "returns 1.2 for score 50"),
        (lambda score, ply, progress: NAN, "returns nan"),
        (lambda score, ply, progress: 1 / 0, "fails for score 50.*ZeroDivisionError"),
        (lambda score, ply, progress: None, "TypeError"),
    ],
)
def test_function_without_a_share_is_an_error_with_its_arguments(
    function: Blending, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        mixed(Target("function", function=function), 1, 50)


@pytest.mark.parametrize(
    ("target", "teacher", "result"),
    [
        (Target(), False, True),
        (Target("elmo", 0.0), False, True),
        (Target("elmo", 1.0), True, False),
        (Target("elmo", 1.0, lambda2=0.5), True, True),
        (Target("gaussian", 1.0), True, True),
    ],
)
def test_target_knows_its_required_labels(target: Target, teacher: bool, result: bool) -> None:
    assert (target.needs_teacher, target.needs_result) == (teacher, result)


@given(st.integers(2, 200), st.integers(0, 1000))
def test_entropies_of_shards_add_up(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, teacher = rng.normal(0, 300, (2, count))
    teacher[::7] = NAN
    result, weight = rng.choice([0.0, 0.5, 1.0], count), rng.integers(0, 3, count).astype(float)
    mixture = Target("elmo", 0.5).mix(result, teacher, np.zeros(count), np.zeros(count), 600)

    def shard(rows: slice) -> tuple[Any, Any, Mixture, Any]:
        part = Mixture(*(column[rows] for column in mixture))
        return scores[rows], result[rows], part, weight[rows]

    loss = Loss("cross_entropy", 200)
    whole = entropies_of(loss, [shard(slice(None))])
    halves = entropies_of(loss, [shard(slice(0, None, 2)), shard(slice(1, None, 2))])
    assert halves == {
        name: None if value is None else pytest.approx(value) for name, value in whole.items()
    }


def test_entropies_are_those_of_target_result_and_teacher() -> None:
    loss = Loss("cross_entropy", 200)
    mixture = Target("elmo", 0.25).mix(
        np.array([1.0]), np.array([300.0]), np.array([1]), np.array([0.1]), 600
    )
    shard = np.array([100.0]), np.array([1.0]), mixture, np.array([3.0])
    means = entropies_of(loss, [shard])
    q, p = p_of(100, 200), p_of(300)
    m = 0.75 + 0.25 * p

    def cross(a: float) -> float:
        return -a * math.log(q) - (1 - a) * math.log(1 - q)

    def own(a: float) -> float:
        return -a * math.log(a) - (1 - a) * math.log(1 - a)

    wanted = [cross(m), cross(1.0), cross(p), own(m), 0.0, own(p)]
    assert [means[name] for name in ENTROPIES] == pytest.approx(wanted, rel=1e-6)
