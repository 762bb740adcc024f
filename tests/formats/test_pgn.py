from __future__ import annotations

import dataclasses
import io
import random
import re
from datetime import datetime
from typing import Any

import chess
import chess.pgn
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.formats.pgn_writer import write_pgn
from ringmaster.games.clean_text import one_line
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.model.time_control import TimeControl

anything = st.text(st.characters(), max_size=60)
hostile = st.text('"\\]{}[%;()$!?*\n\r\t \0\x1b\x85\u2028\u202e\ud800aé1', max_size=120)


def uci(text: str) -> tuple[MoveRecord, ...]:
    return tuple(MoveRecord(move, i % 2) for i, move in enumerate(text.split()))


RECORD = GameRecord(
    game_id="0_012",
    event="tune",
    date="2024-03-09",
    codes=("alpha", "beta"),
    names=("Glaurung 2.2", "beta"),
    settings=GameSettings("chess"),
    opening=Opening(),
    moves=uci("f2f3 e7e5 g2g4 d8h4"),
    score="0-1",
    reason="mate",
    competition="tune",
    round=7,
)


def record(**changes: Any) -> GameRecord:
    return dataclasses.replace(RECORD, **changes)


def parse(text: str) -> chess.pgn.Game:
    """Return the only game of `text`, which must have no errors."""
    handle = io.StringIO(text)
    game = chess.pgn.read_game(handle)
    assert game is not None
    assert game.errors == []
    assert chess.pgn.read_game(handle) is None
    return game


def moves(game: chess.pgn.Game) -> list[str]:
    return [move.uci() for move in game.mainline_moves()]


def comments(text: str) -> list[str]:
    return [" ".join(node.comment.split()) for node in parse(text).mainline()]


def test_a_record_reads_back() -> None:
    game = parse(write_pgn(RECORD))
    headers = list(game.headers.items())
    assert headers[:7] + sorted(headers[7:]) == [
        ("Event", "tune"),
        ("Site", "?"),
        ("Date", "2024.03.09"),
        ("Round", "7"),
        ("White", "Glaurung 2.2"),
        ("Black", "beta"),
        ("Result", "0-1"),
        ("GameId", "0_012"),
        ("PlyCount", "4"),
        ("Termination", "normal"),
        ("TimeControl", "-"),
    ]
    assert moves(game) == ["f2f3", "e7e5", "g2g4", "d8h4"]


def test_text_follows_the_fields_style() -> None:
    full = record(
        moves=(
            MoveRecord("f2f3", 0),
            MoveRecord("e7e5", 1, seconds=0.52, score=31, depth=12),
            MoveRecord("g2g4", 0, seconds=1.25, mate=-1, depth=3),
            MoveRecord("d8h4", 1, seconds=0.004, mate=1),
        ),
        opening=Opening(moves=("f2f3",), source="book.epd:1"),
    )
    head, movetext = write_pgn(full).split("\n\n", 1)
    assert head.startswith('[Event "tune"]\n[Site "?"]\n[Date "2024.03.09"]\n')
    assert movetext == (
        "1. f3 {book} 1... e5 {+0.31/12 0.520s} 2. g4 {-M1/3 1.250s} 2... Qh4#\n"
        "{+M1 0.004s} {Black mates} 0-1\n\n"
    )


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        ({}, ""),
        ({"score": 0, "depth": 1}, "0.00/1"),
        ({"score": -250, "seconds": 12.345}, "-2.50 12.345s"),
        ({"mate": 5, "score": 9999, "depth": 20, "seconds": 0.0}, "+M5/20 0.000s"),
        ({"mate": 0}, "-M0"),
        ({"seconds": 0.0996}, "0.100s"),
        ({"seconds": 2.0, "comment": "I like {this}\nmove"}, "2.000s, I like (this) move"),
    ],
)
def test_move_comments_hold_score_depth_and_time(move: dict[str, Any], expected: str) -> None:
    text = write_pgn(record(moves=(MoveRecord("e2e4", 0, **move), MoveRecord("e7e5", 1))))
    assert comments(text)[0] == expected


