"""Cleaned engine text, and the summary of a search in comments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringmaster.games.annotations import search_summary
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


def test_control_characters_and_direction_overrides_become_a_space() -> None:
    assert one_line("\x1b[31mred\x07\r\nfoo\u202ebar\u2066") == "[31mred foo bar"
    assert one_line("a\u061cb\u200ec\u200f\x7fd") == "a b c d"
    assert lines("a\r\nb\rc\x85d\u2028e\te\x1bf") == "a\nb\nc\nd\ne e f"
    assert one_line("\ud800x") == "\ufffdx"


def test_long_text_ends_in_an_ellipsis() -> None:
    assert cut("abcd", 4) == "abcd"
    assert cut("abcde", 4) == "abc…"
    assert one_line("x" * 100_000, 10) == "x" * 9 + "…"
    assert shown("x" * 100) == repr("x" * 39 + "…")


@given(st.integers(0, 20_000_000_000).map(lambda n: n / 1e9) | st.floats(0, 10))
def test_any_time_is_rounded_like_a_formatted_float(seconds: float) -> None:
    assert search_summary(MoveRecord("e2e4", 0, seconds)) == f"{seconds:.3f}s"


def test_half_way_times_are_rounded_like_formatted_floats() -> None:
    times = [n / 2000 for n in range(200)] + [0.0994995, 0.0995, 0.125, 9.994999999, 9.995]
    wrong = [s for s in times if search_summary(MoveRecord("e2e4", 0, s)) != f"{s:.3f}s"]
    assert wrong == []


@given(st.integers(-(10**15), 10**15).filter(bool), st.none() | st.integers(0, 200))
def test_scores_are_centipawns_with_a_sign(score: int, depth: int | None) -> None:
    text = search_summary(MoveRecord("e2e4", 0, None, score, None, depth))
    sign, size = "-" if score < 0 else "+", f"{abs(score):03d}"
    assert text == f"{sign}{size[:-2]}.{size[-2:]}" + ("" if depth is None else f"/{depth}")
