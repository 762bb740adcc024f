"""The live display always fits, and gives up its least important lines first."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.report import LEFT, RIGHT, Progress, Report, Table, Text
from ringmaster.reporting.layout import (
    DisplayView,
    Line,
    RateEstimate,
    RateMeter,
    RunningGame,
    compose,
    format_duration,
    format_rate,
)
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import width

TABLE = Table(
    headers=("parameter", "value"),
    rows=tuple((f"p{i}", str(i)) for i in range(6)),
    title="iteration 12/2000",
)
VIEW = DisplayView(
    heading="tune: spsa",
    description="What it is for.",
    progress=Progress(1000, 4000, phase="tuning"),
    started=100.0,
    completed_this_run=500,
    report=Report((TABLE,)),
    running=[RunningGame(f"0_{i:03d}", ("a", "b"), 12.0, 40 + i) for i in range(4)],
    results=[f"result {i}" for i in range(30)],
    warnings=["a warning"],
    parallel=4,
    hint="Ctrl-X to stop",
)
ESTIMATE = RateEstimate(12.3, 244.0)


def texts(view: DisplayView = VIEW, columns: int = 80, rows: int = 60) -> list[str]:
    return [line.text for line in compose(view, ESTIMATE, 165.0, columns, rows)]


def test_everything_is_shown_where_there_is_room() -> None:
    lines = texts()
    assert lines[0].startswith("tune: spsa")
    assert lines[0].endswith("4 games at a time, 1 min 05 s")
    assert "1000/4000 games  25%  12.3 games/s  4 min 04 s left  tuning" in lines[1]
    assert "What it is for." in lines
    assert "iteration 12/2000" in lines
    assert "0_003  a v b" in "\n".join(lines)
    assert lines[-1] == "Ctrl-X to stop"
    assert [line for line in lines if line.startswith("result")] == list(VIEW.results)


def test_results_are_shortened_first_and_the_latest_stay() -> None:
    lines = texts(rows=30)
    assert len(lines) == 30
    results = [line for line in lines if line.startswith("result")]
    assert 3 <= len(results) < 30
    assert results == list(VIEW.results)[-len(results) :]
    assert sum(line.startswith("0_") for line in lines) == 4
    assert "p5" in "\n".join(lines)


def test_a_low_screen_keeps_results_and_games_in_progress() -> None:
    lines = texts(rows=20)
    assert len(lines) == 20
    assert [line for line in lines if line.startswith("result")] == list(VIEW.results)[-3:]
    assert "… and 3 more" in lines
    assert "a warning" in lines
    assert any(line.startswith("p5") for line in lines)
    assert lines[-1] == "Ctrl-X to stop"


def test_a_list_of_parameters_is_cut_and_not_put_on_one_line() -> None:
    lines = texts(rows=14)
    assert len(lines) == 14
    start = lines.index("iteration 12/2000")
    assert lines[start + 1].split() == ["parameter", "value"]
    assert "…" in lines[start:]
    assert sum(line.startswith("result") for line in lines) == 3


def test_the_latest_result_and_the_hint_stay_on_the_lowest_screen() -> None:
    lines = texts(rows=5)
    assert lines[0].startswith("tune: spsa")
    assert "1000/4000 games" in lines[1]
    assert lines[2:] == ["last results", "result 29", "Ctrl-X to stop"]


def test_a_tall_report_leaves_the_other_sections_their_least() -> None:
    view = dataclasses.replace(
        VIEW, report=Report((Text(tuple(map(str, range(100)))),)), results=[]
    )
    lines = texts(view, rows=24)
    assert len(lines) == 24
    assert "…" in lines
    assert "a warning" in lines
    assert lines[-4:] == [lines[-4], "… and 3 more", "a warning", "Ctrl-X to stop"]
    assert lines[-4].startswith("0_000  a v b")


def matchup(first: str, second: str) -> Table:
    return Table(
        headers=("", "wins", "", "black", "", "white", "", "avg cpu s"),
        rows=(
            (first, "7.5", "62.50%", "4", "66.67%", "3.5", "58.33%", "0.01"),
            (second, "4.5", "37.50%", "2.5", "41.67%", "2", "33.33%", "10.01"),
        ),
        title=f"{first} v {second} (12/20 games)\nboard size: 9   komi: 7.5",
        notes=("jigos: 1", f"{first} over {second}: 89 ± 200"),
        align=(LEFT, *[RIGHT] * 7),
    )


def playoff(*pairs: str) -> DisplayView:
    return dataclasses.replace(
        VIEW,
        description="",
        report=Report(tuple(matchup(*pair.split()) for pair in pairs)),
        running=[RunningGame(f"{i}_12", ("a", "b")) for i in range(2)],
        warnings=[],
        hint="Ctrl-X to stop after the games in progress, Ctrl-C to stop at once",
    )


def test_three_matchups_are_shown_whole_on_a_large_screen() -> None:
    lines = texts(playoff("a b", "b c", "a c"), 120, 39)
    assert len(lines) == 39
    text = "\n".join(lines)
    assert render_report(playoff("a b", "b c", "a c").report).rstrip() in text
    assert text.count("\n\n") == 6
    assert sum(line.startswith("result") for line in lines) == 5


def test_three_matchups_share_a_header_on_80_by_24() -> None:
    lines = texts(playoff("a b", "b chess-engine", "a c"), 80, 23)
    assert len(lines) == 23
    start = lines.index("a v b (12/20 games)")
    header = lines[start + 1]
    assert header.split() == ["wins", "black", "white", "avg", "cpu", "s"]
    assert lines.count(header) == 1
    assert lines[start + 4] == "b v chess-engine (12/20 games)"
    assert lines[start + 7] == "a v c (12/20 games)"
    rows = [lines[start + i] for i in (2, 3, 5, 6, 8, 9)]
    assert {len(row) for row in rows} == {len(header)}
    assert {row.index("%") - header.index("wins") for row in rows} == {11}
    assert lines[lines.index("games in progress") :] == [
        "games in progress",
        "0_12  a v b",
        "1_12  a v b",
        "",
        "last results",
        *(f"result {i}" for i in (27, 28, 29)),
        "",
        playoff().hint,
    ]


def test_many_matchups_take_a_line_each() -> None:
    view = playoff(*(f"a {name}" for name in ("b", "c", "d", "e", "f", "gnu")))
    lines = texts(view, 80, 23)
    start = lines.index("a v b (12/20 games)     a 7.5  b 4.5")
    assert lines[start + 5] == "a v gnu (12/20 games)   a 7.5  gnu 4.5"
    assert lines[start - 1] == lines[start + 6] == ""
    assert sum(line.startswith("result") for line in lines) == 6
    assert len(lines) == 23


def with_totals(view: DisplayView) -> DisplayView:
    totals = ("", "", "", "6.5", "54.17%", "5.5", "45.83%", "")
    blocks = [
        msgspec.structs.replace(block, rows=(*block.rows, totals))
        for block in view.report.blocks
        if isinstance(block, Table)
    ]
    return dataclasses.replace(view, report=Report(tuple(blocks)))


def test_totals_of_a_table_are_shown_only_where_they_fit() -> None:
    view = playoff("a b", "b chess-engine", "a c")
    assert sum("54.17%" in line for line in texts(with_totals(view), 120, 42)) == 3
    assert texts(with_totals(view), 80, 23) == texts(view, 80, 23)
    assert texts(with_totals(view), 80, 12) == texts(view, 80, 12)


def test_grid_on_a_low_screen_is_a_line_of_points() -> None:
    grid = Table(
        headers=("", "points", "games", "A", "B"),
        rows=(("A x", "4.5", 8, "", "4.5-3.5"), ("B y", "3.5", 8, "3.5-4.5", "")),
        align=(LEFT, *[RIGHT] * 4),
    )
    view = dataclasses.replace(playoff(), report=Report((grid,)))
    assert "A x       4.5        8           4.5-3.5" in texts(view, 80, 23)
    assert "A x 4.5  B y 3.5" in texts(view, 80, 8)


def test_text_between_matchups_stays_when_they_take_a_line_each() -> None:
    view = playoff("a b")
    report = Report((*view.report.blocks, Text(("", "remark")), Table(("x",), (("1",), ("2",)))))
    lines = texts(dataclasses.replace(view, report=report), 80, 15)
    start = lines.index("a v b (12/20 games)   a 7.5  b 4.5")
    assert lines[start + 1 : start + 5] == ["remark", "x", "1", "2"]


def test_a_title_is_cut_for_the_scores_on_a_narrow_screen() -> None:
    lines = texts(playoff("gnugo-l1 gnugo-l2", "a b"), 40, 11)
    assert "gnugo-l1 v…   gnugo-l1 7.5  gnugo-l2 4.5" in lines
    assert "a v b (12/20 games)   a 7.5  b 4.5" in lines


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (70, "Ctrl-X to stop after the games in progress, Ctrl-C to stop at once"),
        (65, "Ctrl-X to stop after the games in progress"),
        (42, "Ctrl-X to stop after the games in progress"),
        (40, "Ctrl-X to stop after the games in…"),
        (16, "Ctrl-X to stop…"),
        (4, "Ctr…"),
    ],
)
def test_the_hint_is_shortened_by_clauses_and_words(columns: int, hint: str) -> None:
    assert texts(playoff("a b", "b c", "a c"), columns, 11)[-1] == hint


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
    columns=st.integers(1, 130),
    rows=st.integers(1, 60),
    running=st.integers(0, 10),
    results=st.integers(0, 50),
    warnings=st.integers(0, 6),
)
def test_results_and_hint_are_shown_with_any_report(
    report: Report, columns: int, rows: int, running: int, results: int, warnings: int
) -> None:
    view = dataclasses.replace(
        VIEW,
        report=report,
        running=[RunningGame("0_000", ("a", "b"), 12.0, 40)] * running,
        results=[f"!{i}" for i in range(results)],
        warnings=["w" * 200] * warnings,
    )
    lines = texts(view, columns, rows)
    assert 1 <= len(lines) <= rows
    assert all(width(line) <= columns for line in lines)
    # a terminal of 12 rows has 11 to draw on
    if rows >= 11 and columns >= 20:
        assert lines[-1] == "Ctrl-X to stop"
        shown = [line for line in lines if line.startswith("!")]
        assert len(shown) >= min(3, results)
        assert shown == [f"!{i}" for i in range(results - len(shown), results)]
        assert bool(running) == ("games in progress" in lines)
        if columns >= 30:
            assert bool(running) == any(line.startswith("0_000") for line in lines)


@given(st.integers(1, 60), st.integers(1, 130), st.integers(0, 40), st.integers(0, 40))
def test_no_terminal_is_too_small(rows: int, columns: int, running: int, results: int) -> None:
    view = dataclasses.replace(
        VIEW,
        running=[RunningGame("技巧", ("x" * 200, "技" * 90), 1.0)] * running,
        results=["r" * 300] * results,
    )
    lines = texts(view, columns, rows)
    assert 1 <= len(lines) <= rows
    assert all(width(line) <= columns for line in lines)
    assert lines[0].startswith("tune: spsa"[: max(0, columns - 1)])


def test_the_last_line_of_games_in_progress_counts_hidden_games() -> None:
    view = dataclasses.replace(
        VIEW, results=[], report=Report(), description="", running=["g"] * 50
    )
    lines = texts(view, rows=24)
    shown = lines.count("g")
    assert f"… and {50 - shown} more" in lines


@pytest.mark.parametrize(("completed", "filled"), [(0, 0), (2000, 20), (3999, 39), (4000, 40)])
def test_the_bar_is_full_only_when_all_is_done(completed: int, filled: int) -> None:
    view = dataclasses.replace(VIEW, progress=Progress(completed, 4000))
    line = compose(view, ESTIMATE, 165.0, 120, 40)[1]
    assert line.style == "bar"
    assert line.text.count("━") == 40
    assert line.filled == filled


def test_a_competition_without_limit_has_no_bar_and_no_time_left() -> None:
    view = dataclasses.replace(VIEW, progress=Progress(17, None))
    assert texts(view)[1] == "17 games  12.3 games/s"


def test_more_games_than_wanted_are_no_more_than_100_percent() -> None:
    # number_of_games was lowered between runs
    view = dataclasses.replace(VIEW, progress=Progress(50, 40))
    assert "50/40 games  100%" in texts(view)[1]


def test_a_total_of_zero_is_no_error() -> None:
    view = dataclasses.replace(VIEW, progress=Progress(0, 0))
    assert texts(view)[1].startswith("0/0 games")


def test_unknown_rates_are_dashes() -> None:
    line = compose(VIEW, RateEstimate(), 165.0, 80, 40)[1]
    assert "–  – left" in line.text


def test_hostile_lines_are_harmless() -> None:
    evil = "\x1b[2Jx\ny\u202e"
    view = DisplayView(
        heading=evil,
        progress=Progress(0, 1, label=evil, phase=evil, warnings=(evil,)),
        started=0.0,
        description=evil,
        report=Report((Text((evil,)),)),
        running=[RunningGame(evil, (evil, evil)), evil],
        results=[evil],
        warnings=[evil],
        hint=evil,
    )
    for line in compose(view, RateEstimate(), 1.0, 80, 40):
        assert isinstance(line, Line)
        assert line.text.isprintable()


def test_jobs_have_the_name_of_the_progress_unit() -> None:
    view = dataclasses.replace(playoff("a b"), progress=Progress(3, None, "shards"), parallel=2)
    lines = texts(view, 120, 39)
    assert "2 shards at a time" in lines[0]
    assert "shards in progress" in lines
    assert "1 shard at a time" in texts(dataclasses.replace(view, parallel=1), 120, 39)[0]


def measure(
    meter: RateMeter, now: float, count: int, left: int | None = None, started: float = 0.0
) -> RateEstimate:
    total = None if left is None else count + left
    return meter.measure(DisplayView("", Progress(count, total), started, count), now)


def test_rate_is_unknown_before_the_first_game() -> None:
    estimate = measure(RateMeter(), 130.0, 0, 50, started=100.0)
    assert estimate.rate is None
    assert estimate.left is None


def test_a_steady_rate_is_measured() -> None:
    meter = RateMeter()
    for second in range(1, 200):
        measure(meter, second, 5 * second)
    estimate = measure(meter, 199.0, 995, 100)
    assert estimate.rate == pytest.approx(5.0)
    assert estimate.left == pytest.approx(20.0)


def test_the_rate_follows_a_change_within_a_window() -> None:
    meter = RateMeter()
    count = 0
    for second in range(1, 201):
        count += 10 if second <= 100 else 2
        measure(meter, second, count)
    assert measure(meter, 200.0, count).rate == pytest.approx(2.0, rel=0.05)


def test_games_longer_than_the_window_still_have_a_rate() -> None:
    meter = RateMeter()
    for game in range(1, 50):
        measure(meter, 3600.0 * game, game)
    estimate = measure(meter, 3600.0 * 49 + 1800, 49, 7)
    assert estimate.rate == pytest.approx(1 / 3600, rel=0.1)


def test_the_rate_falls_while_no_game_ends() -> None:
    meter = RateMeter()
    for second in range(1, 61):
        measure(meter, second, second)
    rate = measure(meter, 60.0, 60).rate
    later = measure(meter, 120.0, 60).rate
    assert rate is not None
    assert later is not None
    assert later < rate


def test_nothing_left_takes_no_time() -> None:
    meter = RateMeter()
    assert measure(meter, 10.0, 0, 0).left == 0.0
    assert measure(meter, 10.0, 5).left is None


@given(
    st.lists(st.tuples(st.floats(0, 1000), st.integers(0, 1000)), max_size=400),
    st.integers(0, 10**6),
)
def test_samples_stay_few_and_rates_positive(steps: list[tuple[float, int]], left: int) -> None:
    meter = RateMeter()
    now, count = 0.0, 0
    for seconds, games in steps:
        now, count = now + seconds, count + games
        estimate = measure(meter, now, count, left)
        assert estimate.rate is None or estimate.rate > 0
    assert len(meter._samples) <= 260


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (None, "–"),
        (1000.0, "1000 games/s"),
        (12.34, "12.3 games/s"),
        (1.0, "1.0 games/s"),
        (0.5, "30.0 games/min"),
        (1 / 60, "1.0 games/min"),
        (1 / 3600, "1.0 games/h"),
        (1 / 36000, "0.1 games/h"),
    ],
)
def test_rates_have_a_suitable_unit(rate: float | None, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (-1.0, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599.0, "59 min 59 s"),
        (7620.0, "2 h 07 min"),
        (3 * 86400 + 4 * 3600, "3 d 04 h"),
        (1e300, "365000 d 00 h"),
    ],
)
def test_durations_have_two_units(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text
