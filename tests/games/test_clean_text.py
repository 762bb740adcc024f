"""Cleaned engine text, and the summary of a search in comments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringmaster.formats.annotations import search_summary
from ringmaster.games.clean_text import cut, lines, one_line, shown
from ringmaster.model.results import MoveRecord

anything = st.text(st.characters(), max_size=100)


@given(anything)
def test_one_line_has_no_line_breaks_and_can_be_encoded(text: str) -> None:
    clean = one_line(text, 50)
    assert len(clean) <= 50
    assert len(clean.splitlines()) <= 1
    assert clean.encode().decode() == clean
    assert one_line(clean, 50) == clean


@given(anything)
def test_lines_hold_no_control_character_but_newline(text: str) -> None:
    clean = lines(text, 50)
    assert len(clean) <= 50
    assert clean.splitlines() == clean.split("\n") or not clean
    assert all(c == "\n" or c >= " " for c in clean)
    clean.encode()


def test_long_text_ends_in_an_ellipsis() -> None:
    assert cut("abcd", 4) == "abcd"
    assert cut("abcde", 4) == "abc…"
    assert one_line("x" * 100_000, 10) == "x" * 9 + "…"
    assert shown("x" * 100) == repr("x" * 39 + "…")


@given(st.integers(0, 20_000_000_000).map(lambda n: n / 1e9) | st.floats(0, 10))
def test_any_time_is_rounded_like_a_formatted_float(seconds: float) -> None:
    assert search_summary(MoveRecord("e2e4", 0, seconds)) == f"{seconds:.3f}s"


@given(st.integers(-(10**15), 10**15).filter(bool), st.none() | st.integers(0, 200))
def test_scores_are_centipawns_with_a_sign(score: int, depth: int | None) -> None:
    text = search_summary(MoveRecord("e2e4", 0, None, score, None, depth))
    sign, size = "-" if score < 0 else "+", f"{abs(score):03d}"
    assert text == f"{sign}{size[:-2]}.{size[-2:]}" + ("" if depth is None else f"/{depth}")
