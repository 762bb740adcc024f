"""The channel with real child processes: deadlines, bounds, standard error."""

from __future__ import annotations

import os
import select
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ringmaster.engines.channel import MAX_LINE, Channel, Exchange, Stream
from ringmaster.engines.process import EngineProcess, Surroundings
from ringmaster.errors import (
    EngineCrashed,
    EngineNotStarted,
    EngineProtocolError,
    EngineTimeout,
    JobAbandoned,
)
from tests.processes import LONG, open_files


class Until(Exchange):
    """Waits for a line."""

    def __init__(self, line: bytes, request: bytes = b"") -> None:
        self.request = request
        self.line = line
        self.seen: list[bytes] = []

    def feed(self, line: bytes) -> bool:
        self.seen.append(line)
        return line == self.line


@contextmanager
def shell(script: str, interrupt_fd: int | None = None) -> Iterator[Channel]:
    process = EngineProcess(["/bin/sh", "-c", script])
    try:
        yield Channel(process, "p", interrupt_fd=interrupt_fd)
    finally:
        process.end(patience=0.05)
    assert not process.is_open


@pytest.mark.parametrize(
    ("printed", "unasked"),
    [(r"yes\n", b""), (r"yes\n\n \n", b""), (r"yes\nmore\n", b"more"), (r"yes\n= A", b"= A")],
)
def test_unasked_output_is_returned_once(printed: str, unasked: bytes) -> None:
    with shell(f"read x; printf '{printed}'; read x; echo no; cat") as channel:
        channel.converse(Until(b"yes", b"1\n"), LONG)
        assert channel.unasked() == unasked
        assert channel.unasked() == b""
        exchange = Until(b"no", b"2\n")
        channel.converse(exchange, LONG)
        assert exchange.seen == [b"no"]


def test_answer_that_came_with_the_one_before_is_timed_from_the_writing_of_both() -> None:
    with shell("read x; read y; printf 'one\\ntwo\\nmore\\n'; cat") as channel:
        ahead = channel.converse(Until(b"one", b"1\n2\n"), LONG)
        assert channel.converse(Until(b"two"), LONG, ahead) == ahead
        assert channel.unasked() == b"more"


def test_answer_that_comes_later_is_timed_from_the_sight_of_the_one_before() -> None:
    with shell("read x; echo one; read y; echo two; cat") as channel:
        channel.converse(Until(b"one", b"1\n"), LONG)
        channel.send(b"2\n", LONG)
        day = 86400 * 10**9
        assert channel.converse(Until(b"two"), LONG, day) < day


def test_each_answer_to_joined_requests_has_its_own_deadline_and_name() -> None:
    with shell("read x; echo one; cat > /dev/null") as channel:
        ahead = channel.converse(Until(b"one", b"1\n2\n"), LONG)
        with pytest.raises(EngineTimeout, match=r"no answer to .* in 0\.05 s"):
            channel.converse(Until(b"two"), 0.05, ahead)
        assert channel.has_failed


def test_silent_engine_is_cut_off_at_its_deadline() -> None:
    with (
        shell("cat > /dev/null") as channel,
        pytest.raises(EngineTimeout, match=r"no answer to 'go' in 0\.05 s"),
    ):
        channel.converse(Until(b"never", b"position\ngo\n"), 0.05)


def test_engine_that_prints_for_ever_is_cut_off_at_the_same_deadline() -> None:
    with shell("yes info depth 1") as channel:
        tracemalloc.start()
        try:
            with pytest.raises(EngineTimeout):
                channel.converse(_Forgetful(), 0.2)
            assert tracemalloc.get_traced_memory()[1] < 5 << 20
        finally:
            tracemalloc.stop()


class _Forgetful(Exchange):
    def feed(self, line: bytes) -> bool:
        return False


