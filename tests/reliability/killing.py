"""Kill processes of runs at random, run again, and check the end of every competition."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.processes import LONG, commanded
from tests.program import (
    CE_TUNER,
    CLOP_TUNER,
    MC_TUNER,
    OPTUNA_TUNER,
    PLAYOFF,
    SPSA,
    SWISS,
    TEXEL,
    living_engines,
    ringmaster,
    shown,
    start,
    write_control_file,
)

_PLAYERS = PLAYOFF.partition("number_of_games")[0]
ALLPLAYALL = (
    _PLAYERS.replace('"playoff"', '"allplayall"')
    + """
competitors = ["a", "b", "c"]
rounds = {games} // 3
"""
)
GAUNTLET = (
    _PLAYERS.replace('"playoff"', '"gauntlet"')
    + """
challengers = ["a"]
opponents = ["b", "c"]
rounds = {games} // 2
"""
)
#: Two of the three matchups are decided within some 250 games, the third is not.
SPRT = (
    PLAYOFF
    + """
sprt = SPRT(0, 20, model="logistic")
matchups[1] = Matchup("b", "b", sprt=SPRT(-4, 4))
"""
)
#: A race of two candidates, and three stages of its winner.
STAGES = (
    PLAYOFF.partition("number_of_games")[0]
    + """
matchups = [Matchup("a", "c"), Matchup("b", "c")]
race = Race(error=0.2, number_of_games={games})
stages = [
    Stage("STC", sprt=SPRT(0, 40)),
    Stage("LTC", nodes=2, sprt=SPRT(0, 60), only_if="STC passed"),
    Stage("width", stop_at=Precision(60)),
]
"""
)
#: A closing match long enough to be killed in, and to be decided.
CLOSING = SPSA.replace("Verify(games=20)", "Verify(games=300, sprt=SPRT(-30, 30))")

MIXED = CLOSING.replace(", nodes=1)", ")") + 'time_controls = {{"5+1": 0.7, "9+1": 0.3}}\n'

#: A control file by competition type, and a number of games that takes some seconds.
TYPES: Mapping[str, tuple[str, int]] = {
    "playoff": (PLAYOFF, 100),
    "sprt": (SPRT, 200),
    "stages": (STAGES, 200),
    "allplayall": (ALLPLAYALL, 600),
    "gauntlet": (GAUNTLET, 600),
    "swiss": (SWISS, 600),
    "mc_tuner": (MC_TUNER, 300),
    "ce_tuner": (CE_TUNER, 600),
    "clop_tuner": (CLOP_TUNER, 600),
    "spsa": (CLOSING, 150),
    "spsa, time controls": (MIXED, 300),
    "texel": (TEXEL, 40),
    "optuna_tuner": (OPTUNA_TUNER, 600),
}
#: Types whose results do not depend on the order of the games.
ORDERLESS = ("playoff", "allplayall", "gauntlet")
VICTIMS = ("main", "worker", "fork server", "reaper", "engine", "all")


def results(control: Path) -> list[tuple[Any, ...]]:
    """Return the recorded games in order: id, ticket, outcome, winner and plies."""
    with closing(sqlite3.connect(control.with_suffix(".status"))) as connection:
        return connection.execute(
            "SELECT game_id, ticket, outcome, winner, plies FROM results ORDER BY seq"
        ).fetchall()


def recorded(control: Path) -> int:
    """Return the number of results in the store."""
    status = control.with_suffix(".status")
    if not status.exists():
        return 0
    with closing(sqlite3.connect(f"file:{status}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])
        except sqlite3.OperationalError:  # it is just being made
            return 0


def state(control: Path) -> tuple[int, dict[str, Any]]:
    """Return the last state without times, and without what names the competition's folder."""
    with closing(sqlite3.connect(control.with_suffix(".status"))) as connection:
        seq, data = connection.execute("SELECT seq, data FROM state").fetchone()
    decoded: dict[str, Any] = json.loads(data)
    tallies = []
    for match in decoded.get("matches", ()):
        tallies += [match["tally"], *match["by_time_control"].values()]
    for name in ("matchups", "tallies"):
        tallies += decoded.get(name, {}).values()
    for tally in tallies:
        del tally["cpu"]
    if "optimiser" in decoded:
        # the probe of a tune from positions measures time, too
        for name in ("seconds", "facts", "key"):
            del decoded[name]
        del decoded["settings"]["engine"]
    return seq, decoded


