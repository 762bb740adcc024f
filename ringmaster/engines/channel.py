"""Lines to and from one engine, with an absolute deadline on every exchange.

The channel moves the bytes, measures the time from the moment before the last byte
is written to the first sight of the answer, and raises when the deadline passes,
however much the engine prints meanwhile.  Lines and buffers are bounded; standard error is
drained along the way and its last lines kept.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from ringmaster import waiting
from ringmaster.engines import tick
from ringmaster.engines.error_output import ErrorOutput
from ringmaster.engines.exchange import Exchange, Stream, Transcript
from ringmaster.engines.process import EngineProcess
from ringmaster.errors import (
    EngineCrashed,
    EngineError,
    EngineProtocolError,
    EngineTimeout,
    JobAbandoned,
)

#: A longer line than this (bytes) is not a protocol any more.
MAX_LINE: Final = 1 << 20

_CHUNK: Final = 1 << 16
#: What the allocator has at hand.
_LITTLE: Final = 960
_NEWLINE: Final = ord("\n")
#: Bytes read at once of an engine that is not waited for, and in all.
_CHUNK_ASIDE: Final = 1 << 13
MAX_ASIDE: Final = 4 << 20
#: Characters of an engine's line that go into a message.
_QUOTED: Final = 200
#: Milliseconds that `poll` can be asked to wait at most.
_LONGEST_POLL: Final = (1 << 31) - 1
#: Seconds that an engine is left alone at most between two reads of a stream.
_LONGEST_REST: Final = 0.001
#: Nanoseconds in which an answer is expected without asking whether there is any, and the
#: least seconds that an engine must have for that.
_SOON: Final = 20_000_000
_SOON_LEAST: Final = 0.1
#: Reads from the pipe of a dead engine: more than a pipe can hold.
_LAST_READS: Final = 32


@mypyc_attr(allow_interpreted_subclasses=True)
class Channel:
    """The conversation with one engine process.

    code          player code, for messages
    interrupt_fd  readable when the job must be dropped (raises JobAbandoned)
    clock         nanoseconds, monotonic
    """

    def __init__(
        self,
        process: EngineProcess,
        code: str,
        *,
        interrupt_fd: int | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.process = process
        self.code = code
        self.transcript: Transcript | None = None
        self.echo: Callable[[str, bytes], None] | None = None
        #: Whether an exchange has failed: what comes next may belong to it.
        self.has_failed = False
        self._clock = clock
        self._stdout = process.stdout_fd
        self._errors = ErrorOutput(process.stderr_fd, self._note_error)
        self._interrupt = interrupt_fd
        #: Bytes that are asked for when an answer is expected at once; for more of them
        #: making room takes as long as reading.
        self._usual = _LITTLE
        self._partial = b""
        #: Lines that came in the same read as the last answer, after it.
        self._rest = b""
        #: Lines of the last read, for messages.
        self._heard = b""
        #: Another engine's channel that is read while this one is waited for, and
        #: where its lines go.
        self._attended: Channel | None = None
        self._attended_exchange: Exchange | None = None
        #: Bytes that may still be read while another engine is waited for, and what
        #: was wrong with them.
        self._aside_left = 0
        self._aside_error: EngineProtocolError | None = None
        #: What answers that come at once are read with, where this process has it.
        self._tick = tick.running() if clock == time.monotonic_ns else None
        if self._tick is not None:
            os.set_blocking(self._stdout, True)
        self._poll = waiting.new_poll()
        self._when_seen = waiting.seen_by(self._poll, clock)
        self._exit = process.exit_fd
        for fd in (self._stdout, self._errors.fd, interrupt_fd, self._exit):
            if fd is not None:
                self._poll.register(fd, select.POLLIN)

    def converse(self, exchange: Exchange, seconds: float, ahead: int | None = None) -> int:
        """Carry out an exchange; returns the nanoseconds the engine took.

        The time runs from the moment before the last byte of the request is
        written (an engine may be done before the write returns) to the first sight
        of the line that completes the answer.  Raises EngineTimeout after
        `seconds`, EngineCrashed, EngineProtocolError, JobAbandoned.

        ahead  what this returned for the exchange before, whose request this one's
               was written with; None for a request that is still to be written.
               The time runs from the sight of the answer before, or, if any of
               this answer came with it, from the writing of both
        """
        start = self._clock()
        stdout = self._stdout
        soon = self._tick if self._attended is None and seconds >= _SOON_LEAST else None
        asks = ahead is None and len(exchange.request) > 0
        try:
            if ahead is not None:
                came, self._rest = self._rest, b""
                start = self._seen
                if came or self._partial:
                    start -= ahead
                    behind = exchange.take(came)
                    if behind is not None:
                        self._rest = behind
                        return self._seen - start
            elif asks and soon is None:
                start = self.send(exchange.request, seconds)
            patience = min(int(seconds * 1000) + 1, _LONGEST_POLL)
            if soon is not None:
                chunk: bytes | None
                if asks:
                    start, chunk = self._ask(exchange.request, seconds, soon)
                else:
                    chunk = self._hear(soon)
                if self._answered_soon(exchange, chunk, soon, start + _SOON):
                    return self._seen - start
                patience = self._patience(start + int(seconds * 1e9))
            while True:
                exited = False
                for fd, _ in self._poll.poll(patience):
                    if fd == stdout:
                        if self._answered(exchange, self._read_lines()):
                            return self._seen - start
                    elif fd == self._exit:
                        exited = True
                    else:
                        self._handle_other(fd)
                if exited:
                    return self._read_last_answer(exchange) - start
                deadline = start + int(seconds * 1e9)
                if self._clock() >= deadline:
                    raise EngineTimeout(f"no answer to {exchange.describe()} in {seconds:g} s")
                patience = self._patience(deadline)
        except EngineCrashed as error:
            self.has_failed = True
            after = (self._clock() - start) / 1e9
            asked = exchange.describe()
            raise EngineCrashed(f"{error}, {after:.3f} s after {asked}", self.code) from None
        except EngineError as error:
            self.has_failed = True
            # an exchange does not know whose it is
            error.code = error.code or self.code
            raise

    def stream(self, stream: Stream, seconds: float) -> None:
        """Carry out a stream of requests; no answer may take longer than `seconds`
        after the one before it, whatever is printed meanwhile.

        Never waits to write while there is something to read, so that neither side
        can hold up the other.  Raises as `converse` does.
        """
        try:
            self.discard_input()
            self._carry(stream, int(seconds * 1e9))
        except EngineError as error:
            self.has_failed = True
            error.code = error.code or self.code
            raise

    def _carry(self, stream: Stream, patience: int) -> None:
        stdout, poll = self._stdout, self._poll
        exit_fd, stdin = self._exit, self.process.stdin_fd
        start = self._clock()
        deadline, first = start + patience, stream.done
        done, lines = first, b""
        rest = self._write_now(memoryview(self._noted(stream.begin())))
        try:
            while True:
                for fd, _ in poll.poll(self._patience(deadline)):
                    if fd == stdout:
                        lines = self._read_lines()
                        self._check_partial()
                        if lines:
                            more = stream.take(lines)
                            if more is None:
                                return
                            if more:
                                more = bytes(rest) + self._noted(more)
                                rest = self._write_now(memoryview(more))
                    elif fd == stdin:
                        rest = self._write_now(rest)
                    elif fd == exit_fd:
                        return self._take_last(stream)
                    else:
                        self._handle_other(fd)
                if stream.done != done:
                    now = self._clock()
                    done, deadline = stream.done, now + patience
                    if stream.slack and len(lines) < _CHUNK // 4:
                        # Being woken for every line that an engine prints costs both
                        # sides more than the line.
                        each = (now - start) / (done - first) / 1e9
                        waiting.sleep(min(stream.slack * each, _LONGEST_REST))
                elif self._clock() >= deadline:
                    raise EngineTimeout(f"no answer in {patience / 1e9:g} s")
        finally:
            self._forget(stdin)

    def _take_last(self, stream: Stream) -> None:
        """Read what a process that has exited left; raises EngineCrashed unless that
        completes the stream."""
        for _ in range(_LAST_READS):
            if not tick.has_input(self._stdout):
                break
            lines = self._read_lines()
            if lines and stream.take(lines) is None:
                return
        raise self._crashed()

    def _noted(self, request: bytes) -> bytes:
        if self.transcript is not None:
            self.transcript.note(self.code, ">", request.rstrip(b"\n"))
        return request

    def _write_now(self, data: memoryview) -> memoryview:
        """Write what the pipe takes and return the rest; `poll` tells from then on
        when it takes more, if there is a rest."""
        stdin = self.process.stdin_fd
        try:
            if data:
                written = os.write(stdin, data)
                data = data[written:]
        except BlockingIOError:
            pass
        except (OSError, ValueError):
            raise self._crashed() from None
        if data:
            self._poll.register(stdin, select.POLLOUT)
        else:
            self._forget(stdin)
        return data

    def attend(self, other: Channel, exchange: Exchange) -> None:
        """Read what another engine says while this one is waited for, so that it
        is not held up by a full pipe; its lines go to `exchange`.

        What is wrong with them is raised when the other is spoken to.  It is read
        in small pieces, after this engine's own output, and not without bound.
        """
        self.leave()
        self._attended, self._attended_exchange = other, exchange
        other._aside_left = MAX_ASIDE
        for fd in (other._stdout, other._errors.fd):
            if fd is not None:
                self._poll.register(fd, select.POLLIN)

    def leave(self) -> None:
        """End what `attend` began; idempotent."""
        other, self._attended = self._attended, None
        self._attended_exchange = None
        if other is not None:
            for fd in (other._stdout, other._errors.fd):
                self._forget(fd)

    def _forget(self, fd: int | None) -> None:
        try:
            if fd is not None:
                self._poll.unregister(fd)
        except KeyError:
            pass

    def _read_aside(self, fd: int, exchange: Exchange) -> bool:
        """Take a piece of what this engine says while another one is waited for;
        returns whether there is any point in going on."""
        if fd == self._errors.fd:
            if not self._errors.read():
                self._forget(fd)
                self._errors.fd = None
                return False
            return True
        try:
            chunk = os.read(fd, _CHUNK_ASIDE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._aside_left -= len(chunk)
        lines = self._whole_lines(chunk)
        try:
            if lines and exchange.take(lines) is not None:
                return False
        except EngineProtocolError as error:
            self._aside_error = error
            return False
        # the end of the stream is found out when it is spoken to
        return bool(chunk) and self._aside_left > 0 and len(self._partial) <= MAX_LINE

    def _patience(self, deadline: int) -> int:
        """Return the milliseconds to a deadline as `poll` takes them."""
        return min(max((deadline - self._clock()) // 1_000_000 + 1, 0), _LONGEST_POLL)

    def _read_last_answer(self, exchange: Exchange) -> int:
        """Read what a process that has exited left in its pipe: a child of it
        may hold the pipe open, so that no end of the stream would ever come.

        Returns when the answer was seen.  Raises EngineCrashed without one.
        """
        for _ in range(_LAST_READS):
            if not tick.has_input(self._stdout):
                break
            if self._answered(exchange, self._read_lines()):
                return self._seen
        raise self._crashed()

    def _answered(self, exchange: Exchange, lines: bytes) -> bool:
        """Let an exchange take lines; returns whether its answer is complete."""
        if lines and (rest := exchange.take(lines)) is not None:
            # stale, unless a protocol forbids to say anything unasked
            self._rest = rest
            return True
        if self._partial:
            self._check_partial()
        return False

    def _answered_soon(
        self, exchange: Exchange, chunk: bytes | None, reader: tick.Tick, until: int
    ) -> bool:
        """Let an exchange take what has been read, None for nothing, and what comes without
        a pause, to the time `until` at most; returns whether its answer is complete."""
        while chunk is not None:
            if len(chunk) == self._usual:
                self._usual = _CHUNK
            if self._answered(exchange, self._lines_of(chunk)):
                return True
            if self._seen >= until:
                return False
            chunk = self._hear(reader)
        return False

    def _hear(self, reader: tick.Tick) -> bytes | None:
        """Read what comes without a pause, None when nothing does."""
        self._seen, chunk = reader.hear(self._stdout, self._usual)
        return chunk

    def _ask(self, request: bytes, seconds: float, reader: tick.Tick) -> tuple[int, bytes | None]:
        """Write a request and read at once; returns what `send` and `_hear` do."""
        self._check_aside(request)
        stdin, stdout = self.process.stdin_fd, self._stdout
        start, written, self._seen, chunk = reader.ask(stdin, request, stdout, self._usual)
        if written < 0:
            raise self._crashed()
        if written < len(request):
            return self._send_rest(memoryview(request)[written:], seconds), self._hear(reader)
        return start, chunk

    def _read_lines(self) -> bytes:
        """Read what there is and return the lines that are complete with it, b"" for
        none.  Raises EngineCrashed at the end of the output."""
        try:
            chunk = os.read(self._stdout, _CHUNK)
        except BlockingIOError:
            return b""
        self._seen = self._when_seen()
        return self._lines_of(chunk)

    def _lines_of(self, chunk: bytes) -> bytes:
        """Return the lines that are complete with what has just been read."""
        if not chunk:
            raise self._crashed()
        if self._partial or self.transcript is not None or chunk[-1] != _NEWLINE:
            lines = self._whole_lines(chunk)
            # only the first can have begun before this read
            if len(lines) > MAX_LINE and lines.find(b"\n") > MAX_LINE:
                raise self._too_long()
            return lines
        self._heard = chunk
        return chunk

    def _check_partial(self) -> None:
        if len(self._partial) > MAX_LINE:
            raise self._too_long()

    def _too_long(self) -> EngineProtocolError:
        self._partial = b""
        return EngineProtocolError(f"a line of more than {MAX_LINE} bytes", self.code)

    def _whole_lines(self, chunk: bytes) -> bytes:
        """Return the lines that are complete with what has just been read, each with
        its end; the beginning of the next one is kept."""
        if self._partial:
            chunk = self._partial + chunk
        end = chunk.rfind(b"\n") + 1
        self._partial = chunk[end:]
        if not end:
            return b""
        self._heard = lines = chunk[:end]
        if self.transcript is not None:
            self.transcript.note(self.code, "<", lines[:-1])
        return lines

    def unasked(self) -> bytes:
        """Return what the engine has printed since its last answer, b"" for
        nothing but white space; it is dropped."""
        chunk = self._read_pending() if tick.has_input(self._stdout) else b""
        found = (self._rest + self._partial + chunk).strip()
        self._partial = self._rest = b""
        return found

    def discard_input(self) -> None:
        """Drop what the engine has printed since its last answer."""
        self._partial = b""
        # bounded, so that an endless printer cannot hold us here
        for _ in range(16):
            if not tick.has_input(self._stdout) or len(self._read_pending()) < _CHUNK:
                break

    def _read_pending(self) -> bytes:
        """Return what can be read without waiting, b"" for nothing."""
        try:
            chunk = os.read(self._stdout, _CHUNK)
        except BlockingIOError:
            return b""
        if self.transcript is not None and chunk:
            self.transcript.note(self.code, "<", chunk.rstrip(b"\n"))
        return chunk

    def send(self, data: bytes, seconds: float) -> int:
        """Write `data`; returns when its last byte began to be written.

        Raises EngineTimeout when the engine does not read it, EngineCrashed when it
        is gone.
        """
        self._check_aside(data)
        start = self._clock()
        try:
            written = os.write(self.process.stdin_fd, data)
        except BlockingIOError:
            written = 0
        except (BrokenPipeError, ValueError, OSError):
            raise self._crashed() from None
        if written < len(data):
            return self._send_rest(memoryview(data)[written:], seconds)
        return start

    def _check_aside(self, request: bytes) -> None:
        """Raise what was wrong while another engine was waited for; note a request."""
        if self._aside_error is not None:
            error, self._aside_error = self._aside_error, None
            raise error
        if self.transcript is not None:
            self.transcript.note(self.code, ">", request.rstrip(b"\n"))

    def _send_rest(self, rest: memoryview, seconds: float) -> int:
        """Write to a full pipe while reading what the engine prints: it may be
        waiting for us to read before it reads on.  Returns as `send` does."""
        start = self._clock()
        deadline = start + int(seconds * 1e9)
        stdin = self.process.stdin_fd
        self._poll.register(stdin, select.POLLOUT)
        try:
            while rest:
                for fd, _ in self._poll.poll(self._patience(deadline)):
                    if fd == stdin:
                        start = self._clock()
                        try:
                            written = os.write(fd, rest)
                            rest = rest[written:]
                        except BlockingIOError:
                            continue
                        except OSError:
                            raise self._crashed() from None
                    elif fd == self._stdout:
                        chunk = os.read(fd, _CHUNK)
                        if not chunk:
                            raise self._crashed()
                        self._partial = (self._partial + chunk)[-MAX_LINE:]
                    elif fd == self._exit:
                        raise self._crashed()
                    else:
                        self._handle_other(fd)
                if rest and self._clock() >= deadline:
                    raise EngineTimeout(f"it read no input for {seconds:g} s", self.code)
        finally:
            self._poll.unregister(stdin)
        return start

    def _handle_other(self, fd: int) -> None:
        if fd == self._interrupt:
            raise JobAbandoned("told to stop")
        other = self._attended
        if other is not None and fd in (other._stdout, other._errors.fd):
            assert self._attended_exchange is not None
            if not other._read_aside(fd, self._attended_exchange):
                self._forget(fd)
            return
        if not self._errors.read():
            self._poll.unregister(fd)
            self._errors.fd = None

    def _note_error(self, lines: bytes) -> None:
        if self.transcript is not None:
            self.transcript.note(self.code, "!", lines)
        if self.echo is not None:
            self.echo(self.code, lines)

    def last_line(self) -> str:
        """Return the last line that the engine has said, as a message quotes it,
        "" if there was none."""
        line = self._heard.rstrip().rpartition(b"\n")[2]
        text = line[: 4 * _QUOTED].decode("utf-8", "replace").strip()
        return text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…"

    def take_stderr(self) -> list[str]:
        """Return the lines of standard error since the last call (bounded)."""
        return self._errors.take()

    def last_words(self) -> str:
        """Return the last lines of standard error, for a message; "" if none."""
        return self._errors.last_words()

    def _crashed(self) -> EngineCrashed:
        """Make the error for an engine that closed a pipe, saying how it ended."""
        if self.process.wait(0.5, keep_stderr=True):
            self._errors.drain()
            return EngineCrashed(f"it exited with {self.process.exit_status()}", self.code)
        return EngineCrashed("it closed its standard input or output", self.code)
