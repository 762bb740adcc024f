"""Show a run on a terminal, redrawn in place; `make_display` chooses the display."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from ringmaster.reporting.layout import Line, compose
from ringmaster.reporting.live import Clock, Display, PlainDisplay, Writer
from ringmaster.reporting.outlet import outlet_of, terminal_size
from ringmaster.reporting.progress import DisplayView, RateEstimate, RateMeter, describe_progress
from ringmaster.reporting.text import folded, lines_of

#: The least number of seconds between two drawings.
INTERVAL = 0.125
#: The greatest number of seconds: durations change while no game ends.
LONGEST = 1.0
#: A drawing follows another after this many times the duration of the latter.
PAUSE = 20
#: Messages among the last RECENT are shown for SHOWN seconds.
RECENT, SHOWN = 3, 60.0
# Messages stored for the normal screen.
_MESSAGES = 1000
# A smaller size that a terminal reports is wrong or useless.
_LEAST_COLUMNS, _LEAST_ROWS = 10, 2
# Seconds that Ctrl-Z waits for a terminal that does not read.
_PATIENCE = 1.0

# DEC private modes: synchronised update (2026), alternate screen (1049), cursor (25),
# automatic wrap (7).  Terminals without a mode ignore it.
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
# Erased first: a terminal without an alternate screen keeps the lines, and tmux moves them to the
# history of a window that has grown.
_LEAVE = "\x1b[H\x1b[2J\x1b[?7h\x1b[?25h\x1b[?1049l"
_RESET = "\x1b[0m"
_STYLES = {"verdict": "\x1b[1m", "dim": "\x1b[2m", "warning": "\x1b[33m"}
_LIT, _UNLIT = "\x1b[32m", "\x1b[90m"


class TerminalDisplay(Display):
    """Redraw the alternate screen; leave the messages on the normal one.

    A process in the background draws nothing, and a terminal that does not read (Ctrl-S)
    misses drawings: the games do not wait.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        clock: Clock = time.monotonic,
        size: Callable[[], tuple[int, int]] | None = None,
        errors: TextIO | None = None,
        colours: bool = True,
    ) -> None:
        """size    returns (columns, rows); None: the size of the stream's terminal
        errors  receives the engines' standard error; None: the terminal"""
        self._screen = Screen(stream)
        self._error_log = None if errors is None else Writer(errors)
        self._clock = clock
        self._size = size or (lambda: terminal_size(stream))
        self._colours = colours
        self._due = 0.0
        self._drawn = 0.0
        self._wanted = False
        self._is_active = False
        self._is_drawing = False
        #: Whether Ctrl-Z came during a drawing.
        self._stops_next = False
        self._last_size = (0, 0)
        self._last: tuple[DisplayView, RateEstimate] | None = None
        #: Messages that the normal screen lacks.
        self._unprinted: deque[tuple[str, str]] = deque(maxlen=_MESSAGES)
        #: Messages on the display, with their times.
        self._recent: deque[tuple[float, str]] = deque(maxlen=RECENT)
        self._meter = RateMeter()

    def update(self, build: Callable[[], DisplayView]) -> None:
        now = self._clock()
        if now < self._due:
            self._wanted = True
            return
        self._due = now + INTERVAL
        self._drawn = now
        self._wanted = False
        if not self._screen.is_ours() or not self._screen.is_ready():
            return
        view = build()
        self._last = view, self._meter.measure(view, now)
        while self._recent and now - self._recent[0][0] > SHOWN:
            self._recent.popleft()
        columns, rows = self._size()
        columns, rows = max(columns, _LEAST_COLUMNS), max(rows, _LEAST_ROWS)
        messages = [text for _, text in self._recent]
        lines = compose(*self._last, now, columns, rows, messages)
        self._is_drawing = True
        try:
            self._draw(lines, columns, rows)
        finally:
            self._is_drawing = False
        self._due += PAUSE * (self._clock() - now)
        if self._stops_next:
            self._stops_next = False
            os.kill(os.getpid(), signal.SIGTSTP)

    def next_update(self) -> float | None:
        due = self._due if self._wanted else self._drawn + LONGEST
        return max(0.0, due - self._clock())

    def message(self, line: str) -> None:
        self._add(line, "")
        self._recent.append((self._clock(), line))
        self._wanted = True

    def warning(self, line: str) -> None:
        self._add(line, "warning")
        self._wanted = True

    def engine_errors(self, lines: Sequence[str]) -> None:
        if self._error_log is None:
            for line in lines:
                self._add(line, "dim")
                self._recent.append((self._clock(), line))
                self._wanted = True
        elif lines:
            self._error_log.write_lines("\n".join(lines))

    def _add(self, text: str, style: str) -> None:
        self._unprinted.append((text, style))
        if not self._is_active and self._screen.is_ours():
            self._print("")

    def suspend(self) -> bool:
        if self._is_drawing:
            self._stops_next = True
            return False
        if self._is_active:
            assert self._last is not None
            view, estimate = self._last
            texts = filter(None, (describe_progress(view, estimate), view.verdict))
            self._unprinted.append(("\n".join(texts), ""))
            self._leave()
            self._screen.settle()
        return True

    def resume(self) -> None:
        self._due = 0.0

    def close(self) -> None:
        if self._is_active:
            self._leave()
        elif self._unprinted:
            self._print("")

    def _leave(self) -> None:
        """Show the normal screen, with the messages it lacks."""
        self._is_active = False
        self._print(_LEAVE)

    def _print(self, control: str) -> None:
        """Print all messages on the normal screen after a control sequence."""
        columns, _ = self._size()
        lines = []
        while self._unprinted:
            text, style = self._unprinted.popleft()
            lines += [
                self._styled(line, style) + "\r\n" for line in folded(lines_of(text), columns)
            ]
        self._screen.write(control + "".join(lines))

    def _draw(self, lines: list[Line], columns: int, rows: int) -> None:
        parts = [_BEGIN]
        if not self._is_active:
            parts.append(_ENTER)
        elif self._last_size != (columns, rows):
            # the terminal may have moved the old lines
            parts.append("\x1b[2J")
        self._is_active = True
        self._last_size = (columns, rows)
        parts.append("\x1b[H")
        # each line is erased before it is written: the cursor may stay on its last character
        parts.append("\r\n".join("\x1b[2K" + self._render(line) for line in lines))
        if len(lines) < rows:
            parts.append("\r\n\x1b[J")
        self._screen.write("".join([*parts, _END]))

    def _render(self, line: Line) -> str:
        if line.style == "bar" and self._colours:
            length = len(line.text) - len(line.text.lstrip("━"))
            lit, unlit = line.text[: line.filled], line.text[line.filled : length]
            text = f"{_LIT}{lit}{_UNLIT}{unlit}{_RESET}{line.text[length:]}"
        elif line.style == "bar":
            text = line.text.replace("━", "─").replace("─", "━", line.filled)
        else:
            text = self._styled(line.text, line.style)
        return text if line.beside is None else text + self._render(line.beside)

    def _styled(self, text: str, style: str) -> str:
        code = _STYLES.get(style, "")
        if not code or (style == "warning" and not self._colours):
            return text
        return f"{code}{text}{_RESET}"


