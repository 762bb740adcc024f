"""The processes under a process, by their commands."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import psutil


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
