"""Bounds of a command's processor time and memory in safe mode.

The evaluator bounds what the control file computes.  The settings' own work on its values, such
as a function for 100,000 splits or a format of 3,000,000,000 columns, is bounded here.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

#: Seconds of processor time.
MOST_SECONDS: Final = 120
#: MB of memory for data, beyond those at the beginning.  Linux only: macOS ignores such limits.
MOST_MEGABYTES: Final = 512

_bounds: ExitStack | None = None


class OutOfBounds(BaseException):
    """The command takes too much; no handler of a control file's exceptions may stop it."""

    def __init__(self, bound: str) -> None:
        super().__init__(f"the command takes more than {bound}, the most with --safe")


@contextmanager
def bounds() -> Iterator[None]:
    """Bound the block, up to `lift`.  In other bounds or a thread there are no new ones.

    Raises OutOfBounds.
    """
    global _bounds
    is_outermost = _bounds is None and threading.current_thread() is threading.main_thread()
    if is_outermost:
        _bounds = ExitStack()
        _set(_bounds)
    try:
        yield
    except MemoryError:
        if _bounds is None:
            raise
        raise OutOfBounds(f"{MOST_MEGABYTES} MB of memory") from None
    finally:
        if is_outermost:
            lift()


def lift() -> None:
    """Remove the bounds.  Engines would inherit them, and a run may take days."""
    global _bounds
    if _bounds is not None:
        _bounds.close()
        _bounds = None


def _set(stack: ExitStack) -> None:
    if "OMP_NUM_THREADS" not in os.environ:
        # OpenBLAS takes 40 MB for each of 64 CPUs when it is loaded
        os.environ["OMP_NUM_THREADS"] = "1"
        stack.callback(os.environ.pop, "OMP_NUM_THREADS", None)
    if sys.platform == "linux":
        former = resource.getrlimit(resource.RLIMIT_DATA)
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        most = pages * resource.getpagesize() + MOST_MEGABYTES * 2**20
        if former[0] == resource.RLIM_INFINITY or most < former[0]:
            resource.setrlimit(resource.RLIMIT_DATA, (most, former[1]))
            stack.callback(resource.setrlimit, resource.RLIMIT_DATA, former)
    stack.callback(signal.signal, signal.SIGPROF, signal.signal(signal.SIGPROF, _end))
    # again after each second, if the exception is lost in a destructor
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS, 1.0)
    stack.callback(signal.setitimer, signal.ITIMER_PROF, 0.0)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise OutOfBounds(f"{MOST_SECONDS} seconds of processor time")
