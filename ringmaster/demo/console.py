"""Lines in and out of a demo engine, on the raw descriptors of its process.

A search asks, between two nodes, for lines that have arrived (`read_nowait`);
no thread is needed for that, and a move costs one read and one write.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Iterable
from typing import Protocol

# A game of 5,000 moves in one "position" line has 25,000 characters.
_MAX_LINE = 1_000_000


class Console(Protocol):
    """Where an engine's lines come from and go to."""

    def read(self) -> str | None:
        """Return the next line, waiting for it; None at the end of input."""
        ...

    def read_nowait(self) -> str | None:
        """Return the next line if it is there, else None; never waits."""
        ...

    @property
    def at_end(self) -> bool:
        """Whether the input has ended and every line was read."""
        ...

    def unread(self, lines: Iterable[str]) -> None:
        """Put lines back, to be read first."""
        ...

    def write(self, lines: Iterable[str]) -> None:
        """Write lines at once."""
        ...


class Served(Protocol):
    """An engine as `serve` sees it."""

    console: Console
    quit: bool

    def handle(self, line: str) -> list[str]:
        """Take a line and return the lines that answer it."""
        ...


def serve(engine: Served) -> None:
    """Pass lines between an engine and its console until it has quit, or the
    input has ended."""
    while not engine.quit:
        line = engine.console.read()
        if line is None:
            return
        answer = engine.handle(line)
        if answer:
            engine.console.write(answer)


class ProcessConsole:
    """A Console on two file descriptors.

    Input is taken as UTF-8 with anything else replaced; what exceeds a million
    characters in one line is dropped.
    """

    def __init__(self, source: int = 0, sink: int = 1) -> None:
        self._source = source
        self._sink = sink
        self._lines: deque[str] = deque()
        self._rest = b""
        self._ended = False
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN | select.POLLHUP)

    def read(self) -> str | None:
        while not self._lines:
            if self._ended:
                return None
            self._receive()
        return self._lines.popleft()

    def read_nowait(self) -> str | None:
        while not self._lines and not self._ended and self._poll.poll(0):
            self._receive()
        return self._lines.popleft() if self._lines else None

    @property
    def at_end(self) -> bool:
        return self._ended and not self._lines

    def unread(self, lines: Iterable[str]) -> None:
        self._lines.extendleft(reversed(list(lines)))

    def write(self, lines: Iterable[str]) -> None:
        data = "".join([f"{line}\n" for line in lines]).encode()
        while data:
            data = data[os.write(self._sink, data) :]

    def _receive(self) -> None:
        received = os.read(self._source, 65536)
        if not received:
            self._ended = True
            # A last line may lack its newline.
            received = b"\n" if self._rest else b""
        *lines, self._rest = (self._rest + received).split(b"\n")
        self._rest = self._rest[:_MAX_LINE]
        self._lines.extend(line.decode("utf-8", "replace").rstrip("\r") for line in lines)
