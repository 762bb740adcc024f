"""The system calls of a move, in Python and, where it has been compiled, in C."""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Iterator
from types import FrameType, ModuleType

import pytest

import ringmaster
from ringmaster.engines import pipes, tick

try:
    FORMS: list[ModuleType] = [pipes, importlib.import_module("ringmaster.engines._pipes")]
except ImportError:
    FORMS = [pipes]


@pytest.fixture(params=FORMS, ids=lambda form: form.__name__.rpartition(".")[2])
def form(request: pytest.FixtureRequest) -> ModuleType:
    found: ModuleType = request.param
    return found


class Pipes:
    """What an engine has: `stdin`, which it reads at `there`, and `stdout`, which it writes
    at `says`."""

    def __init__(self) -> None:
        self.there, self.stdin = os.pipe()
        self.stdout, self.says = os.pipe()
        os.set_blocking(self.stdin, False)

    def close(self, *fds: int) -> None:
        for fd in fds or (self.there, self.stdin, self.stdout, self.says):
            try:
                os.close(fd)
            except OSError:
                continue


@pytest.fixture
def engine() -> Iterator[Pipes]:
    made = Pipes()
    yield made
    made.close()


def test_a_compiled_ringmaster_has_the_form_in_c_and_uses_it() -> None:
    assert (len(FORMS) == 2) == ringmaster.is_compiled()
    assert tick.has_input is FORMS[-1].has_input


def test_a_request_is_written_and_what_is_there_is_read(form: ModuleType, engine: Pipes) -> None:
    os.write(engine.says, b"info depth 1\nbestmove e2e4\n")
    before = time.monotonic_ns()
    began, written, seen, chunk = form.ask(engine.stdin, b"go nodes 1\n", engine.stdout, 960)
    assert before <= began <= seen <= time.monotonic_ns()
    assert (written, chunk) == (11, b"info depth 1\nbestmove e2e4\n")
    assert os.read(engine.there, 100) == b"go nodes 1\n"


def test_no_more_is_read_than_was_asked_for(form: ModuleType, engine: Pipes) -> None:
    os.write(engine.says, b"bestmove e2e4\n")
    assert form.hear(engine.stdout, 8)[1] == b"bestmove"
    assert form.hear(engine.stdout, 1 << 16)[1] == b" e2e4\n"


def test_a_pipe_that_is_full_takes_a_part_and_then_nothing(form: ModuleType, engine: Pipes) -> None:
    os.write(engine.says, b"bestmove e2e4\n")
    request = bytes(1 << 20)
    _, written, _, chunk = form.ask(engine.stdin, request, engine.stdout, 960)
    assert 0 < written < len(request)
    assert chunk is None
    _, more, _, chunk = form.ask(engine.stdin, request, engine.stdout, 960)
    assert (more, chunk) == (0, None)
    # what could not be asked was not answered either
    assert form.has_input(engine.stdout)


def test_nobody_reads_the_request(form: ModuleType, engine: Pipes) -> None:
    engine.close(engine.there)
    os.write(engine.says, b"bestmove e2e4\n")
    assert form.ask(engine.stdin, b"go\n", engine.stdout, 960)[1:] == (-1, 0, None)
    assert form.ask(-1, b"go\n", engine.stdout, 960)[1:] == (-1, 0, None)


def test_the_end_of_the_stream_is_no_bytes(form: ModuleType, engine: Pipes) -> None:
    engine.close(engine.says)
    assert form.has_input(engine.stdout)
    assert form.hear(engine.stdout, 960)[1] == b""
    assert form.ask(engine.stdin, b"go\n", engine.stdout, 960)[3] == b""


def test_nothing_where_reading_does_not_block_is_none(form: ModuleType, engine: Pipes) -> None:
    os.set_blocking(engine.stdout, False)
    assert not form.has_input(engine.stdout)
    assert form.hear(engine.stdout, 960)[1] is None
    _, written, _, chunk = form.ask(engine.stdin, b"go\n", engine.stdout, 960)
    assert (written, chunk) == (3, None)


def test_what_is_wrong_with_reading_is_an_error(form: ModuleType, engine: Pipes) -> None:
    engine.close(engine.stdout)
    with pytest.raises(OSError, match="Bad file descriptor"):
        form.hear(engine.stdout, 960)
    with pytest.raises(OSError, match="Bad file descriptor"):
        form.ask(engine.stdin, b"go\n", engine.stdout, 960)


def test_a_number_that_belongs_to_another_pipe_by_now_is_asked_anew(form: ModuleType) -> None:
    first = Pipes()
    os.write(first.says, b"readyok\n")
    assert form.has_input(first.stdout)
    number = first.stdout
    first.close()
    second = Pipes()
    assert second.stdout == number
    assert not form.has_input(number)
    second.close()


@pytest.fixture
def alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
def test_a_signal_is_handled_while_reading_and_reading_goes_on(
    form: ModuleType, engine: Pipes
) -> None:
    def speak(number: int, frame: FrameType | None) -> None:
        os.write(engine.says, b"bestmove e2e4\n")

    signal.signal(signal.SIGALRM, speak)
    # again and again: the first may come before the read
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    assert form.ask(engine.stdin, b"go\n", engine.stdout, 14)[3] == b"bestmove e2e4\n"


@pytest.mark.usefixtures("alarm")
def test_a_handler_that_raises_ends_reading(form: ModuleType, engine: Pipes) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    with pytest.raises(KeyboardInterrupt):
        form.hear(engine.stdout, 960)


@pytest.mark.parametrize(
    "arguments",
    [(), (1, b"", 2), (1, "text", 2, 3), ("1", b"", 2, 3), (1, b"", 2, None)],
    ids=["none", "too few", "text", "fd", "size"],
)
def test_other_arguments_are_refused(form: ModuleType, arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        form.ask(*arguments)
