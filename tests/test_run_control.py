"""The user's control of a run by commands of other processes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ringmaster.model.jobs import Job
from ringmaster.model.results import JobResult
from ringmaster.run_control import COMMAND_PERIOD, RunControl
from tests.execution.inline import InlineExecutor


class Idle:
    """Work that is never done."""

    def run(self, job: Job) -> JobResult:
        raise AssertionError

    def close(self) -> None:
        pass


class Clock:
    """Seconds, far enough apart for each check to look for commands."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += COMMAND_PERIOD
        return self.now


@pytest.mark.parametrize(
    ("commands", "stopping", "paused", "said"),
    [
        (["stop"], "stopped by command", False, ["waiting for games in progress"]),
        (["pause"], "", True, ["paused: no games start until the command resume"]),
        (["pause", "resume"], "", False, ["paused", "continued"]),
        (["pause", "pause"], "", True, ["paused"]),
        (["resume"], "", False, []),
    ],
)
def test_command_is_obeyed(
    monkeypatch: pytest.MonkeyPatch,
    commands: list[str],
    stopping: str,
    paused: bool,
    said: Sequence[str],
) -> None:
    monkeypatch.setattr("ringmaster.run_control.time", Clock())
    given = [[command] for command in commands]
    control = RunControl(None, None, lambda: given.pop(0) if given else [], "games")
    lines: list[str] = []
    control.attach(InlineExecutor(Idle()), lines.append)
    for _ in commands:
        control.check()
    assert (control.stopping, control.paused) == (stopping, paused)
    assert len(lines) == len(said)
    assert all(words in line for words, line in zip(said, lines, strict=True))


def test_commands_change_the_games_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringmaster.run_control.time", Clock())
    given = [["more", "more"], ["fewer"]]
    control = RunControl(None, None, lambda: given.pop(0), "games")
    executor = InlineExecutor(Idle())
    before = executor.slots
    control.attach(executor, lambda line: None)
    control.check()
    assert executor.slots == before + 2
    control.check()
    assert executor.slots == before + 1
