"""kill -9 at random instants: no game lost, none doubled, no engine left."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.program import (
    CE_TUNER,
    CLOP_TUNER,
    ENGINE,
    MC_TUNER,
    OPTUNA_TUNER,
    PLAYOFF,
    SPSA,
    SWISS,
    TEXEL,
    engine_pids,
    living_engines,
    ringmaster,
    shown,
    start,
    write_control_file,
)
from tests.requirements import package

pytestmark = [pytest.mark.kill, pytest.mark.process]

#: Rounds of each test; `RINGMASTER_KILLS=50` makes a hundred kills in all.
ROUNDS = int(os.environ.get("RINGMASTER_KILLS", "4"))
#: Enough that the kills, not the end, stop the runs; a third of them are pairs.
GAMES = 252 * ROUNDS


def results(control: Path) -> list[tuple[Any, ...]]:
    """Return the recorded games in order."""
    connection = sqlite3.connect(control.with_suffix(".status"))
    try:
        return connection.execute(
            "SELECT game_id, ticket, outcome, winner, plies FROM results ORDER BY seq"
        ).fetchall()
    finally:
        connection.close()


def state(control: Path) -> tuple[int, dict[str, Any]]:
    """Return the final state without CPU times, which differ from run to run."""
    connection = sqlite3.connect(control.with_suffix(".status"))
    try:
        seq, data = connection.execute("SELECT seq, data FROM state").fetchone()
    finally:
        connection.close()
    decoded: dict[str, Any] = json.loads(data)
    closing = [match["tally"] for match in decoded.get("matches", ())]
    for tally in [*decoded.get("matchups", {}).values(), *closing]:
        del tally["cpu"]
    return seq, decoded


def _kill(process: subprocess.Popen[bytes], rng: random.Random) -> None:
    """Send SIGKILL, every third time to the whole process group."""
    if rng.random() < 1 / 3:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGKILL)
    process.wait(20)


def kill_at_random(control: Path, rng: random.Random, parallel: int, action: str = "run") -> bool:
    """Start the event and kill it within its first moments of play; returns whether it
    was still running."""
    process = start(control, action, "-q", "-j", str(parallel))
    try:
        # the wait is for the process, so a run that ends early ends it
        process.wait(rng.uniform(0.2, 0.7))
        return False
    except subprocess.TimeoutExpired:
        _kill(process, rng)
        return True


#: Two of the three matchups are decided within some 250 games, the third is not.
SPRT = (
    PLAYOFF
    + """
