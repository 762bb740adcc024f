"""The command of `on_event`: its events, its words, and its failures."""

from __future__ import annotations

import itertools
import os
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace

import pytest

from ringmaster import run_events
from ringmaster.cli import run
from ringmaster.engines import reaper
from ringmaster.errors import ControlFileError, StoreError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import GameJob, Job
from ringmaster.model.results import CheckResult, GameResult, JobResult
from ringmaster.reporting.live import Display
from ringmaster.ringmaster import Ringmaster
from ringmaster.run_control import RunOptions
from ringmaster.run_events import EventCommand
from ringmaster.storage.store import Store, Transaction
from tests.execution.inline import InlineExecutor

WRITER = [sys.executable, "-I", "-S", "-c", "import sys; open(sys.argv[1], 'a').write(sys.argv[2])"]


class Commands:
    """A command with its warnings."""

    def __init__(self, *words: str) -> None:
        self.warned: list[str] = []
        self.command = EventCommand(words, {"name": "t", "file": "/t.ctl"}, self.warned.append)

    def run(self, verdict: str = "a is better") -> None:
        self.command.start("end", verdict)
        self.command.finish()


def test_placeholders_are_replaced_within_words_and_no_shell_sees_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    commands = Commands(*WRITER, str(out), "{event} of {name}: {verdict} {} {file}")
    commands.run("$(touch owned) '; {name}")
    assert out.read_text() == "end of t: $(touch owned) '; {name} {} /t.ctl"
    assert commands.warned == []


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (("no-such-program",), "cannot start 'no-such-program': no such program on PATH"),
        (("sh", "-c", "echo one; echo no display >&2; exit 3"), "ended with status 3: no display"),
    ],
)
def test_failure_of_the_command_is_one_warning_a_run(words: tuple[str, ...], warning: str) -> None:
    commands = Commands(*words)
    commands.run()
    commands.run()
    assert len(commands.warned) == 1
    assert commands.warned[0].startswith("warning: on_event: ")
    assert warning in commands.warned[0]


def test_command_that_hangs_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = "setsid sleep 300 & echo $! > $0; sleep 300"
    commands = Commands("sh", "-c", child, str(fifo))
    commands.command.start("start", "")
    pid = int(fifo.read_text())
    commands.command.look()
    assert commands.warned == []
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + 11, sleep=time.sleep)
    monkeypatch.setattr(run_events, "time", later)
    commands.command.finish()
    assert commands.warned == [
        "warning: on_event: the command did not end in time (told once a run)"
    ]
    # the kernel ends a killed process a moment later
    while (status := reaper.read_status(pid)) is not None and status.is_alive():
        os.sched_yield()


def test_commands_run_in_the_order_of_their_events(tmp_path: Path) -> None:
    out = tmp_path / "out"
    slow_first = "test $1 = end || read line < $0.fifo; echo $1 >> $0"
    os.mkfifo(f"{out}.fifo")
    commands = Commands("sh", "-c", slow_first, str(out), "{event}")
    commands.command.start("decision", "")
    commands.command.start("end", "")
    Path(f"{out}.fifo").write_text("go on\n")
    commands.command.finish()
    assert out.read_text().split() == ["decision", "end"]


def test_command_that_reads_and_prints_much_ends() -> None:
    commands = Commands("sh", "-c", "cat; head -c 200000 /dev/zero; head -c 200000 /dev/zero >&2")
    commands.run()
    assert commands.warned == []


SOURCE = """competition_type = "playoff"
game = "chess"
on_event = {words!r}
players = {{"a": Player("engine", nodes=1), "b": Player("engine", nodes=1)}}
matchups = [Matchup("a", "b", number_of_games=60, sprt=SPRT(0, 50))]
"""


class Players:
    """Let `a` win every game, each fourth by a fault of `b`."""

    def __init__(self) -> None:
        self.games = 0

    def run(self, job: Job) -> JobResult:
        if not isinstance(job, GameJob):
            return CheckResult(job.id, job.player.code)
        self.games += 1
        fault = self.games % 4 == 0
        winner = [player.code for player in job.players].index("a")
        faulty = 1 - winner if fault else None
        reason = "crash" if fault else "mate"
        return GameResult(
            job.id, 0, "win", winner=winner, reason=reason, forfeit=fault, faulty=faulty
        )

    def close(self) -> None: ...


def played(control: Path, max_games: int | None = None) -> int:
    return Ringmaster(
        LoadedCompetition(control),
        RunOptions(max_games=max_games),
        executor=lambda: InlineExecutor(Players()),
        display=Display(sys.stderr),
        period=0.0,
    ).run()


@pytest.fixture
def events(tmp_path: Path) -> tuple[Path, Path]:
    """Return a control file, and the file with its events."""
    out = tmp_path / "out"
    control = tmp_path / "t.ctl"
    control.write_text(SOURCE.format(words=[*WRITER, str(out), "{event}: {verdict}\n"]))
    return control, out


def test_run_runs_the_command_at_start_first_doubt_decision_and_end(
    events: tuple[Path, Path],
) -> None:
    control, out = events
    assert played(control) == 0
    lines = dict(line.split(": ", 1) for line in out.read_text().splitlines())
    assert [*lines][::3] == ["start", "end"]
    assert sorted([*lines][1:3]) == ["decision", "doubt"]
    assert lines["start"].startswith("no result yet: a v b")
    assert lines["decision"] == "a v b: a is stronger than b"
    assert "doubtful: b lost" in lines["doubt"]
    assert lines["end"].startswith("competition complete (")
    assert "a is better" in lines["end"]


def test_stopped_and_resumed_runs_tell_no_doubt_again(events: tuple[Path, Path]) -> None:
    control, out = events
    played(control, max_games=20)
    first = out.read_text()
    assert "doubt: " in first
    assert "end: stopped after 20 games" in first
    out.unlink()
    played(control, max_games=4)
    assert "doubt: " not in out.read_text()


def test_end_by_an_error_of_the_status_file_is_an_event(
    events: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    control, out = events

    begin, calls = Store.transaction, itertools.count()

    def fail_later(store: Store, **options: bool) -> AbstractContextManager[Transaction]:
        if next(calls) > 10:
            raise StoreError("the disk is full")
        return begin(store, **options)

    monkeypatch.setattr(Store, "transaction", fail_later)
    with pytest.raises(StoreError):
        played(control)
    assert "end: error (" in out.read_text()


def test_unknown_placeholder_is_an_error_at_its_place(tmp_path: Path) -> None:
    control = tmp_path / "t.ctl"
    control.write_text(SOURCE.format(words="echo {verdit} '{\"a\": 1}'"))
    with pytest.raises(ControlFileError) as error:
        LoadedCompetition(control)
    assert "t.ctl:3:12" in str(error.value)
    assert "there is no placeholder {verdit}; expected 'verdict'" in str(error.value)


def test_safe_mode_plays_no_game_beside_a_command(
    events: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    control, out = events
    assert run(["run", str(control), "--safe"]) == 1
    assert "on_event: --safe runs no such command" in capsys.readouterr().err
    assert run(["show", str(control), "--safe"]) == 0
    assert not out.exists()
