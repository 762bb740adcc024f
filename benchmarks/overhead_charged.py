"""Measure the time charged to an engine beyond its own time.

    python benchmarks/overhead_charged.py [--games 80] [--json] [--short]

The engine (`c/instant.c`; needs a C compiler) measures its own wall time, from reading `go` to
writing `bestmove`, and reports it in its info line.  Each move takes about 2 ms of computing.
The difference to the charged time is the cost of two pipes, two context switches and our own
code.  With one and with two games at a time, beside a loop that only writes, reads and reads
the clock.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import instant
from common import percentile

from ringmaster.engines.engine import Engine, Limits, Thought
from ringmaster.engines.process import Surroundings
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.play.engine_pool import make_engine

MOVES = 100


def moves(command: tuple[str, ...], games: int) -> Iterator[Thought]:
    """Yield the thought of each move of two engines in turn, as in a game."""
    players = [Player(code, command, protocol="uci", nodes=1) for code in ("a", "b")]
    engines: list[Engine] = [make_engine(player, Surroundings({})) for player in players]
    settings, limits = GameSettings("chess"), Limits(10.0, clock_ms=(10_000, 10_000))
    try:
        for engine in engines:
            engine.launch()
        for _ in range(games):
            opening = SimpleNamespace(fen=None, moves=())
            for colour, engine in enumerate(engines):
                engine.start_game(settings, opening, colour)  # type: ignore[arg-type]
            for ply in range(MOVES):
                yield engines[ply % 2].think(ply % 2, limits)
                for engine in engines:
                    engine.observe(ply % 2, "e2e4", own=engine is engines[ply % 2])
    finally:
        for engine in engines:
            engine.end(patience=0.2)


def overheads(command: tuple[str, ...], games: int) -> list[int]:
    """Return the ns charged for each move beyond the engine's own time."""
    excess = []
    for thought in moves(command, games):
        own_ns = thought.number("nodes")
        assert own_ns is not None
        excess.append(thought.elapsed_ns - own_ns)
    return excess


def bare(command: tuple[str, ...], games: int) -> list[int]:
    """Return the same for a loop that only writes, reads and reads the clock."""
    excess = []
    engines = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        for ply in range(games * MOVES):
            stdin, stdout = engines[ply % 2].stdin, engines[ply % 2].stdout
            assert stdin is not None
            assert stdout is not None
            start = time.monotonic_ns()
            os.write(stdin.fileno(), b"go\n")
            answer = b""
            while b"\nbestmove" not in answer or not answer.endswith(b"\n"):
                answer += os.read(stdout.fileno(), 1 << 16)
            elapsed = time.monotonic_ns() - start
            excess.append(elapsed - int(answer.split()[7]))
    finally:
        for engine in engines:
            engine.kill()
            engine.wait()
    return excess


def measure_overhead(games: int, as_json: bool) -> None:
    """Print median and 99th percentile of ringmaster and the bare loop, for one and two games."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine, script = instant.build("instant", folder), instant.script("chess", folder)
        command = instant.command(engine, script, "--busy", "2")
        for slots, loop in itertools.product((1, 2), (bare, overheads)):
            excess: list[int] = []
            # one process for each game at a time, as in the program
            children = []
            for _ in range(slots):
                read_fd, write_fd = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.close(read_fd)
                    with os.fdopen(write_fd, "w") as pipe:
                        json.dump(loop(command, games), pipe)
                    os._exit(0)
                os.close(write_fd)
                children.append((pid, read_fd))
            for pid, read_fd in children:
                with os.fdopen(read_fd) as pipe:
                    excess += json.load(pipe)
                os.waitpid(pid, 0)
            micro = sorted(ns / 1000 for ns in excess)
            rows.append(
                {
                    "games at a time": slots,
                    "loop": "bare" if loop is bare else "ringmaster",
                    "moves": len(micro),
                    "least µs": round(micro[0], 1),
                    "median µs": round(statistics.median(micro), 1),
                    "99 % µs": round(percentile(micro, 0.99), 1),
                    "most µs": round(micro[-1], 1),
                }
            )
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from tabulate import tabulate

    print(tabulate(rows, "keys"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--games", type=int, default=80)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short", action="store_true", help="one game for each row")
    arguments = parser.parse_args()
    measure_overhead(1 if arguments.short else arguments.games, arguments.json)


if __name__ == "__main__":
    main()
