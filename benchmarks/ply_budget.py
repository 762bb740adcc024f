"""The budget of one ply: what the game loop spends on it, and where.

    python benchmarks/ply_budget.py [--short] [--json]

Games of 200 plies by engines that answer at once (`c/instant.c`; needs a C compiler),
played by `GameRunner` in this process.  Three tables:

loop    CPU a ply, of user and system, and context switches (getrusage); instructions of
        user code (cachegrind) and system calls (strace), where these programs are there,
        of the later games of a run, so that starting does not count; without records
parts   CPU of each part by itself, the least of many repetitions, as a share of the sum
waits   CPU of a bare Python loop over the same pipes with different ways to wait: what a
        poll before the request, a poll before the read, and an epoll in its place cost

Compare within one run only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import instant

from ringmaster.engines import tick
from ringmaster.engines.engine import Limits, Thought
from ringmaster.engines.process import EngineProcess, Surroundings
from ringmaster.engines.universal import Go, UniversalEngine
from ringmaster.games.chess import new_chess_game
from ringmaster.games.game import Game
from ringmaster.games.shogi import new_shogi_game
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import GameName, Player
from ringmaster.model.results import EngineUsage
from ringmaster.model.time_control import TimeControl
from ringmaster.play.clock import Clock
from ringmaster.play.engine_pool import make_engine
from ringmaster.play.game_runner import GameRunner
from ringmaster.play.referee import Settlement

PLIES = 200
#: Games at the beginning of a run that are not counted.
FEW = 2


class Work(NamedTuple):
    """What is played; `infos` are the info lines of each move."""

    game: GameName
    clock: str
    infos: int

    @property
    def name(self) -> str:
        """What tables call it."""
        limit = f"at {self.clock}" if self.clock else "nodes 1"
        return f"{self.game}, {limit}" + (f", {self.infos} info lines" if self.infos else "")


WORKS = tuple(
    Work(game, clock, infos)
    for game in ("chess", "shogi")
    for clock, infos in (("", 0), ("1000+0.1", 0), ("1000+0.1", 20))
)


class Bench:
    """Two players with instant engines, in a folder that has program and scripts."""

    def __init__(self, work: Work, folder: Path) -> None:
        self.work = work
        self.script = instant.script(work.game, folder)
        flags = ("--info", str(work.infos)) if work.infos else ()
        self.command = instant.command(folder / "instant", self.script, *flags)
        limits: dict[str, Any] = {"nodes": 1}
        if work.clock:
            limits = {"time_control": TimeControl.parse(work.clock)}
        protocol = self.script.protocol
        self.players = tuple(
            Player(code, self.command, protocol=protocol, **limits) for code in "ab"
        )

    def engine(self, index: int, interrupt_fd: int) -> UniversalEngine:
        """Return an engine, not launched yet."""
        engine = make_engine(self.players[index], Surroundings({}), interrupt_fd=interrupt_fd)
        assert isinstance(engine, UniversalEngine)
        return engine

    def play(
        self,
        games: int,
        after: Callable[[int], None] = lambda number: None,
        *,
        record: bool = False,
    ) -> GameRunner:
        """Play games one after another and return the last one's runner; `after` is told
        the number of each."""
        # as a worker has: what tells it to stop is watched, and answers that come at once
        # are read without asking first
        interrupt_fd, write_fd = os.pipe()
        tick.start()
        one, other = (self.engine(index, interrupt_fd) for index in (0, 1))
        settings = GameSettings(game=self.work.game, move_limit=PLIES)
        first, second = self.players
        try:
            for number in range(games):
                job = GameJob(f"g{number}", (first, second), settings, record=record)
                runner = GameRunner(job, (one, other))
                result = runner.play()
                assert result.plies == PLIES, result
                after(number)
            return runner
        finally:
            one.end(patience=0.2)
            other.end(patience=0.2)
            os.close(interrupt_fd)
            os.close(write_fd)


def loop_figures(bench: Bench, games: int) -> dict[str, float]:
    """Return what a ply of the game loop takes of this process, games' own costs
    included."""
    readings = []

    def read(number: int) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        readings.append(
            (time.process_time(), used.ru_utime, used.ru_stime, used.ru_nvcsw + used.ru_nivcsw)
        )

    bench.play(games + 1, read)
    least = min(b[0] - a[0] for a, b in itertools.pairwise(readings))
    first, last = readings[0], readings[-1]
    user, system, switches = (last[i] - first[i] for i in (1, 2, 3))
    return {
        "CPU µs": least / PLIES * 1e6,
        "of it user": user / (user + system),
        "switches": switches / games / PLIES,
    }


def traced_figures(work: Work, folder: Path, games: int) -> dict[str, float]:
    """Return instructions and system calls a ply, as far as they can be had."""
    found: dict[str, float] = {}
    plies = games * PLIES
    if shutil.which("valgrind"):
        found["instructions"] = _instructions(work, folder, games) / plies
    if shutil.which("strace"):
        calls, before = (_system_calls(work, folder, n) for n in (FEW + games, FEW))
        for name in ("write", "read", "poll"):
            found[name] = (calls[name] - before[name]) / plies
        rest = sum(calls.values()) - sum(before.values())
        found["other calls"] = rest / plies - sum(found[n] for n in ("write", "read", "poll"))
    return found


def _again(work: Work, folder: Path, games: int) -> list[str]:
    """Return the command of a process that plays games and does nothing else, but that it
    lets a copy of itself end after the first few and after the last."""
    return [sys.executable, __file__, "--play", str(WORKS.index(work)), str(folder), str(games)]


def _play(index: str, folder: str, games: str) -> None:
    def after(number: int) -> None:
        if number + 1 in (FEW, int(games)):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)

    Bench(WORKS[int(index)], Path(folder)).play(int(games), after)


def _instructions(work: Work, folder: Path, games: int) -> int:
    """Return the instructions of `games` games, after the first few."""
    words = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    ran = subprocess.run(
        [*words, *_again(work, folder, FEW + games)],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    # a copy has counted on from where it was made; the last count has the end, too
    counts = re.findall(r"I\s+refs:\s+([\d,]+)", ran.stderr)
    assert len(counts) == 3, ran.stderr
    before, after = (int(count.replace(",", "")) for count in counts[:2])
    return after - before


def _system_calls(work: Work, folder: Path, games: int) -> dict[str, int]:
    out = folder / "strace"
    # not -f: the engines' calls are theirs
    words = ["strace", "-c", "-o", str(out), *_again(work, folder, games)]
    subprocess.run(words, check=True, capture_output=True)
    rows = (line.split() for line in out.read_text().splitlines())
    found = {row[-1]: int(row[3]) for row in rows if len(row) > 4 and row[3].isdigit()}
    found.pop("total", None)
    return found


def parts(bench: Bench, rounds: int) -> dict[str, float]:
    """Return the ns of CPU that each part of a ply takes by itself."""
    work, player = bench.work, bench.players[0]
    moves = bench.script.file.read_text().split()
    infos = "".join(
        f"info depth {i} seldepth {i} multipv 1 score cp {i} nodes {i}000 nps 1000000 "
        f"hashfull 0 tbhits 0 time {i} pv {moves[0]}\n"
        for i in range(1, work.infos + 1)
    )
    answers = [f"{infos}bestmove {move}\n".encode() for move in moves]
    engine = bench.engine(0, -1)
    engine._last_move, engine._expected, engine._turned = "", "", (False, False)
    engine._limits = None
    limits = Limits(1.0, clock_ms=(1000, 900), increment_ms=(100, 100)) if work.clock else None
    limits = limits or Limits(1.0, nodes=1)

    def rules() -> None:
        game: Game = new_chess_game() if work.game == "chess" else new_shogi_game()
        for move in moves:
            game.play(move)
            game.ending()

    def clock() -> None:
        both = [Clock(player, margin=0.0, hang_timeout=60.0) for _ in range(2)]
        for ply in range(PLIES):
            mine = both[ply % 2]
            mine.deadline()
            mine.charge(10_000)

    def request() -> None:
        # both engines are told of each move, one is asked: each of every other one
        for first in (0, 1):
            engine._position, engine._since = b"position startpos", ["moves"]
            for ply, move in enumerate(moves):
                if ply % 2 == first:
                    Go(engine._request(limits))
                engine.observe(0, move, own=ply % 2 == first)

    def answer() -> None:
        for line in answers:
            go = Go(b"")
            go.take(line)
            thought: Thought = engine._thought(0, go, 1)
            assert thought.move

    runner = bench.play(1, record=True)
    settlement = Settlement("draw", None, "move limit", "1/2-1/2")
    usage = EngineUsage()

    def record() -> None:
        runner._referee.write(runner._game_record(settlement, (usage, usage), 0.0, 1.0))

    whole: Mapping[str, Callable[[], None]] = {
        "rules: play, ending": rules,
        "clock: deadline, charge": clock,
        "request: position, go": request,
        "answer: bestmove, info lines": answer,
        "record, after the game": record,
    }
    return {name: _least(part, rounds) / PLIES for name, part in whole.items()}


def waits(bench: Bench, games: int, rounds: int) -> dict[str, float]:
    """Return the ns of CPU a ply of bare loops that wait in different ways."""
    processes = [EngineProcess(bench.command) for _ in range(2)]
    moves = bench.script.file.read_text().split()
    requests, position = [], b"position startpos moves"
    for move in moves:
        requests.append(position + b"\ngo nodes 1\n")
        position += b" " + move.encode()
    outputs, polls, epolls = [], [], []
    for process in processes:
        output, poll = select.poll(), select.poll()
        output.register(process.stdout_fd, select.POLLIN)
        # as many as a channel watches
        fds = [fd for fd in (process.stdout_fd, process.stderr_fd, process.exit_fd) if fd]
        for fd in fds:
            poll.register(fd, select.POLLIN)
        outputs.append(output)
        polls.append(poll)
        if hasattr(select, "epoll"):
            epoll = select.epoll()
            for fd in fds:
                epoll.register(fd, select.EPOLLIN)
            epolls.append(epoll)

    def loop(before: list[Any] | None, wait: list[Any] | None) -> Callable[[], None]:
        def run() -> None:
            for process in processes:
                os.set_blocking(process.stdout_fd, wait is None)
            for _ in range(games):
                for ply, request in enumerate(requests):
                    index = ply & 1
                    if before is not None:
                        before[index].poll(0)
                    os.write(processes[index].stdin_fd, request)
                    answer = b""
                    while not answer.endswith(b"\n"):
                        if wait is not None:
                            wait[index].poll(1000)
                        answer += os.read(processes[index].stdout_fd, 1 << 16)

        return run

    ways = {
        "write, blocking read": loop(None, None),
        "write, poll, read": loop(None, polls),
        "poll of the output, write, blocking read": loop(outputs, None),
        "poll of the output, write, poll, read": loop(outputs, polls),
    }
    if epolls:
        ways["write, epoll, read"] = loop(None, epolls)
    least = dict.fromkeys(ways, float("inf"))
    try:
        for _ in range(rounds):
            for name, run in ways.items():
                least[name] = min(least[name], _least(run, 1))
    finally:
        for epoll in epolls:
            epoll.close()
        for process in processes:
            process.end(patience=0.2)
    return {name: found / games / PLIES for name, found in least.items()}


def _least(run: Callable[[], None], rounds: int) -> float:
    """Return the least ns of CPU of this process that `run` has taken."""
    found = []
    for _ in range(rounds):
        start = time.process_time_ns()
        run()
        found.append(time.process_time_ns() - start)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description="what a ply costs the game loop, and where")
    parser.add_argument("--short", action="store_true", help="few games, one piece of work traced")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--play", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        _play(*given.play)
        return
    games, rounds = (3, 10) if given.short else (30, 60)
    # tracing slows everything down
    traced = WORKS[:1] if given.short else WORKS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        instant.build("instant", folder)
        benches = [Bench(work, folder) for work in WORKS]
        loops = {
            bench.work.name: {
                **loop_figures(bench, games),
                **(traced_figures(bench.work, folder, 4) if bench.work in traced else {}),
            }
            for bench in benches
        }
        pieces = {bench.work.name: parts(bench, rounds) for bench in benches}
        waiting = waits(benches[0], 5, rounds // 5)
    if given.json:
        print(json.dumps({"loop": loops, "parts": pieces, "waits": waiting}, indent=2))
        return
    from tabulate import tabulate

    rows: list[dict[str, Any]] = [{"a ply of": name, **row} for name, row in loops.items()]
    print(tabulate(rows, "keys", floatfmt=".2f"))
    rows = []
    for name, found in pieces.items():
        total = sum(found.values())
        shares = {key: f"{ns:.0f} ns ({ns / total:.0%})" for key, ns in found.items()}
        rows.append({"parts of a ply of": name, **shares})
    print("\n" + tabulate(rows, "keys"))
    base = waiting["write, blocking read"]
    table = [(way, f"{ns:.0f}", f"{ns / base:.2f}") for way, ns in waiting.items()]
    print("\n" + tabulate(table, ("bare loop", "CPU ns a ply", "ratio")))


if __name__ == "__main__":
    main()
