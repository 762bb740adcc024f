"""Input and output of the demo engines, and their integer options.

A search polls for input between two nodes (`read_nowait`), so no thread is needed.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, Protocol

# A game of 5,000 moves in one "position" line has 25,000 characters.
_MAX_LINE = 1_000_000


class Console(Protocol):
    """Input and output lines of an engine."""

    def read(self) -> str | None:
        """Wait for the next line; None at the end of input."""
        ...

    def read_nowait(self) -> str | None:
        """Return the next line if it has arrived, else None."""
        ...

    @property
    def at_end(self) -> bool:
        """Whether every line was read and the input has ended."""
        ...

    def unread(self, lines: Iterable[str]) -> None:
        """Put lines back before the next one."""
        ...

    def write(self, lines: Iterable[str]) -> None:
        """Write lines at once."""
        ...


class Engine(Protocol):
    """An engine that `serve` connects to its console."""

    console: Console
    options: Options
    quit: bool

    def handle(self, line: str) -> list[str]:
        """Carry out one line and return the answer."""
        ...


def serve(engine: Engine) -> None:
    """Run an engine until "quit" or the end of input."""
    while not engine.quit:
        line = engine.console.read()
        if line is None:
            return
        answer = engine.handle(line)
        if answer:
            engine.console.write(answer)


class ProcessConsole:
    """A Console on two file descriptors.

    Input is UTF-8, with invalid bytes replaced.  The rest of a line after a million
    characters is dropped.
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
            # the last line may lack its newline
            received = b"\n" if self._rest else b""
        *lines, self._rest = (self._rest + received).split(b"\n")
        self._rest = self._rest[:_MAX_LINE]
        self._lines.extend(line.decode("utf-8", "replace").rstrip("\r") for line in lines)


class Option(NamedTuple):
    """An integer option with its range."""

    name: str
    default: int
    min: int
    max: int


class OptionError(ValueError):
    """Error of an unknown option or a value outside its range."""


class Options:
    """Values of a table of options; names ignore case."""

    def __init__(self, table: Iterable[Option]) -> None:
        self.table = tuple(table)
        self.values = {option.name: option.default for option in self.table}
        self._by_name = {option.name.lower(): option for option in self.table}

    def set(self, name: str, value: str) -> Option:
        """Set an option from text.  Raises OptionError, and changes nothing then."""
        option = self._by_name.get(name.lower())
        if option is None:
            known = ", ".join(known.name for known in self.table)
            raise OptionError(f"unknown option {name!r}; the options are {known}")
        # int() alone would accept "1_0", and refuse 5,000 digits with another message
        digits = value[1:] if value[:1] in ("+", "-") else value
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
            raise OptionError(
                f"{option.name} must be an integer from {option.min} to {option.max}, not {value!r}"
            )
        if not option.min <= int(value) <= option.max:
            raise OptionError(
                f"{option.name} must lie in {option.min} to {option.max}, not {value}"
            )
        self.values[option.name] = int(value)
        return option
