"""Curvature between parameters: the regression on products, and lines along axes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.landscapes import FAMILIES
from ringmaster.tuners.simulation import SimulatedPlayers, SimulatedTune, simulate
from ringmaster.tuners.space import Array
from ringmaster.tuners.spsa import curvature
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import Memory
from ringmaster.tuners.spsa.perturbation import Counting
from ringmaster.tuners.spsa.regression import C
from ringmaster.tuners.spsa.tuner import Spsa
from tests.tuners.spsa.spaces import of_each

MATRIX = np.array([[40.0, -30.0, 0.0], [-30.0, 40.0, 5.0], [0.0, 5.0, 3.0]])
OPTIMUM = np.array([0.3, -0.2, 0.5])


def least_squares(matrix: Array, optimum: Array, iterations: int) -> tuple[Array, Array]:
    """Return gram and moments of expected results of two games over a variance of ½."""
    rng = np.random.default_rng(1)
    n = len(optimum)
    d = 0.4 * rng.choice([-1.0, 1.0], (iterations, n))
    m = rng.uniform(-0.3, 0.3, (iterations, n))
    w_l = 2 * 4 / C * np.einsum("ki,ij,kj->k", d, matrix, optimum - m)
    f = curvature.features(d, m)
    return 2 * f.T @ f / 0.5, f.T @ w_l / 0.5


def test_features_times_coefficients_are_the_expected_result() -> None:
    d, m = np.array([0.1, -0.2, 0.3]), np.array([0.5, 0.1, -0.4])
    i, j = np.triu_indices(3)
    coefficients = np.concatenate([MATRIX @ OPTIMUM, -MATRIX[i, j]])
    assert curvature.features(d, m) @ coefficients == pytest.approx(d @ MATRIX @ (OPTIMUM - m))


def test_matrix_is_found_where_parameters_act_together() -> None:
    gram, moments = least_squares(MATRIX, OPTIMUM, 20_000)
    evidence, matrix = curvature.fit(gram, moments, 4 / C * np.array([30.0, 30, 5]))
    assert evidence > 10
    assert matrix * C / 4 == pytest.approx(MATRIX, abs=3)


def test_there_is_no_evidence_for_products_where_parameters_are_independent() -> None:
    gram, moments = least_squares(np.diag(np.diag(MATRIX)), OPTIMUM, 20_000)
    evidence, _ = curvature.fit(gram, moments, 4 / C * np.diag(MATRIX))
    assert evidence < 0


def test_lines_along_the_axes_lead_to_the_optimum() -> None:
    gram, moments = least_squares(MATRIX, OPTIMUM, 20_000)
    values, axes = np.linalg.eigh(MATRIX)
    posterior = curvature.along(gram, moments, axes, np.array(1.0))
    y, deviation = posterior.point()
    assert np.all(np.abs(axes.T @ OPTIMUM - y) < 2 * deviation + 0.02)
    assert np.all(deviation[1:] < 0.2)
    assert posterior.elo()[1:] == pytest.approx(values[1:], rel=0.2)


def tuned(family: str, iterations: int, replicates: int) -> tuple[Adaptive, Memory, Array]:
    """Return the method, the memory and the losses at the end of simulated tunes."""
    landscape, memories = FAMILIES[family](), []

    class Kept(Adaptive):
        def start(self, shape: tuple[int, ...] = ()) -> Memory:
            memories.append(super().start(shape))
            return memories[-1]

    method = Kept(landscape.space)
    players = SimulatedPlayers(landscape.elo, landscape.draws)
    course = simulate(SimulatedTune(method, iterations, Counting()), players, replicates, seed=1)
    return method, memories[-1], course.estimate[-1]


@pytest.mark.slow
def test_tunes_get_along_a_ridge_and_their_intervals_hold_its_optimum() -> None:
    """Treated as independent, parameters lose 2.2 Elo there, and no interval holds it."""
    method, memory, losses = tuned("ridge", 15_000, 12)
    assert np.median(losses) < 0.8
    space, optimum = method.space, FAMILIES["ridge"]().optimum
    tunes = of_each(memory)
    held = [
        [v.low <= best <= v.high for v, best in zip(method.intervals(one), optimum, strict=True)]
        for one in tunes
    ]
    assert np.mean(held) > 0.7
    stake = [sum(v.elo_at_stake for v in method.intervals(one)) for one in tunes]
    gained = FAMILIES["ridge"]().elo.loss(space.start) - losses
    assert np.mean(stake) / np.mean(gained) == pytest.approx(1, abs=0.3)
    assert "common axes" in method.remarks(tunes[0])[-1]


@pytest.mark.slow
def test_parameters_that_are_independent_keep_their_own_axes() -> None:
    _, memory, _ = tuned("curvatures", 3000, 12)
    assert np.all(memory["axes"] == np.eye(4))


def test_turned_tune_goes_on_alike_from_its_state() -> None:
    landscape = FAMILIES["ridge"]()
    tunes = [Spsa(Adaptive(landscape.space), seed=3) for _ in range(2)]
    first, second = tunes

    def play(tune: Spsa, iteration: int) -> None:
        played = tune.ask(iteration)
        advantage = landscape.elo.loss(played.minus) - landscape.elo.loss(played.plus)
        tune.tell(iteration, played.plus, played.minus, 2 * float(np.tanh(advantage / C)))

    iteration = 0
    while (first.memory["axes"] == np.eye(2)).all():
        iteration += 1
        assert iteration < 3000
        play(first, iteration)
    second.restore(json.loads(json.dumps(first.state())))
    for following in range(iteration + 1, iteration + 40):
        for tune in tunes:
            play(tune, following)
        asked = [tune.ask(following + 1) for tune in tunes]
        assert np.array_equal(asked[0].plus, asked[1].plus)
        assert np.array_equal(asked[0].minus, asked[1].minus)
    # perturbed along the ridge and across it, not each parameter by itself
    d = np.abs(asked[0].plus - asked[0].minus)
    assert d[0] != pytest.approx(d[1])
