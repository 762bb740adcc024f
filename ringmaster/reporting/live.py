"""Show a run while games are played: the contract of a display, and displays for files and pipes.

A display never fails.  When its stream is closed (a pipe without a reader, a terminal that hung
up), it stops printing and the games continue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TextIO

from ringmaster.reporting.progress import DisplayView, RateMeter, describe_progress
from ringmaster.reporting.text import lines_of

Clock = Callable[[], float]

#: Seconds between progress lines where nothing is redrawn, and between two looks for a milestone.
PROGRESS_INTERVAL, LOOK = 60.0, 5.0
#: Shares of a run's games with a progress line of their own.
MILESTONES = (0.1, 0.25, 0.5, 0.75, 1.0)


class Writer:
    """Write to a text stream until the stream fails, such as a pipe without a reader."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_broken = False

    def write(self, text: str) -> None:
        """Write text and flush."""
        if self.is_broken:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            # ValueError: the stream is closed
            self.is_broken = True

    def write_lines(self, text: str) -> None:
        """Write the lines of a text, safe to print."""
        self.write("\n".join(lines_of(text)) + "\n")


class Display:
    """Show one run of a competition: its warnings only.

    No method raises because of the stream, and any text is accepted.  `update` takes
    less than a microsecond unless a drawing is due.
    """

    def __init__(self, errors: TextIO) -> None:
        self._errors = Writer(errors)

    def warning(self, line: str) -> None:
        """Show one or more lines that stay on the screen, in a quiet run, too."""
        self._errors.write_lines(line)

    def engine_errors(self, lines: Sequence[str]) -> None:
        """Show lines of the engines' standard error on standard error, also in a quiet run."""
        if lines:
            self._errors.write_lines("\n".join(lines))

    def update(self, build: Callable[[], DisplayView]) -> None:
        """Call `build` and show its view, if a drawing is due."""

    def results(self, lines: Sequence[str]) -> None:
        """Show one line for each ended game.  (A terminal shows `DisplayView.results` instead.)"""

    def message(self, line: str) -> None:
        """Show one or more lines that stay on the screen."""

    def next_update(self) -> float | None:
        """Return the seconds until `update` should be called even if no game ends; None: never."""
        return None

    def suspend(self) -> bool:
        """Tidy the terminal before the process stops for Ctrl-Z.

        Return False to stop later: the display sends the signal again after a drawing.
        """
        return True

    def resume(self) -> None:
        """Draw again after the process was continued."""

    def close(self) -> None:
        """End and restore the terminal; idempotent."""


class PlainDisplay(Display):
    """Print warnings, and a progress line now and then, without control codes.

    A line comes once a minute, at each of MILESTONES, and when a closing match begins.

    log_games  whether to print a line for each result, too
    """

    def __init__(
        self,
        stream: TextIO,
        errors: TextIO,
        *,
        log_games: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__(errors)
        self._output = Writer(stream)
        self._log_games = log_games
        self._clock = clock
        self._due = clock() + PROGRESS_INTERVAL
        self._next_look = 0.0
        self._meter = RateMeter()
        self._shown = -1
        #: Milestones passed, and whether the closing match is played.
        self._stage: tuple[int, bool] | None = None

    def update(self, build: Callable[[], DisplayView]) -> None:
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + LOOK
        view = build()
        estimate = self._meter.measure(view, now)
        share = view.share or 0.0
        is_closing = view.progress.phase == "closing match"
        stage = (sum(share >= m for m in MILESTONES), is_closing)
        is_new_stage = self._stage is not None and stage != self._stage
        self._stage = stage
        if now < self._due and not is_new_stage:
            return
        self._due = now + PROGRESS_INTERVAL
        if view.progress.completed != self._shown:
            self._shown = view.progress.completed
            parts = filter(None, (describe_progress(view, estimate), view.verdict))
            self._output.write_lines("  ".join(parts))

    def next_update(self) -> float | None:
        return max(0.0, self._next_look - self._clock())

    def results(self, lines: Sequence[str]) -> None:
        if lines and self._log_games:
            self._output.write_lines("\n".join(lines))

    def message(self, line: str) -> None:
        self._output.write_lines(line)