def history(control: Path) -> list[str]:
    """Return the lines of the history without measured times."""
    lines = control.with_suffix(".hist").read_text().splitlines()
    return [line for line in lines if "probe" not in line]


def snapshots(control: Path) -> list[Any]:
    """Return the lines of the tree log, none without one."""
    path = control.with_suffix(".tree.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@dataclass
class Tally:
    """Counts of kills.

    rounds    by type and victim
    endings   of the runs, by victim and exit status (-9: killed)
    problems  broken promises
    """

    rounds: Counter[tuple[str, str]] = field(default_factory=Counter)
    endings: Counter[tuple[str, int]] = field(default_factory=Counter)
    competitions: Counter[str] = field(default_factory=Counter)
    games: int = 0
    problems: list[str] = field(default_factory=list)

    def cut_short(self, victim: str) -> int:
        """Return the runs that ended early after the death of a victim.

        Where all are killed, the main process may see a helper die first, and end by itself.
        """
        return sum(n for (who, status), n in self.endings.items() if who == victim and status)


class Competition:
    """One competition that is killed again and again.

    action  of the command line: "run", or "verify"
    """

    def __init__(
        self,
        control: Path,
        type_name: str,
        parallel: int,
        rng: random.Random,
        tally: Tally,
        action: str = "run",
    ) -> None:
        self.control = control
        self._type = type_name
        self._arguments = (action, "-q", "-j", str(parallel))
        self._parallel = parallel
        self._rng = rng
        self._tally = tally
        self._run: subprocess.Popen[bytes] | None = None
        #: The last victim of the present run, all victims, and all processes that were seen.
        self._victim = ""
        self._victims: set[str] = set()
        self._family: set[psutil.Process] = set()

    def kill(self, victim: str, wanted: int | None = None) -> bool:
        """Kill a process; return False when the competition is complete.

        wanted  number of results after which it dies, by default a random moment
        """
        if self._run is None:
            self._run = start(self.control, *self._arguments)
            self._victim = ""
        if not self._await_moment(wanted):
            return self.end_run()
        if self._strike(self._run.pid, victim):
            self._victim = victim
            self._victims.add(victim)
            self._tally.rounds[self._type, victim] += 1
        # who lost a helper may end on its own, or go on until the next round
        if victim in ("main", "all"):
            return self.end_run()
        return True

    def _await_moment(self, wanted: int | None) -> bool:
        """Wait until the next kill; return False if the run ends before."""
        if wanted is None:
            if self._rng.random() < 1 / 3:
                return self._lives(self._rng.uniform(0, 0.7))
            # a tune over positions has some dozens of results
            step = 5 if self._type == "texel" else 60
            wanted = recorded(self.control) + self._rng.randrange(step)
        deadline = time.monotonic() + LONG
        while recorded(self.control) < wanted and time.monotonic() < deadline:
            if not self._lives(0.002):
                return False
        return self._lives(self._rng.uniform(0, 0.02))

    def _lives(self, seconds: float) -> bool:
        """Return whether the run lasts so long."""
        assert self._run is not None
        with suppress(subprocess.TimeoutExpired):
            self._run.wait(seconds)
            return False
        return True

    def _strike(self, pid: int, victim: str) -> bool:
        """Kill a victim; return False if the run has none at the moment."""
        try:
            main = psutil.Process(pid)
            family = main.children(recursive=True)
            self._family.update(family)
            chosen = {
                "main": [main],
                "all": [main, *family],
            }.get(victim) or self._choose(family, victim)
        except psutil.Error:
            return False
        if not chosen:
            return False
        # the order of death must not matter either
        self._rng.shuffle(chosen)
        for process in chosen:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        return True

    def _choose(self, family: list[psutil.Process], victim: str) -> list[psutil.Process]:
        servers = commanded(family, "fork_server.py")
        pids = {each.pid for each in servers}
        by_victim = {
            "reaper": commanded(family, "reaper.py"),
            "fork server": [each for each in servers if each.ppid() not in pids],
            "worker": [each for each in servers if each.ppid() in pids],
            "engine": commanded(family, f"{os.sep}engines{os.sep}"),
        }
        # the reaper's file is in a folder of that name, too
        by_victim["engine"] = [e for e in by_victim["engine"] if e not in by_victim["reaper"]]
        found = by_victim[victim]
        return [self._rng.choice(found)] if found else []

    def end_run(self) -> bool:
        """Wait for the end of the run; return False when the competition is complete."""
        assert self._run is not None
        try:
            status = self._run.wait(LONG)
        except subprocess.TimeoutExpired:
            self._problem("the run does not end")
            self._run.kill()
            status = self._run.wait()
        self._run = None
        self._tally.endings[self._victim or "nobody", status] += 1
        _, alive = psutil.wait_procs(list(self._family), timeout=LONG)
        if left := [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]:
            self._problem(f"processes are left: {left}")
        self._family.clear()
        if left := living_engines(self.control):
            self._problem(f"engines are left: {left}")
        return status != 0

    def complete(self) -> None:
        """Run to the end without kills."""
        if self._run is not None:
            self.end_run()
        for _ in range(10):
            done = ringmaster(self.control, *self._arguments)
            if done.returncode == 0:
                break
        else:
            self._problem(f"it cannot be completed: {done.stderr}")
        if living_engines(self.control):
            self._problem("engines are left at the end")

    def finish(self, whole: Path) -> None:
        """Run to the end, and compare with an uninterrupted competition of one game at a time."""
        self.complete()
        counted = [row for row in results(self.control) if row[2] != "void"]
        self._tally.games += len(counted)
        self._tally.competitions[self._type] += 1
        self._check_games([row[0] for row in counted])
        expected = results(whole)
        # who goes on without a worker or an engine plays its game again, after others
        in_order = self._parallel == 1 and self._victims <= {"main", "all"}
        if self._type == "texel":
            # passes that are under way together may end in any order
            ids = sorted(row[0] for row in counted)
            self._require(ids == sorted(row[0] for row in expected), "other evaluations")
        elif in_order:
            self._require(counted == expected, "other results")
            self._require(snapshots(self.control) == snapshots(whole), "another tree log")
        elif self._type in ORDERLESS:
            self._require(sorted(counted) == sorted(expected), "other results")
        is_void = len(counted) < recorded(self.control)
        if in_order or (self._type == "texel" and not is_void):
            lines = sorted(history(self.control)), sorted(history(whole))
            self._require(lines[0] == lines[1], "another history")
            self._require(state(self.control) == state(whole), "another state")

    def _check_games(self, ids: Sequence[str]) -> None:
        """Check that each game counts once, in the store, the history and the records."""
        self._require(len(ids) == len(set(ids)), "games are recorded twice")
        games = shown(self.control)["games"]
        self._require(games["in_progress"] == 0, "games are in progress at the end")
        if self._type == "texel":
            return
        # as in Gomill, void games of this type use up their numbers
        used_up = games["void"] if self._type == "mc_tuner" else 0
        is_complete = games["completed"] == games["total"] - used_up == len(ids)
        self._require(is_complete, f"{len(ids)} results, but {games}")
        told = Counter(re.findall(r"^game (\S+):", "\n".join(history(self.control)), re.M))
        in_store = Counter(row[0] for row in results(self.control))
        self._require(told == in_store, "a result is not in the history once")
        folder = self.control.with_suffix(".games")
        records = {path.stem: path.read_text() for path in folder.iterdir()}
        self._require(records.keys() == set(ids), "a game has no record")
        # all are in one file, whole and once, in the order of recording
        in_order = "".join(records[id] for id in ids if id in records)
        collected = self.control.with_suffix(".games.pgn").read_text()
        self._require(collected == in_order, "records are not collected in order")
        with closing(sqlite3.connect(self.control.with_suffix(".status"))) as connection:
            (left,) = connection.execute("SELECT count(*) FROM pending").fetchone()
            self._require(left == 0, f"{left} records are left")

    def _require(self, is_kept: bool, problem: str) -> None:
        if not is_kept:
            self._problem(problem)

    def _problem(self, text: str) -> None:
        self._tally.problems.append(
            f"{self._type} -j {self._parallel}, after the death of {self._victim}: {text} "
            f"({self.control.parent})"
        )


def uninterrupted(folder: Path, type_name: str) -> Path:
    """Run a competition of a type, one game at a time; return its control file."""
    whole = write_control_file(folder, *TYPES[type_name])
    done = ringmaster(whole, "-q")
    assert done.returncode == 0, done.stderr
    return whole


def kill_rounds(
    folder: Path, whole: Path, type_name: str, parallel: int, victims: Sequence[str], tally: Tally
) -> None:
    """Kill these processes of a competition in turn, as long as it runs; check its end.

    whole  the same competition, uninterrupted
    """
    control = write_control_file(folder, *TYPES[type_name])
    rng = random.Random(f"{folder.name}{parallel}")
    competition = Competition(control, type_name, parallel, rng, tally)
    for victim in victims:
        if not competition.kill(victim):
            break
    competition.finish(whole)
