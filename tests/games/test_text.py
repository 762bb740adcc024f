from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringmaster.games.text import cut, lines, one_line, shown

anything = st.text(st.characters(), max_size=100)


@given(anything)
def test_a_line_holds_nothing_that_breaks_lines_or_encoding(text: str) -> None:
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
    assert lines("a\r\nb\rc\x85d\u2028e\te\x1bf") == "a\nb\nc\nd\ne e f"
    assert one_line("\ud800x") == "\ufffdx"


def test_what_is_too_long_ends_in_an_ellipsis() -> None:
    assert cut("abcd", 4) == "abcd"
    assert cut("abcde", 4) == "abc…"
    assert one_line("x" * 100_000, 10) == "x" * 9 + "…"
    assert shown("x" * 100) == repr("x" * 39 + "…")
