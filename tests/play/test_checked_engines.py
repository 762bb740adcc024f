"""The process that was checked before a run goes on to its player's first game."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, GameResult
from ringmaster.play.worker import Worker
from tests.play.test_faults import command, gtp, sent_lines, uci
from tests.play.test_faults import play as play_game

SETTINGS: dict[str, Any] = {
    "go": GameSettings("go", board_size=5, komi=0.5, scorer="internal", hang_timeout=5),
    "chess": GameSettings("chess", hang_timeout=5),
}


def check(worker: Worker, player: Player) -> tuple[str, ...]:
    game = "go" if player.protocol == "gtp" else "chess"
    result = worker.run(CheckJob("c", player, SETTINGS[game], keep=True))
    assert isinstance(result, CheckResult)
    return tuple(map(str, result.problems))


def play(worker: Worker, *players: Player, id: str = "0_0", log: Path | None = None) -> GameResult:
    settings = {"scorer": "internal", "game": "go"} if players[0].protocol == "gtp" else {}
    result = play_game(worker, *players, id=id, log=log, hang_timeout=5, **settings)
    assert result.outcome != "void", result.detail
    return result


def starts(pids: Path) -> int:
    return len(pids.read_text().split())


def test_engine_that_is_slow_to_get_ready_is_not_tested_before_its_first_game(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ringmaster.play.compliance.protocol_tests.MOST_SECONDS_TO_TEST", 0.0)
    pids = tmp_path / "pids"
    player = uci("slow", "--pid-file", str(pids), nodes=5)
    result = worker.run(CheckJob("c", player, SETTINGS["chess"], keep=True, limits=True))
    assert isinstance(result, CheckResult)
    (finding,) = result.findings
    assert finding.status == "skip"
    assert finding.detail.endswith("s to get ready")
    assert starts(pids) == 1


def test_engine_that_was_checked_before_a_run_is_not_started_again_for_its_first_game(
    worker: Worker, tmp_path: Path
) -> None:
    pids, log = tmp_path / "pids", tmp_path / "log"
    slow = uci("slow", "--pid-file", str(pids), nodes=1, options={"Strength": 7})
    assert check(worker, slow) == ()
    play(worker, slow, uci("other"), log=log)
    assert starts(pids) == 1
    # and it is got ready once: the game goes on where the check has ended
    lines = sent_lines(log, "slow")
    setup = ["uci", "setoption name Strength value 7", "ucinewgame", "isready"]
    assert lines[: len(setup)] == setup
    assert lines[len(setup)].startswith("position ")


def test_go_engine_that_is_new_for_each_game_plays_its_first_one_in_the_checked_process(
    worker: Worker, tmp_path: Path
) -> None:
    pids, log = tmp_path / "pids", tmp_path / "log"
    flags = ("--pid-file", str(pids), "--also", "load")
    player = gtp("new", *flags, startup_gtp_commands=(("load", "net"),))
    assert check(worker, player) == ()
    play(worker, player, gtp("other"), log=log)
    assert starts(pids) == 1
    # a network is not loaded twice
    assert sent_lines(log, "new").count("load net") == 1
    play(worker, player, gtp("other"), id="0_1")
    assert starts(pids) == 2


def test_process_that_was_checked_with_other_options_is_not_a_new_one(
    worker: Worker, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    strong, weak = (
        uci("e", "--pid-file", str(pids), nodes=1, restart="on", options={"Strength": strength})
        for strength in (900, 100)
    )
    assert check(worker, strong) == ()
    play(worker, weak, uci("other"))
    assert starts(pids) == 2


def test_candidates_of_a_tune_are_checked_in_one_process_that_then_plays(
    worker: Worker, tmp_path: Path
) -> None:
    pids, log = tmp_path / "pids", tmp_path / "log"
    samples = [
        uci("e", "--pid-file", str(pids), nodes=1, options={"Strength": strength})
        for strength in (0, 500, 1000)
    ]
    assert [check(worker, sample) for sample in samples] == [(), (), ()]
    play(worker, samples[0], uci("other"), log=log)
    assert starts(pids) == 1
    lines = sent_lines(log, "e")
    assert lines[lines.index("setoption name Strength value 1000") :][3:6] == [
        "setoption name Strength value 0",
        "ucinewgame",
        "isready",
    ]


def test_check_keeps_no_more_processes_than_a_game_has(worker: Worker, tmp_path: Path) -> None:
    pids = [tmp_path / name for name in "abc"]
    players = [uci(path.name, "--pid-file", str(path), nodes=1) for path in pids]
    for player in players:
        assert check(worker, player) == ()
    play(worker, players[1], players[2])
    assert [starts(path) for path in pids] == [1, 1, 1]
    play(worker, players[0], players[2], id="0_1")
    assert [starts(path) for path in pids] == [2, 1, 1]


def test_process_that_has_failed_its_check_is_not_reused(worker: Worker, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    bad = uci("bad", "--pid-file", str(pids), nodes=1, options={"Nonsense": 1})
    (problem,) = check(worker, bad)
    assert "has no option 'Nonsense'" in problem
    play(worker, uci("bad", "--pid-file", str(pids), nodes=1), uci("other"))
    assert starts(pids) == 2


@pytest.mark.slow
def test_standard_error_and_remarks_of_the_start_come_with_the_first_game(
    worker: Worker,
) -> None:
    script = "echo loading >&2; exec " + shlex.join(command("fault_gtp", "--one-at-a-time"))
    player = Player("one", ("/bin/sh", "-c", script))
    assert check(worker, player) == ()
    result = play(worker, player, gtp("other"))
    assert ("one", "loading") in result.stderr
    assert "one takes one command at a time" in str(result)
