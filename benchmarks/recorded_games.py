"""Measure the CPU of a game record in the worker and in the main process.

    python benchmarks/recorded_games.py [--short] [--game chess] [--flags "--info 20"]

Engines answer at once (`instant.py`, with its --flags).  Recorded and unrecorded games alternate,
and the least of each is compared, since other programs only add to it.  The main process's part
is the work of `GameRecords` and the store, in `--folder`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import instant
import msgspec
from tabulate import tabulate

from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult
from ringmaster.play.worker import Worker
from ringmaster.storage.entries import PendingRecord
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.records import GameRecords
from ringmaster.storage.store import Store

GAMES = ("chess", "shogi", "go9")


def job_of(script: instant.Script, engine: Path, flags: list[str], *, record: bool) -> GameJob:
    """Return a game between two instant engines."""
    command = instant.command(engine, script, *flags)
    players = tuple(
        Player(code, command, protocol=script.protocol, restart="off", nodes=1)
        if script.protocol != "gtp"
        else Player(code, command, restart="off")
        for code in ("first", "second")
    )
    game = {"uci": "chess", "usi": "shogi"}.get(script.protocol, "go")
    limit = script.plies if game == "shogi" else 0
    settings = GameSettings(game, board_size=script.board_size, komi=7.5, move_limit=limit)
    return GameJob("0_0", (players[0], players[1]), settings, event="benchmark", record=record)


def least(measures: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Alternate the measures; return the least CPU of each, in microseconds."""
    costs = dict.fromkeys(measures, float("inf"))
    for _ in range(rounds):
        for name, measure in measures.items():
            began = time.process_time_ns()
            measure()
            costs[name] = min(costs[name], (time.process_time_ns() - began) / 1e3)
    return costs


class Recorder:
    """Store and write a record like the main process after a game."""

    def __init__(self, folder: Path, files: Any, result: GameResult) -> None:
        control = folder / f"{files}.ctl"
        self._store = Store.open(control.with_suffix(".status"))
        self._records = GameRecords(self._store, OutputPaths(control), files, print)
        self._folder = OutputPaths(control).games.name
        self._result = result
        self._number = 0

    def take(self, *, record: bool) -> None:
        """Record a game."""
        self._number += 1
        result = msgspec.structs.replace(self._result, game_id=f"0_{self._number}")
        data = msgspec.json.encode(result if record else msgspec.structs.replace(result, record=""))
        received = msgspec.json.decode(data, type=GameResult)
        pending = None
        if record:
            assert received.record is not None
            name = f"{received.game_id}.{received.record_suffix}"
            pending = PendingRecord(received.game_id, 0, self._folder, name, received.record)
        with self._store.transaction() as transaction:
            if record:
                self._records.place(transaction, received.game_id)
            transaction.store_result({"id": self._number}, received)
            if pending is not None:
                self._records.add(transaction, received.game_id, 0, pending)
                self._records.forget(transaction)
        if pending is not None:
            self._records.write([pending])

    def close(self) -> None:
        """Write the remaining records."""
        self._records.finish()
        self._records.close()
        self._store.close()


def measure(game: str, rounds: int, flags: list[str], folder: Path) -> list[Any]:
    """Return a line of the table."""
    engine = instant.build("instant", folder)
    script = instant.script(game, folder)
    control, other = os.pipe()
    worker = Worker(
        SimpleNamespace(slot=0, control_fd=control, reaper_fd=None, setup={}, say=print)
    )
    jobs = {record: job_of(script, engine, flags, record=record) for record in (True, False)}
    try:
        result = worker.run(jobs[True])
        assert isinstance(result, GameResult)
        assert result.record is not None, result.detail
        played = least(
            {
                "recorded": lambda: void(worker.run(jobs[True])),
                "plain": lambda: void(worker.run(jobs[False])),
            },
            rounds,
        )
    finally:
        worker.close()
        os.close(control)
        os.close(other)
    stored = {}
    for files in ("collected", "both"):
        recorder = Recorder(folder, files, result)
        stored[files] = least(
            {
                "recorded": lambda recorder=recorder: recorder.take(record=True),
                "plain": lambda recorder=recorder: recorder.take(record=False),
            },
            5 * rounds,
        )
        recorder.close()
    making = played["recorded"] - played["plain"]
    main = {files: cost["recorded"] - cost["plain"] for files, cost in stored.items()}
    return [
        game,
        result.plies,
        len(result.record),
        played["plain"],
        making,
        main["collected"],
        main["both"],
        (making + main["both"]) / result.plies,
        1 + (making + main["both"]) / (played["plain"] + stored["both"]["plain"]),
    ]


def void(_result: object) -> None:
    """Drop a result."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--game", action="append", choices=(*GAMES, "go19"))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="20 rounds")
    parser.add_argument("--flags", default="", help="flags of the instant engines")
    parser.add_argument("--folder", help="for the files; default: a temporary folder")
    arguments = parser.parse_args()
    rounds = 20 if arguments.short else arguments.rounds
    rows = []
    for game in arguments.game or GAMES:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            rows.append(measure(game, rounds, shlex.split(arguments.flags), Path(folder)))
    heads = ["game", "plies", "bytes", "played", "making", "collected", "both", "us/ply", "ratio"]
    print("CPU in microseconds a game: played without a record, making the text, main process")
    print(tabulate(rows, headers=heads, floatfmt=".1f"))


if __name__ == "__main__":
    main()
