"""Matches from openings in files of games: KIF for shogi, SGF for Go."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from rsshogi.record import Record
from sgfmill import sgf

from tests.processes import await_that
from tests.program import ringmaster, shown, start
from tests.requirements import engine

pytestmark = pytest.mark.real

KIF = """手合割：平手
先手：a
後手：b
   1 ７六歩(77)
   2 ３四歩(33)
   3 {}
   4 投了
"""


def test_shogi_engines_play_from_games_in_shift_jis(tmp_path: Path) -> None:
    games = "\n".join(map(KIF.format, ("２六歩(27)", "６六歩(67)")))
    (tmp_path / "games.kif").write_bytes(games.encode("cp932"))
    control = tmp_path / "event.ctl"
    control.write_text(f"""
competition_type = "playoff"
game = "shogi"
players = {{
    "fairy": Player("{engine("fairy-stockfish")}", nodes=500),
    "gps": Player(["{engine("gpsusi")}", "--node-count-hard-limit", "1000", "-N", "1",
                   "--memory-use-percent", "2"], time_control="600+60byo"),
}}
move_limit = 30
openings = Openings("games.kif")
matchups = [Matchup("fairy", "gps", number_of_games=4, alternating=True)]
""")
    done = ringmaster(control, "-j", "2")
    assert done.returncode == 0, done.stderr
    assert shown(control)["games"]["void"] == 0
    lines = [
        [move.move.to_usi() for move in Record.from_csa_str(path.read_text()).moves]
        for path in sorted(control.with_suffix(".games").iterdir())
    ]
    assert [line[:3] for line in lines] == [["7g7f", "3c3d", "2g2f"]] * 2 + [
        ["7g7f", "3c3d", "6g6f"]
    ] * 2
    assert all(len(line) > 4 for line in lines)


def test_a_killed_match_of_go_resumes_with_the_same_openings(tmp_path: Path) -> None:
    trees = ("(;SZ[7]KM[0];B[dd];W[cc])", "(;SZ[7];B[cd];W[ed])", "(;SZ[7];B[dc];W[de])")
    (tmp_path / "lines.sgf").write_text("\n".join(trees))
    control = tmp_path / "event.ctl"
    control.write_text(f"""
competition_type = "playoff"
gnugo = "{engine("gnugo")} --mode=gtp --chinese-rules --capture-all-dead --level=1"
players = {{"a": Player(gnugo), "b": Player(gnugo + " --never-resign")}}
board_size = 7
komi = 9
scorer = "internal"
openings = Openings("lines.sgf")
matchups = [Matchup("a", "b", number_of_games=6, alternating=True)]
""")
    run = start(control, "-j", "1")
    folder = control.with_suffix(".games")
    await_that(lambda: folder.exists() and any(folder.iterdir()), run)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    done = ringmaster(control)
    assert done.returncode == 0, done.stderr
    games = [sgf.Sgf_game.from_string(path.read_text()) for path in sorted(folder.iterdir())]
    assert [game.get_root().get("KM") for game in games] == [9.0] * 6
    openings = [[node.get_move()[1] for node in game.get_main_sequence()[1:3]] for game in games]
    first, second, third = [(3, 3), (4, 2)], [(3, 2), (3, 4)], [(4, 3), (2, 3)]
    assert openings == [first, first, second, second, third, third]
    assert games[0].get_main_sequence()[1].get("C") == "book"
    assert not games[0].get_main_sequence()[3].get("C").startswith("book")
