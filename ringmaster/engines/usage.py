"""CPU time and memory of a process and its descendants.

On Linux /proc is read directly: psutil's recursive children scan every process
of the machine, which costs milliseconds, and this is asked after every game.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import psutil

#: Bytes read at a time: more than a stat or status has up to where it is of interest.
_CHUNK: Final = 4096
#: Where in `_fields` there are ticks of CPU, twice two numbers, and how many threads.
_OWN: Final = 11
_OF_CHILDREN: Final = 13
_THREADS: Final = 17
#: Linux's number for the clock of what a process has really run.
_CPU_CLOCK: Final = 2


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
                text = _contents(f"/proc/{parent}/task/{task}/children")
                children = [int(word) for word in text.split()]
                found += children
                queue += children
        except OSError:
            continue
    return found


def _contents(path: str) -> bytes:
    """Return what is in a file of /proc.  A file object would cost twice as much."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while more := os.read(fd, _CHUNK):
            text += more
        return text
    finally:
        os.close(fd)


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


class ProcessUsage:
    """What one process and its descendants use, asked for again and again.

    The process's files in /proc are opened once and read from their beginning each time,
    which makes their contents anew.  They belong to the process that they were opened
    for, never to a later one with its pid.  Where the system has a clock for the CPU time of
    another process, that is asked: it is exact, and not in hundredths of a second.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._files: dict[str, int] = {}
        #: Whether it had no descendants when it was looked at last, and never any before.
        self._is_alone = False

    def measure(self) -> Usage:
        """Return what the process and its living descendants have used so far (children
        already waited for are included); nothing is known of a process that is gone."""
        if not _has_proc():
            return _measure_psutil(self._pid)
        try:
            stat = _fields(self._read("stat"))
            peak = _peak(self._read("status"))
            waited = _ticks_used(stat, _OF_CHILDREN)
            cpu_time = _cpu_clock(self._pid)
            if cpu_time is None:
                cpu_time = _ticks_used(stat, _OWN) / _ticks()
        except (OSError, ValueError, IndexError):
            return Usage(None, None)
        try:
            children = self._descendants(threads=int(stat[_THREADS]))
        except (OSError, ValueError, IndexError):
            children = []
        self._is_alone = not (waited or children)
        for child in children:
            try:
                ticks, memory = _measure_once(child)
            except (OSError, ValueError, IndexError):
                continue
            waited += ticks
            peak += memory
        return Usage(cpu_time + waited / _ticks(), peak)

    def cpu_time(self) -> float | None:
        """Return `measure`'s `cpu_time` alone, at a fraction of the time where the process
        had no descendants when it was measured last."""
        found = _cpu_clock(self._pid) if self._is_alone else None
        return self.measure().cpu_time if found is None else found

    def forget_peak(self) -> None:
        """Start a new peak of resident memory (Linux), so that it is a game's own."""
        try:
            os.pwrite(self._file("clear_refs", os.O_WRONLY), b"5", 0)
        except OSError:
            pass

    def close(self) -> None:
        """Close the files; idempotent."""
        for fd in self._files.values():
            os.close(fd)
        self._files.clear()

    def _descendants(self, threads: int) -> list[int]:
        if threads > 1:
            return _child_pids(self._pid)
        children = f"task/{self._pid}/children"
        pids = self._read(children)
        if not pids:
            return []
        while more := os.pread(self._files[children], _CHUNK, len(pids)):
            pids += more
        return [pid for child in map(int, pids.split()) for pid in (child, *_child_pids(child))]

    def _read(self, name: str) -> bytes:
        return os.pread(self._file(name, os.O_RDONLY), _CHUNK, 0)

    def _file(self, name: str, mode: int) -> int:
        fd = self._files.get(name)
        if fd is None:
            fd = self._files[name] = os.open(f"/proc/{self._pid}/{name}", mode | os.O_CLOEXEC)
        return fd


def _fields(stat: bytes) -> list[bytes]:
    """Return the fields of /proc/PID/stat from the third one on, as far as they are of
    interest."""
    # the name (in brackets) may contain spaces and brackets
    return stat.rpartition(b")")[2].split(None, _THREADS + 1)


def _ticks_used(fields: Sequence[bytes], whose: int) -> int:
    """Return the ticks of CPU that a process has used, `_OWN`, or the children that it has
    waited for, `_OF_CHILDREN`: as user and for it in the kernel."""
    return int(fields[whose]) + int(fields[whose + 1])


def _cpu_clock(pid: int) -> float | None:
    """Return the seconds of CPU that a process has used without its descendants, None where
    the system does not tell (clock_getcpuclockid(3))."""
    try:
        return time.clock_gettime((~pid << 3) | _CPU_CLOCK)
    except OSError:
        return None


def _peak(status: bytes) -> int:
    """Return the peak of resident memory in bytes, 0 for a process that has none left."""
    _, found, rest = status.partition(b"\nVmHWM:")
    return int(rest.split(None, 1)[0]) * 1024 if found else 0


def _measure_once(pid: int) -> tuple[int, int]:
    """Return ticks and peak of a single process."""
    stat = _fields(_contents(f"/proc/{pid}/stat"))
    ticks = _ticks_used(stat, _OWN) + _ticks_used(stat, _OF_CHILDREN)
    return ticks, _peak(_contents(f"/proc/{pid}/status"))


def _measure_psutil(pid: int) -> Usage:
    import psutil

    cpu, peak = 0.0, 0
    try:
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            times = member.cpu_times()
            cpu += times.user + times.system
            peak += member.memory_info().rss
        return Usage(cpu, peak)
    except psutil.Error:
        return Usage(None, None)
