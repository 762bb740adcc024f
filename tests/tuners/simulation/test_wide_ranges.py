"""Ranges far too wide for the default method: where they do no harm, as docs/tuners.rst says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.landscapes import HALF, LossFunction
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.simulation import FixedDraws, SimulatedPlayers, SimulatedTune, simulate
from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.perturbation import Counting

pytestmark = pytest.mark.slow

OPTIMUM = np.array([52.0, 47, 51, 49])
#: 96 Elo below the optimum, in standard deviations of the basin.
NEAR = np.array([0.5, -0.4, 0.4, 0.274])


def lost(basin: float, distance: Array, pairing: str = "self_play") -> tuple[Array, float]:
    """Return the Elo lost by 24 estimates after 2,000 games, and by the start.

    basin     standard deviation of a bell 350 Elo high, as a share of the range
    distance  of the start from the optimum, in standard deviations
    """
    sd = basin * 2

    def loss(u: Array) -> Array:
        return np.asarray(350 * -np.expm1(-np.square(u / sd).sum(axis=-1) / 2))

    start = OPTIMUM + HALF * sd * distance
    space = Space.of([TunedParameter(f"x{i}", x, 0, 100) for i, x in enumerate(start.tolist())])
    tune = SimulatedTune(Adaptive(space), 1000, Counting(), pairing=pairing)  # type: ignore[arg-type]
    course = simulate(
        tune, SimulatedPlayers(LossFunction(OPTIMUM, loss), FixedDraws(0.5)), 24, seed=1
    )
    return course.estimate[-1], float(course.start[0])


@pytest.mark.parametrize("basin", [0.25, 0.06, 0.03, 0.015])
def test_a_start_near_the_optimum_is_tuned_in_ranges_of_any_width(basin: float) -> None:
    estimates, start = lost(basin, NEAR)
    assert start == pytest.approx(96.5, abs=0.5)
    assert np.median(estimates) < 5
    assert np.quantile(estimates, 0.9) < start


def test_a_start_far_outside_the_basin_or_an_opponent_is_excluded() -> None:
    far, start = lost(0.03, 2 * NEAR)
    assert start == pytest.approx(253.7, abs=0.5)
    assert np.median(far) == pytest.approx(start)
    against_opponents, start = lost(0.03, NEAR, "reference")
    assert np.median(against_opponents) > 0.9 * start
