"""Records of shogi in CSA and KIF: rsshogi reads what is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rsshogi.record import Record

from ringmaster.formats.shogi_records import write_csa, write_kif
from ringmaster.games.sfen import START_SFEN
from ringmaster.model.jobs import Opening
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.model.time_control import TimeControl
from tests.formats.shogi_records import (
    ENDINGS,
    HANDICAPS,
    ended_record,
    handicap_sfen,
    make_record,
    random_record,
)


class Format(NamedTuple):
    """A format with rsshogi's reader, and the marks of a comment line."""

    name: str
    write: Callable[[GameRecord], str]
    read: Callable[[str], Record]
    comment: str


CSA = Format("CSA", write_csa, Record.from_csa_str, "'*")
KIF = Format("KIF", write_kif, Record.from_kif_str, "*")
in_both_formats = pytest.mark.parametrize("format", [CSA, KIF], ids=lambda format: format.name)


def position_of(sfen: str) -> list[str]:
    """Return an SFEN's fields with sorted hands, since libraries order these differently."""
    board, side, hands, _ = sfen.split()
    return [board, side, "".join(sorted(hands))]


@in_both_formats
@given(st.integers(0, 1 << 32))
def test_moves_and_times_are_read_back(format: Format, seed: int) -> None:
    record = random_record(seed)
    text = format.write(record)
    moves = [move.move for move in record.moves]
    seconds = [int(move.seconds or 0) for move in record.moves]
    start = position_of(record.opening.fen or START_SFEN)
    read = format.read(text)
    assert [move.move.to_usi() for move in read.moves] == moves
    assert [move.time_ms for move in read.moves] == [1000 * s for s in seconds]
    assert position_of(read.init_position_sfen) == start


@in_both_formats
@pytest.mark.parametrize(("score", "reason", "to_move"), ENDINGS)
def test_every_reader_sees_the_winner(
    format: Format, score: str, reason: str, to_move: int
) -> None:
    text = format.write(ended_record(score, reason, to_move))
    result = format.read(text).result
    winner = "1-0" if result.is_black_win() else "0-1" if result.is_white_win() else "1/2-1/2"
    assert winner == score
    assert result.is_draw() == (score == "1/2-1/2")
    assert f"{format.comment}result {score}, {reason}" in text.splitlines()


@in_both_formats
@given(st.text(), st.text(), st.text())
@example("\n%TORYO", "N-x\n+7776FU\n/\n", "\ud800\u2028P1\r$X:y")
@example("\n   2 投了", "後手：x\n   2 投了\nまで1手で", "\ud800\u2028&\r#:y")
def test_engine_text_cannot_break_a_record(
    format: Format, name: str, comment: str, detail: str
) -> None:
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
    text = format.write(record)
    text.encode()
    read = format.read(text)
    assert [move.move.to_usi() for move in read.moves] == ["7g7f", "3c3d"]
    assert read.result.is_white_win()
    if format is CSA:
        for line in text.splitlines():
            assert line[:1] in ("'", "V", "N", "$", "P", "+", "-", "T", "%")


@pytest.mark.parametrize(("format", "stopped"), [(CSA, "%CHUDAN\n"), (KIF, "   2 中断  ")])
def test_an_illegal_move_ends_the_record_with_a_comment(format: Format, stopped: str) -> None:
    text = format.write(make_record(["7g7f", "7g7f"], score="1-0", reason="?"))
    assert f"\n{format.comment}The move cannot be shown: '7g7f' is not legal here\n" in text
    assert f"\n{stopped}" in text
    assert len(format.read(text).moves) == 1


@in_both_formats
def test_an_invalid_opening_is_shown_in_a_comment(format: Format) -> None:
    text = format.write(make_record([], fen="nonsense"))
    assert f"\n{format.comment}The opening cannot be shown: an SFEN has 4 fields" in text
    assert format.read(text).init_position_sfen == START_SFEN


# CSA


@given(st.integers(0, 1 << 32))
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


