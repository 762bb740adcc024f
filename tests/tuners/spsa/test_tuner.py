"""The tuner: ask, tell, estimates and fits."""

from __future__ import annotations

import numpy as np
import pytest

from ringmaster.model.randomness import uniform, words
from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import Classic, GainMethod
from ringmaster.tuners.spsa.perturbation import Counting
from ringmaster.tuners.spsa.regression import C
from ringmaster.tuners.spsa.tuner import Spsa
from tests.tuners.spsa.spaces import MIXED, classic, space_of


@pytest.mark.parametrize("make", [classic, Adaptive])
def test_iteration_depends_on_seed_number_and_theta_alone(make: type[Adaptive]) -> None:
    one, other = (Spsa(make(MIXED), seed=7) for _ in range(2))
    for k in (3, 1, 2):
        other.ask(k)
    for name in ("theta", "delta", "plus", "minus"):
        assert getattr(one.ask(5), name).tolist() == getattr(other.ask(5), name).tolist()
    seeds = {tuple(Spsa(make(space_of(*[(5, 0, 9)] * 12)), seed=s).ask(5).delta) for s in range(4)}
    assert len(seeds) == 4


def test_asking_changes_nothing() -> None:
    tuner = Spsa(Adaptive(MIXED))
    before = tuner.state()
    for k in range(1, 50):
        tuner.ask(k)
    assert tuner.state() == before


def test_midpoints_of_the_adaptive_method_lie_on_both_sides_of_theta() -> None:
    tuner = Spsa(Adaptive(space_of((50, 0, 100))))
    shift = tuner.memory["shift"]
    iterations = [k for k in range(1, 200) if not tuner.method.is_probe(k)]
    middles = {round(float((a.plus + a.minus)[0] / 2), 9) for a in map(tuner.ask, iterations)}
    assert middles == {round(50 - shift[0], 9), round(50 + shift[0], 9)}


def tell_results(tuner: Spsa, results: list[float]) -> Spsa:
    for k, result in enumerate(results, 1):
        perturbation = tuner.ask(k)
        tuner.tell(k, perturbation.plus, perturbation.minus, result * float(perturbation.delta[0]))
    return tuner


def test_estimate_is_the_last_theta_during_a_drift_and_the_mean_afterwards() -> None:
    space = space_of((0, -1e6, 1e6))
    moving = tell_results(Spsa(classic(space, alpha=0, gamma=0)), [1.0] * 40)
    assert moving.estimate().tolist() == moving.theta.tolist()
    swinging = tell_results(Spsa(classic(space, alpha=0, gamma=0)), [1.0, -1.0] * 40)
    assert swinging.estimate().tolist() == swinging.averages.mean().tolist()
    assert swinging.estimate().tolist() != swinging.theta.tolist()


@pytest.mark.parametrize("results", [[1.0] * 40, [1.0, -1.0] * 20 + [1.0]])
def test_estimate_rule_selects_the_last_theta_or_the_mean(results: list[float]) -> None:
    space = space_of((0, -1e6, 1e6))
    last = tell_results(Spsa(classic(space), estimate_rule="last"), results)
    mean = tell_results(Spsa(classic(space), estimate_rule="mean"), results)
    assert last.estimate().tolist() == last.theta.tolist()
    assert mean.estimate().tolist() == mean.averages.mean().tolist()


def expected(space: Space, plus: Array, minus: Array) -> float:
    """Return E[W−L] of a game of players who lose 30 Elo at half a range from 0.6 of it."""
    best = space.minimum + 0.6 * space.width
    loss = [30 * np.square(2 * (side - best) / space.width).sum() for side in (plus, minus)]
    return float((loss[1] - loss[0]) / C)


@pytest.mark.parametrize("make", [classic, Adaptive])
def test_results_against_a_reference_give_the_same_optimum(
    make: type[Adaptive],
) -> None:
    """W−L of θ⁺ less W−L of θ⁻, games of θ⁺ alone: the expectation of a game is as when the
    two play each other."""
    space = space_of((45, 0, 100), (0.2, 0, 1))
    method = make(space)
    together, apart = Spsa(method, seed=2), Spsa(method, seed=2)
    for k in range(1, 400):
        perturbation = together.ask(k)
        score = expected(space, perturbation.plus, perturbation.minus)
        third = space.minimum + 0.3 * space.width
        together.tell(k, perturbation.plus, perturbation.minus, 2 * score, 2)
        over = [
            2 * expected(space, side, third) for side in (perturbation.plus, perturbation.minus)
        ]
        apart.tell(k, perturbation.plus, perturbation.minus, over[0] - over[1], 2)
    for one, other in zip(together.fits(), apart.fits(), strict=True):
        assert one.slope == pytest.approx(other.slope, rel=1e-9)
    assert apart.estimate() == pytest.approx(together.estimate(), rel=1e-6)


def test_tune_of_a_quadratic_finds_its_optimum() -> None:
    """Elo loss e·((x−70)/100)² per side, coin-flip games decided by counter bits.  With
    r = 0.005 the last iterate strays about 2.4 from the optimum (expected loss C·n·r/8 =
    0.22 Elo); three times that is allowed."""
    space = space_of((20, 0, 100))
    gains = Classic(np.array([15.0]), np.array([0.005]), 4000, 0.602, 0.101, 400, space.least_c)
    tuner = Spsa(GainMethod(space, gains), seed=1, counting=Counting())
    for k in range(1, 4001):
        perturbation = tuner.ask(k)
        elo = [
            -400 * ((side[0] - 70) / 100) ** 2 for side in (perturbation.plus, perturbation.minus)
        ]
        win = 1 / (1 + 10 ** (-(elo[0] - elo[1]) / 400))
        result = sum(1 if uniform(w) < win else -1 for w in words(9, 99, k, 2))
        tuner.tell(k, perturbation.plus, perturbation.minus, result)
    assert tuner.theta[0] == pytest.approx(70, abs=7.2)
    assert tuner.averages.mean()[0] == pytest.approx(70, abs=5)
    (fit,) = tuner.fits()
    assert fit.low is not None
    assert fit.high is not None
    assert fit.low < 70 < fit.high
