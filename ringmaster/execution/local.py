"""An executor on this machine: workers in processes of its own, one job at a time
each.  A worker that dies costs its own job only and is replaced; how processes
are started and ended is left to `processes`, what they do to `worker`.

With many more slots than CPUs, workers share processes (`seating`).  One that dies then
costs the jobs of all its workers.  They are replaced by workers with a process each, and
a job that was lost is given to such workers only: the one that is to blame is found.

Who ends whom.  Every process watches its connection: when the parent closes it,
or dies in any way, its workers abandon their jobs, end their engines, and it exits.
The nursery, parent of the workers, ends those that do not.  The reaper, last of
all, kills the engines that are left.
"""

from __future__ import annotations

import math
import os
import re
import select
import signal
import struct
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.errors import ExecutorError
from ringmaster.execution import worker
from ringmaster.execution.descriptors import make_room
from ringmaster.execution.executor import Done, Event, Executor, Lost
from ringmaster.execution.processes import Nursery, Reaper, WorkerProcess, wait_for
from ringmaster.execution.seating import processes_for, spread
from ringmaster.model.jobs import CheckJob, Job
from ringmaster.model.results import JobResult

#: A worker that dies this often in a row without finishing a job, or a job
#: lost this often, ends the run: a fault that repeats itself must not loop.
MOST_DEATHS = 3
#: Seconds of work that a worker is given ahead, and jobs, at most: what Linux lets wait
#: in a socket.
AHEAD, MOST_AHEAD = 0.01, 10
#: Seconds between two looks at workers that all have something ahead: being woken for
#: each result costs more than the result.
LINGER = 0.002
#: Seconds after which what a worker has not begun is taken back, for others.
LATE = 0.05

_TERM_GRACE = 1.0  # seconds between SIGTERM and SIGKILL
_KILL_GRACE = 5.0  # seconds for the kernel to end a killed process
_EXIT_GRACE = 0.5  # seconds between a worker's end of file and its end
_FAULT_GRACE = 2.0  # seconds for a worker to end its engines after a fault
_MAX_POLL = 2**31 - 1  # milliseconds


#: Where the text of a message begins.
_HEAD = 1 + worker.NUMBER.size
#: What stands before a job: the numbers of the worker and of the job.
_ADDRESS = struct.Struct("!II")


class _Slot:
    """One place for a worker, whoever holds it."""

    def __init__(self, number: int, process: WorkerProcess) -> None:
        self.number = number
        self.process = process
        #: Numbers of its jobs: the one that is carried out, and those given ahead.
        self.jobs: deque[int] = deque()
        self.deaths = 0  # since the last job was finished
        self.heard = 0.0  # when it was last known to begin a job
        self.depth = 0  # how many jobs it is worth giving ahead
        self.has_played = False  # whether its last result is of a game or a shard


