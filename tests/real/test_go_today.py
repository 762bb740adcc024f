"""Go as it is played today: rules, a referee and openings, with engines as they are."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from sgfmill import sgf

from tests.processes import await_that
from tests.program import REPOSITORY, living_engines, ringmaster, shown, start
from tests.real.test_matches import GNUGO, records
from tests.requirements import engine

pytestmark = [pytest.mark.real, pytest.mark.slow]

OPENINGS = REPOSITORY / "controlfiles" / "openings_9x9.sgf"


def test_gnugo_and_the_demo_engine_play_openings_with_a_referee_through_a_kill(
    tmp_path: Path,
) -> None:
    control = tmp_path / "event.ctl"
    gnugo = f"{engine('gnugo')} {GNUGO} --japanese-rules"
    control.write_text(
        f"""
competition_type = "playoff"
players = {{
    "gnugo": Player("{gnugo} --level=1"),
    "demo": Player(["{sys.executable}", "-m", "ringmaster.demo", "go"],
                   analysis="kata", visits=20),
    "judge": Player("{gnugo} --level=1"),
}}
board_size = 9
komi = 6.5
rules = "japanese"
scorer = "referee"
referee = "judge"
openings = Openings("{OPENINGS}")
number_of_games = 12
matchups = [Matchup("gnugo", "demo")]
"""
    )
    run = start(control, "-j", "2")
    await_that(lambda: shown(control)["games"]["completed"] >= 3, run)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    await_that(lambda: not living_engines(control))
    done = ringmaster(control, "-j", "2")
    assert done.returncode == 0, done.stderr
    assert shown(control)["games"] == {"completed": 12, "void": 0, "in_progress": 0, "total": 12}
    games = [sgf.Sgf_game.from_string(text) for text in records(control)]
    openings = Counter()
    for game in games:
        root = game.get_root()
        assert root.get("RU") == "japanese"
        if not root.get("RE").endswith("R"):
            assert f"referee judge final_score: {root.get('RE')}" in root.get("C")
        moves = [node.get_move() for node in game.get_main_sequence()[1:]]
        openings[tuple(moves[:4])] += 1
    # each opening once with either colour
    assert set(openings.values()) == {2}
    analysed = [
        node.get("C")
        for game in games
        for node in game.get_main_sequence()[1:]
        if node.has_property("C") and "visits" in node.get("C")
    ]
    assert len(analysed) > 100
