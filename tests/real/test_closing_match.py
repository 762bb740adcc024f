"""A real engine's closing match: with a test, other limits and other openings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ringmaster
from tests.program import ringmaster as run_ringmaster
from tests.program import shown
from tests.real.test_matches import alive, play
from tests.requirements import engine

pytestmark = pytest.mark.real


def test_strength_that_is_tuned_from_its_least_is_proved(tmp_path: Path) -> None:
    stockfish = engine("stockfish")
    book = Path("controlfiles/openings.epd").resolve()
    source = f"""
competition_type = "spsa"
game = "chess"
players = {{"sf": Player("{stockfish}", depth=2, options={{"Hash": 1}})}}
player = "sf"
method = "classic"
parameters = [
    Parameter("Skill Level", start=0, min=0, max=20, c_end=8, r_end=0.1, integer=True),
]
openings = Openings("{book}", order="random")
number_of_games = 60
move_limit = 200
verify = Verify(games=40, sprt=SPRT(0, 200), depth=4,
                openings=Openings("{book}", start=900))
"""
    # after a third of the tune: after fewer games the level may still be its least
    control = play(tmp_path, source, "-j", "2", "-g", "20")
    done = run_ringmaster(control, "verify", "--games", "4", "-j", "2", "--log-gtp")
    assert done.returncode == 0, done.stderr
    assert "closing match complete (4/4 games)" in done.stdout
    # and at its end
    done = run_ringmaster(control, "run", "-j", "2")
    assert done.returncode == 0, done.stderr

    summary = shown(control)
    early, last = summary["matchups"]
    assert (early["games"], early["iterations"]) == (4, 10)
    assert (last["players"], last["iterations"]) == (["sf:tuned", "sf:start"], 30)
    assert last["parameters"][0]["Skill Level"] > last["parameters"][1]["Skill Level"] == 0
    assert last["forfeits"] == [0, 0]
    assert last["games"] == 40 or last["sprt"]["accepted"] is not None
    assert summary["games"]["completed"] == summary["games"]["total"] == 64 + last["games"]

    log = (control.with_suffix(".gtplogs") / "verify1_0000.log").read_text()
    assert set(re.findall(r"> go (.*)", log)) == {"depth 4"}
    values = re.findall(r"> setoption name Skill Level value (\d+)", log)
    # both are set by the check already, and one of them once more where it set the other last
    assert sorted(set(map(int, values))) == [0, early["parameters"][0]["Skill Level"]]
    matched = ringmaster.load(control)
    openings = [game.opening for game in matched.games if game.id.startswith("verify1_")]
    assert sorted(openings) == ["openings.epd:900"] * 2 + ["openings.epd:901"] * 2
    assert matched.matchups["verify2"].sprt is not None
    assert alive("stockfish") == []
