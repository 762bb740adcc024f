"""The actions that tell what has been played and edited: `show`, `report`, `diff`."""

from __future__ import annotations

import argparse
import sys
import time

from ringmaster.command_line.events import accepted, compared, restored, tell_changes
from ringmaster.command_line.output import DONE, REPORTED, say, say_data
from ringmaster.errors import UsageError


def show(arguments: argparse.Namespace) -> int:
    if arguments.format is not None:
        return _show_as(arguments)
    with compared(arguments) as (event, store, comparison):
        changes = comparison.as_data()
        failure = event.changes_failure(comparison)
        if not arguments.json:
            tell_changes(comparison)
        if failure is not None:
            if arguments.json:
                known = {"competition": event.code, "changes": changes}
                say_data({**known, "errors": str(failure).splitlines()})
            raise failure
        in_progress = restored(event, store)
        # of a tree it may have a million nodes
        summary = event.summary(store, in_progress) if arguments.json else {}
    for warning in event.warnings():
        print(warning, file=sys.stderr)
    if arguments.json:
        say_data({**summary, "changes": changes})
    else:
        say(event.report_text())
    return DONE


def _show_as(arguments: argparse.Namespace) -> int:
    """Show the results as another program prints them."""
    from ringmaster.export.result_block import result_blocks
    from ringmaster.results import load

    if arguments.json:
        raise UsageError("show prints either --json or a --format")
    say(result_blocks(load(arguments.control_file), arguments.format))
    return DONE


def report(arguments: argparse.Namespace) -> int:
    with accepted(arguments) as (event, store):
        restored(event, store)
    event.write_report()
    return DONE


def diff(arguments: argparse.Namespace) -> int:
    with compared(arguments) as (event, store, comparison):
        failure = event.changes_failure(comparison) or event.state_failure(store)
        if store is not None and failure is None:
            event.restore(store)
    status = DONE if failure is None else REPORTED
    if arguments.json:
        say_data(
            {
                "competition": event.code,
                "run": comparison.run,
                "changes": comparison.as_data(),
                "notes": list(comparison.notes),
                "effects": event.effects,
            }
        )
        return status
    if comparison.run is None:
        say(f"{event.code} has not been run yet\n")
        return status
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(comparison.started))
    run = f"run {comparison.run}, {date}"
    lines = list(comparison.texts())
    if not comparison.changes:
        lines.insert(0, f"no changes since the last run ({run})")
    else:
        played = "" if comparison.played else "; nothing has been played, everything may be changed"
        lines.insert(0, f"changed since the last run ({run}{played}):")
    lines += event.effects
    if failure is not None:
        lines += [f"refused, {event.code} cannot go on with:", str(failure)]
    say("\n".join(lines) + "\n")
    return status
