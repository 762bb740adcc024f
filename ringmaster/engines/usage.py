"""CPU time and memory of a process and its descendants.

On Linux /proc is read directly: psutil's recursive children scan every process
of the machine, which costs milliseconds, and this is asked after every game.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


@dataclass(frozen=True)
class Usage:
    """cpu_time in seconds, peak_memory in bytes (resident); None: not known."""

    cpu_time: float | None
    peak_memory: int | None


@cache
def _has_proc() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


@cache
def _ticks() -> float:
    return float(os.sysconf("SC_CLK_TCK"))


def _child_pids(pid: int) -> list[int]:
    """Return the pids of all living descendants, from /proc."""
    found: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
            for task in tasks:
                with open(f"/proc/{parent}/task/{task}/children", "rb") as file:
                    children = [int(word) for word in file.read().split()]
                found += children
                queue += children
        except OSError:
            continue
    return found


def descendants(pid: int) -> list[_Victim]:
    """Return the living descendants of `pid`, safe to kill later: each kills
    only the process that it was made for, not a later one with its pid."""
    import psutil

    victims = []
    try:
        pids = (
            _child_pids(pid)
            if _has_proc()
            else [p.pid for p in psutil.Process(pid).children(recursive=True)]
        )
        for child in pids:
            try:
                victims.append(_Victim(psutil.Process(child)))
            except psutil.Error:
                continue
    except psutil.Error:
        pass
    return victims


class _Victim:
    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        # fetched now: psutil compares it before it sends a signal
        self._process.create_time()

    def kill(self) -> None:
        """Send SIGKILL unless the process has gone already."""
        import psutil

        try:
            self._process.kill()
        except psutil.Error:
            pass


def _measure_proc(pid: int) -> tuple[float, int]:
    with open(f"/proc/{pid}/stat", "rb") as file:
        # the name (in brackets) may contain spaces and brackets
        fields = file.read().rpartition(b")")[2].split()
    ticks = sum(int(f) for f in fields[11:15])
    peak = 0
    with open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"VmHWM:"):
                peak = int(line.split()[1]) * 1024
                break
    return ticks / _ticks(), peak


def measure(pid: int) -> Usage:
    """Return what `pid` and its living descendants have used so far (children
    already waited for are included); nothing is known of a process that is gone."""
    cpu, peak = 0.0, 0
    known = False
    if _has_proc():
        for each in (pid, *_child_pids(pid)):
            try:
                more_cpu, more_peak = _measure_proc(each)
            except (OSError, ValueError, IndexError):
                continue
            known = True
            cpu += more_cpu
            peak += more_peak
        return Usage(cpu, peak) if known else Usage(None, None)
    import psutil

    try:
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            times = member.cpu_times()
            cpu += times.user + times.system
            peak += member.memory_info().rss
        return Usage(cpu, peak)
    except psutil.Error:
        return Usage(None, None)


def forget_peak(pid: int) -> None:
    """Start a new peak of resident memory (Linux), so that it is a game's own."""
    try:
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