class Screen(Writer):
    """A terminal's output.  A closed terminal is no error."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._outlet = outlet_of(stream)

    def is_ready(self) -> bool:
        """Return whether everything has been written."""
        return self._is_open() and (self._outlet is None or self._outlet.is_settled())

    def settle(self) -> None:
        """Give the terminal a moment to read everything."""
        if self._outlet is not None:
            self._outlet.settle(_PATIENCE)

    def _is_open(self) -> bool:
        return not self.is_broken and (self._outlet is None or self._outlet.failure is None)

    def is_ours(self) -> bool:
        """Return whether the process is in the foreground of an open terminal."""
        if not self._is_open():
            return False
        try:
            return os.tcgetpgrp(self.stream.fileno()) == os.getpgrp()
        except (OSError, ValueError, AttributeError):
            # not the controlling terminal: no job control
            return True


def make_display(
    stream: TextIO,
    quiet: bool,
    *,
    errors: TextIO,
    log_games: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Display:
    """Return a quiet display, one that redraws a terminal, or one that prints plain lines.

    log_games  whether plain lines include one for each game
    """
    if quiet:
        return Display(errors)
    if stream.isatty() and environ.get("TERM", "") not in ("", "dumb", "unknown"):
        return TerminalDisplay(
            stream,
            # a line of an engine would spoil the drawing
            errors=None if errors.isatty() else errors,
            colours=not environ.get("NO_COLOR"),
        )
    return PlainDisplay(stream, errors, log_games=log_games)
