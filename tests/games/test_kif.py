from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rsshogi.record import Record

from ringmaster.games.kif import write_kif
from ringmaster.games.sfen import START_SFEN
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.record import MoveRecord
from tests.games.shogi_records import (
    ENDINGS,
    HANDICAPS,
    ended_record,
    handicap_sfen,
    make_record,
    random_record,
)
from tests.games.test_csa import position_of, usi


def second_opinion(text: str) -> Any:
    """Return a record as cshogi reads it; it does not know board diagrams."""
    pytest.importorskip("cshogi")
    from cshogi import KIF

    return KIF.Parser.parse_str(text)


@given(st.integers(0, 1 << 32))
@hypothesis_settings(max_examples=60)
def test_moves_and_times_are_read_back_alike_by_two_libraries(seed: int) -> None:
    record = random_record(seed)
    text = write_kif(record)
    moves = [move.move for move in record.moves]
    seconds = [int(move.seconds or 0) for move in record.moves]
    start = record.opening.fen or START_SFEN
    read = Record.from_kif_str(text)
    assert [move.move.to_usi() for move in read.moves] == moves
    assert [move.time_ms for move in read.moves] == [1000 * s for s in seconds]
    assert position_of(read.init_position_sfen) == position_of(start)
    if "その他" not in text:
        other = second_opinion(text)
        assert usi(other.moves) == moves
        assert other.times[: len(moves)] == seconds
        assert position_of(other.sfen) == position_of(start)


def test_the_text_is_that_of_the_format() -> None:
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
        "開始日時：2026/11/21\n棋戦：tune\n手合割：平手\n先手：Alpha\n後手：Beta\n"
        "*game 0_17\n*Black a: Alpha 1\n*Black time control: 600+10byo\n*White b\n"
        "手数----指手---------消費時間--\n"
        "   1 ７六歩(77)   ( 0:01/00:00:01)\n"
        "**対局 時間 00:01.512 深さ 12 評価値 30 読み筋 △３四歩(33) ▲２六歩(27)\n"
        "   2 ３四歩(33)   ( 1:05/00:01:05)\n"
        "**対局 時間 01:05.250 評価値 -45 読み筋 ▲２二角成(88) △同　銀(31)\n"
        "   3 ２二角成(88)   ( 0:12/00:00:13)\n"
        "**対局 時間 00:12.000 深さ 7/9 ノード数 1234 評価値 +詰 3\n"
        "   4 同　銀(31)   (66:40/01:07:45)\n"
        "**対局 時間 66:40.000\n*nps 5\n*so\n*be it\n"
        "   5 ４五角打   ( 0:00/00:00:13)\n"
        "   6 投了   ( 0:00/01:07:45)\n"
        "*result 1-0, resignation\n*a note\n"
        "まで5手で先手の勝ち\n"
    )


@pytest.mark.parametrize("name", HANDICAPS)
def test_a_standard_handicap_is_called_by_its_name(name: str) -> None:
    sfen = handicap_sfen(name)
    text = write_kif(make_record(["5a4b"], fen=sfen, score="0-1", reason="resignation"))
    assert f"手合割：{name}\n下手：Alpha\n上手：Beta\n" in text
    assert text.endswith("まで1手で上手の勝ち\n")
    assert position_of(Record.from_kif_str(text).init_position_sfen) == position_of(sfen)
    assert position_of(second_opinion(text).sfen) == position_of(sfen)


def test_another_position_is_drawn_as_a_diagram() -> None:
    sfen = "ln1gk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PP1PPPP1P/1SG4R1/LN2KGSNL w Bb2p 1"
    sfen = sfen.replace("p1pppp1pp", "p1pppp3")
    assert (
        "手合割：その他\n後手の持駒：角　歩二\n"
        "  ９ ８ ７ ６ ５ ４ ３ ２ １\n+---------------------------+\n"
        "|v香v桂 ・v金v玉 ・ ・v桂v香|一\n| ・v飛 ・ ・ ・ ・v金v銀 ・|二\n"
        "|v歩 ・v歩v歩v歩v歩 ・ ・ ・|三\n| ・v歩 ・ ・ ・ ・v歩 ・ ・|四\n"
        "| ・ ・ ・ ・ ・ ・ ・ 歩 ・|五\n| ・ ・ 歩 ・ ・ ・ ・ ・ ・|六\n"
        "| 歩 歩 ・ 歩 歩 歩 歩 ・ 歩|七\n| ・ 銀 金 ・ ・ ・ ・ 飛 ・|八\n"
        "| 香 桂 ・ ・ 玉 金 銀 桂 香|九\n+---------------------------+\n"
        "先手の持駒：角\n後手番\n先手：Alpha\n"
    ) in write_kif(make_record([], fen=sfen))


