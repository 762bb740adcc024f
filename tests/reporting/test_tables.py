"""Reports as text: columns stay in line, numbers stay as they are."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.report import RIGHT, Cell, Report, Table, Text
from ringmaster.reporting.tables import format_float, render_report, render_table
from ringmaster.reporting.text import ENCODING_ERRORS, cut, sanitise, width


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("GNU Go 3.8", "GNU Go 3.8"),
        ("  indented", "  indented"),
        ("two\nlines", "two lines"),
        ("line\u2028separator\x85next", "line separator next"),
        ("\x1b[31mred\x1b[0m", "\ufffdred\ufffd"),
        ("\x1b]0;title\x07name", "\ufffdname"),
        ("\x9b2Jname", "\ufffdname"),
        ("open \x1b]0;never closed", "open \ufffd0;never closed"),
        ("bell\x07 null\x00 del\x7f", "bell\ufffd null\ufffd del\ufffd"),
        ("ab\u202edc\u2066\u200f", "abdc"),
        ("lone \udcff surrogate", "lone \ufffd surrogate"),
        ("private \ue000 use", "private \ufffd use"),
        ("Wu\u0308rger", "Würger"),
        ("x" + "\u0301" * 50, "x" + "\u0301" * 3),
        ("技巧2", "技巧2"),
    ],
)
def test_hostile_text_becomes_one_harmless_line(hostile: str, harmless: str) -> None:
    assert sanitise(hostile) == harmless


@given(st.text(st.characters()), st.integers(1, 40))
def test_sanitised_text_has_no_control_sequences(text: str, limit: int) -> None:
    clean = sanitise(text, limit)
    assert width(clean) <= limit
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in clean)
    assert sanitise(clean) == clean


def test_cutting_counts_columns_and_never_splits_a_letter_from_its_marks() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"
    assert cut("技巧技巧", 4) == "技…"
    assert cut("x\u0331y\u0331z\u0331", 2) == "x\u0331…"
    assert cut("abc", 0) == ""


def test_characters_outside_the_encoding_are_replaced() -> None:
    assert "– 技 …".encode("utf-8", ENCODING_ERRORS).decode() == "– 技 …"
    assert "– 技 … ü".encode("ascii", ENCODING_ERRORS) == b"- ? ... ?"
    assert "ü … ±3".encode("latin-1", ENCODING_ERRORS) == "ü ... ±3".encode("latin-1")
    assert "half of a pair: \udcff".encode("utf-8", ENCODING_ERRORS) == b"half of a pair: ?"


MATCHUP = Table(
    headers=("", "wins", "", "black", "", "white", "", "avg cpu"),
    rows=(
        ("gnugo-l1", "2", "40.00%", "1", "33.33%", "1", "50.00%", "1.23"),
        ("gnugo-l2", "3", "60.00%", "1", "50.00%", "2", "66.67%", None),
    ),
    title="gnugo-l1 v gnugo-l2 (5/5 games)\nboard size: 9   komi: 7.5",
    notes=("1 unknown result",),
    align=("left", *[RIGHT] * 7),
)


def test_a_matchup_looks_as_it_does_in_gomill() -> None:
    assert render_table(MATCHUP).splitlines() == [
        "gnugo-l1 v gnugo-l2 (5/5 games)",
        "board size: 9   komi: 7.5",
        "            wins            black            white            avg cpu",
        "gnugo-l1       2  40.00%        1  33.33%        1  50.00%       1.23",
        "gnugo-l2       3  60.00%        1  50.00%        2  66.67%",
        "1 unknown result",
    ]


def test_text_that_looks_like_a_number_is_left_alone() -> None:
    rows: tuple[tuple[Cell, ...], ...] = (("1e5", "0001", "1_000", "nan", "5."),)
    assert render_table(Table(("a", "b", "c", "d", "e"), rows)).splitlines()[1].split() == [
        "1e5",
        "0001",
        "1_000",
        "nan",
        "5.",
    ]


def test_wide_and_combining_letters_do_not_shift_columns() -> None:
    table = Table(
        ("player", "wins"),
        (("技巧", 1), ("x\u0331y\u0331", 22), ("plain", 333)),
        align=("left", "right"),
    )
    lines = render_table(table).splitlines()
    assert {width(line) for line in lines} == {width(lines[0])}
    assert "x\u0331y\u0331" in lines[2]


def test_a_hostile_name_stays_in_its_cell() -> None:
    table = Table(("player", "wins"), (("evil\x1b[2J\nname\u202e" + "x" * 500, 1), ("b", 2)))
    lines = render_table(table).splitlines()
    assert len(lines) == 3
    assert "\x1b" not in lines[1]
    assert len(lines[1]) < 80


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (100.0, "100"),
        (1234567.89, "1234568"),
        (1 / 3, "0.333333"),
        (0.00001234, "0.00001234"),
        (1e-9, "1e-09"),
        (math.inf, "inf"),
    ],
)
def test_floats_keep_six_digits_and_no_needless_exponent(value: float, text: str) -> None:
    assert format_float(value) == text


def test_a_report_begins_and_ends_with_its_verdict() -> None:
    verdict = (
        "new is better: +12.3 ± 5.1 Elo (95 %), LOS 99.9 %, SPRT accepted H1 after 1,204 games"
    )
    report = Report((MATCHUP,))
    text = render_report(report, "What it is.", "playoff: test", verdict=verdict * 2)
    parts = text.split("\n\n")
    # of any length, it is one line
    assert parts[:2] == [f"playoff: test\n{verdict * 2}", "What it is."]
    assert parts[-1] == f"{verdict * 2}\n"
    text = render_report(report, heading="playoff: test", verdict=verdict, begins=False)
    assert text.split("\n\n")[0] == "playoff: test"
    assert text.endswith(f"\n\n{verdict}\n")


def test_lines_beyond_the_width_of_a_terminal_are_broken_between_words() -> None:
    report = Report((MATCHUP, Text(("a word of the text " * 6,))))
    verdict = "current-master is better so far: +83.4 ± 54.2 Elo (95 %)"
    lines = render_report(report, verdict=verdict, columns=50).splitlines()
    assert all(width(line) <= 50 for line in lines)
    text = render_report(report, verdict=verdict)
    assert " ".join(lines).split() == text.split()


def test_long_notes_and_texts_continue_on_an_indented_line() -> None:
    words = " ".join(["word"] * 30)
    lines = render_report(
        Report((Table((), (), notes=(words,)), Text((f"  {words}",))))
    ).splitlines()
    assert max(map(width, lines)) <= 100
    assert [line.index("word") for line in lines if line] == [0, 4, 2, 6]
    assert sum(line.count("word") for line in lines) == 60
