"""Start and test every player: before the first game of a run, and for `check`."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from ringmaster.engines.engine import start_timeout
from ringmaster.execution.executor import Done, Executor, Signals
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import CheckJob
from ringmaster.model.results import CheckResult

#: Seconds between two tests for an interruption.
_PERIOD = 0.5
#: Seconds without a check's result until the user is told of the wait, unless its engine has
#: been reported (`engine.SILENCE`).
_SILENT = 12.0
#: Arguments of Player(…) that define the engine's program.
_PROGRAM = ("command", "cwd", "environ", "protocol")
#: Takes messages, each with whether it is urgent.
Report = Callable[[Iterable[tuple[str, bool]]], None]


class FirstTests:
    """Test the limits and tuned options of each player before its first game.

    A test is repeated only after a change of the player or of the tune's parameters in the control
    file, for another build, or after a warning.

    outcomes  warnings by the key of a test; JSON data for the store
    checks    startup checks of the players
    untested  tests of this run that were impossible, with reasons
    """

    def __init__(
        self, loaded: LoadedCompetition, outcomes: Mapping[str, list[str]] | None = None
    ) -> None:
        self._loaded = loaded
        self.outcomes = {key: list(lines) for key, lines in (outcomes or {}).items()}
        setup = loaded.setup()
        self.checks, self._tuned = setup.checks, setup.options
        #: Keys of the players, and those whose tests are due.
        self._keys: dict[str, str] = {}
        self._due: set[str] = set()
        self.untested: list[str] = []

    def add_to(self, job: CheckJob) -> CheckJob:
        """Return a startup check with the tests that are due."""
        key = self._key(job)
        is_first = key not in self._keys.values()
        self._keys[job.id] = key
        # the engine may be repaired since a warning
        if is_first and self.outcomes.get(key) != []:
            self.outcomes.pop(key, None)
            self._due.add(key)
        is_due, tuned = key in self._due, self._tuned
        changes = tuned.changes if tuned and tuned.check == job.id and is_due else ()
        return replace(job, keep=True, limits=is_first and is_due, changes=changes)

    def take(self, result: CheckResult) -> None:
        """Record the findings of a check."""
        warnings = self.outcomes.setdefault(self._keys[result.check_id], [])
        for finding in result.findings:
            line = f"player {result.code!r}: {finding.name}: {finding.detail}"
            if finding.status == "skip":
                self.untested.append(f"not tested: {line}")
            elif finding.status != "pass":
                command = f"details: `ringmaster {self._loaded.paths.control.name} check`"
                warnings.append(f"{line} ({command})")

    def warnings(self) -> list[str]:
        """Return the warnings of this run and of earlier runs."""
        idle = self._tuned.idle if self._tuned else ()
        lines = [f"parameter {code!r} does not change the player" for code in idle]
        for key in dict.fromkeys(self._keys.values()):
            lines += self.outcomes.get(key, [])
        return [f"warning: {line}" for line in lines]

    def _key(self, job: CheckJob) -> str:
        """Return a key of the build, and of all settings that matter to the tests of a player."""
        player, settings = job.player, self._loaded.settings
        definition: object = settings
        for name in self._loaded.place_of(player.code):
            definition = definition.get(name) if isinstance(definition, dict) else None
        if isinstance(definition, dict):
            definition = [definition.get(name) for name in _PROGRAM]
        limits = [player.nodes, player.depth, player.move_time, str(player.time_control)]
        limits += [player.analysis] if player.analysis else []
        rules = settings.get("rules")
        tuned = [settings.get(name) for name in ("parameters", "options")]
        conditions = self._loaded.conditions
        build = conditions.builds.current.get(conditions.contestant(player.code))
        files = None if build is None else build.label
        text = json.dumps([limits, definition, tuned, files, rules], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_before_run(
    loaded: LoadedCompetition,
    executor: Executor,
    signals: Signals,
    tests: FirstTests,
    report: Report,
) -> None:
    """Start every player once, with the tests that are due, and record engine names and settings.

    report  takes messages about hosts, and engines that are slow to answer

    Raises ControlFileError with all problems.
    """
    jobs = [tests.add_to(job) for job in tests.checks]
    # the pool keeps the processes of the last checks, so the first players are checked last
    results = _run_checks(
        jobs[::-1], executor, report, [signals.fd], lambda: signals.received is not None
    )
    for result in results[::-1]:
        tests.take(result)
    failure = loaded.check_failure(results[::-1])
    if failure is not None:
        raise failure


def check_players(
    loaded: LoadedCompetition, executor: Executor, report: Report, *, thorough: bool
) -> list[CheckResult]:
    """Run the checks of `check`; return their results in order.

    report    takes messages about hosts, and engines that are slow to answer
    thorough  whether to play a short game, too, and to test the protocol once for players that
              differ only in the values of options and limits
    """
    jobs: list[CheckJob] = []
    tested: dict[Hashable, str] = {}
    setup = loaded.setup()
    tuned = setup.options if thorough else None
    for job in setup.checks:
        key = loaded.engine_key(job.player)
        twin = tested.get(key, "") if thorough else ""
        tested.setdefault(key, job.player.code)
        changes = tuned.changes if tuned and tuned.check == job.id else ()
        job = replace(job, show_stderr=True, thorough=thorough, tested_as=twin, changes=changes)
        jobs.append(job)
    return _run_checks(jobs, executor, report)


def _run_checks(
    jobs: Sequence[CheckJob],
    executor: Executor,
    report: Report,
    wake: Sequence[int] = (),
    interrupted: Callable[[], bool] = lambda: False,
) -> list[CheckResult]:
    """Run checks; return their results in order, without missing ones after an interruption."""
    for job in jobs:
        executor.submit(job)
    results: dict[str, CheckResult] = {}
    #: Times of the begin of checks, infinite after a message.
    begun: dict[str, float] = {}
    #: Notices of engines that do not answer.
    silent: list[str] = []
    while executor.running() and not interrupted():
        notices = executor.notices()
        report(notices)
        silent += [line for line, _ in notices]
        for running in executor.in_progress():
            assert isinstance(running, CheckJob)
            player, now = running.player, time.monotonic()
            is_long = now - begun.setdefault(running.id, now) > _SILENT
            if is_long and not any(x.startswith(f"player {player.code!r} (") for x in silent):
                begun[running.id] = math.inf
                # a check may also take long because its searches do
                seconds = start_timeout(running.settings, player)
                text = (
                    f"player {player.code!r}: its check has taken {_SILENT:g} s so far; an engine "
                    f"that does not answer is given {seconds:g} s"
                )
                report([(text, False)])
        for outcome in executor.wait(_PERIOD, wake):
            if isinstance(outcome, Done):
                assert isinstance(outcome.result, CheckResult)
                results[outcome.job.id] = outcome.result
            else:
                assert isinstance(outcome.job, CheckJob)
                reason = outcome.reason.partition("\n")[0]
                text = f"player {outcome.job.player.code!r} is checked again: {reason}"
                report([(text, False)])
                executor.submit(outcome.job)
    return [results[job.id] for job in jobs if job.id in results]