@pytest.mark.parametrize(("count", "text"), [(10, "十"), (11, "十一"), (18, "十八"), (2, "二")])
def test_pieces_in_hand_are_counted_in_words(count: int, text: str) -> None:
    sfen = f"4k4/9/9/9/9/9/9/9/4K4 b {count}P 1"
    record = write_kif(make_record([], fen=sfen))
    assert f"先手の持駒：歩{text}\n" in record
    assert Record.from_kif_str(record).init_position_sfen == sfen


@pytest.mark.parametrize(("score", "reason", "to_move"), ENDINGS)
def test_every_reader_sees_who_has_won(score: str, reason: str, to_move: int) -> None:
    text = write_kif(ended_record(score, reason, to_move))
    result = Record.from_kif_str(text).result
    seen = "1-0" if result.is_black_win() else "0-1" if result.is_white_win() else "1/2-1/2"
    assert seen == score
    assert result.is_draw() == (score == "1/2-1/2")
    assert second_opinion(text).win == {"1-0": 1, "0-1": 2, "1/2-1/2": 0}[score]
    assert f"*result {score}, {reason}" in text.splitlines()


@pytest.mark.parametrize(
    ("score", "reason", "to_move", "word", "result"),
    [
        ("1-0", "resignation", 1, "投了", "先手の勝ち"),
        ("0-1", "mate", 0, "詰み", "後手の勝ち"),
        ("1-0", "time", 1, "切れ負け", "先手の勝ち"),
        ("1-0", "stall", 1, "切れ負け", "先手の勝ち"),
        ("1-0", "illegal move", 1, "反則負け", "後手の反則負け"),
        ("1-0", "declaration", 0, "入玉勝ち", "先手の入玉勝ち"),
        ("1-0", "perpetual check", 0, "反則勝ち", "先手の反則勝ち"),
        ("1-0", "perpetual check", 1, "反則負け", "後手の反則負け"),
        ("1/2-1/2", "repetition", 0, "千日手", "千日手"),
        ("1/2-1/2", "impasse", 0, "持将棋", "持将棋"),
        ("*", "crash", 0, "中断", "中断"),
        ("1-0", "adjudicated win", 0, "中断", "先手の勝ち"),
    ],
)
def test_the_end_is_written_as_the_format_calls_it(
    score: str, reason: str, to_move: int, word: str, result: str
) -> None:
    text = write_kif(ended_record(score, reason, to_move))
    plies = 2 - to_move
    assert f"\n   {plies + 1} {word}   ( 0:00/00:00:00)\n" in text
    assert text.endswith(f"まで{plies}手で{result}\n")


@given(st.text(), st.text(), st.text())
@example("\n   2 投了", "後手：x\n   2 投了\nまで1手で", "\ud800\u2028&\r#:y")
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
    text = write_kif(record)
    text.encode()
    read = Record.from_kif_str(text)
    assert [move.move.to_usi() for move in read.moves] == ["7g7f", "3c3d"]
    assert read.result.is_white_win()
    other = second_opinion(text)
    assert (other.win, usi(other.moves)) == (2, ["7g7f", "3c3d"])


def test_an_illegal_move_ends_the_record_with_a_comment() -> None:
    text = write_kif(make_record(["7g7f", "7g7f"], score="1-0", reason="?"))
    assert "\n   2 中断\n*The move cannot be shown: '7g7f' is not legal here\n" in text
    assert len(Record.from_kif_str(text).moves) == 1


def test_an_opening_that_cannot_be_read_is_told() -> None:
    text = write_kif(make_record([], fen="nonsense"))
    assert "\n*The opening cannot be shown: an SFEN has 4 fields" in text
    assert Record.from_kif_str(text).init_position_sfen == START_SFEN


def test_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="KIF records are for shogi, not for go"):
        write_kif(make_record([], settings=GameSettings(game="go")))
