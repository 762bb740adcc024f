"""The demo engines as processes: how they are chosen, started and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ringmaster.demo.console import Console
from tests.processes import LONG

ROOT = Path(__file__).parent.parent.parent


def run(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ringmaster.demo", *arguments],
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=LONG,
        check=False,
    )


def start(game: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ringmaster.demo", game]
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, cwd=ROOT, **ends)


@pytest.mark.process
@pytest.mark.parametrize(
    ("game", "commands", "answer"),
    [
        ("chess", "isready\nposition startpos\ngo depth 1\nquit\n", "readyok\n"),
        ("shogi", "isready\nposition startpos\ngo depth 1\nquit\n", "readyok\n"),
        ("go", "boardsize 9\ngenmove b\n", "=\n\n= "),
    ],
)
def test_engine_answers_until_quit_or_the_end_of_input(
    game: str, commands: str, answer: str
) -> None:
    done = run(commands, game)
    assert done.returncode == 0
    assert done.stdout.startswith(answer)


@pytest.mark.process
@pytest.mark.parametrize("arguments", [(), ("xiangqi",), ("chess", "shogi")])
def test_usage_is_shown_for_arguments_not_understood(arguments: tuple[str, ...]) -> None:
    done = run("", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")


@pytest.mark.process
def test_interrupt_is_ignored_and_stop_is_not() -> None:
    with start("chess") as engine:
        print("position startpos\ngo infinite\nisready", file=engine.stdin, flush=True)
        while engine.stdout.readline() != "readyok\n":
            pass
        engine.send_signal(signal.SIGINT)
        print("stop", file=engine.stdin, flush=True)
        lines = iter(engine.stdout.readline, "")
        assert any(line.startswith("bestmove ") for line in lines)
        print("quit", file=engine.stdin, flush=True)
        assert engine.wait(timeout=LONG) == 0


@pytest.mark.process
def test_lost_reader_ends_the_engine_quietly() -> None:
    with start("go") as engine:
        engine.stdout.close()
        print("name", file=engine.stdin, flush=True)
        assert engine.wait(timeout=LONG) == 0
        assert engine.stderr.read() == ""


def test_console_joins_pieces_and_takes_a_last_line_without_newline() -> None:
    source, sink = os.pipe()
    with open(source, "rb"), open(sink, "wb", buffering=0) as writer:
        console = Console(source, sink)
        writer.write(b"one\r\ntw")
        assert console.read_nowait() == "one"
        assert console.read_nowait() is None
        console.write(["o"])
        console.unread(["zero"])
        assert [console.read(), console.read()] == ["zero", "two"]
        writer.write(b"th\xffree")
        writer.close()
        assert console.read() == "th\ufffdree"
        assert console.read() is None
        assert console.at_end
        assert console.read_nowait() is None
