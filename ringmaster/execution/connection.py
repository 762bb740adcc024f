"""Jobs that are queued ahead for one worker.

Messages go through a `Connection` of multiprocessing.  `JobQueue` (executor) and `Inbox`
(worker) add a second socket for jobs that are queued ahead.  A worker finds its next job
there without waiting for its parent to wake up.  Both sides can read from that socket, so
the parent takes back jobs that a late or dead worker has not begun.  The connection itself
stays empty during a job: input there ends the job.
"""

from __future__ import annotations

import select
import socket
import sys
from multiprocessing.connection import Connection

#: Largest job in bytes that is queued ahead.
MAX_QUEUED_BYTES = 1 << 15
#: Executors with more workers queue no jobs ahead: their workers wait for the parent anyway.
MAX_QUEUES = 64


class JobQueue:
    """Jobs queued ahead for one worker, as the executor sees them.

    worker_end  the worker's socket
    """

    def __init__(self) -> None:
        """Raises OSError when there are no descriptors left."""
        self._near, self.worker_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    @staticmethod
    def is_available(slot: int) -> bool:
        """Return whether the worker with this number gets a queue on this system."""
        return slot < MAX_QUEUES and sys.platform == "linux"

    def put(self, job: bytes) -> bool:
        """Queue a job; return False when it is too large or there is no room."""
        if len(job) > MAX_QUEUED_BYTES:
            return False
        try:
            self._near.send(job, socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def take_back(self) -> list[bytes]:
        """Remove and return, in order, the jobs that the worker has not begun."""
        jobs: list[bytes] = []
        while (job := _receive_now(self.worker_end)) is not None:
            jobs.append(job)
        return jobs

    def close(self) -> None:
        """Close both ends; idempotent."""
        self._near.close()
        self.worker_end.close()


class Inbox:
    """Jobs for a worker, from its connection or from its queue.

    queue_fd  the worker's end of a `JobQueue`, which the inbox owns; None without a queue
    """

    def __init__(self, connection: Connection, queue_fd: int | None) -> None:
        self._connection = connection
        self._queue = None if queue_fd is None else socket.socket(fileno=queue_fd)
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        if self._queue is not None:
            self._poll.register(self._queue, select.POLLIN)

    def take(self) -> bytes:
        """Wait for the next job and return it.

        Raises EOFError when the parent has closed the connection, OSError when it is gone.
        """
        while True:
            ready = [fd for fd, _ in self._poll.poll()]
            # The connection goes first: its job was sent while the queue was empty.
            if self._connection.fileno() in ready:
                return self._connection.recv_bytes()
            if self._queue is not None and (job := _receive_now(self._queue)) is not None:
                return job


def _receive_now(end: socket.socket) -> bytes | None:
    """Return the next job without waiting, None when there is none."""
    try:
        return end.recv(2 * MAX_QUEUED_BYTES, socket.MSG_DONTWAIT) or None
    except BlockingIOError:
        return None
