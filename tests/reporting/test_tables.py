"""Reports as text: columns stay in line, numbers stay as they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.report import RIGHT, Cell, Report, Table, Text
from ringmaster.reporting.tables import format_float, render_report, render_table
from ringmaster.reporting.text import width

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


def test_decimal_points_stand_under_each_other() -> None:
    table = Table(
        ("", "Elo"), (("a", "1.5"), ("b", "-100.25"), ("c", "3")), align=("left", "decimal")
    )
    lines = render_table(table).splitlines()[1:]
    assert [line.find(".") for line in lines[:2]] == [lines[0].find(".")] * 2
    assert lines[2].index("3") == lines[0].index(".") - 1


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
    "table",
    [
        Table((), ()),
        Table(("a", "b"), ()),
        Table((), (("a", 1),)),
        Table(("a",), (("x", 1, 2.5), ())),
        Table(("a", "b"), ((None, None),)),
        Table(("", ""), (("x", "y"),), title="t", align=("left",)),
    ],
)
def test_incomplete_tables_are_drawn_as_far_as_they_go(table: Table) -> None:
    text = render_table(table)
    assert all(line == line.rstrip() for line in text.splitlines())
    for row in table.rows:
        assert all(str(cell) in text for cell in row if cell is not None)


@given(
    st.lists(
        st.tuples(
            st.text(max_size=8),
            st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=8)),
        ),
        max_size=5,
    )
)
def test_any_table_has_one_line_a_row(rows: list[tuple[Cell, ...]]) -> None:
    table = Table(("name", "value"), tuple(rows))
    assert len(render_table(table).split("\n")) == 1 + len(rows)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (100.0, "100"),
        (1234567.89, "1234568"),
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.333333"),
        (0.00001234, "0.00001234"),
        (1e-9, "1e-09"),
        (1e20, "1e+20"),
        (-2.5, "-2.5"),
        (math.inf, "inf"),
    ],
)
def test_floats_keep_six_digits_and_no_needless_exponent(value: float, text: str) -> None:
    assert format_float(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_float_is_the_float_to_six_digits(value: float) -> None:
    assert math.isclose(float(format_float(value)), value, rel_tol=1e-5, abs_tol=0.0)


def test_a_report_has_empty_lines_between_its_blocks() -> None:
    report = Report((MATCHUP, Text(("first", "  indented"))))
    text = render_report(report, "What it is.\n\n\tMore of it.\n", "playoff: test")
    parts = text.split("\n\n")
    assert parts[:3] == ["playoff: test", "What it is.", "        More of it."]
    assert parts[3] == render_table(MATCHUP)
    assert parts[4] == "first\n  indented\n"


def test_a_report_of_nothing_is_nothing() -> None:
    assert render_report(Report()) == ""
    assert render_report(Report((Text(()), Text(("",)))), "", "") == ""


def test_lines_beyond_the_width_are_cut() -> None:
    lines = render_report(Report((MATCHUP,)), width=30).splitlines()
    assert max(map(width, lines)) == 30
    assert lines[0].endswith("…")
