"""Engines that think on their opponent's time, as processes, through a whole worker."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl
from ringmaster.play.worker import Worker
from tests.play.test_faults import play, sent_lines, uci

CLOCK = TimeControl.parse("10+0.1")


def ponderer(code: str, *flags: str, **settings: Any) -> Player:
    settings = {"time_control": CLOCK, **settings}
    return uci(code, *flags, ponder=True, **settings)


def words(log: Path, code: str) -> list[str]:
    """Return the first words of what was sent to a player while it played, with
    "go ponder" for a search on its opponent's time."""
    lines = sent_lines(log, code)
    lines = lines[lines.index("isready") + 1 :]
    return [
        "go ponder" if line.startswith("go ponder") else line.split()[0]
        for line in lines
        if not line.startswith("position")
    ]


@pytest.mark.slow
def test_expected_answer_makes_it_an_ordinary_search(worker: Worker, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = play(worker, ponderer("a", "--expect", "right"), uci("b"), log=log)
    assert (result.reason, result.plies) == ("mate", 40)
    # white's last move has no answer left to expect
    assert words(log, "a") == ["go", *["go ponder", "ponderhit"] * 19, "go ponder", "stop"]
    assert "setoption name Ponder value true" in sent_lines(log, "a")
    positions = [line for line in sent_lines(log, "a") if line.startswith("position")]
    pondered = positions[1].removeprefix("position startpos moves ").split()
    assert len(pondered) == 2


@pytest.mark.parametrize("expected", ["wrong", "illegal"])
@pytest.mark.slow
def test_unexpected_move_stops_pondering_and_starts_a_search(
    worker: Worker, tmp_path: Path, expected: str
) -> None:
    log = tmp_path / "log"
    result = play(worker, ponderer("a", "--expect", expected), uci("b"), log=log)
    assert (result.reason, result.plies) == ("mate", 40)
    assert words(log, "a") == [*["go", "go ponder", "stop"] * 20]


@pytest.mark.slow
def test_both_may_ponder(worker: Worker) -> None:
    flags = ("--expect", "right", "--info", "20")
    result = play(worker, ponderer("a", *flags), ponderer("b", *flags))
    assert (result.reason, result.plies) == ("mate", 40)
    assert all(used.ponder_cpu_time is not None for used in result.usage)
    assert all(used.thinking < 5 for used in result.usage)


def test_early_answer_waits_for_the_expected_move(worker: Worker, tmp_path: Path) -> None:
    log, turns = tmp_path / "log", tmp_path / "turns"
    os.mkfifo(turns)
    early = ponderer("early", "--expect", "right", "--answer-early", "--turns", str(turns))
    # the opponent moves when the answer is there
    result = play(worker, early, uci("b", "--turns", str(turns)), log=log)
    assert (result.reason, result.plies) == ("mate", 40)
    assert "ponderhit" not in words(log, "early")
    assert "stop" not in words(log, "early")


@pytest.mark.slow
def test_answer_that_comes_too_early_for_another_move_is_dropped(worker: Worker) -> None:
    early = ponderer("early", "--expect", "wrong", "--answer-early")
    assert play(worker, early, ponderer("b", "--expect", "wrong")).reason == "mate"


def test_without_the_setting_nobody_ponders(worker: Worker, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = play(worker, uci("a", "--expect", "right"), uci("b"), log=log)
    assert set(words(log, "a")) == {"go"}
    assert "setoption name Ponder" not in "\n".join(sent_lines(log, "a"))
    assert result.usage[0].ponder_cpu_time is None


@pytest.mark.slow
def test_engine_that_pondered_is_reused_and_learns_when_it_may_not(
    worker: Worker, tmp_path: Path
) -> None:
    log, pids = tmp_path / "log", tmp_path / "pids"
    flags = ("--expect", "right", "--pid-file", str(pids))
    play(worker, ponderer("a", *flags), uci("b"))
    play(worker, uci("a", *flags, time_control=CLOCK), uci("b"), log=log)
    assert "setoption name Ponder value false" in sent_lines(log, "a")
    assert len(pids.read_text().split()) == 1


def test_ponderer_that_does_not_stop_for_the_move_stalls_on_its_own_clock(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.play.game_runner.STOP_GRACE", 0.2)
    clock = TimeControl.parse("0.5")
    deaf = ponderer("deaf", "--expect", "wrong", "--ignore-stop", time_control=clock)
    result = play(worker, deaf, uci("b"))
    assert (result.winner, result.reason) == (1, "stall")
    assert "no answer to 'stop'" in result.detail


@pytest.mark.slow
def test_ponderer_that_does_not_stop_at_the_end_costs_its_process_and_not_the_result(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ringmaster.play.game_runner.STOP_GRACE", 0.2)
    pids = tmp_path / "pids"
    deaf = ponderer("deaf", "--expect", "right", "--ignore-stop", "--pid-file", str(pids))
    for _ in range(2):
        result = play(worker, deaf, uci("b"), move_limit=2)
        assert (result.outcome, result.reason) == ("draw", "move limit")
    assert len(pids.read_text().split()) == 2


def test_crash_while_pondering_is_found_when_it_has_to_move(worker: Worker) -> None:
    bad = ponderer("bad", "--expect", "right", "--crash-on", "go:4")
    result = play(worker, bad, uci("b"))
    assert (result.outcome, result.reason, result.faulty) == ("void", "crash", 0)


@pytest.mark.parametrize("size", ["300000", "6000000"])
def test_ponderer_that_talks_without_end_is_neither_blocked_nor_blocks(
    worker: Worker, size: str
) -> None:
    noisy = ponderer("noisy", "--expect", "right", "--ponder-chatter", size, "--plies", "100")
    result = play(worker, noisy, uci("b", "--plies", "100"), move_limit=8)
    assert (result.reason, result.plies) == ("move limit", 8)


def test_time_to_stop_is_on_the_ponderers_own_clock(worker: Worker, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = play(worker, ponderer("a", "--expect", "wrong", "--plies", "100"), uci("b"), log=log)
    assert result.usage[0].thinking > 0
    clocks = [int(line.split()[2]) for line in sent_lines(log, "a") if line.startswith("go wtime")]
    assert all(0 < left < 20_000 for left in clocks)
