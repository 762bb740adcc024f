"""How a process waits: the one place that everything which blocks during a job asks.

Left alone it is the system's own `poll` and `sleep`.  In a process that carries out
many jobs at a time it is a `hub`, and whoever waits lets the other jobs go on.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ringmaster.waiting.hub import Hub


class Poll(Protocol):
    """What `select.poll` returns, as far as it is used.

    A descriptor is only ever waited for with the same events.
    """

    def register(self, fd: int, events: int, /) -> None:
        """Wait for events of a descriptor from now on."""

    def unregister(self, fd: int, /) -> None:
        """Wait for it no more.  Raises KeyError when it was not registered."""

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Wait for at most `timeout` milliseconds (None: for ever); return the descriptors
        that are ready, with their events."""


_hub: Hub | None = None


@contextmanager
def by(hub: Hub) -> Iterator[None]:
    """Have everybody in this process wait by a hub."""
    global _hub
    before, _hub = _hub, hub
    try:
        yield
    finally:
        _hub = before


def new_poll() -> Poll:
    """Return something to wait for descriptors with."""
    return select.poll() if _hub is None else _hub.new_poll()


def seen_by(poll: Poll, clock: Callable[[], int]) -> Callable[[], int]:
    """Return what tells, right after the read that a wait has led to, when there was
    something to read, in nanoseconds of `clock`.

    That is now, unless this process did something else when it came.
    """
    return getattr(poll, "seen", clock)


def sleep(seconds: float) -> None:
    """Do nothing for some time."""
    if _hub is None:
        time.sleep(seconds)
    else:
        _hub.new_poll().poll(seconds * 1000)


def forget(fd: int) -> None:
    """Prepare for the end of a descriptor that has been waited for: to be called before
    it is closed, as its number may soon be another's."""
    if _hub is not None:
        _hub.forget(fd)
