"""Jobs given to a worker ahead: they wait beside it while it is at another, so that it goes
on without waiting for its parent to wake up, learn of a result, and send the next.

They go through a socket of their own, whole or not at all, and both sides can take from
it: what the worker has not begun its parent takes back, when the worker is late or dead.
The connection itself stays empty during a job, for what comes there means to abandon it.
"""

from __future__ import annotations

import select
import socket
import sys
from collections import deque

from ringmaster.execution.messages import Messages

#: Bytes of a job that is given ahead, at most.
MOST_BYTES = 1 << 15
#: Workers that can be given jobs ahead, at most: where there are more, all together wait
#: for the parent.
MOST_WORKERS = 64


class Ahead:
    """The parent's side: both ends of the socket."""

    def __init__(self) -> None:
        """Raises OSError when there are no descriptors left."""
        self._near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    @staticmethod
    def is_for(slots: range) -> bool:
        """Return whether the process of these workers is to have one, and can on this
        system."""
        return len(slots) == 1 and slots.start < MOST_WORKERS and sys.platform == "linux"

    def give(self, data: bytes) -> bool:
        """Leave a job for the worker; returns False when there is no room for it, or it is
        too large."""
        if len(data) > MOST_BYTES:
            return False
        try:
            self._near.send(data, socket.MSG_DONTWAIT)
        except OSError:
            return False
        return True

    def take_back(self) -> list[bytes]:
        """Return the jobs that the worker has not begun, and will not: the last that were
        given, in order."""
        found: list[bytes] = []
        while (data := _take(self.far)) is not None:
            found.append(data)
        return found

    def close(self) -> None:
        """Close both ends; idempotent."""
        self._near.close()
        self.far.close()


class Inbox:
    """The worker's side: its next job, from its connection or from what was given ahead.

    ahead  descriptor of the worker's end, which it owns; None where nothing is
    """

    def __init__(self, connection: Messages, ahead: int | None) -> None:
        self._connection = connection
        self._messages: deque[bytes] = deque()
        self._ahead = None if ahead is None else socket.socket(fileno=ahead)
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        if self._ahead is not None:
            self._poll.register(self._ahead, select.POLLIN)

    def take(self) -> bytes:
        """Return the next job, as soon as there is one.

        Raises EOFError when the parent has closed the connection, OSError when it is gone.
        """
        while not self._messages:
            ready = [fd for fd, _ in self._poll.poll()]
            # What comes by the connection was sent when there was nothing ahead.
            if self._connection.fileno() in ready:
                self._messages.extend(self._connection.receive())
            elif self._ahead is not None and (data := _take(self._ahead)) is not None:
                return data
        return self._messages.popleft()

    def close(self) -> None:
        """Close the descriptor; idempotent.  The connection is left alone."""
        if self._ahead is not None:
            self._ahead.close()


def _take(end: socket.socket) -> bytes | None:
    """Return what comes next, None when there is nothing now."""
    try:
        return end.recv(2 * MOST_BYTES, socket.MSG_DONTWAIT) or None
    except BlockingIOError:
        return None