def test_text_follows_the_standard() -> None:
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
    assert write_csa(record) == (
        "'CSA encoding=UTF-8\nV2.2\nN+Alpha\nN-Beta\n$EVENT:tune\n$START_TIME:2026/11/21\n"
        "$TIME_LIMIT:00:10+10\nPI\n+\n'*game 0_17\n'*Black a: Alpha 1\n"
        "'*Black time control: 600+10byo\n'*White b\n'*White time control: 600+10byo\n"
        "+7776FU\nT1\n'** 30 -3334FU +2726FU\n'*+0.30/12 1.512s\n"
        "-3334FU\nT0\n'** -45 +8822UM\n'*+0.45 0.250s\n"
        "+8822UM\nT12\n'** 31997\n'*+M3/7 12.000s, n=1234\n"
        "-3122GI\nT3\n'*3.000s\n'*so\n'*be it\n"
        "+0045KA\nT0\n"
        "%TORYO\n'*result 1-0, resignation\n'*a note\n"
    )


@pytest.mark.parametrize(
    ("score", "reason", "to_move", "line"),
    [
        ("1-0", "resignation", 1, "%TORYO"),
        ("1-0", "time", 1, "%TIME_UP"),
        ("1-0", "illegal move", 1, "%ILLEGAL_MOVE"),
        ("1-0", "declaration", 0, "%KACHI"),
        ("1-0", "perpetual check", 1, "%ILLEGAL_MOVE"),
        ("1-0", "perpetual check", 0, "%-ILLEGAL_ACTION"),
        ("1/2-1/2", "repetition", 0, "%SENNICHITE"),
        ("1/2-1/2", "impasse", 0, "%JISHOGI"),
        ("1/2-1/2", "move limit", 0, "%HIKIWAKE"),
        ("*", "crash", 0, "%CHUDAN"),
        # a win of the side to move has no word of its own
        ("1-0", "adjudicated win", 0, "%CHUDAN"),
        ("1-0", "adjudicated win", 1, "%TORYO"),
    ],
)
def test_endings_have_the_words_of_the_standard(
    score: str, reason: str, to_move: int, line: str
) -> None:
    assert f"\n{line}\n" in write_csa(ended_record(score, reason, to_move))


@pytest.mark.parametrize(
    ("clocks", "line"),
    [
        ((TimeControl(1500), TimeControl(1500)), "$TIME_LIMIT:00:25+0"),
        ((TimeControl(0, period=30, periods=1),) * 2, "$TIME_LIMIT:00:00+30"),
        ((TimeControl(10, increment=0.1),) * 2, ""),
        ((TimeControl(600), TimeControl(300)), ""),
        ((None, None), ""),
    ],
)
def test_a_time_limit_is_written_only_if_the_format_has_it(clocks: Any, line: str) -> None:
    lines = write_csa(ended_record("1-0", "mate", 1, clocks=clocks)).splitlines()
    assert [each for each in lines if each.startswith("$TIME_LIMIT")] == ([line] if line else [])


def test_a_score_in_engine_text_is_not_read_as_a_score() -> None:
    record = make_record([MoveRecord("7g7f", 0, score=20, comment="** 9999 -3334FU\n*** 8")])
    info = Record.from_csa_str(write_csa(record)).to_dict()["moves"][0]["engine_info"]
    assert info is not None
    assert info["eval"] == 20
    assert write_csa(record).count("'**") == 1


# KIF


def test_text_follows_kif() -> None:
    moves = [
        MoveRecord("7g7f", 0, seconds=1.512, score=30, depth=12, pv=("7g7f", "3c3d", "2g2f")),
        MoveRecord("3c3d", 1, seconds=65.25, score=45, pv=("3c3d", "8h2b+", "3a2b")),
        MoveRecord("8h2b+", 0, seconds=12.0, mate=3, depth=7, seldepth=9, nodes=1234),
        MoveRecord("3a2b", 1, seconds=4000.0, comment="so\n*be it", nps=5),
        MoveRecord("B*4e", 0),
    ]
    record = make_record(
        moves,
        info=("pv", "nodes", "seldepth", "nps"),
        score="1-0",
        reason="resignation",
        time_controls=("600+10byo", ""),
        descriptions=("Alpha 1", ""),
        notes=("a note",),
    )
    assert write_kif(record) == (
        "#KIF version=2.0 encoding=UTF-8\n"
        "棋戦：tune\n開始日時：2026/11/21\n先手：Alpha\n後手：Beta\n手合割：平手\n"
        "手数----指手---------消費時間--\n"
        "*game 0_17\n*Black a: Alpha 1\n*Black time control: 600+10byo\n*White b\n"
        "   1 ７六歩(77)   ( 0:01/00:00:01)\n"
        "**評価値=30\n**読み筋=△３四歩▲２六歩\n*+0.30/12 1.512s\n"
        "   2 ３四歩(33)   ( 1:05/00:01:05)\n"
        "**評価値=-45\n**読み筋=▲２二角成△同　銀\n*+0.45 65.250s\n"
        "   3 ２二角成(88) ( 0:12/00:00:13)\n"
        "**評価値=31997\n*+M3/7 12.000s, sd=9, n=1234\n"
        "   4 同　銀(31)   (66:40/01:07:45)\n"
        "*4000.000s, nps=5\n*so\n*be it\n"
        "   5 ４五角打     ( 0:00/00:00:13)\n\n"
        "   6 投了         ( 0:00/01:07:45)\n"
        "*result 1-0, resignation\n*a note\n"
        "まで5手で先手の勝ち\n"
    )


