"""Test the messages of a run about its results, and their order."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ringmaster.competitions.competition import Reaction
from ringmaster.model.results import GameResult
from ringmaster.reporting.live import PlainDisplay
from ringmaster.run_log import RECENT, WARNINGS, RunLog
from ringmaster.storage.journal import Journal
from ringmaster.storage.paths import OutputPaths


class Run:
    """A run log with its journal and its output."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._out, self._errors = io.StringIO(), io.StringIO()
        self.journal = Journal(OutputPaths(folder / "t.ctl"))
        display = PlainDisplay(self._out, self._errors, log_games=True)
        event: Any = SimpleNamespace(competition=SimpleNamespace(unit="games"))
        self.run_log = RunLog(self.journal, display, event)

    @property
    def shown(self) -> list[str]:
        return self._out.getvalue().splitlines()

    @property
    def warned(self) -> list[str]:
        return self._errors.getvalue().splitlines()

    @property
    def log(self) -> list[str]:
        lines = (self.folder / "t.log").read_text().splitlines()
        return [line.split(" ", 2)[2] for line in lines]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def won_game(number: int, **about: object) -> tuple[GameResult, Reaction]:
    result = GameResult(f"0_{number}", 0, "win", winner=0, **about)  # type: ignore[arg-type]
    return result, Reaction(f"game 0_{number}: a beat b")


VOID = GameResult("0_1", 0, "void", detail="it exited\nits last words"), Reaction("game 0_1: void")


def test_results_are_shown_and_logged_in_order(run: Run) -> None:
    run.run_log.results([won_game(0), won_game(1)], halted=False)
    lines = ["game 0_0: a beat b", "game 0_1: a beat b"]
    assert run.shown == run.log == run.run_log.recent == lines
    assert run.run_log.completed == 2


def test_void_game_is_shown_as_a_warning_with_its_details(run: Run) -> None:
    run.run_log.results([won_game(0), VOID, won_game(2)], halted=False)
    assert run.shown == ["game 0_0: a beat b", "game 0_2: a beat b"]
    assert "game 0_1: void" in run.warned[0]
    assert "its last words" in run.warned[-1]
    assert run.run_log.completed == 2
    assert run.run_log.recent[1] == "game 0_1: void"
    run.run_log.results([VOID], halted=True)
    assert run.shown[2:] == ["waiting for games in progress"]


def test_forfeits_and_standard_error_are_in_the_log_alone(run: Run) -> None:
    run.run_log.results(
        [won_game(0, forfeit=True, detail="out of time", stderr=(("b", "oops"),))], halted=False
    )
    assert run.log == ["game 0_0: a beat b", "0_0: out of time", "0_0 b stderr: oops"]
    assert run.shown == ["game 0_0: a beat b"]


def test_display_keeps_a_bounded_number_of_results_and_warnings(run: Run) -> None:
    for number in range(RECENT + 5):
        run.run_log.results([won_game(number)], halted=False)
    for number in range(WARNINGS + 2):
        run.run_log.warn(f"warning {number}")
    assert len(run.run_log.recent) == RECENT
    assert run.run_log.recent[-1] == f"game 0_{RECENT + 4}: a beat b"
    assert run.run_log.warnings == [f"warning {n}" for n in range(2, WARNINGS + 2)]


def test_standard_error_in_the_log_is_bounded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringmaster.run_log.STDERR_BYTES", 100)
    run_log = Run(run.folder).run_log
    for number in range(5):
        noisy = ("a", "x" * 60)
        run_log.results([won_game(number, stderr=(noisy,))], halted=False)
    lines = [line for line in run.log if "a stderr: " in line]
    assert [line.split()[0] for line in lines] == ["0_0", "0_1"]
    assert sum("left out in this run" in line for line in run.log) == 1
