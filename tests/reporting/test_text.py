"""Hostile text becomes one harmless line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.reporting.text import clusters, cut, pad, printable, sanitise, width


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("GNU Go 3.8", "GNU Go 3.8"),
        ("  indented", "  indented"),
        ("two\nlines", "two lines"),
        ("two\r\n\tlines", "two lines"),
        ("line\u2028separator\x85next", "line separator next"),
        ("\x1b[31mred\x1b[0m", "\ufffdred\ufffd"),
        ("\x1b]0;title\x07name", "\ufffdname"),
        ("\x1b]52;c;ZXZpbA==\x1b\\name", "\ufffdname"),
        ("\x9b2Jname", "\ufffdname"),
        ("\x1bcname", "\ufffdname"),
        ("open \x1b", "open \ufffd"),
        ("open \x1b]0;never closed", "open \ufffd0;never closed"),
        ("bell\x07 null\x00 del\x7f", "bell\ufffd null\ufffd del\ufffd"),
        ("ab\u202edc\u2066\u200f", "abdc"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("lone \udcff surrogate", "lone \ufffd surrogate"),
        ("private \ue000 use", "private \ufffd use"),
        ("Würger", "Würger"),
        ("Wu\u0308rger", "Würger"),
        ("x" + "\u0301" * 50, "x" + "\u0301" * 3),
        ("no\u00a0break", "no break"),
        ("技巧2", "技巧2"),
    ],
)
def test_hostile_text_becomes_one_harmless_line(hostile: str, harmless: str) -> None:
    assert sanitise(hostile) == harmless


@given(st.text(st.characters()), st.integers(1, 40))
def test_sanitised_text_has_nothing_that_a_terminal_obeys(text: str, limit: int) -> None:
    clean = sanitise(text, limit)
    assert width(clean) <= limit
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in clean)
    assert sanitise(clean) == clean


def test_a_megabyte_of_name_is_cut_without_being_read_through() -> None:
    assert sanitise("\x1b[1m" + "x" * 10_000_000, 10) == "\ufffdxxxxxxxx…"


def test_cutting_counts_columns_and_never_splits_a_letter_from_its_marks() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"
    assert cut("技巧技巧", 4) == "技…"
    assert cut("x\u0331y\u0331z\u0331", 2) == "x\u0331…"
    assert cut("abc", 0) == ""


def test_widths_are_those_of_a_terminal() -> None:
    assert width("技巧2") == 5
    assert width("x\u0331") == 1
    assert pad("技巧", 6) == "技巧  "
    assert list(clusters("ax\u0331b")) == ["a", "x\u0331", "b"]


def test_what_a_stream_cannot_encode_is_replaced() -> None:
    assert printable("– 技 …", "utf-8") == "– 技 …"
    assert printable("– 技 …", "ascii") == "- ? ..."
    assert printable("ü ±3", "latin-1") == "ü ±3"
    assert printable("ü…", "latin-1") == "ü..."
    assert printable("ü…", None) == "?..."
    assert printable("a…", "no-such-codec") == "a..."
