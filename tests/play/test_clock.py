"""Clocks in whole nanoseconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.players import Player, describe_limits
from ringmaster.model.time_control import TimeControl
from ringmaster.play.clock import Clock

S = 1_000_000_000
MS = 1_000_000


def clock(text: str | None = None, *, margin: float = 0.0, **limits: object) -> Clock:
    """Return a clock in nanoseconds, like GTP's."""
    control = None if text is None else TimeControl.parse(text)
    player = Player("p", ("x",), **{"time_control": control, **limits})  # type: ignore[arg-type]
    return Clock(player, margin=margin, hang_timeout=60)


@pytest.mark.parametrize("protocol", ["uci", "usi"])
def test_time_of_a_move_is_rounded_down_to_the_protocols_unit(protocol: str) -> None:
    c = clock("1", protocol=protocol)
    assert c.charge(100 * MS + 999_999)
    assert c.reading == (900 * MS, None)
    assert c.charge(900 * MS + 999_999)
    assert not clock("1", protocol=protocol).charge(S + MS)


def test_margin_of_a_player_comes_before_that_of_the_game() -> None:
    assert clock(move_time=1.0, margin=0.5).allowance == S + 500 * MS
    player = Player("p", ("x",), protocol="uci", move_time=1.0, margin=0.0)
    assert Clock(player, margin=0.5, hang_timeout=60).allowance == S


def test_byo_yomi_is_sent_apart_from_the_base_time() -> None:
    c = clock("2+10byo", protocol="usi")
    assert (c.remaining_ms, c.byoyomi_ms) == (2000, 10_000)
    assert c.charge(5 * S)
    assert (c.remaining_ms, c.byoyomi_ms) == (0, 10_000)
    assert c.allowance == 10 * S
    assert c.charge(10 * S)
    assert not c.charge(10 * S + MS)


@given(
    st.integers(0, 12),
    st.integers(1, 5),
    st.integers(1, 9),
    st.lists(st.integers(0, 20), max_size=30),
)
def test_increment_and_byo_yomi_leave_unused_base_time(
    base: int, increment: int, period: int, moves: list[int]
) -> None:
    c = clock(f"{base}+{increment}+{period}byo", protocol="usi")
    left = base
    for move in moves:
        assert c.charge(move * S) == (move <= left + period)
        if move > left + period:
            return
        left = max(0, left - move) + increment
        assert c.remaining_ms == 1000 * left


def test_the_tightest_of_several_limits_holds() -> None:
    assert clock("5", move_time=2.0).allowance == 2 * S
    assert clock("1", move_time=2.0, nodes=5, depth=3).allowance == S
    assert clock(nodes=5, depth=3).allowance is None


def test_last_nanosecond_may_be_used_and_no_more() -> None:
    assert clock("1").charge(S)
    assert not clock("1").charge(S + 1)


def test_margin_forgives_but_gives_no_time() -> None:
    c = clock("1+0.5", margin=0.02)
    assert c.charge(S + 20 * MS)
    assert c.reading == (500 * MS, None)
    assert not clock("1", margin=0.02).charge(S + 20 * MS + 1)


def test_increment_comes_after_the_move() -> None:
    assert not clock("1+5").charge(2 * S)


def test_time_is_added_after_the_moves_of_a_period() -> None:
    c = clock("2/10")
    assert c.moves_to_go == 2
    c.charge(4 * S)
    assert c.moves_to_go == 1
    c.charge(4 * S)
    assert c.moves_to_go == 2
    assert c.reading == (12 * S, None)


def test_engine_never_gets_zero_on_its_clock() -> None:
    c = clock("1", margin=1.0)
    c.charge(S)
    assert c.reading == (0, None)
    assert c.remaining_ms == 1


def test_move_time_is_a_limit_of_its_own() -> None:
    c = clock(move_time=0.1, margin=0.05)
    assert c.allowance == 150 * MS
    assert not c.charge(151 * MS)
    assert not c.has_time


