"""Every player is started once, before the first game or to be tested."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import msgspec

from ringmaster.event import Event
from ringmaster.execution.executor import Done, Executor
from ringmaster.model.jobs import CheckJob
from ringmaster.model.results import CheckResult

#: Seconds between two looks for an interruption while no result comes in.
_PERIOD = 0.5


def check_players(
    event: Event,
    executor: Executor,
    wake: Sequence[int] = (),
    interrupted: Callable[[], bool] = lambda: False,
    *,
    show_stderr: bool = False,
    thorough: bool = False,
) -> list[CheckResult]:
    """Run the startup checks; returns their results in order.

    thorough  whether to test each engine's keeping to its protocol, too; of players
              that differ by the values of options and limits only, just the first
    """
    jobs: list[CheckJob] = []
    tested: dict[Hashable, str] = {}
    tested_as: dict[str, str] = {}
    for job in event.check_jobs():
        key = event.engine_key(job.player)
        jobs.append(
            msgspec.structs.replace(
                job, show_stderr=show_stderr, thorough=thorough and key not in tested
            )
        )
        code = tested.setdefault(key, job.player.code)
        if thorough and code != job.player.code:
            tested_as[job.player.code] = code
    for job in jobs:
        executor.submit(job)
    results: dict[str, CheckResult] = {}
    while executor.running() and not interrupted():
        for outcome in executor.wait(_PERIOD, wake):
            if isinstance(outcome, Done):
                assert isinstance(outcome.result, CheckResult)
                twin = tested_as.get(outcome.result.code, "")
                result = msgspec.structs.replace(outcome.result, tested_as=twin)
                results[outcome.job.id] = result
            else:
                executor.submit(outcome.job)
    return [results[job.id] for job in jobs if job.id in results]
