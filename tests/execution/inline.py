"""An executor without processes: `wait` runs the next job in this process."""

from __future__ import annotations

import math
import select
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol

from ringmaster.errors import ExecutorError
from ringmaster.execution.executor import Executor, JobEnd
from ringmaster.model.jobs import Job
from ringmaster.model.results import JobResult


class InlineWork(Protocol):
    """What carries out jobs; the same as a worker's work object."""

    def run(self, job: Job) -> JobResult:
        """Carry out a job."""

    def close(self) -> None:
        """End all engines."""


class InlineExecutor(Executor):
    """Carries out one job per `wait`, in order of submission.

    slots  value of the property; jobs run one by one in any case

    An exception in the work is an ExecutorError at once.
    """

    def __init__(
        self, worker: InlineWork, slots: int = 1, resources: Mapping[str, int] = {}
    ) -> None:
        super().__init__(resources)
        self._worker = worker
        self._slots = slots
        self._waiting: deque[int] = deque()

    @property
    def slots(self) -> int:
        """How many jobs the caller should keep submitted."""
        return self._slots

    def resize(self, slots: int) -> None:
        """Change the number of slots."""
        self._slots = slots

    def in_progress(self) -> Sequence[Job]:
        """Return the oldest jobs, one for each slot."""
        return super().in_progress()[: self.slots]

    def _enqueue(self, number: int, data: bytes) -> None:
        self._waiting.append(number)

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[JobEnd]:
        """Carry out the oldest job and return its event, whatever the timeout;
        with no job, wait for `wake` or the timeout, or (given neither) return."""
        if self._waiting:
            number = self._waiting.popleft()
            job = self._jobs[number]
            try:
                result = self._worker.run(job)
            except Exception as error:
                del self._jobs[number]
                raise ExecutorError(f"job {job.id} failed:\n{traceback.format_exc()}") from error
            self._finish(number, result)
            return self._take_events()
        if not self._closed and (wake or timeout is not None):
            poll = select.poll()
            for fd in wake:
                poll.register(fd, select.POLLIN)
            poll.poll(None if timeout is None else max(0, math.ceil(timeout * 1000)))
        return []

    def close(self, *, patience: float = 2.0) -> None:
        """Close the work object; idempotent."""
        if not self._closed:
            self._closed = True
            self._jobs.clear()
            self._waiting.clear()
            self._worker.close()
