"""The forecast of a tune, compared with simulated tunes."""

from __future__ import annotations

import numpy as np
import pytest

from ringmaster.tuners.simulation import (
    FixedDraws,
    Shaped,
    SimulatedPlayers,
    SimulatedTune,
    simulate,
)
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import Classic, Constant, GainMethod, Gains, autoselect
from ringmaster.tuners.spsa.perturbation import Counting
from ringmaster.tuners.spsa.planning import games_to_halve_loss, outlook, uniform_loss
from ringmaster.tuners.spsa.regression import C

E = np.array([2.0, 20.0])
COUNTING = Counting()


def space() -> Space:
    return Space(np.full(2, 150.0), np.zeros(2), np.full(2, 200.0), np.zeros(2, dtype=bool))


def classic(N: int, r: float = 0.004) -> Gains:
    full = np.ones(2)
    return Classic(33.3 * full, r * full, N, 0.602, 0.101, 0.1 * N, 0 * full)


@pytest.mark.slow
@pytest.mark.parametrize("pairing", ["self_play", "reference"])
@pytest.mark.parametrize("iterations", [3000, 15000])
@pytest.mark.parametrize("kind", ["classic", "constant"])
def test_expected_loss_is_that_of_simulated_tunes(pairing: str, iterations: int, kind: str) -> None:
    gains = (
        classic(iterations) if kind == "classic" else Constant(np.full(2, 33.3), np.full(2, 0.006))
    )
    expected = outlook(
        space(),
        gains,
        COUNTING,
        iterations,
        elo=E,
        lost_at_start=E / 4,
        draw_ratio=0.6,
        reference=pairing == "reference",
    )
    full = np.full(2, 100.0)
    tune = SimulatedTune(GainMethod(space(), gains), iterations, COUNTING, pairing=pairing)  # type: ignore[arg-type]
    course = simulate(tune, SimulatedPlayers(Shaped(full, E, full), FixedDraws(0.6)), 100, seed=4)
    error = course.last[-1].std() / 10
    assert float(expected.lost_at_end.sum()) == pytest.approx(
        course.last[-1].mean(), abs=3.5 * error + 0.03
    )


def test_time_constant_and_noise_are_those_of_autoselect() -> None:
    selected = autoselect(space(), 2.0, 0.5, 0.61)
    expected = outlook(
        space(),
        selected.gains,
        COUNTING,
        selected.games // 2,
        elo=np.full(2, 2.0),
        lost_at_start=np.full(2, 2.0),
        draw_ratio=0.61,
    )
    np.testing.assert_allclose(expected.time_constant, selected.lambdas)
    np.testing.assert_allclose(expected.time_constants, 3, rtol=1e-3)
    np.testing.assert_allclose(expected.noise, C * 0.39 * selected.r / 8)


def test_parameter_without_effect_has_no_time_constant() -> None:
    expected = outlook(
        space(),
        classic(100),
        COUNTING,
        100,
        elo=np.zeros(2),
        lost_at_start=np.zeros(2),
        draw_ratio=0.0,
    )
    assert np.isinf(expected.time_constant).all()
    assert (expected.lost_at_end >= 0).all()


def test_loss_at_the_start_is_the_mean_over_optima_anywhere() -> None:
    ranges = Space(np.array([0.0, 100.0]), np.zeros(2), np.full(2, 200.0), np.zeros(2, dtype=bool))
    optima = np.linspace(0, 200, 100_001)
    expected = [np.mean(((optima - start) / 100) ** 2) for start in ranges.start]
    np.testing.assert_allclose(uniform_loss(ranges, np.ones(2)), expected, rtol=1e-3)


@pytest.mark.slow
def test_half_of_the_loss_is_gained_in_the_predicted_games() -> None:
    n, elo, off = 6, 3.0, 0.5
    full = np.ones(n)
    where = Space(100 * full, 0 * full, 200 * full, np.zeros(n, dtype=bool))
    method = Adaptive(where)
    games = games_to_halve_loss(
        where, method.reach(), elo=elo * full, lost_at_start=elo * off**2 * full, draw_ratio=0.6
    )
    assert np.all(games == games[0])
    players = SimulatedPlayers(
        Shaped((100 + 100 * off) * full, elo * full, 100 * full), FixedDraws(0.6)
    )
    course = simulate(SimulatedTune(method, round(games[0] / 2), COUNTING), players, 60, seed=1)
    assert course.estimate[-1].mean() == pytest.approx(n * elo * off**2 / 2, rel=0.25)


def test_parameter_that_loses_nothing_at_the_start_never_loses_half_of_it() -> None:
    nothing = np.zeros(2)
    games = games_to_halve_loss(
        space(), np.full(2, 50.0), elo=E, lost_at_start=nothing, draw_ratio=0.6
    )
    assert np.all(np.isinf(games))
