"""Time controls, scales, and random words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import Explicit, Linear, Log, rounded
from ringmaster.model.randomness import uniform, word_array, words
from ringmaster.model.time_control import LONGEST, TimeControl

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
def test_time_control_is_read_as_it_is_written(control: TimeControl) -> None:
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
def test_kinds_of_overtime_are_distinguished(text: str, kind: str) -> None:
    assert TimeControl.parse(text).overtime == kind


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("40/60+5x30", "either moves/seconds or byo-yomi"),
        ("600+0x30", "number of periods must be at least 1"),
        ("600+0/300", "number of moves must be at least 1"),
        ("600+10001x30", "is too long"),
        ("600+5x30byo", "'600+30byo' (one period)"),
        ("600+5x30+1", "is not a time control"),
        ("40/600+1+5byo", "either moves/seconds or byo-yomi"),
        ("٣+1", "is not a time control"),
        ("9" * 6000, "is too long"),
        ("1+" + "9" * 6000 + "x5", "is too long"),
    ],
)
def test_contradictory_parts_are_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=r"time control|period|moves") as caught:
        TimeControl.parse(text)
    assert fault in str(caught.value)


UNIT = st.floats(0, 1)
# half of the least subnormal number is rounded to it or to 0
BOUND = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(BOUND, BOUND)
def test_linear_scale_goes_from_bound_to_bound(low: float, high: float) -> None:
    scale = Linear(low, high)
    near = 1e-12 * (abs(low) + abs(high))
    assert scale(0.0) == pytest.approx(low, abs=near)
    assert scale(1.0) == pytest.approx(high, abs=near)
    assert scale(0.5) == pytest.approx((low + high) / 2, abs=near)


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), UNIT)
def test_equal_steps_of_a_log_scale_are_equal_factors(low: float, high: float, f: float) -> None:
    scale = Log(low, high)
    assert scale(0.0) == pytest.approx(low)
    assert scale(1.0) == pytest.approx(high)
    assert scale(f) == pytest.approx(low * (high / low) ** f)


def test_log_scale_may_be_negative_on_both_ends() -> None:
    assert Log(-1, -100)(0.5) == pytest.approx(-10)


@pytest.mark.parametrize(
    ("value", "whole"), [(2.5, 3), (2.4, 2), (-2.5, -2), (-2.6, -3), (-0.2, 0), (0.5, 1)]
)
def test_halves_are_rounded_upwards_also_below_zero(value: float, whole: int) -> None:
    assert rounded(value) == whole


@given(st.integers(-50, 50), st.integers(1, 40))
def test_linear_scale_reaches_each_whole_number_of_a_range(low: int, count: int) -> None:
    """The documentation's advice: LINEAR(low + 0.5, ...) for a simple range."""
    scale = Linear(low - 0.5, low + count - 0.5, integer=True)
    samples = [scale((i + 0.5) / count) for i in range(count)]
    assert samples == list(range(low, low + count))
    assert all(type(s) is int for s in samples)


@given(st.lists(st.text(), min_size=1, max_size=20))
def test_explicit_scale_gives_each_value_once_when_split_is_its_length(values: list[str]) -> None:
    scale = Explicit(tuple(values))
    count = len(values)
    assert [scale((i + 0.5) / count) for i in range(count)] == values


@given(UNIT)
def test_no_scale_leaves_its_bounds(f: float) -> None:
    assert -3 <= Linear(-3, 7, integer=True)(f) <= 7
    assert 3 - 1e-9 <= Log(3, 3000)(f) <= 3000 * (1 + 1e-12)
    assert Explicit((1, 2, 3))(f) in (1, 2, 3)


WORD = st.integers(0, 2**64 - 1)


@given(st.integers(-(2**200), 2**200), WORD, WORD, st.integers(0, 70))
def test_words_equal_numpys_philox(seed: int, stream: int, number: int, count: int) -> None:
    counter = np.array([0, number, stream, 0], dtype=np.uint64)
    generator = np.random.Philox(key=seed % (1 << 128), counter=counter)
    assert words(seed, stream, number, count) == [int(w) for w in generator.random_raw(count)]


@given(st.integers(-(2**200), 2**200), WORD, WORD, st.integers(0, 70))
def test_array_has_the_same_words(seed: int, stream: int, number: int, count: int) -> None:
    array = word_array(seed, stream, number, count)
    assert array.dtype == np.uint64
    assert array.tolist() == words(seed, stream, number, count)


@pytest.mark.parametrize(("word", "number"), [(0, 0.0), (1 << 63, 0.5), (2**64 - 1, 1 - 2**-53)])
def test_uniform_numbers_fill_the_unit_interval_but_its_end(word: int, number: float) -> None:
    assert uniform(word) == number