def test_time_before_the_write_returns_is_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, write = [0], os.write
    process = EngineProcess(["/bin/sh", "-c", "read x; echo yes; cat"])

    def write_and_lose_the_processor(fd: int, data: bytes) -> int:
        written = write(fd, data)
        output = select.poll()
        output.register(process.stdout_fd, select.POLLIN)
        assert output.poll(LONG * 1000)
        now[0] += 5_000_000
        return written

    try:
        channel = Channel(process, "p", clock=lambda: now[0])
        monkeypatch.setattr("ringmaster.engines.channel.os.write", write_and_lose_the_processor)
        assert channel.converse(Until(b"yes", b"go\n"), LONG) == 5_000_000
    finally:
        monkeypatch.undo()
        process.end(patience=0.05)


@contextmanager
def timed(script: str, seconds: list[float]) -> Iterator[Channel]:
    """Yield the channel of an engine whose clock shows these seconds one after another."""
    process = EngineProcess(["/bin/sh", "-c", script])
    try:
        yield Channel(process, "p", clock=iter([round(s * 1e9) for s in seconds]).__next__)
    finally:
        process.end(patience=0.05)


def test_deadline_holds_on_the_channels_clock_alone() -> None:
    with timed("yes info", [n / 10 for n in range(40)]) as channel, pytest.raises(EngineTimeout):
        channel.converse(_Forgetful(), 3)


@pytest.mark.parametrize(
    ("answered", "pause"), [(0.9, 0.0), (1.0, 0.0), (6.0, 5.5), (3600, 3599.5)]
)
def test_time_in_which_the_referee_did_not_run_is_not_charged(
    answered: float, pause: float
) -> None:
    with timed("read x; echo yes; cat", [0, 0, answered]) as channel:
        elapsed = channel.converse(Until(b"yes", b"go\n"), LONG)
        assert (elapsed, channel.stood_still) == (1e9 * (answered - pause), 1e9 * pause)


def test_last_answer_of_an_engine_that_exits_during_a_pause_is_not_charged_for_it() -> None:
    with timed("echo yes", [0, 6]) as channel:
        assert channel.process.exit_fd is not None
        assert select.select([channel.process.exit_fd], [], [], LONG)[0]
        assert channel.converse(Until(b"yes"), 1) == 5e8


#: The referee is stopped from 0.1 s to 60 s; the engine gets the rest of its two seconds.
PAUSE = [0.1, 0.1, 60, 60, 60.5, 60.5, 61.4, 61.4, 61.6, 61.6]


def test_pause_of_the_referee_moves_the_deadline() -> None:
    with timed("yes info", [0, 0, *PAUSE, 62]) as channel:
        with pytest.raises(EngineTimeout, match="in 2 s"):
            channel.converse(Until(b"never", b"go\n"), 2)
        assert channel.stood_still == 59.4e9


def test_pause_of_the_referee_moves_the_deadline_of_a_stream() -> None:
    with timed("yes info", [0, *PAUSE]) as channel:
        with pytest.raises(EngineTimeout, match="in 2 s"):
            channel.stream(Counted(2, 2), 2)
        assert channel.stood_still == 59.4e9


def test_line_without_end_is_refused() -> None:
    with (
        shell("yes | tr -d '\\n'") as channel,
        pytest.raises(EngineProtocolError, match=str(MAX_LINE)),
    ):
        channel.converse(Until(b"never"), LONG)


def test_crash_reports_status_and_last_words() -> None:
    with shell("read x; echo 'out of paper' >&2; exit 7") as channel:
        with pytest.raises(EngineCrashed, match="status 7"):
            channel.converse(Until(b"never", b"go\n"), LONG)
        assert channel.errors.last_words() == "out of paper"


def test_closed_output_of_a_living_engine_is_a_crash() -> None:
    with (
        shell("exec >&-; read x; read x") as channel,
        pytest.raises(EngineCrashed, match="closed its standard"),
    ):
        channel.converse(Until(b"never"), LONG)


def test_engine_that_does_not_read_is_cut_off() -> None:
    with (
        shell("exec sleep 1000") as channel,
        pytest.raises(EngineTimeout, match="read no input"),
    ):
        channel.send(b"x" * (4 << 20), 0.05)


def test_large_request_to_an_engine_that_answers_as_it_reads_does_not_lock_up() -> None:
    with shell("cat; cat") as channel:
        data = b"line\n" * 200_000
        channel.send(data, LONG)
        channel.converse(Until(b"end", b"end\n"), LONG)


