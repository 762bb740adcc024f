"""The worker process: run one job after another until the parent closes the connection.

A work object runs the jobs.  The worker knows its factory by a dotted name only.

Parent and worker share one duplex connection.  The parent sends the number
of a job and the job as JSON.  The worker sends READY once, then RESULT with the job's
number and its result for every job.  During a job it may send NOTICE with a message for the
user.  When the work raises, it sends FAULT with the traceback and exits.  A closed connection
means: abandon the job, end the engines, exit.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import resource
import signal
import struct
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Protocol

import msgspec

from ringmaster.execution.affinity import pin
from ringmaster.execution.fork_server import do_nothing
from ringmaster.model.jobs import Job, WorkerContext
from ringmaster.model.results import JobResult

READY = b"+"
RESULT = b"="
NOTICE = b"?"
FAULT = b"!"

#: The number of a job in messages.
NUMBER = struct.Struct("!I")

#: Exit status of a worker whose work raised an exception.
FAULTY = 70
#: Bytes of standard error that are kept between jobs.
STDERR_LIMIT = 65536


class Work(Protocol):
    """The object that a factory returns."""

    def run(self, job: Job) -> JobResult:
        """Run a job.  An exception ends the worker, which reports the traceback."""

    def close(self) -> None:
        """End all engines; called once, at the end of the worker process."""


def serve(
    slot: int,
    control_fd: int,
    reaper_fd: int | None,
    work: str,
    setup: Mapping[str, Any],
) -> int:
    """Be the worker of a slot until the connection closes; return the exit status.

    work  name of the factory, "package.module:factory"

    Standard error must be a regular file.  Takes over `control_fd`.
    """
    faulthandler.enable()
    signal.signal(signal.SIGTERM, _terminate)
    # Ctrl-C is the parent's business.  Engines do not inherit a handler that does
    # nothing; they would inherit SIG_IGN.
    signal.signal(signal.SIGINT, do_nothing)
    connection = Connection(control_fd)
    worker: Work | None = None
    try:
        if "cpus" in setup:
            pin(setup["cpus"][slot])
        if "memory" in setup:
            # Private data: files that are mapped, such as networks and tablebases, are free.
            resource.setrlimit(resource.RLIMIT_DATA, (setup["memory"], setup["memory"]))

        def say(text: str) -> None:
            _send(connection, NOTICE + text.encode("utf-8", "backslashreplace"))

        module, _, name = work.partition(":")
        factory: Callable[[WorkerContext], Work] = getattr(importlib.import_module(module), name)
        worker = factory(WorkerContext(slot, control_fd, reaper_fd, setup, say))
        if _send(connection, READY):
            _run_jobs(connection, worker)
        return 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except Exception:
        # After an abandoned job nobody reads this.
        _send(connection, FAULT + traceback.format_exc().encode("utf-8", "backslashreplace"))
        return FAULTY
    finally:
        signal.signal(signal.SIGTERM, do_nothing)
        if worker is not None:
            worker.close()
        connection.close()


def _run_jobs(connection: Connection, worker: Work) -> None:
    """Run jobs and send their results until the parent is gone."""
    decode = msgspec.json.Decoder(Job).decode
    encode = msgspec.json.Encoder().encode
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, ConnectionError):
            return
        number, job = message[: NUMBER.size], message[NUMBER.size :]
        result = worker.run(decode(job))
        if os.fstat(2).st_size > STDERR_LIMIT:
            os.ftruncate(2, 0)
        if not _send(connection, RESULT + number + encode(result)):
            return


def _send(connection: Connection, message: bytes) -> bool:
    """Send a message; return False when the parent is gone."""
    try:
        connection.send_bytes(message)
    except ConnectionError:
        return False
    return True


def _terminate(*_signal: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)
