"""What a process uses, as /proc tells it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringmaster.engines.usage import ProcessUsage, Usage

pytestmark = pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="needs Linux's /proc"
)

MIB = 1 << 20
#: Starts a child that holds memory, when told to; in a thread of its own, where asked for.
PARENT = """
import subprocess, sys, threading

def start():
    command = [sys.executable, "-c", "x = b'x' * (32 << 20); print(flush=True); input()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    print("started", flush=True)
    input()
    child.communicate(b"\\n")
    print("ended", flush=True)
    input()

print("ready", flush=True)
input()
if "thread" in sys.argv:
    threading.Thread(target=start).start()
else:
    start()
"""


@contextmanager
def running(code: str, *words: str) -> Iterator[tuple[subprocess.Popen[str], ProcessUsage]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    usage = ProcessUsage(process.pid)
    try:
        yield process, usage
    finally:
        usage.close()
        process.kill()
        process.communicate()


def step(process: subprocess.Popen[str], word: str) -> None:
    """Wait for a word of the process."""
    assert process.stdout is not None
    assert process.stdout.readline().strip() == word


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")


def status(pid: int) -> int:
    """Return the peak of memory in bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) * 1024


@pytest.mark.parametrize("words", [(), ("thread",)], ids=["by the process", "by a thread"])
def test_children_are_counted_as_long_as_they_live(words: tuple[str, ...]) -> None:
    with running(PARENT, *words) as (process, usage):
        step(process, "ready")
        alone = usage.measure()
        assert alone.peak_memory == status(process.pid)
        go_on(process)
        step(process, "started")
        together = usage.measure().peak_memory
        assert together is not None
        assert together >= status(process.pid) + 32 * MIB
        go_on(process)
        step(process, "ended")
        after = usage.measure()
        assert after.peak_memory == status(process.pid)
        # the child has been waited for: what it used belongs to its parent now
        assert alone.cpu_time is not None
        assert after.cpu_time is not None
        assert after.cpu_time >= alone.cpu_time


def test_cpu_time_is_that_of_now_however_often_it_is_asked_for() -> None:
    with running("print('ready', flush=True)\nwhile True: pass") as (process, usage):
        step(process, "ready")
        first = usage.measure().cpu_time
        assert first is not None
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            now = usage.measure().cpu_time
            assert now is not None
            if now > first:
                return
        pytest.fail("the CPU time has stood still")


def test_cpu_time_alone_is_that_of_the_whole_family() -> None:
    with running(PARENT) as (process, usage):
        step(process, "ready")
        for word in ("started", "ended"):
            before = usage.measure().cpu_time or math.inf
            alone = usage.cpu_time()
            after = usage.measure().cpu_time or 0.0
            assert alone is not None
            assert before <= alone <= after
            go_on(process)
            step(process, word)
        family = usage.measure().cpu_time
        # the child, which is known by now, is counted in hundredths of a second
        assert family is not None
        assert usage.cpu_time() == pytest.approx(family, abs=0.1)


def test_cpu_time_is_told_in_less_than_hundredths_of_a_second() -> None:
    with running("print('ready', flush=True)\ninput()") as (process, usage):
        step(process, "ready")
        assert usage.measure().cpu_time is not None
        shares = {(usage.measure().cpu_time or 0.0) * 100 % 1 for _ in range(3)}
        assert shares != {0.0}


@pytest.mark.parametrize("is_known", [True, False], ids=["measured before", "not measured"])
def test_without_a_clock_of_the_process_its_ticks_are_counted(
    monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    def no_clock(_number: int) -> float:
        raise OSError("no such clock")

    monkeypatch.setattr("time.clock_gettime", no_clock)
    with running("print('ready', flush=True)\ninput()") as (process, usage):
        step(process, "ready")
        if is_known:
            usage.measure()
        found = usage.cpu_time()
        assert found is not None
        assert found * 100 == pytest.approx(round(found * 100))


def test_peak_of_memory_starts_anew() -> None:
    code = "x = b'x' * (64 << 20)\ndel x\nprint('ready', flush=True)\ninput()"
    with running(code) as (process, usage):
        step(process, "ready")
        before = usage.measure().peak_memory
        usage.forget_peak()
        after = usage.measure().peak_memory
        assert before is not None
        assert after is not None
        assert before >= 64 * MIB > after


def test_nothing_is_known_of_a_process_that_is_gone() -> None:
    with running("print('ready', flush=True)\ninput()") as (process, usage):
        step(process, "ready")
        assert usage.measure().cpu_time is not None
        process.kill()
        process.communicate()
        assert usage.measure() == Usage(None, None)
        usage.forget_peak()


def test_no_file_stays_open() -> None:
    before = os.listdir("/proc/self/fd")
    usage = ProcessUsage(os.getpid())
    usage.measure()
    usage.forget_peak()
    assert len(os.listdir("/proc/self/fd")) > len(before)
    usage.close()
    assert os.listdir("/proc/self/fd") == before
