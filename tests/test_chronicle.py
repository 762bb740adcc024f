"""What a run says of its results, and in which order."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ringmaster.chronicle import RECENT, WARNINGS, Chronicle
from ringmaster.competitions.competition import Verdict
from ringmaster.model.results import GameResult
from ringmaster.reporting.live import PlainDisplay
from ringmaster.storage.journal import Journal


class Run:
    """A chronicle with its journal, and what has come of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._out, self._errors = io.StringIO(), io.StringIO()
        self.journal = Journal(folder / "log", folder / "hist", tree=folder / "tree")
        display = PlainDisplay(self._out, self._errors)
        event: Any = SimpleNamespace(competition=SimpleNamespace(unit="games"))
        self.chronicle = Chronicle(self.journal, display, event)

    @property
    def shown(self) -> list[str]:
        return self._out.getvalue().splitlines()

    @property
    def warned(self) -> list[str]:
        return self._errors.getvalue().splitlines()

    @property
    def log(self) -> list[str]:
        lines = (self._folder / "log").read_text().splitlines()
        return [line.split(" ", 2)[2] for line in lines]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def won(number: int, **about: object) -> tuple[GameResult, Verdict]:
    result = GameResult(f"0_{number}", 0, "win", winner=0, **about)  # type: ignore[arg-type]
    return result, Verdict(f"game 0_{number}: a beat b")


VOID = GameResult("0_1", 0, "void", detail="it exited\nits last words"), Verdict("game 0_1: void")


def test_results_are_shown_and_logged_in_the_order_of_their_coming(run: Run) -> None:
    run.chronicle.tell([won(0), won(1)], halted=False)
    lines = ["game 0_0: a beat b", "game 0_1: a beat b"]
    assert run.shown == run.log == run.chronicle.recent == lines
    assert run.chronicle.completed == 2


def test_void_game_is_a_warning_with_its_details_between_the_others(run: Run) -> None:
    run.chronicle.tell([won(0), VOID, won(2)], halted=False)
    assert run.shown == ["game 0_0: a beat b", "game 0_2: a beat b"]
    assert "game 0_1: void" in run.warned[0]
    assert "its last words" in run.warned[-1]
    assert run.chronicle.completed == 2
    assert run.chronicle.recent[1] == "game 0_1: void"


def test_run_that_is_ended_by_a_void_game_says_what_it_waits_for(run: Run) -> None:
    run.chronicle.tell([VOID], halted=True)
    assert run.shown == ["waiting for games in progress"]


def test_forfeits_and_standard_error_are_in_the_log_alone(run: Run) -> None:
    run.chronicle.tell(
        [won(0, forfeit=True, detail="out of time", stderr=(("b", "oops"),))], halted=False
    )
    assert run.log == ["game 0_0: a beat b", "0_0: out of time", "0_0 b stderr: oops"]
    assert run.shown == ["game 0_0: a beat b"]


def test_what_is_kept_for_the_display_is_bounded(run: Run) -> None:
    for number in range(RECENT + 5):
        run.chronicle.tell([won(number)], halted=False)
    for number in range(WARNINGS + 2):
        run.chronicle.warn(f"warning {number}")
    assert len(run.chronicle.recent) == RECENT
    assert run.chronicle.recent[-1] == f"game 0_{RECENT + 4}: a beat b"
    assert run.chronicle.warnings == [f"warning {n}" for n in range(2, WARNINGS + 2)]
