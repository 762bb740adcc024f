"""Games at full speed, every third of which has an engine that misbehaves: each gets the
verdict that it must, none is lost or counted twice, and no other game feels it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ringmaster.engines import watcher
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult
from ringmaster.model.time_control import TimeControl
from tests.events import ENGINES, living_engines

#: Seconds of silence until an engine has hung, in the games in which one does.
HANG = 0.7
#: What is said of a game: outcome, winner, reason, index at fault, forfeit.
Verdict = tuple[str, int | None, str, int | None, bool]


@dataclass(frozen=True)
class Fault:
    """An engine's misbehaviour and what it must lead to.

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
        """Return what is to be said when `side` (0: first to move) has the fault."""
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
    """Return games of the three protocols in turn, every third with a fault, and what
    is to become of each."""
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
    """Return what a record has of the game itself: no headers, comments or times."""
    assert record is not None
    text = re.sub(r"\{[^}]*\}|^\[.*\]$|^['$NT%].*$|T\d+$", "", record, flags=re.MULTILINE)
    text = re.sub(r"\d+\.+|C\[[^\]]*\]|(DT|RE|EV|GN|AP)\[[^\]]*\]", "", text)
    return " ".join(text.split())


@pytest.mark.parametrize("parallel", [2, 4])
def test_every_game_gets_its_verdict_whatever_happens_in_the_others(
    tmp_path: Path, parallel: int
) -> None:
    jobs, expected = schedule(tmp_path)
    executor = LocalExecutor(
        "ringmaster.play.worker:make_worker", parallel, watcher=watcher.__file__
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
    found = {
        each.id: (each.outcome, each.winner, each.reason, each.faulty, each.forfeit)
        for each in results
    }
    assert found == expected
    # the honest games are all the same, up to the clock on the wall
    games = {job.id: job.settings.game for job in jobs}
    for game, verdict in zip(GAMES.values(), HONEST.values(), strict=True):
        honest = [each for each in results if games[each.id] == game and each.faulty is None]
        assert len(honest) > len(FAULTS) // 2
        assert {expected[each.id] for each in honest} == {verdict}
        assert len({(each.plies, each.score, each.detail) for each in honest}) == 1
        assert len({moves(each.record) for each in honest}) == 1
    assert living_engines(tmp_path / "event.ctl") == []
