"""Show a run on a terminal, redrawn in place by rich; `make_display` chooses the display."""

from __future__ import annotations

import io
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, TextIO, cast

from ringmaster.reporting.layout import DisplayView, Line, RateMeter, compose
from ringmaster.reporting.live import (
    LINE_LIMIT,
    Clock,
    Display,
    LineWriter,
    PlainDisplay,
    QuietDisplay,
)
from ringmaster.reporting.text import printable, sanitise

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

#: The least number of seconds between two drawings.
INTERVAL = 0.125
#: The greatest number of seconds: durations change while no game ends.
LONGEST = 1.0
# Messages stored while the process is in the background.
_MESSAGES = 1000
# A smaller size that a terminal reports is wrong or useless.
_LEAST_COLUMNS, _LEAST_ROWS = 10, 2

_STYLES = {"": "", "heading": "bold", "bar": "", "dim": "dim", "warning": "yellow"}


class TerminalDisplay(Display):
    """Redraw a screenful in place; messages scroll away above it.

    A process in the background draws nothing.  `close` removes the screenful.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        clock: Clock = time.monotonic,
        size: Callable[[], tuple[int, int]] | None = None,
        errors: TextIO | None = None,
    ) -> None:
        """size    returns (columns, rows); None: the size of the stream's terminal
        errors  receives the engines' standard error; None: the terminal"""
        self._screen = Screen(stream)
        self._errors = None if errors is None else LineWriter(errors)
        self._clock = clock
        self._size = size or self._terminal_size
        self._due = 0.0
        self._drawn = 0.0
        self._wanted = False
        self._busy = False
        self._messages: deque[tuple[str, str]] = deque(maxlen=_MESSAGES)
        self._meter = RateMeter()
        self._console: Console | None = None
        self._live: Live | None = None
        self._last_size = (0, 0)

    def update(self, build: Callable[[], DisplayView]) -> None:
        now = self._clock()
        if now < self._due:
            self._wanted = True
            return
        self._due = now + INTERVAL
        self._drawn = now
        self._wanted = False
        if not self._screen.is_ours():
            return
        view = build()
        estimate = self._meter.measure(view, now)
        columns, rows = self._size()
        columns, rows = max(columns, _LEAST_COLUMNS), max(rows, _LEAST_ROWS)
        # the last row stays free: a full one scrolls some terminals
        lines = compose(view, estimate, now, columns, rows - 1)
        self._busy = True
        try:
            self._draw(lines, columns, rows)
        finally:
            self._busy = False

    def next_update(self) -> float | None:
        due = self._due if self._wanted or self._messages else self._drawn + LONGEST
        return max(0.0, due - self._clock())

    def results(self, lines: Sequence[str]) -> None:
        pass

    def message(self, line: str) -> None:
        self._messages.append((line, ""))

    def warning(self, line: str) -> None:
        self._messages.append((line, "warning"))

    def engine_errors(self, lines: Sequence[str]) -> None:
        if self._errors is None:
            self._messages.extend((line, "dim") for line in lines)
        elif lines:
            self._errors.write("\n".join(lines))

    def suspend(self) -> None:
        if self._live is not None and not self._busy:
            self._live.stop()
            self._live = None
        else:
            # a signal interrupted a drawing, which continues afterwards
            self._screen.show_cursor()

    def resume(self) -> None:
        self._due = 0.0

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._messages:
            self._print_messages(self._get_console())

    def _get_console(self) -> Console:
        if self._console is None:
            from rich.console import Console

            self._console = Console(
                file=cast(IO[str], self._screen),
                force_terminal=True,
                highlight=False,
                markup=False,
                emoji=False,
                legacy_windows=False,
            )
        return self._console

    def _draw(self, lines: list[Line], columns: int, rows: int) -> None:
        from rich.console import Group
        from rich.live import Live

        console = self._get_console()
        # one write for everything, or the screen would flicker
        with console:
            if self._live is not None and self._last_size != (columns, rows):
                # the terminal may have wrapped the old lines: their height is unknown
                self._live.stop()
                self._live = None
                console.clear()
            self._last_size = (columns, rows)
            console.size = (columns, rows)
            group = Group(*map(_render, lines))
            if self._live is None:
                self._live = Live(
                    group,
                    console=console,
                    auto_refresh=False,
                    redirect_stdout=False,
                    redirect_stderr=False,
                    transient=True,
                    vertical_overflow="crop",
                )
                self._live.start()
            self._print_messages(console)
            self._live.update(group, refresh=True)

    def _print_messages(self, console: Console) -> None:
        from rich.text import Text

        while self._messages:
            text, style = self._messages.popleft()
            for line in text.splitlines():
                console.print(Text(sanitise(line, LINE_LIMIT), style=_STYLES[style]))

    def _terminal_size(self) -> tuple[int, int]:
        return self._screen.size()


def _render(line: Line) -> Text:
    from rich.text import Text

    text = Text(line.text, style=_STYLES[line.style], no_wrap=True, overflow="crop")
    if line.style == "bar":
        length = len(line.text) - len(line.text.lstrip("━"))
        text.stylize("green", 0, line.filled)
        text.stylize("bright_black", line.filled, length)
    return text


class Screen(io.TextIOBase):
    """Wrap a terminal's stream for rich.

    Each write is one synchronised update.  A closed terminal is no error.
    """

    # DEC private mode 2026; terminals without it ignore it
    _BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._broken = False

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute in TextIO
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        if text:
            self._put(f"{self._BEGIN}{printable(text, self.encoding)}{self._END}")
        return len(text)

    def flush(self) -> None:
        pass

    def show_cursor(self) -> None:
        """Make the cursor visible."""
        self._put("\x1b[?25h")

    def is_ours(self) -> bool:
        """Return whether the process is in the foreground of an open terminal."""
        if self._broken:
            return False
        try:
            return os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except (OSError, ValueError, AttributeError):
            # not the controlling terminal: no job control
            return True

    def size(self) -> tuple[int, int]:
        """Return (columns, rows)."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        # a new pseudo-terminal may report 0 x 0
        return size.columns or 80, size.lines or 24

    def _put(self, text: str) -> None:
        if self._broken:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._broken = True


def make_display(
    stream: TextIO,
    quiet: bool,
    *,
    errors: TextIO,
    clock: Clock = time.monotonic,
    environ: Mapping[str, str] = os.environ,
) -> Display:
    """Return a quiet display, one that redraws a terminal, or one that prints plain lines."""
    if quiet:
        return QuietDisplay(errors)
    if _is_screen(stream) and environ.get("TERM", "") not in ("", "dumb", "unknown"):
        # a line of an engine would spoil the drawing
        return TerminalDisplay(stream, clock=clock, errors=None if _is_screen(errors) else errors)
    return PlainDisplay(stream, errors, clock=clock)


def _is_screen(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False
