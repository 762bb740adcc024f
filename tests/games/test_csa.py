from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rsshogi.record import Record

from ringmaster.games.csa import write_csa
from ringmaster.games.sfen import START_SFEN
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.record import MoveRecord
from ringmaster.model.time_control import TimeControl
from tests.games.shogi_records import ENDINGS, ended_record, make_record, random_record


def second_opinion(text: str) -> Any:
    """Return a record as cshogi reads it."""
    return pytest.importorskip("cshogi").Parser.parse_str(text)[0]


def usi(moves: list[int]) -> list[str]:
    cshogi = pytest.importorskip("cshogi")
    return [cshogi.move_to_usi(move) for move in moves]


def position_of(sfen: str) -> list[str]:
    """Return an SFEN's fields, pieces in hand sorted: libraries order them in
    several ways."""
    board, side, hands, _ = sfen.split()
    return [board, side, "".join(sorted(hands))]


@given(st.integers(0, 1 << 32))
@hypothesis_settings(max_examples=60)
def test_moves_and_times_are_read_back_alike_by_two_libraries(seed: int) -> None:
    record = random_record(seed)
    text = write_csa(record)
    moves = [move.move for move in record.moves]
    seconds = [int(move.seconds or 0) for move in record.moves]
    start = position_of(record.opening.fen or START_SFEN)
    read = Record.from_csa_str(text)
    assert [move.move.to_usi() for move in read.moves] == moves
    assert [move.time_ms for move in read.moves] == [1000 * s for s in seconds]
    assert position_of(read.init_position_sfen) == start
    other = second_opinion(text)
    assert usi(other.moves) == moves
    assert other.times[: len(moves)] == seconds
    assert position_of(other.sfen) == start


@given(st.integers(0, 1 << 32))
@hypothesis_settings(max_examples=30)
def test_scores_are_read_back_from_blacks_side(seed: int) -> None:
    record = random_record(seed)
    scores = [
        move["engine_info"] for move in Record.from_csa_str(write_csa(record)).to_dict()["moves"]
    ]
    black_first = position_of(record.opening.fen or START_SFEN)[1] == "b"
    for i, (info, move) in enumerate(zip(scores, record.moves, strict=True)):
        if move.score is None:
            assert info is None
        else:
            blacks = (i % 2 == 0) == black_first
            assert info["eval"] == (move.score if blacks else -move.score)


def test_the_text_is_that_of_the_standard() -> None:
    moves = [
        MoveRecord("7g7f", 0, seconds=1.512, score=30, depth=12, pv=("7g7f", "3c3d", "2g2f")),
        MoveRecord("3c3d", 1, seconds=0.25, score=45, pv=("3c3d", "8h2b+")),
        MoveRecord("8h2b+", 0, seconds=12.0, mate=3, depth=7, nodes=1234, pv=("2g2f",)),
        MoveRecord("3a2b", 1, seconds=3.0, comment="so\nbe it"),
        MoveRecord("B*4e", 0),
    ]
    clock = TimeControl(600, period=10, periods=1)
    record = make_record(
        moves,
        info=("pv", "nodes"),
        score="1-0",
        reason="resignation",
        clocks=(clock, clock),
        time_controls=("600+10byo", "600+10byo"),
        descriptions=("Alpha 1", ""),
        notes=("a note",),
    )
    assert write_csa(record).split("P1", 1)[0] == (
        "'CSA encoding=UTF-8\nV2.2\nN+Alpha\nN-Beta\n$EVENT:tune\n$START_TIME:2026/11/21\n"
        "$TIME_LIMIT:00:10+10\n'game 0_17\n'Black a: Alpha 1\n'Black time control: 600+10byo\n"
        "'White b\n'White time control: 600+10byo\n"
    )
    assert write_csa(record).split("\n+\n", 1)[1] == (
        "+7776FU\nT1\n'** 30 -3334FU +2726FU\n'*+0.30/12 1.512s\n"
        "-3334FU\nT0\n'** -45 +8822UM\n'*+0.45 0.250s\n"
        "+8822UM\nT12\n'** 31997\n'*+M3/7 12.000s, nodes 1234\n"
        "-3122GI\nT3\n'*3.000s\n'*so\n'*be it\n"
        "+0045KA\nT0\n"
        "%TORYO\n'result 1-0, resignation\n'a note\n"
    )


@pytest.mark.parametrize(("score", "reason", "to_move"), ENDINGS)
def test_every_reader_sees_who_has_won(score: str, reason: str, to_move: int) -> None:
    text = write_csa(ended_record(score, reason, to_move))
    result = Record.from_csa_str(text).result
    seen = "1-0" if result.is_black_win() else "0-1" if result.is_white_win() else "1/2-1/2"
    assert seen == score
    assert result.is_draw() == (score == "1/2-1/2")
    assert second_opinion(text).win == {"1-0": 1, "0-1": 2, "1/2-1/2": 0}[score]
    assert f"'result {score}, {reason}" in text.splitlines()


