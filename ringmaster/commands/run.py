"""The actions that play games: `run` and `verify`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

from ringmaster.commands.console import say
from ringmaster.commands.loading import load
from ringmaster.engines import reaper
from ringmaster.execution.affinity import plan, usable_cpus
from ringmaster.execution.executor import ErrorLines, Executor
from ringmaster.execution.local import LocalExecutor
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.reporting.keys import KeyWatcher
from ringmaster.reporting.terminal import make_display
from ringmaster.ringmaster import Ringmaster, RunOptions
from ringmaster.storage.lock import CompetitionLock


def run(arguments: argparse.Namespace) -> int:
    """Play games until the competition is complete or the run is stopped."""
    return _play(arguments, load(arguments))


def verify(arguments: argparse.Namespace) -> int:
    """Play more games of a tune's closing match."""
    loaded = load(arguments)
    loaded.competition.verify(arguments.games)
    return _play(arguments, loaded)


def _play(arguments: argparse.Namespace, loaded: LoadedCompetition) -> int:
    loaded.paths.check_first_run()
    parallel = games_at_a_time(arguments, loaded)
    display = make_display(sys.stdout, arguments.quiet, errors=sys.stderr)
    with ExitStack() as stack:
        error_lines = None
        if not loaded.control_file.values["stderr_to_log"]:
            error_lines = stack.enter_context(closing(ErrorLines()))
        executor = executor_maker(arguments, parallel, error_lines)
        stack.enter_context(CompetitionLock(loaded.paths.log))
        keys = stack.enter_context(KeyWatcher(display.suspend, display.resume))
        loaded.paths.take_stop()
        options = RunOptions(
            parallel,
            arguments.max_games,
            arguments.log_gtp,
            arguments.log_faults,
            usable_cpus(arguments.affinity or None),
        )
        status = Ringmaster(
            loaded,
            options,
            executor=executor,
            display=display,
            stop_fd=keys.fileno,
            stop_requested=keys.stop_requested,
            error_lines=error_lines,
        ).run()
    if not arguments.quiet:
        say(loaded.report_text())
    return status


def games_at_a_time(arguments: argparse.Namespace, loaded: LoadedCompetition) -> int:
    """Return the number of `-j`, else `parallel` of the control file."""
    parallel: int = arguments.parallel or loaded.control_file.values["parallel"]
    return parallel


def executor_maker(
    arguments: argparse.Namespace, parallel: int, error_lines: ErrorLines | None = None
) -> Callable[[], Executor]:
    """Return a function that starts the executor.  Raises UsageError.

    error_lines  where workers write the engines' standard error, None for nowhere
    """
    setup: dict[str, Any] = {"workers": parallel}
    if arguments.affinity is not None:
        setup["cpus"] = plan(arguments.affinity or None, parallel)
    pass_fds = []
    if error_lines is not None:
        setup["error_lines"] = error_lines.write_fd
        pass_fds = [error_lines.write_fd]
    return lambda: LocalExecutor(
        "ringmaster.play.worker:Worker",
        parallel,
        setup=setup,
        reaper=reaper.__file__,
        pass_fds=pass_fds,
    )
