"""Who gets the processor when an engine says something: it, or the worker.

An engine that prints ten lines on its way to a move wakes its referee ten times, and each
time the kernel takes a processor from an engine, this one or another, for a few
microseconds of reading and many of cold caches.  Where nobody's clock runs there is no
hurry: as a process of batch work (SCHED_BATCH, Linux) the worker is let on when a processor
is free, which is when the engine waits for it, and reads all the lines at once.  Where there
is a worker for each processor, it keeps to its own besides, and its engines come to it: they
take turns with it anyway, and need not be woken on another one.  Engines themselves are
free to run where they want, with as many threads as they want.

A move that is timed must be seen when it comes, so there a worker takes its turn as usual.

All this is of the process, so it is for workers that have one of their own.  Whoever has
been given another policy than the usual one keeps it, and so does everybody where policies
cannot be set.
"""

from __future__ import annotations

import os
import sys

#: Whether a process gives way, and the processor that it keeps to.
Own = tuple[bool, int | None]

_own: Own = (False, None)
#: The processors that the process may run on when it keeps to none.
_allowed: set[int] = set()


def cpu_of(slot: int, workers: int) -> int | None:
    """Return the processor for a worker to keep to, None unless there are as many workers
    as processors."""
    if sys.platform != "linux":
        return None
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[slot] if len(cpus) == workers > slot else None


def give_way(wanted: bool, cpu: int | None = None) -> None:
    """Let engines have the processor first from now on, or no longer.

    cpu  which one to keep to meanwhile, None for all
    """
    global _own, _allowed
    if sys.platform != "linux" or wanted == _own[0]:
        return
    try:
        if wanted:
            if os.sched_getscheduler(0) != os.SCHED_OTHER:
                return
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            _own = (True, None)
            if cpu is not None:
                _allowed = os.sched_getaffinity(0)
                os.sched_setaffinity(0, {cpu})
                _own = (True, cpu)
        else:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            kept = _own[1]
            _own = (False, None)
            if kept is not None:
                os.sched_setaffinity(0, _allowed)
    except OSError:
        return


def leave() -> Own:
    """Be as usual while a process is started, which inherits it; returns what `resume`
    goes on with."""
    own = _own
    give_way(False)
    return own


def resume(own: Own) -> None:
    """Go on as before `leave`."""
    give_way(*own)
