"""Games of CSA and KIF files as labelled positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import DataFileError
from ringmaster.formats.recorded_game import RecordedGame
from ringmaster.formats.registry import FORMATS
from ringmaster.formats.shogi_records import csa_games, kif_games, write_csa, write_kif
from ringmaster.formats.source import Source
from ringmaster.games.sfen import normalise_sfen
from tests.formats.shogi_records import (
    ENDINGS,
    HANDICAPS,
    handicap_sfen,
    make_record,
    random_record,
)

HEAD = "V2.2\nPI\n+\n"


def read_all(
    read: Callable[[Source], Iterator[RecordedGame]], source: Source
) -> list[RecordedGame]:
    games = list(read(source))
    source.finish()
    return games


def csa(text: str) -> list[RecordedGame]:
    return read_all(csa_games, Source("a.csa", "shogi", data=text.encode()))


def kif(text: str) -> list[RecordedGame]:
    return read_all(kif_games, Source("a.kif", "shogi", data=text.encode()))


def known_scores(scores: list[float]) -> list[float | None]:
    return [None if math.isnan(score) else score for score in scores]


@pytest.mark.parametrize(("write", "read"), [(write_csa, csa), (write_kif, kif)])
@settings(deadline=None)
@given(seed=st.integers(0, 2**32))
def test_our_own_records_are_read_back(write: type, read: type, seed: int) -> None:
    record = random_record(seed)
    text = write(record)
    games = read(text + ("/\n" if read is csa else "") + text)
    assert len(games) == 2
    for number, game in enumerate(games, 1):
        assert game.number == number
        assert game.moves == [move.move for move in record.moves]
        assert game.id == "0_17"
        assert game.result == 0.0
        assert game.book == len(record.opening.moves)
        fen = record.opening.fen
        assert game.start == (None if fen is None else normalise_sfen(fen))
        second = fen is not None and fen.split()[1] == "w"
        expected = [
            None if move.score is None else -move.score if (i + second) % 2 else move.score
            for i, move in enumerate(record.moves)
        ]
        assert known_scores(game.scores) == expected


@pytest.mark.parametrize(("score", "reason", "to_move"), ENDINGS)
@pytest.mark.parametrize(("write", "read"), [(write_csa, csa), (write_kif, kif)])
def test_every_kind_of_ending_has_its_result(
    write: type, read: type, score: str, reason: str, to_move: int
) -> None:
    moves = ["7g7f", "3c3d", "2g2f", "8c8d"][: 4 - (to_move != 0)]
    (game,) = read(write(make_record(moves, score=score, reason=reason)))
    assert game.result == {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[score]
    faults = ("time", "illegal move", "illegal declaration", "perpetual check")
    if reason in faults:
        assert game.is_forfeit


@pytest.mark.parametrize("handicap", HANDICAPS)
@pytest.mark.parametrize(("write", "read"), [(write_csa, csa), (write_kif, kif)])
def test_handicap_games_begin_without_their_pieces(write: type, read: type, handicap: str) -> None:
    fen = handicap_sfen(handicap)
    (game,) = read(write(make_record([], fen=fen, score="1-0", reason="resignation")))
    assert game.start == fen


def test_an_adjudicated_game_has_the_result_of_its_comment() -> None:
    record = make_record(["7g7f"], score="1-0", reason="adjudicated win")
    assert csa(write_csa(record))[0].result == 1.0
    assert kif(write_kif(record))[0].result == 1.0


def test_comments_of_floodgate_are_from_black_and_mates_are_mates() -> None:
    (game,) = csa(
        HEAD + "+7776FU\nT1\n'** 31 -3334FU +2726FU\n-3334FU,T1\n'** -50\n+2726FU\n'** 31995\n"
        "-8384FU\n%TORYO\n"
    )
    assert known_scores(game.scores) == [31, -50, 10000, None]
    assert game.result == 0.0


def test_an_interrupted_game_has_no_result() -> None:
    assert not csa(HEAD + "+7776FU\n%CHUDAN\n")[0].is_finished
    assert not kif("手合割：平手\n   1 ７六歩(77)\n   2 中断\n")[0].is_finished


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + "+7776FU\n+2726FU\n", "a.csa:5: game 1: move sign does not match"),
        ("V2.2\n", "a.csa:1: game 1: it has no moves and no result"),
        ("\nV2.2\nP1-KY\n+\n", "a.csa:2: game 1: Black has no king"),
        (HEAD + "%TORYO\n/\n" + HEAD + "+5555FU\n", "a.csa:9: game 2: move 1 is not legal: '+5555"),
        ("   1 ７五歩(77)\n", "a.kif:1: game 1: move 1 is not legal: '1 ７五歩(77)'"),
        ("   1 ７六歩(77)\n   2 hello\n", "a.kif:2: game 1: this is not a move of KIF: '2 hello'"),
    ],
)
def test_a_fault_is_reported_with_line_and_game(text: str, expected: str) -> None:
    with pytest.raises(DataFileError) as caught:
        (csa if expected.startswith("a.csa") else kif)(text)
    assert str(caught.value).startswith(expected)


KIF = """# ---- Kifu for Windows ----
開始日時：2020/01/01
手合割：平手
先手：a
後手：b
手数----指手---------消費時間--
   1 ７六歩(77)   ( 0:01/00:00:01)
