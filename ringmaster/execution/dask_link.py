"""The network of a Dask cluster as the executor sees it: what goes out, and news that comes in.

An event loop in a thread of its own waits for the network.  News arrive in a queue, with a
descriptor that wakes the executor.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future as ThreadFuture
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ringmaster.execution.dask_protocol import RESOURCE, Assignment, HostFacts, encode
from ringmaster.execution.sharing import Presence
from ringmaster.execution.shipping import CHUNK, ShippedFile

#: Seconds between two looks at the cluster's workers, and workers for a second more.
PERIOD, _LISTED = 1.0, 500
#: Seconds for the scheduler to list them: a call that began before it was lost may hang.
_ANSWER = 10.0
#: Seconds for a host to answer a call, and bytes a second that it checks at least.
_PATIENCE, _CHECKED = 60.0, 50e6
#: Key of the runs' presences at the scheduler.
_RUNS = "ringmaster"
#: Tasks of a higher priority wait before all tasks of a lower one.
_FIRST = 1_000_000_000

_decode_facts = msgspec.json.Decoder(HostFacts).decode
_decode_presence = msgspec.json.Decoder(Presence).decode


@dataclass(frozen=True)
class Workers:
    """The workers that the scheduler has, ids by address, and the runs, by their names."""

    found: Mapping[str, str]
    runs: Mapping[str, Presence] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A worker has taken its orders and files, or cannot be a host.

    files   number of files of the orders
    facts   with the refusal, if there is one
    is_cut  whether the network failed, so that another try may succeed
    """

    address: str
    id: str
    files: int
    facts: HostFacts
    is_cut: bool = False


@dataclass(frozen=True)
class Ended:
    """A task has ended: with an encoded answer, or with a reason why it will have none.

    is_cut  whether the connection to the scheduler was lost
    """

    key: str
    data: bytes | None = None
    reason: str = ""
    is_cut: bool = False


@dataclass(frozen=True)
class Silence:
    """The scheduler has stayed away for too long."""

    seconds: float
    detail: str


@dataclass(frozen=True)
class Upkeep:
    """News of hosts that the run has started, and keeps up.

    text    for the user, or ""
    queued  jobs that a batch system has not started yet, None if that is not known
    """

    text: str = ""
    is_warning: bool = True
    queued: int | None = None


News = Workers | Prepared | Ended | Silence | Upkeep
#: Starts hosts, and starts them again until it is cancelled; gets a function for its news.
Keeper = Callable[[Callable[[News], None]], Coroutine[Any, Any, None]]


