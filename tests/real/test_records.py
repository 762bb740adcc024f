"""Records and adjudication of real games, read by an independent reader."""

from __future__ import annotations

import re
from pathlib import Path

import chess
import chess.pgn
import pytest

from tests.program import ringmaster, shown
from tests.requirements import engine

pytestmark = pytest.mark.real

TABLES = Path(__file__).parent.parent / "data" / "syzygy"
BOOK = Path(__file__).parent.parent.parent / "controlfiles" / "openings.epd"
GAMES = 20

SUMMARY = re.compile(r"(?:[+-]M\d+|[+-]\d+\.\d\d|0\.00)(?:/\d+)? \d+\.\d+s(?:,.*)?")


def play(folder: Path) -> Path:
    stockfish, glaurung = engine("stockfish"), engine("glaurung")
    control = folder / "event.ctl"
    control.write_text(f"""
competition_type = "playoff"
game = "chess"
players = {{
    "sf": Player("{stockfish}", nodes=1000, options={{"Hash": 1}}),
    # It has a clock, but a busy machine must not matter.
    "gl": Player("{glaurung}", time_control="60+0.02", depth=4,
                 options={{"Threads": 1, "OwnBook": False, "Hash": 4}}),
}}
openings = Openings("{BOOK}", order="random")
draw_adjudication = DrawAdjudication(move_number=20, move_count=4, score=15)
resign_adjudication = ResignAdjudication(move_count=2, score=500)
tablebases = Tablebases("{TABLES}")
record_info = ["seldepth", "nodes", "nps", "hashfull", "tbhits", "pv", "left"]
matchups = [Matchup("sf", "gl", number_of_games={GAMES})]
""")
    done = ringmaster(control, "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    return control


def read(path: Path) -> list[chess.pgn.Game]:
    games = []
    with path.open() as file:
        while (game := chess.pgn.read_game(file)) is not None:
            assert game.errors == []
            games.append(game)
    return games


def closing_comment(game: chess.pgn.Game) -> str:
    return " ".join(game.end().comment.split())


def is_sound(game: chess.pgn.Game) -> bool:
    """Whether the position at the end, and the scores before it, bear the result
    and the reason that are given for it."""
    last, closing = game.end(), closing_comment(game)
    board, result = last.board(), game.headers["Result"]
    if game.headers["Termination"] == "normal":
        if "mates" in closing:
            return board.is_checkmate() and (result == "1-0") == (board.turn == chess.BLACK)
        return result == "1/2-1/2" and (
            board.is_stalemate()
            or board.is_insufficient_material()
            or board.is_repetition(3)
            or board.is_fifty_moves()
        )
    assert game.headers["Termination"] == "adjudication"
    assert not board.is_game_over()
    scores = []
    for node in list(game.mainline())[:-9:-1]:
        matched = re.match(r"([+-]?)(M?)([\d.]+)", node.comment)
        assert matched is not None
        value = 100.0 if matched[2] else float(matched[3])
        scores.append(-value if matched[1] == "-" else value)
    if "Draw by adjudication" in closing:
        return result == "1/2-1/2" and max(map(abs, scores[:8])) <= 0.15
    if "wins by adjudication" in closing:
        loser = board.turn if scores[0] > 0 else not board.turn
        lost = scores[1:4:2] if scores[0] > 0 else scores[0:4:2]
        return max(lost) <= -5 and (result == "1-0") == (loser == chess.BLACK)
    return "tablebases" in closing and len(board.piece_map()) <= 3


def test_records_of_real_games_have_each_field_once_and_in_order(tmp_path: Path) -> None:
    control = play(tmp_path)
    collected = control.with_suffix(".games.pgn")
    # in the order in which the games ended
    ended = re.findall(r"^game (\S+):", control.with_suffix(".hist").read_text(), re.MULTILINE)
    singles = [control.with_suffix(".games") / f"{game_id}.pgn" for game_id in ended]
    assert collected.read_text() == "".join(path.read_text() for path in singles)
    # a comment is never broken; one that is longer has a line of its own
    lines = [line for line in collected.read_text().splitlines() if line[:1] != "["]
    assert all(len(line) < 80 or re.fullmatch(r" ?\{[^{}]*\}", line) for line in lines)
    games = read(collected)
    assert [game.headers["GameId"] for game in games] == [path.stem for path in singles]
    assert len(games) == GAMES
    assert shown(control)["games"]["void"] == 0
    for game in games:
        assert is_sound(game), str(game)
        white = game.headers["White"] == "gl"
        clocked, free = ("White", "Black") if white else ("Black", "White")
        assert game.headers[f"{clocked}TimeControl"] == "60+0.02"
        assert game.headers[f"{free}TimeControl"] == "-"
        assert game.headers[f"{free}Limits"] == "nodes 1000"
        assert int(game.headers["PlyCount"]) == sum(1 for _ in game.mainline())
        for node in list(game.mainline())[:-1]:
            closing = " ".join(node.comment.split())
            assert SUMMARY.fullmatch(closing), closing
            assert "n=" in closing
            clock = node.clock()
            if node.turn() != white:
                assert clock is not None
                assert 0 <= clock < 65
            else:
                assert clock is None
    assert {game.headers["Termination"] for game in games} >= {"adjudication"}
