"""Show a run while games are played: the contract of a display, and displays for files and pipes.

A display never fails.  When its stream is closed (a pipe without a reader, a terminal that hung
up), it stops printing and the games continue.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TextIO

from ringmaster.reporting.progress import (
    DisplayView,
    RateMeter,
    RunningGame,
    describe_progress,
    share_done,
)
from ringmaster.reporting.text import sanitise

__all__ = ["Display", "DisplayView", "PlainDisplay", "QuietDisplay", "RunningGame"]

Clock = Callable[[], float]

#: Seconds between progress lines where nothing is redrawn, and between two looks for a milestone.
PROGRESS_INTERVAL, LOOK = 60.0, 5.0
#: Shares of a run's games with a progress line of their own.
MILESTONES = (0.1, 0.25, 0.5, 0.75, 1.0)
#: The longest line that a display prints, in columns.
LINE_LIMIT = 400


class Display(ABC):
    """Show one run of a competition.

    No method raises because of the stream, and any text is accepted.  `update` takes
    less than a microsecond unless a drawing is due.
    """

    def start(self) -> None:  # noqa: B027 - need not do anything
        """Begin; called before all other methods."""

    @abstractmethod
    def update(self, build: Callable[[], DisplayView]) -> None:
        """Call `build` and show its view, if a drawing is due."""

    @abstractmethod
    def results(self, lines: Sequence[str]) -> None:
        """Show one line for each ended game.  (A terminal shows `DisplayView.results` instead.)"""

    @abstractmethod
    def message(self, line: str) -> None:
        """Show one or more lines that stay on the screen."""

    @abstractmethod
    def warning(self, line: str) -> None:
        """Show one or more lines that stay on the screen, in a quiet run, too."""

    @abstractmethod
    def engine_errors(self, lines: Sequence[str]) -> None:
        """Show lines of the engines' standard error on standard error, also in a quiet run."""

    def next_update(self) -> float | None:
        """Return the seconds until `update` should be called even if no game ends; None: never."""
        return None

    def suspend(self) -> bool:
        """Tidy the terminal before the process stops for Ctrl-Z.

        Return False to stop later: the display sends the signal again after a drawing.
        """
        return True

    def resume(self) -> None:  # noqa: B027 - need not do anything
        """Draw again after the process was continued."""

    def close(self) -> None:  # noqa: B027 - need not do anything
        """End and restore the terminal; idempotent."""


class LineWriter:
    """Write whole lines to a text stream until the stream fails."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._broken = False

    def write(self, text: str) -> None:
        """Write the sanitised lines of `text` and flush."""
        if self._broken:
            return
        # not splitlines: an engine's U+2028 must not begin a line
        lines = [sanitise(line, LINE_LIMIT) for line in text.split("\n")]
        try:
            self._stream.write("\n".join(lines) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # ValueError: the stream is closed
            self._broken = True


class QuietDisplay(Display):
    """Show warnings only."""

    def __init__(self, errors: TextIO) -> None:
        self._errors = LineWriter(errors)

    def update(self, build: Callable[[], DisplayView]) -> None:
        pass

    def results(self, lines: Sequence[str]) -> None:
        pass

    def message(self, line: str) -> None:
        pass

    def warning(self, line: str) -> None:
        self._errors.write(line)

    def engine_errors(self, lines: Sequence[str]) -> None:
        if lines:
            self._errors.write("\n".join(lines))


class PlainDisplay(QuietDisplay):
    """Print warnings, and a progress line now and then, without control codes.

    A line comes once an interval, at each of MILESTONES, and when a closing match begins.

    log_games  whether to print a line for each result, too
    """

    def __init__(
        self,
        stream: TextIO,
        errors: TextIO,
        *,
        log_games: bool = False,
        interval: float = PROGRESS_INTERVAL,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__(errors)
        self._output = LineWriter(stream)
        self._log_games = log_games
        self._interval = interval
        self._clock = clock
        self._due = clock() + interval
        self._next_look = 0.0
        self._meter = RateMeter()
        self._shown = -1
        #: Milestones passed, and whether the closing match is played.
        self._stage: tuple[int, bool] | None = None

    def start(self) -> None:
        self._due = self._clock() + self._interval

    def update(self, build: Callable[[], DisplayView]) -> None:
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + min(LOOK, self._interval)
        view = build()
        estimate = self._meter.measure(view, now)
        share = share_done(view) or 0.0
        is_closing = view.progress.phase == "closing match"
        stage = (sum(share >= m for m in MILESTONES), is_closing)
        is_new_stage = self._stage is not None and stage != self._stage
        self._stage = stage
        if now < self._due and not is_new_stage:
            return
        self._due = now + self._interval
        if view.progress.completed != self._shown:
            self._shown = view.progress.completed
            parts = filter(None, (describe_progress(view, estimate), view.verdict))
            self._output.write("  ".join(parts))

    def next_update(self) -> float | None:
        return max(0.0, self._next_look - self._clock())

    def results(self, lines: Sequence[str]) -> None:
        if lines and self._log_games:
            self._output.write("\n".join(lines))

    def message(self, line: str) -> None:
        self._output.write(line)
