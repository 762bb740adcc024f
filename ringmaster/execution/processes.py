"""The processes of a local executor, seen from the parent: workers, fork server, reaper.

This module starts, awaits, signals and ends them and reads their last words.  `local`
talks to the workers.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from typing import IO, Any

import psutil

from ringmaster.errors import ExecutorError, counted
from ringmaster.execution import fork_server

#: Seconds for workers to end by themselves when the parent has died.
ORPHAN_GRACE = 5.0

#: Descriptors of the parent for a worker (connection, status pipe, standard error), and for
#: everything else.
_WORKER_FILES, _OTHER_FILES = 3, 128

_LAST_WORDS = 4000  # bytes of standard error in a message
_SWEEP = 10.0  # seconds for a helper process to finish at its end


def raise_file_limit(workers: int) -> int:
    """Let this process open the files that so many workers need; return the former limit.

    Raises ExecutorError when the system does not allow as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _WORKER_FILES * workers + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    except (OSError, ValueError) as error:
        raise ExecutorError(
            f"{counted(workers, 'game')} at a time need {needed} open files, and a process may "
            f"have {hard} here (ulimit -Hn): {error}"
        ) from error
    return soft


class WorkerProcess:
    """A worker's process: its connection, its standard error, and how it ended.

    slot       the worker's number
    status_fd  readable when there is news of the process
    """

    def __init__(self, slot: int, control: socket.socket) -> None:
        """Request a process from the fork server at `control` without waiting for it.

        Raises OSError when the fork server is gone or descriptors run out.
        """
        self.slot = slot
        self.pid: int | None = None
        self._exit: int | None = None
        self._ended = False
        self._process: psutil.Process | None = None
        with ExitStack() as ours, ExitStack() as theirs:
            near_end, far_end = socket.socketpair()
            theirs.callback(far_end.close)
            self.connection = Connection(near_end.detach())
            ours.callback(self.connection.close)
            self.status_fd, status_w = os.pipe()
            ours.callback(os.close, self.status_fd)
            theirs.callback(os.close, status_w)
            os.set_blocking(self.status_fd, False)
            # Append mode, so that truncating leaves no hole.
            self._stderr: IO[bytes] = ours.enter_context(tempfile.TemporaryFile("a+b", buffering=0))
            fds = [far_end.fileno(), status_w, self._stderr.fileno()]
            socket.send_fds(control, [fork_server.REQUEST.pack(slot)], fds)
            self._open = ours.pop_all()

    def has_ended(self) -> bool:
        """Return whether the process is known to have ended; does not wait."""
        while not self._ended:
            try:
                data = os.read(self.status_fd, fork_server.NUMBER.size)
            except BlockingIOError:
                break
            if not data:
                # The fork server died first; nobody can wait for the worker any more.
                self._ended = self._process is None or not _is_alive(self._process)
                break
            number = fork_server.NUMBER.unpack(data)[0]
            if self.pid is None:
                self.pid = number
                with suppress(psutil.NoSuchProcess):
                    self._process = psutil.Process(number)
            else:
                self._exit = os.waitstatus_to_exitcode(number)
                self._ended = True
        return self._ended

    def is_stopped(self) -> bool:
        """Return whether a signal has stopped the process, which then waits for another one."""
        if self.has_ended() or self._process is None:
            return False
        try:
            return bool(self._process.status() == psutil.STATUS_STOPPED)
        except psutil.NoSuchProcess:
            return False

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended or never started."""
        if not self.has_ended() and self._process is not None:
            with suppress(psutil.NoSuchProcess):
                self._process.send_signal(number)

    def hang_up(self) -> None:
        """Close the connection, on which the worker abandons its job and ends; idempotent."""
        self.connection.close()

    def last_words(self) -> str:
        """Return the end of the worker's standard error."""
        return _last_words(self._stderr)

    def obituary(self) -> str:
        """Return one line that says how the process ended."""
        name = f"worker {self.slot}" + (f" (process {self.pid})" if self.pid else "")
        if self._exit is None:
            return f"{name} was never started" if self.pid is None else f"{name} ended"
        if self._exit < 0:
            with suppress(ValueError):
                return f"{name} was killed by {signal.Signals(-self._exit).name}"
        return f"{name} exited with status {self._exit}"

    def close(self) -> None:
        """Release the descriptors and leave the process alone; idempotent."""
        self._ended = True
        self._open.close()


