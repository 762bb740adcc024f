"""How many plies a second the referee gets through with engines that answer at
once, and how much of its own CPU a ply costs.

    python benchmarks/plies_per_second.py [--games 60] [--protocol uci|usi|both] [--json]

Both sides are `tests/engines/instant_uci.py` or `instant_usi.py`, which play through
a scripted 200-ply game of chess or shogi.  Machines are noisy, so everything is
compared, in one run, with a bare loop: the same engines, the same position and go
lines written and the answers read with `os.write` and a blocking `os.read`, and
nothing else.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from ringmaster.engines import watcher
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import GameName, Player, ProtocolName
from ringmaster.model.results import GameResult

ENGINES = Path(__file__).parent.parent / "tests" / "engines"
GAME_OF: dict[ProtocolName, GameName] = {"uci": "chess", "usi": "shogi"}
PLIES = 200


def command(protocol: ProtocolName, *flags: str) -> tuple[str, ...]:
    engine = ENGINES / f"instant_{protocol}.py"
    return (sys.executable, "-I", "-S", str(engine), "--plies", str(PLIES), *flags)


def job(protocol: ProtocolName, number: int, *flags: str) -> GameJob:
    one, other = (
        Player(code, command(protocol, *flags), protocol=protocol, nodes=1) for code in "ab"
    )
    settings = GameSettings(game=GAME_OF[protocol], move_limit=PLIES)
    return GameJob(f"g{number}", (one, other), settings, record=False)


def own_cpu() -> float:
    """Return the CPU seconds of this process and all workers, engines left out."""
    total = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            if not any(word.startswith(str(ENGINES)) for word in process.cmdline()):
                times = process.cpu_times()
                total += times.user + times.system
        except psutil.Error:
            continue
    return total


def referee(protocol: ProtocolName, games: int, slots: int, *flags: str) -> tuple[float, float]:
    """Return (plies a second, µs of own CPU a ply) of the whole path: executor,
    worker, game loop."""
    executor = LocalExecutor("ringmaster.play.worker:make_worker", slots, watcher=watcher.__file__)
    try:
        for number in range(2 * slots):  # engines start, code is warm
            executor.submit(job(protocol, number, *flags))
        while executor.running():
            executor.wait(None)
        cpu, start = own_cpu(), time.perf_counter()
        for number in range(games):
            executor.submit(job(protocol, number, *flags))
        plies = 0
        while executor.running():
            for event in executor.wait(None):
                assert isinstance(event, Done)
                assert isinstance(event.result, GameResult)
                assert event.result.outcome != "void", event.result.detail
                plies += event.result.plies
        seconds, cpu = time.perf_counter() - start, own_cpu() - cpu
    finally:
        executor.close()
    assert plies == PLIES * games, (plies, games)
    return plies / seconds, cpu / plies * 1e6


def bare(protocol: ProtocolName, games: int, *flags: str) -> tuple[float, float]:
    """Return the same of the bare loop, one game at a time."""
    engines = [
        subprocess.Popen(
            command(protocol, *flags), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        for _ in range(2)
    ]
    try:
        pipes = []
        for engine in engines:
            assert engine.stdin is not None
            assert engine.stdout is not None
            pipes.append((engine.stdin.fileno(), engine.stdout.fileno()))
            _ask(pipes[-1], f"{protocol}\n".encode(), f"{protocol}ok".encode())
        cpu, start = time.process_time(), time.perf_counter()
        for _ in range(games):
            position, gap = b"position startpos", b" moves "
            for ply in range(PLIES):
                answer = _ask(pipes[ply % 2], position + b"\ngo nodes 1\n", b"bestmove ")
                position += gap + answer.rpartition(b"bestmove ")[2].split(None, 1)[0]
                gap = b" "
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    finally:
        for engine in engines:
            engine.kill()
            engine.wait()
    plies = PLIES * games
    return plies / seconds, cpu / plies * 1e6


def _ask(pipe: tuple[int, int], request: bytes, sign: bytes) -> bytes:
    os.write(pipe[0], request)
    answer = b""
    while sign not in answer or not answer.endswith(b"\n"):
        answer += os.read(pipe[1], 1 << 16)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description="plies a second with instant engines")
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--protocol", choices=("uci", "usi", "both"), default="both")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    chosen: tuple[ProtocolName, ...] = ("uci", "usi")
    if arguments.protocol != "both":
        chosen = (arguments.protocol,)
    rows = []
    for protocol, flags in itertools.product(chosen, ((), ("--info", "20"))):
        base = bare(protocol, arguments.games, *flags)
        name = f"{protocol}, " + (" ".join(flags).lstrip("-") or "no info lines")
        rows.append((f"bare loop, {name}", *base, 1.0, 1.0))
        for slots in (1, 2):
            found = referee(protocol, arguments.games * slots, slots, *flags)
            rows.append(
                (
                    f"ringmaster -j {slots}, {name}",
                    *found,
                    found[0] / base[0],
                    found[1] / base[1],
                )
            )
    if arguments.json:
        print(json.dumps([dict(zip(HEADERS, row, strict=True)) for row in rows], indent=2))
        return
    from tabulate import tabulate

    print(tabulate(rows, HEADERS, floatfmt=("", ".0f", ".1f", ".2f", ".2f")))


HEADERS = ("what", "plies/s", "own µs a ply", "speed to bare", "CPU to bare")

if __name__ == "__main__":
    main()
