"""Every player is started once, before the first game or to be tested."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping, Sequence

import msgspec

from ringmaster.event import Event
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.signals import Signals
from ringmaster.model.jobs import CheckJob
from ringmaster.model.results import SEARCH, TUNED_OPTIONS, CheckResult, Finding

#: Seconds between two looks for an interruption while no result comes in.
_PERIOD = 0.5
#: Arguments of Player(…) that say which program it is.
_PROGRAM = ("command", "cwd", "environ", "protocol")


class FirstTests:
    """The tests of each player that precede its first game in a competition: of its limits,
    and of the options that are tuned.  They are repeated only when the control file says
    something else of the player.

    outcomes  warnings by what was tested: JSON data, to be stored and given back
    """

    def __init__(self, event: Event, outcomes: Mapping[str, list[str]] | None = None) -> None:
        self._event = event
        self.outcomes = {key: list(lines) for key, lines in (outcomes or {}).items()}
        self._tuned = event.competition.tuned_options()
        #: What is tested by a check, by its id, and what concerns this control file.
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
        """Learn the outcome of a check that had tests."""
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
        """Return what was found, in this run or in an earlier one."""
        idle = self._tuned.idle if self._tuned else ()
        lines = [f"parameter {code!r} changes nothing of the player that is made" for code in idle]
        for key in self._present:
            lines += self.outcomes.get(key, [])
        return [f"warning: {line}" for line in lines]

    def untested(self) -> list[str]:
        """Return the tests of this run that could not be made, and why."""
        return [f"not tested: {line}" for line in self._untested]

    def _line(self, code: str, finding: Finding) -> str:
        if finding.name == TUNED_OPTIONS:
            return f"player {code!r}: {finding.detail}"
        told = "does not keep to its limit" if finding.name != SEARCH else "fails in a search"
        command = f"`ringmaster {self._event.paths.control.name} check` tells more"
        return f"player {code!r} {told}: {finding.detail} ({command})"

    def _is_due(self, job: CheckJob, key: str) -> bool:
        is_first = key not in self._present
        self._present[key] = None
        # after a warning the engine may have been mended
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
        return _key("options", self._event.settings.get("parameters"), self._definition(job))

    def _definition(self, job: CheckJob) -> object:
        """Return what the control file says of a job's player."""
        found: object = self._event.settings
        for name in self._event.competition.place_of(job.player.code):
            found = found.get(name) if isinstance(found, dict) else None
        return found


def _key(kind: str, *data: object) -> str:
    text = json.dumps(data, sort_keys=True, default=str)
    return f"{kind} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def check_before_run(event: Event, executor: Executor, signals: Signals, tests: FirstTests) -> None:
    """Start every player once, with the tests that are due; the event learns the engines'
    names and settings.  Raises ControlFileError naming each problem."""
    results = check_players(
        event, executor, [signals.fd], lambda: signals.came is not None, first_tests=tests
    )
    failure = event.check_failure(results)
    if failure is not None:
        raise failure
    for result in results:
        event.conditions.take_check(result)


def check_players(
    event: Event,
    executor: Executor,
    wake: Sequence[int] = (),
    interrupted: Callable[[], bool] = lambda: False,
    *,
    show_stderr: bool = False,
    thorough: bool = False,
    first_tests: FirstTests | None = None,
) -> list[CheckResult]:
    """Run the startup checks; returns their results in order.

    thorough     whether to test each engine's keeping to its protocol, too; of players
                 that differ by the values of options and limits only, just the first
    first_tests  of a run, whose games follow and go on with the processes of the checks
    """
    jobs: list[CheckJob] = []
    tested: dict[Hashable, str] = {}
    tested_as: dict[str, str] = {}
    tuned = event.competition.tuned_options() if thorough else None
    for job in event.check_jobs():
        key = event.engine_key(job.player)
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
    # what is checked last is still there when the first game begins
    for job in jobs if first_tests is None else reversed(jobs):
        executor.submit(job)
    results: dict[str, CheckResult] = {}
    while executor.running() and not interrupted():
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
