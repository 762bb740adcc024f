"""Start and test every player: before the first game of a run, and for `check`."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence

import msgspec

from ringmaster.engines.engine import start_timeout
from ringmaster.execution.executor import Done, Executor, Signals
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import CheckJob
from ringmaster.model.results import SEARCH, TUNED_OPTIONS, CheckResult, Finding

#: Seconds between two tests for an interruption.
_PERIOD = 0.5
#: Seconds without a check's result until the user is told of the wait, unless its engine has
#: been reported (`engine.SILENCE`).
_SILENT = 12.0
#: Arguments of Player(…) that define the engine's program.
_PROGRAM = ("command", "cwd", "environ", "protocol")


class FirstTests:
    """Test the limits and tuned options of each player before its first game.

    A test is repeated only after a change of the player in the control file, or after a warning.

    outcomes  warnings by the key of a test; JSON data for the store
    """

    def __init__(
        self, loaded: LoadedCompetition, outcomes: Mapping[str, list[str]] | None = None
    ) -> None:
        self._loaded = loaded
        self.outcomes = {key: list(lines) for key, lines in (outcomes or {}).items()}
        self._tuned = loaded.competition.tuned_options()
        #: Keys of tests that are due, by the id of the check.
        self._keys: dict[str, list[str]] = {}
        self._present: dict[str, None] = {}
        self._untested: list[str] = []

    def add_to(self, job: CheckJob) -> CheckJob:
        """Return a startup check with the tests that are due."""
        limits = self._is_due(job, self._limits_key(job))
        changes = self._tuned.changes if self._tuned and self._tuned.check == job.id else ()
        if changes and not self._is_due(job, self._options_key(job)):
            changes = ()
        return msgspec.structs.replace(job, limits=limits, changes=changes)

    def take(self, result: CheckResult) -> None:
        """Record the findings of a check."""
        for key in self._keys.get(result.check_id, ()):
            self.outcomes[key] = []
        for finding in result.findings:
            if finding.status == "skip":
                self._untested.append(f"player {result.code!r}: {finding.name}: {finding.detail}")
            if finding.status == "warn":
                keys = self._keys[result.check_id]
                key = keys[-1] if finding.name == TUNED_OPTIONS else keys[0]
                self.outcomes[key].append(self._line(result.code, finding))

    def warnings(self) -> list[str]:
        """Return the warnings of this run and of earlier runs."""
        idle = self._tuned.idle if self._tuned else ()
        lines = [f"parameter {code!r} does not change the player" for code in idle]
        for key in self._present:
            lines += self.outcomes.get(key, [])
        return [f"warning: {line}" for line in lines]

    def untested(self) -> list[str]:
        """Return the tests of this run that were impossible, with reasons."""
        return [f"not tested: {line}" for line in self._untested]

    def _line(self, code: str, finding: Finding) -> str:
        if finding.name == TUNED_OPTIONS:
            return f"player {code!r}: {finding.detail}"
        fault = "fails in a search" if finding.name == SEARCH else "does not obey its limit"
        command = f"details: `ringmaster {self._loaded.paths.control.name} check`"
        return f"player {code!r} {fault}: {finding.detail} ({command})"

    def _is_due(self, job: CheckJob, key: str) -> bool:
        is_first = key not in self._present
        self._present[key] = None
        # the engine may be repaired since the warning
        if not is_first or self.outcomes.get(key) == []:
            return False
        self._keys.setdefault(job.id, []).append(key)
        return True

    def _limits_key(self, job: CheckJob) -> str:
        player = job.player
        limits = (player.nodes, player.depth, player.move_time, str(player.time_control))
        definition = self._definition(job)
        if isinstance(definition, dict):
            definition = [definition.get(name) for name in _PROGRAM]
        return _key("limits", limits, definition)

    def _options_key(self, job: CheckJob) -> str:
        names = ("parameters", "options")
        settings = [self._loaded.settings.get(name) for name in names]
        return _key("options", *settings, self._definition(job))

    def _definition(self, job: CheckJob) -> object:
        """Return the definition of a job's player in the control file."""
        value: object = self._loaded.settings
        for name in self._loaded.competition.place_of(job.player.code):
            value = value.get(name) if isinstance(value, dict) else None
        return value