class DaskLink:
    """A connection to a cluster for one run, by a Dask client; every task gives at most one news.

    client     a synchronous client, with an event loop in a thread
    release    closes the client, and what was started with it
    reconnect  seconds for which the scheduler may be away
    presence   of the run, for others on the cluster
    """

    presence = Presence()

    def __init__(self, client: Any, release: Callable[[], None], reconnect: float) -> None:
        self._client = client
        self._release = release
        self._reconnect = reconnect
        self._loop: asyncio.AbstractEventLoop = client.loop.asyncio_loop
        self._news: deque[News] = deque()
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self._write_fd, False)
        #: Tasks in progress by key, with the address of their worker.
        self._futures: dict[str, tuple[Any, str]] = {}
        self._sent = 0
        # of the event loop
        #: Futures that are done and whose answers are to be fetched, by worker.
        self._finished: defaultdict[str, list[Any]] = defaultdict(list)
        self._fetching: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        #: Keeps the order of the orders for each worker.
        self._preparing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # imported here: this module is for tests without Dask, too
        from ringmaster.execution import dask_host

        self._host = dask_host
        self._watcher = self._start(self._watch())
        self._keeping: list[asyncio.Task[None]] = []

    def fileno(self) -> int:
        """Return a descriptor that is readable when there are news."""
        return self._read_fd

    def take(self) -> list[News]:
        """Return the news since the last call; does not wait."""
        with suppress(BlockingIOError):
            os.read(self._read_fd, 4096)
        return [self._news.popleft() for _ in range(len(self._news))]

    def keep(self, keepers: Iterable[Keeper]) -> None:
        """Keep hosts up until the end."""
        self._start(self._keep(keepers))

    def prepare(self, address: str, id: str, orders: Assignment) -> None:
        """Have a worker take orders and files."""
        self._start(self._prepare(address, id, orders))

    def send(self, address: str, key: str, run: str, jobs: bytes) -> None:
        """Submit a task for one worker."""
        future = self._client.submit(
            self._host.play,
            run,
            key,
            jobs,
            key=key,
            workers=[address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            # Dask itself does not keep the order of quick submissions
            priority=self.presence.priority * _FIRST - self._sent,
            pure=False,
        )
        self._sent += 1
        self._futures[key] = future, address
        future.add_done_callback(self._note_finished)

    def forget(self, key: str) -> None:
        """Drop a task, here and on the cluster; it may be in progress."""
        if key in self._futures:
            future, _ = self._futures.pop(key)
            future.release()

    def close(self, run: str, patience: float) -> None:
        """End a run on all workers, and the connection.

        patience  seconds for engines to quit
        """
        self._watcher.cancel()
        for key in list(self._futures):
            self.forget(key)
        if self._client.status == "running":
            with suppress(Exception):
                self._start(self._dismiss(run, patience)).result(patience + 10.0)
        with suppress(Exception):
            self._start(self._end_hosts()).result(_PATIENCE)
        self._release()
        for fd in (self._read_fd, self._write_fd):
            os.close(fd)
        self._read_fd = self._write_fd = -1

    # in the event loop

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> ThreadFuture[None]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _post(self, news: News) -> None:
        self._news.append(news)
        with suppress(OSError):
            os.write(self._write_fd, b"+")

    async def _keep(self, keepers: Iterable[Keeper]) -> None:
        self._keeping += [asyncio.ensure_future(keep(self._post)) for keep in keepers]

    async def _end_hosts(self) -> None:
        """End the hosts that the run has started."""
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)

    async def _watch(self) -> None:
        """Report the cluster's workers, and a scheduler that stays away."""
        seen, known, beat = time.monotonic(), 0, 0
        while True:
            try:
                beat += 1
                workers = await asyncio.wait_for(self._look(beat), min(_ANSWER, self._reconnect))
                seen = time.monotonic()
                self._post(workers)
                known = len(workers.found)
            except Exception as error:
                away = time.monotonic() - seen
                if self._client.status == "closed" or away > self._reconnect:
                    self._post(Silence(away, reason_of(error)))
                    return
            await asyncio.sleep(PERIOD + known / _LISTED)

    async def _look(self, beat: int) -> Workers:
        """Return the cluster's workers and runs, and leave word of this run."""
        scheduler = self._client.scheduler
        if self.presence.run:
            own = msgspec.structs.replace(self.presence, beat=beat)
            await scheduler.set_metadata(keys=[_RUNS, own.run], value=encode(own))
        identity = await scheduler.identity(n_workers=-1)
        found = {
            address: str(facts["id"])
            for address, facts in identity["workers"].items()
            if facts.get("status", "running") == "running"
        }
        runs = await scheduler.get_metadata(keys=[_RUNS], default={})
        return Workers(found, {run: _decode_presence(text) for run, text in runs.items() if text})

    async def _prepare(self, address: str, id: str, orders: Assignment) -> None:
        """Give a worker its orders, then the files that it lacks, one after another."""
        async with self._preparing[address]:
            is_cut = False
            try:
                facts = await self._call(address, orders)
                if facts.missing and not facts.refusal:
                    for file in orders.files:
                        if file.path in facts.missing:
                            await self._ship(address, orders.run, file)
                    facts = await self._call(address, orders)
            except Exception as error:
                is_cut = isinstance(error, OSError | TimeoutError)
                facts = HostFacts("", refusal=reason_of(error))
            self._post(Prepared(address, id, len(orders.files), facts, is_cut))

    async def _call(self, address: str, orders: Assignment) -> HostFacts:
        seconds = _PATIENCE + sum(file.size for file in orders.files) / _CHECKED
        facts = await self._on(address, seconds, self._host.prepare, encode(orders))
        return _decode_facts(facts)

    async def _on(
        self, address: str, seconds: float, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Call a function on a worker and return its answer."""
        call = self._client.run(function, *arguments, workers=[address], asynchronous=True)
        answers = await asyncio.wait_for(call, seconds)
        return answers[address]

    async def _ship(self, address: str, run: str, file: ShippedFile) -> None:
        """Send a file to a host in chunks, which the scheduler passes on."""
        encoded = encode(file)
        with open(file.path, "rb") as content:
            for start in range(0, max(1, file.size), CHUNK):
                data = await asyncio.to_thread(content.read, CHUNK)
                ends = start == 0, data, start + CHUNK >= file.size
                await self._on(address, _PATIENCE, self._host.receive, run, encoded, *ends)

    async def _dismiss(self, run: str, patience: float) -> None:
        await self._client.scheduler.set_metadata(keys=[_RUNS, run], value=b"")
        await self._client.run(
            self._host.dismiss, run, patience, on_error="ignore", asynchronous=True
        )

    def _note_finished(self, future: Any) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._start(self._fetch(future))

    async def _fetch(self, future: Any) -> None:
        """Fetch the answer of a finished task, with those of its worker that come meanwhile.

        Each worker by itself: one that does not answer holds up no other.
        """
        _, address = self._futures.get(str(future.key), (None, ""))
        if not address:
            return  # forgotten meanwhile
        self._finished[address].append(future)
        async with self._fetching[address]:
            futures = self._finished.pop(address, [])
            done = {str(f.key): f for f in futures if f.status == "finished"}
            answers: dict[str, bytes | None] = {}
            reason = "the host was lost with the answer"
            try:
                if done:
                    gathered = self._client.gather(done, errors="skip", asynchronous=True)
                    answers = await asyncio.wait_for(gathered, _PATIENCE)
            except Exception as error:
                reason = reason_of(error)
            for each in futures:
                key, why, is_cut = str(each.key), reason, each.status == "cancelled"
                if is_cut:
                    why = "the scheduler was lost"
                elif each.status == "error":
                    with suppress(Exception):
                        why = reason_of(await each.exception())
                self._post(Ended(key, answers.get(key), why, is_cut))


def reason_of(error: BaseException | None) -> str:
    """Return an error in words, with a remedy where that is known."""
    # Dask's own errors hide these
    if str(error).endswith(("before comm was established.", "failed to start.")):
        return reason_of(error and error.__cause__)
    if "TLS configuration" in str(error):
        return "TLS needs certificates; name the files in Dask's configuration (see docs/cluster)"
    if isinstance(error, ModuleNotFoundError) and error.name in ("ringmaster", "msgspec", "psutil"):
        return f"it has no {error.name}: install the same ringmaster on every host"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
