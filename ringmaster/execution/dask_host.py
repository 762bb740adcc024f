"""A Dask worker as a host of games.

The worker's process has a `LocalExecutor`, so games on a host are isolated, pinned, watched
and ended exactly as on one machine.  The ringmaster calls `prepare` and `receive`, submits
`play` as tasks, and calls `dismiss` at the end.  Payloads are JSON.

The worker's event loop passes commands to a thread, which has all state of the games.  A run
that has gone away leaves nothing: the scheduler cancels the tasks of a lost client, the worker
says so (`transition`), and the thread ends their games at once, and the idle engines and itself
after `IDLE` seconds.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import select
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
from distributed import Worker, WorkerPlugin, get_worker

import ringmaster
from ringmaster.errors import ExecutorError
from ringmaster.execution.affinity import core_of, own_cpus, share
from ringmaster.execution.dask_protocol import (
    RESOURCE,
    Answer,
    Assignment,
    HostFacts,
    NumberedJob,
    Outcome,
    encode,
)
from ringmaster.execution.executor import Done, ErrorLines, JobEnd
from ringmaster.execution.local import LocalExecutor
from ringmaster.execution.shipping import Cache, ShippedFile
from ringmaster.model.builds import FileSum, files_of, sum_of

_LOG = logging.getLogger("ringmaster")

#: Seconds without a game after which a host ends its engines and forgets the run.
IDLE = 60.0

#: From `host_process`: whether no other host of this machine uses its CPUs, and when it leaves
#: (monotonic), None for never.
has_own_cpus = False
leaves: float | None = None

_decode_assignment = msgspec.json.Decoder(Assignment).decode
_decode_jobs = msgspec.json.Decoder(tuple[NumberedJob, ...]).decode


def _plugin_name(run: str) -> str:
    return f"ringmaster-{run}"


async def prepare(assignment: bytes, dask_worker: Worker | None = None) -> bytes:
    """Make a worker a host of a run; return its `HostFacts`.  May be called again."""
    assert dask_worker is not None
    orders = _decode_assignment(assignment)
    name = socket.gethostname()
    if orders.version != ringmaster.__version__:
        facts = HostFacts(
            name,
            refusal=f"it has ringmaster {ringmaster.__version__}, this is {orders.version}",
        )
        return encode(facts)
    host = dask_worker.plugins.get(_plugin_name(orders.run))
    if not isinstance(host, HostPlugin):
        host = HostPlugin()
        await dask_worker.plugin_add(host, name=_plugin_name(orders.run))
    slots = await _slots(dask_worker, orders)
    facts = await asyncio.to_thread(host.take, orders, slots, name)
    return encode(facts)


async def _slots(worker: Worker, orders: Assignment) -> int:
    """Return the number of games at a time.

    A worker without the resource gets one for each thread: other runs may want more of it.
    """
    threads: int = worker.state.nthreads
    if RESOURCE not in worker.state.total_resources:
        await worker.set_resources(**{RESOURCE: threads})
    slots = min(orders.games or threads, int(worker.state.total_resources[RESOURCE]), threads)
    if orders.memory:
        available = worker.memory_manager.memory_limit or psutil.virtual_memory().total
        slots = min(slots, available // orders.memory)
    return slots


async def receive(
    run: str, file: bytes, first: bool, data: bytes, last: bool, dask_worker: Worker | None = None
) -> None:
    """Take a chunk of a shipped file.  Raises ExecutorError."""
    assert dask_worker is not None
    host = dask_worker.plugins[_plugin_name(run)]
    assert isinstance(host, HostPlugin)
    shipped = msgspec.json.decode(file, type=ShippedFile)
    await asyncio.to_thread(host.receive, shipped, first, data, last)


async def dismiss(run: str, patience: float, dask_worker: Worker | None = None) -> None:
    """End a run's games and engines on a worker."""
    assert dask_worker is not None
    if _plugin_name(run) in dask_worker.plugins:
        host = dask_worker.plugins[_plugin_name(run)]
        assert isinstance(host, HostPlugin)
        await host.close(patience)
        await dask_worker.plugin_remove(_plugin_name(run))


async def play(run: str, key: str, jobs: bytes) -> bytes:
    """Carry out jobs; return an `Answer`."""
    host = get_worker().plugins.get(_plugin_name(run))
    if not isinstance(host, HostPlugin):
        return encode(Answer(unprepared=True))
    return await host.play(key, _decode_jobs(jobs))


class _Batch:
    """The jobs of one task, with those that have no outcome yet by number."""

    def __init__(self, key: str, jobs: Sequence[NumberedJob]) -> None:
        self.key = key
        self.size = len(jobs)
        self.left = {numbered.number: numbered.job for numbered in jobs}
        self.began = time.monotonic()
        self.outcomes: list[Outcome] = []
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()


