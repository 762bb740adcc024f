"""Waiting for processes that are not ours to end, without sleeping."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable
from types import TracebackType


class Watched:
    """Processes held by pidfd: readable when a process has ended, even one that
    nobody has waited for, and never mistaken for another of the same number."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._fds = {os.pidfd_open(pid): pid for pid in pids}

    def __enter__(self) -> Watched:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        for fd in self._fds:
            os.close(fd)

    def alive(self, seconds: float = 0.0) -> list[int]:
        """Wait until all have ended; return those that have not in time."""
        deadline = time.monotonic() + seconds
        left = dict(self._fds)
        while left:
            poll = select.poll()
            for fd in left:
                poll.register(fd, select.POLLIN)
            ready = poll.poll(max(0.0, (deadline - time.monotonic()) * 1000))
            if not ready:
                break
            for fd, _ in ready:
                del left[fd]
        return list(left.values())