sprt = SPRT(0, 20, model="logistic")
matchups[1] = Matchup("b", "b", sprt=SPRT(-4, 4))
"""
)

#: A closing match long enough to be killed in, and to be decided.
CLOSING = SPSA.replace("Verify(games=20)", "Verify(games=300, sprt=SPRT(-30, 30))")

SOURCES = {
    "spsa": SPSA,
    "playoff": PLAYOFF,
    "sprt": SPRT,
    "mc_tuner": MC_TUNER,
    "ce_tuner": CE_TUNER,
    "clop_tuner": CLOP_TUNER,
    "swiss": SWISS,
}


def snapshots(control: Path) -> list[Any]:
    """Return the lines of the tree log, none without one."""
    path = control.with_suffix(".tree.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("source", list(SOURCES.values()), ids=list(SOURCES))
@pytest.mark.parametrize("parallel", [1, 2])
def test_killed_event_ends_as_an_uninterrupted_one(
    tmp_path: Path, source: str, parallel: int
) -> None:
    games = GAMES // 3 if source is PLAYOFF or source is SPRT else GAMES
    control = write_control_file(tmp_path / "killed", source, games)
    rng = random.Random(parallel)
    killed = 0
    for _ in range(ROUNDS):
        killed += kill_at_random(control, rng, parallel)
        assert living_engines(control) == []
    assert killed > ROUNDS // 2
    done = ringmaster(control, "-q", "-j", str(parallel))
    assert (done.returncode, done.stderr) == (0, "")

    ids = [row[0] for row in results(control)]
    summary = shown(control)
    assert len(ids) == len(set(ids)) == summary["games"]["completed"]
    assert summary["games"]["completed"] == summary["games"]["total"]
    assert summary["games"]["in_progress"] == 0
    assert living_engines(control) == []
    # every result is in the history once, and every record is on disk
    history = control.with_suffix(".hist").read_text().splitlines()
    games_told = [line.split(":")[0] for line in history if line.startswith("game ")]
    assert sorted(games_told) == sorted(f"game {id}" for id in ids)
    records = {path.stem: path.read_text() for path in control.with_suffix(".games").iterdir()}
    assert records.keys() == set(ids)
    # All are in one file, whole and once, in the order of first issue.
    log = control.with_suffix(".log").read_text()
    order = dict.fromkeys(re.findall(r" starting game (\S+): ", log))
    assert sorted(order) == sorted(ids)
    collected = control.with_suffix(".games.pgn").read_text()
    assert re.findall(r'\[GameId "(.*)"\]', collected) == list(order)
    assert collected == "".join(records[id] for id in order)
    waiting = sqlite3.connect(control.with_suffix(".status"))
    assert waiting.execute("SELECT count(*) FROM places").fetchone() == (0,)
    assert waiting.execute("SELECT count(*) FROM pending").fetchone() == (0,)
    waiting.close()
    periods = range(20, len(ids) + 1, 20) if source is MC_TUNER else ()
    assert [snapshot["games"] for snapshot in snapshots(control)] == list(periods)
    if parallel == 1:
        whole = write_control_file(tmp_path / "whole", source, games)
        assert ringmaster(whole, "-q").returncode == 0
        assert snapshots(control) == snapshots(whole)
        assert results(control) == results(whole)
        assert state(control) == state(whole)


@pytest.mark.parametrize("parallel", [1, 2])
def test_killed_closing_match_ends_as_an_uninterrupted_one(tmp_path: Path, parallel: int) -> None:
    # in the middle of the tune, by the action `verify`, then at its end
    control = write_control_file(tmp_path / "killed", CLOSING, 40)
    rng = random.Random(parallel)
    killed = 0
    assert ringmaster(control, "-q", "-g", "21").returncode == 0
    for action in ("verify", "run"):
        for _ in range(ROUNDS // 2):
            killed += kill_at_random(control, rng, parallel, action)
            assert living_engines(control) == []
        done = ringmaster(control, action, "-q", "-j", str(parallel))
        assert (done.returncode, done.stderr) == (0, "")
    assert killed > 0
    ids = [row[0] for row in results(control)]
    summary = shown(control)
    assert len(ids) == len(set(ids)) == summary["games"]["completed"] == summary["games"]["total"]
    assert [matchup["id"] for matchup in summary["matchups"]] == ["verify1", "verify2"]
    for matchup in summary["matchups"]:
        assert sum(id.startswith(f"{matchup['id']}_") for id in ids) == matchup["games"]
    if parallel == 1:
        whole = write_control_file(tmp_path / "whole", CLOSING, 40)
        assert ringmaster(whole, "-q", "-g", "21").returncode == 0
        for action in ("verify", "run"):
            assert ringmaster(whole, action, "-q").returncode == 0
        assert results(control) == results(whole)
        assert state(control) == state(whole)


def recorded(control: Path) -> int:
    """Return how many results the store has."""
    status = control.with_suffix(".status")
    if not status.exists():
        return 0
    connection = sqlite3.connect(f"file:{status}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.OperationalError:  # it is just being made
        return 0
    finally:
        connection.close()


def kill_at_result(control: Path, rng: random.Random, parallel: int, wanted: int) -> bool:
    """Start the event and kill it some moments after it has so many results; returns whether
    it was still running."""
    process = start(control, "run", "-q", "-j", str(parallel))
    try:
        while recorded(control) < wanted:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.002)
                return False
        process.wait(rng.uniform(0, 0.02))
        return False
    except subprocess.TimeoutExpired:
        _kill(process, rng)
        return True


@pytest.fixture(name="whole_tune", scope="module")
def whole_tune_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an event of positions that was not interrupted."""
    whole = write_control_file(tmp_path_factory.mktemp("whole"), TEXEL, 40)
    assert ringmaster(whole, "-q").returncode == 0
    return whole


