"""The action `check`: start and test every player."""

from __future__ import annotations

import argparse
from typing import Any

from ringmaster.commands.console import DONE, REPORTED, note, say, say_data
from ringmaster.commands.loading import compared, print_changes, print_programs
from ringmaster.commands.run import executor_maker, games_at_a_time
from ringmaster.errors import RingmasterError, StoreChanged
from ringmaster.execution.affinity import usable_cpus
from ringmaster.player_checks import check_players
from ringmaster.reporting.tables import as_data, render_check
from ringmaster.reporting.text import sanitise


def check(arguments: argparse.Namespace) -> int:
    """Print the result of the check; return 1 if a player or the control file is refused."""
    if not arguments.json:
        return _check(arguments)[0]
    answer: dict[str, Any]
    try:
        status, answer = _check(arguments)
    except StoreChanged:
        raise
    except RingmasterError as error:
        status, answer = REPORTED, {"ok": False, "errors": str(error).splitlines()}
    say_data(answer)
    return status


def _check(arguments: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Check a competition; return the exit status and the data of `--json`."""
    with compared(arguments) as (loaded, store, comparison):
        refused = loaded.changes_failure(comparison) or loaded.state_failure(store)
    loaded.prepare()
    loaded.check_functions(played=comparison.played)
    warnings = loaded.warnings()
    parallel = games_at_a_time(arguments, loaded)
    executor_of = executor_maker(arguments, loaded)
    if arguments.safe:
        print_programs(loaded)
    executor = executor_of()
    try:
        results = check_players(
            loaded, executor, note, show_stderr=True, thorough=not arguments.quick
        )
    finally:
        executor.close()
    problems: dict[str, dict[str, None]] = {r.code: {} for r in results}
    for result in results:
        problems[result.code].update(dict.fromkeys(map(str, result.problems)))
    names = {result.code: result.name for result in results}
    failure = loaded.check_failure(results)
    for result in results:
        loaded.conditions.take_check(result)
    crowding = loaded.conditions.crowding(parallel, usable_cpus(arguments.affinity or None))
    if crowding:
        warnings.append(f"warning: {crowding}")
    if not arguments.json:
        print_changes(comparison)
        noise = [f"{r.code}: {sanitise(line)}" for r in results for line in r.stderr]
        for line in [*warnings, *dict.fromkeys(noise)]:
            note(line)
        for error in (refused, failure):
            if error is not None:
                note(str(error))
        for code, name in names.items():
            tested = [r for r in results if r.code == code and r.findings]
            if arguments.quiet:
                continue
            # several if matchups give it other kinds of limits or options
            for result in tested:
                say(render_check(result, verbose=arguments.verbose))
            if tested:
                continue
            if not problems[code]:
                twin = next((r.tested_as for r in results if r.code == code), "")
                verdict = f"set up; its engine is tested as player {twin!r}" if twin else "ok"
                say(f"player {code!r}: {verdict}{f' ({sanitise(name, 80)})' if name else ''}\n")
    players = [
        {"code": code, "name": names[code], "problems": list(reasons), **as_data(results, code)}
        for code, reasons in problems.items()
    ]
    ok = failure is None and refused is None
    answer = {
        "ok": ok,
        "players": players,
        "warnings": warnings,
        "changes": comparison.as_data(),
    }
    if refused is not None:
        answer["errors"] = str(refused).splitlines()
    return DONE if ok else REPORTED, answer