@pytest.mark.parametrize(
    ("score", "reason", "termination", "comment"),
    [
        ("0-1", "resignation", "normal", "White resigns"),
        ("1-0", "time", "time forfeit", "Black loses on time"),
        ("0-1", "illegal move", "rules infraction", "White makes an illegal move"),
        ("1-0", "claim", "normal", "White wins: claim"),
        ("1/2-1/2", "stalemate", "normal", "Draw by stalemate"),
        ("1/2-1/2", "50 moves", "normal", "Draw by the 50-move rule"),
        ("1/2-1/2", "move limit", "adjudication", "Draw by the move limit"),
        ("1/2-1/2", "tablebases", "adjudication", "Draw by tablebases"),
        ("0-1", "crash", "abandoned", "White crashes"),
        ("*", "crash", "abandoned", "Void game: an engine crashes"),
        ("*", "start", "abandoned", "Void game: an engine does not start"),
        ("*", "", "normal", "No result"),
    ],
)
def test_the_last_comment_gives_the_reason_of_the_result(
    score: str, reason: str, termination: str, comment: str
) -> None:
    text = write_pgn(record(score=score, reason=reason, moves=uci("e2e4 e7e5")))
    game = parse(text)
    assert game.headers["Result"] == (score if score != "?" else "*")
    assert game.headers["Termination"] == termination
    assert comments(text)[-1] == comment


def test_detail_and_notes_follow_the_reason() -> None:
    text = write_pgn(
        record(
            score="0-1",
            reason="time",
            detail="alpha used 3.2 s\nwith 1.0 s left",
            notes=("a note", "", "two\nlines"),
            moves=uci("e2e4 e7e5"),
        )
    )
    last = "White loses on time (alpha used 3.2 s with 1.0 s left); a note; two lines"
    assert comments(text)[-1] == last


def test_a_start_position_is_in_the_tags_and_numbers_the_moves() -> None:
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 17"
    played = (MoveRecord("c7c5", 1), MoveRecord("g1f3", 0))
    text = write_pgn(record(opening=Opening(fen=fen), moves=played, score="*", reason=""))
    game = parse(text)
    assert game.headers["FEN"] == fen
    assert game.headers["SetUp"] == "1"
    assert moves(game) == ["c7c5", "g1f3"]
    assert "\n\n17... c5 18. Nf3 {" in text


def test_parameters_have_tags() -> None:
    full = record(parameters=({"weight": 0.5, "n": 3}, {"name": 'a "b" \\'}))
    headers = parse(write_pgn(full)).headers
    assert headers["WhiteParameters"] == "weight=0.5, n=3"
    # python-chess leaves the quoting of tags as it is.
    assert headers["BlackParameters"] == r"name=a \"b\" \\"


def limited(*limits: tuple[str, str]) -> chess.pgn.Headers:
    """Return the tags of a game by each player's clock ("" for none) and limits in words."""
    controls = [TimeControl.parse(text) if text else None for text, _ in limits]
    words = [words for _, words in limits]
    full = record(clocks=tuple(controls), time_controls=tuple(words))
    return parse(write_pgn(full)).headers


def test_time_control_is_as_the_standard_has_it() -> None:
    for text in ("10+0.1", "40/60", "300", "40/9000+5"):
        headers = limited((text, text), (text, text))
        assert headers["TimeControl"] == text
        assert not any("Limits" in name for name in headers)


def test_limits_beside_the_clock_have_tags() -> None:
    headers = limited(("", "nodes 1000"), ("10+0.1", "10+0.1, depth 9"))
    assert (headers["WhiteTimeControl"], headers["WhiteLimits"]) == ("-", "nodes 1000")
    assert (headers["BlackTimeControl"], headers["BlackLimits"]) == ("10+0.1", "10+0.1, depth 9")


def test_start_end_and_duration_have_tags() -> None:
    headers = parse(write_pgn(record(started=1_700_000_000.25, seconds=3725.9))).headers
    assert headers["GameDuration"] == "01:02:05"
    start = datetime.fromisoformat(headers["GameStartTime"])
    end = datetime.fromisoformat(headers["GameEndTime"])
    assert start.timestamp() == 1_700_000_000
    assert end.timestamp() == 1_700_003_726
    assert "GameStartTime" not in parse(write_pgn(RECORD)).headers


