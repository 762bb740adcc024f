"""What records say of a move's search, as formatting the figures would have it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringmaster.games.annotations import search_summary
from ringmaster.model.record import MoveRecord


def check_time(seconds: float) -> None:
    assert search_summary(MoveRecord("e2e4", 0, seconds)) == f"{seconds:.3f}s"


@given(st.integers(0, 20_000_000_000))
@example(500_000)
@example(99_499_999)
@example(99_500_000)
@example(125_000_000)
@example(9_994_999_999)
@example(9_995_000_000)
def test_times_are_rounded_as_formatting_rounds_them(elapsed: int) -> None:
    check_time(elapsed / 1e9)


@given(st.floats(0, 10))
def test_any_time_is_rounded_as_formatting_rounds_it(seconds: float) -> None:
    check_time(seconds)


@pytest.mark.parametrize("milliseconds", [n + 0.5 for n in range(100)])
def test_times_in_the_middle_of_two_figures_are_rounded_as_formatting_rounds_them(
    milliseconds: float,
) -> None:
    check_time(milliseconds / 1000)


@given(st.integers(-(10**15), 10**15).filter(bool), st.none() | st.integers(0, 200))
def test_scores_are_centipawns_with_a_sign(score: int, depth: int | None) -> None:
    said = search_summary(MoveRecord("e2e4", 0, None, score, None, depth))
    sign, size = "-" if score < 0 else "+", f"{abs(score):03d}"
    assert said == f"{sign}{size[:-2]}.{size[-2:]}" + ("" if depth is None else f"/{depth}")
