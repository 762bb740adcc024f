"""The display that redraws: seen through a screen of our own."""

from __future__ import annotations

import io
import os
from typing import TextIO, cast

import pytest

from ringmaster.model.report import Progress, Report, Text
from ringmaster.reporting.layout import DisplayView
from ringmaster.reporting.terminal import Screen, TerminalDisplay
from tests.reporting.screen import FakeScreen


class Stage:
    """A display with its screen and its clock."""

    def __init__(self, columns: int = 60, rows: int = 12) -> None:
        self.now = 1000.0
        self.screen = FakeScreen(columns, rows)
        self.display = TerminalDisplay(
            cast(TextIO, self.screen),
            clock=lambda: self.now,
            size=lambda: (self.screen.columns, self.screen.rows),
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
            hint="Ctrl-X to stop",
        )

    def draw(self, seconds: float = 1.0) -> list[str]:
        """Let time pass, update, and return what is on the screen."""
        self.now += seconds
        self.display.update(self.view)
        return self.screen.lines()


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Stage()


def test_the_screenful_is_drawn_and_redrawn_in_place(stage: Stage) -> None:
    stage.display.start()
    first = stage.draw()
    assert first[0].startswith("tune: spsa")
    assert first[-1] == "Ctrl-X to stop"
    stage.completed = 50
    stage.results = ["a beat b", "b beat a"]
    second = stage.draw()
    assert second[0].startswith("tune: spsa")
    assert "50/100 games" in second[1]
    assert [line for line in second if "beat" in line] == ["a beat b", "b beat a"]
    stage.results = []
    assert len(stage.draw()) == len(first)
    assert stage.screen.history == []


def test_updates_in_quick_succession_draw_nothing(stage: Stage) -> None:
    stage.draw()
    for _ in range(1000):
        stage.draw(0.0001)
    assert stage.built == 1
    stage.draw(0.1)
    assert stage.built == 2


def test_each_drawing_is_one_synchronised_write(stage: Stage) -> None:
    stage.draw()
    stage.screen.writes.clear()
    stage.display.message("a message")
    stage.draw()
    (write,) = stage.screen.writes
    assert write.startswith("\x1b[?2026h")
    assert write.endswith("\x1b[?2026l")


def test_next_update_is_soon_when_a_message_waits(stage: Stage) -> None:
    stage.draw()
    assert stage.display.next_update() == pytest.approx(1.0)
    stage.now += 0.01
    stage.display.update(stage.view)
    assert stage.display.next_update() == pytest.approx(0.115)
    stage.draw()
    stage.display.warning("beware")
    assert stage.display.next_update() == pytest.approx(0.125)


def test_messages_stay_above_the_display(stage: Stage) -> None:
    stage.draw()
    stage.display.message("first\nsecond \x1b[2J")
    stage.display.warning("third")
    lines = stage.draw()
    assert lines[:3] == ["first", "second \ufffd", "third"]
    assert lines[3].startswith("tune: spsa")
    assert stage.draw()[3].startswith("tune: spsa")


def test_engines_standard_error_stays_above_the_display(stage: Stage) -> None:
    stage.draw()
    stage.display.engine_errors(["0_0 a stderr: one \x1b[2J", "0_1 b stderr: two"])
    lines = stage.draw()
    assert lines[:2] == ["0_0 a stderr: one \ufffd", "0_1 b stderr: two"]
    assert lines[2].startswith("tune: spsa")


def test_engines_standard_error_goes_where_standard_error_was_redirected(stage: Stage) -> None:
    errors = io.StringIO()
    display = TerminalDisplay(cast(TextIO, stage.screen), errors=errors)
    display.engine_errors([])
    display.engine_errors(["0_0 a stderr: one"])
    display.close()
    assert errors.getvalue() == "0_0 a stderr: one\n"
    assert "one" not in "".join(stage.screen.lines())


def test_many_messages_scroll_away_and_leave_one_display(stage: Stage) -> None:
    for number in range(40):
        stage.display.message(f"message {number}")
    stage.draw()
    lines = stage.draw()
    everything = stage.screen.history + lines
    assert [line for line in everything if line.startswith("message")] == [
        f"message {number}" for number in range(40)
    ]
    assert sum(line.startswith("tune: spsa") for line in everything) == 1


def test_closing_leaves_only_the_messages(stage: Stage) -> None:
    stage.draw()
    assert not stage.screen.cursor_visible
    stage.display.message("last words")
    stage.display.close()
    stage.display.close()
    assert stage.screen.lines() == ["last words"]
    assert stage.screen.cursor_visible


def test_messages_before_the_first_drawing_are_not_lost(stage: Stage) -> None:
    stage.display.start()
    stage.display.warning("engine not found")
    stage.display.close()
    assert stage.screen.lines() == ["engine not found"]


@pytest.mark.parametrize(("columns", "rows"), [(30, 12), (60, 6), (120, 40), (12, 3)])
def test_a_resized_terminal_gets_one_clean_display(stage: Stage, columns: int, rows: int) -> None:
    stage.results = ["a beat b"] * 30
    stage.draw()
    stage.screen.resize(columns, rows)
    lines = stage.draw()
    assert lines[0].startswith("tune: spsa"[: columns - 3])
    assert sum(line.startswith("tune:") for line in lines) == 1
    assert len(lines) < rows
    assert stage.draw(0.2) == lines


def test_suspending_clears_the_display_and_resuming_draws_it_again(stage: Stage) -> None:
    before = stage.draw()
    stage.display.suspend()
    assert stage.screen.lines() == []
    assert stage.screen.cursor_visible
    stage.screen.write("$ fg\n")
    stage.display.resume()
    lines = stage.draw(0.001)
    assert lines[0] == "$ fg"
    assert len(lines) == 1 + len(before)
    assert not stage.screen.cursor_visible


def test_suspending_in_the_middle_of_a_drawing_shows_the_cursor(stage: Stage) -> None:
    stage.draw()
    stage.display._busy = True
    stage.display.suspend()
    assert stage.screen.cursor_visible
    stage.display._busy = False
    assert stage.draw()[0].startswith("tune: spsa")


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
    assert stage.draw()[0] == "while away"


def test_a_terminal_without_a_size_is_80_by_24() -> None:
    assert Screen(cast(TextIO, FakeScreen(10, 10))).size() == (80, 24)


def test_an_ascii_terminal_gets_an_ascii_bar(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.screen, "encoding", "ascii")
    stage.completed = 50
    stage.screen.resize(100, 12)
    line = stage.draw()[1]
    assert line.startswith("####")
    assert line.isascii()
