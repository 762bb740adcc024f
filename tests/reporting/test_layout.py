"""The live display always fits: the answer first, and the report is given up last."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.report import LEFT, RIGHT, Progress, Report, Table, Text
from ringmaster.reporting.layout import Line, compose
from ringmaster.reporting.progress import DisplayView, RateEstimate
from ringmaster.reporting.text import width

TABLE = Table(
    headers=("parameter", "value"),
    rows=tuple((f"p{i}", str(i)) for i in range(6)),
    title="iteration 12/2000",
)
VERDICT = "new is better: +12.3 ± 5.1 Elo (95 %), LOS 99.9 %"
VIEW = DisplayView(
    heading="tune: spsa",
    description="What it is for.",
    progress=Progress(1000, 4000, phase="tuning"),
    started=100.0,
    completed_this_run=500,
    report=Report((TABLE,)),
    running={f"0_{i:03d}": ("a", "b") for i in range(4)},
    results=[f"result {i}" for i in range(30)],
    warnings=["a warning"],
    parallel=4,
    hint="? keys  q stop  p pause",
    verdict=VERDICT,
)
ESTIMATE = RateEstimate(12.3, 244.0)


def texts(view: DisplayView = VIEW, columns: int = 80, rows: int = 60) -> list[str]:
    return list(map(whole, compose(view, ESTIMATE, 165.0, columns, rows)))


def whole(line: Line) -> str:
    """Return the text of a line with that of its second column."""
    return line.text + ("" if line.beside is None else line.beside.text)


def test_everything_is_shown_where_there_is_room() -> None:
    lines = texts()
    assert lines[0] == VERDICT
    assert "1000/4000 games  25%  12.3 games/s  4 min 04 s left  tuning" in lines[1]
    assert "What it is for." in lines
    assert "iteration 12/2000" in lines
    assert "0_003  a v b" in "\n".join(lines)
    assert lines[-1].startswith("tune: spsa, 4 games at a time, 1 min 05 s  ")
    assert lines[-1].endswith("  ? keys  q stop  p pause")
    assert [line for line in lines if line.startswith("result")] == list(VIEW.results)


def test_a_screen_of_24_rows_has_the_answer_then_three_results_and_games_in_progress() -> None:
    lines = texts(rows=24)
    assert len(lines) == 24
    assert lines[0] == VERDICT
    assert lines.index("iteration 12/2000") < lines.index("last results")
    assert lines.index("last results") < lines.index("games in progress")
    assert [line for line in lines if line.startswith("result")] == list(VIEW.results)[-3:]
    assert any(line.startswith("p5") for line in lines)
    assert "a warning" in lines


def test_a_long_list_of_results_leaves_room_for_the_description() -> None:
    view = dataclasses.replace(VIEW, report=Report(), running={"0_000": ("a", "b")}, warnings=[])
    assert "What it is for." in texts(view, rows=24)


@pytest.mark.parametrize("rows", [24, 30, 40])
def test_results_fill_the_screen_below_a_short_report(rows: int) -> None:
    view = dataclasses.replace(VIEW, running={"0_000": ("a", "b")}, warnings=[])
    lines = texts(view, rows=rows)
    shown = sum(line.startswith("result") for line in lines)
    assert shown > 1
    for above, line in itertools.pairwise(lines):
        assert above or line
    assert lines[-2] == "0_000  a v b"
    taller = sum(line.startswith("result") for line in texts(view, rows=rows + 4))
    assert taller == shown + 4


@pytest.mark.parametrize("columns", [50, 150])
def test_lines_are_broken_between_words(columns: int) -> None:
    line = "game 0_0200: candidate-new-pruning beat current-master 1-0 (mate)"
    warning = "warning: " + "the engine candidate-new-pruning wrote more than a megabyte " * 3
    view = dataclasses.replace(
        VIEW, results=[line], warnings=[warning], description="", report=Report((MATCHUPS,))
    )
    composed = compose(view, ESTIMATE, 165.0, columns, 40)
    first = " ".join(line.text for line in composed)
    second = " ".join(line.beside.text for line in composed if line.beside is not None)
    text = " ".join(f"{first} {second}".split())
    assert line in text
    assert warning.strip() in text
    assert VERDICT in text
    assert "0-1-3-2-1" in text
    assert "…" not in text


ADDRESS = "http://127.0.0.1:35027/a5kV1IGPXpi6ifYC934Dvw/"


@pytest.mark.parametrize(
    ("columns", "start", "keys"),
    [
        (120, f"{ADDRESS}  tune: spsa, 4 games at a time, ", "  ? keys  q stop  p pause"),
        (80, f"{ADDRESS}  ", "  ? keys  q stop  p pause"),
        (60, f"{ADDRESS}  ", "  ? keys"),
        (40, "tune: spsa  ", "  ? keys  q stop  p pause"),
    ],
)
def test_the_address_of_the_page_stays_on_the_last_line(
    columns: int, start: str, keys: str
) -> None:
    status = texts(dataclasses.replace(VIEW, page=ADDRESS), columns, 24)[-1]
    assert width(status) == columns
    assert status.startswith(start)
    assert status.endswith(keys)


def test_a_small_screen_keeps_the_answer_and_the_parameters() -> None:
    lines = texts(columns=40, rows=10)
    assert len(lines) == 10
    assert lines[:2] == ["new is better: +12.3 ± 5.1 Elo (95 %),", "LOS 99.9 %"]
    assert "1000/4000 games" in lines[2]
    assert any(line.startswith("p0") for line in lines)
    assert lines[-1].endswith("? keys  q stop  p pause")


def test_a_wide_screen_has_results_and_games_in_progress_beside_the_report() -> None:
    lines = texts(columns=200, rows=60)
    assert len(lines) == 60
    assert any(line.startswith("iteration 12/2000") for line in lines)
    assert lines[3].index("games in progress") > 100
    assert sum("result" in line for line in lines) == 31
    assert any(line.index("0_003  a v b") > 100 for line in lines if "0_003" in line)
    assert all(width(line) <= 200 for line in lines)


MATCHUPS = Table(
    headers=("matchup", "Elo (95 %)", "LOS", "LLR", "LL-LD-DD-WD-WW", "points"),
    rows=(
        ("stockfish v glaurung", "+241.3 (106 to 518)", "99.9 %", "1.23/2.94", "0-1-3-2-1", "5-2"),
        ("a v b", None, None, None, "0-0-0-0-0", "0-0"),
    ),
    align=(LEFT, *[RIGHT] * 5),
)


def test_columns_of_a_table_that_is_too_wide_move_to_a_second_line_with_their_headers() -> None:
    view = dataclasses.replace(VIEW, report=Report((MATCHUPS,)))
    lines = texts(view, 60, 24)
    start = next(i for i, line in enumerate(lines) if line.startswith("matchup"))
    assert lines[start].split() == ["matchup", "Elo", "(95", "%)", "LOS", "LLR"]
    assert lines[start + 1].startswith("stockfish v glaurung  +241.3 (106 to 518)  99.9 %")
    assert lines[start + 2] == "    LL-LD-DD-WD-WW 0-1-3-2-1   points 5-2"
    assert lines[start + 4] == "    LL-LD-DD-WD-WW 0-0-0-0-0   points 0-0"
    assert "…" not in "".join(lines[start : start + 5])


def test_a_long_report_counts_its_hidden_rows_by_an_ellipsis() -> None:
    view = dataclasses.replace(VIEW, report=Report((Text(tuple(map(str, range(100)))),)))
    lines = texts(view, rows=24)
    assert len(lines) == 24
    assert "…" in lines
    assert "result 29" in lines
    assert any(line.startswith("0_000  a v b") for line in lines)


def test_help_takes_the_place_of_report_and_games() -> None:
    view = dataclasses.replace(VIEW, help=["p   pause", "q   stop"])
    lines = texts(view, rows=24)
    assert lines[0] == VERDICT
    assert lines[2:5] == ["", "p   pause", "q   stop"]
    assert not any(line.startswith(("result", "p5")) for line in lines)
    assert lines[-1].endswith("p pause")


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        (70, "tune: spsa, 4 games at a time, 1 min 05 s      ? keys  q stop  p pause"),
        (40, "tune: spsa       ? keys  q stop  p pause"),
        (25, "? keys  q stop  p pause"),
    ],
)
def test_the_last_line_keeps_the_keys(columns: int, status: str) -> None:
    assert texts(columns=columns, rows=12)[-1].rstrip() == status


CELLS = st.one_of(
    st.none(), st.integers(), st.floats(), st.sampled_from(["", "a", "7.5", "技巧", "x" * 70])
)
LINES = st.sampled_from(["", "a v b (1/2 games)", "x" * 90 + "\nboard size: 9", "\n", "a\n\nb"])
TABLES = st.builds(
    Table,
    headers=st.sampled_from([(), ("",), ("", "wins", ""), ("parameter", "start"), ("", "", "")]),
    rows=st.lists(st.lists(CELLS, max_size=4).map(tuple), max_size=4).map(tuple),
    title=LINES,
    notes=st.lists(LINES, max_size=2).map(tuple),
)
TEXTS = st.builds(Text, st.lists(LINES, max_size=3).map(tuple))


@given(
    report=st.builds(Report, st.lists(st.one_of(TABLES, TEXTS), max_size=8).map(tuple)),
    columns=st.integers(1, 220),
    rows=st.integers(1, 60),
    running=st.integers(0, 10),
    results=st.integers(0, 50),
    warnings=st.integers(0, 6),
    verdict=st.sampled_from(["", VERDICT, "技" * 300, "x" * 300]),
)
def test_any_report_fits_any_screen_with_the_keys_below(
    report: Report,
    columns: int,
    rows: int,
    running: int,
    results: int,
    warnings: int,
    verdict: str,
) -> None:
    view = dataclasses.replace(
        VIEW,
        report=report,
        running={f"0_{i:03d}": ("a", "技" * 90) for i in range(running)},
        results=[f"!{i}" for i in range(results)],
        warnings=["w" * 200] * warnings,
        verdict=verdict,
    )
    lines = texts(view, columns, rows)
    assert 1 <= len(lines) <= rows
    assert all(width(line) <= columns for line in lines)
    if rows >= 4 and columns >= 23:
        assert lines[-1].endswith("p pause")
    if rows >= 24 and columns >= 30:
        shown = [line for line in lines if "!" in line]
        assert len(shown) >= min(1, results)
        assert bool(running) == any("games in progress" in line for line in lines)


def test_the_last_line_of_games_in_progress_counts_hidden_games() -> None:
    games = {f"game {i:02d}": ("a",) for i in range(50)}
    view = dataclasses.replace(VIEW, results=[], report=Report(), description="", running=games)
    lines = texts(view, rows=24)
    shown = sum(line.endswith("  a") for line in lines)
    assert f"… and {50 - shown} more" in lines


@pytest.mark.parametrize(("completed", "filled"), [(0, 0), (2000, 20), (3999, 39), (4000, 40)])
def test_the_bar_is_full_only_when_all_is_done(completed: int, filled: int) -> None:
    view = dataclasses.replace(VIEW, progress=Progress(completed, 4000))
    line = compose(view, ESTIMATE, 165.0, 120, 40)[1]
    assert line.style == "bar"
    assert line.text.count("━") == 40
    assert line.filled == filled


def test_hostile_lines_are_harmless() -> None:
    evil = "\x1b[2Jx\ny\u202e"
    view = DisplayView(
        heading=evil,
        progress=Progress(0, 1, label=evil, phase=evil),
        started=0.0,
        description=evil,
        report=Report((Text((evil,)),)),
        running={evil: (evil, evil)},
        results=[evil],
        warnings=[evil],
        hint=evil,
        verdict=evil,
        state=evil,
    )
    for columns in (80, 200):
        for line in compose(view, RateEstimate(), 1.0, columns, 40, [evil]):
            assert isinstance(line, Line)
            assert whole(line).isprintable()
