"""Measure games on a Dask cluster on this machine.

    python benchmarks/cluster.py throughput [--short] [--json]
    python benchmarks/cluster.py slots [--slots 1000] [--seconds 5] [--games 4000] [--json]

`throughput` compares games a second with those of worker processes without Dask, for games
that end at once and for games that last a while: sleeping engines, two games at a time, one
after the other in the same run.  "ahead" is with games queued at their host, as in a
tournament; without it each game waits for the result of an earlier one, as in a tune of one
game at a time.

`slots` lets 1,000 games sleep at a time, on ten workers, and reports how much of the slots'
time was used, and the CPU that the scheduler, the ringmaster's executor and the hosts take
for one game.  A result carries a game record of 4 KB.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from common import show_figures

sys.path.insert(0, str(Path(__file__).parent.parent))

from ringmaster.engines import reaper
from ringmaster.execution.dask_executor import DaskExecutor
from ringmaster.execution.deployment import connect
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.cluster import Cluster
from ringmaster.model.jobs import GameJob, GameSettings, Job
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult, JobResult

PLAYER = Player(code="a", command=("true",))
SETTINGS = GameSettings(game="chess")
RECORD = "x" * 4000
WORK = "cluster:sleeper"


class Sleeper:
    """Work that sleeps for the seconds of a job's ticket."""

    def run(self, job: Job) -> JobResult:
        """Sleep."""
        assert isinstance(job, GameJob)
        if job.ticket["seconds"]:
            time.sleep(job.ticket["seconds"])
        return GameResult(game_id=job.id, attempt=0, outcome="draw", record=RECORD)

    def close(self) -> None:
        """Do nothing."""


def sleeper(_context: Any) -> Sleeper:
    """Return the work of a worker process."""
    return Sleeper()


def game(number: int, seconds: float) -> GameJob:
    """Return a game that sleeps."""
    players = (PLAYER, PLAYER)
    return GameJob(f"0_{number}", players, SETTINGS, ticket={"seconds": seconds})


def drive(executor: Executor, seconds: Callable[[int], float], games: int, *, ahead: bool) -> float:
    """Play games and return how many ended in a second, after a tenth of them and before the
    last was submitted, when slots become empty."""
    submitted = done = base = last = 0
    begun = ended = 0.0
    while done < games:
        for _ in range(min(executor.room(ahead=ahead), games - submitted)):
            executor.submit(game(submitted, seconds(submitted)))
            submitted += 1
        for event in executor.wait(1.0):
            assert isinstance(event, Done), event
            done += 1
        if not begun and done >= games // 10:
            begun, base = time.perf_counter(), done
        if submitted < games or not ended:
            ended, last = time.perf_counter(), done
    return (last - base) / (ended - begun)


def cluster_executor(cluster: Cluster) -> DaskExecutor:
    """Return an executor with all its hosts."""
    executor = DaskExecutor(WORK, lambda: connect(cluster), cluster, reaper=reaper.__name__)
    return executor


def await_slots(executor: DaskExecutor, slots: int) -> None:
    """Wait until so many games can be played at a time."""
    while executor.slots < slots:
        executor.wait(0.1)
        executor.notices()  # sleeping games need no CPUs


def throughput(arguments: argparse.Namespace) -> dict[str, float]:
    """Compare games a second with and without Dask."""
    cases = [(0.0, 20_000), (0.02, 1_000), (0.2, 150), (1.0, 40)]
    if arguments.short:
        cases = [(0.0, 1_000), (0.1, 20)]
    figures: dict[str, float] = {}
    for seconds, many in cases:
        for ahead in (True,) if arguments.short else (True, False):
            games = many if ahead or seconds else 2_000
            rates = []
            for is_cluster in (False, True):
                executor: Executor
                if is_cluster:
                    executor = cluster_executor(Cluster("local", options={"workers": 1}, games=2))
                    assert isinstance(executor, DaskExecutor)
                    await_slots(executor, 2)
                else:
                    executor = LocalExecutor(WORK, 2, reaper=reaper.__file__)
                try:
                    rates.append(drive(executor, lambda _, s=seconds: s, games, ahead=ahead))
                finally:
                    executor.close()
            name = f"{seconds:g} s{' ahead' if ahead else ''}"
            figures[f"{name}: games/s here"] = rates[0]
            figures[f"{name}: games/s on Dask"] = rates[1]
            figures[f"{name}: ratio"] = rates[1] / rates[0]
    return figures


@contextmanager
def dask_processes(workers: int, each: int) -> Iterator[tuple[str, psutil.Process, list[int]]]:
    """Start a scheduler and workers; yield its address, it, and the workers' ids."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    base = [sys.executable, "-m"]
    words = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    scheduler = subprocess.Popen(
        [*base, "distributed.cli.dask_scheduler", "--port", str(port), *words], **quiet
    )
    address = f"tcp://127.0.0.1:{port}"
    options = ["--nthreads", str(each), "--resources", f"games={each}", "--no-dashboard"]
    started = [
        subprocess.Popen(
            [*base, "distributed.cli.dask_worker", address, "--no-nanny", *options], **quiet
        )
        for _ in range(workers)
    ]
    try:
        yield address, psutil.Process(scheduler.pid), [worker.pid for worker in started]
    finally:
        for process in (*started, scheduler):
            process.terminate()
            process.wait()


def cpu(process: psutil.Process) -> float:
    """Return a process's CPU seconds."""
    times = process.cpu_times()
    return float(times.user + times.system)


def slots(arguments: argparse.Namespace) -> dict[str, float]:
    """Let many games sleep at a time."""
    workers = 2 if arguments.short else 10
    each = (20 if arguments.short else arguments.slots) // workers
    games = 100 if arguments.short else arguments.games
    mean = 0.2 if arguments.short else arguments.seconds
    with dask_processes(workers, each) as (address, scheduler, ids):
        executor = cluster_executor(Cluster(address=address, insecure=True))
        try:
            await_slots(executor, workers * each)
            drive(executor, lambda _: 0.0, workers * each * 4, ahead=True)  # workers start
            for host in executor._hosts.all():
                host.pace = mean
            processes = [scheduler, psutil.Process(), *map(psutil.Process, ids)]
            before = [cpu(process) for process in processes]
            rate = drive(executor, lambda n: mean * (0.5 + n * 0.618 % 1.0), games, ahead=False)
            used = [cpu(p) - b for p, b in zip(processes, before, strict=True)]
        finally:
            executor.close()
    return {
        "slots": workers * each,
        "mean seconds of a game": mean,
        "games/s": rate,
        "share of the slots in use": rate * mean / (workers * each),
        "scheduler: ms CPU a game": 1000 * used[0] / games,
        "executor: ms CPU a game": 1000 * used[1] / games,
        "host: ms CPU a game": 1000 * sum(used[2:]) / games,
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=["throughput", "slots"], default="throughput")
    parser.add_argument("--slots", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--games", type=int, default=4000)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    # hosts import the work from here
    paths = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    figures = {"throughput": throughput, "slots": slots}[arguments.what](arguments)
    show_figures(figures, as_json=arguments.json)


if __name__ == "__main__":
    main()