def test_only_hanging_is_limited_under_nodes_and_depth() -> None:
    c = clock(nodes=1000)
    assert c.allowance is None
    assert c.deadline == 60
    assert c.charge(10_000 * S)


def test_limits_are_described_for_records() -> None:
    player = Player("p", ("x",), time_control=TimeControl(10, 0.1), nodes=5, move_time=0.5)
    assert describe_limits(player) == "10+0.1, 0.5 s a move, nodes 5"


def reading(c: Clock) -> tuple[float, int | None]:
    assert c.reading is not None
    left, overtime = c.reading
    return left / S, overtime


def test_all_periods_may_be_used_for_one_move() -> None:
    c = clock("10+5x30", margin=0.05)
    assert c.total == 160 * S
    assert c.deadline == 160.05
    assert c.charge(160 * S + 50 * MS)
    assert reading(c) == (30, 1)
    assert not clock("10+5x30", margin=0.05).charge(160 * S + 50 * MS + 1)


def test_a_canadian_period_that_the_margin_has_saved_stands_at_zero() -> None:
    c = clock("0+2/10", margin=0.5)
    assert c.charge(10 * S + 400 * MS)
    assert reading(c) == (0, 1)
    assert c.charge(500 * MS)
    assert reading(c) == (10, 2)


@pytest.mark.parametrize(
    ("text", "spent", "reported"),
    [
        ("600", 0.5, (599.5, 0)),
        ("600+5x30", 599.5, (30, 5)),
        ("600+5x30", 631, (30, 4)),
        ("600+25/300", 599.5, (300, 25)),
        ("600+25/300", 610, (290, 24)),
        ("0+5x30", 0, (30, 5)),
        ("1", 0.9, (0.1, 0)),
    ],
)
def test_time_left_has_gtps_form(text: str, spent: float, reported: tuple[float, int]) -> None:
    c = clock(text)
    if spent:
        assert c.charge(round(spent * S))
    assert c.time_left == reported


def test_a_move_time_is_sent_as_a_period_of_one_stone() -> None:
    assert clock(move_time=5.0).time_left == (5, 1)
    assert clock(nodes=1).time_left is None
    assert clock(move_time=5.0).reading is None


def by_the_second(text: str, moves: list[int]) -> list[tuple[int, int] | None]:
    """Restate byo-yomi second by second: what is left after each move, None for
    a loss on time."""
    control = TimeControl.parse(text)
    count = control.periods or control.stones
    base, period, left = int(control.base), int(control.period), 0
    overtime = base == 0
    if overtime:
        left = period
    after: list[tuple[int, int] | None] = []
    for move in moves:
        for _ in range(move):
            if not overtime and base == 0:
                overtime, left = True, period
            if not overtime:
                base -= 1
            else:
                if left == 0:
                    if control.stones or count == 1:
                        return [*after, None]
                    count, left = count - 1, period
                left -= 1
        if not overtime:
            after.append((base, 0))
            continue
        if control.periods:
            left = period
        else:
            count -= 1
            if count == 0:
                count, left = control.stones, period
        after.append((left, count))
    return after


@given(
    st.integers(0, 12),
    st.integers(1, 9),
    st.integers(1, 4),
    st.booleans(),
    st.lists(st.integers(0, 14), max_size=30),
)
def test_byo_yomi_agrees_with_a_clock_that_ticks(
    base: int, period: int, count: int, japanese: bool, moves: list[int]
) -> None:
    text = f"{base}+{count}x{period}" if japanese else f"{base}+{count}/{period}"
    c = clock(text)
    for move, expected in zip(moves, by_the_second(text, moves), strict=False):
        total = c.total
        assert c.charge(move * S) == (expected is not None) == (move * S <= total)
        if expected is None:
            return
        left, overtime = reading(c)
        assert (left, overtime or 0) == expected