def test_standard_error_without_end_neither_blocks_nor_fills_memory() -> None:
    with shell("for i in 1 2 3; do head -c 300000 /dev/zero | tr '\\0' 'e' >&2; "
               "echo >&2; done; echo done; cat") as channel:  # fmt: skip
        channel.converse(Until(b"done"), LONG)
        lines = channel.errors.take()
        assert lines
        assert max(map(len, lines)) <= 500


def test_standard_error_is_handed_over_once() -> None:
    with shell("echo warning >&2; echo ready; cat") as channel:
        channel.converse(Until(b"ready"), LONG)
        assert channel.errors.take() == ["warning"]
        assert channel.errors.take() == []
        assert channel.errors.last_words() == "warning"


def test_unasked_output_of_an_endless_printer_is_read_in_part() -> None:
    with shell("yes") as channel:
        channel.converse(Until(b"y"), LONG)
        assert channel.unasked().startswith(b"y")


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "trap '' TERM; sleep 1000 & echo $!; exec 1>&-; while :; do wait; done",
        "setsid sleep 1000 & echo $!; cat",
    ],
)
def test_end_kills_an_engine_that_ignores_sigterm_and_its_children(script: str) -> None:
    process = EngineProcess(["/bin/sh", "-c", script])
    exchange = _FirstLine()
    Channel(process, "p").converse(exchange, LONG)
    child = psutil.Process(int(exchange.line))
    process.end(patience=0.05)
    psutil.wait_procs([child], timeout=LONG)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert not psutil.pid_exists(process.pid)


class _FirstLine(Exchange):
    line = b""

    def feed(self, line: bytes) -> bool:
        self.line = line
        return True


def test_no_descriptor_is_left_after_the_end() -> None:
    before = open_files()
    for _ in range(3):
        with shell("cat") as channel:
            channel.converse(Until(b"x", b"x\n"), LONG)
    assert open_files() - before == set()


def test_engine_quits_by_itself_when_its_input_is_closed() -> None:
    process = EngineProcess(["/bin/sh", "-c", "cat; exit 3"])
    process.close_stdin()
    assert process.wait(LONG)
    assert process.exit_status() == "status 3"
    process.end()
    process.end()


def test_environment_is_inherited_extended_and_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RM_INHERITED", "a")
    monkeypatch.setenv("RM_OWN", "b")
    process = EngineProcess(
        ["/bin/sh", "-c", "echo $RM_INHERITED $RM_OWN $RM_SLOT; cat"],
        environ={"RM_OWN": "mine"},
        surroundings=Surroundings({"RM_SLOT": "3", "RM_OWN": "theirs"}),
    )
    try:
        exchange = _FirstLine()
        Channel(process, "p").converse(exchange, LONG)
        assert exchange.line == b"a mine 3"
    finally:
        process.end(patience=0.05)


@pytest.mark.parametrize(
    ("command", "cwd", "message"),
    [
        ("no-such-engine", None, "no such program on PATH"),
        ("./no/such/engine", None, "no such file"),
        ("/etc/passwd", None, "not an executable file"),
        ("/bin/sh", "/no/such/place", "working directory '/no/such/place'"),
    ],
)
def test_engine_that_cannot_be_started_says_why(
    command: str, cwd: str | None, message: str
) -> None:
    with pytest.raises(EngineNotStarted, match=message):
        EngineProcess([command], cwd=cwd)


