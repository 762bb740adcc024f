"""Drives a test engine over pipes; every read has a deadline."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

ENGINES = Path(__file__).parents[1] / "engines"
DEADLINE = 20.0


class Driver:
    """A running engine; a context manager that kills it at the end."""

    def __init__(self, program: str, *flags: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(ENGINES / program), *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._out = self.process.stdout.fileno()
        self._err = self.process.stderr.fileno()

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(DEADLINE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def send(self, *lines: str) -> None:
        """Send commands."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def close_input(self) -> None:
        """End the engine's input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def read(self, until: bytes, *, errors: bool = False) -> bytes:
        """Return output up to and including `until`; fails at the deadline, and at
        the end of the output."""
        data = b""
        while not data.endswith(until):
            byte = self.chunk(1, errors=errors)
            assert byte, f"{until!r} never came, but {data[-2000:]!r}"
            data += byte
        return data

    def chunk(self, size: int = 1 << 16, *, errors: bool = False) -> bytes:
        """Return some output, b"" at its end; fails at the deadline."""
        fd = self._err if errors else self._out
        assert select.select([fd], [], [], DEADLINE)[0], "nothing came"
        return os.read(fd, size)

    def rest(self) -> bytes:
        """Return all output up to its end."""
        data = b""
        while chunk := self.chunk():
            data += chunk
        return data

    def is_silent(self, seconds: float = 0.1) -> bool:
        """Whether nothing comes for a while."""
        return not select.select([self._out], [], [], seconds)[0]

    def status(self) -> int:
        """Wait for the end and return the exit status, -N for signal N."""
        return self.process.wait(DEADLINE)

    def ask(self, *lines: str, until: bytes = b"\n") -> str:
        """Send commands and return the output up to `until`, without the end."""
        self.send(*lines)
        return self.read(until).removesuffix(until).decode()

    def is_alive(self) -> bool:
        return self.process.poll() is None


def milliseconds(started: float) -> float:
    return 1000 * (time.monotonic() - started)
