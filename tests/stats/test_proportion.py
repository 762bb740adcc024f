"""Wilson's interval against published values and by its own meaning."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.stats.proportion import Z95, wilson


def test_interval_is_newcombe_s_example() -> None:
    """81 of 263: 0.2553 to 0.3662 (Newcombe, 1998, table I, method 3)."""
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


def test_nothing_is_known_without_games() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_ends_are_where_the_rate_is_z_deviations_away(games: int, share: float) -> None:
    points = round(share * games)
    low, high = wilson(points, games)
    assert 0 <= low <= points / games + 1e-12
    assert points / games - 1e-12 <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            deviation = math.sqrt(end * (1 - end) / games)
            assert abs(points / games - end) == pytest.approx(Z95 * deviation, rel=1e-6)
