"""Lines to and from one engine, with an absolute deadline on every exchange.

The channel moves bytes and measures time.  An exchange is one request and its answer.  A
stream is many requests that may be written ahead of their answers.  Both know a protocol
and do no input or output.  A deadline holds however much the engine prints meanwhile.
"""

from __future__ import annotations

import os
import select
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from ringmaster.engines.process import EngineProcess, ErrorOutput, read_available
from ringmaster.errors import (
    EngineCrashed,
    EngineError,
    EngineOverLimit,
    EngineProtocolError,
    EngineTimeout,
    JobAbandoned,
    cut,
)

#: Longest line in bytes; a longer one breaks the protocol.
MAX_LINE: Final = 1 << 20
#: Bytes read from a pondering engine during its opponent's move, at once and in all.
_PONDER_CHUNK: Final = 1 << 13
MAX_PONDER_OUTPUT: Final = 4 << 20

_CHUNK: Final = 1 << 16
_NEWLINE: Final = ord("\n")
#: Characters of an engine's line in a message.
_QUOTED: Final = 200
#: Longest wait of `poll` in milliseconds: this process wakes up so often, to notice a time in
#: which it did not run.
_LONGEST_POLL: Final = 500
#: Nanoseconds from one wake-up to the next above which this process has stood still.
_STANDSTILL: Final = 1_000_000_000
#: Longest pause in seconds between two reads of a stream.
_LONGEST_PAUSE: Final = 0.001
#: Reads from the pipe of a dead engine: more than a pipe can hold.
_LAST_READS: Final = 32

#: Return nanoseconds of a clock that also counts while the computer is suspended (Linux).
now_ns: Final[Callable[[], int]] = partial(
    time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)


class Exchange:
    """One request and its answer; a subclass has its own `feed` or `take`."""

    #: Bytes to write; empty for an exchange that only listens.
    request: bytes = b""

    def feed(self, line: bytes) -> bool:
        """Take one line without its end; return True when the answer is complete.

        Raises EngineProtocolError for a line that the protocol forbids.
        """
        return self.take(line + b"\n") is not None

    def take(self, lines: bytes) -> bytes | None:
        """Take whole lines; return the rest behind a complete answer, else None.

        Raises as `feed` does.  A faster implementation must equal feeding line by line.
        """
        at = 0
        while at < len(lines):
            end = lines.index(b"\n", at)
            if self.feed(lines[at:end]):
                return lines[end + 1 :]
            at = end + 1
        return None

    def describe(self) -> str:
        """Return the request as a message quotes it."""
        return quoted(self.request)


