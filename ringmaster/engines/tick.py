"""Reading from an engine without asking first whether it has said anything.

A referee that waits with `poll` and then reads pays for both on every move, a good third
of what the kernel charges it for a move of an instant engine.  A read that blocks costs
less, but knows no deadline and listens to nobody else.  So it is only begun here: a timer
ticks, and at the second tick that one read lasts the descriptor is made non-blocking,
whereupon the read, which the signal has interrupted and Python tries again (PEP 475), gives
up.  The caller then waits as it would have from the start.  A tick that comes just before
the read blocks is noticed at the next one; nothing is ever thrown out of the handler, so no
byte is lost.  Between moves of a millisecond a read is hardly ever given up.

It takes the process's alarm signal and its main thread, so it is for worker processes
that play one game at a time, and has to be started.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Final

try:
    from ringmaster.engines._pipes import ask, has_input, hear
except ImportError:
    from ringmaster.engines.pipes import ask, has_input, hear

__all__ = ["PERIOD", "Tick", "has_input", "running", "start", "stop"]

#: Seconds between two ticks; a read is given up after one of them at least and three at most.
PERIOD: Final = 0.02


class Tick:
    """The timer and the read that it may interrupt."""

    def __init__(self) -> None:
        """Take SIGALRM.  Raises ValueError outside of the main thread."""
        self._fd = -1
        #: Whether the read has not seen a tick yet.
        self._is_fresh = False
        self._runs = False
        signal.signal(signal.SIGALRM, self._come)

    def ask(
        self, stdin: int, request: bytes, stdout: int, size: int
    ) -> tuple[int, int, int, bytes | None]:
        """Write a request and read from a descriptor that blocks; see `pipes.ask`.

        What was read is None as well when there has been nothing for one `PERIOD` to three.
        """
        self._begin(stdout)
        chunk = None
        try:
            began, written, seen, chunk = ask(stdin, request, stdout, size)
            return began, written, seen, chunk
        finally:
            self._end(stdout, chunk)

    def hear(self, stdout: int, size: int) -> tuple[int, bytes | None]:
        """Only read, otherwise as `ask`."""
        self._begin(stdout)
        chunk = None
        try:
            seen, chunk = hear(stdout, size)
            return seen, chunk
        finally:
            self._end(stdout, chunk)

    def _begin(self, fd: int) -> None:
        # in this order: a tick in between finds the descriptor, or is followed by others
        self._is_fresh = True
        self._fd = fd
        if not self._runs:
            self._runs = True
            signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)

    def _end(self, fd: int, chunk: bytes | None) -> None:
        self._fd = -1
        if chunk is None:
            os.set_blocking(fd, True)

    def _come(self, _number: int, _frame: FrameType | None) -> None:
        if self._fd >= 0:
            if self._is_fresh:
                self._is_fresh = False
                return
            os.set_blocking(self._fd, False)
        # whoever reads next starts it again: a process that waits for long is left alone
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._runs = False

    def stop(self) -> None:
        """Let the alarm signal go."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


_tick: Tick | None = None


def start() -> None:
    """Let the engines of this process be read so from now on; idempotent.  Raises
    ValueError outside of the main thread."""
    global _tick
    if _tick is None:
        _tick = Tick()


def stop() -> None:
    """End what `start` began; idempotent."""
    global _tick
    if _tick is not None:
        _tick.stop()
        _tick = None


def running() -> Tick | None:
    """Return what engines are read with, None when they are waited for instead."""
    return _tick
