"""One engine as an operating-system process: started in a session of its own,
measured, and ended with everything it started.

What is said over its pipes is the business of `channel`.  Killing works at
three levels: the engine's process group and its known descendants here, a
registration with the watcher process (so that the group dies when ringmaster
itself is killed with SIGKILL), and an environment marker by which the watcher
finds descendants that have left the group.  The marker needs /proc; elsewhere
a descendant that starts a session of its own survives.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ringmaster import waiting
from ringmaster.engines import usage, watcher
from ringmaster.errors import EngineNotStarted

#: Seconds that the kernel as a rule needs at most to end a process that it kills.
_KILLED: Final = 1.0


@dataclass(frozen=True)
class Surroundings:
    """What an engine process is given besides its own settings.

    environ     variables on top of the inherited ones (game id, slot, marker)
    slot        the worker's number, for the watcher
    watcher_fd  write end of the watcher's pipe, or None
    """

    environ: Mapping[str, str]
    slot: int = 0
    watcher_fd: int | None = None


class EngineProcess:
    """A running engine process with three non-blocking pipe ends.

    stdin_fd, stdout_fd  always there while `is_open`
    stderr_fd            None when standard error is discarded
    exit_fd              readable when the process has exited; None where the
                         system has no such descriptor
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        discard_stderr: bool = False,
        surroundings: Surroundings | None = None,
    ) -> None:
        """Start the process.  Raises EngineNotStarted, saying why."""
        surroundings = surroundings or Surroundings({})
        variables = {**os.environ, **surroundings.environ, **(environ or {})}
        try:
            self._popen = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if discard_stderr else subprocess.PIPE,
                bufsize=0,
                cwd=cwd,
                env=variables,
                # never preexec_fn: it makes every start a slow fork of the worker; a group
                # to be killed by, in the worker's session (`nursery` says why)
                process_group=0,
            )
        except (OSError, ValueError) as error:
            raise EngineNotStarted(_why_not_started(command, cwd, error)) from error
        self.pid = self._popen.pid
        self._slot = surroundings.slot
        self._watcher_fd = surroundings.watcher_fd
        if self._watcher_fd is not None:
            watcher.announce(self._watcher_fd, self._slot, self.pid)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self.stdin_fd = self._popen.stdin.fileno()
        self.stdout_fd = self._popen.stdout.fileno()
        self.stderr_fd = None if self._popen.stderr is None else self._popen.stderr.fileno()
        for fd in (self.stdin_fd, self.stdout_fd, self.stderr_fd):
            if fd is not None:
                os.set_blocking(fd, False)
        self.exit_fd = _open_pidfd(self.pid)
        self._usage = usage.ProcessUsage(self.pid)
        self.is_open = True

    def has_exited(self) -> bool:
        """Whether the process has ended (it is not reaped by asking)."""
        if not self.is_open or self._popen.returncode is not None:
            return True
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return found is not None

    def wait(self, seconds: float, *, keep_stderr: bool = False) -> bool:
        """Wait for the process to end by itself; returns whether it has.

        Output that nobody reads would keep an engine from exiting, so standard
        output and (unless `keep_stderr`) standard error are drained meanwhile.
        """
        deadline = time.monotonic() + seconds
        poller = waiting.new_poll()
        if self.exit_fd is not None:
            poller.register(self.exit_fd, select.POLLIN)
        for fd in (self.stdout_fd, None if keep_stderr else self.stderr_fd):
            if fd is not None:
                poller.register(fd, select.POLLIN)
        while not self.has_exited():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # without a pidfd the state has to be asked for now and then
            longest = left if self.exit_fd is not None else min(left, 0.01)
            for fd, _ in poller.poll(min(longest * 1000 + 1, 2**31 - 1)):
                if fd != self.exit_fd and not _read_away(fd):
                    poller.unregister(fd)
        return True

    def exit_status(self) -> str:
        """Return how the process ended, e.g. "status 1" or "signal SIGSEGV"."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return "still running"
        if found.si_code == os.CLD_EXITED:
            return f"status {found.si_status}"
        try:
            return f"signal {signal.Signals(found.si_status).name}"
        except ValueError:
            return f"signal {found.si_status}"

    def measure(self) -> usage.Usage:
        """Return CPU seconds since the start and peak memory, descendants included."""
        return self._usage.measure() if self.is_open else usage.Usage(None, None)

    def cpu_time(self) -> float | None:
        """Return the CPU seconds of `measure` alone, in less time."""
        return self._usage.cpu_time() if self.is_open else None

    def forget_peak(self) -> None:
        """Let the peak of memory start anew (Linux)."""
        self._usage.forget_peak()

    def close_stdin(self) -> None:
        """Close the engine's standard input, which tells most engines to quit;
        idempotent."""
        if self._popen.stdin is not None and not self._popen.stdin.closed:
            waiting.forget(self._popen.stdin.fileno())
            self._popen.stdin.close()
        # the number may soon be another file's
        self.stdin_fd = -1

    def end(self, patience: float = 1.0) -> None:
        """End the process and everything it started; idempotent.

        It gets `patience` seconds to exit by itself after its input has been
        closed, half as long after SIGTERM, and then SIGKILL.
        """
        if not self.is_open:
            return
        self.close_stdin()
        family = usage.descendants(self.pid)
        if not self.wait(patience):
            self._signal_group(signal.SIGTERM)
            self.wait(patience / 2)
        # The leader is not reaped yet, so its pid still names this very group;
        # children that it left behind are in the group or in `family`.
        self._signal_group(signal.SIGKILL)
        for process in family:
            process.kill()
        self.wait(_KILLED)
        self._popen.wait()
        self._release()

    def _signal_group(self, signal_number: int) -> None:
        try:
            os.killpg(self.pid, signal_number)
        except (ProcessLookupError, PermissionError):
            # macOS answers EPERM for a group of which only zombies are left
            pass

    def _release(self) -> None:
        self.is_open = False
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None and not stream.closed:
                waiting.forget(stream.fileno())
                stream.close()
        if self.exit_fd is not None:
            waiting.forget(self.exit_fd)
            os.close(self.exit_fd)
        self._usage.close()
        if self._watcher_fd is not None:
            watcher.retire(self._watcher_fd, self._slot, self.pid)


def _open_pidfd(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _read_away(fd: int) -> bool:
    """Discard what can be read; returns False at the end of the stream."""
    try:
        return bool(os.read(fd, 65536))
    except BlockingIOError:
        return True
    except OSError:
        return False


def _why_not_started(command: Sequence[str], cwd: str | None, error: Exception) -> str:
    """Return a message that names the cause as the user can mend it."""
    name = command[0]
    if cwd is not None and not os.path.isdir(cwd):
        return f"cannot start {name!r}: its working directory {cwd!r} does not exist"
    if isinstance(error, OSError):
        if error.errno == errno.ENOENT and "/" not in name:
            hint = next(
                (
                    f" (there is {found}, which is not on PATH)"
                    for place in ("/usr/games", "/usr/local/games", "/usr/local/bin")
                    if (found := shutil.which(name, path=place))
                ),
                "",
            )
            return f"cannot start {name!r}: no such program on PATH{hint}"
        if error.errno == errno.ENOENT and os.path.exists(name):
            return f"cannot start {name!r}: its interpreter or loader is missing"
        if error.errno == errno.ENOENT:
            return f"cannot start {name!r}: no such file"
        if error.errno == errno.EACCES:
            return f"cannot start {name!r}: not an executable file, or no permission to run it"
        if error.errno == errno.ENOEXEC:
            return (
                f"cannot start {name!r}: not a program (no '#!' line, or built for another system)"
            )
        return f"cannot start {name!r}: {error.strerror}"
    return f"cannot start {name!r}: {error}"