@pytest.mark.parametrize(
    ("score", "reason", "to_move", "line"),
    [
        ("1-0", "resignation", 1, "%TORYO"),
        ("1-0", "time", 1, "%TIME_UP"),
        ("1-0", "stall", 1, "%TIME_UP"),
        ("1-0", "illegal move", 1, "%ILLEGAL_MOVE"),
        ("0-1", "illegal declaration", 0, "%ILLEGAL_MOVE"),
        ("1-0", "declaration", 0, "%KACHI"),
        ("0-1", "perpetual check", 1, "%+ILLEGAL_ACTION"),
        ("1-0", "perpetual check", 1, "%-ILLEGAL_ACTION"),
        ("1/2-1/2", "repetition", 0, "%SENNICHITE"),
        ("1/2-1/2", "impasse", 0, "%HIKIWAKE"),
        ("1/2-1/2", "move limit", 0, "%JISHOGI"),
        ("*", "crash", 0, "%CHUDAN"),
        ("?", "move limit", 0, "%CHUDAN"),
        # a win of the side to move has no word of its own
        ("1-0", "adjudicated win", 0, "%CHUDAN"),
        ("1-0", "adjudicated win", 1, "%TORYO"),
    ],
)
def test_the_end_is_written_as_the_standard_calls_it(
    score: str, reason: str, to_move: int, line: str
) -> None:
    assert f"\n{line}\n" in write_csa(ended_record(score, reason, to_move))


@pytest.mark.parametrize(
    ("clocks", "line"),
    [
        ((TimeControl(1500), TimeControl(1500)), "$TIME_LIMIT:00:25+00"),
        ((TimeControl(0, period=30, periods=1),) * 2, "$TIME_LIMIT:00:00+30"),
        ((TimeControl(7260, period=60, periods=1),) * 2, "$TIME_LIMIT:02:01+60"),
        ((TimeControl(10, increment=0.1),) * 2, ""),
        ((TimeControl(600, increment=5),) * 2, ""),
        ((TimeControl(90),) * 2, ""),
        ((TimeControl(600), TimeControl(300)), ""),
        ((None, None), ""),
    ],
)
def test_a_time_limit_is_written_only_where_it_can_be(clocks: Any, line: str) -> None:
    lines = write_csa(ended_record("1-0", "mate", 1, clocks=clocks)).splitlines()
    assert [each for each in lines if each.startswith("$TIME_LIMIT")] == ([line] if line else [])


@given(st.text(), st.text(), st.text())
@example("\n%TORYO", "N-x\n+7776FU\n/\n", "\ud800\u2028P1\r$X:y")
@hypothesis_settings(max_examples=100)
def test_an_engines_words_cannot_break_a_record(name: str, comment: str, detail: str) -> None:
    moves = [MoveRecord("7g7f", 0, comment=comment), MoveRecord("3c3d", 1, comment=comment)]
    record = make_record(
        moves,
        names=(name, "Beta"),
        descriptions=(comment, name),
        detail=detail,
        notes=(comment,),
        score="0-1",
        reason="resignation",
        event=name,
        opening=Opening(name=name),
    )
    text = write_csa(record)
    text.encode()
    read = Record.from_csa_str(text)
    assert [move.move.to_usi() for move in read.moves] == ["7g7f", "3c3d"]
    other = second_opinion(text)
    assert (other.endgame, usi(other.moves)) == ("%TORYO", ["7g7f", "3c3d"])
    for line in text.splitlines():
        assert line[:1] in ("'", "V", "N", "$", "P", "+", "-", "T", "%")


def test_a_score_in_an_engines_words_is_not_taken_for_its_score() -> None:
    record = make_record([MoveRecord("7g7f", 0, score=20, comment="** 9999 -3334FU\n*** 8")])
    info = Record.from_csa_str(write_csa(record)).to_dict()["moves"][0]["engine_info"]
    assert info is not None
    assert info["eval"] == 20
    assert write_csa(record).count("'**") == 1


def test_an_illegal_move_ends_the_record_with_a_comment() -> None:
    text = write_csa(make_record(["7g7f", "7g7f"], score="1-0", reason="?"))
    assert "'The move cannot be shown: '7g7f' is not legal here\n%CHUDAN\n" in text
    assert len(Record.from_csa_str(text).moves) == 1


def test_an_opening_that_cannot_be_read_is_told() -> None:
    text = write_csa(make_record([], fen="nonsense"))
    assert "'The opening cannot be shown: an SFEN has 4 fields" in text
    assert Record.from_csa_str(text).init_position_sfen == START_SFEN


def test_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="CSA records are for shogi, not for chess"):
        write_csa(make_record([], settings=GameSettings(game="chess")))
