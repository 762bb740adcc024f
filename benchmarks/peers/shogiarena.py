"""ShogiArena (the package `shogiarena`): a tournament of USI engines from YAML files.

    python benchmarks/peers/shogiarena.py PATH [--rounds 5] [--short]

PATH is its program.  Both sides are instant engines that play shogi; both programs end a game
after 200 plies.  The dashboard is off, engines are kept from game to game, and each program
writes its default records.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import instant
from common import Row, alternate, show_rows

from peers.matches import SIDES, Game, Manager, Match, cost, ringmaster

TARGET = ">= 5"
#: Games of the longer and of the shorter match, theirs and ours; the same in short.
GAMES = ((44, 4), (160, 40))
SHORT = ((8, 4), (24, 8))
#: Result of a game that ended at the move limit, in its database.
_LIMIT = "DRAW_BY_MAX_PLIES"
_DRAW = "1/2-1/2"


def manager(path: str) -> Manager:
    """Return the program without its dashboard."""

    def command(match: Match, folder: Path) -> list[str]:
        assert match.expected is not None
        # an engine's YAML file cannot have arguments
        engine = folder / "engine"
        engine.write_text(f"#!/bin/sh\nexec {shlex.join(match.engine)}\n")
        engine.chmod(0o755)
        for side in SIDES:
            entry = {"name": side, "engine_path": str(engine), "working_directory": str(folder)}
            _write(folder / f"{side}.yaml", entry)
        rules = {
            "time_control": {"node_limit": match.nodes},
            # the engine has no option for the move limit
            "adjudication": {
                "max_plies": match.expected.plies,
                "sync_max_plies_with_engine": False,
            },
            "repetition_occurrences_to_draw": 4,
        }
        tournament = {
            "experiment_name": "match",
            "engines": [{"engine_path": f"{side}.yaml"} for side in SIDES],
            "tournament": {
                "scheduler": "round_robin",
                "games_per_pair": match.games,
                "num_parallel": match.slots,
                "engine_lifecycle": "reuse",
            },
            "rules": rules,
            "dashboard": {"enabled": False},
        }
        _write(folder / "match.yaml", tournament)
        return [path, "run", "tournament", "match.yaml", "--run-dir", "run"]

    return Manager("ShogiArena", command, _games)


def _write(file: Path, content: Mapping[str, object]) -> None:
    """Write a YAML file: JSON is YAML."""
    file.write_text(json.dumps(content, indent=1))


def _games(folder: Path) -> list[Game]:
    connection = sqlite3.connect(folder / "run" / "game.db")
    try:
        rows = connection.execute("SELECT game_result, num_moves FROM game").fetchall()
    finally:
        connection.close()
    return [Game(_DRAW if result == _LIMIT else str(result), plies) for result, plies in rows]


def rows(path: str, *, rounds: int, short: bool) -> list[Row]:
    """Return plies a second and own CPU a ply, with one and two games at a time."""
    table = []
    (theirs, fewer), (ours, our_fewer) = SHORT if short else GAMES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine, script = instant.build("instant", folder), instant.script("shogi", folder)
        for slots in (1, 2):
            match = Match(
                "shogi",
                script.protocol,
                instant.command(engine, script),
                theirs,
                slots,
                1,
                expected=Game(_DRAW, script.plies),
            )
            figures = alternate(
                {
                    "theirs": partial(cost, manager(path), match, fewer),
                    "ours": partial(cost, ringmaster(), match._replace(games=ours), our_fewer),
                },
                rounds,
            )
            work = f"instant USI engines, {slots} at a time"
            for key, unit, target in (("plies", "plies/s", TARGET), ("cpu", "µs CPU/ply", "")):
                table.append(
                    Row(
                        work,
                        unit,
                        "ShogiArena",
                        figures["theirs"][key],
                        figures["ours"][key],
                        target,
                    )
                )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    show_rows(rows(arguments.path, rounds=arguments.rounds, short=arguments.short))


if __name__ == "__main__":
    main()
