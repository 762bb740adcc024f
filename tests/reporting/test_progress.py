"""Rates, times left and progress of a run."""

from __future__ import annotations

import dataclasses

import pytest

from ringmaster.model.report import Progress
from ringmaster.reporting.progress import (
    DisplayView,
    RateEstimate,
    RateMeter,
    describe_progress,
    format_duration,
    format_rate,
)


def measure(
    meter: RateMeter, now: float, count: int, left: int | None = None, started: float = 0.0
) -> RateEstimate:
    total = None if left is None else count + left
    return meter.measure(DisplayView("", Progress(count, total), started, count), now)


def test_a_steady_rate_is_measured() -> None:
    meter = RateMeter()
    for second in range(1, 200):
        measure(meter, second, 5 * second)
    estimate = measure(meter, 199.0, 995, 100)
    assert estimate.rate == pytest.approx(5.0)
    assert estimate.left == pytest.approx(20.0)


def test_the_rate_follows_a_change_within_a_window() -> None:
    meter = RateMeter()
    count = 0
    for second in range(1, 201):
        count += 10 if second <= 100 else 2
        measure(meter, second, count)
    assert measure(meter, 200.0, count).rate == pytest.approx(2.0, rel=0.05)


def test_pause_leaves_the_rate_as_it_was() -> None:
    meter = RateMeter()
    for minute in range(1, 21):
        measure(meter, 60.0 * minute, minute)
    paused = DisplayView("", Progress(20, None), 0.0, 20, state="paused; p to go on")
    for second in range(1, 7201):
        meter.measure(paused, 1200.0 + second)
    estimate = measure(meter, 8400.0 + 60, 21, 10)
    assert estimate.left == pytest.approx(600.0)


def test_games_longer_than_the_window_still_have_a_rate() -> None:
    meter = RateMeter()
    for game in range(1, 50):
        measure(meter, 3600.0 * game, game)
    estimate = measure(meter, 3600.0 * 49 + 1800, 49, 7)
    assert estimate.rate == pytest.approx(1 / 3600, rel=0.1)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (None, "–"),
        (12.34, "12.3 games/s"),
        (0.5, "30.0 games/min"),
        (1 / 3600, "1.0 games/h"),
    ],
)
def test_rates_have_a_suitable_unit(rate: float | None, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (-1.0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (7620.0, "2 h 07 min"),
        (3 * 86400 + 4 * 3600, "3 d 04 h"),
        (1e300, "365000 d 00 h"),
    ],
)
def test_durations_have_two_units(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text


VIEW = DisplayView("", Progress(137, 4000), 0.0, completed_this_run=37)


def test_progress_and_time_left_are_of_the_games_of_this_run() -> None:
    limited = dataclasses.replace(VIEW, limit=50)
    estimate = RateMeter().measure(limited, 37.0)
    assert estimate.left == pytest.approx(13.0)
    assert describe_progress(limited, estimate) == (
        "37 of 50 games of this run  74%  1.0 games/s  13 s left  (137/4000 in all)"
    )
    assert limited.share == 0.74


def test_limit_beyond_the_end_of_the_competition_changes_nothing() -> None:
    estimate = RateEstimate(1.0, 3863.0)
    text = describe_progress(VIEW, estimate)
    assert text == "137/4000 games  3%  1.0 games/s  1 h 04 min left"
    assert describe_progress(dataclasses.replace(VIEW, limit=3900), estimate) == text


def test_state_of_a_run_that_starts_no_games_replaces_rate_and_time_left() -> None:
    view = dataclasses.replace(VIEW, state="paused; p to go on")
    assert describe_progress(view, RateEstimate(1.0, 5.0)) == (
        "137/4000 games  3%  paused; p to go on"
    )