@pytest.mark.parametrize(
    ("name", "eco", "opening"),
    [
        ("", None, None),
        ("B90 Sicilian: Najdorf", "B90", "Sicilian: Najdorf"),
        ("C42", "C42", None),
        ("Bird", None, "Bird"),
        ('A00: "Grob"', "A00", r"\"Grob\""),
    ],
)
def test_the_opening_has_the_books_name(name: str, eco: str | None, opening: str | None) -> None:
    headers = parse(write_pgn(record(opening=Opening(name=name)))).headers
    assert (headers.get("ECO"), headers.get("Opening")) == (eco, opening)


FULL = MoveRecord(
    "e7e5",
    1,
    seconds=0.52,
    score=31,
    depth=12,
    nodes=1234,
    seldepth=20,
    nps=2373,
    hashfull=5,
    tbhits=0,
    pv=("e7e5", "g1f3", "b8c6"),
    left=3661.25,
    comment="well",
)


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ((), "+0.31/12 0.520s, well"),
        (("nodes",), "+0.31/12 0.520s, n=1234, well"),
        (("tbhits", "seldepth"), "+0.31/12 0.520s, sd=20, tbhits=0, well"),
        (("left",), "+0.31/12 0.520s, [%clk 1:01:01.250], well"),
        (
            ("seldepth", "nodes", "nps", "hashfull", "tbhits", "pv", "left"),
            "+0.31/12 0.520s, sd=20, n=1234, nps=2373, hashfull=5, tbhits=0, "
            'pv="e7e5 g1f3 b8c6", [%clk 1:01:01.250], well',
        ),
    ],
)
def test_a_record_has_the_requested_details_of_moves(info: tuple[str, ...], expected: str) -> None:
    full = record(
        settings=GameSettings("chess", record_info=info),
        moves=(MoveRecord("e2e4", 0), FULL, MoveRecord("g1f3", 0)),
        score="*",
    )
    text = write_pgn(full)
    assert comments(text)[1] == expected
    comment = next(line for line in text.splitlines() if "well}" in line)
    assert f"{{{expected}}}" in comment
    assert all(len(line) <= 79 for line in text.splitlines() if line != comment)
    # what a viewer makes of it
    last = list(parse(text).mainline())[1]
    assert last.clock() == (3661.25 if "left" in info else None)


def test_a_long_or_hostile_line_does_no_harm() -> None:
    pv = ('"}', "{x", "e2e4\n[%clk", *["e2e4"] * 100_000)
    move = MoveRecord("e2e4", 0, pv=pv)
    text = write_pgn(
        record(settings=GameSettings("chess", record_info=("pv",)), moves=(move,), score="*")
    )
    assert moves(parse(text)) == ["e2e4"]
    assert len(text) < 2500


def test_chess960_has_a_variant_tag_and_castling_in_san() -> None:
    fen = "1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w GBgb - 0 1"
    full = record(
        settings=GameSettings("chess", variant="chess960"),
        opening=Opening(fen=fen),
        moves=(MoveRecord("e1g1", 0), MoveRecord("e8b8", 1)),
        score="*",
    )
    text = write_pgn(full)
    game = parse(text)
    assert game.headers["Variant"] == "Chess960"
    assert (game.headers["SetUp"], game.headers["FEN"]) == ("1", fen)
    assert "1. O-O O-O-O" in text
    assert [move.uci() for move in game.mainline_moves()] == ["e1g1", "e8b8"]


def test_missing_texts_become_question_marks_or_codes() -> None:
    bare = record(event="", date="yesterday", game_id=" ", round=0, names=("\n", ""))
    headers = parse(write_pgn(bare)).headers
    assert headers["Event"] == "?"
    assert headers["Date"] == "????.??.??"
    assert headers["Round"] == headers["GameId"] == "?"
    assert headers["White"] == "alpha"


