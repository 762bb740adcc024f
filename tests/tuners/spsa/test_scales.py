"""Parameters on a logarithmic scale."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.landscapes import FAMILIES
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.simulation import SimulatedPlayers, SimulatedTune, simulate
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.perturbation import Counting, sides
from ringmaster.tuners.spsa.tuner import Spsa

MIXED = (
    TunedParameter("a", 10, 1, 1000, scale="log"),
    TunedParameter("b", 50, 0, 100),
    TunedParameter("c", 4, 1, 64, integer=True, scale="log"),
)


@given(st.lists(st.floats(1, 1000), min_size=3, max_size=3))
def test_values_and_places_on_the_scale_are_inverse(values: list[float]) -> None:
    space = Space.of(MIXED)
    given = np.array(values)
    assert space.values(space.theta(given)) == pytest.approx(given, rel=1e-12)
    assert space.values(space.start) == pytest.approx([10, 50, 4])


@given(
    place=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    c=st.lists(st.floats(1e-3, 1), min_size=3, max_size=3),
    u=st.floats(0, 1, exclude_max=True),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=3, max_size=3),
)
def test_both_sides_are_values_within_the_bounds_and_differ(
    place: list[float], c: list[float], u: float, signs: list[float]
) -> None:
    space = Space.of(MIXED)
    theta = space.minimum + np.array(place) * space.width
    reach = np.array(c) * space.width / 2
    plus, minus = sides(space, theta, reach, np.array(signs), np.full(3, u), "stochastic")
    for side in (plus, minus):
        assert np.all(side >= np.array([1, 0, 1]) * (1 - 1e-12))
        assert np.all(side <= np.array([1000, 100, 64]) * (1 + 1e-12))
        assert side[2] == round(side[2])
    assert np.all((plus > minus) == (np.array(signs) > 0))


def test_steps_are_factors() -> None:
    tune = Spsa(Adaptive(Space.of(MIXED)))
    first = tune.ask(1)
    high, low = max(first.plus[0], first.minus[0]), min(first.plus[0], first.minus[0])
    assert tune.theta == pytest.approx([10, 50, 4])
    assert tune.c(1)[0] == pytest.approx(10 * math.log(high / low) / 2)


def test_findings_are_in_the_parameters_units() -> None:
    tune = Spsa(Adaptive(Space.of(MIXED)))
    for k in range(1, 400):
        asked = tune.ask(k)
        gain = math.log(asked.plus[0] / asked.minus[0]) * math.log(40 / 10) * 0.1
        tune.tell(k, asked.plus, asked.minus, float(np.clip(gain, -2, 2)))
    finding = tune.findings()[0]
    assert 10 < finding.estimate <= 1000
    assert finding.estimate == pytest.approx(tune.estimate()[0])
    assert 1 <= finding.shown.low <= finding.estimate <= finding.shown.high <= 1000 * (1 + 1e-9)
    # the slope of a logarithm falls with the value
    raw = tune.fits()[0]
    assert finding.fit.slope == pytest.approx(raw.slope / finding.estimate)
    assert tune.trajectory.points()[-1][1] == pytest.approx(tune.theta, rel=1e-6)


def test_an_edit_of_the_scale_keeps_the_value_and_forgets_the_results() -> None:
    linear = [TunedParameter(p.code, p.start, p.minimum, p.maximum) for p in MIXED]
    tune = Spsa(Adaptive(Space.of(linear)))
    for k in range(1, 200):
        asked = tune.ask(k)
        tune.tell(k, asked.plus, asked.minus, float(np.sign(asked.plus[0] - asked.minus[0])))
    later = Spsa(Adaptive(Space.of(MIXED)))
    later.resume(tune, [0, 1, 2], same_method=False)
    assert later.regression.column(0)[1:] == [0, 0, 0, 0, 0]
    assert later.regression.column(1) == tune.regression.column(1)


@pytest.mark.slow
def test_a_loss_by_factors_is_tuned_on_a_logarithmic_scale() -> None:
    landscape = FAMILIES["log scale"]()
    tune = SimulatedTune(Adaptive(landscape.space), 2500, Counting())
    course = simulate(tune, SimulatedPlayers(landscape.elo, landscape.draws), 24, seed=1)
    assert course.start[0] > 10
    assert np.median(course.estimate[-1]) < 1
    assert np.all(course.estimate[-1] < course.start)
