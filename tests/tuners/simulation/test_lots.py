"""How simulated games end, against the models' own formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.tuners.simulation import DRAW_MODELS, GROUP, FixedDraws
from ringmaster.tuners.simulation.lots import Fate

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
def test_shares_of_wins_and_losses_are_the_models(model: str, ratio: float, delta: float) -> None:
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
    lot = np.array([u])
    won, lost = draws.won_above(lot), -draws.won_above(1 - lot)
    assert not np.isnan(won).any()
    assert (lost <= won + 1e-6).all()


def fate(first: int, count: int, **kw: object) -> Fate:
    given: dict[str, object] = {"parameters": 3, "games": 2, "draws": FixedDraws(0.0), **kw}
    return Fate(7, first, count, **given)  # type: ignore[arg-type]


def test_lots_of_a_replicate_do_not_depend_on_who_else_is_simulated() -> None:
    together, later = fate(0, 3 * GROUP, bias=50.0), fate(GROUP, GROUP + 3, bias=50.0)
    for _ in range(2):
        whole, part = together.lots(5), later.lots(5)
        for name in ("delta", "won", "lost"):
            ours = getattr(whole, name)[:, GROUP : 2 * GROUP + 3]
            np.testing.assert_array_equal(ours, getattr(part, name))


def test_replicates_differ_from_each_other() -> None:
    lots = fate(0, 2 * GROUP).lots(1)
    assert len(np.unique(lots.won[0, :, 0])) == 2 * GROUP


def test_replicates_begin_with_a_whole_group() -> None:
    with pytest.raises(ValueError, match="not the first of a group"):
        fate(GROUP + 1, 3)


def test_an_opening_favours_one_side_in_one_game_of_a_pair_and_the_other_in_the_other() -> None:
    with_bias, without = fate(0, GROUP, bias=80.0).lots(50), fate(0, GROUP).lots(50)
    # the same generators: δ and games are drawn before the openings of the first chunk
    gift = without.won - with_bias.won
    np.testing.assert_allclose(gift[..., 0], -gift[..., 1])
    assert gift[..., 0].std() == pytest.approx(80, rel=0.2)


def test_both_sides_get_the_same_openings_and_colours_against_a_reference() -> None:
    lots = fate(0, GROUP, games=4, bias=80.0, apart=True).lots(20)
    plain = fate(0, GROUP, games=4, apart=True).lots(20)
    gift = plain.won - lots.won
    np.testing.assert_allclose(gift[..., :2], gift[..., 2:])
    np.testing.assert_allclose(gift[..., 0], -gift[..., 1])
