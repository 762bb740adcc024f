"""Reading recorded games for the boards of a page."""

from __future__ import annotations

import math
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.competition import Played
from ringmaster.formats.pgn_writer import write_pgn
from ringmaster.formats.registry import read_record
from ringmaster.formats.sgf import write_sgf
from ringmaster.formats.shogi_records import write_csa, write_kif
from ringmaster.formats.source import Source
from ringmaster.model.board import MATE, BoardGame
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import GameName
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.results.boards import board_game
from ringmaster.results.games import Game, make_game
from ringmaster.storage.entries import StoredGame
from tests.recorded import NOW, won


def game_of(name: GameName, **changes: Any) -> Game:
    """Return the result of a game between a and b."""
    played = Played(("a", "b"), "0")
    stored = StoredGame(7, {}, won("0_00", **changes), NOW)
    return make_game(stored, played, name, "/nowhere/x.games", "/nowhere/x.void")


def record_of(name: GameName, moves: tuple[MoveRecord, ...], **changes: Any) -> GameRecord:
    fields: dict[str, Any] = {
        "game_id": "0_00",
        "event": "e",
        "date": "2026-11-24",
        "codes": ("a", "b"),
        "names": ("Alpha", "Beta"),
        "settings": GameSettings(name, record_info=("left", "nodes", "pv"), board_size=9, komi=7.5),
        "opening": Opening(),
        "moves": moves,
        "score": "1-0",
        "reason": "mate",
    }
    return GameRecord(**{**fields, **changes})


def read(name: GameName, text: str) -> BoardGame:
    return board_game(game_of(name), text.encode())


CHESS_MOVES = (
    MoveRecord("e2e4", 0),
    MoveRecord("e7e5", 1, 0.52, 31, None, 12, 900, pv=("e7e5", "g1f3"), left=59.48),
    MoveRecord("g1f3", 0, 61.5, None, 5, 20, comment="hello, world", left=1.5),
    MoveRecord("b8c6", 1, 0.25),
    MoveRecord("f1b5", 0, 1.0, -210, None, None),
)


def test_a_chess_game_has_moves_times_clocks_and_scores_of_white() -> None:
    opening = Opening(None, ("e2e4",), name="C60 Ruy Lopez")
    record = record_of("chess", CHESS_MOVES, opening=opening, time_controls=("10+0.1", "40/60"))
    board = read("chess", write_pgn(record))
    assert board.moves == "e4 e5 Nf3 Nc6 Bb5"
    assert board.book == 1
    assert board.ms == (None, 520, 61500, 250, 1000)
    assert board.clocks == (None, 59480, 1500, None, None)
    assert board.scores == (None, -31, MATE - 5, None, -210)
    assert board.depths == (None, 12, 20, None, None)
    assert board.comments == ((2, "hello, world"),)
    assert board.opening == "C60 Ruy Lopez"
    assert board.time_control == ("10+0.1", "40/60")
    assert (board.date, board.first, board.start) == ("2026-11-24", 0, "")


def test_a_board_has_players_and_result_of_the_game() -> None:
    game = game_of("chess", winner=1, detail="on move 3")
    board = board_game(game, write_pgn(record_of("chess", CHESS_MOVES)).encode())
    assert (board.number, board.id, board.matchup) == (7, "0_00", "0")
    assert board.players == ("a", "b")
    assert board.names == ("Alpha 1", "Beta")
    assert (board.result, board.winner, board.reason) == ("0-1", 1, "mate")
    assert board.detail == "on move 3"


def test_black_to_move_at_the_start_changes_the_side_of_scores() -> None:
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    moves = (MoveRecord("e7e5", 1, 0.1, 20, None, 3), MoveRecord("g1f3", 0, 0.1, 40, None, 3))
    board = read("chess", write_pgn(record_of("chess", moves, opening=Opening(fen))))
    assert (board.start, board.first) == (fen, 1)
    assert board.scores == (-20, 40)


def test_a_chess960_game_names_its_variant() -> None:
    settings = GameSettings("chess", variant="chess960")
    board = read("chess", write_pgn(record_of("chess", CHESS_MOVES, settings=settings)))
    assert board.variant == "chess960"


