"""Room for the descriptors of many workers.

Many systems let a process have 1024 open files unless it asks for more.  The
parent of the workers asks; a worker goes back to what the user had, so that
engines are started with nothing changed.
"""

from __future__ import annotations

import resource

from ringmaster.errors import ExecutorError
from ringmaster.execution.ahead import MOST_WORKERS

#: What the parent holds of a worker: connection, status pipe, standard error; and both
#: ends of the socket for jobs ahead, where there is one.
_OF_A_WORKER = 3
_AHEAD = 2
#: For everything else: status file, records, log, what is open for a moment.
_OTHERS = 128


def make_room(workers: int) -> int:
    """Let this process, and what it starts, open the files of so many workers; returns
    the limit that there was.

    Raises ExecutorError when the system does not allow as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _OF_A_WORKER * workers + _AHEAD * min(workers, MOST_WORKERS) + _OTHERS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return soft
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ExecutorError(
            f"{workers} games at a time need {needed} open files, and a process may have {hard} "
            "here (ulimit -Hn)"
        )
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError) as error:
        raise ExecutorError(
            f"{workers} games at a time need {needed} open files: {error}"
        ) from error
    return soft


def restore(limit: int) -> None:
    """Go back to the limit that `make_room` has returned."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
