"""How far a simulation is, on standard error."""

from __future__ import annotations

from typing import TextIO


class Meter:
    """Tells of every tenth that is done: in one place of a terminal, else in lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tenths = 0
        self._in_place = stream.isatty()

    def __call__(self, share: float) -> None:
        """Take the share that is done, from 0 to 1."""
        tenths = int(10 * share)
        if tenths <= self._tenths:
            return
        self._tenths = tenths
        text = f"simulated {10 * tenths} %"
        self._stream.write(f"\r{text}" if self._in_place else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Clear the place in the terminal."""
        if self._in_place and self._tenths:
            self._stream.write("\r\033[K")
            self._stream.flush()
