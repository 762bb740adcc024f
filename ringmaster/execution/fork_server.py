"""The fork server: a small process without threads from which workers are forked.

It imports the worker's modules once, so a worker starts in a millisecond and shares their
memory.  `processes.ForkServer` runs this file as a program.  It knows nothing of jobs.

multiprocessing's fork server does not fit: it runs the parent's main script again, keeps
the parent's terminal and files open, and looks for modules in the current folder, where a
user's engine may be called chess.py.  This one leads its own session, so Ctrl-C and Ctrl-Z
in the terminal reach the parent only, and workers go on watching the engines' clocks.

Standard input is a socket.  It begins with a message of JSON:

    path    sys.path of the parent
    work    "package.module:factory"
    setup   for the factory
    reaper  descriptor of the reaper's pipe, or null
    files   limit of open files for a worker
    grace   seconds for workers to end by themselves once the parent is gone

Each request follows as a slot number with three descriptors: the worker's end of its
connection, the write end of a status pipe, and a file for standard error.  The server writes
the worker's process id to the status pipe, and later its wait status.  At the end of the input
it ends its workers and exits.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

#: A process id or a wait status on the status pipe.
NUMBER = struct.Struct("q")
#: A request: the slot number.
REQUEST = struct.Struct("i")

_TERM_GRACE = 1.0


class _Server:
    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self.control = control
        self.config = config
        self.children: dict[int, int] = {}  # pid: status pipe
        self.wakeup_r, self.wakeup_w = os.pipe()
        os.set_blocking(self.wakeup_r, False)
        os.set_blocking(self.wakeup_w, False)
        signal.set_wakeup_fd(self.wakeup_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, do_nothing)
        signal.signal(signal.SIGINT, do_nothing)

    def run(self) -> None:
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wakeup_r, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self.wakeup_r in ready:
                self.reap()
            if self.control.fileno() in ready and not self.take_request():
                return

    def take_request(self) -> bool:
        """Start one worker; return False at the end of the input."""
        try:
            data, fds, _, _ = socket.recv_fds(self.control, REQUEST.size, 3)
        except ConnectionError:
            return False
        if len(data) < REQUEST.size or len(fds) < 3:
            return False
        for fd in fds:
            os.set_inheritable(fd, False)
        connection, status, stderr = fds
        pid = os.fork()
        if pid == 0:
            self.become_worker(REQUEST.unpack(data)[0], connection, status, stderr)
        for fd in (connection, stderr):
            os.close(fd)
        self.children[pid] = status
        _report(status, pid)
        return True

    def become_worker(self, slot: int, connection: int, status: int, stderr: int) -> None:
        """Become a worker in the new process; does not return."""
        code = 1
        try:
            # Linux shares CPU time among sessions first (autogroups).  Workers and engines
            # take turns, so they stay in one session, the server's.
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.control.close()
            for fd in (self.wakeup_r, self.wakeup_w, status, *self.children.values()):
                os.close(fd)
            os.dup2(stderr, 1)
            os.dup2(stderr, 2)
            os.close(stderr)
            from ringmaster.execution import worker

            config = self.config
            # The parent raised the limit for itself; engines get the user's.
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (config["files"], hard))
            code = worker.serve(slot, connection, config["reaper"], config["work"], config["setup"])
        except BaseException:
            traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)

    def reap(self) -> None:
        """Report the workers that have ended."""
        with suppress(BlockingIOError):
            os.read(self.wakeup_r, 4096)
        while self.children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            fd = self.children.pop(pid, None)
            if fd is not None:
                _report(fd, status)
                os.close(fd)

    def end(self) -> None:
        self.wait_for_children(self.config["grace"])
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.children:
                os.kill(pid, number)
            self.wait_for_children(_TERM_GRACE)

    def wait_for_children(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.wakeup_r, select.POLLIN)
        self.reap()
        while self.children and (left := deadline - time.monotonic()) > 0:
            poll.poll(left * 1000 + 1)
            self.reap()


def _report(fd: int, number: int) -> None:
    with suppress(BrokenPipeError):
        os.write(fd, NUMBER.pack(number))


def do_nothing(*_signal: object) -> None:
    """Ignore a signal; unlike SIG_IGN, engines do not inherit it."""


def main() -> None:
    """Run the fork server."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # not a byte more is read: descriptors come after the configuration
    with Connection(os.dup(control.fileno())) as connection:
        config = json.loads(connection.recv_bytes())
    server = _Server(control, config)
    sys.path[:] = config["path"]
    importlib.import_module("ringmaster.execution.worker")
    try:
        importlib.import_module(config["work"].partition(":")[0])
    except BaseException:
        pass  # Each worker meets the same exception and reports it.
    gc.collect()
    gc.freeze()
    server.run()
    control.close()
    server.end()


if __name__ == "__main__":
    main()
