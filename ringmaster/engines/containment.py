"""Processes that engines of this worker have left behind, and limits of its engines.

A worker's process is a child subreaper (prctl(2)): a process whose parent ends becomes the
worker's child, whatever session it is in.  After each job `sweep` kills such processes.
The reaper finds them by their tag when the worker itself was killed.

Engines with bounds are measured PERIOD seconds apart, by an interval timer, whatever the
worker is waiting for.  An engine above a bound is killed; `Contained.excess` says why.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from ringmaster.engines import reaper, usage

#: Seconds between two measurements of an engine with bounds.
PERIOD: Final = 0.1

#: PR_SET_CHILD_SUBREAPER of prctl(2).
_SET_CHILD_SUBREAPER: Final = 36
_ROUNDS: Final = 200  # of killing and looking again, _PAUSE seconds apart
_PAUSE: Final = 0.001
#: A process may allocate that many times the memory that it may use, for memory that it
#: reserves and never touches.
_ALLOCATION: Final = 2


@dataclass(frozen=True)
class Bounds:
    """Limits of what an engine and its descendants may use; None: no limit.

    memory     bytes in memory or swapped out, without files that are mapped
    cpu        seconds of CPU in one game
    processes  number of processes, its own included
    """

    memory: int | None = None
    cpu: float | None = None
    processes: int | None = None

    def __bool__(self) -> bool:
        return not (self.memory is self.cpu is self.processes is None)


@dataclass(eq=False)
class Contained:
    """A running engine of this worker.

    excess  the bound that it has exceeded and its use, "" before
    """

    pid: int
    bounds: Bounds
    excess: str = ""
    _cpu_before: float = 0.0

    def restart_count(self) -> None:
        """Count CPU time from now on."""
        if self.bounds.cpu is not None:
            self._cpu_before = usage.measure(self.pid).cpu_time or 0.0

    def remark(self) -> str:
        """Return the bound at which the system refuses memory, "" without one."""
        memory = self.bounds.memory
        return "" if memory is None else f" (max_memory is {_megabytes(memory)} MB)"

    def enforce(self) -> None:
        """Kill the engine with its descendants if it exceeds a bound."""
        if not self.excess:
            family = usage.members(self.pid)
            self.excess = self._compare(family)
            if self.excess:
                for pid in family:
                    reaper.kill(pid)

    def _compare(self, family: list[int]) -> str:
        bounds = self.bounds
        if bounds.processes is not None and len(family) > bounds.processes:
            return f"process limit: {len(family)} of {bounds.processes}"
        if bounds.memory is not None:
            memory = sum(map(usage.own_memory, family))
            if memory > bounds.memory:
                return f"memory limit: {_megabytes(memory)} of {_megabytes(bounds.memory)} MB"
        if bounds.cpu is not None:
            seconds = (usage.measure(self.pid).cpu_time or 0.0) - self._cpu_before
            if seconds > bounds.cpu:
                return f"CPU limit: {seconds:.2f} of {bounds.cpu:g} s"
        return ""


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.4g}"


#: The engines of this process, and those that have ended since the last sweep: their groups
#: were killed.
_engines: Final[dict[int, Contained]] = {}
_ended: Final[set[int]] = set()
#: Descriptor of the list of its children (/proc); None before `contain`.
_children: int | None = None


def contain() -> None:
    """Contain everything that this process starts from now on (Linux).

    For processes whose only children are engines: `sweep` kills all others.
    """
    global _children
    if sys.platform == "linux":
        reaper.tag_worker()
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))
        with suppress(OSError):  # a kernel without CONFIG_PROC_CHILDREN
            path = f"/proc/self/task/{os.getpid()}/children"
            _children = os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def admit(pid: int, bounds: Bounds) -> Contained:
    """Register an engine of this process, and set its bounds."""
    engine = _engines[pid] = Contained(pid, bounds)
    if bounds:
        _limit_allocation(engine)
        signal.signal(signal.SIGALRM, _enforce_all)
        signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)
    return engine


def release(pid: int) -> None:
    """Forget an engine that has ended with its group."""
    engine = _engines.pop(pid)
    _ended.add(pid)
    if engine.bounds and not any(other.bounds for other in _engines.values()):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _limit_allocation(engine: Contained) -> None:
    """Stop an engine that allocates much memory between two measurements."""
    if engine.bounds.memory is not None and sys.platform == "linux":
        most = _ALLOCATION * engine.bounds.memory
        with suppress(OSError, ValueError):
            hard = resource.prlimit(engine.pid, resource.RLIMIT_DATA)[1]
            if hard == resource.RLIM_INFINITY or hard > most:
                resource.prlimit(engine.pid, resource.RLIMIT_DATA, (most, most))


def _enforce_all(_number: int, _frame: Any) -> None:
    for engine in list(_engines.values()):
        if engine.bounds:
            engine.enforce()


def sweep() -> int:
    """Kill processes that engines have left behind; return their number, without members of
    the engines' groups, which may still be dying."""
    killed: set[int] = set()
    for _ in range(_ROUNDS if _children is not None else 0):
        orphans, has_reaped = _orphans()
        if not (orphans or has_reaped):
            break
        # Their children, and those of reaped ones, are in the next round's list.
        for pid in orphans:
            reaper.kill(pid)
        killed |= {pid for pid, group in orphans.items() if group not in _ended}
        if not has_reaped:
            time.sleep(_PAUSE)
    _ended.clear()
    return len(killed)


def _orphans() -> tuple[dict[int, int], bool]:
    """Return living children of this process that belong to no engine, with their groups, and
    whether any dead one was reaped."""
    assert _children is not None
    orphans = {}
    has_reaped = False
    # The kernel returns whole process ids, at most a page of them.
    for pid in map(int, os.pread(_children, 1 << 16, 0).split()):
        if pid in _engines:
            continue
        status = reaper.read_status(pid)
        if status is None:
            continue
        if not status.is_alive():
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            has_reaped = True
        elif status.group not in _engines and not status.may_be_shared():
            orphans[pid] = status.group
    return orphans, has_reaped