@pytest.mark.parametrize("times", [True, False])
def test_a_go_game_has_winrates_and_leads_of_black_and_shows_visits_and_lines(times: bool) -> None:
    moves = (
        MoveRecord("E5", 0, 0.5, 1234, nodes=812, pv=("E5", "C3"), lead=2.46, comment="hm, 5.00%"),
        MoveRecord("E6", 1, 0.5, -4999, nodes=3, pv=("E6", "pass")),
        MoveRecord("E7", 0, 0.5, -5000, lead=-0.0),
        MoveRecord("E8", 1, 0.5, 5000, nodes=10**9, lead=81.5),
        MoveRecord("pass", 0, 0.5, comment="50.00% of me"),
    )
    settings = GameSettings("go", board_size=9, record_times=times)
    board = read("go", write_sgf(record_of("go", moves, settings=settings)))
    assert board.ms == ((500,) * 5 if times else ())
    assert board.scores == (1234, 4999, -5000, -5000, None)
    assert board.leads == (2.5, None, 0.0, -81.5, None)
    assert board.nodes == (812, 3, None, 10**9, None)
    assert board.comments == (
        (0, "hm, 5.00% 812 visits, pv E5 C3"),
        (1, "3 visits, pv E6 pass"),
        (3, "1000000000 visits"),
        (4, "50.00% of me"),
    )


@given(
    score=st.integers(-5000, 5000),
    lead=st.none() | st.floats(-400, 400),
    seconds=st.none() | st.floats(0, 1e6),
    nodes=st.none() | st.integers(0, 10**14),
    side=st.integers(0, 1),
)
def test_any_analysis_is_read_as_it_was_written(
    score: int, lead: float | None, seconds: float | None, nodes: int | None, side: int
) -> None:
    move = MoveRecord("E5", side, seconds, score, nodes=nodes, lead=lead)
    board = read("go", write_sgf(record_of("go", (move,))))
    sign = -1 if side else 1
    assert board.scores == (sign * score,)
    assert board.leads == (() if lead is None else (pytest.approx(sign * lead, abs=0.0501),))
    assert board.nodes == (() if nodes is None else (nodes,))
    assert board.ms == (() if seconds is None else (round(seconds * 1000),))


def test_words_of_an_engine_of_go_keep_their_order_and_need_no_summary() -> None:
    words = "3.50 points ahead\nsecond line"
    moves = (MoveRecord("E5", 0, comment=words), MoveRecord("A9", 1, 0.5, comment=words))
    board = read("go", write_sgf(record_of("go", moves)))
    assert board.ms == (None, 500)
    assert board.scores == ()
    assert board.comments == tuple((i, "3.50 points ahead second line") for i in range(2))


@pytest.mark.parametrize("write", [write_pgn, write_csa, write_kif, write_sgf])
def test_a_board_has_the_moves_and_scores_that_other_commands_read(write: Any) -> None:
    name: GameName = {write_pgn: "chess", write_sgf: "go"}.get(write, "shogi")
    played = {"chess": CHESS_MOVES, "shogi": SHOGI_MOVES}.get(name, (MoveRecord("E5", 0),))
    text = write(record_of(name, played))
    (game,) = read_record(Source("a", name, data=text.encode()))
    board = read(name, text)
    assert len(board.moves.split()) == len(game.moves)
    assert [None if math.isnan(s) else s for s in game.scores] == [
        None if s is None else max(-10000, min(10000, s)) for s in board.scores
    ]


def test_words_of_a_closing_comment_are_no_moves() -> None:
    record = record_of("chess", CHESS_MOVES[:1], detail="Black e5 Nf3 Qh5", notes=("Ke2 said a",))
    assert read("chess", write_pgn(record)).moves == "e4"


