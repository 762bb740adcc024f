"""ShogiArena (the package `shogiarena`): a tournament of USI engines from YAML files.

    python benchmarks/peers/shogiarena.py PATH [--rounds 5] [--short]

PATH is its program.  Both sides are instant engines that play 200 plies of shogi, where
both programs end a game.  The dashboard is off, the engines live from game to game, and
the records are what each program writes without being asked.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sqlite3
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import instant
from rounds import Row, alternate, show_rows

from peers import ourselves
from peers.matches import SIDES, Game, Manager, Match, cost

TARGET = ">= 5"
#: Games of the longer and of the shorter match, theirs and ours; the same in short.
GAMES = ((44, 4), (160, 40))
SHORT = ((24, 4), (60, 20))
#: What its database calls a game that the move limit has ended.
_LIMIT = "DRAW_BY_MAX_PLIES"
_DRAW = "1/2-1/2"


def manager(path: str) -> Manager:
    """Return the program without its dashboard."""

    def command(match: Match, folder: Path) -> list[str]:
        assert match.expected is not None
        # an engine's file has no place for arguments
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


def _write(file: Path, content: dict[str, object]) -> None:
    """Write a YAML file: JSON is YAML."""
    file.write_text(json.dumps(content, indent=1))


def _games(folder: Path) -> list[Game]:
    connection = sqlite3.connect(folder / "run" / "game.db")
    try:
        found = connection.execute("SELECT game_result, num_moves FROM game").fetchall()
    finally:
        connection.close()
    return [Game(_DRAW if result == _LIMIT else str(result), plies) for result, plies in found]


def rows(path: str, *, rounds: int, short: bool) -> list[Row]:
    """Return plies a second and own CPU a ply, with one and two games at a time."""
    found = []
    (theirs, fewer), (ours, our_fewer) = SHORT if short else GAMES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine, of = instant.build("instant", folder), instant.script("shogi", folder)
        for slots in (1, 2):
            match = Match(
                "shogi",
                of.protocol,
                instant.command(engine, of),
                theirs,
                slots,
                1,
                expected=Game(_DRAW, of.plies),
            )
            figures = alternate(
                {
                    "theirs": partial(cost, manager(path), match, fewer),
                    "ours": partial(
                        cost, ourselves.manager(), match._replace(games=ours), our_fewer
                    ),
                },
                rounds,
            )
            work = f"instant USI engines, {slots} at a time"
            for key, unit, target in (("plies", "plies/s", TARGET), ("cpu", "µs CPU/ply", "")):
                found.append(
                    Row(
                        work,
                        unit,
                        "ShogiArena",
                        figures["theirs"][key],
                        figures["ours"][key],
                        target,
                    )
                )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    show_rows(rows(arguments.path, rounds=arguments.rounds, short=arguments.short))


if __name__ == "__main__":
    main()
