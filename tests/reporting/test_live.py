"""Displays without a terminal, and which display a stream gets."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TextIO

import pytest

from ringmaster.model.report import Progress
from ringmaster.reporting.live import (
    Display,
    PlainDisplay,
)
from ringmaster.reporting.progress import DisplayView
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


def view(completed: int, total: int | None = 100, verdict: str = "") -> DisplayView:
    return DisplayView("tune", Progress(completed, total), 1000.0, completed, verdict=verdict)


@pytest.mark.parametrize("log_games", [False, True])
def test_plain_display_prints_a_line_for_each_result_on_request(log_games: bool) -> None:
    stream, errors = io.StringIO(), io.StringIO()
    display = PlainDisplay(stream, errors, log_games=log_games, clock=Clock())
    display.results(["game 0_1: a beat b"])
    display.message("stopping after the current games")
    display.warning("beware")
    display.close()
    game = "game 0_1: a beat b\n" * log_games
    assert stream.getvalue() == game + "stopping after the current games\n"
    assert errors.getvalue() == "beware\n"


def test_plain_display_reports_progress_and_verdict_once_a_minute() -> None:
    clock, stream = Clock(), io.StringIO()
    display = PlainDisplay(stream, io.StringIO(), clock=clock)
    display.update(lambda: view(0, None))
    display.update(never)
    assert display.next_update() == 5.0
    for _ in range(11):
        clock.now += 5.0
        display.update(lambda: view(60, None, verdict="a is better"))
    assert stream.getvalue() == ""
    clock.now += 5.0
    assert display.next_update() == 0.0
    display.update(lambda: view(60, 6000, verdict="a is better"))
    display.update(never)
    assert stream.getvalue() == ("60/6000 games  1%  1.0 games/s  1 h 39 min left  a is better\n")


def test_plain_display_reports_milestones_at_once() -> None:
    clock, stream = Clock(), io.StringIO()
    display = PlainDisplay(stream, io.StringIO(), clock=clock)
    for completed in (0, 9, 10, 11, 24, 26, 50, 70, 75, 99, 100):
        display.update(lambda count=completed: view(count))
        clock.now += 5.0
    lines = stream.getvalue().splitlines()
    assert [line.split("/")[0] for line in lines] == ["10", "26", "50", "75", "100"]


def test_plain_display_reports_the_beginning_of_a_closing_match() -> None:
    clock, stream = Clock(), io.StringIO()
    display = PlainDisplay(stream, io.StringIO(), clock=clock)
    for completed, phase in ((10, "tuning"), (11, "tuning"), (12, "closing match")):
        clock.now += 5.0
        display.update(
            lambda count=completed, name=phase: DisplayView(
                "tune", Progress(count, 1000, phase=name), 1000.0, count
            )
        )
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("12/1000 games")
    assert line.endswith("closing match")


def test_plain_output_never_has_control_codes() -> None:
    stream, errors = io.StringIO(), io.StringIO()
    display = PlainDisplay(stream, errors, log_games=True, clock=Clock())
    display.results(["evil \x1b[2J\x07\u202e name"])
    display.warning("first\nsecond\x1b]0;title\x07")
    assert stream.getvalue() == "evil \ufffd\ufffd name\n"
    assert errors.getvalue() == "first\nsecond\ufffd\n"


def test_quiet_display_prints_warnings_only() -> None:
    errors = io.StringIO()
    display = Display(errors)
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
    display = PlainDisplay(stream, stream, log_games=True, clock=Clock())
    for _ in range(3):
        display.results(["game 0_1: a beat b"])
        display.warning("beware")
    display.close()


@pytest.mark.parametrize(
    ("stream", "quiet", "term", "kind"),
    [
        (Terminal(), False, "xterm-256color", TerminalDisplay),
        (Terminal(), False, "dumb", PlainDisplay),
        (Terminal(), False, "", PlainDisplay),
        (Terminal(), True, "xterm-256color", Display),
        (io.StringIO(), False, "xterm-256color", PlainDisplay),
    ],
)
def test_the_display_suits_the_stream(
    stream: TextIO, quiet: bool, term: str, kind: type[Display]
) -> None:
    display = make_display(stream, quiet, errors=io.StringIO(), environ={"TERM": term})
    assert type(display) is kind
