"""How many plies a second the referee gets through with engines that answer at
once, and how much of its own CPU a ply costs.

    python benchmarks/plies_per_second.py [--games 60] [--rounds 5] [--short] [--json]
        [--work uci usi go9 go19 …] [--records]

Both sides are `c/instant.c`, which plays through a scripted game: 200 plies of chess over
UCI or of shogi over USI, 100 of Go on 9x9 or 200 on 19x19 over GTP; "uci info" prints 20
info lines a move.  Engines are kept from game to game (`restart="off"`, which over GTP is
not the default).  What is measured is the whole path but for the store: executor, workers,
game loop.  Machines are noisy, so everything takes turns, in one run, with a bare loop:
`c/turns.c`, which passes moves on and does nothing else.

The second table has the plies a second of each work by those over UCI.

Without a C compiler the engines are `tests/engines/instant_uci.py` and `instant_usi.py`
and the bare loop is one in Python; Go is left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import instant
import psutil
from rounds import Row, alternate, show_rows

from ringmaster.engines import watcher
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import GameName, Player
from ringmaster.model.results import GameResult

ENGINES = Path(__file__).parent.parent / "tests" / "engines"
#: What is played: the script, and flags of the engines.
WORKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "uci": ("chess", ()),
    "uci info": ("chess", ("--info", "20")),
    "usi": ("shogi", ()),
    "usi info": ("shogi", ("--info", "20")),
    "go9": ("go9", ()),
    "go19": ("go19", ()),
}
SLOTS = (1, 2)


class Work(NamedTuple):
    """What is played, by engines with this command; `game` is a name of theirs."""

    protocol: instant.Speech
    command: tuple[str, ...]
    plies: int
    board_size: int
    bare: Callable[[int, int], float]

    @property
    def game(self) -> GameName:
        games: dict[instant.Speech, GameName] = {"uci": "chess", "usi": "shogi", "gtp": "go"}
        return games[self.protocol]


def compiled(name: str, folder: Path) -> Work:
    """Return a work for engines in C."""
    key, flags = WORKS[name]
    of = instant.script(key, folder)
    engine, turns = folder / "instant", folder / "turns"
    for program in (engine, turns):
        if not program.exists():
            instant.build(program.name, folder)
    return Work(
        of.protocol,
        instant.command(engine, of, *flags),
        of.plies,
        of.board_size,
        lambda games, slots: instant.bare(turns, engine, of, games, slots, *flags),
    )


def interpreted(name: str) -> Work:
    """Return a work for engines in Python."""
    protocol: Literal["uci", "usi"] = "uci" if name.startswith("uci") else "usi"
    script = ENGINES / f"instant_{protocol}.py"
    command = (sys.executable, "-I", "-S", str(script), "--plies", "200", *WORKS[name][1])
    return Work(
        protocol, command, 200, 19, lambda games, slots: bare(protocol, command, games) * slots
    )


def job(work: Work, number: int, *, record: bool) -> GameJob:
    limit = None if work.protocol == "gtp" else 1
    one, other = (
        Player(code, work.command, protocol=work.protocol, nodes=limit, restart="off")
        for code in "ab"
    )
    if work.game == "go":
        settings = GameSettings("go", work.board_size, 7.5, scorer="internal")
    else:
        settings = GameSettings(work.game, move_limit=work.plies)
    return GameJob(f"g{number}", (one, other), settings, record=record)


def own_cpu(engine: str) -> float:
    """Return the CPU seconds of this process and all workers, without those whose command
    line has the word `engine`."""
    total = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            if engine not in process.cmdline():
                times = process.cpu_times()
                total += times.user + times.system
        except psutil.Error:
            continue
    return total


def referee(work: Work, games: int, slots: int, *, record: bool) -> Mapping[str, float]:
    """Return plies a second and µs of own CPU a ply, of `games` games for each slot."""
    games *= slots
    engine = work.command[-1] if work.command[0] == sys.executable else work.command[0]
    executor = LocalExecutor("ringmaster.play.worker:make_worker", slots, watcher=watcher.__file__)
    try:
        for number in range(2 * slots):  # engines start, code is warm
            executor.submit(job(work, number, record=record))
        while executor.running():
            executor.wait(None)
        cpu, start = own_cpu(engine), time.perf_counter()
        for number in range(games):
            executor.submit(job(work, number, record=record))
        plies = 0
        while executor.running():
            for event in executor.wait(None):
                assert isinstance(event, Done)
                assert isinstance(event.result, GameResult)
                assert event.result.outcome != "void", event.result.detail
                plies += event.result.plies
        seconds, cpu = time.perf_counter() - start, own_cpu(engine) - cpu
    finally:
        executor.close()
    assert plies == work.plies * games, (plies, games)
    return {"plies": plies / seconds, "cpu": cpu / plies * 1e6}


def bare(protocol: str, command: tuple[str, ...], games: int) -> float:
    """Return the plies a second of a bare loop in Python, one game at a time."""
    engines = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        for _ in range(2)
    ]
    try:
        pipes = []
        for engine in engines:
            assert engine.stdin is not None
            assert engine.stdout is not None
            pipes.append((engine.stdin.fileno(), engine.stdout.fileno()))
            _ask(pipes[-1], f"{protocol}\n".encode(), f"{protocol}ok".encode())
        start = time.perf_counter()
        for _ in range(games):
            position, gap = b"position startpos", b" moves "
            for ply in range(200):
                answer = _ask(pipes[ply % 2], position + b"\ngo nodes 1\n", b"bestmove ")
                position += gap + answer.rpartition(b"bestmove ")[2].split(None, 1)[0]
                gap = b" "
        seconds = time.perf_counter() - start
    finally:
        for engine in engines:
            engine.kill()
            engine.wait()
    return 200 * games / seconds


def _ask(pipe: tuple[int, int], request: bytes, sign: bytes) -> bytes:
    os.write(pipe[0], request)
    answer = b""
    while sign not in answer or not answer.endswith(b"\n"):
        answer += os.read(pipe[1], 1 << 16)
    return answer


def measure(
    works: Mapping[str, Work], games: int, rounds: int, *, record: bool
) -> tuple[list[Row], list[Row]]:
    """Return the lines of both tables."""

    def loop(work: Work, slots: int) -> Mapping[str, float]:
        return {"plies": work.bare(games, slots)}

    measures: dict[str, Callable[[], Mapping[str, float]]] = {}
    for slots in SLOTS:
        for name, work in works.items():
            measures[f"{name} -j {slots}"] = partial(referee, work, games, slots, record=record)
            measures[f"bare {name} -j {slots}"] = partial(loop, work, slots)
    found = alternate(measures, rounds)
    first, second = [], []
    for slots in SLOTS:
        for name in works:
            key = f"{name} -j {slots}"
            ours, loops = found[key], found[f"bare {key}"]
            first.append(Row(key, "plies/s", "bare loop", loops["plies"], ours["plies"]))
            base = found.get(f"uci -j {slots}")
            if base is not None and name != "uci":
                plain = name in ("usi", "go9", "go19")
                target = ">= 0.75" if plain and not record else ""
                second.append(Row(key, "plies/s", "uci", base["plies"], ours["plies"], target))
                second.append(Row(key, "own µs a ply", "uci", base["cpu"], ours["cpu"]))
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description="plies a second with instant engines")
    parser.add_argument("--games", type=int, default=60, help="a round, for each slot")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", nargs="+", choices=tuple(WORKS), default=tuple(WORKS))
    parser.add_argument("--records", action="store_true", help="with game records")
    parser.add_argument("--short", action="store_true", help="one round of few games")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    games, rounds = (10, 1) if arguments.short else (arguments.games, arguments.rounds)
    with tempfile.TemporaryDirectory() as name:
        if instant.compiler() is not None:
            works = {each: compiled(each, Path(name)) for each in arguments.work}
        else:
            works = {each: interpreted(each) for each in arguments.work if each[:2] != "go"}
        first, second = measure(works, games, rounds, record=arguments.records)
    notes = () if instant.compiler() else ("no C compiler: engines in Python, no Go",)
    show_rows([*first, *second], notes, as_json=arguments.json)


if __name__ == "__main__":
    main()