def test_a_go_game_has_vertices_stones_times_and_clocks() -> None:
    moves = (
        MoveRecord("E5", 1, 0.5, left=59.5, comment="tengen [ok] \\ ;B[aa]"),
        MoveRecord("A9", 0, 0.004, 120, left=2.0, overtime=4),
        MoveRecord("pass", 1),
        MoveRecord("J1", 0),
    )
    record = record_of("go", moves, setup=("D4", "F6"), score="B+3.5", reason="score")
    board = read("go", write_sgf(record))
    assert board.moves == "E5 A9 pass J1"
    assert (board.size, board.komi, board.setup, board.first) == (9, 7.5, "D4 F6", 1)
    assert board.ms == (500, 4, None, None)
    assert board.clocks == (59500, 2000, None, None)
    assert board.scores == (None, 120, None, None)
    assert board.comments == ((0, "tengen [ok] \\ ;B[aa]"),)
    assert board.date == "2026-11-24"


SHOGI_MOVES = (
    MoveRecord("7g7f", 0),
    MoveRecord("3c3d", 1, 0.52, 31, None, 12, 900, pv=("3c3d", "2g2f"), left=59.48),
    MoveRecord("8h2b+", 0, 61.5, None, 5, 20, comment="good"),
    MoveRecord("3a2b", 1, 1.0),
    MoveRecord("B*5e", 0, 1.0, -210, None, 4),
)


@pytest.mark.parametrize("write", [write_csa, write_kif])
def test_a_shogi_game_has_moves_times_clocks_and_scores_of_black(write: Any) -> None:
    opening = Opening(None, ("7g7f",), name="Ranging rook")
    record = record_of("shogi", SHOGI_MOVES, opening=opening, time_controls=("5+1byo", "5+1byo"))
    board = read("shogi", write(record))
    assert board.moves == "7g7f 3c3d 8h2b+ 3a2b B*5e"
    assert board.book == 1
    assert board.ms == (None, 520, 61500, 1000, 1000)
    assert board.clocks == (None, 59480, None, None, None)
    assert board.scores == (None, -31, MATE - 5, None, -210)
    assert board.depths == (None, 12, 20, None, 4)
    assert board.comments == ((2, "good"),)
    assert (board.opening, board.date) == ("Ranging rook", "2026-11-24")
    assert board.time_control == ("5+1byo",)
    assert (board.start, board.first) == ("", 0)


def test_a_handicap_game_of_shogi_begins_with_white() -> None:
    sfen = "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    moves = (MoveRecord("3c3d", 1, 0.1, 50, None, 2),)
    board = read("shogi", write_csa(record_of("shogi", moves, opening=Opening(sfen))))
    assert (board.start, board.first, board.scores) == (sfen, 1, (-50,))


def test_a_board_game_is_json_and_leaves_out_defaults() -> None:
    board = read("chess", write_pgn(record_of("chess", CHESS_MOVES)))
    data = msgspec.json.decode(msgspec.json.encode(board))
    assert not data.keys() & {"in_progress", "komi", "size"}
    assert msgspec.convert(data, BoardGame) == board


RECORDS = {
    "chess": write_pgn(record_of("chess", CHESS_MOVES)),
    "go": write_sgf(record_of("go", (MoveRecord("E5", 0, 0.5, comment="x\\]y"),), setup=("D4",))),
    "shogi": write_csa(record_of("shogi", SHOGI_MOVES)),
}
KIF = write_kif(record_of("shogi", SHOGI_MOVES))


@pytest.mark.parametrize(("name", "text"), [*RECORDS.items(), ("shogi", KIF)])
def test_a_truncated_record_never_raises(name: GameName, text: str) -> None:
    whole = text.encode()
    complete = read(name, text).moves
    for length in range(len(whole)):
        board = board_game(game_of(name), whole[:length])
        assert complete.startswith(board.moves.rpartition(" ")[0])


@pytest.mark.parametrize(("name", "text"), [*RECORDS.items(), ("shogi", KIF)])
def test_a_garbled_record_never_raises(name: GameName, text: str) -> None:
    rng = random.Random(7)
    for _ in range(200):
        data = bytearray(text.encode())
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        assert board_game(game_of(name), bytes(data)).id == "0_00"


@given(st.sampled_from(["chess", "go", "shogi"]), st.binary(max_size=300) | st.text(max_size=300))
def test_any_text_gives_a_board(name: GameName, record: bytes | str) -> None:
    data = record if isinstance(record, bytes) else record.encode(errors="replace")
    assert board_game(game_of(name), data).id == "0_00"
