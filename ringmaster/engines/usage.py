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
    uses = [use for use in map(_use_of, members(pid)) if use is not None]
    if not uses:
        return Usage(None, None)
    return Usage(sum(seconds for seconds, _ in uses), sum(peak for _, peak in uses))


def members(pid: int) -> list[int]:
    """Return the pids of a process and its living descendants."""
    if _has_proc():
        return [pid, *_children(pid)]
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


def _use_of(pid: int) -> tuple[float, int] | None:
    """Return CPU seconds of a process and its peak of memory in bytes, None if unknown."""
    if not _has_proc():
        import psutil

        try:
            process = psutil.Process(pid)
            times = process.cpu_times()
            return times.user + times.system, process.memory_info().rss
        except psutil.Error:
            return None
    try:
        # The name (in brackets) may contain spaces and brackets (proc_pid_stat(5)).
        stat = _contents(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 16)
        status = _contents(f"/proc/{pid}/status")
    except OSError:
        return None
    own, children = sum(map(int, stat[11:13])), sum(map(int, stat[13:15]))
    _, label, rest = status.partition(b"\nVmHWM:")
    peak = int(rest.split(None, 1)[0]) * 1024 if label else 0
    tick = 1 / os.sysconf("SC_CLK_TCK")
    try:
        # Exact, while /proc counts hundredths of a second: clock_getcpuclockid(3).
        seconds = time.clock_gettime((~pid << 3) | _CPU_CLOCK)
    except OSError:
        seconds = own * tick
    return seconds + children * tick, peak


def _children(pid: int) -> list[int]:
    """Return the pids of all descendants, from /proc."""
    pids: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        with suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                text = _contents(f"/proc/{parent}/task/{task}/children")
                children = [int(word) for word in text.split()]
                pids += children
                queue += children
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
