"""Who gets the processor when an engine says something: it, or the worker.

An engine that prints ten lines on its way to a move wakes its referee ten times, and each
time the kernel takes a processor from an engine, this one or another, for a few
microseconds of reading and many of cold caches.  Where nobody's clock runs there is no
hurry: as a process of batch work (SCHED_BATCH, Linux) the worker is let on when a processor
is free, which is when the engine waits for it, and reads all the lines at once.  A move
that is timed must be seen when it comes, so there the worker takes its turn as usual.
"""

from __future__ import annotations

import os
import sys

from ringmaster.model.jobs import GameJob

#: Whether this system knows of batch work.
KNOWN = sys.platform == "linux"


def gives_way(job: GameJob) -> bool:
    """Whether a game is one in which nothing is measured by the clock."""
    return all(player.time_control is None and player.move_time is None for player in job.players)


class Precedence:
    """How this process is scheduled; the processes that it starts are as usual.

    Whoever has been given another policy than the usual one keeps it, and so does
    everybody where policies cannot be set.
    """

    def __init__(self) -> None:
        self._gives_way = False
        self._can_choose = KNOWN and os.sched_getscheduler(0) == os.SCHED_OTHER

    def give_way(self, gives_way: bool) -> None:
        """Let engines have the processor first from now on, or no longer."""
        if sys.platform != "linux" or gives_way == self._gives_way or not self._can_choose:
            return
        policy = os.SCHED_BATCH if gives_way else os.SCHED_OTHER
        try:
            # the flag, which cannot be taken back, is for the children
            os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, os.sched_param(0))
        except OSError:
            self._can_choose = False
            return
        self._gives_way = gives_way