@pytest.mark.parametrize("name", HANDICAPS)
def test_a_standard_handicap_is_named(name: str) -> None:
    sfen = handicap_sfen(name)
    text = write_kif(make_record(["5a4b"], fen=sfen, score="0-1", reason="resignation"))
    assert f"上手：Beta\n下手：Alpha\n手合割：{name}\n" in text
    assert text.endswith("まで1手で上手の勝ち\n")
    assert position_of(Record.from_kif_str(text).init_position_sfen) == position_of(sfen)


def test_another_position_is_drawn_as_a_diagram() -> None:
    sfen = "ln1gk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PP1PPPP1P/1SG4R1/LN2KGSNL w Bb2p 1"
    sfen = sfen.replace("p1pppp1pp", "p1pppp3")
    assert (
        "後手：Beta\n後手の持駒：歩二　角\n"
        "  ９ ８ ７ ６ ５ ４ ３ ２ １\n+---------------------------+\n"
        "|v香v桂 ・v金v玉 ・ ・v桂v香|一\n| ・v飛 ・ ・ ・ ・v金v銀 ・|二\n"
        "|v歩 ・v歩v歩v歩v歩 ・ ・ ・|三\n| ・v歩 ・ ・ ・ ・v歩 ・ ・|四\n"
        "| ・ ・ ・ ・ ・ ・ ・ 歩 ・|五\n| ・ ・ 歩 ・ ・ ・ ・ ・ ・|六\n"
        "| 歩 歩 ・ 歩 歩 歩 歩 ・ 歩|七\n| ・ 銀 金 ・ ・ ・ ・ 飛 ・|八\n"
        "| 香 桂 ・ ・ 玉 金 銀 桂 香|九\n+---------------------------+\n"
        "先手の持駒：角\n後手番\n手数"
    ) in write_kif(make_record([], fen=sfen))


@pytest.mark.parametrize(("count", "text"), [(10, "十"), (11, "十一"), (18, "十八"), (2, "二")])
def test_pieces_in_hand_are_counted_in_words(count: int, text: str) -> None:
    sfen = f"4k4/9/9/9/9/9/9/9/4K4 b {count}P 1"
    record = write_kif(make_record([], fen=sfen))
    assert f"先手の持駒：歩{text}\n" in record
    assert Record.from_kif_str(record).init_position_sfen == sfen


@pytest.mark.parametrize(
    ("score", "reason", "to_move", "word", "result"),
    [
        ("1-0", "resignation", 1, "投了", "先手の勝ち"),
        ("1-0", "mate", 1, "詰み", "詰み"),
        ("1-0", "time", 1, "切れ負け", "時間切れにより先手の勝ち"),
        ("1-0", "illegal move", 1, "反則負け", "先手の反則勝ち"),
        ("1-0", "declaration", 0, "入玉勝ち", "先手の入玉勝ち"),
        ("1-0", "perpetual check", 1, "反則負け", "先手の反則勝ち"),
        ("1-0", "crash", 0, "反則勝ち", "先手の反則勝ち"),
        ("1/2-1/2", "repetition", 0, "千日手", "千日手"),
        ("1/2-1/2", "impasse", 0, "持将棋", "持将棋"),
        ("1/2-1/2", "move limit", 0, "持将棋", "持将棋"),
        ("*", "crash", 0, "中断", "中断"),
        ("1-0", "adjudicated win", 0, "中断", "中断"),
    ],
)
def test_endings_have_the_words_of_kif(
    score: str, reason: str, to_move: int, word: str, result: str
) -> None:
    text = write_kif(ended_record(score, reason, to_move))
    plies = 2 - to_move
    assert f"\n   {plies + 1} {word} " in text
    assert text.endswith(f"\nまで{plies}手で{result}\n")
