"""One engine as an operating-system process: start, measure, end; and its standard error.

`channel` talks to it.  Leftover processes have one guard for each incident: an engine that
quits or crashes is killed here with its group and its known descendants; processes that have
left both are killed after their game by `containment.sweep`; engines of a killed worker by the
reaper.  Sweep and the reaper's tag need Linux; elsewhere a descendant in a session of its own
survives.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from ringmaster.engines import containment, reaper, usage
from ringmaster.engines.containment import Bounds
from ringmaster.errors import EngineNotStarted
from ringmaster.model.players import Player

#: Seconds for the kernel to end a killed process.
_KILLED: Final = 1.0
#: Lines of standard error kept for messages, and bytes kept of each line.
STDERR_LINES: Final = 20
STDERR_LINE: Final = 500
#: Lines of standard error kept for a game's log.
STDERR_LOG_LINES: Final = 1000

#: Folders whose sockets lead out of a sandbox, and processes of bubblewrap itself: outside, and
#: the first one inside.
_HIDDEN: Final = ("/tmp", "/run")
_BUBBLEWRAPS: Final = 2

_CHUNK: Final = 1 << 16
#: Reads at once from an engine that may print for ever.
_MAX_READS: Final = 64


@dataclass(frozen=True)
class Surroundings:
    """The part of an engine's environment that is not a player's setting.

    environ     variables on top of the inherited ones (game id, slot, marker)
    slot        the worker's number, for the reaper
    reaper_fd   write end of the reaper's pipe, or None
    echo        called with the player code and lines of standard error as they come, or None
    say         called with a message for the user, or None
    watch       returns the label of a player's build, or None; raises EngineRebuilt
    """

    environ: Mapping[str, str]
    slot: int = 0
    reaper_fd: int | None = None
    echo: Callable[[str, bytes], None] | None = None
    say: Callable[[str], None] | None = None
    watch: Callable[[Player], str] | None = None


class EngineProcess:
    """A running engine process with three non-blocking pipe ends.

    stdin_fd, stdout_fd  always there while `is_open`
    stderr_fd            None when standard error is discarded
    exit_fd              readable when the process has exited; None where the
                         system has no such descriptor
    contained            its bounds
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        discard_stderr: bool = False,
        surroundings: Surroundings | None = None,
        bounds: Bounds | None = None,
        sandbox: bool = False,
    ) -> None:
        """Start the process.  Raises EngineNotStarted, saying why."""
        surroundings = surroundings or Surroundings({})
        bounds = bounds or Bounds()
        variables = {**os.environ, **surroundings.environ, **(environ or {})}
        if sandbox and bounds.processes is not None:
            bounds = replace(bounds, processes=bounds.processes + _BUBBLEWRAPS)
        try:
            self._popen = subprocess.Popen(
                sandboxed(command, cwd) if sandbox else list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if discard_stderr else subprocess.PIPE,
                bufsize=0,
                cwd=cwd,
                env=variables,
                # Never preexec_fn, which makes every start a slow fork of the worker.  A
                # group of its own to be killed, in the worker's session (see `fork_server`).
                process_group=0,
            )
        except (OSError, ValueError) as error:
            raise EngineNotStarted(_why_not_started(command, cwd, error)) from error
        self.pid = self._popen.pid
        self.contained = containment.admit(self.pid, bounds)
        self._slot = surroundings.slot
        self._reaper_fd = surroundings.reaper_fd
        reaper.announce(self._reaper_fd, self._slot, self.pid)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self.stdin_fd = self._popen.stdin.fileno()
        self.stdout_fd = self._popen.stdout.fileno()
        self.stderr_fd = None if self._popen.stderr is None else self._popen.stderr.fileno()
        for fd in (self.stdin_fd, self.stdout_fd, self.stderr_fd):
            if fd is not None:
                os.set_blocking(fd, False)
        self.exit_fd = _open_pidfd(self.pid)
        self.is_open = True

    def has_exited(self) -> bool:
        """Return whether the process has ended, without reaping it."""
        if not self.is_open or self._popen.returncode is not None:
            return True
        try:
            state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return state is not None

    def wait(self, seconds: float, *, keep_output: bool = False) -> bool:
        """Wait for the process to end by itself; return whether it has.

        Drains its output meanwhile, unless `keep_output`: an engine with a full pipe cannot
        exit.
        """
        deadline = time.monotonic() + seconds
        poller = select.poll()
        if self.exit_fd is not None:
            poller.register(self.exit_fd, select.POLLIN)
        for fd in () if keep_output else (self.stdout_fd, self.stderr_fd):
            if fd is not None:
                poller.register(fd, select.POLLIN)
        while not self.has_exited():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # Without a pidfd the state has to be polled.
            longest = left if self.exit_fd is not None else min(left, 0.01)
            for fd, _ in poller.poll(min(longest * 1000 + 1, 2**31 - 1)):
                if fd != self.exit_fd and read_available(fd) == b"":
                    poller.unregister(fd)
        return True

    def exit_status(self) -> str:
        """Return how the process ended, e.g. "status 1" or "signal SIGSEGV", and a limit of
        memory, which may be the reason."""
        state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if state is None:
            return "still running"
        status = f"status {state.si_status}"
        if state.si_code != os.CLD_EXITED:
            names = {number.value: number.name for number in signal.Signals}
            status = f"signal {names.get(state.si_status, state.si_status)}"
        return status + self.contained.remark()

    def measure(self) -> usage.Usage:
        """Return CPU seconds since the start and peak memory, descendants included."""
        return usage.measure(self.pid) if self.is_open else usage.Usage(None, None)

    def restart_count(self) -> None:
        """Count use for a new game: reset the peak of memory (Linux) and the CPU time that
        is bounded."""
        if self.is_open:
            usage.reset_peak(self.pid)
            self.contained.restart_count()

    def close_stdin(self) -> None:
        """Close the engine's standard input, on which most engines quit; idempotent."""
        if self._popen.stdin is not None and not self._popen.stdin.closed:
            self._popen.stdin.close()
        # The number may soon be another file's.
        self.stdin_fd = -1

    def end(self, patience: float = 1.0) -> None:
        """End the process and everything it started; idempotent.

        It has `patience` seconds to exit after its input is closed, half as long after
        SIGTERM, and then gets SIGKILL.
        """
        if not self.is_open:
            return
        self.close_stdin()
        family = {pid: reaper.start_time(pid) for pid in usage.members(self.pid)[1:]}
        if not self.wait(patience):
            self._signal_group(signal.SIGTERM)
            self.wait(patience / 2)
        # The leader is not reaped yet, so its pid still names this group.  Children that
        # it left behind are in the group or in `family`.
        self._signal_group(signal.SIGKILL)
        for pid, start in family.items():
            if reaper.start_time(pid) == start:
                reaper.kill(pid)
        self.wait(_KILLED)
        self._popen.wait()
        self._release()

    def _signal_group(self, signal_number: int) -> None:
        # macOS answers EPERM for a group of zombies.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal_number)

    def _release(self) -> None:
        self.is_open = False
        containment.release(self.pid)
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None and not stream.closed:
                stream.close()
        if self.exit_fd is not None:
            os.close(self.exit_fd)
        reaper.retire(self._reaper_fd, self._slot, self.pid)


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def read_available(fd: int, size: int = _CHUNK) -> bytes | None:
    """Return input of a non-blocking descriptor, b"" at its end, None without any.

    Raises OSError.
    """
    try:
        return os.read(fd, size)
    except BlockingIOError:
        return None


