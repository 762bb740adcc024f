"""Many workers in one process, for many more games at a time than there are CPUs.

A process that is woken a hundred times a second finds its caches cold and pays for it
with many times the work of the move itself; a few processes that are always busy do not.
Each worker has a seat: a task of the hub, with a work object of its own.  Two more tasks
do what is said to the parent and by it.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from ringmaster import waiting
from ringmaster.execution.messages import Messages, frame
from ringmaster.execution.worker import (
    FAULT,
    FAULTY,
    NUMBER,
    READY,
    Clerk,
    Work,
    WorkerContext,
    find_factory,
    last_traceback,
    message,
)
from ringmaster.waiting.hub import Hub, Mailbox


def serve(
    slots: range, control_fd: int, watcher_fd: int | None, work: str, setup: Mapping[str, Any]
) -> int:
    """Be the workers of some slots, as `worker.serve` is that of one."""
    faulthandler.enable()
    hub = Hub()
    room = _Room(hub, slots, control_fd)
    signal.signal(signal.SIGTERM, room.terminate)
    signal.signal(signal.SIGINT, _do_nothing)
    with waiting.by(hub):
        hub.spawn(room.listen)
        hub.spawn(room.speak)
        for slot in slots:
            context = WorkerContext(slot, control_fd, watcher_fd, setup, alone=False)
            hub.spawn(partial(room.sit, context, work))
        hub.run()
    room.close()
    return room.status


class _Room:
    """What the workers of a process have in common.

    status  with which the process is to exit
    """

    def __init__(self, hub: Hub, slots: range, control_fd: int) -> None:
        self.status = 0
        self._hub = hub
        self._connection = Messages(control_fd)
        # a descriptor of its own: it is waited for with other events
        self._way_out = socket.socket(fileno=os.dup(control_fd))
        #: Jobs for each worker; None is the end.
        self._in: dict[int, Mailbox[bytes | None]] = {slot: Mailbox(hub) for slot in slots}
        #: Messages to the parent; None when the last worker has left.
        self._out: Mailbox[bytes | None] = Mailbox(hub)
        self._seated = len(slots)
        self._is_open = True
        self._has_parent = True

    def sit(self, context: WorkerContext, work: str) -> None:
        """Be one of the workers."""
        worker: Work | None = None
        try:
            worker = find_factory(work)(context)
            clerk = Clerk(context.slot, worker)
            self._say(message(READY, context.slot))
            while self._is_open and (data := self._in[context.slot].take()) is not None:
                self._say(clerk.answer(data))
        except Exception:
            # An exception on the way out of an abandoned job is no fault.
            if self._is_open:
                self._say(message(FAULT, context.slot, last_traceback()))
                self._leave(FAULTY)
        finally:
            if worker is not None:
                worker.close()
            self._seated -= 1
            if not self._seated:
                self._out.put(None)

    def listen(self) -> None:
        """Hand out the jobs that come."""
        connection = self._connection
        poll = self._hub.new_poll()
        poll.register(connection.fileno(), select.POLLIN)
        while self._is_open:
            poll.poll()
            try:
                messages = connection.receive() if self._is_open else []
            except (EOFError, ConnectionError):
                self._leave(self.status)
                return
            for data in messages:
                self._in[NUMBER.unpack_from(data)[0]].put(data[NUMBER.size :])

    def speak(self) -> None:
        """Send what the workers say.  A parent that is slow to read holds up nobody else."""
        poll = self._hub.new_poll()
        poll.register(self._way_out.fileno(), select.POLLOUT)
        while (said := self._out.take()) is not None:
            rest = memoryview(frame(said))
            while rest and self._has_parent:
                try:
                    rest = rest[self._way_out.send(rest, socket.MSG_DONTWAIT) :]
                except BlockingIOError:
                    poll.poll()
                except OSError:
                    self._has_parent = False

    def terminate(self, _number: int, _frame: FrameType | None) -> None:
        """Have everything end as if the parent had gone (a signal handler: it may come
        in the middle of anything)."""
        self.status = 128 + signal.SIGTERM
        with suppress(OSError):
            self._way_out.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Close the connection."""
        signal.signal(signal.SIGTERM, _do_nothing)
        self._way_out.close()
        self._connection.close()

    def _say(self, text: bytes) -> None:
        if self._is_open and not self.status:
            self._out.put(text)

    def _leave(self, status: int) -> None:
        """Have all jobs abandoned, and every worker leave its seat."""
        self._is_open = False
        self.status = status
        self._hub.end_of(self._connection.fileno())
        for box in self._in.values():
            box.put(None)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass
