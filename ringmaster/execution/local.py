"""The executor on this machine: a worker process for every slot, one job at a time each.

A worker that dies costs its own job only and is replaced.  `processes` starts and ends
processes, `worker` is the program in them.

Three guards end processes.  Every worker watches its connection: when the parent closes it
or dies in any way, the worker abandons its job, ends its engines and exits.  The fork
server, parent of the workers, ends the workers that do not.  The reaper, last of all, kills
the engines that are left.
"""

from __future__ import annotations

import math
import select
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.errors import ExecutorError
from ringmaster.execution import worker
from ringmaster.execution.executor import MAX_DEATHS, Executor, JobEnd
from ringmaster.execution.processes import (
    ForkServer,
    Reaper,
    WorkerProcess,
    raise_file_limit,
    wait_for,
)
from ringmaster.model.jobs import CheckJob
from ringmaster.model.results import JobResult

#: Seconds of work, and jobs for a worker, that wait here at most.
AHEAD_SECONDS, AHEAD_JOBS = 0.01, 10

#: Seconds between two looks for workers that were stopped.
LOOK_PERIOD = 10.0

_TERM_GRACE = 1.0  # seconds between SIGTERM and SIGKILL
_KILL_GRACE = 5.0  # seconds for the kernel to end a killed process
_EXIT_GRACE = 0.5  # seconds between a worker's end of file and its end
_LEAVE_GRACE = 10.0  # seconds for a worker that is not needed to end its engines
_FAULT_GRACE = 2.0  # seconds for a worker to end its engines after a fault
_MAX_POLL = 2**31 - 1  # milliseconds


class _Slot:
    """The place of one worker and of its replacements."""

    def __init__(self, number: int, process: WorkerProcess) -> None:
        self.number = number
        self.process = process
        #: Number of its job.
        self.job: int | None = None
        #: Deaths since the last finished job.
        self.deaths = 0
        #: When the job in progress began.
        self.began = 0.0
        #: How many jobs are worth having ready for it.
        self.depth = 0
        #: Whether the worker ends after its job in progress.
        self.is_leaving = False
        #: Whether it was stopped at the last look.
        self.was_stopped = False


