"""Keys, in real pseudo-terminals and under a real shell's job control."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringmaster.reporting.keys import KeyReader
from tests.processes import LONG, await_that

pexpect = pytest.importorskip("pexpect")

SCRIPT = Path(__file__).with_name("key_script.py")
ROOT = SCRIPT.parents[2]
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}
PROMPT = "ready-for-more> "


def command(mode: str) -> list[str]:
    return [sys.executable, str(SCRIPT), mode]


@pytest.fixture
def spawn() -> Iterator[list[Any]]:
    """Terminals opened by a test; closed, with what runs in them, at its end."""
    opened: list[Any] = []
    yield opened
    for terminal in opened:
        terminal.close(force=True)


def start(opened: list[Any], *words: str) -> Any:
    terminal = pexpect.spawn(words[0], list(words[1:]), env=ENVIRON, timeout=LONG, encoding="utf-8")
    terminal.delaybeforesend = None
    opened.append(terminal)
    return terminal


def shell(opened: list[Any]) -> Any:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash for its job control")
    terminal = start(opened, bash, "--norc", "--noprofile", "--noediting")
    # written so that the echo of the command is not taken for the prompt
    terminal.sendline("PS1='ready-for''-more> '")
    terminal.expect_exact(PROMPT)
    return terminal


def test_ctrl_x_is_seen_at_once_and_no_key_is_echoed(spawn: list[Any]) -> None:
    terminal = start(spawn, *command("watch"))
    terminal.expect_exact("ready watching")
    terminal.send("abc\x18")
    terminal.expect_exact("stop")
    assert "abc" not in terminal.before
    assert "^X" not in terminal.before
    terminal.expect_exact("after cooked")
    terminal.expect(pexpect.EOF)


def test_all_keys_are_read_in_order_but_those_of_escape_sequences(spawn: list[Any]) -> None:
    terminal = start(spawn, *command("keys"))
    terminal.expect_exact("ready watching")
    terminal.send("p+\x1b[A\x1bOq-\x1b[15~?\u00e9.\x18")
    terminal.expect_exact("keys p+-?\ufffd\ufffd.")
    terminal.expect_exact("stop")


def test_ctrl_c_interrupts_and_the_terminal_is_restored(
    spawn: list[Any],
) -> None:
    terminal = start(spawn, *command("watch"))
    terminal.expect_exact("ready watching")
    terminal.send("\x03")
    terminal.expect_exact("interrupted")
    terminal.expect_exact("after cooked")


def test_an_exception_restores_the_terminal(spawn: list[Any]) -> None:
    terminal = start(spawn, *command("raise"))
    terminal.expect_exact("inside raw")
    terminal.expect_exact("raised")
    terminal.expect_exact("after cooked")


def test_ctrl_z_in_an_orphaned_group_stops_nothing(spawn: list[Any]) -> None:
    # started without a shell, the process has nobody to continue it
    terminal = start(spawn, *command("watch"))
    terminal.expect_exact("ready watching")
    terminal.send("\x1a")
    terminal.expect_exact("suspending")
    terminal.expect_exact("resuming")
    terminal.send("\x18")
    terminal.expect_exact("stop")
    terminal.expect_exact("after cooked")


def test_a_terminal_that_hangs_up_ends_the_watch(spawn: list[Any], tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    reader = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    try:
        terminal = start(spawn, *command("hangup"), str(told))
        assert read_until(reader, b"ready watching\n") == b"ready watching\n"
        terminal.ptyproc.fileobj.close()
        assert read_until(reader, b"after nothing\n") == b"gone\nafter nothing\n"
    finally:
        os.close(reader)


def read_until(fd: int, wanted: bytes) -> bytes:
    heard = b""
    deadline = time.monotonic() + LONG
    while not heard.endswith(wanted):
        ready = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]
        chunk = os.read(fd, 4096) if ready else b""
        if not chunk:
            raise AssertionError(f"{wanted!r} never came, but {heard!r}")
        heard += chunk
    return heard


def test_ctrl_z_restores_the_terminal_and_fg_watches_it_again(spawn: list[Any]) -> None:
    terminal = shell(spawn)
    terminal.sendline(shlex.join(command("watch")))
    terminal.expect_exact("ready watching")
    terminal.send("\x1a")
    terminal.expect_exact("suspending")
    terminal.expect_exact(PROMPT)
    terminal.sendline("stty -a | grep -c -- '-icanon'")
    terminal.expect_exact("\n0")
    terminal.expect_exact(PROMPT)
    terminal.sendline("fg")
    terminal.expect_exact("resuming")
    terminal.send("\x18")
    terminal.expect_exact("stop")
    terminal.expect_exact("after cooked")
    terminal.expect_exact(PROMPT)


def test_a_job_moved_to_the_background_and_back_is_watched_again(
    spawn: list[Any],
) -> None:
    terminal = shell(spawn)
    terminal.sendline(shlex.join(command("watch")))
    terminal.expect_exact("ready watching")
    terminal.send("\x1a")
    terminal.expect_exact("suspending")
    terminal.expect_exact(PROMPT)
    terminal.sendline("bg")
    terminal.expect_exact("resuming")
    # the shell's keys are the shell's: neither stop nor Ctrl-X reaches the job
    terminal.sendline("jobs -r | grep -c watch")
    terminal.expect_exact("\n1")
    terminal.expect_exact(PROMPT)
    terminal.sendline("fg")
    terminal.expect_exact("watch\r\n")
    # until the job has taken the terminal, the key waits in its line buffer

    def is_read() -> bool:
        terminal.send("\x18")
        return bool(terminal.expect_exact(["stop", pexpect.TIMEOUT], timeout=0.1) == 0)

    await_that(is_read)
    terminal.expect_exact("after cooked")
    terminal.expect_exact(PROMPT)


def test_a_background_job_reads_no_keys_and_is_not_stopped(spawn: list[Any]) -> None:
    terminal = shell(spawn)
    terminal.sendline(shlex.join(command("once")) + " & wait $!; echo status $?")
    terminal.expect_exact("ready blind")
    terminal.expect_exact("after cooked")
    terminal.expect_exact("status 0")


def test_keys_come_from_the_terminal_when_input_and_output_are_elsewhere(
    spawn: list[Any],
) -> None:
    terminal = shell(spawn)
    terminal.sendline(shlex.join(command("watch")) + " < /dev/null 2> /dev/null | cat")
    terminal.expect_exact("ready watching")
    terminal.send("\x18")
    terminal.expect_exact("stop")
    terminal.expect_exact("after cooked")


def test_nothing_is_watched_without_a_terminal() -> None:
    answer = subprocess.run(
        command("once"),
        env=ENVIRON,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        check=True,
        timeout=LONG,
    )
    assert answer.stdout.split(b"\n")[:2] == [b"ready blind", b"after nothing"]


def test_signal_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)]
    with KeyReader():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGTSTP, signal.SIGCONT)] == before
