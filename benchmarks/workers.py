"""Games in the program's own workers, without its main loop and store."""

from __future__ import annotations

from collections.abc import Iterator

from ringmaster.engines import watcher
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.results import GameResult


def start(slots: int) -> LocalExecutor:
    """Return as many workers, which the caller has to close."""
    return LocalExecutor("ringmaster.play.worker:make_worker", slots, watcher=watcher.__file__)


def results(executor: Executor) -> Iterator[GameResult]:
    """Yield what comes of all jobs that have been given out, as it comes."""
    while executor.running():
        for event in executor.wait(None):
            assert isinstance(event, Done), event
            assert isinstance(event.result, GameResult), event.result
            yield event.result
