"""The worker processes that a command line asks for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ringmaster.engines import watcher
from ringmaster.event import Event
from ringmaster.execution.affinity import plan
from ringmaster.execution.error_lines import ErrorLines
from ringmaster.execution.executor import Executor
from ringmaster.execution.local import LocalExecutor


def games_at_a_time(arguments: argparse.Namespace, event: Event) -> int:
    """Return the number of ``-j``, else the one of the control file."""
    parallel: int = arguments.parallel or event.loaded.values["parallel"]
    return parallel


def executor_maker(
    arguments: argparse.Namespace, parallel: int, error_lines: ErrorLines | None = None
) -> Callable[[], Executor]:
    """Return what makes the executor.  Raises UsageError.

    error_lines  where workers pass on the engines' standard error, None for nowhere
    """
    setup: dict[str, Any] = {"workers": parallel}
    if arguments.affinity is not None:
        setup["cpus"] = plan(arguments.affinity or None, parallel)
    pass_fds = []
    if error_lines is not None:
        setup["error_lines"] = error_lines.write_fd
        pass_fds = [error_lines.write_fd]
    return lambda: LocalExecutor(
        "ringmaster.play.worker:make_worker",
        parallel,
        setup=setup,
        watcher=watcher.__file__,
        pass_fds=pass_fds,
    )
