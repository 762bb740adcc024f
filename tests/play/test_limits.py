"""Limits of memory, CPU time and processes: an engine that exceeds one loses, and the result
names the limit."""

from __future__ import annotations

import re
import signal
import sys
from typing import Any

import pytest

from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult
from ringmaster.play.worker import Worker
from tests.play.test_faults import play
from tests.program import ENGINE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="is tested with Linux's /proc")

MB = 1_000_000


def uci(code: str, *flags: str, **settings: Any) -> Player:
    command = (sys.executable, "-I", "-S", str(ENGINE), *flags)
    return Player(code, command, protocol="uci", nodes=1, **settings)


@pytest.mark.parametrize(
    ("flag", "settings", "detail"),
    [
        ("--allocate=4000", {"max_memory": 100 * MB}, r"memory limit: \d+(\.\d)? of 100 MB"),
        ("--burn=60", {"max_cpu": 0.1}, r"CPU limit: \d+\.\d\d of 0\.1 s"),
        ("--children=9", {"max_processes": 5}, r"process limit: \d+ of 5"),
    ],
    ids=["memory", "cpu", "processes"],
)
def test_engine_above_its_limit_loses_and_the_result_names_it(
    worker: Worker, flag: str, settings: dict[str, Any], detail: str
) -> None:
    # Children alone use no time, so the engine waits for a signal at its second move.
    greedy = uci("greedy", flag, "--hang-on=go:2", **settings)
    result = play(worker, uci("modest", **settings), greedy)
    assert (result.outcome, result.winner, result.reason) == ("win", 0, "limit")
    assert (result.forfeit, result.faulty) == (True, 1)
    assert re.fullmatch(f"greedy: {detail}", result.detail.splitlines()[0])


def test_limits_hold_for_each_game_of_a_kept_process(worker: Worker) -> None:
    steady = uci("steady", "--burn=0.015", "--plies=40", max_cpu=0.5)
    for _ in range(2):
        # twenty moves of 0.015 s
        assert play(worker, steady, uci("other", "--plies=40")).reason == "mate"
    assert signal.getitimer(signal.ITIMER_REAL)[1] > 0
    worker.close()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_engine_that_cannot_allocate_at_once_crashes(worker: Worker) -> None:
    # the limit is set before the first line is sent
    code = "input(); print('uciok', flush=True); x = bytearray(2_000_000_000)"
    huge = Player("huge", (sys.executable, "-S", "-c", code), protocol="uci", max_memory=50 * MB)
    result = worker.run(CheckJob("c", huge, GameSettings("chess")))
    assert isinstance(result, CheckResult)
    assert "it exited with status 1 (max_memory is 50 MB)" in result.problems[0].reason


def test_engine_that_exceeds_a_limit_before_its_first_game_is_reported_by_the_check(
    worker: Worker,
) -> None:
    result = worker.run(
        CheckJob(
            "c",
            uci("two", "--daemon-child", "--ready-after=60", max_processes=1),
            GameSettings("chess"),
        )
    )
    assert isinstance(result, CheckResult)
    assert result.problems[0].reason == "process limit: 2 of 1"


def test_memory_of_children_counts(worker: Worker) -> None:
    child = f"{sys.executable} -S -c \"import signal; x = b'x' * (60 << 20); signal.pause()\" &"
    engine = uci("parent", "--hang-on=go:2")
    command = ("sh", "-c", f'{child} {child} exec "$@"', "sh", *engine.command)
    parent = Player("parent", command, protocol="uci", nodes=1, max_memory=100 * MB)
    result = play(worker, parent, uci("other"))
    assert result.reason in ("limit", "start")
    assert "memory limit: 1" in result.detail
