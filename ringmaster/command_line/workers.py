"""The worker processes that a command line asks for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ringmaster.engines import watcher
from ringmaster.execution.affinity import plan
from ringmaster.execution.executor import Executor
from ringmaster.execution.local import LocalExecutor


def executor_maker(arguments: argparse.Namespace) -> Callable[[], Executor]:
    """Return what makes the executor.  Raises UsageError."""
    parallel: int = arguments.parallel
    setup: dict[str, Any] = {"workers": parallel}
    if arguments.affinity is not None:
        setup["cpus"] = plan(arguments.affinity or None, parallel)
    return lambda: LocalExecutor(
        "ringmaster.play.worker:make_worker", parallel, setup=setup, watcher=watcher.__file__
    )
