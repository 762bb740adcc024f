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
    for pid in (0, engine.pid):
        print(os.sched_getscheduler(pid), len(os.sched_getaffinity(pid)), end=" ")
    print()
    engine.end(0.0)

if os.environ.get("POLICY"):
    os.sched_setscheduler(0, int(os.environ["POLICY"]), os.sched_param(0))
worker = Worker(SimpleNamespace(
    slot=0, control_fd=os.pipe()[0], watcher_fd=None, alone=os.environ.get("ALONE") == "1",
    setup={"workers": len(os.sched_getaffinity(0)) + int(os.environ.get("MORE", 0))}))
play(nodes=10)
play(time_control=TimeControl(60.0))
play(move_time=5.0)
worker.close()
"""
ENGINE = Path(__file__).parent.parent / "engines" / "instant_uci.py"


CPUS = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 0
USUAL = [os.SCHED_OTHER, CPUS] if CPUS else []


def policies(**environ: str) -> list[list[int]]:
    """Return, in games without and with time, the policy and the number of processors of
    a worker, and those of an engine."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, sys.executable, str(ENGINE)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **environ},
    )
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


def test_a_worker_gives_way_in_games_without_a_clock_and_engines_never_do() -> None:
    usual = USUAL + USUAL
    assert policies(ALONE="1") == [[os.SCHED_BATCH, 1, *USUAL], usual, usual]


def test_a_worker_keeps_to_one_processor_only_where_there_are_as_many_as_workers() -> None:
    assert policies(ALONE="1", MORE="1")[0] == [os.SCHED_BATCH, CPUS, *USUAL]


def test_workers_that_share_a_process_take_turns() -> None:
    assert policies(ALONE="0") == [USUAL + USUAL] * 3


def test_a_policy_that_somebody_has_chosen_stays() -> None:
    chosen = str(os.SCHED_IDLE)
    assert policies(ALONE="1", POLICY=chosen) == [[os.SCHED_IDLE, CPUS] * 2] * 3
