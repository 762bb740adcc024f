"""Clocks in whole nanoseconds."""

from __future__ import annotations

import pytest

from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl
from ringmaster.play.clock import Clock, describe_limits

S = 1_000_000_000
MS = 1_000_000


def clock(text: str | None = None, *, margin: float = 0.0, **limits: object) -> Clock:
    control = None if text is None else TimeControl.parse(text)
    player = Player("p", ("x",), protocol="uci", time_control=control, **limits)  # type: ignore[arg-type]
    return Clock(player, margin=margin, hang_timeout=60)


def test_move_is_charged_and_the_increment_added() -> None:
    c = clock("10+0.1")
    assert c.charge(2 * S)
    assert c.remaining == 8 * S + 100 * MS
    assert c.remaining_ms == 8100


def test_last_nanosecond_may_be_used_and_no_more() -> None:
    assert clock("1").charge(S)
    assert not clock("1").charge(S + 1)


def test_margin_forgives_but_gives_no_time() -> None:
    c = clock("1+0.5", margin=0.02)
    assert c.charge(S + 20 * MS)
    assert c.remaining == 500 * MS
    assert not clock("1", margin=0.02).charge(S + 20 * MS + 1)


def test_increment_is_not_there_before_the_move_is_made() -> None:
    assert not clock("1+5").charge(2 * S)


def test_time_is_added_after_the_moves_of_a_period() -> None:
    c = clock("2/10")
    assert c.moves_to_go == 2
    c.charge(4 * S)
    assert c.moves_to_go == 1
    c.charge(4 * S)
    assert c.moves_to_go == 2
    assert c.remaining == 12 * S


def test_engine_is_never_told_zero() -> None:
    c = clock("1", margin=1.0)
    c.charge(S)
    assert c.remaining == 0
    assert c.remaining_ms == 1


def test_move_time_is_a_limit_of_its_own() -> None:
    c = clock(move_time=0.1, margin=0.05)
    assert c.allowance() == 150 * MS
    assert not c.charge(151 * MS)
    assert not c.has_time


def test_shorter_of_clock_and_move_time_counts() -> None:
    c = clock("1", move_time=2.0)
    assert c.allowance() == S


def test_only_hanging_is_limited_under_nodes_and_depth() -> None:
    c = clock(nodes=1000)
    assert c.allowance() is None
    assert c.deadline() == 60
    assert c.charge(10_000 * S)


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("10+0.1", TimeControl(10, 0.1)),
        ("40/60", TimeControl(60, 0, 40)),
        ("40/1:00+0.6", TimeControl(60, 0.6, 40)),
        ("300", TimeControl(300)),
        (" 0.5+0.05 ", TimeControl(0.5, 0.05)),
    ],
)
def test_time_controls_are_read(text: str, control: TimeControl) -> None:
    assert TimeControl.parse(text) == control
    assert TimeControl.parse(str(control)) == control


@pytest.mark.parametrize("text", ["", "10+", "x", "0", "0/60", "-1", "10+0.1+1", "40/", "nan"])
def test_what_is_no_time_control_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|moves"):
        TimeControl.parse(text)


def test_limits_are_described_for_records() -> None:
    player = Player("p", ("x",), time_control=TimeControl(10, 0.1), nodes=5, move_time=0.5)
    assert describe_limits(player) == "10+0.1, 0.5 s a move, nodes 5"
