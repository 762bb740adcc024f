"""What is read of a file that is written meanwhile is read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ringmaster.errors import StoreChanged

T = TypeVar("T")

#: Times something is read before a file is held to change all the time.
TRIES = 10


def settled(read: Callable[[], T]) -> T:
    """Return what `read` returns, calling it again as long as it raises StoreChanged:
    each time a run has begun and written, or ended, while a status file was read.

    Raises StoreChanged, after ten times.
    """
    for _ in range(TRIES - 1):
        try:
            return read()
        except StoreChanged:
            continue
    return read()
