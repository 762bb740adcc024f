"""Strength models, draw models and random outcomes of simulated games."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.parameters import Scale, TunedParameter
from ringmaster.tuners.simulation import (
    DRAW_MODELS,
    GROUP,
    SHAPES,
    FixedDraws,
    GameOutcomes,
    Shaped,
)

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


def outcomes(count: int, **kw: object) -> GameOutcomes:
    settings: dict[str, object] = {"parameters": 3, "games": 2, "draws": FixedDraws(0.0), **kw}
    return GameOutcomes(7, count, **settings)  # type: ignore[arg-type]


def test_random_numbers_of_a_replicate_do_not_depend_on_other_replicates() -> None:
    many, few = outcomes(3 * GROUP, bias=50.0), outcomes(GROUP + 3, bias=50.0)
    for _ in range(2):
        whole, part = many.draw(5), few.draw(5)
        for name in ("delta", "won", "lost"):
            ours = getattr(whole, name)
            np.testing.assert_array_equal(ours[:, : GROUP + 3], getattr(part, name))
            assert not np.array_equal(ours[:, :GROUP], ours[:, GROUP : 2 * GROUP])


def test_an_opening_favours_one_side_in_one_game_of_a_pair_and_the_other_in_the_other() -> None:
    with_bias, without = outcomes(GROUP, bias=80.0).draw(50), outcomes(GROUP).draw(50)
    # the same generators: δ and games are drawn before the openings of the first chunk
    gift = without.won - with_bias.won
    np.testing.assert_allclose(gift[..., 0], -gift[..., 1])
    assert gift[..., 0].std() == pytest.approx(80, rel=0.2)


def test_both_sides_get_the_same_openings_and_colours_against_a_reference() -> None:
    drawn = outcomes(GROUP, games=4, bias=80.0, reference=True).draw(20)
    plain = outcomes(GROUP, games=4, reference=True).draw(20)
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
def test_elo_is_lost_by_each_parameter_at_one_scale_below_the_optimum(shape: str) -> None:
    model = shaped(shape=shape, constant=SHAPES[shape].constant or 0.0)
    assert model.loss(np.array([5.0, 20.0])) == pytest.approx(2.0)
    assert model.loss(np.array([10.0, 10.0])) == pytest.approx(6.0)
    assert model.loss(np.array([10.0, 20.0])) == 0


def parameters(*bounds: tuple[float, float], scale: Scale = "linear") -> list[TunedParameter]:
    return [
        TunedParameter(code, low, low, high, scale=scale)
        for code, (low, high) in zip("abcdef", bounds, strict=False)
    ]


RANGES = ((-100.0, 100.0), (-10.0, 10.0))


@pytest.mark.parametrize(
    ("model", "place", "lost"),
    [
        ("quadratic", (50, 0), 2 * 0.5**2),
        ("lopsided", (-50, 0), 2 * 0.5**2),
        ("lopsided", (50, 0), 8 * 2 * 0.5**2),
        ("lopsided:3", (50, -5), 3 * 2 * 0.5**2 + 6 * 0.5**2),
        # a third of the range is 66.7; half of the cliff is there
        ("cliff", (50, 0), 2 * 0.5**2 + 300 / (1 + math.exp(5.5556))),
        ("cliff", (200 / 3, 0), 2 * 4 / 9 + 150),
        ("cliff", (80, 8), (2 + 6) * 0.8**2 + 2 * 300 / (1 + math.exp(-4.4444))),
        ("cliff", (-80, -8), (2 + 6) * 0.8**2),
        ("cliff:0.4", (60, 0), 2 * 0.6**2 + 300 / (1 + math.exp(-6.6667))),
        ("power:3", (50, -5), (2 + 6) / 8),
        ("saturating:0.5", (50, 0), 2 * (1 - math.exp(-1)) / (1 - math.exp(-4))),
        ("spsa_tuner", (50, 0), 2 * 0.25),
        # √2·0.5 and √6·0.5 apart, or together
        ("ridge", (50, 5), (20 * (6**0.5 - 2**0.5) ** 2 + (6**0.5 + 2**0.5) ** 2) / 4 / 21),
        ("ridge", (50, -5), (20 * (6**0.5 + 2**0.5) ** 2 + (6**0.5 - 2**0.5) ** 2) / 4 / 21),
        ("ridge:1", (50, -5), 2 * 0.25 + 6 * 0.25),
    ],
)
def test_shape_has_the_loss_of_its_formula(
    model: str, place: tuple[float, float], lost: float
) -> None:
    shaped = Shaped.of(parameters(*RANGES), np.array([2.0, 6.0]), model, optimum=np.zeros(2))
    assert shaped.loss(np.array([place, (0, 0)], dtype=float)) == pytest.approx([lost, 0], rel=1e-4)


def test_ridge_is_as_many_times_steeper_across_its_diagonal_as_along_it() -> None:
    ranges = ((0.0, 2.0),) * 5
    model = Shaped.of(parameters(*ranges), np.full(5, 4.0), "ridge", optimum=np.ones(5))
    across, along = [2, 0, 1, 1, 1], [1, 1, 2, 2, 1]
    assert model.loss(np.array(across)) == pytest.approx(20 * model.loss(np.array(along)))
    # the fifth has no partner
    assert model.loss(np.array([1, 1, 1, 1, 2])) == pytest.approx(4)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_log_is_a_parabola_of_the_logarithms_on_any_scale(scale: Scale) -> None:
    model = Shaped.of(
        parameters((1, 10_000), scale=scale), np.array([3.0]), "log", optimum=np.array([10.0])
    )
    # half of the range is a factor of 100
    lost = model.loss(np.array([[10.0], [1000.0], [100.0], [1.0]]))
    assert lost == pytest.approx([0, 3, 0.75, 0.75])


def test_distances_are_on_the_parameters_scales_else() -> None:
    model = Shaped.of(parameters((1, 10_000), scale="log"), np.array([3.0]), "lopsided")
    assert model.optimum == pytest.approx([100])
    assert model.loss(np.array([[1.0], [1000.0]])) == pytest.approx([3, 8 * 0.75])


@pytest.mark.parametrize(
    ("model", "bounds", "message"),
    [
        (
            "log",
            [(1.0, 5.0), (-5.0, 5.0)],
            "log needs ranges above 0, and that of 'b' begins at -5;",
        ),
        ("log", [(0.0, 5.0)], "that of 'a' begins at 0; raise its min, or choose another model"),
        ("ridge", [(0.0, 5.0)], "ridge needs 2 parameters or more, not 1; tune more, or choose"),
        ("hill", [(0.0, 5.0)], "there is no 'hill'; choose from quadratic, log, lopsided, cliff,"),
        ("log:2", [(1.0, 5.0)], "there is no 'log:2'; choose from quadratic, log"),
        ("cliff:0", [(1.0, 5.0)], "'0' is not a number from 0.001 to 100"),
        ("cliff:", [(1.0, 5.0)], "'' is not a number from 0.001 to 100"),
    ],
)
def test_model_that_does_not_fit_is_an_error_with_the_remedy(
    model: str, bounds: list[tuple[float, float]], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Shaped.of(parameters(*bounds), np.ones(len(bounds)), model)


def test_optima_may_differ_from_replicate_to_replicate() -> None:
    model = shaped().at(np.array([[10.0, 20.0], [5.0, 20.0]]))
    x = np.broadcast_to([10.0, 20.0], (7, 2, 2))
    assert model.loss(x).tolist() == [[0.0, 2.0]] * 7