@pytest.mark.parametrize("bad", ["e2e5", "0000", "resign", "", "e9e9", "P@e4", "e1}e2"])
def test_an_illegal_move_ends_the_record_with_a_comment(bad: str) -> None:
    text = write_pgn(record(moves=(*uci("e2e4 e7e5"), MoveRecord(bad, 0)), score="*"))
    game = parse(text)
    assert moves(game) == ["e2e4", "e7e5"]
    assert game.headers["PlyCount"] == "2"
    assert f"The move {bad.replace('}', ')')!r} is not legal here" in comments(text)[-1]


def test_an_invalid_start_position_is_shown_in_a_comment() -> None:
    text = write_pgn(record(opening=Opening(fen="nonsense"), score="*"))
    assert "{The opening cannot be shown:" in text


def test_lines_have_at_most_79_characters_except_for_long_comments() -> None:
    rng = random.Random(1)
    nasty = ("%", "%hidden", "[Event", '"x"]', ";rest", "x" * 200, "{", "}", "ordinary", "1-0")
    board, played = chess.Board(), []
    for i in range(120):
        move = rng.choice(list(board.legal_moves))
        board.push(move)
        comment = " ".join(rng.choice(nasty) for _ in range(rng.randrange(12)))
        played.append(MoveRecord(move.uci(), i % 2, seconds=i / 7, comment=comment))
    text = write_pgn(record(moves=tuple(played), score="*"))
    movetext = text.split("\n\n")[1].split("\n")
    assert all(0 < len(line) <= 79 or re.fullmatch(r" ?\{[^{}]*\}", line) for line in movetext)
    assert not any(line[0] in "%[;" for line in movetext)
    assert moves(parse(text)) == [move.move for move in played]
    assert "%hidden" in text


@given(st.lists(st.text(alphabet="ab {}[%;\n", max_size=120), min_size=1, max_size=20))
def test_no_comment_is_broken_over_two_lines(words: list[str]) -> None:
    played = ("e2e4", "e7e5", "g1f3", "b8c6", "f3g1", "c6b8") * 4
    moves = tuple(
        MoveRecord(move, i % 2, seconds=i / 7, comment=comment)
        for i, (move, comment) in enumerate(zip(played[2:], words, strict=False), 2)
    )
    opening = tuple(MoveRecord(move, i) for i, move in enumerate(played[:2]))
    text = write_pgn(record(moves=opening + moves, score="*"))
    for line in text.splitlines()[text.splitlines().index("") :]:
        assert line.count("{") == line.count("}")
        assert not re.search(r"\{[^}]*\{", line)


def test_comments_omit_times_on_request() -> None:
    settings = GameSettings("chess", record_times=False)
    moves = (
        MoveRecord("e2e4", 0, seconds=1.5, score=31, depth=12),
        MoveRecord("e7e5", 1, seconds=1.5),
    )
    text = write_pgn(record(settings=settings, moves=moves))
    assert comments(text) == ["+0.31/12", "Black mates"]


@given(*[anything | hostile] * 6)
@settings(deadline=None)
def test_no_text_breaks_a_record(
    name: str, event: str, comment: str, note: str, reason: str, value: str
) -> None:
    full = record(
        names=(name, "beta"),
        event=event,
        game_id=event,
        reason=reason,
        detail=note,
        notes=(note,),
        parameters=({name: value}, {}),
        time_controls=(value, value),
        opening=Opening(name=value),
        settings=GameSettings("chess", record_info=("pv",)),
        moves=tuple(msgspec.structs.replace(move, comment=comment) for move in RECORD.moves),
    )
    text = write_pgn(full)
    text.encode()
    game = parse(text)
    assert moves(game) == [move.move for move in RECORD.moves]
    assert game.headers["Result"] == "0-1"
    quoted = one_line(name).replace("\\", "\\\\").replace('"', '\\"')
    assert game.headers["White"] == (quoted or "alpha")
    expected_words = one_line(comment).replace("{", "(").replace("}", ")").split()
    assert "".join(comments(text)[0].split()) == "".join(expected_words)