**Engines 0 評価値 120 読み筋 △３四歩
   2 ３四歩(33)   ( 0:01/00:00:01)
*評価値=-300
   3 ２二角成(88)   ( 0:01/00:00:02)
   4 同　銀(31)   ( 0:01/00:00:02)
   5 ５五角打   ( 0:01/00:00:03)
*#評価値 +詰 5
   6 投了
まで5手で先手の勝ち

変化：3手
   3 ２六歩(27)
*評価値 900
   4 ８四歩(83)
"""


def test_kif_of_other_programs_in_shift_jis_without_its_variations(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    path.write_bytes((KIF + "\n" + KIF).encode("cp932"))
    source = Source(str(path), "shogi")
    (batch,) = list(FORMATS["kif"].read(source))
    assert len(batch) == 10
    assert batch.texts[0].decode() == (
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    )
    assert known_scores(batch.teacher.tolist()) == [120, -300, None, None, 10000] * 2
    assert batch.ply.tolist() == [0, 1, 2, 3, 4] * 2
    assert set(batch.result.tolist()) == {1.0}
    (game, _) = kif(KIF + "\n" + KIF)
    assert game.moves == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]


BODY = "手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)   ( 0:01/00:00:01)\n"


@pytest.mark.parametrize(
    ("comment", "score"),
    [
        ("**評価値=120", 120),
        ("*先手有望\n**評価値=-12.5\n**読み筋=△８四歩", -12.5),
        ("*互角\n*#評価値=7\n*#エンジン=x", 7),
        ("**評価値=120\n\n*#評価値=-3", 120),
        ("*#詰み=先手勝ち:5手", 10000),
        ("**詰み=後手勝ち:5手", -10000),
        ("**評価値=-31997", -10000),
        ("**対局 時間 00:01.5 深さ 12 評価値 -詰 3", -10000),
        ("*a comment", None),
    ],
)
@pytest.mark.parametrize("before", ["", "   1 ２六歩(27)\n"])
def test_scores_of_other_programs_are_blacks(
    comment: str, score: float | None, before: str
) -> None:
    body = BODY.replace("   1 ７六歩(77)", before + "   2 ３四歩(33)") if before else BODY
    assert known_scores(kif(f"{body}{comment}\n")[0].scores)[-1] == score


def test_bookmarks_are_passed_over() -> None:
    (game,) = kif(f"{BODY}*a comment\n&しおり\n   2 ３四歩(33)\n   3 投了\n")
    assert game.moves == ["7g7f", "3c3d"]
    with pytest.raises(DataFileError, match=r"^a.kif:5: game 1: .*: '2 x'"):
        kif(f"{BODY}&しおり\n   2 x\n")


def test_joined_csa_files_without_a_separator_are_as_many_games() -> None:
    text = "V2\nN+a\nPI\n+\n+7776FU\n%TORYO\n'summary:toryo\n"
    assert [(game.line, len(game.moves)) for game in csa(text * 3)] == [(1, 1), (8, 1), (15, 1)]
    assert len(csa("PI\n+\n+7776FU\n" * 2)) == 2


@pytest.mark.parametrize(
    "heading", ["手合割：平手\n", "手合割:平手\n", "先手:a\n", "手数----指手---------消費時間--\n"]
)
def test_joined_kif_files_are_as_many_games(heading: str) -> None:
    text = f"{heading}   1 ７六歩(77)\n   2 投了\n"
    assert [(game.line, len(game.moves)) for game in kif(text * 2)] == [(1, 1), (4, 1)]


@pytest.mark.parametrize("handicap", ["七枚落ち", "青空将棋", "その他"])
@pytest.mark.parametrize("colon", "：:")
def test_a_handicap_of_unknown_position_is_a_fault(handicap: str, colon: str) -> None:
    text = BODY.replace("：平手", f"{colon}{handicap}")
    with pytest.raises(DataFileError, match=f"^a.kif:1: game 1: this handicap .*{handicap}"):
        kif(text)


def test_a_bad_game_is_one_fault_and_the_next_game_is_read() -> None:
    good, bad = HEAD + "+7776FU\n%TORYO\n", HEAD + "+5555FU\n%TORYO\n"
    source = Source("a.csa", "shogi", data="/\n".join([good, bad] * 2).encode(), skip_bad=True)
    assert [game.number for game in csa_games(source)] == [1, 3]
    assert source.counts == {"bad games": 2}
    assert source.first_bad.startswith("a.csa:10: game 2: move 1 is not legal: '+5555FU'")
    text = f"{BODY}   2 投了\n{BODY}   2 ７七歩(78)\n{BODY}   2 中断\n"
    source = Source("a.kif", "shogi", data=text.encode("cp932"), skip_bad=True)
    assert [game.number for game in kif_games(source)] == [1, 3]
    assert source.counts == {"bad games": 1}
    with pytest.raises(DataFileError) as caught:
        csa("/\n".join([bad] * 30))
    assert "a.csa:118: game 20: move 1" in str(caught.value)
    assert "game 21" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (HEAD + "+7776FU\n-3333FU\nT1\n'a comment\n%ILLEGAL_MOVE\n", 1.0),
        (HEAD + "+5555FU\n%+ILLEGAL_ACTION\n", 0.0),
        (f"{BODY}   2 ３三歩打 ( 0:01/00:00:01)\n*nifu\n   3 反則勝ち\nまで2手\n", 1.0),
    ],
)
def test_an_illegal_last_move_that_loses_the_game_is_no_fault(text: str, result: float) -> None:
    read = csa if text.startswith("V") else kif
    (game,) = read(text)
    assert (game.result, game.is_forfeit) == (result, True)
    assert len(game.moves) == result
    with pytest.raises(DataFileError, match="is not legal"):
        read(
            text.replace("ILLEGAL_MOVE", "TORYO")
            .replace("+ILLEGAL_ACTION", "TORYO")
            .replace("反則", "")
        )


def test_times_headers_and_comments_of_version_3_are_read() -> None:
    (game,) = csa(
        "'CSA encoding=UTF-8\nV3.0\n$MAX_MOVES:256\nN+a\nPI,+\n'a comment\n"
        "+7776FU,T1.5,-3334FU\nT2.250\n'** 35 +2726FU #1234\n'*#評価値=20\n%JISHOGI\n"
    )
    assert game.moves == ["7g7f", "3c3d"]
    assert known_scores(game.scores) == [None, 35]
    assert game.result == 0.5


def test_forfeits_and_unfinished_games_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csa"
    path.write_text(HEAD + "+7776FU\n%TIME_UP\n/\n" + HEAD + "+7776FU\n%CHUDAN\n")
    source = Source(str(path), "shogi")
    assert list(FORMATS["csa"].read(source)) == []
    assert source.counts == {"unfinished games": 1, "games lost by a fault or on time": 1}