def _last_words(file: IO[bytes]) -> str:
    """Return the end of a file as text that is safe on a terminal."""
    size = os.fstat(file.fileno()).st_size
    data = os.pread(file.fileno(), _LAST_WORDS, max(0, size - _LAST_WORDS))
    text = data.decode("utf-8", "replace").strip()
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(workers: Iterable[WorkerProcess], seconds: float) -> list[WorkerProcess]:
    """Wait until all `workers` have ended; return the workers that have not in time."""
    deadline = time.monotonic() + seconds
    while True:
        alive = [w for w in workers if not w.has_ended()]
        remaining = deadline - time.monotonic()
        if not alive or remaining <= 0:
            return alive
        poll = select.poll()
        for worker in alive:
            poll.register(worker.status_fd, select.POLLIN)
        # Without a fork server no news comes and the state has to be polled.
        if all(event & select.POLLIN == 0 for _, event in poll.poll(math.ceil(remaining * 1000))):
            time.sleep(min(0.01, remaining))


class ForkServer:
    """The process that workers are forked from; it is restarted when it dies.

    open_files  limit of open files for workers and engines
    pass_fds    descriptors that workers inherit under the same numbers
    """

    def __init__(
        self,
        work: str,
        setup: Mapping[str, Any],
        reaper_fd: int | None,
        open_files: int,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._pass_fds = [*pass_fds, *([] if reaper_fd is None else [reaper_fd])]
        self._config: dict[str, Any] = {
            "path": [os.path.abspath(p) for p in sys.path],
            "work": work,
            "setup": dict(setup),
            "reaper": reaper_fd,
            "files": open_files,
            "grace": ORPHAN_GRACE,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._stderr: IO[bytes] | None = None

    def start_worker(self, slot: int) -> WorkerProcess:
        """Start a worker without waiting for it.  Raises ExecutorError."""
        try:
            for _ in range(2):
                if self._control is None:
                    self._boot()
                assert self._control is not None
                try:
                    return WorkerProcess(slot, self._control)
                except ConnectionError:
                    self.close()
            raise ExecutorError(f"the fork server does not start: {self.last_words()}")
        except OSError as error:
            raise ExecutorError(f"cannot start worker {slot}: {error}") from error

    def _boot(self) -> None:
        if self._stderr is not None:
            self._stderr.close()
        self._stderr = tempfile.TemporaryFile("a+b", buffering=0)
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                # -P: the current folder holds the user's files, not ours.
                [sys.executable, "-P", fork_server.__file__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=self._pass_fds,
                start_new_session=True,
            )
            # It fits into the socket's buffer.
            with Connection(os.dup(self._control.fileno())) as connection:
                connection.send_bytes(json.dumps(self._config).encode("ascii"))

    def last_words(self) -> str:
        """Return the end of the fork server's standard error."""
        is_open = self._stderr is not None and not self._stderr.closed
        return _last_words(self._stderr) if is_open and self._stderr is not None else ""

    def close(self) -> None:
        """End the process; idempotent.  Workers must have ended before."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            _wait_or_kill(self._process, ORPHAN_GRACE + _SWEEP)
            self._process = None

    def release(self) -> None:
        """End the process and drop its last words; idempotent."""
        self.close()
        if self._stderr is not None:
            self._stderr.close()


class Reaper:
    """The reaper's process (`engines/reaper.py` describes it).

    program  path of the program
    """

    def __init__(self, program: str) -> None:
        if not os.path.isfile(program):
            raise ExecutorError(f"the reaper of engines is not there: {program}")
        self._program = os.path.abspath(program)
        self._process: subprocess.Popen[bytes] | None = self._boot()

    def _boot(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", self._program],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise ExecutorError(f"cannot start the reaper of engines: {error}") from error

    @property
    def fd(self) -> int:
        """The descriptor on which workers announce their engines."""
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def kill_engines(self, slot: int) -> None:
        """Have the engines of a dead worker killed."""
        if self._process is not None:
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):
                self._process.stdin.write(f"! {slot}\n".encode("ascii"))

    def close(self) -> None:
        """Have every remaining engine killed, once all workers have ended; idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is not None:
            # It was killed.  Another one kills leftovers.
            assert process.stdin is not None
            process.stdin.close()
            process = self._boot()
        assert process.stdin is not None
        process.stdin.close()
        _wait_or_kill(process, _SWEEP)


def _wait_or_kill(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
