"""Read keys from the controlling terminal, whatever standard input and output are.

While the process is in the foreground, line editing and echo are off: a key arrives at once and
prints nothing.  Ctrl-C and Ctrl-Z work as usual.  The terminal's mode is restored at the end, on
Ctrl-Z and on any exception.  After SIGKILL, an interactive shell restores it.
"""

from __future__ import annotations

import os
import re
import signal
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

CTRL_X = "\x18"
_TERMINAL = "/dev/tty"
# Arrow keys and the like send an escape sequence, whose letters are no keys.
_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)", re.DOTALL)


class KeyReader:
    """Reads keys; a context manager for the main thread.

    on_suspend  called before the process stops for Ctrl-Z; the process goes on after False
    on_resume   called when it continues, in the foreground or not

    Without a terminal, and in other threads, `fileno` is None; nothing raises.
    """

    def __init__(
        self,
        on_suspend: Callable[[], bool] | None = None,
        on_resume: Callable[[], None] | None = None,
    ) -> None:
        self._on_suspend = on_suspend
        self._on_resume = on_resume
        self._fd: int | None = None
        self._saved: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._suspended = False

    def __enter__(self) -> KeyReader:
        if threading.current_thread() is not threading.main_thread():
            return self
        try:
            # a separate open file description: O_NONBLOCK must not affect the shell
            self._fd = os.open(_TERMINAL, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return self
        try:
            self._handle(signal.SIGTSTP, self._stopped)
            self._handle(signal.SIGCONT, lambda number, frame: self._resume())
            # a handler of its own, so that a resize ends the wait for results
            self._handle(signal.SIGWINCH, lambda number, frame: None)
            self._take_terminal()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Restore the terminal and the signal handlers; idempotent."""
        try:
            self._restore_terminal()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self._handlers.clear()
            self._hang_up()

    def fileno(self) -> int | None:
        """Return the descriptor for the next wait; None without a terminal or in the background."""
        if not self._in_foreground():
            # the foreground process sets the mode now
            self._saved = None
            return None
        if self._saved is None:
            # `fg` sends no SIGCONT to a job that ran in the background
            self._take_terminal()
        return None if self._saved is None else self._fd

    def read(self) -> str:
        """Return the keys pressed since the last call; never blocks."""
        fd = self.fileno()
        if fd is None:
            return ""
        with _without_job_control():
            return self._read(fd)

    def _read(self, fd: int) -> str:
        try:
            keys = os.read(fd, 1024)
        except (BlockingIOError, InterruptedError):
            return ""
        except OSError:
            # EIO: the terminal hung up, or the process has just left the foreground
            if self._in_foreground():
                self._hang_up()
            return ""
        if not keys:
            self._hang_up()
        return _SEQUENCE.sub("", keys.decode("ascii", "replace"))

    def _in_foreground(self) -> bool:
        if self._fd is None:
            return False
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return False

    def _take_terminal(self) -> None:
        if self._fd is None or not self._in_foreground():
            return
        with _without_job_control():
            try:
                mode = termios.tcgetattr(self._fd)
                if self._saved is None or mode[3] & (termios.ICANON | termios.ECHO):
                    # the shell's mode after SIGSTOP and `fg`, our own after a mere SIGCONT
                    self._saved = mode
                # an empty read then means a hang-up
                tty.setcbreak(self._fd, termios.TCSANOW)
            except termios.error:
                self._saved = None

    def _restore_terminal(self) -> None:
        saved, self._saved = self._saved, None
        # in the background, the shell has restored the mode
        if saved is None or self._fd is None or not self._in_foreground():
            return
        with _without_job_control(), suppress(termios.error):
            termios.tcsetattr(self._fd, termios.TCSANOW, saved)

    def _hang_up(self) -> None:
        self._saved = None
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)

    def _handle(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        # a shell without job control ignores the signal, so it stays ignored
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            self._handlers[number] = signal.signal(number, handler)

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        if self._on_suspend is not None and not self._on_suspend():
            return
        self._restore_terminal()
        self._suspended = True
        signal.signal(signal.SIGTSTP, self._handlers.get(signal.SIGTSTP, signal.SIG_DFL))
        os.kill(os.getpid(), signal.SIGTSTP)
        # the process stops here, unless its group is orphaned
        if signal.SIGTSTP in self._handlers:
            signal.signal(signal.SIGTSTP, self._stopped)
        self._resume()

    def _resume(self) -> None:
        self._take_terminal()
        if self._suspended:
            self._suspended = False
            if self._on_resume is not None:
                self._on_resume()


@contextmanager
def _without_job_control() -> Iterator[None]:
    """Block SIGTTIN and SIGTTOU: a terminal call from the background fails and does not stop."""
    stopping = {signal.SIGTTIN, signal.SIGTTOU}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
