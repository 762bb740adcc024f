"""The strength of simulated players."""

from __future__ import annotations

import numpy as np
import pytest

from ringmaster.tuners.simulation import CLOP_FUNCTIONS, SHAPES, Clop, Shaped, spsa_tuner
from ringmaster.tuners.spsa import Space


def shaped(**kw: object) -> Shaped:
    return Shaped(
        np.array([10.0, 20.0]),
        np.array([2.0, 6.0]),
        np.array([5.0, 10.0]),
        **kw,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_the_stated_elo_is_lost_at_one_scale_below_the_optimum(shape: str) -> None:
    model = shaped(shape=shape, constant=SHAPES[shape][1])
    assert model.loss(np.array([5.0, 20.0])) == pytest.approx(2.0)
    assert model.loss(np.array([5.0, 10.0])) == pytest.approx(8.0)
    assert model.loss(np.array([10.0, 20.0])) == 0


def test_asymmetric_loss_is_so_many_times_steeper_above() -> None:
    model = shaped(shape="asymmetric", constant=4.0)
    assert model.loss(np.array([15.0, 20.0])) == pytest.approx(8.0)


def test_correlated_errors_of_one_sign_make_each_other_worse() -> None:
    model = shaped(correlation=0.5)
    both = 8 + 2 * 0.5 * np.sqrt(2 * 6)
    assert model.loss(np.array([15.0, 30.0])) == pytest.approx(both)
    assert model.loss(np.array([15.0, 10.0])) == pytest.approx(16 - both)


def test_optima_may_differ_from_replicate_to_replicate() -> None:
    model = shaped().at(np.array([[10.0, 20.0], [5.0, 20.0]]))
    x = np.broadcast_to([10.0, 20.0], (7, 2, 2))
    assert model.loss(x).tolist() == [[0.0, 2.0]] * 7


def test_spsa_tuners_model_is_its_formula() -> None:
    x = np.array([[100.0, -30.0]])
    assert spsa_tuner(np.array([1.0, 3.0])).loss(x)[0] == pytest.approx(
        0.0001 * 1 * 100**2 + 0.0001 * 3 * 30**2
    )


@pytest.mark.parametrize("name", CLOP_FUNCTIONS)
def test_no_value_is_better_than_the_optimum_of_a_clop_function(name: str) -> None:
    n = CLOP_FUNCTIONS[name].count or 1
    bounds = np.full(n, -1.0), np.full(n, 1.0)
    model = Clop.of(name, Space(np.zeros(n), *bounds, np.zeros(n, dtype=bool)))
    axes = [np.linspace(-1, 1, 20_001 if n == 1 else 301)] * n
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n)
    loss = model.loss(grid)
    assert loss.min() >= -1e-9
    assert model.loss(model.optimum) == pytest.approx(0)
    assert np.abs(grid[loss.argmin()] - model.optimum).max() < 0.01


def test_clop_function_of_two_is_refused_for_three_parameters() -> None:
    space = Space(np.zeros(3), -np.ones(3), np.ones(3), np.zeros(3, dtype=bool))
    with pytest.raises(ValueError, match="function of 2, not 3"):
        Clop.of("rosenbrock", space)
