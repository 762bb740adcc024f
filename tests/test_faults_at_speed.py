"""Games at full speed, every third of which has an engine that misbehaves: each gets the
verdict that it must, none is lost or counted twice, and no other game feels it."""

from __future__ import annotations

import re
import sqlite3
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ringmaster.engines import reaper
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult
from ringmaster.model.time_control import TimeControl
from tests.program import ENGINES, living_engines, ringmaster, shown

pytestmark = [pytest.mark.slow, pytest.mark.process]

#: Seconds of silence until an engine has hung, in the games in which one does.
HANG = 0.7
#: What is said of a game: outcome, winner, reason, index at fault, forfeit.
Verdict = tuple[str, int | None, str, int | None, bool]


@dataclass(frozen=True)
class Fault:
    """An engine's misbehaviour and the expected result.

    flags     of the engine
    reason    of the result
    forfeits  whether the game is lost by it; otherwise it is void
    hangs     whether it is found by waiting
    limits    of the player at fault, in place of `nodes`
    """

    protocol: str
    flags: tuple[str, ...]
    reason: str
    forfeits: bool = False
    hangs: bool = False
    limits: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join((self.protocol, *self.flags))

    def verdict(self, side: int) -> Verdict:
        """Return the expected result when `side` (0: first to move) has the fault."""
        if self.forfeits:
            return ("win", 1 - side, self.reason, side, True)
        return ("void", None, self.reason, side, False)


CLOCK = {"time_control": TimeControl.parse("0.1")}
FAULTS = [
    Fault("uci", ("--crash-on", "go:3"), "crash"),
    Fault("uci", ("--hang-on", "go:3"), "hang", hangs=True),
    Fault("uci", ("--illegal-move", "2"), "illegal move", forfeits=True),
    Fault("gtp", ("--crash-on", "genmove:2"), "crash"),
    Fault("uci", ("--flood-on", "go:3"), "hang", hangs=True),
    Fault("usi", ("--crash-on", "go:3", "--exit-code", "-11"), "crash"),
    Fault("uci", ("--garbage-on", "go:2"), "hang", hangs=True),
    Fault("gtp", ("--garbage-on", "genmove:2"), "protocol"),
    Fault("usi", ("--illegal-move", "2"), "illegal move", forfeits=True),
    Fault("uci", ("--close-stdout", "go:2"), "crash"),
    Fault("gtp", ("--hang-on", "genmove:2"), "hang", hangs=True),
    Fault("uci", ("--no-uciok",), "start", limits={"nodes": 1, "ready_timeout": HANG}),
    Fault("uci", ("--eof-mid-line",), "crash"),
    Fault("usi", ("--hang-on", "go:3"), "hang", hangs=True),
    Fault("uci", ("--long-line", "3000000"), "protocol"),
    Fault("gtp", ("--flood-on", "genmove:2"), "protocol"),
    Fault("uci", ("--no-newline",), "hang", hangs=True),
    Fault("gtp", ("--fail", "genmove:out of memory"), "refused", forfeits=True),
    Fault("uci", ("--crash-on", "uci"), "start"),
    Fault("uci", ("--crash-on", "ucinewgame"), "crash"),
    Fault("gtp", ("--fail", "boardsize:unacceptable size"), "setup"),
    Fault("usi", ("--close-stdout", "go:2"), "crash"),
    Fault("uci", ("--overstep", "60"), "time", forfeits=True, limits=CLOCK),
    Fault("uci", ("--bestmove", "(none)"), "illegal move", forfeits=True),
    Fault("uci", ("--crash-on", "go:5", "--spawn-child", "--ignore-sigterm"), "crash"),
]
GAMES = {"uci": "chess", "usi": "shogi", "gtp": "go"}
#: How honest engines end: Black mates, Black (first to move in shogi) resigns, Black is
#: ahead on the board.
HONEST: dict[str, Verdict] = {
    "uci": ("win", 1, "mate", None, False),
    "usi": ("win", 1, "resignation", None, False),
    "gtp": ("win", 0, "score", None, False),
}


def player(folder: Path, code: str, protocol: str, *flags: str, **limits: Any) -> Player:
    plies = () if protocol == "gtp" else ("--plies", "40")
    log = str(folder / "engines.txt")
    engine = str(ENGINES / f"fault_{protocol}.py")
    command = (sys.executable, "-I", "-S", engine, *plies, "--pid-file", log, *flags)
    if protocol != "gtp":
        limits = limits or {"nodes": 1}
    return Player(code, command, protocol=protocol, **limits)  # type: ignore[arg-type]


