"""The actions that print results and changes: `show`, `report`, `diff`."""

from __future__ import annotations

import argparse
import time

from ringmaster.commands.console import DONE, REPORTED, columns, note, say, say_data
from ringmaster.commands.loading import compared, print_changes, restored
from ringmaster.errors import UsageError
from ringmaster.storage.lock import is_locked
from ringmaster.storage.paths import OutputPaths


def show(arguments: argparse.Namespace) -> int:
    """Print the results."""
    if arguments.format is not None:
        return _show_as(arguments)
    with compared(arguments) as (loaded, store, comparison):
        changes = comparison.as_data()
        failure = loaded.changes_failure(comparison)
        if not arguments.json:
            print_changes(comparison)
        if failure is not None:
            if arguments.json:
                known = {"competition": loaded.code, "changes": changes}
                say_data({**known, "errors": str(failure).splitlines()})
            raise failure
        outstanding = [] if store is None else loaded.restore(store, comparison)
        # issued games are in progress only while a run is alive
        in_progress = len(outstanding) if is_locked(loaded.paths.locked) else 0
        summary = loaded.competition.summary()
        # the data of a tree may have a million nodes
        data = loaded.data(store, in_progress, summary) if arguments.json else {}
    for warning in loaded.warnings(summary):
        note(warning)
    if arguments.json:
        say_data({**data, "changes": changes})
    else:
        say(loaded.report_text(summary, columns=columns()))
    return DONE


def _show_as(arguments: argparse.Namespace) -> int:
    """Print the results in the format of another program."""
    from ringmaster.export.result_block import result_blocks

    if arguments.json:
        raise UsageError("show prints either --json or a --format")
    with restored(arguments) as (loaded, _):
        say(result_blocks(loaded, loaded.competition.summary(), arguments.format))
    return DONE


def report(arguments: argparse.Namespace) -> int:
    """Write the report as text and as a page."""
    from ringmaster.page_data import write_page

    paths = OutputPaths(arguments.control_file)
    paths.check([paths.report, paths.page])
    with restored(arguments) as (loaded, store):
        summary = loaded.competition.summary()
        tables = write_page(loaded, store, loaded.paths.page, summary)
        loaded.write_report(summary, tables)
    return DONE


def diff(arguments: argparse.Namespace) -> int:
    """Print the changes since the last run; return 1 if one is refused."""
    with compared(arguments) as (loaded, store, comparison):
        failure = loaded.changes_failure(comparison) or loaded.state_failure(store)
        failure = failure or loaded.builds_failure(comparison)
        if store is not None and failure is None:
            loaded.restore(store, comparison)
    status = DONE if failure is None else REPORTED
    if arguments.json:
        say_data(
            {
                "competition": loaded.code,
                "run": comparison.run,
                "changes": comparison.as_data(),
                "effects": loaded.effects,
            }
        )
        return status
    if comparison.run is None:
        say(f"{loaded.code} has not been run yet\n")
        return status
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(comparison.started))
    run = f"run {comparison.run}, {date}"
    lines = list(comparison.texts())
    changes = (*comparison.changes, *comparison.rebuilt)
    only_refused = changes and not comparison.allowed
    if not changes:
        lines.insert(0, f"no changes since the last run ({run})")
    elif not only_refused:
        played = "" if comparison.played else "; nothing has been played, everything may be changed"
        lines.insert(0, f"changed since the last run ({run}{played}):")
    lines += loaded.effects
    if failure is not None:
        since = f" since the last run ({run})" if only_refused else ""
        lines += [f"refused{since}, {loaded.code} cannot continue with:", str(failure)]
    say("\n".join(lines) + "\n")
    return status
