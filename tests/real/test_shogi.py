"""Real engines play shogi over USI; an independent library reads the records and
says how each game has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from rsshogi.record import Record

from tests.games.test_shogi import Oracle
from tests.program import ringmaster, shown
from tests.requirements import engine, package

pytestmark = pytest.mark.real

#: Fairy-Stockfish in few nodes, so that a busy machine plays the same games.
SOURCE = """
competition_type = "playoff"
game = "shogi"
players = {{
    "strong": Player("{fairy}", nodes=2000),
    "weak": Player("{fairy}", nodes=200),
    {gps}
}}
move_limit = 300
matchups = [{matchups}]
"""
#: gpsusi knows no limit but a clock; the nodes are those of its command line.
GPS = """"gps": Player(["{gps}", "--node-count-hard-limit", "2000", "-N", "1",
                   "--memory-use-percent", "2"], time_control="600+60byo"),"""


def usi(moves: list[int]) -> list[str]:
    cshogi = package("cshogi")
    return [cshogi.move_to_usi(move) for move in moves]


def play(folder: Path, matchups: str, gps: str = "") -> Path:
    control = folder / "event.ctl"
    fairy = engine("fairy-stockfish")
    control.write_text(SOURCE.format(fairy=fairy, gps=gps, matchups=matchups))
    done = ringmaster(control, "-j", "2")
    assert done.returncode == 0, done.stderr
    assert shown(control)["games"]["void"] == 0
    return control


def verify(moves: list[str], score: str, reason: str) -> None:
    """Play a game through by cshogi's rules; its end must be the one recorded."""
    oracle = Oracle("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1")
    for move in moves:
        assert oracle.ending() is None
        assert move in oracle.legal()
        oracle.push(move)
    ending = oracle.ending()
    if ending is None:
        assert reason in ("resignation", "move limit", "declaration", "time")
        assert (reason == "move limit") == (len(moves) == 300)
        if reason == "resignation":
            assert score == ("0-1" if len(moves) % 2 == 0 else "1-0")
    else:
        assert reason == ending.reason
        assert score == {0: "1-0", 1: "0-1", None: "1/2-1/2"}[ending.winner]


def results_of(control: Path) -> dict[str, tuple[str, str]]:
    """Return score and reason of each game by the name of its record."""
    import ringmaster as package

    return {game.record_name: (game.score, game.reason) for game in package.load(control).games}


def test_fairy_stockfish_plays_itself_and_every_game_is_verified(tmp_path: Path) -> None:
    cshogi = package("cshogi")
    control = play(tmp_path, 'Matchup("strong", "weak", number_of_games=6)')
    results = results_of(control)
    assert len(results) == 6
    for name, (score, reason) in results.items():
        text = (tmp_path / name).read_text()
        other = cshogi.Parser.parse_str(text)[0]
        verify(usi(other.moves), score, reason)
        read = Record.from_csa_str(text)
        assert [move.move.to_usi() for move in read.moves] == usi(other.moves)
        assert sum(score != 0 for score in other.scores) > len(other.moves) / 2


def test_gpsshogi_plays_and_kif_records_are_verified(tmp_path: Path) -> None:
    package("cshogi")
    from cshogi import KIF

    gps = GPS.format(gps=engine("gpsusi"))
    matchup = 'Matchup("gps", "weak", number_of_games=4, record_format="kif")'
    control = play(tmp_path, matchup, gps)
    results = results_of(control)
    assert len(results) == 4
    for name, (score, reason) in results.items():
        assert name.endswith(".kifu")
        text = (tmp_path / name).read_text()
        other = KIF.Parser.parse_str(text)
        verify(usi(other.moves), score, reason)
        assert [m.move.to_usi() for m in Record.from_kif_str(text).moves] == usi(other.moves)
