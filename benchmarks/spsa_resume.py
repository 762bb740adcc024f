"""What a game of an spsa event costs when nobody has to play it: games a second through
the whole path with store, history and log; bytes a game in the status file; and how
long a tune of many recorded games takes to be gone on with.

    python benchmarks/spsa_resume.py [--games 1000000] [--path-games 30000]
        [--parameters 12] [--method adaptive] [--json]

The parameters are fractions, the costliest to store.  The many games are recorded in
large transactions, which is what a store of so many games looks like afterwards.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
from pathlib import Path

from figures import show

from ringmaster.event import Event
from ringmaster.execution.inline import InlineExecutor
from ringmaster.model.jobs import GameJob, Job
from ringmaster.model.results import EngineUsage, GameResult, JobResult
from ringmaster.reporting.live import QuietDisplay
from ringmaster.ringmaster import Ringmaster, RunOptions
from ringmaster.storage.sqlite_store import SqliteStore
from ringmaster.storage.store import Run

CONTROL_FILE = """
competition_type = "spsa"
game = "chess"
players = {{"e": Player("engine", nodes=1)}}
player = "e"
method = "{method}"
parameters = [
    Parameter(f"Parameter{{i}}", start=100, min=0, max=200, c_end=10 if "{method}" != "adaptive"
              else None) for i in range({count})
]
number_of_games = {games}
skip_player_checks = True
record_games = False
"""

USAGE = (
    EngineUsage("Engine 1.0", 0.31, 23_000_000, 1.234567, 0.043215),
    EngineUsage("Engine 1.0", 0.29, 23_000_000, 1.198765, 0.051234),
)
#: Elo lost by a parameter 100 off its optimum, which is at 130.
ELO, OPTIMUM = 20.0, 130.0


class SimulatedGames:
    """Plays by a quadratic loss in each parameter."""

    def __init__(self) -> None:
        self._random = random.Random(1)

    def run(self, job: Job) -> JobResult:
        assert isinstance(job, GameJob)
        losses = [
            sum(ELO * ((value - OPTIMUM) / 100) ** 2 for value in values.values())
            for values in job.parameters
        ]
        expected = 1 / (1 + math.pow(10, (losses[0] - losses[1]) / 400))
        draw = 0.4
        at = self._random.random()
        details = {"plies": 87, "seconds": 2.417, "usage": USAGE}
        if at < expected - draw / 2:
            return GameResult(job.id, 0, "win", winner=0, reason="mate", score="1-0", **details)
        if at < expected + draw / 2:
            return GameResult(job.id, 0, "draw", reason="threefold", score="1/2-1/2", **details)
        return GameResult(job.id, 0, "win", winner=1, reason="mate", score="0-1", **details)

    def close(self) -> None:
        pass


def control_file(folder: str, games: int, count: int, method: str) -> Path:
    """Write a control file; returns its path."""
    path = Path(folder) / "tune.ctl"
    path.write_text(CONTROL_FILE.format(games=games, count=count, method=method))
    return path


def path_speed(games: int, count: int, method: str) -> dict[str, float]:
    """Run a tune to its end; returns games a second and bytes a game."""
    with tempfile.TemporaryDirectory() as folder:
        control = control_file(folder, games, count, method)
        began, cpu = time.perf_counter(), time.process_time()
        status = Ringmaster(
            Event(control),
            RunOptions(),
            executor=lambda: InlineExecutor(SimulatedGames()),
            display=QuietDisplay(sys.stderr),
        ).run()
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        assert status == 0
        size = control.with_suffix(".status").stat().st_size
    return {
        "path games per second": games / seconds,
        "path games per CPU second": games / cpu,
        "path bytes a game": size / games,
    }


def resume_time(games: int, count: int, method: str) -> dict[str, float]:
    """Record games, then open the event as a run and as `show` does."""
    with tempfile.TemporaryDirectory() as folder:
        control = control_file(folder, games + 100, count, method)
        event = Event(control)
        store = SqliteStore.open(event.paths.status)
        store.begin_run(
            Run(0, time.time(), "0", event.loaded.source, event.loaded.source_hash, event.settings)
        )
        play = SimulatedGames()
        began = time.perf_counter()
        for first in range(0, games, 10_000):
            with store.transaction() as transaction:
                for _ in range(first, min(first + 10_000, games)):
                    job = event.competition.next_job()
                    assert job is not None
                    result = play.run(job)
                    assert isinstance(result, GameResult)
                    transaction.record(job.ticket, result)
                    event.competition.take(job.ticket, result)
                transaction.save_state(event.competition.state())
        recording = time.perf_counter() - began
        store.end_run(1, time.time(), "stopped")
        store.close()
        size = event.paths.status.stat().st_size
        began = time.perf_counter()
        again = Event(control)
        store = SqliteStore.open(again.paths.status)
        again.check_changes(store)
        again.restore(store)
        job = again.competition.next_job()
        seconds = time.perf_counter() - began
        assert job is not None
        began = time.perf_counter()
        again.report_text()
        report = time.perf_counter() - began
        store.close()
    return {
        "recorded games": games,
        "recorded games per second": games / recording,
        "bytes a game": size / games,
        "resume seconds": seconds,
        "report seconds": report,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--path-games", type=int, default=30_000)
    parser.add_argument("--parameters", type=int, default=12)
    parser.add_argument("--method", default="adaptive")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = path_speed(arguments.path_games, arguments.parameters, arguments.method)
    figures |= resume_time(arguments.games, arguments.parameters, arguments.method)
    show(figures, as_json=arguments.json)


if __name__ == "__main__":
    main()
