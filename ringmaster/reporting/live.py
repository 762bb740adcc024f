"""What a user sees while games are played.  The contract of a display, and the
displays that need no terminal; the one that redraws a screen is in
`terminal.py`, so that nothing else pays for importing rich.

A display never fails: when its stream is gone (the reader of a pipe has ended,
the terminal has hung up), it falls silent and the games go on.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from ringmaster.reporting.layout import RunningGame, View, describe_progress
from ringmaster.reporting.rate import RateMeter
from ringmaster.reporting.text import printable, sanitise

__all__ = ["Display", "PlainDisplay", "QuietDisplay", "RunningGame", "View", "make_display"]

Clock = Callable[[], float]

#: Seconds between progress lines where nothing is redrawn.
PROGRESS_INTERVAL = 30.0
#: The longest line that a display prints, in columns.
LINE_LIMIT = 400


class Display(ABC):
    """Shows one run of a competition.

    Guarantees: nothing raises because of the stream; text given to it may be
    anything; `update` costs less than a microsecond unless something is due to
    be shown.
    """

    def start(self) -> None:  # noqa: B027 - need not do anything
        """Begin; before this nothing else is called."""

    @abstractmethod
    def update(self, build: Callable[[], View]) -> None:
        """Show the present state, if that is due; only then is `build` called."""

    @abstractmethod
    def results(self, lines: Sequence[str]) -> None:
        """Games have ended, each in a line.  (A display that redraws shows
        `View.results`.)"""

    @abstractmethod
    def message(self, line: str) -> None:
        """Say something that is to stay readable, in one or more lines."""

    @abstractmethod
    def warning(self, line: str) -> None:
        """The same, for what a quiet run must show too."""

    @abstractmethod
    def engine_errors(self, lines: Sequence[str]) -> None:
        """Show lines of the engines' standard error on standard error, also in a quiet run."""

    def next_update(self) -> float | None:
        """Return in how many seconds `update` should be called even if nothing
        happens; None when it need not be."""
        return None

    def suspend(self) -> None:  # noqa: B027 - need not do anything
        """The process is about to be stopped (Ctrl-Z): leave the terminal tidy."""

    def resume(self) -> None:  # noqa: B027 - need not do anything
        """The process goes on."""

    def close(self) -> None:  # noqa: B027 - need not do anything
        """End and leave the terminal as it was; idempotent."""


class LineWriter:
    """Writes whole lines to a text stream until the stream fails."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._broken = False

    def write(self, text: str) -> None:
        """Write `text`, line by line sanitised, and flush."""
        if self._broken:
            return
        lines = [sanitise(line, LINE_LIMIT) for line in text.splitlines()] or [""]
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            self._stream.write(printable("\n".join(lines) + "\n", encoding))
            self._stream.flush()
        except (OSError, ValueError):
            # ValueError: the stream was closed
            self._broken = True


class QuietDisplay(Display):
    """Shows warnings and nothing else."""

    def __init__(self, errors: TextIO) -> None:
        self._errors = LineWriter(errors)

    def update(self, build: Callable[[], View]) -> None:
        pass

    def results(self, lines: Sequence[str]) -> None:
        pass

    def message(self, line: str) -> None:
        pass

    def warning(self, line: str) -> None:
        self._errors.write(line)

    def engine_errors(self, lines: Sequence[str]) -> None:
        _write_all(self._errors, lines)


class PlainDisplay(Display):
    """One line for each result, and a progress line now and then; no control
    codes, so that the output can go to a file or a pipe."""

    def __init__(
        self,
        stream: TextIO,
        errors: TextIO,
        *,
        interval: float = PROGRESS_INTERVAL,
        clock: Clock = time.monotonic,
    ) -> None:
        self._output = LineWriter(stream)
        self._errors = LineWriter(errors)
        self._interval = interval
        self._clock = clock
        self._due = clock() + interval
        self._meter: RateMeter | None = None
        self._shown = -1

    def start(self) -> None:
        self._due = self._clock() + self._interval

    def update(self, build: Callable[[], View]) -> None:
        now = self._clock()
        if now < self._due:
            return
        self._due = now + self._interval
        view = build()
        progress, count = view.progress, view.completed_this_run
        if self._meter is None:
            self._meter = RateMeter(view.started)
        self._meter.sample(now, count)
        if progress.completed == self._shown:
            return
        self._shown = progress.completed
        remaining = None if progress.total is None else progress.total - progress.completed
        estimate = self._meter.estimate(now, count, remaining)
        self._output.write(describe_progress(progress, estimate))

    def next_update(self) -> float | None:
        return max(0.0, self._due - self._clock())

    def results(self, lines: Sequence[str]) -> None:
        if lines:
            self._output.write("\n".join(lines))

    def message(self, line: str) -> None:
        self._output.write(line)

    def warning(self, line: str) -> None:
        self._errors.write(line)

    def engine_errors(self, lines: Sequence[str]) -> None:
        _write_all(self._errors, lines)


def _write_all(writer: LineWriter, lines: Sequence[str]) -> None:
    if lines:
        writer.write("\n".join(lines))


def make_display(
    stream: TextIO,
    quiet: bool,
    *,
    errors: TextIO,
    clock: Clock = time.monotonic,
    environ: Mapping[str, str] = os.environ,
) -> Display:
    """Return the display that suits a stream: quiet when asked for, redrawn on
    a terminal that can move its cursor, plain lines elsewhere."""
    if quiet:
        return QuietDisplay(errors)
    if _is_screen(stream) and environ.get("TERM", "") not in ("", "dumb", "unknown"):
        from ringmaster.reporting.terminal import TerminalDisplay

        # what is redrawn must not be written into
        return TerminalDisplay(stream, clock=clock, errors=None if _is_screen(errors) else errors)
    return PlainDisplay(stream, errors, clock=clock)


def _is_screen(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False