class LocalExecutor(Executor):
    """Carries out jobs by `slots` workers.

    work     "package.module:factory"; each worker calls `factory(context)` once
             (see `worker.WorkerContext`) and then `run(job)` for each job
    setup    JSON data for the factory.  Its "marker" (made up if not given) is
             the value of RINGMASTER_RUN by which engines of this run are known
    pass_fds  descriptors that workers have, too, under the same numbers
    watcher  path of the reaper program, or None for no reaper
    processes  that the workers share; as many as is best when not given

    An exception in the work costs the worker and the job: the job is `Lost`
    with the exception on the first line of the reason and the traceback on the
    others.  A job that is lost three times, or a worker that dies three times
    without finishing a job, is an ExecutorError.  Workers start in the
    background: one that cannot start is noticed by `wait`.

    Raises ExecutorError when processes cannot be started, ValueError for
    arguments that make no sense.

    A worker that has a process to itself, and is done with its jobs in less than `AHEAD`,
    is given more of them while it is at one (`ahead`), if more are submitted than there
    are workers.  One that takes longer, all of a sudden, loses those to the others.
    """

    def __init__(
        self,
        work: str,
        slots: int,
        *,
        setup: Mapping[str, Any] = {},
        watcher: str | None = None,
        pass_fds: Sequence[int] = (),
        processes: int | None = None,
    ) -> None:
        if slots < 1:
            raise ValueError(f"an executor needs at least 1 slot, not {slots}")
        if processes is not None and not 1 <= processes <= slots:
            raise ValueError(f"{slots} workers cannot have {processes} processes")
        if not re.fullmatch(r"[\w.]+:\w+", work):
            raise ValueError(f"{work!r} does not name a factory; expected 'package.module:factory'")
        marker = setup.get("marker") or os.urandom(12).hex()
        if not re.fullmatch(r"[!-~]{1,100}", marker):
            raise ValueError(f"marker {marker!r} must be 1 to 100 ASCII characters without spaces")

        self._closed = False
        self._size = slots
        self._jobs: dict[int, Job] = {}  # by number, in order of submission
        self._issued = 0
        #: Jobs to be given out: to anybody, and those that have been lost before.
        self._queue: deque[tuple[int, bytes]] = deque()
        self._suspects: deque[tuple[int, bytes]] = deque()
        #: Idle workers: those that share a process, and those that have one.
        self._sharing: deque[_Slot] = deque()
        self._alone: deque[_Slot] = deque()
        self._events: list[tuple[int, Event]] = []
        self._losses: dict[tuple[str, str], int] = {}
        self._failure: ExecutorError | None = None
        self._slots: list[_Slot] = []
        #: Workers that have not been heard of yet.  Jobs wait for all of them: games
        #: that are being played would hold up the start of the others.
        self._awaited = set(range(slots))
        self._by_fd: dict[int, WorkerProcess] = {}
        #: Whether any worker has a job that it was given ahead.
        self._given = False
        self._poll = select.poll()
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(JobResult).decode
        open_files = make_room(slots)
        self._reaper = None if watcher is None else Reaper(watcher, marker)
        self._nursery = Nursery(
            work,
            {**setup, "marker": marker},
            self._reaper.fd if self._reaper else None,
            open_files,
            pass_fds,
        )
        try:
            for numbers in spread(slots, processes or processes_for(slots, setup, open_files)):
                process = self._start(numbers)
                self._slots += [_Slot(number, process) for number in numbers]
        except BaseException:
            self.close(patience=0.0)
            raise

    @property
    def slots(self) -> int:
        """How many jobs run at a time."""
        return self._size

    def room(self, *, ahead: bool = False) -> int:
        """Return how many more jobs are worth submitting now (see `Executor.room`)."""
        depth = sum(slot.depth for slot in self._slots) if ahead else 0
        return max(0, self._size + depth - len(self._jobs))

    def submit(self, job: Job) -> None:
        """Take a job; it is sent at once when a worker is idle.

        Raises ExecutorError after `close`, or for a job that is not JSON data.
        """
        if self._closed:
            raise ExecutorError(f"job {job.id} was submitted to an executor that is closed")
        try:
            data = self._encode(job)
        except (TypeError, ValueError, OverflowError) as error:
            raise ExecutorError(f"job {job.id} cannot be sent to a worker: {error}") from error
        self._issued += 1
        self._jobs[self._issued] = job
        queue = self._suspects if self._losses and _key(job) in self._losses else self._queue
        queue.append((self._issued, data))
        self._dispatch()

    def running(self) -> Sequence[Job]:
        """Return the jobs submitted and not yet reported, oldest first."""
        return list(self._jobs.values())

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[Event]:
        """Return events as soon as there is one (see `Executor.wait`).

        With no job submitted, no `wake` and no timeout there is nothing that
        could come: returns at once.
        """
        if self._closed or (timeout is None and not wake and not self._jobs):
            return []
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        others = set(wake)
        for fd in others:
            self._poll.register(fd, select.POLLIN)
        try:
            woken = False
            while not (woken or self._failure):
                left = 0.0 if self._events else deadline - time.monotonic()
                if self._given:
                    left = self._see_to_given(left)
                milliseconds = None if left == math.inf else _milliseconds(left)
                for fd, _ in self._poll.poll(milliseconds):
                    if fd in self._by_fd:
                        self._listen(self._by_fd[fd])
                    else:
                        woken = True
                self._dispatch()
                if self._events or time.monotonic() >= deadline:
                    break
        finally:
            for fd in others:
                self._poll.unregister(fd)
        # What has been achieved is reported before what has failed.
        if self._failure and not self._events:
            raise self._failure
        return self._take_events()

    def close(self, *, patience: float = 2.0) -> None:
        """End all workers and their engines; idempotent.

        patience  seconds that workers get to have their engines quit, before
                  they are terminated and then killed

        An exception from a signal handler may interrupt it; called again, it
        goes on.
        """
        self._closed = True
        workers = list(dict.fromkeys(slot.process for slot in self._slots))
        for process in workers:
            process.hang_up()
        left = wait_for(workers, patience)
        for number, grace in ((signal.SIGTERM, _TERM_GRACE), (signal.SIGKILL, _KILL_GRACE)):
            for process in left:
                process.signal(number)
            left = wait_for(left, grace)
        self._nursery.release()
        if self._reaper:
            self._reaper.close()
        for process in workers:
            process.close()
        self._jobs.clear()
        self._queue.clear()
        self._suspects.clear()
        self._sharing.clear()
        self._alone.clear()
        self._events.clear()
        self._by_fd.clear()
        self._slots.clear()

    def _start(self, numbers: range) -> WorkerProcess:
        """Start the workers of some slots in one process, and listen to it."""
        process = self._nursery.start(numbers)
        fd = process.connection.fileno()
        self._by_fd[fd] = process
        self._poll.register(fd, select.POLLIN)
        return process

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        for number, _ in events:
            self._jobs.pop(number, None)
        return [event for _, event in events]

    def _dispatch(self) -> None:
        """Give waiting jobs to idle workers, and then to others ahead."""
        while not self._awaited:
            if self._suspects and self._alone:
                queue, idle = self._suspects, self._alone
            elif self._queue and (self._sharing or self._alone):
                queue, idle = self._queue, self._sharing or self._alone
            else:
                self._give_ahead()
                return
            slot = idle.popleft()
            number, data = queue[0]
            try:
                slot.process.connection.send(_ADDRESS.pack(slot.number, number) + data)
            except ConnectionError:
                continue  # It died idle; its end of file will be heard.
            queue.popleft()
            slot.jobs.append(number)
            slot.heard = time.monotonic()

    def _give_ahead(self) -> None:
        """Give jobs for which nobody is idle to workers that are soon done with theirs."""
        if self._losses or not self._queue:
            return  # while something is lost one job at a time: it is found which is to blame
        for slot in self._slots:
            while self._queue and 0 < len(slot.jobs) <= slot.depth and self._give(slot):
                self._given = True

    def _give(self, slot: _Slot) -> bool:
        """Give the next job to a worker ahead; returns whether it could be."""
        number, data = self._queue[0]
        ahead = slot.process.ahead
        if ahead is None or not ahead.give(_ADDRESS.pack(slot.number, number) + data):
            return False
        self._queue.popleft()
        slot.jobs.append(number)
        return True

    def _see_to_given(self, left: float) -> float:
        """Take back what has been given ahead to those who are late; returns for how many
        of the seconds that are left to wait for a result."""
        now = time.monotonic()
        ahead = [slot for slot in self._slots if len(slot.jobs) > 1]
        if len(ahead) == self._size and left > LINGER:
            time.sleep(LINGER)
        for slot in ahead:
            if now - slot.heard > LATE:
                self._take_back(slot)
                if not slot.jobs:
                    # It may be about to begin one, and nothing must come by its
                    # connection then: it keeps the first.
                    self._give(slot)
        self._given = bool(ahead)
        return min(left, LATE) if ahead else left

    def _take_back(self, slot: _Slot) -> None:
        """Take back the jobs that a worker has not begun."""
        ahead = slot.process.ahead
        assert ahead is not None
        slot.depth = 0
        for data in reversed(ahead.take_back()):
            number = _ADDRESS.unpack_from(data)[1]
            slot.jobs.remove(number)
            self._queue.appendleft((number, data[_ADDRESS.size :]))

    def _listen(self, process: WorkerProcess) -> None:
        """Take what the workers of a process say, or its end."""
        try:
            messages = process.connection.receive()
        except (EOFError, OSError):
            self._bury(process)
            return
        for data in messages:
            if not self._heed(process, data):
                return
        if process.ahead is not None:
            slot, now = self._slots[process.slots.start], time.monotonic()
            pace = max(now - slot.heard, 1e-9) / len(messages)
            # checks are quick, and tell nothing of the games after them
            depth = min(MOST_AHEAD, int(AHEAD / pace)) if slot.has_played else 0
            slot.depth, slot.heard = depth, now

    def _heed(self, process: WorkerProcess, data: bytes) -> bool:
        """Take one message; returns whether the process goes on."""
        tag, body = data[:1], data[_HEAD:]
        slot = self._slots[worker.NUMBER.unpack_from(data, 1)[0]]
        if tag == worker.RESULT:
            number = worker.NUMBER.unpack_from(body)[0]
            try:
                result = self._decode(body[worker.NUMBER.size :])
                slot.jobs.remove(number)
            except (msgspec.MsgspecError, ValueError) as error:
                self._bury(process, slot, f"sent what is no result of its job: {error}")
                return False
            slot.deaths = 0
            job = self._jobs[number]
            slot.has_played = not isinstance(job, CheckJob)
            if self._losses:
                self._losses.pop(_key(job), None)
            self._events.append((number, Done(job, result)))
        elif tag != worker.READY:
            self._bury(process, slot, body.decode("utf-8", "replace"))
            return False
        if not slot.jobs:
            (self._alone if len(process.slots) == 1 else self._sharing).append(slot)
        self._awaited.discard(slot.number)
        return True

    def _bury(self, process: WorkerProcess, faulty: _Slot | None = None, fault: str = "") -> None:
        """Report the workers of a process that has ended, or one of which (`faulty`) has
        told of a fault, and replace them."""
        self._awaited.difference_update(process.slots)
        fd = process.connection.fileno()
        self._poll.unregister(fd)
        del self._by_fd[fd]
        if process.ahead is not None:
            self._take_back(self._slots[process.slots.start])
        process.hang_up()
        if wait_for([process], _FAULT_GRACE if fault else _EXIT_GRACE):
            process.signal(signal.SIGKILL)
            wait_for([process], _KILL_GRACE)
        slots = [self._slots[number] for number in process.slots]
        reasons = [self._reason(process, faulty or slot, fault) for slot in slots]
        self._sharing = deque(slot for slot in self._sharing if slot not in slots)
        self._alone = deque(slot for slot in self._alone if slot not in slots)
        process.close()
        if self._reaper:
            self._reaper.workers_died(process.slots)
        for slot, reason in zip(slots, reasons, strict=True):
            self._replace(slot, reason)

    def _replace(self, slot: _Slot, reason: str) -> None:
        """Give up the jobs of a worker that has ended, and start another."""
        slot.deaths += 1
        while slot.jobs:
            self._lose(slot.jobs.popleft(), reason)
        if slot.deaths >= MOST_DEATHS:
            self._fail(
                f"worker {slot.number} ended {slot.deaths} times in a row without "
                f"finishing a job; the last time: {reason}"
            )
        if self._failure:
            return
        try:
            slot.process = self._start(range(slot.number, slot.number + 1))
        except ExecutorError as error:
            self._failure = error

    def _reason(self, process: WorkerProcess, slot: _Slot, fault: str) -> str:
        """Return what happened to a worker: one line, then all that it said."""
        if fault:
            summary = f"worker {slot.number} failed: {fault.strip().splitlines()[-1]}"
        else:
            summary = process.obituary(slot.number)
        words = process.words() or (self._nursery.words() if process.pid is None else "")
        return "\n".join(part for part in (summary, fault.strip(), words) if part)

    def _lose(self, number: int, reason: str) -> None:
        job = self._jobs[number]
        key = _key(job)
        self._losses[key] = self._losses.get(key, 0) + 1
        self._events.append((number, Lost(job, reason)))
        if self._losses[key] >= MOST_DEATHS:
            self._fail(f"job {job.id} was lost {self._losses[key]} times; the last time: {reason}")

    def _fail(self, message: str) -> None:
        self._failure = self._failure or ExecutorError(message)


def _key(job: Job) -> tuple[str, str]:
    return type(job).__name__, job.id


def _milliseconds(seconds: float) -> int:
    """Return a timeout for poll, rounded up so that it does not spin."""
    return max(0, min(_MAX_POLL, math.ceil(seconds * 1000)))
