"""CPU time and memory of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringmaster.engines.usage import Usage, measure, reset_peak

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
def running(code: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    try:
        yield process
    finally:
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
    with running(PARENT, *words) as process:
        step(process, "ready")
        alone = measure(process.pid)
        assert alone.peak_memory == status(process.pid)
        go_on(process)
        step(process, "started")
        together = measure(process.pid).peak_memory
        assert together is not None
        assert together >= status(process.pid) + 32 * MIB
        go_on(process)
        step(process, "ended")
        after = measure(process.pid)
        assert after.peak_memory == status(process.pid)
        # The child is reaped: its use belongs to its parent now.
        assert alone.cpu_time is not None
        assert after.cpu_time is not None
        assert after.cpu_time >= alone.cpu_time


def test_cpu_time_is_current_at_each_request() -> None:
    with running("print('ready', flush=True)\nwhile True: pass") as process:
        step(process, "ready")
        first = measure(process.pid).cpu_time
        assert first is not None
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            now = measure(process.pid).cpu_time
            assert now is not None
            if now > first:
                return
        pytest.fail("the CPU time has stood still")


def test_without_a_clock_of_the_process_its_ticks_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_clock(_number: int) -> float:
        raise OSError("no such clock")

    monkeypatch.setattr("time.clock_gettime", no_clock)
    with running("print('ready', flush=True)\ninput()") as process:
        step(process, "ready")
        seconds = measure(process.pid).cpu_time
        assert seconds is not None
        assert seconds * 100 == pytest.approx(round(seconds * 100))


def test_peak_of_memory_is_reset() -> None:
    code = "x = b'x' * (64 << 20)\ndel x\nprint('ready', flush=True)\ninput()"
    with running(code) as process:
        step(process, "ready")
        before = measure(process.pid).peak_memory
        reset_peak(process.pid)
        after = measure(process.pid).peak_memory
        assert before is not None
        assert after is not None
        assert before >= 64 * MIB > after


def test_use_of_a_dead_process_is_unknown() -> None:
    with running("print('ready', flush=True)\ninput()") as process:
        step(process, "ready")
        assert measure(process.pid).cpu_time is not None
        process.kill()
        process.communicate()
        assert measure(process.pid) == Usage(None, None)
        reset_peak(process.pid)
