"""optuna_tuner on a real engine: kills, edits between runs, and exports."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.program import ringmaster as run_ringmaster
from tests.program import shown
from tests.reliability.killing import Competition, Tally, results, state
from tests.requirements import engine, package

package("optuna")
pytestmark = [pytest.mark.real, pytest.mark.process, pytest.mark.optional]


def write(folder: Path, **changes: Any) -> Path:
    """Write a control file with some settings changed."""
    book = Path("controlfiles/openings.epd").resolve()
    settings = {
        "sampler": '"tpe"',
        "number_of_trials": 6,
        "games_per_trial": 4,
        "reduction": "min=1, max=4",
        **changes,
    }
    source = """
competition_type = "optuna_tuner"
game = "chess"
# Some of its tables outlive a new game, but not a kill.
players = {{"toga": Player({engine!r}, depth=2, restart="on",
                           options={{"Hash": 4, "OwnBook": False, "Number of Threads": 1}})}}
player = "toga"
parameters = [
    Parameter("Material", start=40, min=0, max=400, integer=True),
    Parameter("Piece Activity", start=100, min=0, max=400, integer=True),
    Parameter("NullMove Pruning", start="Never", choices=["Always", "Fail High", "Never"]),
    Parameter("NullMove Reduction", start=3, {reduction}, integer=True,
              only_if={{"NullMove Pruning": ["Always", "Fail High"]}}),
]
openings = Openings({book!r}, order="random")
sampler = {sampler}
number_of_trials = {number_of_trials}
games_per_trial = {games_per_trial}
move_limit = 120
record_games = False
skip_player_checks = True
""".format(engine=engine("toga2"), book=str(book), **settings)
    folder.mkdir(exist_ok=True)
    control = folder / "event.ctl"
    control.write_text(source)
    return control


@pytest.mark.parametrize("sampler", ["tpe", "cmaes"])
def test_killed_tune_ends_as_an_uninterrupted_one(tmp_path: Path, sampler: str) -> None:
    whole, control = (
        write(tmp_path / name, sampler=repr(sampler), number_of_trials=9)
        for name in ("whole", "killed")
    )
    assert run_ringmaster(whole, "-q", timeout=300).returncode == 0
    tally = Tally()
    killed = Competition(control, "optuna_tuner", 1, random.Random(1), tally)
    for wanted in (1, 9, 22):
        assert killed.kill("main", wanted)
    assert tally.problems == []
    done = run_ringmaster(control, "-q", timeout=300)
    assert done.returncode == 0, done.stderr
    # a fixed depth repeats its moves
    assert results(control) == results(whole)
    assert state(control) == state(whole)


def test_tune_is_edited_between_runs(tmp_path: Path) -> None:
    control = write(tmp_path)
    assert run_ringmaster(control, "-q", "-j", "2", timeout=300).returncode == 0
    assert shown(control)["trials"]["ended"] == 6

    # other ranges would give the results another meaning
    write(tmp_path, reduction="min=2, max=4")
    done = run_ringmaster(control, "-q")
    assert done.returncode != 0
    assert "parameters[3].min" in done.stderr
    assert "the results so far would lose their meaning" in done.stderr

    # more trials, by another sampler
    write(tmp_path, number_of_trials=8, sampler='"random"')
    done = run_ringmaster(control, "-j", "2", timeout=300)
    assert done.returncode == 0, done.stderr
    summary = shown(control)
    assert summary["trials"]["ended"] == 8
    history = control.with_suffix(".hist").read_text()
    assert "from trial 6 on, 'random' proposes candidates instead of 'tpe'" in history

    # a lower number keeps what was played
    write(tmp_path, number_of_trials=4)
    assert "8 of 4 trials ended" in run_ringmaster(control, "show").stdout


def test_best_values_are_exported_by_name(tmp_path: Path) -> None:
    control = write(tmp_path, number_of_trials=10)
    assert run_ringmaster(control, "-q", "-j", "2", timeout=300).returncode == 0
    best = {row["code"]: row["engine_value"] for row in shown(control)["parameters"]}
    lines = run_ringmaster(
        control, "export-parameters", "--format", "setoption"
    ).stdout.splitlines()
    assert f"setoption name NullMove Pruning value {best['NullMove Pruning']}" in lines
    assert len(lines) == sum(value is not None for value in best.values())
    listed = run_ringmaster(control, "export-parameters", "--format", "control-file").stdout
    assert f'"NullMove Pruning", start="{best["NullMove Pruning"]}", choices=[' in listed
    assert 'only_if={"NullMove Pruning": ["Always", "Fail High"]}' in listed
