"""Run the command of `on_event` beside the games: a desktop note, a mail, a message to a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from ringmaster.competitions.common_settings import PLACEHOLDER
from ringmaster.engines.process import EngineProcess, ErrorOutput, read_available
from ringmaster.errors import EngineNotStarted


class EventCommand:
    """The command of one run.  Only `finish` waits for it; no method raises.

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
        #: Running commands with their standard error and their ends (monotonic clock).
        self._running: dict[EngineProcess, tuple[ErrorOutput, float]] = {}
        self._has_failed = False

    def start(self, event: str, verdict: str) -> None:
        """Run the command for an event."""
        values = {**self._values, "event": event, "verdict": verdict}
        # no shell sees the words: a verdict cannot become a command
        words = [PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in self.words]
        try:
            process = EngineProcess(words) if words else None
        except EngineNotStarted as error:
            self._fail(str(error))
            return
        if process is not None:
            process.close_stdin()
            errors = ErrorOutput(process.stderr_fd, lambda lines: None)
            self._running[process] = errors, time.monotonic() + self.limit

    def look(self) -> None:
        """End commands that have ended by themselves, or that exceed the limit."""
        for process, (errors, end) in list(self._running.items()):
            # a command with a full pipe cannot exit
            read_available(process.stdout_fd)
            words = errors.last_words().splitlines()[-1:]
            has_exited, status = process.has_exited(), process.exit_status()
            if has_exited or time.monotonic() >= end:
                del self._running[process]
                process.end(patience=0.0)
                if status != "status 0":
                    how = f"ended with {status}" if has_exited else "did not end in time"
                    self._fail(": ".join([f"the command {how}", *words]))

    def finish(self) -> None:
        """Wait until all commands have ended, up to the limit."""
        self.look()
        while self._running:
            time.sleep(0.02)
            self.look()

    def _fail(self, failure: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._warn(f"warning: on_event: {failure} (told once a run)")
