"""The printed form of problems."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ringmaster.control.source import WIDTH, ControlFileProblems, Diagnostic, render
from ringmaster.errors import ControlFileError


def diagnostic(line: str, start: int, end: int, message: str = "wrong") -> Diagnostic:
    """A diagnostic that marks characters [start, end) of `line`."""
    return Diagnostic("tune.ctl", 14, start + 1, end + 1, "", message, source_line=line)


def excerpt(line: str, start: int, end: int) -> tuple[str, str]:
    _, shown, caret = str(diagnostic(line, start, end)).split("\n")
    assert shown.startswith("   14 | ")
    assert caret.startswith("      | ")
    return shown[8:], caret[8:]


def columns(text: str) -> int:
    """Terminal columns of a text without tabs and control characters."""
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def test_diagnostic_names_place_setting_and_correct_value() -> None:
    line = """    'sf': Player("stockfish", options={"Hassh": 16}),"""
    start = line.index('"Hassh"')
    shown = str(
        Diagnostic(
            "tune.ctl",
            14,
            start + 1,
            start + 8,
            "players['sf'].options['Hassh']",
            "stockfish has no option 'Hassh'",
            "'Hash'",
            source_line=line,
        )
    )
    assert shown == (
        "tune.ctl:14:40: error: players['sf'].options['Hassh']: "
        "stockfish has no option 'Hassh'; expected 'Hash'\n"
        """   14 |     'sf': Player("stockfish", options={"Hassh": 16}),\n"""
        """      |                                        ^^^^^^^"""
    )


def test_problem_of_the_whole_file_has_no_line() -> None:
    assert str(Diagnostic("x.ctl", None, 1, 2, "", "no such file")) == "x.ctl: error: no such file"


def test_tabs_keep_the_caret_in_place() -> None:
    shown, caret = excerpt("\ta\t= 1", 4, 5)
    assert "\t" not in shown + caret
    assert shown[len(caret) - 1] == " "
    shown, caret = excerpt("\ta\t= 1", 3, 4)
    assert shown[caret.index("^")] == "="
    assert caret.count("^") == 1


def test_wide_and_combining_characters_keep_the_caret_in_place() -> None:
    shown, caret = excerpt("名前 = x", 5, 6)
    assert caret == " " * 7 + "^"
    assert columns(shown[:5]) == 7
    _, caret = excerpt("e\u0301 = x", 5, 6)
    assert caret == "    ^"
    _, caret = excerpt("x = '名前'", 4, 8)
    assert caret == "    ^^^^^^"


def test_control_and_direction_characters_are_escaped() -> None:
    shown, caret = excerpt("a\x1b[2J\u202eb", 6, 7)
    assert shown == "a\\x1b[2J\\u202eb"
    assert shown[caret.index("^")] == "b"
    header = str(diagnostic("", 0, 1, "bad \x1b]0;title\x07 and\nnewline")).split("\n")[0]
    assert header.endswith("bad \\x1b]0;title\\x07 and\\nnewline")


def test_very_long_line_is_cut_around_the_caret() -> None:
    line = "x" * 5000 + "HERE" + "y" * 5000
    shown, caret = excerpt(line, 5000, 5004)
    assert len(shown) <= WIDTH + 2
    assert shown[0] == shown[-1] == "…"
    assert shown[caret.index("^") : caret.index("^") + 4] == "HERE"
    assert caret.endswith("^^^^")
    assert len(caret.lstrip()) == 4


def test_very_long_message_is_cut() -> None:
    assert len(str(diagnostic("x", 0, 1, "m" * 10_000)).split("\n")[0]) <= 600


def test_caret_past_the_end_of_the_line_is_shown() -> None:
    shown, caret = excerpt("players = {", 40, 41)
    assert shown == "players = {"
    assert caret == " " * 11 + "^"


@given(
    st.text(st.characters(exclude_characters="\n"), max_size=200),
    st.integers(0, 210),
    st.integers(0, 30),
)
def test_caret_is_under_the_marked_text_in_any_line(line: str, start: int, length: int) -> None:
    shown, caret = excerpt(line, start, start + length)
    assert columns(shown) <= WIDTH + 2
    assert set(caret) <= {" ", "^"}
    assert "^" in caret
    assert columns(caret.rstrip("^")) <= columns(shown)
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)
    if start < len(line.rstrip()) and line[: start + 1].isascii() and line.isprintable():
        assert shown[caret.index("^")] == line[start]


def test_list_of_problems_is_ordered_and_limited() -> None:
    problems = [Diagnostic("x", n, 1, 2, "", f"problem {n}") for n in range(12, 0, -1)]
    problems.insert(0, Diagnostic("x", 1, 1, 2, "", "late warning", severity="warning"))
    lines = render(problems).split("\n")
    assert lines[0] == "x:1:1: error: problem 1"
    assert lines[7] == "x:8:1: error: problem 8"
    assert lines[8:] == ["and 5 more"]


def test_problems_are_a_control_file_error_with_data() -> None:
    error = ControlFileProblems([diagnostic("a = 1", 4, 5)])
    assert isinstance(error, ControlFileError)
    assert error.diagnostics[0].column == 5
    assert str(error).startswith("tune.ctl:14:5: error: wrong\n")