def sandboxed(command: Sequence[str], cwd: str | None) -> list[str]:
    """Return the command that runs `command` by bubblewrap: no network, and nothing to write to.

    The engine sees the file system read-only, without /tmp and /run.  Its program's folder and
    its working directory are visible even there.  /dev/shm is its own and is the only place to
    write to.  When bubblewrap is killed, the kernel ends every process inside, detached ones too.

    Raises EngineNotStarted without bubblewrap, FileNotFoundError without the program.
    """
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise EngineNotStarted(
            "sandbox=True needs bubblewrap (Linux): install the package bubblewrap"
        )
    folder = os.path.abspath(cwd or os.getcwd())
    program = shutil.which(os.path.join(folder, command[0]) if "/" in command[0] else command[0])
    if program is None:
        raise FileNotFoundError(errno.ENOENT, "no such program", command[0])
    words = [bubblewrap, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for hidden in _HIDDEN:
        words += ["--tmpfs", hidden]
    for visible in {folder, os.path.dirname(os.path.abspath(program))}:
        if any(os.path.commonpath([hidden, visible]) == hidden for hidden in _HIDDEN):
            words += ["--ro-bind", visible, visible]
    for hidden in _HIDDEN:
        words += ["--remount-ro", hidden]
    return [*words, "--setenv", "TMPDIR", "/dev/shm", "--chdir", folder, "--", *command]


#: Reasons why a program cannot start, by the system's number.
_REASONS: Final = {
    errno.ENOENT: "no such file",
    errno.EACCES: "not an executable file, or no permission to run it",
    errno.ENOEXEC: "not a program (no '#!' line, or built for another system)",
}


def _why_not_started(command: Sequence[str], cwd: str | None, error: Exception) -> str:
    """Return a message that says what the user can repair."""
    name, reason, is_missing = command[0], str(error), False
    if isinstance(error, OSError):
        reason = _REASONS.get(error.errno or 0) or str(error.strerror)
        is_missing = error.errno == errno.ENOENT
    if cwd is not None and not os.path.isdir(cwd):
        reason = f"its working directory {cwd!r} does not exist"
    elif is_missing and "/" not in name:
        places = ("/usr/games", "/usr/local/games", "/usr/local/bin")
        found = [path for place in places if (path := shutil.which(name, path=place))]
        hint = f" ({found[0]} exists, but its folder is not on PATH)" if found else ""
        reason = f"no such program on PATH{hint}"
    elif is_missing and os.path.exists(name):
        reason = "its interpreter or loader is missing"
    return f"cannot start {name!r}: {reason}"


class ErrorOutput:
    """The standard error of one engine, of which bounded parts are kept.

    fd    its non-blocking descriptor; None after its end, and without standard error
    note  called with whole lines, without the end of the last one
    """

    def __init__(self, fd: int | None, note: Callable[[bytes], None]) -> None:
        self.fd = fd
        self._note = note
        self._partial = b""
        self._tail: deque[str] = deque(maxlen=STDERR_LINES)
        self._log: list[str] = []

    def read(self) -> bool:
        """Read once; return whether there was anything."""
        chunk = None if self.fd is None else read_available(self.fd)
        if chunk is None:
            return False
        lines = (self._partial + chunk).split(b"\n")
        self._partial = lines.pop()[-STDERR_LINE:]
        if not chunk and self._partial:
            lines.append(self._partial)
            self._partial = b""
        if lines:
            self._note(b"\n".join(lines))
        room = STDERR_LOG_LINES - len(self._log)
        for line in lines[-max(room, STDERR_LINES) :]:
            text = line[:STDERR_LINE].rstrip(b"\r").decode("utf-8", "replace")
            self._tail.append(text)
            if len(self._log) < STDERR_LOG_LINES:
                self._log.append(text)
        if not chunk:
            self.fd = None
        return bool(chunk)

    def drain(self) -> None:
        """Read everything available, up to a limit."""
        for _ in range(_MAX_READS):
            try:
                if not self.read():
                    return
            except OSError:
                return

    def take(self) -> list[str]:
        """Return the lines since the last call."""
        self.drain()
        lines, self._log = self._log, []
        return lines

    def last_words(self) -> str:
        """Return the last lines, "" without any."""
        self.drain()
        return "\n".join(line for line in self._tail if line.strip())
