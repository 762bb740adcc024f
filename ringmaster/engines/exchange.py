"""What is asked of an engine, without input or output.

An exchange is one request and its answer, a stream many requests that may be written ahead
of their answers.  Both know a protocol: they have the bytes of requests and are fed the lines
of answers.  `Channel` carries them out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Exchange(ABC):
    """One request and its answer, without input or output."""

    #: What is written; empty when the exchange only listens.
    request: bytes = b""

    @abstractmethod
    def feed(self, line: bytes) -> bool:
        """Take one line (without its end); returns True when the answer is
        complete.  Raises EngineProtocolError for a line that cannot be."""

    def take(self, lines: bytes) -> bytes | None:
        """Take whole lines, each with its end; returns what stands behind the
        answer when it is complete, else None.  Raises as `feed` does.

        It does what feeding the lines one by one does, and may do it faster.
        """
        at = 0
        while at < len(lines):
            end = lines.index(b"\n", at)
            if self.feed(lines[at:end]):
                return lines[end + 1 :]
            at = end + 1
        return None

    def describe(self) -> str:
        """Return the request as a message quotes it."""
        return quoted(self.request)


@mypyc_attr(allow_interpreted_subclasses=True)
class Stream(ABC):
    """Many requests that may be written ahead of their answers, without input or
    output; see `Channel.stream`."""

    #: How many answers are complete.
    done: int = 0
    #: How many answers may well pile up before they are read.
    slack: int = 0

    @abstractmethod
    def begin(self) -> bytes:
        """Return what is written first."""

    @abstractmethod
    def take(self, lines: bytes) -> bytes | None:
        """Take whole lines, each with its end; returns what is to be written now (b""
        for nothing), None when all is answered.  Raises EngineProtocolError."""


class Transcript(Protocol):
    """Where the traffic of an engine is written down."""

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Write down lines; direction is ">" (to the engine), "<" or "!"
        (standard error)."""


def quoted(request: bytes) -> str:
    """Return the last line of a request as a message quotes it."""
    text = request.rstrip(b"\n").rpartition(b"\n")[2].decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:59] + "…") if text else "nothing"
