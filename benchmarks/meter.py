"""What programs and the processes that they start cost, engines included or left out.

Linux only: CPU times are read from /proc until a process is gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_TICK = 1 / os.sysconf("SC_CLK_TCK")
#: Seconds between two looks at the processes of a program.
_PERIOD = 0.02


class Cost(NamedTuple):
    """Seconds by the clock, CPU seconds of the program's own processes, and the most
    memory that they held at once (bytes, shared pages counted in parts; 0 if not asked
    for).

    main     CPU seconds of the main process alone
    all_cpu  CPU seconds of all that it has started and waited for, engines included
    """

    seconds: float
    cpu: float
    memory: int = 0
    main: float = 0.0
    all_cpu: float = 0.0


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep other processes busy, each in a session of its own as other users' would be."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        for _ in range(processes)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class ProgramFailed(Exception):
    """A measured program has ended with another status than 0."""


def run(
    command: Sequence[str],
    engines: Sequence[str],
    *,
    cwd: Path | None = None,
    environ: dict[str, str] | None = None,
    log: Path | None = None,
) -> Cost:
    """Run a program to its end and return its cost.

    engines  words that a command line of an engine has and no other: what is started
             with one of them is not the program's own
    log      where its output goes; nowhere without

    The main process's CPU time is exact; that of other processes lacks what they used
    after the last look, at most 20 ms before their end.  Raises ProgramFailed.
    """
    with open(log or os.devnull, "wb") as out:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        used: dict[int, float] = {}
        not_own: set[int] = set()
        while True:
            # WNOWAIT leaves a zombie, whose times can still be read
            over = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if over is not None:
                break
            for pid in descendants(process.pid):
                first = command_line(pid)[0]
                if any(word in first for word in engines):
                    # between fork and exec it looked like its parent
                    used.pop(pid, None)
                    not_own.add(pid)
                elif first and pid not in not_own:
                    # who has ended has no command line any more
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
    """Return the CPU seconds that a process, and all that it has started and that is still
    there, have used; those with the word `without` in their command lines are left out."""
    return (
        sum(
            scheduled(each)[0]
            for each in descendants(pid)
            if without is None or without not in command_line(each)
        )
        / 1e9
    )


def children(pid: int) -> list[int]:
    """Return what a process has started, as far as it is alive."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def descendants(pid: int) -> list[int]:
    """Return a process and all that it has started, as far as they are alive."""
    found = [pid]
    for each in found:
        found += children(each)
    return found


def scheduled(pid: int) -> tuple[int, int]:
    """Return the nanoseconds that the threads of a process have run and have waited to;
    0 where it is gone."""
    ran = waited = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                on, ready, _ = map(int, file.read().split())
            ran, waited = ran + on, waited + ready
    except OSError:
        pass
    return ran, waited


def command_line(pid: int) -> list[str]:
    """Return the words of a process's command line, [""] where there is none."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def _cpu(pid: int) -> float | None:
    """Return the CPU seconds of a process itself, its children's left out."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) * _TICK
