"""Many tasks that block, in one process: each is a greenlet, and while one waits the
others go on.

A descriptor stays with the epoll of the hub from the first wait for it on, so that a
wait costs no system call of its own.  What becomes ready while its task waits for
something else is taken out, and put back by the next wait for it.
"""

from __future__ import annotations

import math
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from greenlet import greenlet

#: Nanoseconds that tasks are carried on with before somebody looks who has become ready.
LONGEST_BLIND = 100_000


class Epoll(Protocol):
    """What `select.epoll` returns, as far as it is used."""

    def register(self, fd: int, eventmask: int, /) -> None: ...
    def unregister(self, fd: int, /) -> None: ...
    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]: ...
    def close(self) -> None: ...


class _Task:
    """A greenlet and what it waits for: `poll`, None while it runs."""

    __slots__ = ("deadline", "greenlet", "is_queued", "poll")

    def __init__(self, run: Callable[[], object], parent: greenlet) -> None:
        self.greenlet = greenlet(run, parent)
        self.poll: HubPoll | None = None
        self.deadline = math.inf  # nanoseconds
        self.is_queued = False


class Hub:
    """Carries on tasks, each until it waits.

    clock  nanoseconds, monotonic

    It belongs to the greenlet that makes it, and is run there.  A task that raises ends
    `run` with its exception.
    """

    def __init__(
        self, clock: Callable[[], int] = time.monotonic_ns, epoll: Epoll | None = None
    ) -> None:
        self.clock = clock
        self._epoll: Epoll = select.epoll() if epoll is None else epoll
        #: The tasks that the descriptors in the epoll belong to.
        self._owner: dict[int, _Task] = {}
        #: In the order in which they were added.
        self._tasks: dict[_Task, None] = {}
        self._queue: deque[_Task] = deque()
        self._running: _Task | None = None
        self._main = greenlet.getcurrent()
        #: No task that waits has an earlier deadline.
        self._soonest = math.inf
        #: When it was last looked who is ready.
        self._looked = 0
        self._ended: int | None = None

    def spawn(self, run: Callable[[], object]) -> None:
        """Add a task, to be begun in its turn."""
        task = _Task(run, self._main)
        self._tasks[task] = None
        self._put(task)

    def run(self) -> None:
        """Carry on until all tasks have ended."""
        queue = self._queue
        self._looked = self.clock()
        try:
            while self._tasks:
                if not queue or self.clock() - self._looked > LONGEST_BLIND:
                    self._look()
                if queue:
                    task = self._running = queue.popleft()
                    task.is_queued, task.poll = False, None
                    task.greenlet.switch()
                    if task.greenlet.dead:
                        del self._tasks[task]
        finally:
            self._running = None
            self._epoll.close()

    def new_poll(self) -> HubPoll:
        """Return something that a task can wait with."""
        return HubPoll(self)

    def forget(self, fd: int) -> None:
        """Take a descriptor out, before it is closed."""
        if self._owner.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def end_of(self, fd: int) -> None:
        """Have `fd` be ready from now on for every task that waits for it, whoever it
        belongs to."""
        self._ended = fd
        for task in self._tasks:
            if task.poll is not None and fd in task.poll.masks:
                task.poll.found[fd] = select.POLLHUP
                self._put(task)

    def wake(self, poll: HubPoll) -> None:
        """End the wait of a task that waits with `poll`."""
        task = poll.task
        if task is not None and task.poll is poll:
            self._put(task)

    def wait(self, poll: HubPoll, now: int, deadline: float) -> None:
        """Let the others go on until something is found for `poll` or its deadline (ns)
        has passed."""
        task = poll.task = self._running
        assert task is not None, "only a task can wait by a hub"
        if self._ended in poll.masks:
            assert self._ended is not None
            poll.found[self._ended] = select.POLLHUP
            return
        if not poll.masks.keys() <= self._owner.keys():
            for fd, mask in poll.masks.items():
                if fd not in self._owner:
                    self._epoll.register(fd, mask)
                    self._owner[fd] = task
        task.poll, task.deadline = poll, deadline
        if deadline < self._soonest:
            self._soonest = deadline
        self._main.switch()

    def _put(self, task: _Task) -> None:
        if not task.is_queued:
            task.is_queued = True
            self._queue.append(task)

    def _look(self) -> None:
        """Put into the queue whoever has become ready, or is late; with an empty queue
        wait for somebody."""
        # It came at an unknown moment after the last look.  In doubt for the engine.
        came = self._looked
        found = self._epoll.poll(0)
        now = self.clock()
        if not found and not self._queue and now < self._soonest:
            forever = self._soonest == math.inf
            found = self._epoll.poll(None if forever else (self._soonest - now) / 1e9)
            came = now = self.clock()
        self._looked = now
        for fd, events in found:
            task = self._owner[fd]
            poll = task.poll
            if poll is None or fd not in poll.masks:
                self.forget(fd)
                continue
            if not poll.found:
                poll.came = came
            poll.found[fd] = events
            self._put(task)
        if self._soonest <= now:
            self._expire(now)

    def _expire(self, now: int) -> None:
        self._soonest = math.inf
        for task in self._tasks:
            if task.poll is not None and not task.is_queued:
                if task.deadline <= now:
                    self._put(task)
                elif task.deadline < self._soonest:
                    self._soonest = task.deadline


class HubPoll:
    """Waits as `select.poll` does, and lets other tasks go on meanwhile."""

    __slots__ = ("_began", "_hub", "came", "found", "masks", "task")

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._began = 0
        self.masks: dict[int, int] = {}
        #: What the last wait has found, and when it came at the earliest.
        self.found: dict[int, int] = {}
        self.came = 0
        self.task: _Task | None = None

    def register(self, fd: int, events: int, /) -> None:
        """Wait for events of a descriptor from now on."""
        self.masks[fd] = events

    def unregister(self, fd: int, /) -> None:
        """Wait for it no more.  Raises KeyError when it was not registered."""
        del self.masks[fd]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Wait (milliseconds, None for ever); return what is ready, in the order in which
        it was registered."""
        hub = self._hub
        now = self._began = hub.clock()
        hub.wait(self, now, math.inf if timeout is None else now + timeout * 1e6)
        found = self.found
        if not found:
            return []
        self.found = {}
        if len(found) == 1:
            return list(found.items())
        return [(fd, found[fd]) for fd in self.masks if fd in found]

    def seen(self) -> int:
        """Return when what the last wait has found came at the earliest, in nanoseconds:
        at the last look before it, or when the wait began."""
        return max(self.came, self._began)


T = TypeVar("T")


class Mailbox(Generic[T]):
    """Things from task to task, in order; one task takes them."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._poll = hub.new_poll()
        self._things: deque[T] = deque()

    def put(self, thing: T) -> None:
        """Add a thing; does not wait."""
        self._things.append(thing)
        self._hub.wake(self._poll)

    def take(self) -> T:
        """Return the oldest thing, as soon as there is one."""
        while not self._things:
            self._poll.poll()
        return self._things.popleft()
