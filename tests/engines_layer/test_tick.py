"""A read that is given up at a tick: no byte lost, no wait without end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from ringmaster.engines import tick
from ringmaster.engines.tick import Tick


@pytest.fixture
def ticking() -> Iterator[Tick]:
    tick.start()
    found = tick.running()
    assert found is not None
    yield found
    tick.stop()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue


def test_what_is_there_is_read(ticking: Tick, pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"bestmove e2e4\n")
    assert ticking.hear(pipe[0], 100)[1] == b"bestmove e2e4\n"


def test_a_request_is_answered(ticking: Tick, pipe: tuple[int, int]) -> None:
    # what is written is what is read
    _, written, _, chunk = ticking.ask(pipe[1], b"isready\n", pipe[0], 100)
    assert (written, chunk) == (8, b"isready\n")


def test_a_silent_pipe_is_given_up_and_reads_on_afterwards(
    ticking: Tick, pipe: tuple[int, int]
) -> None:
    asked, stdin = os.pipe()
    for _ in range(2):
        assert ticking.hear(pipe[0], 100)[1] is None
        assert os.get_blocking(pipe[0])
        assert ticking.ask(stdin, b"go\n", pipe[0], 100)[1::2] == (3, None)
        assert os.get_blocking(pipe[0])
    os.write(pipe[1], b"late\n")
    assert ticking.hear(pipe[0], 100)[1] == b"late\n"
    os.close(asked)
    os.close(stdin)


def test_the_end_of_a_stream_is_its_end(ticking: Tick, pipe: tuple[int, int]) -> None:
    os.close(pipe[1])
    assert ticking.hear(pipe[0], 100)[1] == b""


def test_a_tick_between_reads_costs_no_byte(ticking: Tick, pipe: tuple[int, int]) -> None:
    # a timer that nothing is waiting for stops; the next read starts it again
    os.write(pipe[1], b"one\n")
    assert ticking.hear(pipe[0], 100)[1] == b"one\n"
    signal.raise_signal(signal.SIGALRM)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    os.write(pipe[1], b"two\n")
    assert ticking.hear(pipe[0], 100)[1] == b"two\n"
    assert ticking.hear(pipe[0], 100)[1] is None


def test_a_read_that_sees_one_tick_is_not_given_up(
    ticking: Tick, pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # ticks come from here alone
    monkeypatch.setattr(signal, "setitimer", lambda *_: (0.0, 0.0))
    ticking._begin(pipe[0])
    signal.raise_signal(signal.SIGALRM)
    assert os.get_blocking(pipe[0])
    signal.raise_signal(signal.SIGALRM)
    assert not os.get_blocking(pipe[0])
    ticking._end(pipe[0], None)
    # the next one is another
    ticking._begin(pipe[0])
    signal.raise_signal(signal.SIGALRM)
    assert os.get_blocking(pipe[0])
    ticking._end(pipe[0], b"")


def test_a_descriptor_left_unblocking_by_a_tick_that_came_late_is_mended(
    ticking: Tick, pipe: tuple[int, int]
) -> None:
    os.set_blocking(pipe[0], False)
    assert ticking.hear(pipe[0], 100)[1] is None
    assert os.get_blocking(pipe[0])


def test_stopping_gives_the_signal_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    tick.start()
    tick.start()
    tick.stop()
    tick.stop()
    assert tick.running() is None
    assert signal.getsignal(signal.SIGALRM) == before
