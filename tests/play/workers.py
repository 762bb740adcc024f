"""A worker in the process of the test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ringmaster.play.worker import Worker
from tests.processes import under


@contextmanager
def one_worker(engines: str = "tests/engines", *, slot: int = 0, **setup: Any) -> Iterator[Worker]:
    """A worker that leaves no process behind.

    engines  a text in the command lines of its engines
    """
    read_fd, write_fd = os.pipe()
    new_worker = Worker(
        SimpleNamespace(slot=slot, control_fd=read_fd, reaper_fd=None, setup=setup, say=print)
    )
    yield new_worker
    new_worker.close()
    os.close(read_fd)
    os.close(write_fd)
    assert under(engines) == []
