"""clop_tuner on a real engine: a killed tune goes on as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.program import ringmaster as run_ringmaster
from tests.program import shown
from tests.real.test_matches import alive, play
from tests.reliability.killing import Competition, Tally, state
from tests.requirements import engine

pytestmark = pytest.mark.real


def source() -> str:
    toga2, book = engine("toga2"), Path("controlfiles/openings.epd").resolve()
    return f"""
competition_type = "clop_tuner"
game = "chess"
# Some of its tables outlive a new game, but not a kill.
players = {{"toga": Player("{toga2}", depth=1, options={{"Hash": 4, "OwnBook": False}},
                          restart="on")}}
player = "toga"
opponent = "toga"
parameters = [
    Parameter("Material", type="IntegerParameter", min=0, max=400),
    Parameter("Mobility", type="IntegerGammaParameter", min=1, max=400, option="Piece Activity"),
]
openings = Openings("{book}", order="random")
number_of_games = 60
move_limit = 120
record_games = False
verify = Verify(games=4)
"""


def test_killed_tune_ends_in_the_same_state(tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = play(tmp_path / "whole", source(), "-q")
    control = tmp_path / "killed" / "event.ctl"
    control.write_text(source())
    tally = Tally()
    killed = Competition(control, "clop_tuner", 1, random.Random(1), tally)
    for games in (12, 37):
        killed.kill("main", games)
    assert tally.problems == []
    done = run_ringmaster(control, "-q", timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    expected, reached = state(whole)[1], state(control)[1]
    for one in (expected, reached):
        for match in one["verify"]:
            del match["tally"]["cpu"]
    assert reached == expected
    summary = shown(control)
    assert summary["games"]["completed"] == 64
    assert summary["matchups"][0]["players"] == ["toga:tuned", "toga"]
    assert alive("toga2") == []
