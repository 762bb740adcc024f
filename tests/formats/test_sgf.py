from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf

from ringmaster.formats.sgf import write_sgf
from ringmaster.games.clean_text import lines, one_line
from ringmaster.games.go import format_vertex
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.model.time_control import TimeControl

KNOWN = {"FF", "GM", "CA", "AP", "SZ", "KM", "PB", "PW", "EV", "GN", "DT", "RE", "C"}

anything = st.text(st.characters(), max_size=60)
hostile = st.text("\\]:[;)(\n\r\t \0\x1b\x85\u2028\u202e\ud800aé", max_size=12)

RECORD = GameRecord(
    game_id="0_012",
    event="tune",
    date="2024-03-09",
    codes=("alpha", "beta"),
    names=("GNU Go 3.8", "beta"),
    settings=GameSettings("go", board_size=9, komi=7.5),
    opening=Opening(),
    moves=(
        MoveRecord("E5", 0, seconds=0.52, comment="tengen"),
        MoveRecord("A9", 1, seconds=0.004),
        MoveRecord("pass", 0),
        MoveRecord("pass", 1),
    ),
    score="B+3.5",
    reason="score",
    descriptions=("GNU Go 3.8\nlevel 10", ""),
    competition="tune",
)


def record(**changes: Any) -> GameRecord:
    return dataclasses.replace(RECORD, **changes)


def parse(text: str) -> sgf.Sgf_game:
    game = sgf.Sgf_game.from_bytes(text.encode())
    assert game.get_charset() == "UTF-8"
    return game


def moves(game: sgf.Sgf_game) -> list[tuple[str, tuple[int, int] | None]]:
    return [node.get_move() for node in game.get_main_sequence()[1:]]


def test_moves_of_the_opening_are_marked() -> None:
    game = parse(write_sgf(record(opening=Opening(moves=("E5", "A9")))))
    comments = [node.get("C") for node in game.get_main_sequence()[1:3]]
    assert comments == ["book", "book"]
    assert moves(game)[:2] == [("b", (4, 4)), ("w", (8, 0))]


def test_a_record_reads_back() -> None:
    game = parse(write_sgf(RECORD))
    root = game.get_root()
    assert game.get_size() == 9
    assert game.get_komi() == 7.5
    assert game.get_handicap() is None
    assert game.get_player_name("b") == "GNU Go 3.8"
    assert game.get_player_name("w") == "beta"
    assert game.get_winner() == "b"
    assert root.get("RE") == "B+3.5"
    assert root.get("GM") == 1
    assert root.get("FF") == 4
    assert root.get("DT") == "2024-03-09"
    assert root.get("GN") == "tune 0_012"
    assert root.get("EV") == "tune"
    assert root.get("AP")[0] == "ringmaster"
    assert not root.has_property("RU")
    # sgfmill counts rows and columns from the lower left.
    assert moves(game) == [("b", (4, 4)), ("w", (8, 0)), ("b", None), ("w", None)]


def test_move_comments_hold_engine_text_and_time() -> None:
    nodes = parse(write_sgf(RECORD)).get_main_sequence()
    assert nodes[1].get("C") == "tengen\n0.520s"
    assert nodes[2].get("C") == "0.004s"
    assert not nodes[3].has_property("C")


def test_the_root_comment_describes_players_and_result() -> None:
    full = record(
        score="W+F",
        reason="illegal move",
        detail="alpha played D4 on a stone",
        notes=("first note", "", "second\nnote"),
        parameters=({"weight": 0.25, "n": 3}, {}),
        time_controls=("10+0.1", ""),
        cpu_times=(12.3456, None),
    )
    assert parse(write_sgf(full)).get_root().get("C").split("\n") == [
        "Black alpha: GNU Go 3.8",
        "level 10",
        "Black parameters: weight=0.25, n=3",
        "Black time control: 10+0.1",
        "Black cpu time: 12.35s",
        "White beta",
        "Result: W+F (illegal move: alpha played D4 on a stone)",
        "first note",
        "second",
        "note",
    ]


def test_parameters_have_the_control_files_formats() -> None:
    full = record(parameters=({"weight": 0.25}, {}), shown_parameters=("I: 0.250; n 3", ""))
    comment = parse(write_sgf(full)).get_root().get("C")
    assert "Black parameters: I: 0.250; n 3" in comment.split("\n")
    assert "White parameters" not in comment


def test_comments_omit_times_on_request() -> None:
    settings = GameSettings("go", board_size=9, komi=7.5, record_times=False)
    nodes = parse(write_sgf(record(settings=settings))).get_main_sequence()
    assert nodes[1].get("C") == "tengen"
    assert not nodes[2].has_property("C")


def test_handicap_stones_are_set_up_and_white_moves_first() -> None:
    game = parse(
        write_sgf(
            record(setup=("C3", "G7", "C7"), moves=(MoveRecord("E5", 1), MoveRecord("D4", 0)))
        )
    )
    assert game.get_handicap() == 3
    assert game.get_root().get_setup_stones()[0] == {(2, 2), (6, 6), (6, 2)}
    assert moves(game) == [("w", (4, 4)), ("b", (3, 3))]


@pytest.mark.parametrize("komi", [0.0, 7.0, 6.5, -3.5, 0.1, 375.25])
def test_komi_is_exact(komi: float) -> None:
    rules = GameSettings("go", board_size=9, komi=komi)
    assert parse(write_sgf(record(settings=rules))).get_komi() == komi


