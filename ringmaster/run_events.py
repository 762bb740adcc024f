"""Run the command of `on_event` beside the games: a desktop note, a mail, a message to a server."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from ringmaster.competitions.common_settings import PLACEHOLDER
from ringmaster.engines.process import EngineProcess, ErrorOutput, read_available
from ringmaster.errors import EngineNotStarted


class EventCommand:
    """The command of one run, for one event after another.  Only `finish` waits; no method raises.

    words   with placeholders, () for no command
    values  of the placeholders that all events share
    warn    receives the first failure
    """

    #: Seconds after which it is killed, with all that it has started.
    limit = 10.0

    def __init__(
        self, words: Sequence[str], values: Mapping[str, str], warn: Callable[[str], None]
    ) -> None:
        self.words = words
        self._values = values
        self._warn = warn
        self._queue: deque[list[str]] = deque()
        #: The running command with its standard error, and its end (monotonic clock).
        self._running: tuple[EngineProcess, ErrorOutput] | None = None
        self._end = 0.0
        self._has_failed = False

    def start(self, event: str, verdict: str) -> None:
        """Run the command for an event, after those of earlier events."""
        values = {**self._values, "event": event, "verdict": verdict}
        if self.words:
            # no shell sees the words: a verdict cannot become a command
            self._queue.append([PLACEHOLDER.sub(lambda m: values[m[1]], w) for w in self.words])
            self.look()

    def look(self) -> None:
        """End a command that has ended by itself or exceeds the limit, and start the next one."""
        if self._running is not None:
            process, errors = self._running
            # a command with a full pipe cannot exit
            read_available(process.stdout_fd)
            words = errors.last_words().splitlines()[-1:]
            has_exited, status = process.has_exited(), process.exit_status()
            if not has_exited and time.monotonic() < self._end:
                return
            self._running = None
            process.end(patience=0.0)
            if status != "status 0":
                how = f"ended with {status}" if has_exited else "did not end in time"
                self._fail(": ".join([f"the command {how}", *words]))
        while self._queue and self._running is None:
            try:
                process = EngineProcess(self._queue.popleft())
            except EngineNotStarted as error:
                self._fail(str(error))
            else:
                process.close_stdin()
                self._running = process, ErrorOutput(process.stderr_fd, lambda lines: None)
                self._end = time.monotonic() + self.limit

    def finish(self) -> None:
        """Wait until all commands have ended, up to the limit."""
        end = time.monotonic() + self.limit
        while self._running is not None:
            self._end = min(self._end, end)
            time.sleep(0.02)
            self.look()

    def _fail(self, failure: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._warn(f"warning: on_event: {failure} (told once a run)")