def schedule(folder: Path) -> tuple[list[GameJob], dict[str, Verdict]]:
    """Return games of the three protocols in turn, every third with a fault, and the
    expected results."""
    jobs, expected = [], {}
    for number in range(3 * len(FAULTS)):
        fault = FAULTS[number // 3] if number % 3 == 1 else None
        protocol = fault.protocol if fault else list(GAMES)[(number // 3 + number) % 3]
        pair = [player(folder, code, protocol) for code in ("one", "two")]
        verdict, id = HONEST[protocol], f"g{number}"
        if fault is not None:
            side = number // 3 % 2
            pair[side] = player(folder, "bad", protocol, *fault.flags, **fault.limits)
            verdict = fault.verdict(side)
        settings = GameSettings(
            game=GAMES[protocol],  # type: ignore[arg-type]
            board_size=5,
            komi=0.5,
            scorer="internal",
            margin=0.0,
            hang_timeout=HANG if fault and fault.hangs else 60,
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


@pytest.mark.parametrize("parallel", [2, 12])
def test_every_game_gets_its_verdict_whatever_happens_in_the_others(
    tmp_path: Path, parallel: int
) -> None:
    jobs, expected = schedule(tmp_path)
    executor = LocalExecutor(
        "ringmaster.play.worker:contained_worker",
        parallel,
        reaper=reaper.__file__,
    )
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
    for game, verdict in zip(GAMES.values(), HONEST.values(), strict=True):
        honest = [each for each in results if games[each.id] == game and each.faulty is None]
        assert len(honest) > len(FAULTS) // 2
        assert {expected[each.id] for each in honest} == {verdict}
        assert len({(each.plies, each.score, each.detail) for each in honest}) == 1
        assert len({moves(each.record) for each in honest}) == 1
    assert living_engines(tmp_path / "event.ctl") == []


#: What the control files of a whole event begin with.
ENGINES_OF_EVENT = """
competition_type = "playoff"
game = "chess"
def engine(*flags):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--plies", "40", "--pid-file", {log!r},
                   *flags], nodes=1)
number_of_games = 16
"""
#: Honest matchups, and others with an engine that misbehaves in every game, and loses it.
LOST = """
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
players = {{"one": engine(), "once": engine("--crash-on", "go:25", "--once", {log!r} + ".struck")}}
matchups = [Matchup("one", "once", id="x")]
"""
Row = tuple[str, str, int, str, int, int, int]


def play(folder: Path, source: str, parallel: int) -> tuple[list[Row], str]:
    """Let the program play an event; returns its results and its history, after a look
    at what has to be so with any engines."""
    control = folder / "event.ctl"
    log, engine = str(folder / "engines.txt"), str(ENGINES / "fault_uci.py")
    source = (ENGINES_OF_EVENT + source).format(python=sys.executable, engine=engine, log=log)
    control.write_text(source)
    done = ringmaster(control, "run", "-q", "-j", str(parallel))
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


@pytest.mark.parametrize("parallel", [2, 4])
def test_engines_that_fail_in_every_game_lose_exactly_their_games(
    tmp_path: Path, parallel: int
) -> None:
    rows, history = play(tmp_path, LOST, parallel)
    assert len(rows) == 5 * 16
    for id, outcome, winner, reason, faulty, forfeit, plies in rows:
        matchup = id.rpartition("_")[0]
        if matchup in REASONS:
            assert (outcome, winner, reason, forfeit) == ("win", 1 - faulty, REASONS[matchup], 1)
        else:
            assert (outcome, reason, faulty, plies) == ("win", "mate", None, 40)
    for matchup in REASONS:
        assert history.count(f"one beat {matchup} ") == 16


@pytest.mark.parametrize("parallel", [2, 4])
def test_game_in_which_an_engine_dies_is_played_again_and_counted_once(
    tmp_path: Path, parallel: int
) -> None:
    rows, _ = play(tmp_path, ONCE, parallel)
    (void,) = (row for row in rows if row[1] == "void")
    assert void[3] == "crash"
    assert [row[1] for row in rows if row[0] == void[0]] == ["void", "win"]
    assert {(row[1], row[3], row[6]) for row in rows if row is not void} == {("win", "mate", 40)}
    assert len(rows) == 17
    assert len(list((tmp_path / "event.void").iterdir())) == 1
