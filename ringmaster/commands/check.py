"""The action `check`: start and test every player."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from ringmaster.commands.console import DONE, REPORTED, note, say, say_data
from ringmaster.commands.loading import built, compared, print_changes, print_programs
from ringmaster.commands.run import executor_maker, games_at_a_time
from ringmaster.control import safe_bounds
from ringmaster.errors import RingmasterError, StoreChanged
from ringmaster.execution.affinity import usable_cpus
from ringmaster.model.results import CheckResult
from ringmaster.player_checks import check_players
from ringmaster.reporting.tables import as_data, render_check
from ringmaster.reporting.text import sanitise


def _report(notices: Iterable[tuple[str, bool]]) -> None:
    for line, _ in notices:
        note(line)


def check(arguments: argparse.Namespace) -> int:
    """Print the result of the check; return 1 if a player or the control file is refused."""
    try:
        answer = _check(arguments)
    except StoreChanged:
        raise
    except RingmasterError as error:
        if not arguments.json:
            raise
        answer = {"ok": False, "errors": str(error).splitlines()}
    if arguments.json:
        say_data(answer)
    return DONE if answer["ok"] else REPORTED


def _check(arguments: argparse.Namespace) -> dict[str, Any]:
    """Check a competition; return the data of `--json`."""
    with compared(arguments, built(arguments)) as (loaded, store, comparison):
        refused = loaded.changes_failure(comparison) or loaded.state_failure(store)
        refused = refused or loaded.builds_failure(comparison)
    loaded.competition.say = note
    loaded.prepare()
    loaded.verify_openings()
    loaded.check_functions(played=comparison.played)
    warnings = loaded.warnings()
    parallel = games_at_a_time(arguments, loaded)
    executor_of = executor_maker(arguments, loaded)
    if arguments.safe:
        print_programs(loaded)
    safe_bounds.lift()
    with closing(executor_of()) as executor:
        results = check_players(loaded, executor, _report, thorough=not arguments.quick)
    failure = loaded.check_failure(results)
    crowding = loaded.conditions.crowding(parallel, usable_cpus(arguments.affinity or None))
    conflict = loaded.conditions.rules_conflict()
    warnings += [f"warning: {line}" for line in (crowding, conflict) if line]
    by_player: dict[str, list[CheckResult]] = {}
    for result in results:
        by_player.setdefault(result.code, []).append(result)
    if not arguments.json:
        print_changes(comparison)
        noise = [f"{r.code}: {sanitise(line)}" for r in results for line in r.stderr]
        for line in [*warnings, *dict.fromkeys(noise)]:
            note(line)
        for error in (refused, failure):
            if error is not None:
                note(str(error))
        for results in by_player.values() if not arguments.quiet else ():
            # several if matchups give it other limits or options
            shown = [result for result in results if result.findings]
            if not any(result.findings or result.problems for result in results):
                shown = results[:1]
            for result in shown:
                say(render_check(result, verbose=arguments.verbose))
    return {
        "ok": failure is None and refused is None,
        "players": [as_data(results) for results in by_player.values()],
        "warnings": warnings,
        "changes": comparison.as_data(),
        **({} if refused is None else {"errors": str(refused).splitlines()}),
    }
