"""A cluster without a network: tasks are answered when a test says so."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable

import msgspec

from ringmaster.execution.dask_link import DaskLink, Ended, News, Prepared, Workers
from ringmaster.execution.dask_protocol import (
    Answer,
    Assignment,
    HostFacts,
    NumberedJob,
    Outcome,
    encode,
)
from ringmaster.execution.sharing import Presence
from ringmaster.model.jobs import Job
from ringmaster.model.results import JobResult
from tests.execution.scripted_work import expected


class Task:
    """A task as a host sees it."""

    def __init__(self, address: str, key: str, jobs: bytes) -> None:
        self.address = address
        self.key = key
        self.jobs = msgspec.json.decode(jobs, type=tuple[NumberedJob, ...])

    @property
    def ids(self) -> list[str]:
        """Ids of the jobs."""
        return [numbered.job.id for numbered in self.jobs]


class FakeLink(DaskLink):
    """Hosts that a test scripts.

    facts  of each host, by address; `join` adds one
    tasks  in progress, oldest first
    """

    def __init__(self) -> None:
        self.facts: dict[str, HostFacts] = {}
        self.tasks: deque[Task] = deque()
        self.forgotten: list[str] = []
        self.orders: list[Assignment] = []
        self.is_closed = False
        self._ids: dict[str, str] = {}
        self._news: deque[News] = deque()
        self._fds = os.pipe()

    def fileno(self) -> int:
        return self._fds[0]

    def take(self) -> list[News]:
        news = list(self._news)
        self._news.clear()
        if news:
            os.read(self._fds[0], 65536)
        return news

    def post(self, *news: News) -> None:
        """Let news arrive."""
        for item in news:
            self._news.append(item)
            os.write(self._fds[1], b"+")

    def prepare(self, address: str, id: str, orders: Assignment) -> None:
        self.orders.append(orders)
        self.post(Prepared(address, id, len(orders.files), self.facts[address]))

    def send(self, address: str, key: str, run: str, jobs: bytes) -> None:
        self.tasks.append(Task(address, key, jobs))

    def forget(self, key: str) -> None:
        self.forgotten.append(key)

    def close(self, run: str, patience: float) -> None:
        self.is_closed = True
        for fd in self._fds:
            os.close(fd)

    # the test's side

    def join(self, address: str, slots: int = 1, *, id: str = "", **facts: object) -> None:
        """Let a host join the cluster; it may be one that has left."""
        name = address.removeprefix("tcp://")
        self.facts[address] = HostFacts(
            **{"name": name, "slots": slots, "cpus": slots, **facts}  # type: ignore[arg-type]
        )
        self._ids[address] = id or f"id of {name}"
        self.post(Workers(dict(self._ids)))

    def meet(self, *runs: Presence) -> None:
        """Let other runs on the cluster give a sign."""
        self.post(Workers(dict(self._ids), {each.run: each for each in runs}))

    def leave(self, address: str) -> None:
        """Let a host leave the cluster."""
        del self._ids[address]
        self.post(Workers(dict(self._ids)))

    def answer(
        self,
        task: Task | None = None,
        *,
        result: Callable[[Job], JobResult] = expected,
        lost: str = "",
        failure: str = "",
        unprepared: bool = False,
        seconds: float = 0.0,
        load: float = 0.5,
    ) -> Task:
        """Answer a task, by default the oldest."""
        task = task or self.tasks[0]
        if task in self.tasks:
            self.tasks.remove(task)
        outcomes = tuple(
            Outcome(n.number, None if lost else result(n.job), lost) for n in task.jobs
        )
        is_done = not failure and not unprepared
        answer = Answer(outcomes if is_done else (), seconds, load, (), failure, unprepared)
        self.post(Ended(task.key, encode(answer)))
        return task

    def lose(self, task: Task, *, is_cut: bool = False) -> None:
        """Let a task end without an answer."""
        self.tasks.remove(task)
        self.post(Ended(task.key, None, "lost on the way", is_cut))
