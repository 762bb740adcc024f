"""The system calls of a move, and when they were made.

The same functions are in `_pipes` where ringmaster has been compiled
(`scripts/compiling.py`); who uses them takes them from `tick`, which chooses.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

#: What asks whether there is input, by descriptor: only the number matters to it.
_asked: dict[int, Callable[[int], list[tuple[int, int]]]] = {}


def has_input(fd: int) -> bool:
    """Whether reading would not block: there is something, or the end, or an error."""
    poll = _asked.get(fd)
    if poll is None:
        asked = select.poll()
        asked.register(fd, select.POLLIN)
        poll = _asked[fd] = asked.poll
    return bool(poll(0))


def hear(stdout: int, size: int) -> tuple[int, bytes | None]:
    """Read once; returns when that was done (`time.monotonic_ns`) and what was read, b"" at
    the end of the stream, None where reading does not block and there is nothing.

    size  bytes at most

    Raises OSError.
    """
    try:
        chunk = os.read(stdout, size)
    except BlockingIOError:
        return time.monotonic_ns(), None
    return time.monotonic_ns(), chunk


def ask(stdin: int, request: bytes, stdout: int, size: int) -> tuple[int, int, int, bytes | None]:
    """Write a request, and read once if it was taken whole.

    Returns when writing began, how many bytes were written (-1 when nobody reads them), and
    what `hear` returns: a time without meaning and None where nothing was read.  Raises
    OSError for what is wrong with reading.
    """
    began = time.monotonic_ns()
    try:
        written = os.write(stdin, request)
    except BlockingIOError:
        written = 0
    except OSError:
        written = -1
    if written != len(request):
        return began, written, 0, None
    seen, chunk = hear(stdout, size)
    return began, written, seen, chunk
