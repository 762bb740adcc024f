"""The executor on a Dask cluster: games as tasks on the workers, which are its hosts.

Dask connects machines, starts their workers, notices the loss of one and counts games at a
time.  The executor chooses the host of each task itself, because hosts differ: in speed, in
files, in health.  So the loss of a worker is the loss of known jobs, which are reported at
once, and Dask never repeats a task on its own.  A job has one number; only the answer of the
task that it is in counts, so a late or second answer changes nothing.
"""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

import ringmaster
from ringmaster.errors import ExecutorError, StoreUnwritable
from ringmaster.execution import shipping
from ringmaster.execution.cluster_hosts import ClusterHost, Hosts, placed
from ringmaster.execution.dask_link import (
    DaskLink,
    Ended,
    News,
    Prepared,
    Silence,
    Upkeep,
    Workers,
)
from ringmaster.execution.dask_protocol import Answer, Assignment, NumberedJob, encode
from ringmaster.execution.executor import Executor, JobEnd
from ringmaster.execution.local import milliseconds
from ringmaster.execution.sharing import Neighbours, Presence
from ringmaster.model.cluster import Cluster, Host
from ringmaster.model.jobs import CheckJob, EvaluationJob, Job
from ringmaster.model.output_files import make_folder, replacing
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, JobResult

_decode_answer = msgspec.json.Decoder(Answer).decode


