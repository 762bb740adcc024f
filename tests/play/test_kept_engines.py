"""Go engines as processes: kept from game to game, replaced when they fail, told
of their clocks and their surroundings."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec.structs import replace

from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.engine_pool import launch_key
from ringmaster.play.worker import Worker
from tests.play.test_faults import command, sent_lines
from tests.play.test_faults import play as play_game
from tests.play.workers import one_worker


@pytest.fixture
def parallel_worker() -> Iterator[Worker]:
    with one_worker(slot=3, workers=4) as worker:
        yield worker


def filler(code: str, *flags: str, **settings: Any) -> Player:
    control = settings.pop("time_control", None)
    return Player(
        code,
        command("fault_gtp", *flags),
        time_control=control and TimeControl.parse(control),
        **settings,
    )


play = functools.partial(play_game, game="go", scorer="internal")


def test_reused_engine_is_prepared_for_each_game(worker: Worker, tmp_path: Path) -> None:
    pids, log = tmp_path / "pids", tmp_path / "log"
    reused = filler(
        "kept",
        *("--pid-file", str(pids), "--also", "level", "--cpu-time", "5"),
        restart="off",
        startup_gtp_commands=(("level", "7"),),
        time_control="100+30byo",
    )
    first = play(worker, reused, filler("new"), log=log)
    before = sent_lines(log, "kept")
    second = play(worker, filler("new"), reused, id="h", log=log)
    assert [first.score, second.score] == ["B+4.5", "B+4.5"]
    assert len(pids.read_text().split()) == 1
    again = sent_lines(log, "kept")
    setup = ["level 7", "boardsize 5", "clear_board", "komi 0.5"]
    clock = ["kgs-time_settings byoyomi 100 30 1"]
    assert [line for line in before if line in (*setup, *clock)] == setup + clock
    assert again[:5] == setup + clock
    # Its own CPU time is a constant total here.
    assert first.usage[0].cpu_time == 5
    assert second.usage[1].cpu_time == 0


@pytest.mark.parametrize("form", ["kata", "lz"])
def test_kept_engine_gets_its_limits_before_each_game_and_gives_its_analysis(
    worker: Worker, tmp_path: Path, form: Any
) -> None:
    log = tmp_path / "log"
    kept = filler("kept", "--analysis", form, analysis=form, visits=812, restart="off")
    sent = {"kata": "kata-set-param maxVisits 812", "lz": "lz-setoption name visits value 812"}
    for number in ("1", "2"):
        result = play(worker, kept, filler("new"), id=number, log=log)
        assert (result.outcome, result.reason) == ("win", "score")
        lines = sent_lines(log, "kept")
        assert lines.count(sent[form]) == 1
        moves = sum(line.startswith(f"{form}-genmove_analyze b ") for line in lines)
        assert result.record is not None
        assert 5 < moves == result.record.count(" 812 visits, pv ")
        assert result.record.count(" points ") == (moves if form == "kata" else 0)


def test_players_with_and_without_a_limit_do_not_share_a_process() -> None:
    limited = filler("a", visits=9)
    assert launch_key(limited) == launch_key(replace(limited, code="b", visits=8))
    assert launch_key(limited) != launch_key(replace(limited, visits=None))
    assert launch_key(limited) != launch_key(replace(limited, playouts=8))
    # Leela Zero is told not to ponder for its analysis
    assert launch_key(limited) != launch_key(replace(limited, analysis="lz"))


@pytest.mark.parametrize(("slot", "shown"), [(0, ""), (1, "1")])
def test_worker_that_was_added_to_a_run_of_one_game_at_a_time_has_a_slot(
    slot: int, shown: str
) -> None:
    with one_worker(slot=slot, workers=1) as worker:
        player = Player(
            "a",
            (
                "/bin/sh",
                "-c",
                'echo "<$GOMILL_SLOT>" >&2; exec ' + shlex.join(command("fault_gtp")),
            ),
        )
        assert play(worker, player, player).stderr[0] == ("a", f"<{shown}>")


def test_game_id_and_slot_are_in_the_environment(parallel_worker: Worker) -> None:
    script = 'echo "$GOMILL_GAME_ID $GOMILL_SLOT $RINGMASTER_GAME_ID" >&2; exec '
    shell = ("/bin/sh", "-c", script + shlex.join(command("fault_gtp")))
    reused, new = Player("kept", shell, restart="off"), Player("new", shell)
    first = play(parallel_worker, reused, new, id="0_1")
    second = play(parallel_worker, reused, new, id="0_2")
    assert first.stderr == (("kept", "0_1 3 0_1"), ("new", "0_1 3 0_1"))
    # a kept engine has the environment that it was started in
    assert second.stderr == (("new", "0_2 3 0_2"),)
    settings = GameSettings("go", board_size=5)
    check = parallel_worker.run(CheckJob("c", new, settings, show_stderr=True))
    assert isinstance(check, CheckResult)
    assert check.problems == ()
    assert check.stderr == ("startup-check  startup-check",)
    # a wrapper may have a light mode for checks
    job = CheckJob("c", new, settings, show_stderr=True, thorough=True, tested_as="kept")
    check = parallel_worker.run(job)
    assert isinstance(check, CheckResult)
    assert [(f.status, f.name) for f in check.findings] == [("pass", "game")]
    assert check.stderr == ("startup-check  startup-check", "c 3 c", "c 3 c")


def test_process_that_replaces_one_with_unknown_options_has_the_id_of_its_own_game(
    worker: Worker,
) -> None:
    script = 'echo "$RINGMASTER_GAME_ID" >&2; exec ' + shlex.join(command("fault_usi"))
    plain = Player("plain", ("/bin/sh", "-c", script), protocol="usi", nodes=1)
    large = replace(plain, code="large", options={"USI_Hash": 64})
    other = Player("other", command("fault_usi"), protocol="usi", nodes=1)
    results = [
        play_game(worker, first, other, game="shogi", id=id)
        for first, id in ((large, "0_1"), (large, "0_2"), (plain, "0_3"), (plain, "0_4"))
    ]
    assert [each.stderr for each in results] == [(("large", "0_1"),), (), (("plain", "0_3"),), ()]
    assert {each.outcome for each in results} == {"win"}


@pytest.mark.parametrize(
    ("flags", "outcome", "reason"),
    [
        (["--hang-on", "genmove:3"], "void", "hang"),
        (["--fail", "genmove:out of memory"], "win", "refused"),
        # The game is over, but the engine is out of step.
        (["--hang-on", "final_score"], "win", "score"),
        (["--cpu-time", "1", "--hang-on", "gomill-cpu_time"], "win", "score"),
    ],
)
@pytest.mark.slow
def test_reused_engine_that_failed_is_replaced(
    worker: Worker, tmp_path: Path, flags: list[str], outcome: str, reason: str
) -> None:
    pids = tmp_path / "pids"
    reused = filler("kept", *flags, "--pid-file", str(pids), restart="off")
    settings: dict[str, Any] = {"scorer": "players", "hang_timeout": 1.0}
    result = play(worker, reused, filler("new"), **settings)
    assert (result.outcome, result.reason) == (outcome, reason)
    play(worker, reused, filler("new"), id="h", **settings)
    assert len(pids.read_text().split()) == 2


def test_startup_check_reports_everything_missing(worker: Worker) -> None:
    player = filler(
        "x",
        *("--no-command", "play", "--no-command", "fixed_handicap"),
        *("--no-command", "time_settings"),
        time_control="600",
    )
    settings = GameSettings("go", board_size=9, handicap=2)
    result = worker.run(CheckJob("c", player, settings))
    assert isinstance(result, CheckResult)
    assert tuple(map(str, result.problems)) == (
        "it has no command play, fixed_handicap",
        "its time control 600 needs the command time_settings",
    )


# Both at once


def test_no_engine_is_waited_for_before_the_other_has_been_started_and_each_once(
    worker: Worker, tmp_path: Path
) -> None:
    fifo, pids = tmp_path / "fifo", tmp_path / "pids"
    os.mkfifo(fifo)

    def after(words: str, code: str) -> Player:
        sent_lines = shlex.join(command("fault_gtp", "--pid-file", str(pids)))
        return Player(
            code, ("/bin/sh", "-c", f"{words} {shlex.quote(str(fifo))}; exec {sent_lines}")
        )

    # The first is silent until the second runs.
    result = play(worker, after("read _ <", "a"), after("echo >", "b"))
    assert result.outcome == "win", result.detail
    assert len(pids.read_text().split()) == 2


def test_the_opponent_of_an_engine_that_does_not_start_is_ended(worker: Worker) -> None:
    before = psutil.Process().children()
    result = play(worker, Player("a", ("false",)), filler("b"))
    assert (result.outcome, result.reason, result.faulty) == ("void", "start", 0)
    assert result.record is None
    assert psutil.Process().children() == before


# Engines that lose commands read ahead


def commands_without_answer(log: Path, code: str) -> int:
    """Return how many commands a player had not answered at most, by a transcript."""
    waiting = most = 0
    for line in log.read_text().splitlines():
        _, who, direction, *words = line.split()
        if who == code:
            waiting += (direction == ">") - (direction == "<" and words[:1] in (["="], ["?"]))
            most = max(most, waiting)
    return most


def notes_on(result: GameResult, code: str) -> int:
    return sum(f"{code} takes one command at a time" in note for _, note in result.stderr)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringmaster.engines.gtp._AHEAD_PATIENCE", 0.05)


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
def test_engine_that_loses_commands_gets_one_at_a_time(worker: Worker, tmp_path: Path) -> None:
    pids, logs = tmp_path / "pids", [tmp_path / "1", tmp_path / "2"]
    loser = filler("b", "--one-at-a-time", "--pid-file", str(pids), time_control="60")
    results = [play(worker, filler("a"), loser, log=log) for log in logs]
    honest = play(worker, filler("a"), filler("b"))
    assert [(r.outcome, r.score, r.plies) for r in results] == 2 * [
        (honest.outcome, honest.score, honest.plies)
    ]
    # found out once, by a process that is not there any more
    assert [notes_on(r, "b") for r in results] == [1, 0]
    processes = [int(pid) for pid in pids.read_text().split()]
    assert len(processes) == 3
    assert not any(map(psutil.pid_exists, processes))
    assert commands_without_answer(logs[1], "b") == 1
    assert "time_left w 60 0" in sent_lines(logs[1], "b")


@pytest.mark.usefixtures("impatient")
def test_engine_with_one_command_at_a_time_is_believed_on_illegal_moves(worker: Worker) -> None:
    loser = filler("b", "--one-at-a-time", "--fail", "play:illegal move", time_control="60")
    result = play(worker, filler("a"), loser)
    assert (result.outcome, result.winner, result.reason) == ("win", 1, "illegal move")
    assert "b calls" in result.detail


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
def test_engine_that_does_not_tell_its_version_at_all_does_not_start(worker: Worker) -> None:
    dumb = filler("b", "--hang-on", "version", ready_timeout=3.0)
    result = play(worker, filler("a"), dumb)
    assert (result.outcome, result.reason, result.faulty) == ("void", "start", 1)
    assert "no answer to 'version'" in result.detail