class HostPlugin(WorkerPlugin):  # type: ignore[misc]  # Dask is partly typed
    """One run on one worker."""

    def __init__(self) -> None:
        self._orders: Assignment | None = None
        self._slots = 0
        self._cache = Cache()
        #: Sums of the players' files by path, for `LocalExecutor`.
        self._builds: dict[str, FileSum] = {}
        self._upload: Any = None
        self._thread: threading.Thread | None = None
        #: Commands for the thread: a new batch, or the key of a task that was taken back.
        self._commands: deque[_Batch | str] = deque()
        #: Guards the end of the thread: no command may come after it.
        self._lock = threading.Lock()
        #: Why the thread has ended; empty for a run that was forgotten.
        self._end: str | None = None
        self._closing: float | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        # of the thread
        self._batches: dict[str, _Batch] = {}
        #: Submitted jobs by identity, with their batch, number and transcript.
        self._running: dict[int, tuple[_Batch, int, str | None]] = {}
        self._executor: LocalExecutor | None = None
        self._error_lines: ErrorLines | None = None

    # called by the worker, in its event loop

    def setup(self, worker: Worker) -> None:
        """Remember the event loop."""
        self._worker = worker
        self._loop = asyncio.get_running_loop()

    async def teardown(self, worker: Worker) -> None:
        """End everything when the worker ends."""
        await self.close(1.0)

    def transition(self, key: Any, start: str, finish: str, **details: Any) -> None:
        """Notice tasks that the scheduler takes back while they are in progress."""
        if start == "executing" and finish in ("released", "cancelled", "forgotten"):
            self._command(str(key))

    def _command(self, command: _Batch | str) -> bool:
        """Pass a command to the thread; return False if it has ended."""
        with self._lock:
            if self._end is not None:
                return False
            self._commands.append(command)
        self._wake()
        return True

    async def play(self, key: str, jobs: Sequence[NumberedJob]) -> bytes:
        """Carry out jobs; return the encoded `Answer`."""
        batch = _Batch(key, jobs)
        if not self._command(batch):
            return encode(Answer(failure=self._end) if self._end else Answer(unprepared=True))
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=key, daemon=True)
            self._thread.start()
        return await batch.answer

    async def close(self, patience: float) -> None:
        """End games and engines; idempotent."""
        self._closing = patience
        self._wake()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
        self._command_no_more("the run has ended")
        for fd in (self._wake_read, self._wake_write):
            if fd >= 0:
                os.close(fd)
        self._wake_read = self._wake_write = -1

    def _command_no_more(self, reason: str) -> list[_Batch]:
        """Take no more commands; return the batches that were not begun."""
        with self._lock:
            self._end = reason if self._end is None else self._end
            rest = [command for command in self._commands if isinstance(command, _Batch)]
            self._commands.clear()
        return rest

    def _wake(self) -> None:
        with suppress(OSError):
            os.write(self._wake_write, b"+")

    # preparation, in any thread

    def take(self, orders: Assignment, slots: int, name: str) -> HostFacts:
        """Take the run's orders; return the facts about this host."""
        self._orders, self._slots = orders, slots
        missing = self._cache.missing(orders.files)
        allowed = own_cpus()
        cores = len({core_of(cpu) for cpu in allowed})
        refusal = ""
        if slots < 1:
            refusal = "it has less memory than one game may use"
        elif orders.pin and not hasattr(os, "sched_setaffinity"):
            refusal = "its system cannot keep a game to some of the CPUs (pin)"
        elif orders.pin and len(allowed) < slots:
            refusal = f"it has {len(allowed)} CPUs, and each of its {slots} games needs its own"
        shipped = {file.path for file in orders.files}
        builds: dict[str, str] = {}
        self._builds = {}
        for player in orders.players:
            for file, path in files_of(player).items():
                place = self._cache.place(path)
                found = sum_of(place)
                if found.sha256:
                    self._builds[place], builds[file] = found, found.sha256
                elif path not in shipped and not refusal:
                    refusal = f"player {player.code!r}: it has no program {file}"
        return HostFacts(
            name=name,
            slots=slots,
            cpus=len(allowed),
            cores=cores,
            builds=builds,
            missing=tuple(missing),
            refusal=refusal,
            has_own_cpus=has_own_cpus,
            lasts=None if leaves is None else leaves - time.monotonic(),
        )

    def receive(self, file: ShippedFile, first: bool, data: bytes, last: bool) -> None:
        """Collect the chunks of one file after another."""
        if first:
            self._upload = tempfile.TemporaryFile()
        self._upload.write(data)
        if last:
            with self._upload as part:
                part.seek(0)
                self._cache.write(file, iter(lambda: part.read(1 << 20), b""))

    # the thread

    def _serve(self) -> None:
        reason = "the run has ended"
        idle_since = time.monotonic()
        try:
            while self._closing is None:
                self._obey()
                is_busy = bool(self._batches)
                if not is_busy and time.monotonic() - idle_since > IDLE:
                    reason = ""
                    self._loop.call_soon_threadsafe(self._forget)
                    return
                self._wait()
                if is_busy:
                    idle_since = time.monotonic()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        finally:
            for batch in self._command_no_more(reason):
                self._batches[batch.key] = batch
            self._end_executor(1.0 if self._closing is None else self._closing)
            for batch in list(self._batches.values()):
                self._answer(batch, reason)

    def _forget(self) -> None:
        """Leave the worker; in its event loop."""
        assert self._orders is not None
        name = _plugin_name(self._orders.run)
        self._leaving = asyncio.ensure_future(self._worker.plugin_remove(name))

    def _wait(self) -> None:
        """Wait for results or commands."""
        timeout = None if self._batches else IDLE
        if self._executor is None:
            poll = select.poll()
            poll.register(self._wake_read, select.POLLIN)
            poll.poll(None if timeout is None else 1000 * timeout)
            events: list[JobEnd] = []
        else:
            try:
                events = self._executor.wait(timeout, [self._wake_read])
            except ExecutorError as error:
                self._fail(str(error))
                events = []
        with suppress(BlockingIOError):
            os.read(self._wake_read, 4096)
        if self._executor is not None:
            for line, _ in self._executor.notices():
                _LOG.warning(line)
        self._deliver(events)

    def _obey(self) -> None:
        """Begin new batches and end those that were taken back."""
        dropped = False
        while self._commands:
            command = self._commands.popleft()
            if isinstance(command, str):
                gone = self._batches.pop(command, None)
                if gone is not None:
                    dropped = True
                    self._resolve(gone, Answer(unprepared=True))
            else:
                self._batches[command.key] = command
                if not dropped:
                    self._begin(command)
        if dropped:
            # A game cannot be ended alone: all end, and those that are wanted begin again.
            self._end_executor(0.0)
            for batch in list(self._batches.values()):
                if batch.key in self._batches:  # none has failed
                    self._begin(batch)

    def _begin(self, batch: _Batch) -> None:
        """Submit the jobs of a batch."""
        try:
            if self._executor is None:
                self._executor = self._make_executor()
            for number, wanted in batch.left.items():
                job = self._cache.localised(wanted)
                transcript = job.transcript
                if transcript is not None:
                    transcript = os.path.join(self._folder.name, f"{number}.log")
                    job = msgspec.structs.replace(job, transcript=transcript)
                self._running[id(job)] = (batch, number, transcript)
                self._executor.submit(job)
        except ExecutorError as error:
            self._fail(str(error))

    def _fail(self, failure: str) -> None:
        """Answer every batch: the executor cannot go on."""
        self._end_executor(1.0)
        for batch in list(self._batches.values()):
            self._answer(batch, failure)

    def _make_executor(self) -> LocalExecutor:
        orders = self._orders
        assert orders is not None
        builds = msgspec.to_builtins(self._builds)
        setup = {**orders.setup, "workers": self._slots, "builds": builds}
        pass_fds = []
        if setup.pop("error_lines", None) is not None:
            self._error_lines = ErrorLines()
            setup["error_lines"] = self._error_lines.write_fd
            pass_fds = [self._error_lines.write_fd]
        if orders.pin:
            setup["cpus"] = share(own_cpus(), self._slots)
        if orders.memory is not None:
            setup["memory"] = orders.memory
        self._folder = tempfile.TemporaryDirectory(prefix="ringmaster-")
        return LocalExecutor(
            orders.work,
            self._slots,
            setup=setup,
            reaper=orders.reaper and importlib.import_module(orders.reaper).__file__,
            pass_fds=pass_fds,
        )

    def _end_executor(self, patience: float) -> None:
        """End all workers and engines."""
        executor, self._executor = self._executor, None
        self._running.clear()
        if executor is not None:
            executor.close(patience=patience)
            self._folder.cleanup()
        if self._error_lines is not None:
            self._error_lines.close()
            self._error_lines = None

    def _deliver(self, events: Iterable[JobEnd]) -> None:
        for event in events:
            batch, number, transcript = self._running.pop(id(event.job))
            text = None
            if transcript is not None and os.path.exists(transcript):
                text = Path(transcript).read_bytes()
                os.unlink(transcript)
            result, lost = (event.result, "") if isinstance(event, Done) else (None, event.reason)
            batch.outcomes.append(Outcome(number, result, lost, text))
            del batch.left[number]
            if not batch.left:
                self._answer(batch)

    def _answer(self, batch: _Batch, failure: str = "") -> None:
        """Answer a task, with the outcomes so far."""
        seconds = (time.monotonic() - batch.began) * min(batch.size, self._slots) / batch.size
        lines = () if self._error_lines is None else tuple(self._error_lines.take())
        load = round(os.getloadavg()[0] / (os.cpu_count() or 1), 2)
        self._batches.pop(batch.key, None)
        self._resolve(batch, Answer(tuple(batch.outcomes), seconds, load, lines, failure))

    def _resolve(self, batch: _Batch, answer: Answer) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(_set, batch.answer, encode(answer))


def _set(future: asyncio.Future[bytes], answer: bytes) -> None:
    if not future.done():
        future.set_result(answer)
