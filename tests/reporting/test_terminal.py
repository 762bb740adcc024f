"""The display that redraws: seen through a screen of our own."""

from __future__ import annotations

import io
import os
import signal
import termios
from typing import TextIO, cast

import pytest

from ringmaster.model.report import Progress, Report, Text
from ringmaster.reporting.outlet import Outlet, through
from ringmaster.reporting.progress import DisplayView
from ringmaster.reporting.terminal import TerminalDisplay
from tests.reporting.screen import FakeScreen


class Stage:
    """A display with its screen and its clock."""

    def __init__(self, columns: int = 60, rows: int = 12, *, colours: bool = True) -> None:
        self.now = 1000.0
        self.screen = FakeScreen(columns, rows)
        self.display = TerminalDisplay(
            cast(TextIO, self.screen),
            clock=lambda: self.now,
            size=lambda: (self.screen.columns, self.screen.rows),
            colours=colours,
        )
        self.built = 0
        self.completed = 0
        self.results: list[str] = []

    def view(self) -> DisplayView:
        self.built += 1
        return DisplayView(
            heading="tune: spsa",
            progress=Progress(self.completed, 100),
            started=1000.0,
            completed_this_run=self.completed,
            report=Report((Text(("parameters",)),)),
            results=self.results,
            hint="? keys",
            verdict="a is better",
        )

    def draw(self, seconds: float = 1.0) -> list[str]:
        """Let time pass, update, and return what is on the screen."""
        self.now += seconds
        self.display.update(self.view)
        return self.screen.lines()


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_the_alternate_screen_is_drawn_and_redrawn_in_place(stage: Stage) -> None:
    stage.screen.write("$ ringmaster x.ctl\n")
    first = stage.draw()
    assert stage.screen.is_alternate
    assert first[0] == "a is better"
    assert first[-1].startswith("tune: spsa")
    stage.completed = 50
    stage.results = ["a beat b", "b beat a"]
    second = stage.draw()
    assert "50/100 games" in second[1]
    assert [line for line in second if "beat" in line] == ["a beat b", "b beat a"]
    stage.results = []
    assert len(stage.draw()) == len(first) == 12
    assert not any("beat" in line for line in stage.screen.lines())
    assert stage.screen.history == []


def test_updates_in_quick_succession_draw_nothing(stage: Stage) -> None:
    stage.draw()
    for _ in range(1000):
        stage.draw(0.0001)
    assert stage.built == 1
    stage.draw(0.1)
    assert stage.built == 2


def test_messages_are_shown_for_a_minute_and_printed_on_the_normal_screen(stage: Stage) -> None:
    stage.draw()
    stage.display.message("first\nsecond \x1b[2J")
    lines = stage.draw()
    assert [line for line in lines if line in ("first", "second \ufffd")] == [
        "first",
        "second \ufffd",
    ]
    assert "first" not in stage.draw(61.0)
    stage.display.warning("third")
    stage.display.close()
    assert stage.screen.lines() == ["first", "second \ufffd", "third"]
    assert not stage.screen.is_alternate
    assert stage.screen.cursor_visible


def test_engines_standard_error_is_shown_and_printed_in_the_end(stage: Stage) -> None:
    stage.draw()
    stage.display.engine_errors(["0_0 a stderr: one \x1b[2J", "0_1 b stderr: two"])
    assert "0_0 a stderr: one \ufffd" in stage.draw()
    stage.display.close()
    assert stage.screen.lines() == ["0_0 a stderr: one \ufffd", "0_1 b stderr: two"]


def test_engines_standard_error_goes_where_standard_error_was_redirected(stage: Stage) -> None:
    errors = io.StringIO()
    display = TerminalDisplay(cast(TextIO, stage.screen), errors=errors)
    display.engine_errors([])
    display.engine_errors(["0_0 a stderr: one"])
    display.close()
    assert errors.getvalue() == "0_0 a stderr: one\n"
    assert "one" not in "".join(stage.screen.lines())


@pytest.mark.parametrize(
    ("columns", "rows"), [(30, 12), (40, 10), (60, 6), (80, 24), (120, 40), (200, 60), (12, 3)]
)
def test_a_resized_terminal_gets_one_clean_display(stage: Stage, columns: int, rows: int) -> None:
    stage.results = ["a beat b"] * 30
    stage.draw()
    stage.screen.resize(columns, rows)
    lines = stage.draw()
    assert sum("a is better" in line for line in lines) == 1
    assert sum("? keys" in line for line in lines) == 1
    assert len(lines) == rows
    assert stage.draw(0.2) == lines
    stage.display.close()
    assert stage.screen.lines() == []
    assert stage.screen.history == []


