"""Who gets the processor when an engine says something: it, or the worker.

An engine that prints ten lines on its way to a move wakes its referee ten times, and each
time the kernel takes a processor from an engine, this one or another, for a few
microseconds of reading and many of cold caches.  Where nobody's clock runs there is no
hurry: as a process of batch work (SCHED_BATCH, Linux) the worker is let on when a processor
is free, which is when the engine waits for it, and reads all the lines at once.  A move
that is timed must be seen when it comes, so there the worker takes its turn as usual.

The policy is that of the process, so this is for workers that have one of their own.
Whoever has been given another than the usual one keeps it, and so does everybody where
policies cannot be set.
"""

from __future__ import annotations

import os
import sys

_gives_way = False


def gives_way() -> bool:
    """Whether engines have the processor first."""
    return _gives_way


def give_way(wanted: bool) -> None:
    """Let engines have the processor first from now on, or no longer."""
    global _gives_way
    if sys.platform != "linux" or wanted == _gives_way:
        return
    try:
        if not _gives_way and os.sched_getscheduler(0) != os.SCHED_OTHER:
            return
        policy = os.SCHED_BATCH if wanted else os.SCHED_OTHER
        os.sched_setscheduler(0, policy, os.sched_param(0))
    except OSError:
        return
    _gives_way = wanted