@pytest.mark.parametrize("parallel", [1, 2])
def test_killed_passes_over_positions_end_as_uninterrupted_ones(
    tmp_path: Path, whole_tune: Path, parallel: int
) -> None:
    control = write_control_file(tmp_path / "killed", TEXEL, 40)
    rng = random.Random(parallel)
    total = recorded(whole_tune)
    killed = 0
    # in the probe, in pass 0, and wherever the derivatives and the steps have got to
    for wanted in [0, *sorted(rng.sample(range(1, total - 1), ROUNDS - 1))]:
        killed += kill_at_result(control, rng, parallel, wanted)
        assert living_engines(control) == []
    done = ringmaster(control, "-q", "-j", str(parallel))
    assert (done.returncode, done.stderr) == (0, "")
    assert killed > ROUNDS // 2
    ids = [row[0] for row in results(control)]
    assert len(ids) == len(set(ids))
    assert living_engines(control) == []
    assert sorted(ids) == sorted(row[0] for row in results(whole_tune))
    seq, matched = state(control)
    expected = state(whole_tune)
    # the probe and the clock measure time, and each event has a folder of its own
    for one in (matched, expected[1]):
        del one["seconds"], one["facts"], one["key"], one["engine"]
    assert (seq, matched) == expected
    one, other = (
        [line for line in path.with_suffix(".hist").read_text().splitlines() if "probe" not in line]
        for path in (control, whole_tune)
    )
    # passes that are under way together may end in any order
    assert one == other if parallel == 1 else sorted(one) == sorted(other)


@pytest.mark.optional
@pytest.mark.parametrize("sampler", ["tpe", "cmaes"])
@pytest.mark.parametrize("parallel", [1, 2])
def test_killed_trials_end_as_uninterrupted_ones(
    tmp_path: Path, parallel: int, sampler: str
) -> None:
    package("optuna")
    source = OPTUNA_TUNER + f"sampler = {sampler!r}\n"
    control = write_control_file(tmp_path / "killed", source, 500)
    rng = random.Random(parallel)
    killed = 0
    for wanted in sorted(rng.sample(range(1, 250), ROUNDS)):
        killed += kill_at_result(control, rng, parallel, wanted)
        assert living_engines(control) == []
    done = ringmaster(control, "-q", "-j", str(parallel))
    assert (done.returncode, done.stderr) == (0, "")
    assert killed > ROUNDS // 2
    ids = [row[0] for row in results(control)]
    summary = shown(control)
    assert len(ids) == len(set(ids)) == summary["games"]["completed"] == summary["games"]["total"]
    assert summary["trials"]["ended"] == 25
    if parallel == 1:
        whole = write_control_file(tmp_path / "whole", source, 500)
        assert ringmaster(whole, "-q").returncode == 0
        assert results(control) == results(whole)
        assert state(control) == state(whole)


def test_killed_worker_costs_only_its_own_game(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2000)
    process = start(control, "-q", "-j", "2")
    try:
        workers = _wait_for_workers(psutil.Process(process.pid))
        workers[0].kill()
        # still at work afterwards
        assert ringmaster(control, "stop").returncode == 0
        assert process.wait(30) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert living_engines(control) == []
    ids = [row[0] for row in results(control)]
    assert len(ids) == len(set(ids)) > 0
    assert shown(control)["games"]["completed"] == len(ids)


def _wait_for_workers(main: psutil.Process, count: int = 2) -> list[psutil.Process]:
    """Return `count` worker processes, once engines run under them."""
    while main.is_running():
        parents = {
            child.ppid()
            for child in _descendants(main)
            if any(ENGINE.name in word for word in _command(child))
        }
        if len(parents) >= count:
            return [psutil.Process(pid) for pid in sorted(parents)]
    raise AssertionError("the run ended before it had engines")


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


SLOW = """
competition_type = "playoff"
game = "chess"
def duel(*more):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                   "--pid-file", {log!r}, *more], nodes=1)
players = {{"slow": duel("--ready-after", "60"), "quick": duel()}}
openings = Openings("book.epd")
matchups = [Matchup("slow", "quick", number_of_games={games})]
"""


def test_nothing_is_left_of_processes_that_wait_for_their_first_game(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, SLOW, 2)
    process = start(control, "run", "-q")
    try:
        # the quick engine has been checked by the time that the slow one is started
        deadline = time.monotonic() + 60
        while len(engine_pids(control)) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert all(map(psutil.pid_exists, engine_pids(control)))
    finally:
        process.kill()
        process.wait(20)
    assert len(engine_pids(control)) == 2
    assert living_engines(control) == []
