"""Games at full speed, every third of which has an engine that misbehaves: each gets the
verdict that it must, none is lost or counted twice, and no other game feels it."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path

import psutil
import pytest

from ringmaster.engines import reaper
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import ProtocolName
from ringmaster.model.results import GameResult
from tests.program import ENGINES, living_engines, ringmaster, shown
from tests.reliability.fault_matrix import GAME_OF_PROTOCOL, PROTOCOLS, faults, player

pytestmark = [pytest.mark.slow, pytest.mark.process]

#: Some faults of each protocol in the middle of a game.
FAULTS = [f for f in faults() if f.phase == "thinking" and f.reason not in ("", "start")][::3]
#: Seconds of silence until an engine has hung, in the games in which one does.
HANG = 1.0
#: The outcome of a game: outcome, winner, reason, index at fault, forfeit.
Verdict = tuple[str, int | None, str, int | None, bool]
#: How honest engines end: Black mates, Black (first to move in shogi) resigns, Black is
#: ahead on the board.
HONEST: dict[ProtocolName, Verdict] = {
    "uci": ("win", 1, "mate", None, False),
    "usi": ("win", 1, "resignation", None, False),
    "gtp": ("win", 0, "score", None, False),
}


def schedule(folder: Path) -> tuple[list[GameJob], dict[str, Verdict]]:
    """Return games of the three protocols in turn, every third with a fault, and the
    expected results."""
    jobs, expected = [], {}
    for number in range(3 * len(FAULTS)):
        fault = FAULTS[number // 3] if number % 3 == 1 else None
        protocol = fault.protocol if fault else PROTOCOLS[(number // 3 + number) % 3]
        pair = [player(folder, code, protocol) for code in ("one", "two")]
        verdict, id = HONEST[protocol], f"g{number}"
        if fault is not None:
            side = number // 3 % 2
            pair[side] = player(folder, "bad", protocol, *fault.flags, **fault.player)
            verdict = ("void", None, fault.reason, side, False)
            if fault.forfeit:
                verdict = ("win", 1 - side, fault.reason, side, True)
        settings = GameSettings(
            game=GAME_OF_PROTOCOL[protocol],
            board_size=5,
            komi=0.5,
            scorer="internal",
            margin=0.0,
            hang_timeout=HANG if fault and fault.waits else 60,
        )
        jobs.append(GameJob(id, (pair[0], pair[1]), settings))
        expected[id] = verdict
    return jobs, expected


def moves(record: str | None) -> str:
    """Return a record's moves without headers, comments and times."""
    assert record is not None
    text = re.sub(r"\{[^}]*\}|^\[.*\]$|^['$NT%].*$|T\d+$", "", record, flags=re.MULTILINE)
    text = re.sub(r"\d+\.+|C\[[^\]]*\]|(DT|RE|EV|GN|AP)\[[^\]]*\]", "", text)
    return " ".join(text.split())


def test_every_game_gets_its_verdict_whatever_happens_in_the_others(tmp_path: Path) -> None:
    jobs, expected = schedule(tmp_path)
    work = "ringmaster.play.worker:contained_worker"
    executor = LocalExecutor(work, 12, reaper=reaper.__file__)
    try:
        for job in jobs:
            executor.submit(job)
        results: list[GameResult] = []
        while executor.running():
            for event in executor.wait(None):
                assert isinstance(event, Done), event
                assert isinstance(event.result, GameResult)
                results.append(event.result)
    finally:
        executor.close()
    assert sorted(result.id for result in results) == sorted(expected)
    verdicts = {
        each.id: (each.outcome, each.winner, each.reason, each.faulty, each.forfeit)
        for each in results
    }
    assert verdicts == expected
    # the honest games are all the same, up to the clock on the wall
    games = {job.id: job.settings.game for job in jobs}
    for protocol, verdict in HONEST.items():
        game = GAME_OF_PROTOCOL[protocol]
        honest = [each for each in results if games[each.id] == game and each.faulty is None]
        assert len(honest) > len(FAULTS) // 2
        assert {expected[each.id] for each in honest} == {verdict}
        assert len({(each.plies, each.score, each.detail) for each in honest}) == 1
        assert len({moves(each.record) for each in honest}) == 1
    commands = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    # the file of process ids is in the command of each engine
    assert [command for command in commands if str(tmp_path) in " ".join(command)] == []


