"""Input, output and integer options of the demo engines, and their one loop."""

from __future__ import annotations

import os
import re
import select
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple


class Console:
    """Input and output lines of an engine, on two file descriptors.

    A search polls for input between two nodes (`read_nowait`), so no thread is needed.
    Input is UTF-8, with invalid bytes replaced.
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
        """Wait for the next line; None at the end of input."""
        while not self._lines:
            if self._ended:
                return None
            self._receive()
        return self._lines.popleft()

    def read_nowait(self) -> str | None:
        """Return the next line if it has arrived, else None."""
        while not self._lines and not self._ended and self._poll.poll(0):
            self._receive()
        return self._lines.popleft() if self._lines else None

    @property
    def at_end(self) -> bool:
        """Return whether every line was read and the input has ended."""
        return self._ended and not self._lines

    def unread(self, lines: Iterable[str]) -> None:
        """Put lines back before the next one."""
        self._lines.extendleft(reversed(list(lines)))

    def write(self, lines: Iterable[str]) -> None:
        """Write lines at once."""
        # received text may have control characters
        printable = ("".join(c if c.isprintable() else "?" for c in line) for line in lines)
        data = "".join([f"{line}\n" for line in printable]).encode()
        while data:
            data = data[os.write(self._sink, data) :]

    def _receive(self) -> None:
        received = os.read(self._source, 65536)
        if not received:
            self._ended = True
            # the last line may lack its newline
            received = b"\n" if self._rest else b""
        *lines, self._rest = (self._rest + received).split(b"\n")
        self._lines.extend(line.decode("utf-8", "replace").rstrip("\r") for line in lines)


class Option(NamedTuple):
    """An integer option with its range."""

    name: str
    default: int
    min: int
    max: int


_WORD = (1 << 64) - 1


def noise(values: dict[str, int], key: int) -> int:
    """Return a random number from -Noise to Noise for the key of a position."""
    amount = values["Noise"]
    # the odd multipliers spread neighbouring numbers over the word (Steele et al. 2014)
    mixed = (key ^ values["Seed"] * 0xD1342543DE82EF95) * 0x9E3779B97F4A7C15 & _WORD
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 & _WORD
    return (mixed >> 32) % (2 * amount + 1) - amount


class Engine(ABC):
    """An engine: its console and its options.

    weights  options of the evaluation
    noise    default of Noise: random values up to it are added, a function of position and seed
    """

    def __init__(self, console: Console, weights: tuple[Option, ...], noise: int = 10) -> None:
        self.console = console
        self.weights = weights
        random = (Option("Noise", noise, 0, 1000), Option("Seed", 0, 0, 999_999_999))
        self.options = weights + random
        self.values = {option.name: option.default for option in self.options}
        #: Whether "quit" was received.
        self.quit = False

    @abstractmethod
    def handle(self, line: str) -> list[str]:
        """Carry out one command and return its answer.

        A long search writes lines to the console before it returns the rest.
        """

    def set_option(self, name: str, value: str) -> None:
        """Set an option from text; names ignore case.

        Raises ValueError, and changes nothing then.
        """
        option = next((o for o in self.options if o.name.lower() == name.lower()), None)
        if option is None:
            known = ", ".join(known.name for known in self.options)
            raise ValueError(f"unknown option {name!r}; the options are {known}")
        # int() alone would accept "1_0", and refuse 5,000 digits with another message
        is_integer = re.fullmatch("[+-]?[0-9]{1,20}", value)
        if not (is_integer and option.min <= int(value) <= option.max):
            raise ValueError(
                f"{option.name} must be an integer from {option.min} to {option.max}, not {value!r}"
            )
        self.values[option.name] = int(value)

    def serve(self) -> None:
        """Answer commands until "quit" or the end of input."""
        while not self.quit and (line := self.console.read()) is not None:
            self.console.write(self.handle(line))