def test_attended_engine_is_read_while_another_is_waited_for(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    # more than a pipe holds, so that nothing comes through the gate unless it is read
    noisy = f"for i in $(seq 20000); do echo info string $i; done; echo last; echo go > {gate}; cat"
    with shell(f"read x < {gate}; echo yes; cat") as waiting, shell(noisy) as talking:
        pondered = Until(b"last")
        waiting.attend(talking, pondered)
        waiting.converse(Until(b"yes"), LONG)
        waiting.leave()
        # The rest stays in the pipe.
        assert len(pondered.seen) > 10_000
        if pondered.seen[-1] != b"last":
            talking.converse(pondered, LONG)
        assert len(pondered.seen) == 20_001


def test_attended_engine_that_prints_for_ever_moves_no_deadline() -> None:
    with shell("cat > /dev/null") as silent, shell("yes info depth 1") as talking:
        silent.attend(talking, _Forgetful())
        with pytest.raises(EngineTimeout, match=r"no answer to 'go' in 0\.1 s"):
            silent.converse(Until(b"never", b"go\n"), 0.1)
        silent.leave()


@pytest.mark.parametrize("script", ["exit 3", "exec >&- 2>&-; read x", "exec 2>&-; cat"])
def test_attended_engine_that_ends_disturbs_nobody(script: str) -> None:
    with shell("read x; sleep 0.05; echo yes; cat") as waiting, shell(script) as ending:
        waiting.attend(ending, _Forgetful())
        waiting.converse(Until(b"yes", b"go\n"), LONG)
        waiting.leave()
        waiting.leave()


class _Refusing(Exchange):
    """Opens a gate for the other engine as soon as it has a line, which it refuses."""

    def __init__(self, gate: Path) -> None:
        self.gate = gate

    def feed(self, line: bytes) -> bool:
        self.gate.write_text("go\n")
        raise EngineProtocolError("not this")


def test_error_of_an_attended_engine_is_raised_at_its_next_request(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with shell(f"read x < {gate}; echo yes; cat") as waiting, shell("echo x; cat") as wrong:
        waiting.attend(wrong, _Refusing(gate))
        waiting.converse(Until(b"yes"), LONG)
        with pytest.raises(EngineProtocolError, match="not this") as raised:
            wrong.converse(Until(b"x", b"stop\n"), LONG)
        assert raised.value.code == "p"
        assert wrong.has_failed


class Counted(Stream):
    """Sends numbers, a few ahead, and wants each back."""

    def __init__(self, count: int, ahead: int, size: int = 1) -> None:
        super().__init__([b"%d %s\n" % (n, b"x" * size) for n in range(count)], ahead)
        self.count = count
        self.lines: list[bytes] = []

    def take(self, lines: bytes) -> bytes | None:
        self.lines += [line.split()[0] for line in lines.splitlines() if line[:1].isdigit()]
        self.done = len(self.lines)
        return None if self.done >= self.count else self.more()


# the second fills both pipes
@pytest.mark.parametrize(("count", "ahead", "size"), [(500, 7, 1), (200, 100, 5000)])
def test_stream_writes_ahead_and_gets_every_answer_in_order(
    count: int, ahead: int, size: int
) -> None:
    with shell("cat") as channel:
        stream = Counted(count, ahead, size)
        channel.stream(stream, LONG)
        assert stream.lines == [b"%d" % n for n in range(count)]
        channel.converse(Until(b"end", b"end\n"), LONG)


@pytest.mark.parametrize("script", ["head -n 5; cat >/dev/null", "head -n 5; yes on and on"])
def test_stream_ends_when_an_answer_does_not_come_whatever_is_printed(script: str) -> None:
    with shell(script) as channel:
        stream = Counted(50, 10)
        with pytest.raises(EngineTimeout, match=r"no answer in 0\.2 s"):
            channel.stream(stream, 0.2)
        assert channel.has_failed


def test_stream_reads_output_from_before_the_exit() -> None:
    with shell("head -n 5") as channel:
        stream = Counted(5, 5)
        channel.stream(stream, LONG)
        assert stream.done == 5
    with shell("head -n 5; exit 3") as channel, pytest.raises(EngineCrashed, match="status 3"):
        channel.stream(Counted(6, 6), LONG)


def test_interrupt_ends_a_wait_and_a_stream() -> None:
    read_fd, write_fd = os.pipe()
    os.write(write_fd, b"x")
    try:
        with shell("cat > /dev/null", read_fd) as channel:
            with pytest.raises(JobAbandoned):
                channel.converse(Until(b"never", b"go\n"), 60)
            with pytest.raises(JobAbandoned):
                channel.stream(Counted(5, 5), 60)
    finally:
        os.close(read_fd)
        os.close(write_fd)
