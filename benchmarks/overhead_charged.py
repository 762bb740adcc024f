"""Measure the time charged to an engine beyond its own time, and games lost on time by mistake.

    python benchmarks/overhead_charged.py overhead [--games 80] [--json] [--short]
    python benchmarks/overhead_charged.py instant [--games 2000]
    python benchmarks/overhead_charged.py real [--games 200] ENGINE ENGINE

overhead  an engine (`c/instant.c`; needs a C compiler) that measures its own wall time,
          from reading `go` to writing `bestmove`, and reports it in its info line.  Each
          move takes about 2 ms of computing.  The difference to the charged time is the cost
          of two pipes, two context switches and our own code.  With one and with two games
          at a time, beside a loop that only writes, reads and reads the clock.
instant   engines that answer at once, at 0.1+0.001: every time loss is ringmaster's fault
real      two UCI engines, at 1+0.01, two games at a time
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import instant
from common import game_results, percentile, start_workers

from ringmaster.engines.engine import Engine, Limits, Thought
from ringmaster.engines.process import Surroundings
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl
from ringmaster.play.engine_pool import make_engine

ENGINES = Path(__file__).parent.parent / "tests" / "engines"
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


def play(players: tuple[Player, Player], games: int, slots: int, move_limit: int) -> Counter[str]:
    """Play games with alternating colours; count them by the reason of their end."""
    executor = start_workers(slots)
    reasons: Counter[str] = Counter()
    settings = GameSettings(game="chess", move_limit=move_limit)
    try:
        for number in range(games):
            pair = players if number % 2 == 0 else (players[1], players[0])
            executor.submit(GameJob(f"g{number}", pair, settings, record=False))
        for result in game_results(executor):
            reasons[result.reason] += 1
            if result.reason in ("time", "stall") or result.outcome == "void":
                print(f"{result.game_id}: {result.detail}", file=sys.stderr)
    finally:
        executor.close()
    return reasons


def show_losses(label: str, reasons: Counter[str], seconds: float) -> None:
    """Print the time losses of a series of games in one line."""
    lost = reasons["time"] + reasons["stall"]
    rest = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    print(f"{label}: {sum(reasons.values())} games in {seconds:.0f} s, {lost} time losses ({rest})")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="time charged, and games lost on time")
    parser.add_argument("measurement", choices=("overhead", "instant", "real"), nargs="?")
    parser.add_argument("engines", nargs="*", help="commands of two UCI engines, for `real`")
    parser.add_argument("--games", type=int)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short", action="store_true", help="one game for each row")
    options = parser.parse_intermixed_args(arguments)
    start = time.monotonic()
    if options.short:
        options.measurement, options.games = options.measurement or "overhead", 1
    elif options.measurement is None:
        parser.error("name a measurement: overhead, instant or real")
    if options.measurement == "overhead":
        measure_overhead(options.games or 80, options.json)
        return
    if options.measurement == "instant":
        command = (sys.executable, "-I", "-S", str(ENGINES / "instant_uci.py"), "--plies", "200")
        control = TimeControl.parse("0.1+0.001")
        one, two = (Player(c, command, protocol="uci", time_control=control) for c in "ab")
        reasons = play((one, two), options.games or 2000, options.slots, 1000)
        show_losses("instant engines at 0.1+0.001", reasons, time.monotonic() - start)
        return
    if len(options.engines) != 2:
        parser.error("`real` needs the commands of two engines")
    control = TimeControl.parse("1+0.01")
    one, two = (
        Player(code, (command,), protocol="uci", time_control=control)
        for code, command in zip("ab", options.engines, strict=True)
    )
    reasons = play((one, two), options.games or 200, options.slots, 400)
    show_losses("real engines at 1+0.01", reasons, time.monotonic() - start)


if __name__ == "__main__":
    main()
