"""optuna_tuner on a real engine: a killed tune goes on as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.program import ringmaster as run_ringmaster
from tests.reliability.killing import Competition, Tally, results, state
from tests.requirements import engine, package

package("optuna")
pytestmark = [pytest.mark.real, pytest.mark.process, pytest.mark.optional]


def write(folder: Path) -> Path:
    book = Path("controlfiles/openings.epd").resolve()
    folder.mkdir()
    control = folder / "event.ctl"
    control.write_text(f"""
competition_type = "optuna_tuner"
game = "chess"
# Some of its tables outlive a new game, but not a kill.
players = {{"toga": Player({engine("toga2")!r}, depth=2, restart="on",
                           options={{"Hash": 4, "OwnBook": False, "Number of Threads": 1}})}}
player = "toga"
parameters = [
    Parameter("Material", start=40, min=0, max=400, integer=True),
    Parameter("Piece Activity", start=100, min=0, max=400, integer=True),
    Parameter("NullMove Pruning", start="Never", choices=["Always", "Fail High", "Never"]),
    Parameter("NullMove Reduction", start=3, min=1, max=4, integer=True,
              only_if={{"NullMove Pruning": ["Always", "Fail High"]}}),
]
openings = Openings({str(book)!r}, order="random")
sampler = "cmaes"
number_of_trials = 6
games_per_trial = 4
move_limit = 120
record_games = False
skip_player_checks = True
""")
    return control


def test_killed_tune_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    whole, control = (write(tmp_path / name) for name in ("whole", "killed"))
    assert run_ringmaster(whole, "-q", timeout=300).returncode == 0
    tally = Tally()
    killed = Competition(control, "optuna_tuner", 1, random.Random(1), tally)
    for wanted in (1, 13):
        assert killed.kill("main", wanted)
    assert tally.problems == []
    done = run_ringmaster(control, "-q", timeout=300)
    assert done.returncode == 0, done.stderr
    # a fixed depth repeats its moves
    assert results(control) == results(whole)
    assert state(control) == state(whole)
