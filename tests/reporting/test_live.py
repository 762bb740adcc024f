"""Displays without a terminal, and which display a stream gets."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from ringmaster.model.report import Progress
from ringmaster.reporting.live import (
    Display,
    DisplayView,
    PlainDisplay,
    QuietDisplay,
)
from ringmaster.reporting.terminal import TerminalDisplay, make_display

ROOT = Path(__file__).parents[2]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class BrokenStream(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def never() -> DisplayView:
    raise AssertionError("a view was built though nothing was due")


def view(completed: int, total: int | None = 100) -> DisplayView:
    return DisplayView("tune", Progress(completed, total), 1000.0, completed)


def test_plain_display_prints_a_line_for_each_result() -> None:
    stream, errors = io.StringIO(), io.StringIO()
    display = PlainDisplay(stream, errors, clock=Clock())
    display.start()
    display.results(["game 0_1: a beat b"])
    display.message("stopping after the current games")
    display.warning("beware")
    display.close()
    assert stream.getvalue() == "game 0_1: a beat b\nstopping after the current games\n"
    assert errors.getvalue() == "beware\n"


def test_plain_display_reports_progress_once_an_interval() -> None:
    clock, stream = Clock(), io.StringIO()
    display = PlainDisplay(stream, io.StringIO(), interval=30.0, clock=clock)
    display.start()
    display.update(never)
    assert display.next_update() == 30.0
    clock.now += 29.0
    display.update(never)
    clock.now += 1.0
    assert display.next_update() == 0.0
    display.update(lambda: view(60))
    display.update(never)
    assert stream.getvalue() == "60/100 games  60%  2.0 games/s  20 s left\n"


def test_plain_display_prints_no_unchanged_progress() -> None:
    clock, stream = Clock(), io.StringIO()
    display = PlainDisplay(stream, io.StringIO(), clock=clock)
    for _ in range(5):
        clock.now += 30.0
        display.update(lambda: view(60, None))
    assert len(stream.getvalue().splitlines()) == 1


def test_plain_output_never_has_control_codes() -> None:
    stream, errors = io.StringIO(), io.StringIO()
    display = PlainDisplay(stream, errors, clock=Clock())
    display.results(["evil \x1b[2J\x07\u202e name"])
    display.warning("first\nsecond\x1b]0;title\x07")
    assert stream.getvalue() == "evil \ufffd\ufffd name\n"
    assert errors.getvalue() == "first\nsecond\ufffd\n"


def test_engines_standard_error_goes_to_standard_error_made_harmless() -> None:
    for quiet in (True, False):
        stream, errors = io.StringIO(), io.StringIO()
        display = make_display(stream, quiet, errors=errors)
        display.engine_errors([])
        display.engine_errors(["0_0 a stderr: one\x1b[2J", "0_1 b stderr: two"])
        assert stream.getvalue() == ""
        assert errors.getvalue() == "0_0 a stderr: one\ufffd\n0_1 b stderr: two\n"


def test_quiet_display_prints_warnings_only() -> None:
    errors = io.StringIO()
    display = QuietDisplay(errors)
    display.start()
    display.update(never)
    display.results(["game 0_1: a beat b"])
    display.message("stopping")
    display.warning("beware")
    display.close()
    assert errors.getvalue() == "beware\n"
    assert display.next_update() is None


@pytest.mark.parametrize("closed", [True, False])
def test_a_closed_pipe_is_no_error(closed: bool) -> None:
    stream: io.StringIO = io.StringIO() if closed else BrokenStream()
    if closed:
        stream.close()
    display = PlainDisplay(stream, stream, clock=Clock())
    for _ in range(3):
        display.results(["game 0_1: a beat b"])
        display.warning("beware")
    display.close()


def test_an_ascii_stream_gets_ascii() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    display = PlainDisplay(stream, stream, clock=Clock())
    display.results(["θ+ beat θ- by ±3 …"])
    assert raw.getvalue() == b"?+ beat ?- by +/-3 ...\n"
    stream.close()


@pytest.mark.parametrize(
    ("stream", "quiet", "term", "kind"),
    [
        (Terminal(), False, "xterm-256color", TerminalDisplay),
        (Terminal(), False, "dumb", PlainDisplay),
        (Terminal(), False, "", PlainDisplay),
        (Terminal(), True, "xterm-256color", QuietDisplay),
        (io.StringIO(), False, "xterm-256color", PlainDisplay),
    ],
)
def test_the_display_suits_the_stream(
    stream: TextIO, quiet: bool, term: str, kind: type[Display]
) -> None:
    display = make_display(stream, quiet, errors=io.StringIO(), environ={"TERM": term})
    assert type(display) is kind


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    display = make_display(stream, False, errors=io.StringIO(), environ={"TERM": "xterm"})
    assert isinstance(display, PlainDisplay)


def test_only_a_terminal_imports_rich() -> None:
    program = (
        "import io, sys\n"
        "from ringmaster.reporting import keys, tables, terminal\n"
        "terminal.make_display(io.StringIO(), False, errors=io.StringIO()).close()\n"
        "print([name for name in sys.modules if name in ('rich', 'tabulate')])\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=30,
    )
    assert answer.stdout.strip() == b"[]"
