"""The way of a game through executor, worker and game loop, beside the bare loop in C.

This is what a change to the game loop can spoil: nothing is started or ended while it is
measured, and nothing is stored.  Rounds are short and many, so that a load that comes and
goes meets both.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import instant
from rounds import Row, alternate

from ringmaster.engines import watcher
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult

#: Rounds for each that is asked for, and games in each of them.
ROUNDS, GAMES = 5, 20
TARGET = ">= 0.35"


def rows(*, rounds: int, short: bool) -> list[Row]:
    """Return the plies a second of one game at a time, without its record and with it."""
    games = GAMES // 4 if short else GAMES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns, engine = instant.build("turns", folder), instant.build("instant", folder)
        script = instant.script("chess", folder)
        executor = LocalExecutor("ringmaster.play.worker:make_worker", 1, watcher=watcher.__file__)
        try:
            measures = {
                "bare": partial(_bare, turns, engine, script, games),
                "": partial(_ours, executor, engine, script, games, record=False),
                ", with records": partial(_ours, executor, engine, script, games, record=True),
            }
            for measure in measures.values():
                measure()
            figures = alternate(measures, ROUNDS * rounds)
        finally:
            executor.close()
    base = figures.pop("bare")["plies"]
    return [
        Row(
            f"executor, worker and game loop, instant UCI engines, 1 at a time{key}",
            "plies/s",
            "bare loop in C",
            base,
            each["plies"],
            "" if key else TARGET,
        )
        for key, each in figures.items()
    ]


def _bare(turns: Path, engine: Path, script: instant.Script, games: int) -> Mapping[str, float]:
    return {"plies": instant.bare(turns, engine, script, games, 1)}


def _ours(
    executor: Executor, engine: Path, script: instant.Script, games: int, *, record: bool
) -> Mapping[str, float]:
    command = instant.command(engine, script)
    one, two = (Player(code, command, protocol="uci", nodes=1) for code in ("one", "two"))
    start = time.perf_counter()
    for number in range(games):
        executor.submit(
            GameJob(f"g{number}", (one, two), GameSettings(game="chess"), record=record)
        )
    plies = 0
    while executor.running():
        for event in executor.wait(None):
            assert isinstance(event, Done)
            assert isinstance(event.result, GameResult)
            plies += event.result.plies
    if plies != games * script.plies:
        raise RuntimeError(f"{plies} plies were played of {games * script.plies}")
    return {"plies": plies / (time.perf_counter() - start)}
