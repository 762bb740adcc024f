"""CPU time and memory of a process and its descendants.

On Linux /proc is read directly, after every game.  psutil scans every process of the
machine for children, which takes milliseconds.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

#: Linux's number of a process's CPU clock.
_CPU_CLOCK: Final = 2
#: Fields of /proc/<pid>/status in kilobytes (proc_pid_status(5)).
_OWN_MEMORY: Final = (b"RssAnon:", b"RssShmem:", b"VmSwap:")


@dataclass(frozen=True)
class Usage:
    """cpu_time in seconds, peak_memory in bytes (resident); None if unknown."""

    cpu_time: float | None
    peak_memory: int | None


def measure(pid: int) -> Usage:
    """Return the use of a process, its living descendants and reaped children so far."""
    if not _has_proc():
        return _measure_psutil(pid)
    try:
        seconds, ticks, peak = _read_use(pid)
    except (OSError, ValueError, IndexError):
        return Usage(None, None)
    for child in child_pids(pid):
        try:
            child_seconds, child_ticks, child_peak = _read_use(child)
        except (OSError, ValueError, IndexError):
            continue
        seconds += child_seconds
        ticks += child_ticks
        peak += child_peak
    return Usage(seconds + ticks / os.sysconf("SC_CLK_TCK"), peak)


def members(pid: int) -> list[int]:
    """Return the pids of a process and its living descendants."""
    if _has_proc():
        return [pid, *child_pids(pid)]
    import psutil

    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return [pid]
    return [pid, *(child.pid for child in children)]


def own_memory(pid: int) -> int:
    """Return the bytes of memory that a process uses alone or shares with its descendants,
    in memory or swapped out: without files that are mapped (Linux), else resident memory."""
    if not _has_proc():
        import psutil

        try:
            return int(psutil.Process(pid).memory_info().rss)
        except psutil.Error:
            return 0
    try:
        lines = _contents(f"/proc/{pid}/status").split(b"\n")
    except OSError:
        return 0
    kilobytes = (line.split()[1] for line in lines if line.startswith(_OWN_MEMORY))
    return 1024 * sum(map(int, kilobytes))


def reset_peak(pid: int) -> None:
    """Reset the peak of resident memory (Linux) for a new game."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_bytes(b"5")


@cache
def _has_proc() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def _read_use(pid: int) -> tuple[float, int, int]:
    """Return CPU seconds of a process by its own clock, CPU ticks that the clock does not
    include, and the peak of memory in bytes.

    The clock is exact, while /proc counts hundredths of a second.
    """
    # The name (in brackets) may contain spaces and brackets (proc_pid_stat(5)).
    fields = _contents(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 16)
    user, system, child_user, child_system = map(int, fields[11:15])
    _, label, rest = _contents(f"/proc/{pid}/status").partition(b"\nVmHWM:")
    peak = int(rest.split(None, 1)[0]) * 1024 if label else 0
    try:
        # clock_getcpuclockid(3)
        return time.clock_gettime((~pid << 3) | _CPU_CLOCK), child_user + child_system, peak
    except OSError:
        return 0.0, user + system + child_user + child_system, peak


def child_pids(pid: int) -> list[int]:
    """Return the pids of all descendants, from /proc."""
    pids: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                text = _contents(f"/proc/{parent}/task/{task}/children")
                children = [int(word) for word in text.split()]
                pids += children
                queue += children
        except OSError:
            continue
    return pids


def _contents(path: str) -> bytes:
    """Return the contents of a file of /proc; a file object costs twice as much."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while more := os.read(fd, 4096):
            text += more
        return text
    finally:
        os.close(fd)


def _measure_psutil(pid: int) -> Usage:
    import psutil

    cpu, peak = 0.0, 0
    try:
        for member in map(psutil.Process, members(pid)):
            times = member.cpu_times()
            cpu += times.user + times.system
            peak += member.memory_info().rss
        return Usage(cpu, peak)
    except psutil.Error:
        return Usage(None, None)
