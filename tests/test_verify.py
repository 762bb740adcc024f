"""The action `verify`, as a user has it."""

from __future__ import annotations

from pathlib import Path

import ringmaster as package
from tests.events import PLAYOFF, SPSA, ringmaster, shown, write_event

TUNE = SPSA.replace("verify = Verify(games=20)", "")


def test_verify_plays_a_match_and_run_goes_on_with_the_tune(tmp_path: Path) -> None:
    control = write_event(tmp_path, TUNE, 40)
    assert ringmaster(control, "-q", "-g", "21").returncode == 0
    done = ringmaster(control, "verify", "--games", "6", "-g", "3")
    assert done.returncode == 0
    assert "the 3 games of this run have been started (3/6 games; run it again" in done.stdout
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
    export = ringmaster(control, "export").stdout.splitlines()
    assert sum(",verify1,duel:" in line for line in export) == 6
    history = control.with_suffix(".hist").read_text()
    assert "verify1: complete, " in history


def test_verify_of_a_tune_without_results_says_that_there_is_nothing(tmp_path: Path) -> None:
    control = write_event(tmp_path, TUNE, 40)
    done = ringmaster(control, "verify")
    assert done.returncode == 0
    assert "nothing to verify (0/0 games)" in done.stdout
    assert "the tuned values are the start values" in done.stderr
    # and nothing stands in the way of a tune
    assert ringmaster(control, "-q").returncode == 0
    assert shown(control)["games"]["completed"] == 40


def test_verify_refuses_what_has_no_closing_match(tmp_path: Path) -> None:
    control = write_event(tmp_path, PLAYOFF, 2)
    done = ringmaster(control, "verify")
    assert (done.returncode, done.stdout) == (2, "")
    assert "only an spsa or a texel event has a closing match so far, not playoff" in done.stderr
    assert not control.with_suffix(".status").exists()


def test_number_of_games_goes_with_verify_only_and_is_even(tmp_path: Path) -> None:
    control = write_event(tmp_path, TUNE, 40)
    done = ringmaster(control, "run", "--games", "4")
    assert (done.returncode, "--games goes with verify" in done.stderr) == (2, True)
    done = ringmaster(control, "verify", "--games", "5")
    assert (done.returncode, "5 games are no whole number of pairs" in done.stderr) == (2, True)
