"""The way of a game through executor, worker and game loop, beside the bare loop in C.

This is what a change to the game loop can spoil: nothing is started or ended while it is
measured, and nothing is stored.  Rounds are short and many, so that a load that comes and
goes meets both.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import instant
import meter
import workers
from rounds import Row, alternate

from ringmaster.execution.executor import Executor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player

#: Rounds for each that is asked for, and games in each of them.
ROUNDS, GAMES = 9, 20
TARGET = ">= 0.35"


def rows(*, rounds: int, short: bool) -> list[Row]:
    """Return plies a second and the least CPU time a ply, engines included, of one game at
    a time, without its record and with it."""
    games = GAMES // 4 if short else GAMES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns, engine = instant.build("turns", folder), instant.build("instant", folder)
        script = instant.script("chess", folder)
        executor = workers.start(1)
        try:
            measures = {
                "bare": partial(instant.bare, turns, engine, script, games, 1),
                "": partial(_ours, executor, engine, script, games, record=False),
                ", with records": partial(_ours, executor, engine, script, games, record=True),
            }
            for measure in measures.values():
                measure()
            figures = alternate(measures, ROUNDS * rounds, least=("cpu",))
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
            ("plies", "plies/s", TARGET),
            ("cpu", "CPU µs a ply, engines included", ""),
        )
    ]


def _ours(
    executor: Executor, engine: Path, script: instant.Script, games: int, *, record: bool
) -> Mapping[str, float]:
    command = instant.command(engine, script)
    one, two = (Player(code, command, protocol="uci", nodes=1) for code in ("one", "two"))
    me = os.getpid()
    cpu, start = meter.used_by(me), time.perf_counter()
    for number in range(games):
        executor.submit(
            GameJob(f"g{number}", (one, two), GameSettings(game="chess"), record=record)
        )
    plies = sum(result.plies for result in workers.results(executor))
    seconds, cpu = time.perf_counter() - start, meter.used_by(me) - cpu
    if plies != games * script.plies:
        raise RuntimeError(f"{plies} plies were played of {games * script.plies}")
    return {"plies": plies / seconds, "cpu": cpu / plies * 1e6}
