"""What a worker does: take a job, run it, send the result, and so on until it is told
to stop.  What a job means is left to the work object, made by a factory that is
known here by its dotted name only.

A worker has a process to itself, or is one of many in it (`seats`).  Between parent and
process there is one duplex connection (`messages`).  The parent sends one encoded job
at a time to each worker, behind the worker's number and the job's, and nothing else; more
may be left for a worker to find when it is done (`ahead`).  The worker answers with
a tag byte, its number and a text: READY once, then RESULT for each job, behind the job's
number, or FAULT and a traceback when the work raised, after which the process ends.  The
parent closing its end, for whatever reason, means: abandon the jobs, end the engines, exit.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import struct
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

import msgspec

from ringmaster.execution.affinity import pin
from ringmaster.execution.ahead import Inbox
from ringmaster.execution.messages import Messages
from ringmaster.model.jobs import Job
from ringmaster.model.results import JobResult

READY = b"+"
RESULT = b"="
FAULT = b"!"

#: The number of a worker or of a job, as it is in messages.
NUMBER = struct.Struct("!I")

#: Exit status of a worker whose work raised an exception.
FAULTY = 70
#: Standard error that is kept of one job, in bytes.
WORDS_LIMIT = 65536


@dataclass(frozen=True)
class WorkerContext:
    """What the work object is told of the process that it is in.

    slot        number of the worker, from 0; a replacement has the same
    control_fd  becomes readable when the job must be abandoned (the parent
                ended, or closes the executor).  Whatever waits during a job must
                watch it, with `waiting.new_poll`; nothing may read from it
    watcher_fd  where engines are announced to the reaper, or None
    setup       the executor's `setup`; "marker" is always in it: the value of
                RINGMASTER_RUN that every engine is to have in its environment.
                "cpus", if there, has the CPUs that each slot keeps to
    alone       whether the process has no other worker in it: its signals are free
    """

    slot: int
    control_fd: int
    watcher_fd: int | None
    setup: Mapping[str, Any]
    alone: bool


class Work(Protocol):
    """What a factory returns."""

    def run(self, job: Job) -> JobResult:
        """Carry out a job.  An exception is a fault of the program: it ends the
        worker and is reported with its traceback."""

    def close(self) -> None:
        """End all engines; called once, at the end of the worker process."""


Factory = Callable[[WorkerContext], Work]


def find_factory(work: str) -> Factory:
    """Return the factory named "package.module:factory".

    Raises ValueError when the name has another form, and whatever importing
    the module raises.
    """
    module, colon, name = work.partition(":")
    if not (module and colon and name):
        raise ValueError(f"{work!r} does not name a factory; expected 'package.module:factory'")
    factory: Factory = getattr(importlib.import_module(module), name)
    return factory


def serve(
    slots: range,
    control_fd: int,
    watcher_fd: int | None,
    work: str,
    setup: Mapping[str, Any],
    ahead_fd: int | None = None,
) -> int:
    """Be the workers of some slots until told to stop; returns the exit status of the
    process.

    ahead_fd  where a single worker finds what it was given ahead, None for nowhere

    Standard error is expected to be a regular file.  Takes over `control_fd` and
    `ahead_fd`.
    """
    if len(slots) > 1:
        from ringmaster.execution import seats

        return seats.serve(slots, control_fd, watcher_fd, work, setup)
    slot = slots[0]
    faulthandler.enable()
    signal.signal(signal.SIGTERM, _terminate)
    # Ctrl-C is the parent's to deal with.  A handler that does nothing, unlike
    # SIG_IGN, is not passed on to engines.
    signal.signal(signal.SIGINT, _do_nothing)
    connection = Messages(control_fd)
    inbox = Inbox(connection, ahead_fd)
    worker: Work | None = None
    try:
        if "cpus" in setup:
            pin(setup["cpus"][slot])
        worker = find_factory(work)(WorkerContext(slot, control_fd, watcher_fd, setup, alone=True))
        if _send(connection, message(READY, slot)):
            _loop(connection, inbox, Clerk(slot, worker))
        return 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except Exception:
        # An exception on the way out of an abandoned job is heard by nobody.
        _send(connection, message(FAULT, slot, last_traceback()))
        return FAULTY
    finally:
        signal.signal(signal.SIGTERM, _do_nothing)
        if worker is not None:
            worker.close()
        inbox.close()
        connection.close()


def message(tag: bytes, slot: int, text: bytes = b"") -> bytes:
    """Return what a worker says."""
    return tag + NUMBER.pack(slot) + text


def last_traceback() -> bytes:
    """Return the traceback of the exception that is being handled."""
    return traceback.format_exc().encode("utf-8", "backslashreplace")


class Clerk:
    """Carries out the encoded jobs of one worker."""

    def __init__(self, slot: int, work: Work) -> None:
        self._slot = slot
        self._run = work.run
        self._decode = msgspec.json.Decoder(Job).decode
        self._encode = msgspec.json.Encoder().encode

    def answer(self, data: bytes) -> bytes:
        """Carry out a job, which stands behind its number; returns the message with its
        result."""
        number, job = data[: NUMBER.size], data[NUMBER.size :]
        result = self._run(self._decode(job))
        if os.fstat(2).st_size > WORDS_LIMIT:
            os.ftruncate(2, 0)
        return message(RESULT, self._slot, number + self._encode(result))


def _loop(connection: Messages, inbox: Inbox, clerk: Clerk) -> None:
    while True:
        try:
            data = inbox.take()
        except (EOFError, ConnectionError):
            return
        if not _send(connection, clerk.answer(data[NUMBER.size :])):
            return


def _send(connection: Messages, data: bytes) -> bool:
    """Send; returns False when the parent is gone."""
    try:
        connection.send(data)
    except ConnectionError:
        return False
    return True


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + signal.SIGTERM)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass
