"""The recent rate, and the time that is left at it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.reporting.rate import RateMeter, format_duration, format_rate


def test_nothing_is_known_before_the_first_game() -> None:
    meter = RateMeter(100.0)
    meter.sample(130.0, 0)
    estimate = meter.estimate(130.0, 0, 50)
    assert estimate.rate is None
    assert estimate.left is None


def test_a_steady_rate_is_found() -> None:
    meter = RateMeter(0.0)
    for second in range(1, 200):
        meter.sample(second, 5 * second)
    estimate = meter.estimate(199.0, 995, 100)
    assert estimate.rate == pytest.approx(5.0)
    assert estimate.left == pytest.approx(20.0)


def test_the_rate_follows_a_change_within_a_window() -> None:
    meter = RateMeter(0.0)
    count = 0
    for second in range(1, 201):
        count += 10 if second <= 100 else 2
        meter.sample(second, count)
    assert meter.estimate(200.0, count, None).rate == pytest.approx(2.0, rel=0.05)


def test_games_longer_than_the_window_still_have_a_rate() -> None:
    meter = RateMeter(0.0)
    for game in range(1, 50):
        meter.sample(3600.0 * game, game)
    estimate = meter.estimate(3600.0 * 49 + 1800, 49, 7)
    assert estimate.rate == pytest.approx(1 / 3600, rel=0.1)


def test_the_rate_falls_while_no_game_ends() -> None:
    meter = RateMeter(0.0)
    for second in range(1, 61):
        meter.sample(second, second)
    rate = meter.estimate(60.0, 60, None).rate
    later = meter.estimate(120.0, 60, None).rate
    assert rate is not None
    assert later is not None
    assert later < rate


def test_nothing_left_takes_no_time() -> None:
    meter = RateMeter(0.0)
    assert meter.estimate(10.0, 0, 0).left == 0.0
    assert meter.estimate(10.0, 5, None).left is None


@given(
    st.lists(st.tuples(st.floats(0, 1000), st.integers(0, 1000)), max_size=400),
    st.integers(0, 10**6),
)
def test_samples_stay_few_and_rates_positive(steps: list[tuple[float, int]], left: int) -> None:
    meter = RateMeter(0.0)
    now, count = 0.0, 0
    for seconds, games in steps:
        now, count = now + seconds, count + games
        meter.sample(now, count)
        estimate = meter.estimate(now, count, left)
        assert estimate.rate is None or estimate.rate > 0
    assert len(meter._samples) <= 260


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (None, "–"),
        (1000.0, "1000 games/s"),
        (12.34, "12.3 games/s"),
        (1.0, "1.0 games/s"),
        (0.5, "30.0 games/min"),
        (1 / 60, "1.0 games/min"),
        (1 / 3600, "1.0 games/h"),
        (1 / 36000, "0.1 games/h"),
    ],
)
def test_rates_are_given_in_a_unit_that_suits_them(rate: float | None, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (-1.0, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599.0, "59 min 59 s"),
        (7620.0, "2 h 07 min"),
        (3 * 86400 + 4 * 3600, "3 d 04 h"),
        (1e300, "365000 d 00 h"),
    ],
)
def test_durations_have_two_units(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text
