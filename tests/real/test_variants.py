"""Real engines at Chess960 and at variants; records read by python-chess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chess
import chess.pgn
import chess.variant
import pytest

from tests.program import ringmaster
from tests.requirements import engine, package

pytestmark = pytest.mark.real


def play(folder: Path, variant: str, first: str, second: str, more: str = "") -> list[Any]:
    """Play two games and return their records, read by python-chess."""
    control = folder / "event.ctl"
    control.write_text(
        f"""
competition_type = "playoff"
game = "chess"
variant = "{variant}"
players = {{
    "a": Player("{engine(first)}", protocol="uci", nodes=200),
    "b": Player("{engine(second)}", protocol="uci", nodes=100),
}}
matchups = [Matchup("a", "b", number_of_games=2)]
{more}
"""
    )
    done = ringmaster(control, "run")
    assert done.returncode == 0, done.stderr
    log = control.with_suffix(".log").read_text()
    assert "void" not in log
    assert "illegal" not in log
    games = []
    for path in sorted(control.with_suffix(".games").glob("*.pgn")):
        with path.open() as file:
            games.append(chess.pgn.read_game(file))
    assert len(games) == 2
    return games


@pytest.mark.parametrize("second", ["stockfish", "fairy-stockfish"])
def test_engines_play_chess960_from_its_positions(tmp_path: Path, second: str) -> None:
    games = play(tmp_path, "chess960", "stockfish", second)
    for game in games:
        assert game.errors == []
        assert game.board().chess960
        assert game.end().board().result(claim_draw=True) == game.headers["Result"]
    assert games[0].headers["FEN"] == games[1].headers["FEN"]


def test_an_inner_rook_is_known_to_engines(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text("r3k1r1/pppppppp/8/8/8/8/PPPPPPPP/RR2K1R1 w GBga -\n")
    games = play(
        tmp_path, "chess960", "stockfish", "fairy-stockfish", f'openings = Openings("{book}")'
    )
    assert {game.headers["FEN"].split()[2] for game in games} == {"KBkq"}
    assert all(game.errors == [] for game in games)


@pytest.mark.optional
@pytest.mark.parametrize("variant", ["crazyhouse", "kingofthehill"])
def test_fairy_stockfish_plays_variants_of_chess(tmp_path: Path, variant: str) -> None:
    package("pyffish")
    for game in play(tmp_path, variant, "fairy-stockfish", "fairy-stockfish"):
        assert game.errors == []
        assert type(game.board()) is chess.variant.find_variant(variant)
        assert game.end().board().result(claim_draw=True) == game.headers["Result"]


@pytest.mark.optional
def test_fairy_stockfish_plays_xiangqi(tmp_path: Path) -> None:
    package("pyffish")
    games = play(tmp_path, "xiangqi", "fairy-stockfish", "fairy-stockfish", "move_limit = 60")
    assert {game.headers["Variant"] for game in games} == {"xiangqi"}
