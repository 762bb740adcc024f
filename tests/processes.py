"""The processes under a process, by their commands; waiting for what others do."""

from __future__ import annotations

import gc
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import psutil

#: Seconds until a test gives up what it waits for: no machine is so busy.  Processes that must
#: be killed live longer by themselves.
LONG = 90.0


def await_that(
    is_so: Callable[[], bool],
    run: subprocess.Popen[Any] | None = None,
    said: Callable[[], str] = lambda: "",
) -> None:
    """Wait until something is so, which nothing announces.

    run   a process that must not end before
    said  the reason for a failure
    """
    deadline = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < deadline, said()
        if run is None:
            time.sleep(0.01)
            continue
        with suppress(subprocess.TimeoutExpired):
            run.wait(0.01)
            assert is_so(), f"the run has ended: {said()}"
            return


def open_files() -> set[tuple[str, str]]:
    """Return the descriptors of this process with their files.

    Those that are not there later, garbage of earlier tests may have closed.
    """
    gc.collect()
    files = set()
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the listing
            files.add((fd, os.readlink(f"/proc/self/fd/{fd}")))
    return files


def under(*texts: str, parent: int | None = None) -> list[psutil.Process]:
    """Return the processes under one, by default this one, with a text in their command.

    A process that ends meanwhile has no command, and is not among them.
    """
    return commanded(psutil.Process(parent).children(recursive=True), *texts)


def commanded(processes: Iterable[psutil.Process], *texts: str) -> list[psutil.Process]:
    """Return those of some processes that live and have one of some texts in their command."""
    found = []
    for process in processes:
        with suppress(psutil.Error):
            command = " ".join(process.cmdline())
            if any(text in command for text in texts):
                found.append(process)
    return found
