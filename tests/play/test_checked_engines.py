"""Before its first game a player is tested; over UCI its process goes on to play the game."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ringmaster.model.jobs import CheckJob, GameSettings, OptionChange
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance import effects
from ringmaster.play.worker import Worker
from tests.play.test_compliance import careful
from tests.play.test_faults import command, gtp, sent_lines, uci
from tests.play.test_faults import play as play_game
from tests.play.workers import one_worker

SETTINGS: dict[str, Any] = {
    "go": GameSettings("go", board_size=5, komi=0.5, scorer="internal", hang_timeout=60),
    "chess": GameSettings("chess", hang_timeout=60),
}

WEIGHT = OptionChange("weight", ({"Weight": 900}, {"Weight": 0}))
IDLE = OptionChange("idle", ({"Idle": 9}, {"Idle": 1}))


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    # lateness is not forgiven because others use the machine
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    # nor are tests left out because the engine has to wait for a processor
    monkeypatch.setattr("ringmaster.play.compliance.protocol_tests.MOST_SECONDS_TO_TEST", 60.0)
    with one_worker("tests/engines") as new_worker:
        yield new_worker


def check(worker: Worker, player: Player) -> tuple[str, ...]:
    game = "go" if player.protocol == "gtp" else "chess"
    result = worker.run(CheckJob("c", player, SETTINGS[game], keep=True))
    assert isinstance(result, CheckResult)
    return tuple(map(str, result.problems))


def play(worker: Worker, *players: Player, id: str = "0_0", log: Path | None = None) -> GameResult:
    settings = {"scorer": "internal", "game": "go"} if players[0].protocol == "gtp" else {}
    result = play_game(worker, *players, id=id, log=log, **settings)
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


SURROUNDINGS = 'echo "<$GOMILL_GAME_ID> <$RINGMASTER_GAME_ID> <$GOMILL_SLOT>" >&2; exec '


@pytest.mark.parametrize("restart", ["auto", "on", "off"])
@pytest.mark.parametrize("program", ["fault_gtp", "fault_uci"])
def test_process_that_plays_was_not_told_that_it_serves_a_check(
    program: str, restart: Any, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    script = SURROUNDINGS + shlex.join(command(program, "--pid-file", str(pids)))
    protocol: Any = program[-3:]
    player = Player("a", ("/bin/sh", "-c", script), protocol=protocol, restart=restart)
    is_kept = protocol == "uci" and restart != "on"
    with one_worker(slot=3, workers=4) as worker:
        assert check(worker, player) == ()
        assert starts(pids) == 1
        result = play(worker, player, replace(player, code="b"))
    told = "<> <> <3>" if is_kept else "<0_0> <0_0> <3>"
    assert result.stderr == (("a", told), ("b", "<0_0> <0_0> <3>"))
    assert starts(pids) == (2 if is_kept else 3)


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
    script = "echo loading >&2; exec " + shlex.join(command("fault_uci"))
    player = Player("one", ("/bin/sh", "-c", script), protocol="uci")
    assert check(worker, player) == ()
    assert ("one", "loading") in play(worker, player, uci("other")).stderr
    script = shlex.join(command("fault_gtp", "--one-at-a-time"))
    player = Player("one", ("/bin/sh", "-c", script))
    assert check(worker, player) == ()
    assert "one takes one command at a time" in str(play(worker, player, gtp("other")))


# tests of limits and options


def scored(*flags: str, **settings: Any) -> Player:
    return Player("x", command("scored", *flags), protocol="uci", depth=1, **settings)


def findings(worker: Worker, player: Player, *changes: OptionChange) -> list[tuple[str, str, str]]:
    job = CheckJob("c", player, SETTINGS["chess"], keep=True, limits=not changes, changes=changes)
    result = worker.run(job)
    assert isinstance(result, CheckResult)
    assert result.problems == ()
    return [(f.status, f.name, f.detail) for f in result.findings if f.status != "pass"]


@pytest.mark.parametrize(
    "limits",
    [
        {"nodes": 1},
        {"nodes": 10_000_000},
        {"depth": 3},
        {"move_time": 0.15},
        {"time_control": TimeControl.parse("10+0.1")},
        {"nodes": 800, "time_control": TimeControl.parse("60+1")},
    ],
)
def test_engine_that_obeys_its_limits_is_not_accused(
    worker: Worker, limits: dict[str, Any]
) -> None:
    assert findings(worker, careful(**limits)) == []


def test_first_iteration_is_no_breach_of_a_limit_of_few_nodes(worker: Worker) -> None:
    assert findings(worker, careful("--nodes", "800", nodes=1)) == []


def test_engine_that_ignores_its_limit_is_reported_with_both_numbers(worker: Worker) -> None:
    deaf = careful("--ignore", "clock", time_control=TimeControl.parse("60+1"))
    ((status, _, detail),) = findings(worker, deaf)
    assert (status, detail) == ("fail", "with clock 200 it had to be stopped after 0.7 s")


def test_process_that_was_tested_plays_the_first_game(worker: Worker, tmp_path: Path) -> None:
    pids, log = tmp_path / "pids", tmp_path / "log"
    player = uci("e", "--pid-file", str(pids), nodes=100)
    assert findings(worker, player) == []
    other = uci("other", nodes=1)
    assert play(worker, player, other, log=log).outcome == "win"
    assert len(pids.read_text().split()) == 1
    # a new game begins for it; the searches of the test are no part of the transcript
    sent = [line.split(None, 3)[3] for line in log.read_text().splitlines() if " e > " in line]
    assert sent[:5] == ["uci", "ucinewgame", "isready", "ucinewgame", "isready"]


def test_engine_that_dies_of_its_limit_is_reported_and_restarted(
    worker: Worker, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    player = uci("e", "--crash-on", "go:1", "--pid-file", str(pids), nodes=100)
    ((status, name, detail),) = findings(worker, player)
    assert (status, name) == ("fail", "limits")
    assert "exited" in detail


# options


def test_option_without_effect_is_found_beside_one_that_has_one(worker: Worker) -> None:
    ((status, _, detail),) = findings(worker, scored("--nodes", "0"), WEIGHT, IDLE)
    assert status == "warn"
    assert detail == (
        "no effect seen of 1 of 2 tuned options: idle; at the ends of their ranges all moves, "
        "scores and nodes are the same (12 positions with nodes 10000)"
    )


def test_hundreds_of_options_without_effect_are_found_soon(worker: Worker) -> None:
    changes = [OptionChange(f"p{i}", ({"Idle": 1 + i % 9},)) for i in range(300)]
    ((_, _, detail),) = findings(worker, scored("--nodes", "0"), *changes)
    assert (
        "300 of 300 tuned options: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9 and 290 more;" in detail
    )


@pytest.mark.parametrize("flags", [["--random"], ["--drifts", "--never-clears"]])
def test_engine_that_plays_by_chance_is_not_accused_of_options_without_effect(
    worker: Worker, flags: list[str]
) -> None:
    ((status, _, detail),) = findings(worker, scored("--nodes", "0", *flags), WEIGHT, IDLE)
    assert (status, detail) == ("skip", "the same search (nodes 10000) is another one each time")


def test_searches_of_a_few_nodes_prove_nothing(worker: Worker) -> None:
    ((status, _, detail),) = findings(worker, scored("--nodes", "7"), IDLE)
    assert (status, detail) == ("skip", "no limit is known that makes it search long enough")


def test_options_set_in_new_processes_are_not_tested(
    worker: Worker,
) -> None:
    player = scored("--nodes", "0", "--applies", "start", restart="on")
    ((status, _, detail),) = findings(worker, player, WEIGHT)
    assert (status, detail) == (
        "skip",
        "each game has a new process, which may take them differently",
    )


def test_untested_options_are_not_accused(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "SECONDS", 0.0)
    outcomes = findings(worker, scored("--nodes", "0"), IDLE)
    assert outcomes == [("skip", "tuned options", "1 of 1 not tested in 0 s")]


def test_engine_has_its_own_options_again_after_the_test(worker: Worker, tmp_path: Path) -> None:
    log = tmp_path / "log"
    player = uci("e", nodes=1, options={"Strength": 500})
    findings(worker, player, OptionChange("s", ({"Strength": 0}, {"Strength": 1000})))
    other = uci("other", nodes=1)
    play(worker, player, other, log=log)
    set_last = [line for line in log.read_text().splitlines() if "e > setoption" in line]
    assert not set_last or set_last[-1].endswith("Strength value 500")