class Stream(ABC):
    """Requests that are written ahead of their answers; see `Channel.stream`.

    requests   whole lines for each answer, in order
    in_flight  limit of unanswered requests
    end        bytes behind the last request
    done       number of complete answers
    slack      number of answers that may pile up before they are read
    """

    def __init__(self, requests: Sequence[bytes], in_flight: int, end: bytes = b"") -> None:
        self._requests = requests
        self._in_flight = max(1, in_flight)
        # Refilled when half is answered: fewer writes and wake-ups.
        self._refill = max(1, self._in_flight // 2)
        self._end = end
        self._sent = 0
        # A quarter: the engine must not run out of requests.
        self.slack = self._in_flight // 4
        self.done = 0

    def more(self) -> bytes:
        """Return the next requests to write, b"" for none."""
        sent, total = self._sent, len(self._requests)
        unanswered = sent - self.done
        if sent == total or self._in_flight - unanswered < self._refill:
            return b""
        upto = self._sent = min(total, self.done + self._in_flight)
        return b"".join(self._requests[sent:upto]) + (self._end if upto == total else b"")

    @abstractmethod
    def take(self, lines: bytes) -> bytes | None:
        """Take whole lines; return more bytes to write, None after the last answer.

        Raises EngineProtocolError.
        """

    def _check_count(self) -> None:
        if self.done > self._sent:
            raise EngineProtocolError(f"it gave {self.done} answers to {self._sent} requests")


class Transcript(Protocol):
    """A log of an engine's traffic."""

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Log lines; direction is ">" (to the engine), "<" or "!" (standard error)."""


def _poll_time(left: int) -> int:
    """Return the milliseconds of the next wait, of `left` nanoseconds in all."""
    return min(max(left // 1_000_000 + 1, 0), _LONGEST_POLL)


def quoted(request: bytes) -> str:
    """Return the last line of a request as a message quotes it."""
    text = request.rstrip(b"\n").rpartition(b"\n")[2].decode("utf-8", "replace")
    return repr(cut(text, 60)) if text else "nothing"


class Channel:
    """The conversation with one engine process.

    code          player code, for messages
    interrupt_fd  readable when the job must be dropped (raises JobAbandoned)
    clock         nanoseconds, never set back

    A computer that is suspended, or a paused container, stops engine and referee alike.  This
    process notices by its late wake-up, and the time counts for no deadline and no engine.
    """

    def __init__(
        self,
        process: EngineProcess,
        code: str,
        *,
        interrupt_fd: int | None = None,
        clock: Callable[[], int] = now_ns,
    ) -> None:
        self.process = process
        self.code = code
        self.transcript: Transcript | None = None
        self.echo: Callable[[str, bytes], None] | None = None
        #: Whether an exchange has failed: later output may belong to it.
        self.has_failed = False
        #: Nanoseconds, at least, for which this process did not run during its waits; 0 for
        #: less than a second at a time.  The game loop resets it.
        self.stood_still = 0
        self._clock = clock
        self._stdout = process.stdout_fd
        #: The engine's standard error.
        self.errors = ErrorOutput(process.stderr_fd, self._note_error)
        self._interrupt = interrupt_fd
        self._exit = process.exit_fd
        #: The beginning of a line whose end has not arrived.
        self._partial = b""
        #: Lines behind the last answer, from the same read.
        self._rest = b""
        #: Lines of the last read, for messages, and its time.
        self._last_read = b""
        self._seen = 0
        #: A pondering engine's channel that is read during this one's waits, and the
        #: exchange that takes its lines.
        self._pondering: Channel | None = None
        self._pondering_exchange: Exchange | None = None
        #: Bytes that may still be read from this engine while it ponders, and the error
        #: in them, if any.
        self._ponder_bytes = 0
        self._ponder_error: EngineProtocolError | None = None
        self._stdout_poll = select.poll()
        self._stdout_poll.register(self._stdout, select.POLLIN)
        self._poll = select.poll()
        for fd in (self._stdout, self.errors.fd, interrupt_fd, self._exit):
            if fd is not None:
                self._poll.register(fd, select.POLLIN)

    def converse(self, exchange: Exchange, seconds: float, ahead_ns: int | None = None) -> int:
        """Carry out an exchange; return the nanoseconds that the engine took.

        The time runs from the moment before the last byte of the request is written (an
        engine may be done before the write returns) to the read of the answer's last line.

        ahead_ns  nanoseconds of the exchange before, if this request was written with it;
                  None writes the request now.  Time counts from the previous answer, or
                  from the common write if part of this answer came with that answer

        Raises EngineTimeout after `seconds`, EngineCrashed, EngineProtocolError, JobAbandoned.
        """
        start = beat = self._clock()
        stdout = self._stdout
        try:
            if ahead_ns is not None:
                lines, self._rest = self._rest, b""
                start = beat = self._seen
                if lines or self._partial:
                    start -= ahead_ns
                    rest = exchange.take(lines)
                    if rest is not None:
                        self._rest = rest
                        return self._seen - start
            elif exchange.request:
                start = beat = self.send(exchange.request, seconds)
            deadline = start + int(seconds * 1e9)
            timeout = min(int(seconds * 1000) + 1, _LONGEST_POLL)
            while True:
                for fd, _ in self._poll.poll(timeout):
                    if fd == stdout:
                        if self._is_answered(exchange, self._read_lines()):
                            return self._seen - start - self._standstill(self._seen - beat)
                    elif fd == self._exit:
                        self._read_last(partial(self._is_answered, exchange))
                        return self._seen - start - self._standstill(self._seen - beat)
                    else:
                        self._handle_other(fd)
                now = self._clock()
                gap = self._standstill(now - beat)
                start, deadline, beat = start + gap, deadline + gap, now
                if now >= deadline:
                    raise EngineTimeout(f"no answer to {exchange.describe()} in {seconds:g} s")
                timeout = _poll_time(deadline - now)
        except EngineCrashed as error:
            self.has_failed = True
            after = (self._clock() - start) / 1e9
            request = exchange.describe()
            raise EngineCrashed(f"{error}, {after:.3f} s after {request}", self.code) from None
        except EngineError as error:
            self.has_failed = True
            # An exchange does not know the player.
            error.code = error.code or self.code
            raise

    def stream(self, stream: Stream, seconds: float) -> None:
        """Carry out a stream; each answer has `seconds` after the one before it.

        Never waits to write while there is input, so neither side can block the other.
        Raises as `converse` does.
        """
        patience = int(seconds * 1e9)
        stdin = self.process.stdin_fd
        try:
            self.unasked()
            start = now = self._clock()
            deadline, first = start + patience, stream.done
            done, lines = first, b""
            rest = self._write_now(self._noted(stream.more()))
            while True:
                for fd, _ in self._poll.poll(_poll_time(deadline - now)):
                    if fd == self._stdout:
                        lines = self._read_lines()
                        self._check_partial()
                        if lines:
                            more = stream.take(lines)
                            if more is None:
                                return
                            if more:
                                rest = self._write_now(rest + self._noted(more))
                    elif fd == stdin:
                        rest = self._write_now(rest)
                    elif fd == self._exit:
                        return self._read_last(
                            lambda lines: bool(lines) and stream.take(lines) is None
                        )
                    else:
                        self._handle_other(fd)
                beat, now = now, self._clock()
                deadline += self._standstill(now - beat)
                if stream.done != done:
                    done, deadline = stream.done, now + patience
                    if stream.slack and len(lines) < _CHUNK // 4:
                        # Waking up for every line costs both sides more than the line.
                        each = (now - start) / (done - first) / 1e9
                        time.sleep(min(stream.slack * each, _LONGEST_PAUSE))
                elif now >= deadline:
                    raise EngineTimeout(f"no answer in {seconds:g} s")
        except EngineError as error:
            self.has_failed = True
            error.code = error.code or self.code
            raise
        finally:
            self._unregister(stdin)

    def _noted(self, request: bytes) -> bytes:
        if self.transcript is not None:
            self.transcript.note(self.code, ">", request.rstrip(b"\n"))
        return request

    def _write(self, data: bytes) -> bytes:
        """Write as much as the pipe takes and return the rest."""
        try:
            return data[os.write(self.process.stdin_fd, data) :]
        except BlockingIOError:
            return data
        except OSError:
            raise self._crashed() from None

    def _write_now(self, data: bytes) -> bytes:
        """Write as much as the pipe takes and return the rest, for which `poll` waits."""
        rest = self._write(data) if data else b""
        if rest:
            self._poll.register(self.process.stdin_fd, select.POLLOUT)
        else:
            self._unregister(self.process.stdin_fd)
        return rest

    def attend(self, other: Channel, exchange: Exchange) -> None:
        """Read another, pondering engine during this one's waits, so that no full pipe
        stops it; its lines go to `exchange`.

        It is read in small pieces, after this engine's own output, up to a limit.  Errors
        in its lines are raised at its own next request.
        """
        self.leave()
        self._pondering, self._pondering_exchange = other, exchange
        other._ponder_bytes = MAX_PONDER_OUTPUT
        for fd in (other._stdout, other.errors.fd):
            if fd is not None:
                self._poll.register(fd, select.POLLIN)

    def leave(self) -> None:
        """End `attend`; idempotent."""
        other, self._pondering = self._pondering, None
        self._pondering_exchange = None
        if other is not None:
            for fd in (other._stdout, other.errors.fd):
                self._unregister(fd)

    def _unregister(self, fd: int | None) -> None:
        if fd is not None:
            with suppress(KeyError):
                self._poll.unregister(fd)

    def _read_pondering(self, fd: int, exchange: Exchange) -> bool:
        """Read a piece of this pondering engine's output; return whether to read on."""
        if fd == self.errors.fd:
            self.errors.read()
            return self.errors.fd is not None
        chunk = read_available(fd, _PONDER_CHUNK)
        if chunk is None:
            return True
        self._ponder_bytes -= len(chunk)
        lines = self._complete(chunk)
        try:
            if lines and exchange.take(lines) is not None:
                return False
        except EngineProtocolError as error:
            self._ponder_error = error
            return False
        # The end of the stream is noticed at its next request.
        return bool(chunk) and self._ponder_bytes > 0 and len(self._partial) <= MAX_LINE

    def _standstill(self, elapsed: int) -> int:
        """Return and record the nanoseconds, at least, for which this process did not run.

        elapsed  nanoseconds since its last wake-up
        """
        if elapsed <= _STANDSTILL:
            return 0
        gap = elapsed - _LONGEST_POLL * 1_000_000
        self.stood_still += gap
        return gap

    def _read_last(self, is_complete: Callable[[bytes], bool]) -> None:
        """Read the last output of a process that has exited.

        is_complete  takes whole lines, b"" for none; returns whether they complete the answer

        Raises EngineCrashed without a complete answer.
        """
        # A child may hold the pipe open, so that its end never comes.
        for _ in range(_LAST_READS):
            chunk = read_available(self._stdout)
            if not chunk:
                break
            self._seen = self._clock()
            if is_complete(self._complete(chunk)):
                return
        raise self._crashed()

    def _is_answered(self, exchange: Exchange, lines: bytes) -> bool:
        """Feed lines to an exchange; return whether its answer is complete."""
        if lines and (rest := exchange.take(lines)) is not None:
            self._rest = rest
            return True
        if self._partial:
            self._check_partial()
        return False

    def _read_lines(self) -> bytes:
        """Read once; return the lines that are complete now.

        Raises EngineCrashed at the end of the output.
        """
        chunk = read_available(self._stdout)
        if chunk is None:
            return b""
        self._seen = self._clock()
        if not chunk:
            raise self._crashed()
        if self._partial or self.transcript is not None or chunk[-1] != _NEWLINE:
            lines = self._complete(chunk)
            # Only the first line can have begun before this read.
            if len(lines) > MAX_LINE and lines.find(b"\n") > MAX_LINE:
                raise self._too_long()
            return lines
        self._last_read = chunk
        return chunk

    def _complete(self, chunk: bytes) -> bytes:
        """Return the lines that a new chunk completes; keep the beginning of the next."""
        if self._partial:
            chunk = self._partial + chunk
        end = chunk.rfind(b"\n") + 1
        self._partial = chunk[end:]
        if not end:
            return b""
        self._last_read = lines = chunk[:end]
        if self.transcript is not None:
            self.transcript.note(self.code, "<", lines[:-1])
        return lines

    def _check_partial(self) -> None:
        if len(self._partial) > MAX_LINE:
            raise self._too_long()

    def _too_long(self) -> EngineProtocolError:
        self._partial = b""
        return EngineProtocolError(f"a line of more than {MAX_LINE} bytes", self.code)

    def unasked(self) -> bytes:
        """Drop and return the output since the last answer, without white space around it."""
        text = self._rest + self._partial
        if self._partial and self.transcript is not None:
            self.transcript.note(self.code, "<", self._partial)
        self._partial = self._rest = b""
        # Bounded: an engine may print for ever.
        for _ in range(16):
            # Cheaper than a failed read; this runs before every move.
            chunk = read_available(self._stdout) if self._stdout_poll.poll(0) else None
            if not chunk:
                break
            if self.transcript is not None:
                self.transcript.note(self.code, "<", chunk.rstrip(b"\n"))
            text += chunk
        return text.strip()

    def send(self, data: bytes, seconds: float) -> int:
        """Write `data`; return when the writing of its last byte began.

        Raises EngineTimeout when the engine does not read it, EngineCrashed when it is gone.
        """
        if self._ponder_error is not None:
            error, self._ponder_error = self._ponder_error, None
            raise error
        if self.transcript is not None:
            self._noted(data)
        start = self._clock()
        rest = self._write(data)
        return self._send_rest(rest, seconds) if rest else start

    def _send_rest(self, rest: bytes, seconds: float) -> int:
        """Write to a full pipe and read meanwhile; return as `send` does.

        The engine may wait for its output to be read before it reads on.
        """
        start = now = self._clock()
        deadline = start + int(seconds * 1e9)
        stdin = self.process.stdin_fd
        self._poll.register(stdin, select.POLLOUT)
        try:
            while rest:
                for fd, _ in self._poll.poll(_poll_time(deadline - now)):
                    if fd == stdin:
                        start = self._clock()
                        rest = self._write(rest)
                    elif fd == self._stdout:
                        chunk = read_available(fd)
                        if chunk == b"":
                            raise self._crashed()
                        self._partial = (self._partial + (chunk or b""))[-MAX_LINE:]
                    elif fd == self._exit:
                        raise self._crashed()
                    else:
                        self._handle_other(fd)
                beat, now = now, self._clock()
                deadline += self._standstill(now - beat)
                if rest and now >= deadline:
                    raise EngineTimeout(f"it read no input for {seconds:g} s", self.code)
        finally:
            self._poll.unregister(stdin)
        return start

    def _handle_other(self, fd: int) -> None:
        """Handle input that is not this engine's standard output."""
        if fd == self._interrupt:
            raise JobAbandoned("the run ends")
        other = self._pondering
        if other is not None and fd in (other._stdout, other.errors.fd):
            assert self._pondering_exchange is not None
            if not other._read_pondering(fd, self._pondering_exchange):
                self._unregister(fd)
            return
        self.errors.read()
        if self.errors.fd is None:
            self._unregister(fd)

    def _note_error(self, lines: bytes) -> None:
        if self.transcript is not None:
            self.transcript.note(self.code, "!", lines)
        if self.echo is not None:
            self.echo(self.code, lines)

    def last_line(self) -> str:
        """Return the engine's last line, cut for a message, "" without one."""
        line = self._last_read.rstrip().rpartition(b"\n")[2]
        text = line[: 4 * _QUOTED].decode("utf-8", "replace").strip()
        return cut(text, _QUOTED)

    def _crashed(self) -> EngineError:
        """Return the error for an engine that closed a pipe, with its exit status."""
        if self.process.wait(0.5, keep_output=True):
            self.errors.drain()
            if self.process.contained.excess:
                return EngineOverLimit(self.process.contained.excess, self.code)
            return EngineCrashed(f"it exited with {self.process.exit_status()}", self.code)
        return EngineCrashed("it closed its standard input or output", self.code)
