"""Measure the time and CPU of programs and their children, with or without engines.

Linux only: CPU times are read from /proc while a process exists.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_TICK = 1 / os.sysconf("SC_CLK_TCK")
#: Seconds between two readings of a program's processes.
_PERIOD = 0.02


class Cost(NamedTuple):
    """Seconds by the clock, and CPU seconds of the program's own processes without engines.

    main     CPU seconds of the main process alone
    all_cpu  CPU seconds of the program and its waited-for children, engines included
    """

    seconds: float
    cpu: float
    main: float = 0.0
    all_cpu: float = 0.0


class ProgramFailed(Exception):
    """A measured program has ended with a status other than 0."""


def run(
    command: Sequence[str],
    engines: Sequence[str],
    *,
    cwd: Path | None = None,
    environ: dict[str, str] | None = None,
    log: Path | None = None,
) -> Cost:
    """Run a program to its end and return its cost.

    engines  parts of an engine's program name, in no other; these processes are excluded
    log      file for the output; None: the output is dropped

    The main process's CPU time is exact.  Other processes lack the time after the last reading, at
    most 20 ms.  Raises ProgramFailed.
    """
    with open(log or os.devnull, "wb") as out:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        used: dict[int, float] = {}
        not_own: set[int] = set()
        while True:
            # WNOWAIT leaves a zombie with readable times
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
                break
            for pid in descendants(process.pid):
                first = command_line(pid)[0]
                if any(word in first for word in engines):
                    # between fork and exec it has its parent's command line
                    used.pop(pid, None)
                    not_own.add(pid)
                elif first and pid not in not_own:
                    # an ended process has no command line
                    used[pid] = _cpu(pid) or used.get(pid, 0.0)
            time.sleep(_PERIOD)
        seconds = time.perf_counter() - started
        used[process.pid] = main = _cpu(process.pid) or 0.0
        before = os.times()
        process.wait()
        after = os.times()
    if process.returncode:
        raise ProgramFailed(f"{command[0]} ended with status {process.returncode}")
    waited_for = sum(after[2:4]) - sum(before[2:4])
    return Cost(seconds, sum(used.values()), main=main, all_cpu=waited_for)


def used_by(pid: int, without: str | None = None) -> float:
    """Return the CPU seconds of a process and its living descendants.

    without  processes with this word in their command line are excluded
    """
    return (
        sum(
            run_ns(each)
            for each in descendants(pid)
            if without is None or without not in command_line(each)
        )
        / 1e9
    )


def children(pid: int) -> list[int]:
    """Return the living children of a process."""
    pids: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                pids += map(int, file.read().split())
    except OSError:
        pass
    return pids


def descendants(pid: int) -> list[int]:
    """Return a process and its living descendants."""
    pids = [pid]
    for each in pids:
        pids += children(each)
    return pids


def run_ns(pid: int) -> int:
    """Return the nanoseconds of CPU of a process's threads; 0 if it is gone."""
    nanoseconds = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                nanoseconds += int(file.read().split()[0])
    except OSError:
        pass
    return nanoseconds


def command_line(pid: int) -> list[str]:
    """Return the words of a process's command line, [""] without one."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def _cpu(pid: int) -> float | None:
    """Return the CPU seconds of a process without its children, None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) * _TICK
