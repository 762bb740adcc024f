"""The contract of an executor, and two pipes that wake whoever waits for it.

An executor knows nothing of games.  It gets the dotted name of a worker factory and moves
encoded jobs and results.
"""

from __future__ import annotations

import itertools
import os
import signal
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from types import FrameType

import msgspec

from ringmaster.errors import ExecutorError
from ringmaster.model.cluster import Host
from ringmaster.model.jobs import Job
from ringmaster.model.results import JobResult

#: A worker that dies this often in a row without finishing a job, or a job lost this often,
#: ends the run.
MAX_DEATHS = 3

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Done:
    """The result of a job has arrived."""

    job: Job
    result: JobResult


@dataclass(frozen=True)
class Lost:
    """The worker died during a job, which may be submitted again.

    told  whether a notice of the executor says so, too
    """

    job: Job
    reason: str
    told: bool = False


JobEnd = Done | Lost


class Tokens:
    """Tokens of resources; other resources than those of `counts` have no limit here."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        #: Tokens of the jobs in progress, by resource.
        self.held: Counter[str] = Counter()

    def suffice(self, job: Job) -> bool:
        """Return whether there are tokens for a job now."""
        counts, held = self._counts, self.held
        return all(held[n] + count <= counts.get(n, inf) for n, count in job.resources.items())


class Executor(ABC):
    """Carries out up to `slots` jobs at a time; fails when a job is lost too often.

    resources  tokens for all jobs in progress; later jobs pass one that waits for its tokens
    is_held    whether jobs that no worker has yet wait; `running` leaves them out

    Guarantees: every submitted job gives exactly one event, unless `close` is called first;
    a dead worker is replaced and costs only its own job; after `close` returns, no process
    that the executor started is alive, and no engine of its workers.
    """

    def __init__(self, resources: Mapping[str, int] = {}) -> None:
        self._tokens = Tokens(resources)
        self._has_tokens = bool(resources)
        self.is_held = False
        #: Numbers of jobs that no worker has yet.
        self._pending: deque[int] = deque()
        #: Jobs not yet reported by number, in order of submission.
        self._jobs: dict[int, Job] = {}
        self._numbers = itertools.count(1)
        self._events: list[tuple[int, JobEnd]] = []
        self._notices: list[tuple[str, bool]] = []
        #: How often jobs were lost since their last result, by class and id.
        self._losses: dict[tuple[str, str], int] = {}
        self._failure: ExecutorError | None = None
        self._closed = False
        self._encode = msgspec.json.Encoder().encode

    @property
    @abstractmethod
    def slots(self) -> int:
        """The number of jobs that run at a time."""

    def room(self, *, ahead: bool = False) -> int:
        """Return how many more jobs are worth submitting now: one for each idle worker.

        ahead  add the jobs that can be queued for workers with short jobs

        Up to `slots` jobs that wait for tokens do not count, since others pass them.
        """
        slots = self.slots
        waiting = min(slots, len(self._pending)) if self._has_tokens else 0
        return max(0, slots + waiting + (self._ahead() if ahead else 0) - len(self._jobs))

    def _ahead(self) -> int:
        """Return how many jobs can be queued for workers with short jobs."""
        return 0

    def _take_pending(self, *further: Tokens) -> int | None:
        """Take the tokens of the first pending job for which all suffice; return its number."""
        if self._pending and not (self._has_tokens or self.is_held):
            return self._pending.popleft()
        holders = (self._tokens, *further)
        for place, number in enumerate(() if self.is_held else self._pending):
            job = self._jobs[number]
            if all(tokens.suffice(job) for tokens in holders):
                del self._pending[place]
                for tokens in holders:
                    tokens.held.update(job.resources)
                return number
        return None

    @abstractmethod
    def resize(self, slots: int) -> None:
        """Change the number of jobs at a time; no job in progress is disturbed.

        `slots` may stay below this number where there are no workers for it.
        Raises ExecutorError, and changes nothing, when this machine cannot run as many.
        """

    def submit(self, job: Job) -> None:
        """Take a job; jobs beyond `slots` wait in order.

        Raises ExecutorError after `close`, or for a job that JSON cannot express.
        """
        if self._closed:
            raise ExecutorError(f"job {job.id} was submitted to an executor that is closed")
        try:
            data = self._encode(job)
        except (TypeError, ValueError, OverflowError) as error:
            raise ExecutorError(f"job {job.id} cannot be sent to a worker: {error}") from error
        number = next(self._numbers)
        self._jobs[number] = job
        self._enqueue(number, data)

    def running(self) -> Sequence[Job]:
        """Return the jobs submitted and not yet reported, oldest first."""
        # not a subclass's, which may leave out jobs that wait at a host
        return Executor.in_progress(self) if self.is_held else [*self._jobs.values()]

    def in_progress(self) -> Sequence[Job]:
        """Return the jobs that workers have, oldest first."""
        waiting = set(self._pending)
        return [job for number, job in self._jobs.items() if number not in waiting]

    @abstractmethod
    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[JobEnd]:
        """Return events as soon as there is one.

        timeout  seconds; None waits for ever, 0 does not wait
        wake     file descriptors; one that becomes readable ends the wait

        Raises ExecutorError when workers die faster than they can do work.
        """

    def notices(self) -> list[tuple[str, bool]]:
        """Return news since the last call, each with whether the user should see it now."""
        notices, self._notices = self._notices, []
        return notices

    def refuse(self, host: Host | None, reason: str) -> bool:
        """Send no more jobs to the host of a result; return False without another host."""
        return False

    def refused(self) -> list[str]:
        """Return a text for each host that is not used, with the reason."""
        return []

    def sharing(self) -> str:
        """Return with whom this run shares its hosts, or ""."""
        return ""

    def programs(self) -> Mapping[str, str]:
        """Return the SHA-256, by name, of programs that all hosts have, and must have."""
        return {}

    @abstractmethod
    def close(self, *, patience: float = 2.0) -> None:
        """End all workers and their engines; idempotent.

        patience  seconds for engines to quit before they are killed
        """

    @abstractmethod
    def _enqueue(self, number: int, data: bytes) -> None:
        """Take a numbered job, encoded, for the next idle worker."""

    def _take_events(self) -> list[JobEnd]:
        """Return the events so far.  Raises the failure if there are none: results come first."""
        if self._failure is not None and not self._events:
            raise self._failure
        events, self._events = self._events, []
        for number, _ in events:
            self._jobs.pop(number, None)
        return [event for _, event in events]

    def _finish(self, number: int, result: JobResult) -> None:
        job = self._jobs[number]
        self._tokens.held.subtract(job.resources if self._has_tokens else ())
        self._losses.pop(_key(job), None)
        self._events.append((number, Done(job, result)))

    def _report_loss(
        self, number: int, reason: str, *, told: bool = False, counts: bool = True
    ) -> None:
        """Report a job as lost.

        told    as in `Lost`
        counts  whether the work failed, which may be the job's fault
        """
        job = self._jobs[number]
        self._tokens.held.subtract(job.resources if self._has_tokens else ())
        self._events.append((number, Lost(job, reason, told)))
        if counts:
            losses = self._losses[_key(job)] = self._losses.get(_key(job), 0) + 1
            if losses >= MAX_DEATHS:
                self._fail(f"job {job.id} was lost {losses} times; the last time: {reason}")

    def _fail(self, message: str) -> None:
        self._failure = self._failure or ExecutorError(message)


def _key(job: Job) -> tuple[str, str]:
    return type(job).__name__, job.id


class Signals:
    """A context in which SIGINT, SIGTERM and SIGHUP interrupt nothing.

    received  the last of these signals, None without one
    fd        readable after any signal that has a handler, for `Executor.wait`
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    def __enter__(self) -> Signals:
        self.fd, self._write_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_fd, False)
        # A signal that the user ignores (nohup, a shell's background job) stays ignored.
        numbers = [
            number
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN
        ]
        self._before = {number: signal.signal(number, self._note) for number in numbers}
        self._wakeup = signal.set_wakeup_fd(self._write_fd)
        return self

    def __exit__(self, *error: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.fd)
        os.close(self._write_fd)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)

    def drain(self) -> None:
        """Empty `fd`, of other signals too (Ctrl-Z and its return), so that waits go on."""
        with suppress(BlockingIOError):
            while os.read(self.fd, 256):
                pass


class ErrorLines:
    """A pipe on which workers pass on the engines' standard error during games.

    Workers write whole lines, at most `select.PIPE_BUF` bytes at once, so lines of several
    workers do not mix.  They never wait: lines that nobody reads in time are dropped.

    write_fd  the end for workers; it does not block
    """

    def __init__(self) -> None:
        self._read_fd, self.write_fd = os.pipe()
        self._partial = b""
        for fd in (self._read_fd, self.write_fd):
            os.set_blocking(fd, False)

    def fileno(self) -> int:
        """Return the descriptor that is readable when there are lines."""
        return self._read_fd

    def take(self) -> list[str]:
        """Return the lines that have arrived; does not wait."""
        data = self._partial
        with suppress(BlockingIOError):
            data += os.read(self._read_fd, _CHUNK)
        *lines, self._partial = data.split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def close(self) -> None:
        """Close both ends; the workers keep theirs."""
        os.close(self._read_fd)
        os.close(self.write_fd)
