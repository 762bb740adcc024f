"""The whole program stands still, as in a paused container; the date is set back."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

import ringmaster
from tests.processes import LONG, await_that
from tests.program import ENGINE, REPOSITORY, environment, living_engines, shown, start

pytestmark = [pytest.mark.slow, pytest.mark.process]

CONTROL = """
competition_type = "playoff"
game = "chess"
def engine():
    return Player([{python!r}, "-I", "-S", {engine!r}, "--plies", "40", "--slow", "0.1",
                   "--pid-file", {log!r}], {limits})
players = {{"a": engine(), "b": engine()}}
number_of_games = 4
matchups = [Matchup("a", "b")]
skip_player_checks = True
"""
#: Seconds: more than an engine's clock, which would run out in a frozen engine alone.
PAUSE = 3.0


@contextmanager
def frozen(processes: list[psutil.Process]) -> Iterator[None]:
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def write(folder: Path, limits: str) -> Path:
    """Write the control file of four games."""
    control = folder / "event.ctl"
    log = folder / "engines.txt"
    control.write_text(
        CONTROL.format(python=sys.executable, engine=str(ENGINE), log=str(log), limits=limits)
    )
    return control


def play_with_pause(folder: Path, limits: str) -> tuple[Path, str, float]:
    """Play two games at a time and freeze all processes once; return the control file, the log
    and the seconds of the freeze."""
    control = write(folder, limits)
    run = start(control, "-j", "2")
    live = control.with_suffix(".live")
    try:
        # boards of both games in progress
        await_that(lambda: len(list(live.glob("*.json"))) == 2, run)
        began = time.monotonic()
        with frozen([psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]):
            time.sleep(PAUSE)
        seconds = time.monotonic() - began
        assert run.wait(LONG) == 0
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
            run.wait(LONG)
    assert living_engines(control) == []
    return control, control.with_suffix(".log").read_text(), seconds


def test_timed_games_are_played_again_after_a_freeze_of_everything(tmp_path: Path) -> None:
    control, log, pause = play_with_pause(tmp_path, 'time_control="2+0.5"')
    games = shown(control)["games"]
    assert games["completed"] == 4
    assert 1 <= games["void"] <= 2
    pauses = re.findall(r"void \(standstill\).*at least ([\d.]+) s", log)
    assert len(pauses) == games["void"]
    assert all(PAUSE - 0.5 <= float(seconds) < pause + 0.5 for seconds in pauses)
    (matchup,) = shown(control)["matchups"]
    assert matchup["endings"] == {"mate": 4}


def test_games_without_a_clock_go_on_after_a_freeze_of_everything(tmp_path: Path) -> None:
    control, log, _ = play_with_pause(tmp_path, "nodes=1")
    assert shown(control)["games"]["void"] == 0
    assert "this time is not charged" in log


#: Python reads this at its start.  Each reading of the date is an hour before the last one.
SET_BACK = """
import time
def back(reading=time.time, number=iter(range(1, 10**9))):
    return reading() - 3600 * next(number)
time.time = back
"""


def test_date_that_is_set_back_changes_no_result(tmp_path: Path) -> None:
    control = write(tmp_path, 'time_control="2+0.5"')
    (tmp_path / "sitecustomize.py").write_text(SET_BACK)
    subprocess.run(
        [sys.executable, "-m", "ringmaster", str(control), "run", "-q", "-j", "2"],
        env=environment({"PYTHONPATH": f"{tmp_path}{os.pathsep}{REPOSITORY}"}),
        check=True,
        timeout=LONG,
        capture_output=True,
    )
    summary = shown(control)
    assert summary["games"]["completed"] == 4
    assert summary["matchups"][0]["endings"] == {"mate": 4}
    games = ringmaster.load(control).games
    dates = [str(game.finished) for game in games]
    assert dates == sorted(dates, reverse=True)
    assert all(0 < game.seconds < 60 for game in games)
