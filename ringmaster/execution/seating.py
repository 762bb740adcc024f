"""Which workers share a process."""

from __future__ import annotations

import math
import os
import resource
import select
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

#: Games at a time for each CPU up to which every worker has a process to itself.
ALONE_A_CPU = 4
#: Processes for each CPU beyond that: enough to keep it busy.
PROCESSES_A_CPU = 1
#: Descriptors of a game (two engines with pipes and their files in /proc, transcripts),
#: and of everything else in a process.
_OF_A_GAME = 18
_OTHERS = 64


def processes_for(slots: int, setup: Mapping[str, Any], open_files: int) -> int:
    """Return how many processes the workers of so many slots are to have.

    setup       with "cpus", engines inherit what their worker's process is kept to
    open_files  that a process may have: engines are to have no more for our sake
    """
    cpus = usable_cpus()
    if "cpus" in setup or slots <= ALONE_A_CPU * cpus or not hasattr(select, "epoll"):
        return slots
    most = slots
    if open_files != resource.RLIM_INFINITY:
        most = max(1, (open_files - _OTHERS) // _OF_A_GAME)
    return max(PROCESSES_A_CPU * cpus, math.ceil(slots / most))


def usable_cpus() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(slots: int, processes: int) -> list[range]:
    """Return the slots of each process: neighbours, as many in each, give or take one."""
    ends = [slots * i // processes for i in range(processes + 1)]
    return [range(*pair) for pair in pairwise(ends)]
