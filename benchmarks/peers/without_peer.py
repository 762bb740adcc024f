"""Comparisons that need no other match runner.

The first is executor, worker and game loop beside the bare loop in C.  It detects changes to the
game loop: starts, ends and the store are excluded.  Its rounds are short and many, so that a
varying load affects both sides.  The second is ringmaster over USI and GTP beside
ringmaster over UCI.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import instant
import meter
from common import Row, alternate, game_results, start_workers

from peers.matches import Game, Match, cost, ringmaster
from ringmaster.execution.executor import Executor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player

#: Rounds of the first comparison for each requested round, and games in each of them.
WORKER_ROUNDS, WORKER_GAMES = 9, 20
WORKER_TARGET = ">= 0.35"
PROTOCOL_TARGET = ">= 0.75"


def worker_rows(*, rounds: int, short: bool) -> list[Row]:
    """Compare plies a second and the least CPU time a ply, engines included.

    One game is played at a time, without its record and with it.
    """
    games = WORKER_GAMES // 4 if short else WORKER_GAMES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns, engine = instant.build("turns", folder), instant.build("instant", folder)
        script = instant.script("chess", folder)
        executor = start_workers(1)
        try:
            measures = {
                "bare": partial(instant.bare, turns, engine, script, games, 1),
                "": partial(_play, executor, engine, script, games, record=False),
                ", with records": partial(_play, executor, engine, script, games, record=True),
            }
            for measure in measures.values():
                measure()
            figures = alternate(measures, WORKER_ROUNDS * rounds, least=("cpu",))
        finally:
            executor.close()
    base = figures.pop("bare")
    return [
        Row(
            f"executor, worker and game loop, instant UCI engines, 1 at a time{key}",
            unit,
            "bare loop in C",
            base[measured],
            each[measured],
            "" if key else target,
        )
        for key, each in figures.items()
        for measured, unit, target in (
            ("plies", "plies/s", WORKER_TARGET),
            ("cpu", "CPU µs a ply, engines included", ""),
        )
    ]


def _play(
    executor: Executor, engine: Path, script: instant.Script, games: int, *, record: bool
) -> Mapping[str, float]:
    command = instant.command(engine, script)
    one, two = (Player(code, command, protocol="uci", nodes=1) for code in ("one", "two"))
    pid = os.getpid()
    cpu, start = meter.used_by(pid), time.perf_counter()
    for number in range(games):
        executor.submit(
            GameJob(f"g{number}", (one, two), GameSettings(game="chess"), record=record)
        )
    plies = sum(result.plies for result in game_results(executor))
    seconds, cpu = time.perf_counter() - start, meter.used_by(pid) - cpu
    if plies != games * script.plies:
        raise RuntimeError(f"{plies} plies were played instead of {games * script.plies}")
    return {"plies": plies / seconds, "cpu": cpu / plies * 1e6}


class Work(NamedTuple):
    """A match over a protocol.

    result   the end of every game, None if unknown
    restart  the players' argument, None: the default
    """

    name: str
    script: str
    result: str | None
    restart: str | None = None
    target: str = PROTOCOL_TARGET


#: Games of the longer and of the shorter match; the same in short.
GAMES, SHORT_GAMES = (600, 200), (12, 4)
UCI = Work("instant UCI engines, chess", "chess", "0-1")
#: The target is for a ply, so it excludes GTP engines that are restarted for each game (the
#: default).  The game of shogi has no end of its own: a limit of moves makes it a draw.
WORKS = (
    Work("instant USI engines, shogi", "shogi", "1/2-1/2"),
    Work("instant GTP engines, 9x9, kept", "go9", None, "off"),
    Work("instant GTP engines, 9x9, restarted", "go9", None, target=""),
    Work("instant GTP engines, 19x19, kept", "go19", None, "off"),
    Work("instant GTP engines, 19x19, restarted", "go19", None, target=""),
)


def protocol_rows(*, rounds: int, short: bool) -> list[Row]:
    """Compare plies a second over each protocol with UCI, two games at a time, with records."""
    games, fewer = SHORT_GAMES if short else GAMES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = instant.build("instant", folder)
        measures = {}
        for work in (UCI, *WORKS):
            script = instant.script(work.script, folder)
            match = Match(
                work.script.rstrip("0123456789"),
                script.protocol,
                instant.command(engine, script),
                games,
                2,
                1,
                expected=None if work.result is None else Game(work.result, script.plies),
                board_size=script.board_size,
            )
            measures[work.name] = partial(cost, ringmaster(restart=work.restart), match, fewer)
        figures = alternate(measures, rounds)
    base = figures[UCI.name]["plies"]
    return [
        Row(work.name, "plies/s", "our UCI", base, figures[work.name]["plies"], work.target)
        for work in WORKS
    ]