#: What the control files of a whole event begin with.
ENGINES_OF_EVENT = """
competition_type = "playoff"
game = "chess"
def engine(*flags):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--plies", "40", "--pid-file", {log!r},
                   *flags], nodes=1)
"""
#: Honest matchups, and others with an engine that misbehaves in every game, and loses it: four
#: times, since five would end the run.
LOST = """
number_of_games = 4
players = {{
    "one": engine(), "two": engine(), "crash": engine("--crash-on", "go:3"),
    "illegal": engine("--bestmove", "a1b4"), "long": engine("--long-line", "3000000"),
}}
failures = "loss"
matchups = [Matchup("one", code, id=id) for code, id in [
    ("two", "x"), ("crash", "crash"), ("two", "y"), ("illegal", "illegal"), ("long", "long")]]
"""
REASONS = {"crash": "crash", "illegal": "illegal move", "long": "protocol"}
#: An engine dies once, in the second game of some worker.
ONCE = """
number_of_games = 8
players = {{"one": engine(), "once": engine("--crash-on", "go:15", "--once", {log!r} + ".struck")}}
matchups = [Matchup("one", "once", id="x")]
"""
Row = tuple[str, str, int, str, int, int, int]


def play(folder: Path, source: str) -> tuple[list[Row], str]:
    """Let the program play an event; returns its results and its history, after a look
    at what has to be so with any engines."""
    control = folder / "event.ctl"
    log, engine = str(folder / "engines.txt"), str(ENGINES / "fault_uci.py")
    source = (ENGINES_OF_EVENT + source).format(python=sys.executable, engine=engine, log=log)
    control.write_text(source)
    done = ringmaster(control, "run", "-q", "-j", "4")
    assert done.returncode == 0, done.stderr
    connection = sqlite3.connect(control.with_suffix(".status"))
    rows: list[Row] = connection.execute(
        "SELECT game_id, outcome, winner, reason, faulty, forfeit, plies FROM results"
    ).fetchall()
    connection.close()
    counted = [row[0] for row in rows if row[1] != "void"]
    assert len(set(counted)) == len(counted)
    games = shown(control)["games"]
    assert games["completed"] == games["total"] == len(counted)
    assert games["in_progress"] == 0
    records = [path.stem for path in control.with_suffix(".games").iterdir()]
    assert sorted(records) == sorted(counted)
    assert living_engines(control) == []
    return rows, control.with_suffix(".hist").read_text()


def test_engines_that_fail_in_every_game_lose_exactly_their_games(tmp_path: Path) -> None:
    rows, history = play(tmp_path, LOST)
    assert len(rows) == 5 * 4
    for id, outcome, winner, reason, faulty, forfeit, plies in rows:
        matchup = id.rpartition("_")[0]
        if matchup in REASONS:
            assert (outcome, winner, reason, forfeit) == ("win", 1 - faulty, REASONS[matchup], 1)
        else:
            assert (outcome, reason, faulty, plies) == ("win", "mate", None, 40)
    for matchup in REASONS:
        assert history.count(f"one beat {matchup} ") == 4


def test_game_in_which_an_engine_dies_is_played_again_and_counted_once(tmp_path: Path) -> None:
    rows, _ = play(tmp_path, ONCE)
    (void,) = (row for row in rows if row[1] == "void")
    assert void[3] == "crash"
    assert [row[1] for row in rows if row[0] == void[0]] == ["void", "win"]
    assert {(row[1], row[3], row[6]) for row in rows if row is not void} == {("win", "mate", 40)}
    assert len(rows) == 9
    assert len(list((tmp_path / "event.void").iterdir())) == 1