class LocalExecutor(Executor):
    """Carries out jobs by `slots` worker processes.

    work      "package.module:factory"; each worker calls `factory(context)` once
              (see `model.jobs.WorkerContext`) and then `run(job)` for each job
    setup     JSON data for the factory
    reaper    path of the reaper program, or None for no reaper
    pass_fds  descriptors that workers inherit under the same numbers
    resources  as for Executor

    An exception in the work costs the worker and the job: the job is `Lost` with the
    exception on the first line of the reason and the traceback below.  A job lost three
    times, or a worker that dies three times without finishing a job, is an ExecutorError.
    Workers start in the background; `wait` reports one that cannot start.

    More jobs than workers may be submitted while they take less than `AHEAD_SECONDS`.

    Raises ExecutorError when processes cannot be started.
    """

    def __init__(
        self,
        work: str,
        slots: int,
        *,
        setup: Mapping[str, Any] = {},
        reaper: str | None = None,
        pass_fds: Sequence[int] = (),
        resources: Mapping[str, int] = {},
    ) -> None:
        super().__init__(resources)
        self._size = slots
        cpus = setup.get("cpus")
        #: Slots for which CPUs are planned, None without a plan.
        self._planned = None if cpus is None else len(cpus)
        #: The pending jobs, encoded.
        self._data: dict[int, bytes] = {}
        self._idle: deque[_Slot] = deque()
        self._slots: list[_Slot] = []
        #: Workers that were told to end, with the time at which they are killed.
        self._leaving: list[tuple[WorkerProcess, float]] = []
        #: Slots whose first worker has not reported yet.  Jobs wait for all workers: games
        #: in progress would slow down the start of the others.
        self._starting = set(range(slots))
        self._by_fd: dict[int, _Slot] = {}
        self._next_look = time.monotonic() + LOOK_PERIOD
        self._poll = select.poll()
        self._decode = msgspec.json.Decoder(JobResult).decode
        open_files = raise_file_limit(slots)
        self._reaper = None if reaper is None else Reaper(reaper)
        self._fork_server = ForkServer(
            work,
            setup,
            self._reaper.fd if self._reaper else None,
            open_files,
            pass_fds,
        )
        try:
            for number in range(slots):
                self._add_slot(number)
        except BaseException:
            self.close(patience=0.0)
            raise

    @property
    def slots(self) -> int:
        return self._size

    def _ahead(self) -> int:
        return sum(slot.depth for slot in self._slots)

    def resize(self, slots: int) -> None:
        """Change the number of workers (see `Executor.resize`); a worker that is not needed
        ends after its job."""
        if self._planned is not None and slots > self._planned:
            raise ExecutorError(
                f"with --affinity, CPUs are planned for {self._planned} games at a time; start "
                f"the run with -j {slots} for more"
            )
        raise_file_limit(slots)
        staying = [slot for slot in self._slots if not slot.is_leaving]
        # idle workers go first, then the newest
        staying.sort(key=lambda slot: (slot.job is not None, -slot.number))
        for slot in staying[: max(0, len(staying) - slots)]:
            slot.is_leaving = True
            slot.depth = 0
            if slot.job is None:
                self._end_slot(slot)
        missing = slots - len(staying)
        for slot in [slot for slot in self._slots if slot.is_leaving][: max(0, missing)]:
            slot.is_leaving = False
            missing -= 1
        leaving = {process.slot for process, _ in self._leaving}
        numbers = set(range(self._planned or slots + len(leaving)))
        numbers -= {slot.number for slot in self._slots}
        # engines of a worker that is ending may still use files of its number
        for number in sorted(numbers, key=lambda n: (n in leaving, n))[: max(0, missing)]:
            self._add_slot(number)
        self._size = slots
        self._dispatch()

    def _enqueue(self, number: int, data: bytes) -> None:
        # an idle worker gets it at once
        self._data[number] = data
        self._pending.append(number)
        self._dispatch()

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[JobEnd]:
        """Return events as soon as there is one (see `Executor.wait`).

        Returns at once without a job, a `wake` and a timeout.
        """
        if self._closed or (timeout is None and not wake and not self._jobs):
            return []
        self._see_off()
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        others = set(wake)
        for fd in others:
            self._poll.register(fd, select.POLLIN)
        try:
            woken = False
            while not (woken or self._failure):
                seconds = 0.0 if self._events else deadline - time.monotonic()
                self._find_stopped()
                for fd, _ in self._poll.poll(milliseconds(min(seconds, LOOK_PERIOD))):
                    if fd in self._by_fd:
                        self._receive(self._by_fd[fd])
                    else:
                        woken = True
                self._dispatch()
                if self._events or self._notices or time.monotonic() >= deadline:
                    break
        finally:
            for fd in others:
                self._poll.unregister(fd)
        return self._take_events()

    def close(self, *, patience: float = 2.0) -> None:
        """End all workers and their engines; idempotent.

        patience  seconds for engines to quit, before workers are terminated and then killed

        After an exception from a signal handler, a second call completes the work.
        """
        self._closed = True
        workers = [slot.process for slot in self._slots]
        for process in workers:
            process.hang_up()
        workers += [process for process, _ in self._leaving]
        alive = wait_for(workers, patience)
        for number, grace in ((signal.SIGTERM, _TERM_GRACE), (signal.SIGKILL, _KILL_GRACE)):
            for process in alive:
                process.signal(number)
            alive = wait_for(alive, grace)
        self._fork_server.release()
        if self._reaper:
            self._reaper.close()
        for process in workers:
            process.close()
        for jobs in (self._jobs, self._pending, self._data, self._events):
            jobs.clear()
        for slots in (self._idle, self._by_fd, self._slots, self._leaving):
            slots.clear()

    def _add_slot(self, number: int) -> None:
        slot = _Slot(number, self._fork_server.start_worker(number))
        self._slots.append(slot)
        self._listen_to(slot)

    def _end_slot(self, slot: _Slot) -> None:
        """Let an idle worker end its engines and exit, without waiting for it."""
        fd = slot.process.connection.fileno()
        self._poll.unregister(fd)
        del self._by_fd[fd]
        slot.process.hang_up()
        self._leaving.append((slot.process, time.monotonic() + _LEAVE_GRACE))
        self._slots.remove(slot)
        self._starting.discard(slot.number)
        if slot in self._idle:
            self._idle.remove(slot)

    def _see_off(self) -> None:
        """Release workers that have ended; kill a worker that does not end in time."""
        for entry in list(self._leaving):
            process, deadline = entry
            if process.has_ended():
                process.close()
                self._leaving.remove(entry)
                if self._reaper and all(slot.number != process.slot for slot in self._slots):
                    # those of a worker that was killed
                    self._reaper.kill_engines(process.slot)
            elif time.monotonic() > deadline:
                process.signal(signal.SIGKILL)

    def _find_stopped(self) -> None:
        """Replace workers that are stopped for two looks.

        An engine stopped its parent (SIGSTOP), whose game then never ended.  A computer that
        slept stops all processes, and sets them going again.
        """
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_PERIOD
        for slot in list(self._slots):
            is_stopped = slot.job is not None and slot.process.is_stopped()
            if is_stopped and slot.was_stopped:
                self._replace(slot, "it was stopped (SIGSTOP), perhaps by an engine")
            slot.was_stopped = is_stopped and not slot.was_stopped

    def _listen_to(self, slot: _Slot) -> None:
        fd = slot.process.connection.fileno()
        self._by_fd[fd] = slot
        self._poll.register(fd, select.POLLIN)

    def _dispatch(self) -> None:
        """Send pending jobs to idle workers."""
        if self._starting:
            return
        while self._idle and (number := self._take_pending()) is not None:
            slot = self._idle.popleft()
            try:
                slot.process.connection.send_bytes(worker.NUMBER.pack(number) + self._data[number])
            except ConnectionError:
                # It died idle; its end of file is still to be read.
                self._tokens.held.subtract(self._jobs[number].resources)
                self._pending.appendleft(number)
                continue
            del self._data[number]
            slot.job = number
            slot.began = time.monotonic()

    def _receive(self, slot: _Slot) -> None:
        """Read a worker's message, or notice its end."""
        try:
            message = slot.process.connection.recv_bytes()
        except (EOFError, OSError):
            self._replace(slot)
            return
        if message[:1] == worker.NOTICE:
            self._notices.append((message[1:].decode("utf-8", "replace"), True))
        else:
            self._handle(slot, message)

    def _handle(self, slot: _Slot, message: bytes) -> None:
        """Handle a message that ends the worker's start or its job, or tells of its fault."""
        tag, body = message[:1], message[1:]
        if tag == worker.RESULT:
            number = worker.NUMBER.unpack_from(body)[0]
            try:
                if number != slot.job:
                    raise ValueError(f"it is of job {number}")
                result = self._decode(body[worker.NUMBER.size :])
            except (msgspec.MsgspecError, ValueError) as error:
                self._replace(slot, f"sent no valid result of its job: {error}")
                return
            # checks are quick and say nothing about the length of games
            is_game = not isinstance(self._jobs[number], CheckJob)
            pace = max(time.monotonic() - slot.began, 1e-9)
            slot.depth = min(AHEAD_JOBS, int(AHEAD_SECONDS / pace)) if is_game else 0
            slot.deaths, slot.job = 0, None
            self._finish(number, result)
        elif tag != worker.READY:
            self._replace(slot, body.decode("utf-8", "replace"))
            return
        self._starting.discard(slot.number)
        if slot.is_leaving:
            self._end_slot(slot)
        else:
            self._idle.append(slot)

    def _replace(self, slot: _Slot, fault: str = "") -> None:
        """Report the job of a worker that has ended or failed, and start another worker."""
        process = slot.process
        self._starting.discard(slot.number)
        fd = process.connection.fileno()
        self._poll.unregister(fd)
        del self._by_fd[fd]
        process.hang_up()
        if wait_for([process], _FAULT_GRACE if fault else _EXIT_GRACE):
            process.signal(signal.SIGKILL)
            wait_for([process], _KILL_GRACE)
        reason = self._reason(process, fault)
        if slot in self._idle:
            self._idle.remove(slot)
        process.close()
        if self._reaper:
            self._reaper.kill_engines(slot.number)
        slot.deaths += 1
        if slot.job is not None:
            self._report_loss(slot.job, reason)
            slot.job = None
        if slot.deaths >= MAX_DEATHS:
            self._fail(
                f"worker {slot.number} ended {slot.deaths} times in a row without "
                f"finishing a job; the last time: {reason}"
            )
        if self._failure:
            return
        if slot.is_leaving:
            self._slots.remove(slot)
            return
        try:
            slot.process = self._fork_server.start_worker(slot.number)
            self._listen_to(slot)
        except ExecutorError as error:
            self._failure = error

    def _reason(self, process: WorkerProcess, fault: str) -> str:
        """Return why a worker ended: one line, then its traceback and last words."""
        *trace, last = fault.strip().splitlines() or [""]
        summary = f"worker {process.slot} failed: {last}" if last else process.obituary()
        words = process.last_words()
        if not words and process.pid is None:
            words = self._fork_server.last_words()
        return "\n".join(part for part in (summary, fault.strip() if trace else "", words) if part)


def milliseconds(seconds: float) -> int | None:
    """Return a timeout for poll, rounded up so that it does not spin."""
    if seconds == math.inf:
        return None
    return max(0, min(_MAX_POLL, math.ceil(seconds * 1000)))
