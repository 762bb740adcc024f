"""Kill processes of runs at random, run again, and check the end of every competition."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

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
from tests.test_kill import recorded, results

ALLPLAYALL = (
    PLAYOFF.partition("number_of_games")[0].replace('"playoff"', '"allplayall"')
    + """
competitors = ["a", "b", "c"]
rounds = {games} // 3
"""
)

GAUNTLET = (
    PLAYOFF.partition("number_of_games")[0].replace('"playoff"', '"gauntlet"')
    + """
challengers = ["a"]
opponents = ["b", "c"]
rounds = {games} // 2
"""
)

#: A control file and its number of games by competition type.
TYPES: Mapping[str, tuple[str, int]] = {
    "playoff": (PLAYOFF, 500),
    "allplayall": (ALLPLAYALL, 1500),
    "gauntlet": (GAUNTLET, 1500),
    "swiss": (SWISS, 1400),
    "mc_tuner": (MC_TUNER, 1500),
    "ce_tuner": (CE_TUNER, 1500),
    "spsa": (SPSA, 1500),
    "texel": (TEXEL, 40),
    "clop_tuner": (CLOP_TUNER, 1500),
    "optuna_tuner": (OPTUNA_TUNER, 1500),
}
#: Types whose results do not depend on the order of the games.
ORDERLESS = ("playoff", "allplayall", "gauntlet")
VICTIMS = ("main", "worker", "fork server", "reaper", "engine", "all")
#: Seconds for a process to end, on a busy machine.
LONG = 30.0


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


class Competition:
    """One competition that is killed again and again.

    whole  an uninterrupted one with the same control file, run one game at a time
    """

    def __init__(
        self, folder: Path, type_name: str, parallel: int, rng: random.Random, tally: Tally
    ) -> None:
        self._type = type_name
        self._parallel = parallel
        self._rng = rng
        self._tally = tally
        source, games = TYPES[type_name]
        self._control = write_control_file(folder / f"{type_name}{parallel}", source, games)
        self._run: subprocess.Popen[bytes] | None = None
        #: The last victim of the present run, and all processes that were seen.
        self._victim = ""
        self._family: set[psutil.Process] = set()

    def kill(self, victim: str) -> bool:
        """Kill a process at a random moment; return False when the competition is complete."""
        if self._run is None:
            self._run = start(self._control, "run", "-q", "-j", str(self._parallel))
            self._victim = ""
        if not self._await_moment():
            return self._end_run()
        if self._strike(self._run.pid, victim):
            self._victim = victim
            self._tally.rounds[self._type, victim] += 1
        # who lost a helper may end on its own, or go on until the next round
        if victim in ("main", "all"):
            return self._end_run()
        return True

    def _await_moment(self) -> bool:
        """Wait until the next kill; return False if the run ends before."""
        assert self._run is not None
        if self._rng.random() < 1 / 3:
            return self._lives(self._rng.uniform(0, 0.7))
        # a tune over positions has some dozens of results
        step = 5 if self._type == "texel" else 60
        wanted = recorded(self._control) + self._rng.randrange(step)
        deadline = time.monotonic() + LONG
        while recorded(self._control) < wanted and time.monotonic() < deadline:
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
        servers = [each for each in family if _runs(each, "fork_server.py")]
        pids = {each.pid for each in servers}
        by_victim = {
            "reaper": [each for each in family if _runs(each, "reaper.py")],
            "fork server": [each for each in servers if each.ppid() not in pids],
            "worker": [each for each in servers if each.ppid() in pids],
            "engine": [each for each in family if _runs(each, f"{os.sep}engines{os.sep}")],
        }
        # the reaper's file is in a folder of that name, too
        by_victim["engine"] = [e for e in by_victim["engine"] if e not in by_victim["reaper"]]
        found = by_victim[victim]
        return [self._rng.choice(found)] if found else []

    def _end_run(self) -> bool:
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
        if left := living_engines(self._control):
            self._problem(f"engines are left: {left}")
        return status != 0

    def finish(self, whole: Path) -> None:
        """Run to the end without kills, and compare with an uninterrupted competition."""
        if self._run is not None:
            self._end_run()
        for _ in range(10):
            done = ringmaster(self._control, "-q", "-j", str(self._parallel))
            if done.returncode == 0:
                break
        else:
            self._problem(f"it cannot be completed: {done.stderr}")
        counted = [row for row in results(self._control) if row[2] != "void"]
        ids = [row[0] for row in counted]
        self._tally.games += len(ids)
        self._tally.competitions[self._type] += 1
        if len(ids) != len(set(ids)):
            self._problem("games are recorded twice")
        if living_engines(self._control):
            self._problem("engines are left at the end")
        games = shown(self._control)["games"]
        # as in Gomill, void games of this type use up their numbers
        used_up = games["void"] if self._type == "mc_tuner" else 0
        if self._type != "texel" and not games["completed"] == games["total"] - used_up == len(ids):
            self._problem(f"{len(ids)} results, but {games}")
        if games["in_progress"]:
            self._problem(f"{games['in_progress']} games are in progress at the end")
        expected = results(whole)
        if self._type == "texel":
            # passes that are under way together may end in any order
            counted, expected = ([(row[0],) for row in rows] for rows in (counted, expected))
        is_promised = self._parallel == 1 or self._type in ("texel", *ORDERLESS)
        # a void game is played again after games that were issued meanwhile
        if is_promised and not used_up and sorted(counted, key=str) != sorted(expected, key=str):
            self._problem("the results differ from an uninterrupted competition's")

    def _problem(self, text: str) -> None:
        self._tally.problems.append(
            f"{self._type} -j {self._parallel}, after the death of {self._victim}: {text} "
            f"({self._control.parent})"
        )


def _runs(process: psutil.Process, text: str) -> bool:
    return any(text in word for word in process.cmdline())


def kill_rounds(folder: Path, types: list[str], rounds: int, seed: int) -> Tally:
    """Kill at least so many times in competitions of these types, in turn."""
    rng = random.Random(seed)
    tally = Tally()
    wholes: dict[str, Path] = {}
    victims: list[str] = []
    number = 0
    while tally.rounds.total() < rounds:
        type_name = types[number % len(types)]
        # one at a time in the first lap, two in the second
        parallel = 1 + number // len(types) % 2
        if type_name not in wholes:
            source, games = TYPES[type_name]
            wholes[type_name] = write_control_file(folder / f"whole-{type_name}", source, games)
            done = ringmaster(wholes[type_name], "-q")
            assert done.returncode == 0, done.stderr
        competition = Competition(folder / str(number), type_name, parallel, rng, tally)
        goes_on = True
        while goes_on and tally.rounds.total() < rounds:
            if not victims:
                victims = rng.sample(VICTIMS, len(VICTIMS))
            goes_on = competition.kill(victims.pop())
        competition.finish(wholes[type_name])
        number += 1
    return tally
