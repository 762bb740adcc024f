"""Measure positions scored a second, compared with a bare pipe loop in C.

    python benchmarks/evaluation_speed.py [--positions 20000] [--rounds 5] [--json]

Two processes of each engine run at once, on distinct positions of random games.  The whole path
of ringmaster (executor, worker, position file, scores) alternates with `pipe_loop.c`, which only
counts answers; gcc compiles it at the start.  Each engine has a session of its own, since Linux
shares time among sessions first (autogroup).  The ratio is of the medians.  CPU includes loop,
workers and engines, and is more reliable than the clock on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chess
import numpy as np
import psutil
from common import start_workers

from ringmaster.execution.executor import Done
from ringmaster.model.jobs import EvaluationJob, GameSettings
from ringmaster.model.players import OptionValue, Player
from ringmaster.model.results import EvaluationResult
from ringmaster.positions.position_file import COLUMNS, PositionWriter

PROCESSES = 2
#: Passes of each process over its positions in a measurement.
PASSES = 4
#: Engine, its options, and the start of its answer.
ENGINES: dict[str, tuple[str, dict[str, OptionValue], str]] = {
    "stockfish": ("stockfish", {"Use NNUE": False}, "Final evaluation"),
    "glaurung": ("glaurung", {}, "Full eval"),
}


def positions(count: int) -> list[str]:
    """Return distinct positions of random games, none in check."""
    rng = random.Random(20)
    fens: dict[str, None] = {}
    while len(fens) < count:
        board = chess.Board()
        for ply in range(100):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
            if ply > 7 and not board.is_check():
                fens[board.fen()] = None
    return list(fens)[:count]


def write_positions(path: Path, fens: list[str]) -> None:
    labels = {name: np.zeros(len(fens)) for name in COLUMNS}
    with PositionWriter(path, "chess", "benchmark") as writer:
        writer.add([fen.encode() for fen in fens], labels, False)
        writer.finish([])


class Ringmaster:
    """Two workers with one engine each, after one pass over all positions."""

    def __init__(self, name: str, path: Path, count: int, in_flight: int) -> None:
        command, options, _ = ENGINES[name]
        program = shutil.which(command) or command
        self._player = Player(name, (program,), protocol="uci", options=options)
        self._path, self._count, self._in_flight = path, count, in_flight
        self._executor = start_workers(PROCESSES)
        self.run()

    def run(self) -> tuple[float, float]:
        """Return (positions a second, µs of CPU a position)."""
        start, cpu = time.perf_counter(), self._cpu()
        for number in range(PROCESSES * PASSES):
            shard = number % PROCESSES
            self._executor.submit(
                EvaluationJob(
                    id=f"shard{number}",
                    player=self._player,
                    settings=GameSettings(game="chess"),
                    positions=str(self._path),
                    first=shard,
                    stop=self._count,
                    step=PROCESSES,
                    apply="live",
                    in_flight=self._in_flight,
                )
            )
        while self._executor.running():
            for event in self._executor.wait(None):
                assert isinstance(event, Done)
                assert isinstance(event.result, EvaluationResult)
                assert event.result.outcome == "evaluated", event.result.detail
        seconds = time.perf_counter() - start
        scored = self._count * PASSES
        return scored / seconds, (self._cpu() - cpu) / scored * 1e6

    @staticmethod
    def _cpu() -> float:
        me = psutil.Process()
        times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
        return sum(each.user + each.system for each in times)

    def close(self) -> None:
        self._executor.close()


def bare(
    loop: Path, name: str, lists: list[Path], in_flight: int, count: int
) -> tuple[float, float]:
    """Return (positions a second, µs of CPU a position) of the C loop."""
    command, options, sign = ENGINES[name]
    setup = "".join(f"setoption name {k} value {str(v).lower()}\\n" for k, v in options.items())
    program = shutil.which(command) or command
    running = [
        subprocess.Popen(
            [loop, path, str(1 + PASSES), str(in_flight), "eval", sign, setup, program],
            stdout=subprocess.PIPE,
            text=True,
        )
        for path in lists
    ]
    printed = [tuple(map(float, process.communicate()[0].split())) for process in running]
    seconds = max(wall for wall, _ in printed)
    scored = count * PASSES
    return scored / seconds, sum(cpu for _, cpu in printed) / scored * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="positions scored a second")
    parser.add_argument("--positions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", choices=[*ENGINES, "all"], default="all")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short", action="store_true", help="one round of few positions")
    arguments = parser.parse_args()
    if arguments.short:
        arguments.positions, arguments.rounds = 200, 1
    if shutil.which("gcc") is None:
        sys.exit("gcc is not installed; it compiles the bare loop")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        loop = Path(folder, "pipe_loop")
        source = Path(__file__).parent / "c" / "pipe_loop.c"
        subprocess.run(["gcc", "-O2", "-o", loop, source], check=True)
        fens = positions(arguments.positions)
        path = Path(folder, "positions")
        write_positions(path, fens)
        lists = [Path(folder, f"list{n}") for n in range(PROCESSES)]
        for n, each in enumerate(lists):
            each.write_text("".join(f"{fen}\n" for fen in fens[n::PROCESSES]))
        names = list(ENGINES) if arguments.engine == "all" else [arguments.engine]
        for name in names:
            for in_flight in (64, 1):
                ours: list[tuple[float, float]] = []
                theirs: list[tuple[float, float]] = []
                ringmaster = Ringmaster(name, path, len(fens), in_flight)
                try:
                    for _ in range(arguments.rounds):
                        theirs.append(bare(loop, name, lists, in_flight, len(fens)))
                        ours.append(ringmaster.run())
                finally:
                    ringmaster.close()
                speed, cpu = (statistics.median(each) for each in zip(*ours, strict=True))
                other, less = (statistics.median(each) for each in zip(*theirs, strict=True))
                rows.append((name, in_flight, speed, other, speed / other, cpu, less, cpu / less))
    if arguments.json:
        print(json.dumps([dict(zip(HEADERS, row, strict=True)) for row in rows], indent=2))
        return
    from tabulate import tabulate

    print(tabulate(rows, HEADERS, floatfmt=("", "", ".0f", ".0f", ".2f", ".1f", ".1f", ".2f")))


HEADERS = (
    *("engine", "in flight", "positions/s", "of the C loop", "ratio"),
    *("CPU µs", "of the C loop", "ratio of CPU"),
)

if __name__ == "__main__":
    main()
