"""Shared parts of benchmarks: workers, folders, alternating rounds, and printed tables."""

from __future__ import annotations

import atexit
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ringmaster.engines import reaper
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.results import GameResult

_root: list[Path] = []


def empty_folder() -> Path:
    """Return an empty folder, deleted at the end of the program.

    Files are not deleted between two matches: ext4 does not reuse an inode within five
    seconds of its deletion.  After thousands of deletions, the search for a free inode
    makes the creation of a file take 130 to 210 µs instead of 60.
    """
    if not _root:
        _root.append(Path(tempfile.mkdtemp()))
        atexit.register(shutil.rmtree, _root[0], ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=_root[0]))


def start_workers(slots: int) -> LocalExecutor:
    """Start worker processes; the caller closes the executor."""
    return LocalExecutor("ringmaster.play.worker:contained_worker", slots, reaper=reaper.__file__)


def game_results(executor: Executor) -> Iterator[GameResult]:
    """Yield the results of all submitted games in the order of completion."""
    while executor.running():
        for event in executor.wait(None):
            assert isinstance(event, Done), event
            assert isinstance(event.result, GameResult), event.result
            yield event.result


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is at least as large as `share` of all values."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


class Measured(NamedTuple):
    """Seconds by the clock, CPU seconds with ended children, and peak bytes of a process."""

    seconds: float
    cpu: float
    memory: int


def measured(command: Sequence[str], environ: Mapping[str, str] | None = None) -> Measured:
    """Run a command to its end, without its output.  Raises CalledProcessError."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environ,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def show_figures(figures: Mapping[str, float], *, as_json: bool) -> None:
    """Print figures, one a line, or as one JSON object."""
    if as_json:
        print(json.dumps(figures))
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:{width}} {value:12.3f}")


class Row(NamedTuple):
    """One line of the table of a comparison.

    target  the wanted ratio of ours to the peer's, as text: ">= 2.0"; "" without a target
    """

    work: str
    unit: str
    peer: str
    theirs: float
    ours: float
    target: str = ""

    @property
    def ratio(self) -> float:
        """Ours to the peer's."""
        return self.ours / self.theirs if self.theirs else float("nan")


def alternate(
    measures: Mapping[str, Callable[[], Mapping[str, float]]],
    rounds: int,
    least: Collection[str] = (),
) -> dict[str, dict[str, float]]:
    """Run the measurements in turn, `rounds` times, with the order reversed in every other round.

    Return the median of each figure.  Return the minimum of figures named in `least`: other work
    on the machine can only increase these.
    """
    rows: dict[str, list[Mapping[str, float]]] = {key: [] for key in measures}
    for number in range(rounds):
        order = list(measures)
        for key in order if number % 2 == 0 else reversed(order):
            rows[key].append(measures[key]())
    return {
        key: {
            name: (min if name in least else statistics.median)([each[name] for each in figures])
            for name in figures[0]
        }
        for key, figures in rows.items()
    }


def show_rows(rows: Sequence[Row], notes: Sequence[str] = (), *, as_json: bool = False) -> None:
    """Print the table and the notes."""
    if as_json:
        print(json.dumps([{**row._asdict(), "ratio": row.ratio} for row in rows], indent=2))
        return
    from tabulate import tabulate

    lines = [
        (
            row.work,
            row.unit,
            row.peer,
            f"{row.theirs:.4g}",
            f"{row.ours:.4g}",
            f"{row.ratio:.2f}",
            row.target,
        )
        for row in rows
    ]
    headers = ("work", "unit", "peer", "theirs", "ours", "ratio", "target")
    print(tabulate(lines, headers, disable_numparse=True))
    for note in notes:
        print(note)
