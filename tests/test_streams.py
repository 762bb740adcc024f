"""Standard streams of every kind: closed, full, of another encoding, unread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import LONG
from tests.program import PLAYOFF, environment, ringmaster, shown, write_control_file

pytestmark = pytest.mark.process

#: Words of a command line, with the control file as "@", and its exit status.
VERBS = {
    "show @": 0,
    "show @ --json": 0,
    "diff @": 0,
    "export @": 0,
    "export @ --format jsonl": 0,
    "report @": 0,
    "run @": 0,
    "help": 0,
    "help run": 0,
    "show --help": 0,
    "--version": 0,
    "new chess spsa -": 0,
    "plan @": 0,
    "stop @": 1,
    "run none.ctl": 1,
    "reset @": 2,
    "": 2,
}
#: Verbs that print nothing to standard output, or need none.
SILENT = ("report @", "run @", "stop @", "run none.ctl", "")


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the control file of a complete competition."""
    path = write_control_file(tmp_path_factory.mktemp("streams"), PLAYOFF, 4)
    assert ringmaster(path, "run", "-q").returncode == 0
    return path


def shell(control: Path, verb: str, redirection: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program with redirected streams."""
    words = verb.replace("@", str(control))
    return subprocess.run(
        f"{sys.executable} -m ringmaster {words} </dev/null {redirection}",
        shell=True,
        capture_output=True,
        env=environment(),
        timeout=LONG,
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_prints_in_an_encoding_of_few_characters(
    control: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = shell(control, verb, "")
    assert done.returncode == VERBS[verb]
    assert b"Traceback" not in done.stderr
    # exports are UTF-8 everywhere
    done.stdout.decode("utf-8" if verb.startswith("export") else "ascii")


@pytest.mark.parametrize("stream", ["2>&-", "<&- 2>/dev/full"])
@pytest.mark.parametrize("verb", VERBS)
def test_input_and_errors_may_be_closed_or_full(control: Path, verb: str, stream: str) -> None:
    done = shell(control, verb, stream)
    assert done.returncode == VERBS[verb]
    assert b"Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("stream", [">&-", ">/dev/full"])
@pytest.mark.parametrize("verb", VERBS)
def test_output_that_is_closed_or_full_is_an_error(control: Path, verb: str, stream: str) -> None:
    done = shell(control, verb, stream)
    assert b"Traceback" not in done.stderr
    if verb in SILENT and (verb != "run @" or stream == ">&-"):
        assert done.returncode == VERBS[verb]
    else:
        assert done.returncode == 1
        assert b"cannot write the output: " in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_without_any_stream_the_exit_status_is_right(control: Path, verb: str) -> None:
    expected = VERBS[verb] if verb in SILENT else 1
    assert shell(control, verb, "<&- >&- 2>&-").returncode == expected


@contextmanager
def run_on(control: Path, fd: int, *arguments: str, term: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run whose standard streams, but input, are a descriptor."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ringmaster", str(control), "run", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=fd,
        stderr=fd,
        env=environment({"TERM": term}),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _stopped_terminal() -> tuple[int, int]:
    controller, terminal = os.openpty()
    termios.tcflow(terminal, termios.TCOOFF)
    return controller, terminal


def _full_pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        while True:
            os.write(write_end, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write_end, True)
    return read_end, write_end


@pytest.mark.slow
@pytest.mark.parametrize("make", [_stopped_terminal, _full_pipe])
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_run_is_never_held_up_by_a_terminal_or_a_pipe_that_nobody_reads(
    tmp_path: Path, make: Callable[[], tuple[int, int]], term: str
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 40)
    reader, writer = make()
    try:
        with run_on(control, writer, "-j", "2", "--log-games", term=term) as process:
            assert process.wait(LONG) == 0
    finally:
        os.close(reader)
        os.close(writer)
    assert shown(control)["games"]["completed"] == 120


def test_run_goes_on_when_its_terminal_vanishes(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 40)
    controller, terminal = os.openpty()
    # the terminal controls another session: its end sends no SIGHUP
    with run_on(control, terminal, "--log-games", term="xterm") as process:
        os.close(terminal)
        assert os.read(controller, 1)
        os.close(controller)
        assert process.wait(LONG) == 0
    assert shown(control)["games"]["completed"] == 120
    assert "Traceback" not in control.with_suffix(".log").read_text()
