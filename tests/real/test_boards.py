"""Boards of games that real engines have played, against the rules in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.formats.pgn import pgn_games
from ringmaster.formats.source import Source
from ringmaster.games.game import beginning
from ringmaster.games.go import GoGame
from ringmaster.model.board import BoardGame
from ringmaster.results import Game, load
from ringmaster.results.boards import board_game
from tests.program import ringmaster
from tests.requirements import engine
from tests.test_board_rules import expected, play, stones_of, texts

pytestmark = pytest.mark.real

CHESS = """
competition_type = "playoff"
game = "chess"
record_info = ["nodes", "pv", "left"]
players = {{
    "sf": Player("{engine}", nodes=300, options={{"Hash": 1}}),
    "clock": Player("{engine}", nodes=500, time_control="60+1", options={{"Hash": 1}}),
}}
openings = Openings("{book}", order="random")
matchups = [Matchup("sf", "clock", number_of_games=24)]
"""
SHOGI = """
competition_type = "playoff"
game = "shogi"
record_format = "{format}"
players = {{c: Player("{engine}", nodes=200, options={{"Hash": 1}}) for c in ("a", "b")}}
openings = Openings("{book}", order="random")
matchups = [Matchup("a", "b", number_of_games=8)]
"""
GO = """
competition_type = "playoff"
gnugo = "{engine} --mode=gtp --chinese-rules --level=1"
players = {{c: Player(gnugo, time_control="60+10/5") for c in ("a", "b")}}
komi = 6.5
scorer = "internal"
matchups = [
    Matchup("a", "b", board_size=5, number_of_games=1),
    Matchup("a", "b", id="h4", board_size=7, handicap=4, number_of_games=1),
]
"""
FILES = Path(__file__).parent.parent.parent / "controlfiles"


def played(folder: Path, source: str, **values: str) -> list[tuple[Game, BoardGame]]:
    """Return the games of a control file, and their boards."""
    control = folder / "event.ctl"
    control.write_text(source.format(**values))
    done = ringmaster(control, "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    results = load(control)
    records = results.records()
    return [(game, board_game(game, records.get(game) or b"")) for game in results.games]


def test_every_position_of_chess_games_is_right(tmp_path: Path) -> None:
    book = str(FILES / "openings.epd")
    games = played(tmp_path, CHESS, engine=engine("stockfish"), book=book)
    for (game, board), shown in zip(games, play(b for _, b in games), strict=True):
        assert game.record_path is not None
        (read,) = pgn_games(Source(str(game.record_path), "chess"))
        assert texts(shown) == expected(beginning("chess")(read.start), read.moves)
        assert len(board.ms) == len(board.scores) == len(read.moves) == game.plies
        clocked = game.players.index("clock")
        assert [clock is not None for clock in board.clocks[:2]] == [clocked == 0, clocked == 1]


@pytest.mark.parametrize("format", ["csa", "kif"])
def test_every_position_of_shogi_games_is_right(tmp_path: Path, format: str) -> None:
    book = str(FILES / "openings.sfen")
    path = engine("fairy-stockfish")
    games = played(tmp_path, SHOGI, engine=path, book=book, format=format)
    for (game, board), shown in zip(games, play(b for _, b in games), strict=True):
        moves = board.moves.split()
        assert texts(shown) == expected(beginning("shogi")(board.start or None), moves)
        assert len(moves) == board.book + game.plies
        assert None not in board.scores[board.book :]


def test_every_position_of_go_games_is_right(tmp_path: Path) -> None:
    games = played(tmp_path, GO, engine=engine("gnugo"))
    for (game, board), shown in zip(games, play(b for _, b in games), strict=True):
        rules = GoGame(board.size, board.setup.split(), to_move=board.first)
        positions = [rules.stones()]
        for move in board.moves.split():
            rules.play(move)
            positions.append(rules.stones())
        assert [stones_of(text, board.size) for text in texts(shown)] == positions
        assert len(positions) == game.plies + 1
        assert None not in board.clocks
