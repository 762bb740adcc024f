"""The demo engines as processes: how they are chosen, started and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringmaster.demo.console import Console

ROOT = Path(__file__).parent.parent.parent


def run(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ringmaster.demo", *arguments],
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=20,
        check=False,
    )


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            try:
                os.close(end)
            except OSError:
                pass


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
    with subprocess.Popen(
        [sys.executable, "-m", "ringmaster.demo", "chess"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        print("position startpos\ngo infinite\nisready", file=engine.stdin, flush=True)
        while engine.stdout.readline() != "readyok\n":
            pass
        engine.send_signal(signal.SIGINT)
        print("stop", file=engine.stdin, flush=True)
        lines = iter(engine.stdout.readline, "")
        assert any(line.startswith("bestmove ") for line in lines)
        print("quit", file=engine.stdin, flush=True)
        assert engine.wait(timeout=20) == 0


@pytest.mark.process
def test_lost_reader_ends_the_engine_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ringmaster.demo", "go"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as engine:
        assert engine.stdin is not None
        assert engine.stdout is not None
        assert engine.stderr is not None
        engine.stdout.close()
        print("name", file=engine.stdin, flush=True)
        assert engine.wait(timeout=20) == 0
        assert engine.stderr.read() == ""


def test_console_joins_pieces_and_takes_a_last_line_without_newline() -> None:
    with pipe() as (source, sink):
        console = Console(source, sink)
        os.write(sink, b"one\r\ntw")
        assert console.read_nowait() == "one"
        assert console.read_nowait() is None
        os.write(sink, b"o\nth\xffree")
        assert console.read() == "two"
        os.close(sink)
        assert console.read() == "th\ufffdree"
        assert console.read() is None
        assert console.at_end
        assert console.read_nowait() is None


def test_console_hands_out_unread_lines_first() -> None:
    with pipe() as (source, sink):
        console = Console(source, sink)
        console.write(["three"])
        console.unread(["one", "two"])
        assert [console.read() for _ in range(3)] == ["one", "two", "three"]
