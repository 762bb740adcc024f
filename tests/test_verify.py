"""The action `verify`."""

from __future__ import annotations

from pathlib import Path

import pytest

import ringmaster as package
from tests.program import SPSA, ringmaster, shown, write_control_file

# whose estimate leaves the start at once
TUNE = SPSA.replace("verify = Verify(games=20)", "method = 'constant'")

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_verify_plays_a_match_and_run_continues_the_tune(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, TUNE, 40)
    assert ringmaster(control, "-q", "-g", "21").returncode == 0
    done = ringmaster(control, "verify", "--games", "6", "-g", "3")
    assert done.returncode == 0
    assert "stopped after 3 games, the limit of --max-games (3/6 games; run it again" in done.stdout
    done = ringmaster(control, "verify", "--games", "6", "-j", "2")
    assert "closing match complete (6/6 games)" in done.stdout
    assert ringmaster(control, "-q").returncode == 0
    summary = shown(control)
    assert summary["games"]["completed"] == summary["games"]["total"] == 46
    assert [(m["id"], m["games"], m["iterations"]) for m in summary["matchups"]] == [
        ("verify1", 6, 10)
    ]
    match = package.load(control).matchups["verify1"]
    assert (match.total, match.number_of_games) == (6, 6)
    assert match.sprt is not None
    control.write_text(control.read_text() + "move_limit = 300\n")
    assert "after 40 games and 6 games of closing matches" in ringmaster(control, "diff").stdout
    export = ringmaster(control, "export").stdout.splitlines()
    assert sum(",verify1,duel:" in line for line in export) == 6
    history = control.with_suffix(".hist").read_text()
    assert "verify1: complete, " in history


def test_verify_without_results_is_an_error(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, TUNE, 40)
    done = ringmaster(control, "verify")
    assert done.returncode == 0
    assert "nothing to verify (0/0 games)" in done.stdout
    assert "the tuned values are the start values" in done.stderr
    # and nothing stands in the way of a tune
    assert ringmaster(control, "-q").returncode == 0
    assert shown(control)["games"]["completed"] == 40


def test_number_of_games_of_verify_is_even(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, TUNE, 40)
    done = ringmaster(control, "verify", "--games", "5")
    assert (done.returncode, "5 games are not a whole number of pairs" in done.stderr) == (2, True)
