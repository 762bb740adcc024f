"""The process that workers are forked from: small, without threads, with the
worker's modules loaded, so that a worker starts in a millisecond and shares
its memory with the others.  Run as a program by `processes.Nursery`; knows
nothing of jobs.

It does what multiprocessing's forkserver does, in the ways a worker of
ringmaster needs: it holds no terminal and no file of its parent, does not run
the parent's main script again, does not look for modules in the current folder
(where a user's engine may be called chess.py), belongs to one executor, and
ends with it.  It leads its own session, as every worker does: Ctrl-C and Ctrl-Z
in the terminal are for the parent to deal with, and workers go on watching the
clocks of engines, which run in sessions of their own.

Its standard input is a socket.  First comes a line of JSON:

    path     sys.path of the parent
    work     "package.module:factory"
    setup    for the factory
    watcher  descriptor of the reaper's pipe, or null
    files    how many files a worker may have open
    grace    seconds that workers get to end by themselves once the parent is gone

then, for each worker process, its slot numbers with three or four descriptors: the
worker's end of its connection, the write end of a status pipe, a file for standard error,
and, if jobs can be given to it ahead, where those come.
The status pipe is told the worker's process id, and its wait status when it has
ended.  At end of file the nursery sees that its workers end, and exits.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback
from types import FrameType
from typing import Any

#: A process id or a wait status on the status pipe.
NUMBER = struct.Struct("q")
#: A request: the slot numbers, from and below.
REQUEST = struct.Struct("ii")

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
        signal.signal(signal.SIGCHLD, _do_nothing)
        signal.signal(signal.SIGINT, _do_nothing)

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
        """Start one worker; returns False at the end of the input."""
        try:
            data, fds, _, _ = socket.recv_fds(self.control, REQUEST.size, 4)
        except ConnectionError:
            return False
        if len(data) < REQUEST.size or len(fds) < 3:
            return False
        for fd in fds:
            os.set_inheritable(fd, False)
        connection, status, words, *ahead = fds
        pid = os.fork()
        if pid == 0:
            self.be_worker(range(*REQUEST.unpack(data)), connection, status, words, *ahead)
        for fd in (connection, words, *ahead):
            os.close(fd)
        self.children[pid] = status
        _report(status, pid)
        return True

    def be_worker(
        self, slots: range, connection: int, status: int, words: int, ahead: int | None = None
    ) -> None:
        """Become a worker in the new process; does not return."""
        code = 1
        try:
            # Linux shares CPU time among sessions first (autogroups).  All workers and
            # engines are in one session, the server's: a worker and its engines take turns,
            # and between two sessions each turn waits for other busy processes.
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.control.close()
            for fd in (self.wakeup_r, self.wakeup_w, status, *self.children.values()):
                os.close(fd)
            os.dup2(words, 1)
            os.dup2(words, 2)
            os.close(words)
            from ringmaster.execution import descriptors, worker

            config = self.config
            descriptors.restore(config["files"])
            code = worker.serve(
                slots, connection, config["watcher"], config["work"], config["setup"], ahead
            )
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
        try:
            os.read(self.wakeup_r, 4096)
        except BlockingIOError:
            pass
        while self.children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            fd = self.children.pop(pid, None)
            if fd is not None:
                _report(fd, status)
                os.close(fd)

    def end(self) -> None:
        """See that no worker outlives the parent."""
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
    try:
        os.write(fd, NUMBER.pack(number))
    except BrokenPipeError:
        pass


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def _read_line(control: socket.socket) -> bytes:
    """Read the line of JSON and not a byte more: descriptors come after it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        waiting = control.recv(65536, socket.MSG_PEEK)
        if not waiting:
            sys.exit(0)
        end = waiting.find(b"\n") + 1
        line += control.recv(end or len(waiting))
    return bytes(line)


def main() -> None:
    """Be the nursery."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    config = json.loads(_read_line(control))
    server = _Server(control, config)
    sys.path[:] = config["path"]
    importlib.import_module("ringmaster.execution.worker")
    importlib.import_module("ringmaster.execution.descriptors")
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