@pytest.mark.parametrize(
    ("text", "base", "overtime"),
    [
        ("600+5x30", 600, "5x30 byo-yomi"),
        ("0+25/300", 0, "25/300 Canadian"),
        ("10+0.5", 10, "0.5 fischer"),
    ],
)
def test_a_common_clock_is_in_the_record(text: str, base: float, overtime: str | None) -> None:
    control = TimeControl.parse(text)
    root = parse(write_sgf(record(clocks=(control, control)))).get_root()
    assert root.get("TM") == base
    assert (root.get("OT") if root.has_property("OT") else None) == overtime


@pytest.mark.parametrize(
    "texts", [("600", "601"), ("600", None), (None, "600"), ("40/60", "40/60")]
)
def test_other_clocks_are_in_the_comment_only(
    texts: tuple[str | None, str | None],
) -> None:
    clocks = tuple(text and TimeControl.parse(text) for text in texts)
    root = parse(write_sgf(record(clocks=clocks))).get_root()
    assert not root.has_property("TM")
    assert not root.has_property("OT")


def test_each_move_has_the_time_left() -> None:
    timed = (
        MoveRecord("E5", 0, seconds=0.5, left=9.5, comment="hm"),
        MoveRecord("E6", 1, left=30.0, overtime=5),
        MoveRecord("E7", 0, left=0.0004),
        MoveRecord("pass", 1),
    )
    nodes = parse(write_sgf(record(moves=timed))).get_main_sequence()[1:]
    assert [node.get("BL") for node in nodes[::2]] == [9.5, 0]
    assert (nodes[1].get("WL"), nodes[1].get("OW")) == (30, 5)
    assert not nodes[0].has_property("OB")
    assert not nodes[3].has_property("WL")
    assert nodes[0].get("C") == "hm\n0.500s"


def test_analysis_is_in_the_comment_of_its_move() -> None:
    searched = (
        MoveRecord("E5", 0, 0.52, 1234, nodes=812, pv=("E5", "C3"), lead=2.46, comment="hm"),
        MoveRecord("E6", 1, 0.004, -4999, nodes=3, pv=("E6",)),
        MoveRecord("E7", 0, 1.0, 0, lead=-0.04),
        MoveRecord("pass", 1, 0.1, -5000, nodes=0),
    )
    comments = [
        node.get("C") for node in parse(write_sgf(record(moves=searched))).get_main_sequence()[1:]
    ]
    assert comments == [
        "hm\n62.34% +2.5 points 0.520s, 812 visits, pv E5 C3",
        "0.01% 0.004s, 3 visits, pv E6",
        "50.00% +0.0 points 1.000s",
        "0.00% 0.100s, 0 visits",
    ]
    quiet = GameSettings("go", board_size=9, record_times=False)
    (_, first, *_) = parse(write_sgf(record(moves=searched, settings=quiet))).get_main_sequence()
    assert first.get("C") == "hm\n62.34% +2.5 points, 812 visits, pv E5 C3"


def test_missing_names_are_replaced_by_codes_and_missing_texts_left_out() -> None:
    game = parse(
        write_sgf(record(names=("\n", ""), event=" ", date="", competition="", game_id=""))
    )
    assert game.get_player_name("b") == "alpha"
    assert game.get_player_name("w") == "beta"
    for name in ("EV", "DT", "GN"):
        assert not game.get_root().has_property(name)


def test_an_invalid_vertex_ends_the_record_with_a_comment() -> None:
    bad = (MoveRecord("E5", 0), MoveRecord("Z]9", 1), MoveRecord("D4", 0))
    nodes = parse(write_sgf(record(moves=bad))).get_main_sequence()
    assert len(nodes) == 3
    assert nodes[2].get("C") == "Move 2 cannot be shown: 'Z]9' is not a vertex such as D4"


@given(*[anything | hostile] * 7)
@settings(deadline=None)
def test_no_text_breaks_a_record(
    name: str, code: str, event: str, comment: str, description: str, note: str, score: str
) -> None:
    full = record(
        names=(name, name),
        codes=(code, "beta"),
        event=event,
        descriptions=(description, description),
        notes=(note,),
        moves=(MoveRecord("E5", 0, comment=comment), MoveRecord("D4", 1)),
        score=score,
        detail=note,
        parameters=({name: note}, {}),
    )
    game = parse(write_sgf(full))
    root, first, second = game.get_main_sequence()
    assert {*root.properties()} <= KNOWN
    assert moves(game) == [("b", (4, 4)), ("w", (3, 3))]
    assert (root.get("PW") if root.has_property("PW") else "") == (one_line(name) or "beta")
    assert (root.get("EV") if root.has_property("EV") else "") == one_line(event)
    assert (first.get("C") if first.has_property("C") else "") == lines(comment)
    assert not second.has_property("C")
    for text in (lines(description), lines(note), one_line(code)):
        assert text in root.get("C")


@pytest.mark.parametrize("size", [2, 9, 19, 25])
def test_every_vertex_is_written_the_same_in_upper_and_lower_case(size: int) -> None:
    rules = GameSettings("go", board_size=size, komi=7.5)
    points = [(column, row) for column in range(size) for row in range(size)]
    names = [*map(format_vertex, points), format_vertex(None)]
    upper, lower = (
        write_sgf(record(settings=rules, moves=tuple(MoveRecord(name, 0) for name in each)))
        for each in (names, [name.lower() for name in names])
    )
    assert upper == lower
    # sgfmill counts (row, column)
    assert moves(parse(upper)) == [("b", (row, column)) for column, row in points] + [("b", None)]
