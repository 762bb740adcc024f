"""Time controls as users write them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringmaster.model.settings import canonical
from ringmaster.model.time_control import LONGEST, TimeControl, number

seconds = st.one_of(
    st.integers(1, int(LONGEST)).map(float),
    st.floats(1e-9, LONGEST, allow_nan=False),
    st.decimals(1, 1000, places=2).map(float),
)
bases = st.just(0.0) | seconds
counts = st.integers(1, 10_000)
controls = st.one_of(
    st.builds(TimeControl, seconds, st.just(0.0) | seconds, st.just(0) | counts),
    st.builds(TimeControl, bases, period=seconds, periods=counts),
    st.builds(TimeControl, bases, increment=seconds, period=seconds, periods=st.just(1)),
    st.builds(TimeControl, bases, period=seconds, stones=counts),
)


@given(controls)
@example(TimeControl(123456.789, 1e-9))
def test_a_time_control_is_read_as_it_is_written(control: TimeControl) -> None:
    assert TimeControl.parse(str(control)) == control
    assert canonical(control) == canonical(TimeControl.parse(str(control)))


@given(st.text(max_size=20) | st.text("0123456789+x/:.byo ", max_size=14))
def test_any_text_is_a_time_control_or_refused_with_a_reason(text: str) -> None:
    try:
        control = TimeControl.parse(text)
    except ValueError as error:
        reason = str(error)
    else:
        reason = ""
        assert TimeControl.parse(str(control)) == control
        assert control.base > 0 or control.period > 0
    assert not reason or any(word in reason for word in ("time", "moves", "period"))


@pytest.mark.parametrize(
    ("text", "control", "written"),
    [
        ("600+5x30", TimeControl(600, period=30, periods=5), "600+5x30"),
        ("0+5x30", TimeControl(0, period=30, periods=5), "0+5x30"),
        ("10:00+5x0:30", TimeControl(600, period=30, periods=5), "600+5x30"),
        ("600+30byo", TimeControl(600, period=30, periods=1), "600+30byo"),
        ("600+1x30", TimeControl(600, period=30, periods=1), "600+30byo"),
        ("600+25/300", TimeControl(600, period=300, stones=25), "600+25/300"),
        ("10:00+25/5:00", TimeControl(600, period=300, stones=25), "600+25/300"),
        ("0.5+1/0.25", TimeControl(0.5, period=0.25, stones=1), "0.5+1/0.25"),
        ("1:30+0:02", TimeControl(90, 2), "90+2"),
        ("40/1:00+0.6", TimeControl(60, 0.6, 40), "40/60+0.6"),
        ("10:00+10+5byo", TimeControl(600, 10, period=5, periods=1), "600+10+5byo"),
        ("600+0+5byo", TimeControl(600, period=5, periods=1), "600+5byo"),
    ],
)
def test_byo_yomi_and_minutes(text: str, control: TimeControl, written: str) -> None:
    assert TimeControl.parse(text) == control
    assert str(control) == written


@pytest.mark.parametrize(
    ("text", "kind"), [("600+5x30", "japanese"), ("600+25/300", "canadian"), ("600+5", "")]
)
def test_kinds_of_overtime_are_told_apart(text: str, kind: str) -> None:
    assert TimeControl.parse(text).overtime == kind


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("40/60+5x30", "either moves/seconds or byo-yomi"),
        ("0+25/0", "a period must be more than 0 seconds"),
        ("600+0x30", "number of periods must be at least 1"),
        ("600+0/300", "number of moves must be at least 1"),
        ("600+10001x30", "is too long"),
        ("600+5x1000001", "is too long"),
        ("600+5x30byo", "'600+30byo' (one period)"),
        ("600+5x30+1", "is not a time control"),
        ("600+1+5x30", "or '600+10+5byo' (increment and byo-yomi)"),
        ("600+1+5", "is not a time control"),
        ("40/600+1+5byo", "either moves/seconds or byo-yomi"),
        ("٣+1", "is not a time control"),
        ("9" * 6000, "is too long"),
        ("9" * 6000 + "/5", "is too long"),
        ("1+" + "9" * 6000 + "x5", "is too long"),
        ("byo", "is not a time control"),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"time control|period|moves") as caught:
        TimeControl.parse(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"), [(5.0, "5"), (0.1, "0.1"), (1e-9, "0.000000001"), (100.0, "100"), (7, "7")]
)
def test_numbers_are_exact_and_plain(value: float, text: str) -> None:
    assert number(value) == text
