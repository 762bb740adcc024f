from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.engines import reaper as reaper_module
from ringmaster.engines.reaper import announce, register, retire, start_time
from tests.execution.scripted_work import start_engine
from tests.execution.watched import Watched
from tests.processes import LONG

linux = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs /proc and pidfd (Linux)")


class Reaper:
    """The program, with one writer."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", reaper_module.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            bufsize=0,
        )
        assert self.process.stdin is not None
        self.fd = self.process.stdin.fileno()

    def write(self, data: bytes) -> None:
        os.write(self.fd, data)

    def finish(self) -> bytes:
        """Close the writer; return the program's output until its end."""
        return self.process.communicate(timeout=LONG)[0]


class Zoo:
    """Engines that the test kills at its end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def engine(self, *, family: bool = False, tag: bool = False) -> list[int]:
        """Start an engine; returns its process id and that of its child."""
        process, pids = start_engine(family=family, tag=tag)
        self._stack.callback(self._end, process, pids)
        return pids

    @staticmethod
    def _end(process: subprocess.Popen[bytes], pids: list[int]) -> None:
        for pid in pids[1:]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.kill()
        process.communicate()

    def watch(self, pids: list[int]) -> Watched:
        return self._stack.enter_context(Watched(pids))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def reaper(stack: ExitStack) -> Reaper:
    reaper = Reaper()
    # Popen's own exit closes the pipes and waits.
    stack.enter_context(reaper.process)
    return reaper


@pytest.fixture
def zoo(stack: ExitStack, reaper: Reaper) -> Zoo:
    return Zoo(stack)


# The program


@linux
def test_an_engine_that_ignores_sigterm_is_killed_when_the_last_writer_is_gone(
    reaper: Reaper, zoo: Zoo
) -> None:
    watched = zoo.watch([pid := zoo.engine()[0]])
    announce(reaper.fd, 0, pid)
    second_writer = os.dup(reaper.fd)
    assert reaper.process.stdin is not None
    reaper.process.stdin.close()
    assert watched.alive() == [pid]
    os.close(second_writer)
    assert watched.alive(LONG) == []
    assert reaper.process.wait(LONG) == 0


@linux
def test_a_grandchild_in_a_session_of_its_own_is_killed_too(reaper: Reaper, zoo: Zoo) -> None:
    pids = zoo.engine(family=True, tag=True)
    assert os.getsid(pids[1]) != os.getsid(pids[0])
    watched = zoo.watch(pids)
    announce(reaper.fd, 0, pids[0])
    assert reaper.finish() == b""
    assert watched.alive(LONG) == []


@linux
def test_an_orphan_in_a_session_of_its_own_is_found_by_its_tag(reaper: Reaper, zoo: Zoo) -> None:
    engine, orphan = zoo.engine(family=True, tag=True)
    watched = zoo.watch([orphan])
    with Watched([engine]) as dead:
        os.kill(engine, signal.SIGKILL)
        assert dead.alive(LONG) == []
    assert reaper.finish() == b""
    assert watched.alive(LONG) == []


OTHERS = {
    "a retired engine": "+ 3 {pid} {start}\n- 3 {pid}\n",
    "the number of an earlier engine": "+ 0 {pid} {earlier}\n",
}


@linux
@pytest.mark.parametrize("lines", OTHERS.values(), ids=OTHERS)
def test_a_process_that_is_no_engine_of_the_run_any_more_is_left_alone(
    reaper: Reaper, zoo: Zoo, lines: str
) -> None:
    (pid,) = zoo.engine(tag=True)
    watched = zoo.watch([pid])
    start = start_time(pid)
    reaper.write(lines.format(pid=pid, start=start, earlier=start - 1).encode())
    reaper.finish()
    assert watched.alive() == [pid]


@linux
def test_the_engines_of_a_dead_worker_are_killed_at_once_and_no_others(
    reaper: Reaper, zoo: Zoo
) -> None:
    first, second = zoo.engine(family=True, tag=True), zoo.engine(tag=True)
    watched_first, watched_second = zoo.watch(first), zoo.watch(second)
    announce(reaper.fd, 1, first[0])
    announce(reaper.fd, 11, second[0])
    reaper.write(b"! 1\n")
    assert watched_first.alive(LONG) == []
    assert watched_second.alive() == second
    reaper.finish()
    assert watched_second.alive(LONG) == []


@linux
def test_the_group_of_an_engine_that_has_exited_is_killed(reaper: Reaper, stack: ExitStack) -> None:
    process = subprocess.Popen(
        ["sh", "-c", "sleep 100 >/dev/null & echo $!"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        watched = stack.enter_context(Watched([process.pid]))
        announce(reaper.fd, 0, process.pid)
        assert process.stdout is not None
        child = int(process.stdout.readline())
        watched_child = stack.enter_context(Watched([child]))
        assert watched.alive(LONG) == []
    reaper.finish()
    assert watched_child.alive(LONG) == []


@linux
def test_signals_do_not_keep_the_reaper_from_its_work(reaper: Reaper, zoo: Zoo) -> None:
    first, second = zoo.engine(), zoo.engine()
    announce(reaper.fd, 0, first[0])
    announce(reaper.fd, 1, second[0])
    reaper.write(b"! 0\n")
    # Once it has obeyed a line it has long set its signals up.
    assert zoo.watch(first).alive(LONG) == []
    watched = zoo.watch(second)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        reaper.process.send_signal(number)
    assert reaper.finish() == b""
    assert reaper.process.returncode == 0
    assert watched.alive(LONG) == []


@linux
def test_lines_may_come_in_pieces_and_among_nonsense(reaper: Reaper, zoo: Zoo) -> None:
    (pid,) = zoo.engine()
    watched = zoo.watch([pid])
    line = f"+ 0 {pid} {start_time(pid)}\n".encode()
    reaper.write(b"\n+ 1\n\xff\0 - - -\n+ 0 -1 5\n+ 0 1 5\n+ 0 0 0\n" + b"x" * 5000 + b"\n")
    reaper.write(line[:7])
    reaper.write(line[7:] + b"! 5\n! 0")
    assert reaper.finish() == b""
    assert reaper.process.returncode == 0
    assert watched.alive(LONG) == []


# What workers call


def test_missing_or_dead_reaper_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    for fd in (None, write):
        announce(fd, 0, os.getpid())
        retire(fd, 0, os.getpid())
    os.close(write)


def test_a_line_is_written_whole_and_shorter_than_any_pipe_buffer() -> None:
    read, write = os.pipe()
    announce(write, 10**6, 2**31 - 1)
    retire(write, 10**6, 2**31 - 1)
    data = os.read(read, 4096)
    os.close(read)
    os.close(write)
    assert data == b"+ 1000000 2147483647 0\n- 1000000 2147483647\n"


@linux
def test_start_time_is_read_behind_a_program_name_with_brackets(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    program = tmp_path / ") R 1 (2 3"
    program.symlink_to(sleep)
    with subprocess.Popen([program, "100"]) as process:
        try:
            assert start_time(process.pid) >= start_time(os.getpid()) > 0
        finally:
            process.kill()


# The register


_small = st.integers(0, 3)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("+"), _small, st.integers(2, 5), st.integers(0, 9)),
            st.tuples(st.just("-"), _small, st.integers(2, 5)),
            st.tuples(st.just("!"), _small),
        )
    )
)
def test_the_registry_has_every_engine_that_has_not_ended(
    messages: list[tuple[str | int, ...]],
) -> None:
    slots: dict[int, dict[int, int]] = {}
    model: dict[tuple[str | int, str | int], str | int] = {}
    for verb, slot, *rest in messages:
        doomed = register(slots, " ".join(map(str, (verb, slot, *rest))).encode())
        expected = {}
        match verb:
            case "+":
                model[slot, rest[0]] = rest[1]
            case "-":
                model.pop((slot, rest[0]), None)
            case "!":
                keys = [key for key in model if key[0] == slot]
                expected = {key[1]: model.pop(key) for key in keys}
        assert doomed == expected
    assert {(s, p): t for s, e in slots.items() for p, t in e.items()} == model