def _key(kind: str, *data: object) -> str:
    text = json.dumps(data, sort_keys=True, default=str)
    return f"{kind} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def check_before_run(
    loaded: LoadedCompetition,
    executor: Executor,
    signals: Signals,
    tests: FirstTests,
    say: Callable[[str], None],
) -> None:
    """Start every player once, with the tests that are due, and record engine names and settings.

    say  takes messages about engines that are slow to answer

    Raises ControlFileError with all problems.
    """
    results = check_players(
        loaded, executor, say, [signals.fd], lambda: signals.received is not None, first_tests=tests
    )
    failure = loaded.check_failure(results)
    if failure is not None:
        raise failure
    for result in results:
        loaded.conditions.take_check(result)


def _waiting(job: CheckJob) -> str:
    # a check may also take long because its searches do
    seconds = start_timeout(job.settings, job.player)
    return (
        f"player {job.player.code!r}: its check has taken {_SILENT:g} s so far; an engine that "
        f"does not answer is given {seconds:g} s"
    )


def check_players(
    loaded: LoadedCompetition,
    executor: Executor,
    say: Callable[[str], None],
    wake: Sequence[int] = (),
    interrupted: Callable[[], bool] = lambda: False,
    *,
    show_stderr: bool = False,
    thorough: bool = False,
    first_tests: FirstTests | None = None,
) -> list[CheckResult]:
    """Run the startup checks; return their results in order.

    say          takes messages about engines that are slow to answer
    thorough     whether to test the protocol, too, once for players that differ only in the
                 values of options and limits
    first_tests  the tests before a run; its games use the processes of the checks
    """
    jobs: list[CheckJob] = []
    tested: dict[Hashable, str] = {}
    tested_as: dict[str, str] = {}
    tuned = loaded.competition.tuned_options() if thorough else None
    for job in loaded.check_jobs():
        key = loaded.engine_key(job.player)
        is_first = thorough and key not in tested
        changes = tuned.changes if tuned and is_first and tuned.check == job.id else ()
        job = msgspec.structs.replace(
            job, show_stderr=show_stderr, thorough=is_first, changes=changes
        )
        if first_tests is not None:
            job = first_tests.add_to(msgspec.structs.replace(job, keep=True))
        jobs.append(job)
        code = tested.setdefault(key, job.player.code)
        if thorough and code != job.player.code:
            tested_as[job.player.code] = code
    # the pool keeps the processes of the last checks, so the first players are checked last
    for job in jobs if first_tests is None else reversed(jobs):
        executor.submit(job)
    results: dict[str, CheckResult] = {}
    #: Times of the begin of checks, infinite after a message.
    begun: dict[str, float] = {}
    #: Notices of engines that do not answer.
    silent: list[str] = []
    while executor.running() and not interrupted():
        for line, _ in executor.notices():
            say(line)
            silent.append(line)
        for running in executor.running()[: executor.slots]:
            now = time.monotonic()
            if now - begun.setdefault(running.id, now) > _SILENT:
                begun[running.id] = math.inf
                assert isinstance(running, CheckJob)
                if not any(line.startswith(f"player {running.player.code!r} (") for line in silent):
                    say(_waiting(running))
        for outcome in executor.wait(_PERIOD, wake):
            if isinstance(outcome, Done):
                assert isinstance(outcome.result, CheckResult)
                twin = tested_as.get(outcome.result.code, "")
                result = msgspec.structs.replace(outcome.result, tested_as=twin)
                results[outcome.job.id] = result
                if first_tests is not None:
                    first_tests.take(result)
            else:
                executor.submit(outcome.job)
    return [results[job.id] for job in jobs if job.id in results]
