"""The contract of an executor: where jobs are carried out.

An executor knows nothing of games.  It is given the dotted name of a worker
function and moves encoded jobs and results; what it reports about a job is
that it started, that it is done, or that it was lost with its worker.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from ringmaster.model.jobs import Job
from ringmaster.model.results import JobResult


@dataclass(frozen=True)
class Done:
    """A job's result has come back."""

    job: Job
    result: JobResult


@dataclass(frozen=True)
class Lost:
    """The worker died under a job (killed, out of memory, a bug); the job has
    not been carried out and may be submitted again."""

    job: Job
    reason: str


Event = Done | Lost


class Executor(ABC):
    """Carries out up to `slots` jobs at a time.

    Guarantees: every submitted job gives exactly one event, unless `close` is
    called first; a dead worker is replaced and costs only its own job, and those of
    the workers that share its process; after
    `close` returns, no process that the executor started, nor an engine one of
    them started, is alive.
    """

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many jobs run at a time."""

    def room(self, *, ahead: bool = False) -> int:
        """Return how many more jobs are worth submitting now: one for each worker that is
        idle, and, with `ahead`, those that workers which are done with theirs in no time
        can be given before the results of these have come."""
        return max(0, self.slots - len(self.running()))

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Take a job; jobs beyond `slots` wait in order."""

    @abstractmethod
    def running(self) -> Sequence[Job]:
        """Return the jobs submitted and not yet reported, oldest first."""

    @abstractmethod
    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[Event]:
        """Return events as soon as there is one.

        timeout  seconds; None waits for ever, 0 only looks
        wake     file descriptors; one of them becoming readable ends the wait

        Raises ExecutorError when workers die faster than they can do work.
        """

    @abstractmethod
    def close(self, *, patience: float = 2.0) -> None:
        """End all workers and their engines; idempotent.

        patience  seconds that engines may take to quit before they are killed
        """
