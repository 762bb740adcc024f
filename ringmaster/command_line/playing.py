"""The actions that play games: `run` and `verify`."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack, closing

from ringmaster.command_line.events import load
from ringmaster.command_line.output import say
from ringmaster.command_line.workers import executor_maker, games_at_a_time
from ringmaster.event import Event
from ringmaster.execution.affinity import usable_cpus
from ringmaster.execution.error_lines import ErrorLines
from ringmaster.reporting.keys import KeyWatcher
from ringmaster.reporting.live import make_display
from ringmaster.ringmaster import Ringmaster, RunOptions
from ringmaster.storage.lock import CompetitionLock


def run(arguments: argparse.Namespace) -> int:
    return _play(arguments, load(arguments))


def verify(arguments: argparse.Namespace) -> int:
    event = load(arguments)
    event.competition.verify(arguments.games)
    return _play(arguments, event)


def _play(arguments: argparse.Namespace, event: Event) -> int:
    event.paths.check_first_run()
    parallel = games_at_a_time(arguments, event)
    display = make_display(sys.stdout, arguments.quiet, errors=sys.stderr)
    with ExitStack() as stack:
        error_lines = None
        if not event.loaded.values["stderr_to_log"]:
            error_lines = stack.enter_context(closing(ErrorLines()))
        executor = executor_maker(arguments, parallel, error_lines)
        stack.enter_context(CompetitionLock(event.paths.log))
        keys = stack.enter_context(KeyWatcher(display.suspend, display.resume))
        event.paths.take_stop()
        options = RunOptions(
            parallel,
            arguments.max_games,
            arguments.log_gtp,
            arguments.log_faults,
            usable_cpus(arguments.affinity or None),
        )
        status = Ringmaster(
            event,
            options,
            executor=executor,
            display=display,
            stop_fd=keys.fileno,
            stop_asked=keys.stop_requested,
            error_lines=error_lines,
        ).run()
    if not arguments.quiet:
        say(event.report_text())
    return status
