"""A worker of games without clocks gives way to engines, which do not give way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="there are no scheduling policies here"
)

SCRIPT = """
import os, sys
from types import SimpleNamespace
from ringmaster.engines.process import EngineProcess
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl
from ringmaster.play.worker import Worker

def play(**limits):
    a, b = [Player(code, tuple(sys.argv[1:]), protocol="uci", **limits) for code in "ab"]
    result = worker.run(GameJob("0_0", (a, b), GameSettings(game="chess", move_limit=4)))
    assert result.plies == 4, result
    engine = EngineProcess(["sleep", "10"])
    print(os.sched_getscheduler(0), os.sched_getscheduler(engine.pid))
    engine.end(0.0)

if os.environ.get("POLICY"):
    os.sched_setscheduler(0, int(os.environ["POLICY"]), os.sched_param(0))
worker = Worker(SimpleNamespace(
    slot=0, control_fd=None, watcher_fd=None, setup={}, alone=os.environ.get("ALONE") == "1"))
play(nodes=10)
play(time_control=TimeControl(60.0))
play(move_time=5.0)
worker.close()
"""
ENGINE = Path(__file__).parent.parent / "engines" / "instant_uci.py"


def policies(**environ: str) -> list[list[int]]:
    """Return the policies of a worker and of an engine, in games without and with time."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, sys.executable, str(ENGINE)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **environ},
    )
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


def test_a_worker_gives_way_in_games_without_a_clock_and_engines_never_do() -> None:
    usual = [os.SCHED_OTHER, os.SCHED_OTHER]
    assert policies(ALONE="1") == [[os.SCHED_BATCH, os.SCHED_OTHER], usual, usual]


def test_workers_that_share_a_process_take_turns() -> None:
    assert policies(ALONE="0") == [[os.SCHED_OTHER, os.SCHED_OTHER]] * 3


def test_a_policy_that_somebody_has_chosen_stays() -> None:
    chosen = str(os.SCHED_IDLE)
    assert policies(ALONE="1", POLICY=chosen) == [[os.SCHED_IDLE, os.SCHED_IDLE]] * 3
