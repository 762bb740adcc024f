"""Signals that ask for the end of a run, as something that a wait can wait on."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType


class Signals:
    """While it is entered, SIGINT, SIGTERM and SIGHUP interrupt nothing.

    came  the last of them, None when there was none
    fd    readable after any signal that has a handler, for `Executor.wait`
    """

    def __init__(self) -> None:
        self.came: signal.Signals | None = None

    def __enter__(self) -> Signals:
        self.fd, self._write_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_fd, False)
        # what is ignored on purpose (nohup, a shell's background job) stays so
        numbers = [
            number
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) is not signal.SIG_IGN
        ]
        self._before = {number: signal.signal(number, self._note) for number in numbers}
        self._wakeup = signal.set_wakeup_fd(self._write_fd)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.fd)
        os.close(self._write_fd)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = signal.Signals(number)

    def drain(self) -> None:
        """Read what signals have written, also those that are none of ours (Ctrl-Z and its
        return), or every wait would end at once."""
        try:
            while os.read(self.fd, 256):
                pass
        except BlockingIOError:
            pass
