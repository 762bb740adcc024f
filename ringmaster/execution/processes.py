"""The processes of a local executor, as the parent sees them: workers, the
nursery they are forked from, and the reaper.  Starting, waiting, signalling
and asking for last words; what is said to a worker is left to `local`.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import IO, Any

import psutil

from ringmaster.errors import ExecutorError
from ringmaster.execution import nursery
from ringmaster.execution.ahead import Ahead
from ringmaster.execution.messages import Messages

#: Seconds that workers get to end by themselves when the parent has died.
ORPHAN_GRACE = 5.0

_LAST_WORDS = 4000  # bytes of standard error in a message
_SWEEP = 10.0  # seconds for a helper process to finish what it does at its end


def last_words(file: IO[bytes]) -> str:
    """Return the end of what a process wrote, fit for a terminal."""
    size = os.fstat(file.fileno()).st_size
    data = os.pread(file.fileno(), _LAST_WORDS, max(0, size - _LAST_WORDS))
    text = data.decode("utf-8", "replace").strip()
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


class WorkerProcess:
    """The process of one worker or many: its connection, its standard error, and how it
    ended.

    slots  the numbers of its workers
    ahead  how its worker is given jobs ahead, None where it is not
    """

    def __init__(self, slots: range, control: socket.socket) -> None:
        """Ask the nursery at `control` for a process; does not wait for it.

        Raises OSError when the nursery is gone or descriptors run out.
        """
        self.slots = slots
        self.pid: int | None = None
        self._exit: int | None = None
        self._ended = False
        self._process: psutil.Process | None = None
        with ExitStack() as ours, ExitStack() as theirs:
            near_end, far_end = socket.socketpair()
            theirs.callback(far_end.close)
            self.connection = Messages(near_end.detach())
            ours.callback(self.connection.close)
            self._status, status_w = os.pipe()
            ours.callback(os.close, self._status)
            theirs.callback(os.close, status_w)
            os.set_blocking(self._status, False)
            # Append, so that truncating it does not leave a hole.
            self._words: IO[bytes] = ours.enter_context(tempfile.TemporaryFile("a+b", buffering=0))
            fds = [far_end.fileno(), status_w, self._words.fileno()]
            self.ahead: Ahead | None = None
            if Ahead.is_for(slots):
                self.ahead = Ahead()
                ours.callback(self.ahead.close)
                fds.append(self.ahead.far.fileno())
            socket.send_fds(control, [nursery.REQUEST.pack(slots.start, slots.stop)], fds)
            self._open = ours.pop_all()

    def status_fd(self) -> int:
        """Return a descriptor that is readable when there is news of the process."""
        return self._status

    def has_ended(self) -> bool:
        """Return whether the process is known to have ended; does not wait."""
        while not self._ended:
            try:
                data = os.read(self._status, nursery.NUMBER.size)
            except BlockingIOError:
                break
            if not data:
                # The nursery died first; it cannot be waited for any more.
                self._ended = self._process is None or not _is_alive(self._process)
                break
            number = nursery.NUMBER.unpack(data)[0]
            if self.pid is None:
                self.pid = number
                with suppress(psutil.NoSuchProcess):
                    self._process = psutil.Process(number)
            else:
                self._exit = os.waitstatus_to_exitcode(number)
                self._ended = True
        return self._ended

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended (or was never started)."""
        if not self.has_ended() and self._process is not None:
            with suppress(psutil.NoSuchProcess):
                self._process.send_signal(number)

    def hang_up(self) -> None:
        """Tell the workers to abandon their jobs and to end; idempotent."""
        self.connection.close()

    def words(self) -> str:
        """Return the end of what the process wrote on its standard error."""
        return last_words(self._words)

    def obituary(self, slot: int) -> str:
        """Return on one line how the process ended, for one of its workers."""
        name = f"worker {slot}" + (f" (process {self.pid})" if self.pid else "")
        if self._exit is None:
            return f"{name} was never started" if self.pid is None else f"{name} ended"
        if self._exit < 0:
            with suppress(ValueError):
                return f"{name} was killed by {signal.Signals(-self._exit).name}"
        return f"{name} exited with status {self._exit}"

    def close(self) -> None:
        """Release the descriptors; idempotent.  The process is left alone."""
        self._ended = True
        self._open.close()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(workers: Iterable[WorkerProcess], seconds: float) -> list[WorkerProcess]:
    """Wait until all `workers` have ended; returns those that have not in time."""
    deadline = time.monotonic() + seconds
    while True:
        left = [w for w in workers if not w.has_ended()]
        remaining = deadline - time.monotonic()
        if not left or remaining <= 0:
            return left
        poll = select.poll()
        for worker in left:
            poll.register(worker.status_fd(), select.POLLIN)
        # At most a moment: without a nursery there is no news, only looking.
        if all(event & select.POLLIN == 0 for _, event in poll.poll(math.ceil(remaining * 1000))):
            time.sleep(min(0.01, remaining))


