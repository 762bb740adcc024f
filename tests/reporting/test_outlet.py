"""Output that nobody may read: nothing waits, and what is read is whole and in order."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import pytest

from ringmaster.reporting.outlet import MOST_WAITING, Outlet, outlet_of, through
from tests.processes import LONG

LINE = b"game 0_1: a beat b\n" * 200


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            pass


def read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(fd, size - len(data))
    return data


def test_without_a_thread_the_output_is_written_at_once(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    outlet = Outlet(pipe[1])
    outlet.write(b"cannot start the reaper\n")
    outlet.write(b"twice\n")
    assert os.read(pipe[0], 100) == b"cannot start the reaper\ntwice\n"
    assert outlet.is_settled()


@pytest.mark.parametrize("blocking", [True, False])
def test_all_output_arrives_in_order(pipe: tuple[int, int], blocking: bool) -> None:
    os.set_blocking(pipe[1], blocking)
    outlet = Outlet(pipe[1])
    parts = [b"%d\n" % number + LINE for number in range(100)]
    for part in parts:
        assert outlet.write(part) == len(part)
    assert not outlet.is_settled()
    whole = b"".join(parts)
    assert read(pipe[0], len(whole)) == whole
    outlet.settle(LONG)
    assert outlet.is_settled()


def test_output_that_nobody_reads_is_left_out_beyond_a_limit_and_counted(
    pipe: tuple[int, int],
) -> None:
    outlet = Outlet(pipe[1])
    count = 2 * MOST_WAITING // len(LINE)
    for _ in range(count):
        outlet.write(LINE)
    outlet.settle(0.01)
    assert not outlet.is_settled()
    data = b""
    while b"left out]\n" not in data[-100:]:
        data += os.read(pipe[0], 1 << 16)
    lines, _, note = data.rpartition(b"\n[")
    assert lines == LINE * (len(lines) // len(LINE))
    lost = count * len(LINE) - len(lines)
    assert note == f"{lost:,} bytes that nobody read in time are left out]\n".encode()
    outlet.settle(LONG)
    outlet.write(b"new\n")
    assert read(pipe[0], 4) == b"new\n"


def test_failed_output_is_dropped_and_its_error_kept(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    outlet = Outlet(pipe[1])
    outlet.write(b"text\n")
    outlet.settle(LONG)
    assert isinstance(outlet.failure, BrokenPipeError)
    outlet.write(b"more\n")
    assert outlet.is_settled()


def test_stream_writes_through_to_its_outlet_with_the_encoding_of_another(
    pipe: tuple[int, int],
) -> None:
    with open(os.devnull, "w", encoding="latin-1", errors="replace") as like:
        stream = through(Outlet(pipe[1]), like)
    assert outlet_of(sys.__stdout__ or sys.stdout) is None
    outlet = outlet_of(stream)
    assert outlet is not None
    print("ä 技", file=stream)
    assert read(pipe[0], 4) == b"\xe4 ?\n"
    assert not stream.isatty()
    assert stream.fileno() == pipe[1]
