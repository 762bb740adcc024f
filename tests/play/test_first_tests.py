"""Tests before a player's first game: its own limits, and the options of a tune."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringmaster.model.jobs import CheckJob, GameJob, GameSettings, OptionChange
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance import effects
from ringmaster.play.worker import Worker
from tests.play.test_faults import uci
from tests.play.workers import one_worker

ENGINES = Path(__file__).parent.parent / "engines"
SETTINGS = GameSettings("chess", hang_timeout=20)

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


def careful(*flags: str, **limits: Any) -> Player:
    command = (sys.executable, str(ENGINES / "careful_uci.py"), *flags)
    return Player("x", command, protocol="uci", **limits)


def scored(*flags: str, **settings: Any) -> Player:
    command = (sys.executable, "-I", "-S", str(ENGINES / "scored.py"), *flags)
    return Player("x", command, protocol="uci", depth=1, **settings)


def findings(worker: Worker, player: Player, *changes: OptionChange) -> list[tuple[str, str, str]]:
    job = CheckJob("c", player, SETTINGS, keep=True, limits=not changes, changes=changes)
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
    result = worker.run(GameJob("0_0", (player, other), SETTINGS, transcript=str(log)))
    assert isinstance(result, GameResult)
    assert result.outcome == "win"
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
    worker.run(GameJob("0_0", (player, other), SETTINGS, transcript=str(log)))
    set_last = [line for line in log.read_text().splitlines() if "e > setoption" in line]
    assert not set_last or set_last[-1].endswith("Strength value 500")