class DaskExecutor(Executor):
    """Carries out jobs on the workers of a Dask cluster.

    work      as for LocalExecutor, as is `setup`; it is found on each host
    connect   returns the connection; called once
    cluster   settings of the hosts
    reaper    module of the reaper's program, or None
    players   the players of the competition, whose programs the hosts must have
    builds    SHA-256 of their files by name, as far as they are known here
    most      jobs at a time on all hosts, None for as many as they offer
    name      of the competition, for other runs on the cluster
    error_lines  descriptor for the engines' standard error, or None
    resources  as for Executor; those of each host are in `cluster`

    A host that leaves loses its jobs, which are reported as `Lost`.  A host that cannot play
    is not used: another version of ringmaster or of an engine, too little memory, work that
    raises.  A host with more faults of engines than the others, beyond chance, gets no more
    jobs.  `notices` says so.  The scheduler may be away for `cluster.reconnect` seconds.

    Raises ExecutorError when the cluster is not there or a file cannot be shipped; and from
    `wait` when the scheduler stays away, when all hosts were refused, or when the work raises
    repeatedly in the same job.
    """

    def __init__(
        self,
        work: str,
        connect: Callable[[], DaskLink],
        cluster: Cluster,
        *,
        setup: Mapping[str, Any] = {},
        reaper: str | None = None,
        players: Iterable[Player] = (),
        builds: Mapping[str, str] = {},
        most: int | None = None,
        name: str = "",
        error_lines: int | None = None,
        resources: Mapping[str, int] = {},
    ) -> None:
        super().__init__(resources)
        self._has_tokens |= bool(cluster.resources)
        players = list(players)
        self._most = most
        self._error_lines = error_lines
        self._is_cut = False
        self._last_task = 0
        #: The host of each task in progress.
        self._tasks: dict[str, ClusterHost] = {}
        #: Jobs that measure a host, by number; the caller knows nothing of them.
        self._trials: dict[int, Job] = {}
        #: Files of positions that hosts have, or read from their own disks.
        self._positions: set[str] = set()
        shipped = [name for p in players if p.ship for name in shipping.files_of(p)]
        self._run = os.urandom(8).hex()
        orders = Assignment(
            run=self._run,
            version=ringmaster.__version__,
            work=work,
            setup={**setup, **({} if error_lines is None else {"error_lines": True})},
            reaper=reaper,
            games=cluster.games,
            pin=cluster.pin,
            memory=cluster.memory,
            players=tuple(players),
            files=tuple(shipping.collect([*shipped, *cluster.ship])),
        )
        own = Presence(self._run, name, cluster.share, cluster.priority)
        self._neighbours = Neighbours(own)
        #: The most jobs at a time since other runs were last told.
        self._peak = 0
        self._link = connect()
        self._link.presence = own
        self._hosts = Hosts(self._link, orders, cluster, builds)

    @property
    def slots(self) -> int:
        """The number of jobs that run at a time; at least 1, while workers are awaited."""
        return max(1, int(min(self._offered(), self._limit())))

    def _offered(self) -> int:
        return sum(host.slots for host in self._hosts.ready())

    def _limit(self) -> float:
        """Return how many jobs may be in progress: by `resize`, and beside other runs."""
        most = math.inf if self._most is None else self._most
        return min(most, self._neighbours.part(self._offered()))

    def _ahead(self) -> int:
        is_limited = self._limit() < self._offered()
        return 0 if is_limited else sum(host.ahead() for host in self._hosts.ready())

    def resize(self, slots: int) -> None:
        """Change the number of jobs at a time (see `Executor.resize`).

        Without a limit so far, hosts that join later are used whatever they offer.
        """
        if slots < self.slots:
            self._most = slots
        elif self._most is not None:
            # hosts may offer less than the limit for now
            self._most = max(self._most, slots)

    def _enqueue(self, number: int, data: bytes) -> None:
        job = self._jobs[number]
        if isinstance(job, EvaluationJob) and job.positions not in self._positions:
            self._positions.add(job.positions)
            if os.path.isfile(job.positions):
                self._hosts.add_files([job.positions])
        self._pending.append(number)
        self._peak = max(self._peak, len(self._jobs))
        if self._has_tokens:
            self._dispatch()  # `room` needs to know which jobs wait

    def notices(self) -> list[tuple[str, bool]]:
        notices, self._hosts.notices = self._hosts.notices, []
        return notices

    def refuse(self, host: Host | None, reason: str) -> bool:
        for each in self._hosts.all():
            if host is not None and each.name == host.name and each.state != "out":
                self._hosts.refuse(each, reason)
        return True

    def refused(self) -> list[str]:
        return list(self._hosts.refusals)

    def sharing(self) -> str:
        return self._neighbours.text()

    def programs(self) -> Mapping[str, str]:
        return self._hosts.programs()

    def in_progress(self) -> Sequence[Job]:
        """Return the jobs that hosts have, without those that wait there for another one."""
        return super().in_progress()[: self.slots]

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[JobEnd]:
        if self._closed or (timeout is None and not wake and not self._jobs):
            return []
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        poll = select.poll()
        for fd in {self._link.fileno(), *wake}:
            poll.register(fd, select.POLLIN)
        while True:
            self._dispatch()
            self._failure = self._failure or self._hosts.failure
            seconds = 0.0 if self._events or self._failure else deadline - time.monotonic()
            ready = [fd for fd, _ in poll.poll(milliseconds(seconds))]
            for news in self._link.take():
                self._take(news)
                for host in self._hosts.admit():
                    self._try(host)
            woken = any(fd != self._link.fileno() for fd in ready)
            self._failure = self._failure or self._hosts.failure
            if self._events or self._failure or woken or time.monotonic() >= deadline:
                break
        events = self._take_events()
        self._dispatch()
        return events

    def close(self, *, patience: float = 2.0) -> None:
        if self._closed:
            return
        self._closed = True
        self._link.close(self._run, patience)
        for state in (self._jobs, self._pending, self._events, self._tasks, self._trials):
            state.clear()

    # jobs to hosts

    def _dispatch(self) -> None:
        """Send pending jobs to hosts with free slots, then some to wait at them."""
        if not self._pending:
            return
        hosts = [h for h in self._hosts.ready() if h.files == len(self._hosts.orders.files)]
        busy = [host for host in self._hosts.all() if host.jobs or host in hosts]
        limit = self._limit()
        left = limit - sum(min(host.jobs, host.slots) for host in busy)
        shares: dict[ClusterHost, list[int]] = {host: [] for host in hosts}
        # places that other runs have come last: a job waits there until one of theirs ends
        free = {host: host.slots - self._neighbours.on(host.address) for host in hosts}
        left = self._share_out(shares, free, left)
        self._share_out(shares, {host: host.slots for host in hosts}, left)
        # jobs that wait at a host would be played beyond the limit
        if limit >= sum(host.slots for host in busy):
            self._share_out(shares, {h: h.slots + h.ahead() for h in hosts}, math.inf)
        for host, numbers in shares.items():
            size = host.together()
            for i in range(0, len(numbers), size):
                self._send(host, numbers[i : i + size])

    def _share_out(
        self, shares: dict[ClusterHost, list[int]], places: dict[ClusterHost, int], left: float
    ) -> float:
        """Add pending jobs to the hosts' shares, as many as there are places; return the rest of
        `left`, the most jobs.

        The shares are even, so that none waits while another has a queue; short jobs stay
        together.
        """
        room = {host: count - host.jobs - len(shares[host]) for host, count in places.items()}
        while left > 0 and self._pending and any(count > 0 for count in room.values()):
            for host in room:
                few = min(left, len(self._pending), max(1, host.together() // host.slots))
                for _ in range(int(min(room[host], few))):
                    number = self._take_pending(host.tokens)
                    if number is None:
                        room[host] = 0
                        break
                    shares[host].append(number)
                    room[host] -= 1
                    left -= 1
        return left

    def _send(self, host: ClusterHost, numbers: list[int]) -> None:
        """Submit a task with some jobs to a host."""
        jobs = [NumberedJob(number, host.for_speed(self._job(number))) for number in numbers]
        self._last_task += 1
        key = f"games-{self._run}-{self._last_task}"
        host.tasks[key] = numbers, host.speed
        host.jobs += len(numbers)
        self._tasks[key] = host
        self._link.send(host.address, key, self._run, encode(jobs))

    def _job(self, number: int) -> Job:
        return self._trials[number] if number in self._trials else self._jobs[number]

    # news

    def _take(self, news: News) -> None:
        match news:
            case Ended(key, bytes(data)):
                self._take_answer(key, data)
            case Ended(key, None, reason, is_cut):
                if is_cut and not self._is_cut and key in self._tasks:
                    self._is_cut = True
                    text = "the scheduler does not answer; the run goes on when it does"
                    self._hosts.notices.append((text, True))
                    self._hosts.doubt()
                self._take_loss(key, reason, told=is_cut)
            case Workers(found, runs):
                self._is_cut = False
                self._meet(runs)
                for gone in self._hosts.compare(found):
                    for key in list(gone.tasks):
                        self._take_loss(key, "it has left", told=True)
            case Prepared():
                self._hosts.take_prepared(news)
            case Upkeep():
                self._hosts.take_upkeep(news)
            case Silence(seconds, detail):
                self._failure = ExecutorError(
                    f"the cluster's scheduler has not answered for {seconds:.0f} s ({detail}); "
                    "what was recorded is safe: run it again to resume"
                )

    def _meet(self, runs: Mapping[str, Presence]) -> None:
        """Take the other runs on the cluster, and tell them of this one."""
        if self._neighbours.take(runs):
            text = self.sharing() or "the cluster is this run's alone"
            self._hosts.notices.append((text, False))
        most = self._offered() if self._most is None else min(self._offered(), self._most)
        is_full = self._peak >= min(most, self._limit())
        self._link.presence = self._neighbours.own = msgspec.structs.replace(
            self._neighbours.own,
            wants=most if is_full else self._peak,
            jobs={h.address: min(h.jobs, h.slots) for h in self._hosts.all() if h.jobs},
        )
        self._peak = len(self._jobs)

    def _try(self, host: ClusterHost) -> None:
        """Measure a host's speed, if it has to be known; games in progress end first."""
        for job in self._hosts.trials(host):
            number = next(self._numbers)
            self._trials[number] = job
            self._send(host, [number])

    def _take_answer(self, key: str, data: bytes) -> None:
        """Take the answer of a task, unless it is not awaited any more."""
        if key not in self._tasks:
            return
        try:
            answer = _decode_answer(data)
        except msgspec.MsgspecError as error:
            self._take_loss(key, f"it sent no valid answer: {error}")
            return
        host, numbers, speed = self._drop(key)
        if answer.unprepared:
            self._hosts.prepare_again(host)
        elif answer.failure and host.state != "out":
            self._hosts.refuse(host, " | ".join(answer.failure.splitlines()))
        elif not all(isinstance(self._job(number), CheckJob) for number in numbers):
            # checks are quick and say nothing about the length of games
            host.take_pace(answer.seconds)
        if self._hosts.is_due(host, answer.load or 0.0):
            self._try(host)
        if self._error_lines is not None:
            for line in answer.stderr:
                # lines for the terminal are dropped rather than waited for
                with suppress(OSError):
                    os.write(self._error_lines, line.encode()[: select.PIPE_BUF - 1] + b"\n")
        place = Host(host.name, speed, answer.load)
        left = set(numbers)
        for outcome in answer.outcomes:
            if outcome.number not in left:
                continue
            left.remove(outcome.number)
            job = self._job(outcome.number)
            if outcome.transcript is not None and job.transcript is not None:
                with suppress(OSError, StoreUnwritable):
                    make_folder(os.path.dirname(job.transcript))
                    with replacing(job.transcript) as file:
                        file.write(outcome.transcript)
            if outcome.result is None:
                self._lose(outcome.number, host, outcome.lost, counts=True)
            else:
                self._take_result(outcome.number, placed(outcome.result, place), host)
        for number in left:
            self._lose(number, host, answer.failure or "it was restarted", told=True)

    def _take_result(self, number: int, result: JobResult, host: ClusterHost) -> None:
        if self._trials.pop(number, None) is not None:
            assert isinstance(result, CheckResult)
            self._hosts.take_speed(host, result)
            return
        self._hosts.judge(host, result)
        self._finish(number, result)

    def _take_loss(self, key: str, reason: str, *, told: bool = False) -> None:
        """Report the jobs of a task that will not be answered (see `Lost.told`)."""
        if key in self._tasks:
            host, numbers, _ = self._drop(key)
            for number in numbers:
                self._lose(number, host, reason, told=told)

    def _drop(self, key: str) -> tuple[ClusterHost, list[int], float | None]:
        """Forget a task; return its host, its jobs and the host's speed when they began."""
        host = self._tasks.pop(key)
        numbers, speed = host.tasks.pop(key)
        host.jobs -= len(numbers)
        for number in numbers:
            host.tokens.held.subtract(self._job(number).resources)
        self._link.forget(key)
        return host, numbers, speed

    def _lose(
        self,
        number: int,
        host: ClusterHost,
        reason: str,
        *,
        counts: bool = False,
        told: bool = False,
    ) -> None:
        """Report a job as lost (see `_report_loss`), or refuse a host that was measured."""
        if self._trials.pop(number, None) is not None:
            if host.state == "calibrating" and not told:
                self._hosts.refuse(host, f"its speed cannot be measured: {reason}")
            return
        self._report_loss(number, f"host {host.name}: {reason}", told=told, counts=counts)
