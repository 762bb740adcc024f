"""Strength models, draw models and random outcomes of simulated games."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.simulation import (
    CLOP_FUNCTIONS,
    DRAW_MODELS,
    GROUP,
    SHAPES,
    Clop,
    FixedDraws,
    GameOutcomes,
    Shaped,
)
from ringmaster.tuners.space import Space

DELTAS = (-300.0, -40.0, 0.0, 7.0, 500.0)


def chances(model: str, ratio: float, delta: float) -> tuple[float, float]:
    """Return P(win) and P(loss), restated."""
    p = 1 / (1 + 10 ** (-delta / 400))
    if model == "fixed":
        return max(p - ratio / 2, 0.0), max(1 - p - ratio / 2, 0.0)
    if model == "bayeselo":
        # the distance at which equals draw `ratio` of their games
        draw_elo = 200 * math.log10((1 + ratio) / (1 - ratio)) * 2
        return tuple(1 / (1 + 10 ** ((draw_elo - d) / 400)) for d in (delta, -delta))  # type: ignore[return-value]
    y, nu = 10 ** (delta / 800), 2 * ratio / (1 - ratio)
    return y / (y + nu + 1 / y), (1 / y) / (y + nu + 1 / y)


@pytest.mark.parametrize("model", DRAW_MODELS)
@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("delta", DELTAS)
def test_shares_of_wins_and_losses_follow_the_model(model: str, ratio: float, delta: float) -> None:
    draws = DRAW_MODELS[model](ratio)
    u = (np.arange(100_000) + 0.5) / 100_000
    win, loss = chances(model, ratio, delta)
    assert np.mean(delta > draws.won_above(u)) == pytest.approx(win, abs=2e-5)
    assert np.mean(delta < -draws.won_above(1 - u)) == pytest.approx(loss, abs=2e-5)


@given(
    model=st.sampled_from(sorted(DRAW_MODELS)),
    ratio=st.floats(0, 0.999),
    # the lots that NumPy draws
    u=st.integers(0, 2**53 - 1).map(lambda n: n / 2**53),
)
def test_no_game_is_both_won_and_lost(model: str, ratio: float, u: float) -> None:
    draws = DRAW_MODELS[model](ratio)
    drawn = np.array([u])
    won, lost = draws.won_above(drawn), -draws.won_above(1 - drawn)
    assert not np.isnan(won).any()
    assert (lost <= won + 1e-6).all()


def outcomes(first: int, count: int, **kw: object) -> GameOutcomes:
    settings: dict[str, object] = {"parameters": 3, "games": 2, "draws": FixedDraws(0.0), **kw}
    return GameOutcomes(7, first, count, **settings)  # type: ignore[arg-type]


def test_random_numbers_of_a_replicate_do_not_depend_on_other_replicates() -> None:
    together, later = outcomes(0, 3 * GROUP, bias=50.0), outcomes(GROUP, GROUP + 3, bias=50.0)
    for _ in range(2):
        whole, part = together.draw(5), later.draw(5)
        for name in ("delta", "won", "lost"):
            ours = getattr(whole, name)[:, GROUP : 2 * GROUP + 3]
            np.testing.assert_array_equal(ours, getattr(part, name))


def test_an_opening_favours_one_side_in_one_game_of_a_pair_and_the_other_in_the_other() -> None:
    with_bias, without = outcomes(0, GROUP, bias=80.0).draw(50), outcomes(0, GROUP).draw(50)
    # the same generators: δ and games are drawn before the openings of the first chunk
    gift = without.won - with_bias.won
    np.testing.assert_allclose(gift[..., 0], -gift[..., 1])
    assert gift[..., 0].std() == pytest.approx(80, rel=0.2)


def test_both_sides_get_the_same_openings_and_colours_against_a_reference() -> None:
    drawn = outcomes(0, GROUP, games=4, bias=80.0, reference=True).draw(20)
    plain = outcomes(0, GROUP, games=4, reference=True).draw(20)
    gift = plain.won - drawn.won
    np.testing.assert_allclose(gift[..., :2], gift[..., 2:])
    np.testing.assert_allclose(gift[..., 0], -gift[..., 1])


def shaped(**kw: object) -> Shaped:
    return Shaped(
        np.array([10.0, 20.0]),
        np.array([2.0, 6.0]),
        np.array([5.0, 10.0]),
        **kw,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_elo_is_lost_at_one_scale_below_the_optimum(shape: str) -> None:
    model = shaped(shape=shape, constant=SHAPES[shape][1])
    assert model.loss(np.array([5.0, 20.0])) == pytest.approx(2.0)
    assert model.loss(np.array([5.0, 10.0])) == pytest.approx(8.0)
    assert model.loss(np.array([10.0, 20.0])) == 0


def test_asymmetric_loss_is_steeper_above_the_optimum() -> None:
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
