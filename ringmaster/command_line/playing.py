"""The actions that play games: `run` and `verify`."""

from __future__ import annotations

import argparse
import sys

from ringmaster.command_line.events import load
from ringmaster.command_line.output import say
from ringmaster.command_line.workers import executor_maker
from ringmaster.event import Event
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
    executor = executor_maker(arguments)
    display = make_display(sys.stdout, arguments.quiet, errors=sys.stderr)
    with (
        CompetitionLock(event.paths.log),
        KeyWatcher(display.suspend, display.resume) as keys,
    ):
        event.paths.take_stop()
        options = RunOptions(
            arguments.parallel, arguments.max_games, arguments.log_gtp, arguments.log_faults
        )
        status = Ringmaster(
            event,
            options,
            executor=executor,
            display=display,
            stop_fd=keys.fileno,
            stop_asked=keys.stop_requested,
        ).run()
    if not arguments.quiet:
        say(event.report_text())
    return status