def test_a_terminal_without_an_alternate_screen_keeps_no_drawing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage.screen, "_switch", lambda to_alternate: None)
    assert stage.draw()
    stage.display.message("the end")
    stage.display.close()
    assert stage.screen.lines() == ["the end"]


def test_messages_on_the_normal_screen_are_broken_between_words() -> None:
    stage = Stage(30)
    stage.draw()
    message = "interrupted by SIGINT (203/2000 games; run it again to resume): a is better"
    stage.display.message(message)
    stage.display.close()
    lines = stage.screen.lines()
    assert len(lines) > 2
    assert " ".join(" ".join(lines).split()) == message


def test_suspending_shows_the_normal_screen_and_resuming_draws_again(stage: Stage) -> None:
    before = stage.draw()
    stage.display.warning("beware")
    stage.display.suspend()
    lines = stage.screen.lines()
    assert lines[0] == "beware"
    assert lines[1].startswith("0/100 games")
    assert lines[2] == "a is better"
    assert stage.screen.cursor_visible
    stage.screen.write("$ fg\n")
    stage.display.resume()
    assert stage.draw(0.001) == before
    assert not stage.screen.cursor_visible
    stage.display.close()
    assert stage.screen.lines()[3:] == ["$ fg"]


def test_ctrl_z_waits_for_the_end_of_a_drawing(stage: Stage) -> None:
    stopped: list[bool] = []

    def stop(number: int, frame: object) -> None:
        if stage.display.suspend():
            stopped.append(stage.screen.is_alternate)

    handler = signal.signal(signal.SIGTSTP, stop)
    write = stage.screen.write
    written: list[str] = []

    def interrupted(text: str) -> int:
        if not written:
            written.append(text)
            os.kill(os.getpid(), signal.SIGTSTP)
        return write(text)

    try:
        stage.screen.write = interrupted  # type: ignore[method-assign]  # a signal in between
        stage.draw()
    finally:
        signal.signal(signal.SIGTSTP, handler)
    assert stopped == [False]
    assert stage.screen.lines()[-1] == "a is better"


def test_a_terminal_that_hangs_up_is_no_error(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(text: str) -> int:
        raise OSError(5, "Input/output error")

    stage.draw()
    monkeypatch.setattr(stage.screen, "write", fail)
    stage.draw()
    built = stage.built
    stage.draw()
    assert stage.built == built
    stage.display.close()


def test_nothing_is_drawn_in_the_background(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.screen, "fileno", lambda: 1)
    monkeypatch.setattr(os, "tcgetpgrp", lambda fd: os.getpgrp() + 1)
    stage.display.message("while away")
    stage.draw()
    assert stage.screen.writes == []
    monkeypatch.setattr(os, "tcgetpgrp", lambda fd: os.getpgrp())
    assert "while away" in stage.draw()


def test_a_terminal_that_nobody_reads_misses_drawings_and_stops_nothing() -> None:
    controller, terminal = os.openpty()
    now = 0.0
    built = 0

    def view() -> DisplayView:
        nonlocal built
        built += 1
        return DisplayView("x", Progress(1, 2), 0.0, results=["result" * 30] * 60)

    with open(terminal, "w", encoding="utf-8") as plain, open(controller, "rb") as reader:
        outlet = Outlet(terminal)
        display = TerminalDisplay(through(outlet, plain), clock=lambda: now, size=lambda: (200, 60))
        termios.tcflow(terminal, termios.TCOOFF)
        for _ in range(100):
            now += 1.0
            display.update(view)
        assert built == 1
        termios.tcflow(terminal, termios.TCOON)
        data = b""
        # read by its last bytes: the outlet settles a moment after its output can be read, and a
        # read in between waits for ever
        while not data.endswith(b"\x1b[?2026l"):
            data += os.read(reader.fileno(), 1 << 16)
        outlet.settle(60.0)
        now += 1.0
        display.update(view)
        assert built == 2
        display.close()
        while not data.endswith(b"\x1b[?1049l"):
            data += os.read(reader.fileno(), 1 << 16)


def test_the_normal_screen_is_there_before_ctrl_z_stops_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the writing thread of a busy machine may have to wait for its turn
    monkeypatch.setattr("ringmaster.reporting.terminal._PATIENCE", 60.0)
    controller, terminal = os.openpty()
    with open(terminal, "w", encoding="utf-8") as plain, open(controller, "rb") as reader:
        outlet = Outlet(terminal)
        display = TerminalDisplay(through(outlet, plain), size=lambda: (80, 24))
        display.update(lambda: DisplayView("x", Progress(1, 2), 0.0))
        assert display.suspend()
        assert outlet.is_settled()
        shown = b""
        # a read may give a part
        while b"\x1b[?1049l" not in shown:
            shown += os.read(reader.fileno(), 1 << 16)