class Nursery:
    """The process that workers are forked from, started again when it dies.

    open_files  how many its workers may have, and the engines that they start
    pass_fds    descriptors that workers have, too, under the same numbers
    """

    def __init__(
        self,
        work: str,
        setup: Mapping[str, Any],
        watcher_fd: int | None,
        open_files: int,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._pass_fds = [*pass_fds, *([] if watcher_fd is None else [watcher_fd])]
        self._config: dict[str, Any] = {
            "path": [os.path.abspath(p) for p in sys.path],
            "work": work,
            "setup": dict(setup),
            "watcher": watcher_fd,
            "files": open_files,
            "grace": ORPHAN_GRACE,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._words: IO[bytes] | None = None

    def start(self, slots: range) -> WorkerProcess:
        """Start the workers of some slots in one process, without waiting for it.

        Raises ExecutorError.
        """
        try:
            for _ in range(2):
                if self._control is None:
                    self._boot()
                assert self._control is not None
                try:
                    return WorkerProcess(slots, self._control)
                except ConnectionError:
                    self.close()
            raise ExecutorError(f"the nursery of workers does not start: {self.words()}")
        except OSError as error:
            raise ExecutorError(f"cannot start worker {slots.start}: {error}") from error

    def _boot(self) -> None:
        with ExitStack() as stack:
            if self._words is not None:
                self._words.close()
            self._words = tempfile.TemporaryFile("a+b", buffering=0)
            self._control, theirs = socket.socketpair()
            stack.callback(theirs.close)
            self._process = subprocess.Popen(
                # -P: the current folder holds the user's files, not ours.
                [sys.executable, "-P", nursery.__file__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                pass_fds=self._pass_fds,
                start_new_session=True,
            )
            # A socket's buffer takes far more than this line without waiting.
            self._control.sendall(json.dumps(self._config).encode("ascii") + b"\n")

    def words(self) -> str:
        """Return the end of what the nursery wrote on its standard error."""
        return "" if self._words is None or self._words.closed else last_words(self._words)

    def close(self) -> None:
        """End the process; idempotent.  Workers should have ended before."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            _wait_or_kill(self._process, ORPHAN_GRACE + _SWEEP)
            self._process = None

    def release(self) -> None:
        """Forget the last words too; idempotent."""
        self.close()
        if self._words is not None:
            self._words.close()


class Reaper:
    """The parent's end of the reaper (`engines/watcher.py` describes it).

    program  path of the program
    marker   value of RINGMASTER_RUN in the environment of this run's engines
    """

    def __init__(self, program: str, marker: str) -> None:
        if not os.path.isfile(program):
            raise ExecutorError(f"the reaper of engines is not there: {program}")
        self._program = os.path.abspath(program)
        self._marker = marker
        self._process: subprocess.Popen[bytes] | None = self._boot()

    def _boot(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
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
        self._tell(process, f"= {self._marker}")
        return process

    @staticmethod
    def _tell(process: subprocess.Popen[bytes], line: str) -> None:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(line.encode("ascii") + b"\n")

    @property
    def fd(self) -> int:
        """The descriptor that workers announce their engines on."""
        assert self._process is not None
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def workers_died(self, slots: range) -> None:
        """Have the engines of the workers in some slots killed."""
        if self._process is not None:
            for slot in slots:
                self._tell(self._process, f"! {slot}")

    def close(self) -> None:
        """Have what is left killed, once all workers have ended; idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is not None:
            # It was killed and cannot do its work: another one looks for the marker.
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
