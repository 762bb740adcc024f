"""Exit statuses, and text for standard output and standard error.

No stream that is closed, full, unread or of another encoding raises more than StoreUnwritable.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import time
from contextlib import suppress
from typing import Any, TextIO

from ringmaster.errors import StoreUnwritable, visible
from ringmaster.reporting.outlet import Outlet, outlet_of, terminal_size, through
from ringmaster.reporting.text import ENCODING_ERRORS

#: Exit statuses: 0 done, 1 a reported error, 2 usage, 3 interrupted, 4 an internal error.
DONE, REPORTED, USAGE, INTERRUPTED, INTERNAL = range(5)
#: Seconds that the end of a run waits for a terminal or a pipe that nobody reads.
PATIENCE = 2.0
#: Errors of an output that nobody reads any more: a pipe without a reader, a terminal that hung
#: up, a stream that was closed from the beginning.
_NO_READER = (errno.EPIPE, errno.EIO, errno.EBADF)


class _Errors(io.FileIO):
    """Standard error.  There is no place to report that it cannot be written."""

    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return len(data)


def prepare_streams() -> None:
    """Make the standard streams exist and accept every character."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            # no other file may get the number; writing to it fails as before
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
    # Python has no stream where there was no file
    sys.stdin = sys.stdin or open(0, closefd=False)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ENCODING_ERRORS)
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Errors(2, "w", closefd=False)),
        encoding=sys.stdout.encoding if sys.stderr is None else sys.stderr.encoding,
        errors=ENCODING_ERRORS,
        line_buffering=True,
    )


def never_wait() -> None:
    """Let the standard streams of the process drop what nobody reads, rather than wait."""
    if not (_has_fd(sys.stdout, 1) and _has_fd(sys.stderr, 2)):
        return
    output = errors = Outlet(1)
    if not os.path.samestat(os.fstat(1), os.fstat(2)):
        errors = Outlet(2)
    sys.stdout, sys.stderr = through(output, sys.stdout), through(errors, sys.stderr)


def _has_fd(stream: TextIO, fd: int) -> bool:
    try:
        return stream.fileno() == fd
    except OSError:
        return False


def close_streams(status: int) -> int:
    """Write what was printed; return the exit status: REPORTED for DONE if that is impossible."""
    deadline = time.monotonic() + PATIENCE
    failure = _close(sys.stdout, deadline)
    if failure is not None and failure.errno not in _NO_READER:
        complain(f"cannot write the output: {failure.strerror}")
        status = status or REPORTED
    _close(sys.stderr, deadline)
    return status


def _close(stream: TextIO, deadline: float) -> OSError | None:
    """Write the rest of a stream; return the error that prevented it."""
    try:
        stream.flush()
    except OSError as error:
        # Python writes the rest once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    outlet = outlet_of(stream)
    if outlet is None:
        return None
    outlet.settle(deadline - time.monotonic())
    return outlet.failure


def columns() -> int | None:
    """Return the columns of the terminal that standard output is, None for another output."""
    return terminal_size(sys.stdout)[0] if sys.stdout.isatty() else None


def complain(message: str) -> None:
    """Print a message of the program to standard error."""
    note(f"ringmaster: {message}")


def note(text: str) -> None:
    """Print lines to standard error, with escapes for what a terminal obeys."""
    print(visible(text), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print to standard output.  Raises StoreUnwritable if the output cannot be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreUnwritable(f"cannot write the output: {error.strerror}") from error


def say_data(data: dict[str, Any]) -> None:
    """Print data as JSON."""
    import json

    say(json.dumps(data, indent=2) + "\n")
