"""Many games at a time: how soon they start, how late engines are served, what it costs.

    python benchmarks/parallel.py [--slots 1,2,4,16,64,128,256] [--think "--sleep 10"]
        [--seconds 3] [--plot reports/parallel.png] [--json] [--short]

The whole program (`ringmaster x.ctl run -j N`, records and all, at 1+0.05) plays games
between C engines that take 10 ms a move, asleep; beside it, in the same run, one bare
epoll loop in C (`c/sleepers.c`) serves as many: what a referee could do at most.  An
engine is served late by the time from its opponent's answer to its own reading of `go`,
both by the engines' own clocks (`instant.c --times`).  Everything else is read from
/proc (Linux only), in a window in which all games are being played: CPU time and time
spent waiting for a CPU from schedstat, memory from smaps_rollup before it.

With `--think "--busy 10"` the engines compete for the CPUs with whoever serves them.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import instant
from figures import percentile
from meter import children, scheduled

#: More than are ever played.
GAMES = 1000000
CONTROL = """
competition_type = "playoff"
game = "chess"
players = {{code: Player({command!r}, time_control="1+0.05") for code in ("a", "b")}}
matchups = [Matchup("a", "b")]
number_of_games = {games}
skip_player_checks = True
"""


@dataclass(frozen=True)
class Figures:
    """One run; seconds, but for what says otherwise.

    started, asked  from the program's start until the first engine was (which waits for
                    the last worker), and until the last game's first move was asked for
    share           plies a second, of those that would be played if nothing but the
                    engines took time
    stopped         from SIGTERM until no process was left, engines included
    late_*          from an answer to the opponent's reading of `go`, milliseconds: the
                    median, the 99th percentile, and the median of the engine that has
                    the worst
    cpu, waiting    of all own processes, µs a ply: used, and spent ready to run
    *_mb            MB: what a process has for itself (of workers the median), and `all_mb`
                    what the own processes hold together
    load            the machine's load average at the end of the window
    """

    started: float
    asked: float
    stopped: float
    share: float
    late_median: float
    late_99: float
    late_worst: float
    cpu: float
    waiting: float
    losses: int
    main_mb: float
    nursery_mb: float
    worker_mb: float
    all_mb: float
    load: float


# Looking at processes


def memory(pid: int) -> tuple[float, float]:
    """Return what a process has for itself and its share of all that it has, in MB."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0.0, 0.0
    kb = {line.split()[0]: int(line.split()[1]) for line in lines}
    return (kb["Private_Clean:"] + kb["Private_Dirty:"]) / 1024, kb["Pss:"] / 1024


@dataclass(frozen=True)
class Family:
    """The processes of a run: `parents` are the engines', of one pair or many."""

    others: tuple[int, ...]
    parents: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def own(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*self.others, *self.parents)))


def ours_now(main: int) -> Family:
    """Return what `ringmaster run` has started: the engines are its workers', and these
    the nursery's."""
    helpers = children(main)
    workers = [worker for helper in helpers for worker in children(helper)]
    games: dict[str, list[int]] = {}
    for engine in (engine for worker in workers for engine in children(worker)):
        if (slot := slot_of(engine)) is not None:
            games.setdefault(slot, []).append(engine)
    pairs = tuple((pair[0], pair[1]) for pair in games.values() if len(pair) == 2)
    return Family((main, *helpers), tuple(workers), pairs)


def slot_of(engine: int) -> str | None:
    """Return which of the games at a time an engine plays in, None for a process that is
    still being started."""
    try:
        words = Path(f"/proc/{engine}/environ").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return None
    variables = dict(word.partition("=")[::2] for word in words)
    return variables.get("RINGMASTER_SLOT", "") if "RINGMASTER_RUN" in variables else None


def bare_now(main: int) -> Family:
    engines = children(main)
    return Family((main,), (main,), tuple(zip(engines[::2], engines[1::2], strict=False)))


# Measuring


@dataclass(frozen=True)
class Window:
    began: int
    ended: int
    family: Family
    ran: int
    waited: int
    load: float
    stopped: float


def observe(
    process: subprocess.Popen[bytes], slots: int, look: Callable[[int], Family], seconds: float
) -> tuple[float, Window, list[tuple[float, float]]]:
    """Follow a run until its end; returns the seconds until the first engine was there,
    what was seen while all games were played, and the memory of each own process."""
    began, started = time.monotonic(), 0.0
    while True:
        family = look(process.pid)
        if not started and any(children(parent) for parent in family.parents):
            started = time.monotonic() - began
        if len(family.pairs) == slots:
            break
        if process.poll() is not None:
            raise RuntimeError(f"it ended with status {process.returncode} before all games began")
        time.sleep(0.005)
    # the first moves are not like the others: modules, caches and pages are new
    time.sleep(seconds)
    held = [memory(pid) for pid in family.own]
    before = [scheduled(pid) for pid in family.own]
    opened = time.monotonic_ns()
    time.sleep(seconds)
    closed = time.monotonic_ns()
    after = [scheduled(pid) for pid in family.own]
    load = os.getloadavg()[0]
    ran, waited = (sum(y[i] - x[i] for x, y in zip(before, after, strict=True)) for i in (0, 1))
    stopped = end(process, family)
    return started, Window(opened, closed, family, ran, waited, load, stopped), held


def end(process: subprocess.Popen[bytes], family: Family) -> float:
    """Ask for the end of a run as Ctrl-C does; returns the seconds until all its
    processes were gone."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait()
    left = [*family.own, *(pid for pair in family.pairs for pid in pair)]
    while left:
        left = [pid for pid in left if Path(f"/proc/{pid}").exists()]
        if time.monotonic() - began > 60:
            raise RuntimeError(f"{len(left)} processes are left")
        time.sleep(0.005)
    return time.monotonic() - began


def turns(pair: tuple[int, int], times: Path) -> list[tuple[int, int, int]]:
    """Return the moves of a pair of engines as (go read, answer written, engine)."""
    found = []
    for pid in pair:
        try:
            lines = Path(f"{times}.{pid}").read_text().splitlines()
        except OSError:
            return []  # it had to be killed
        found += [(*map(int, line.split()), pid) for line in lines]
    return sorted(found)  # type: ignore[arg-type]


def evaluate(
    began: int,
    started: float,
    window: Window,
    held: list[tuple[float, float]],
    times: Path,
    plies: int,
    pause: float,
    losses: int,
) -> Figures:
    late: dict[int, list[float]] = {}
    moves, asked = 0, 0
    played = [found for pair in window.family.pairs if (found := turns(pair, times))]
    for found in played:
        asked = max(asked, found[0][0])
        moves += sum(window.began <= answer < window.ended for _, answer, _ in found)
        for number, (one, other) in enumerate(pairwise(found), 1):
            if number % plies and window.began <= other[0] < window.ended:
                late.setdefault(other[2], []).append((other[0] - one[1]) / 1e6)
    everything = [each for engine in late.values() for each in engine]
    seconds = (window.ended - window.began) / 1e9
    own = dict(zip(window.family.own, held, strict=True))
    helpers = [own[pid][0] for pid in window.family.others]
    return Figures(
        started=started,
        asked=(asked - began) / 1e9,
        stopped=window.stopped,
        share=moves / seconds * pause / len(played),
        late_median=statistics.median(everything),
        late_99=percentile(everything, 0.99),
        late_worst=max(statistics.median(engine) for engine in late.values()),
        cpu=window.ran / moves / 1e3,
        waiting=window.waited / moves / 1e3,
        losses=losses,
        main_mb=helpers[0],
        nursery_mb=max(helpers[1:], default=0.0),
        worker_mb=statistics.median(own[pid][0] for pid in window.family.parents),
        all_mb=sum(pss for _, pss in held),
        load=window.load,
    )


class Bench:
    """Runs of `slots` games at a time with the same engines, in a folder of its own."""

    def __init__(self, folder: Path, think: Sequence[str], seconds: float, plies: int) -> None:
        self._folder = folder
        self._engine = instant.build("instant", folder)
        self._loop = instant.build("sleepers", folder)
        self._script = instant.script("chess", folder)
        self._think = think
        self._pause = float(think[1]) / 1e3
        self._seconds = seconds
        self._plies = plies
        self._runs = 0

    def _new(self) -> tuple[Path, tuple[str, ...]]:
        self._runs += 1
        times = self._folder / str(self._runs) / "times"
        times.parent.mkdir()
        flags = (*self._think, "--times", str(times))
        return times, instant.command(self._engine, self._script, *flags)

    def ours(self, slots: int) -> Figures:
        times, command = self._new()
        control = times.parent / "many.ctl"
        control.write_text(CONTROL.format(command=list(command), games=GAMES))
        words = [sys.executable, "-m", "ringmaster", str(control), "run", "-q", "-j", str(slots)]
        return self._follow(words, slots, ours_now, times, lambda: losses_of(control))

    def bare(self, slots: int) -> Figures:
        times, command = self._new()
        words = [str(self._loop), str(slots), str(GAMES), str(self._plies), *command]
        return self._follow(words, slots, bare_now, times, lambda: 0)

    def _follow(
        self,
        words: Sequence[str],
        slots: int,
        look: Callable[[int], Family],
        times: Path,
        losses: Callable[[], int],
    ) -> Figures:
        began = time.monotonic_ns()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            started, window, held = observe(process, slots, look, self._seconds)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        return evaluate(began, started, window, held, times, self._plies, self._pause, losses())


def losses_of(control: Path) -> int:
    """Return how many games have ended otherwise than they should."""
    with sqlite3.connect(control.with_suffix(".status")) as status:
        (count,) = status.execute(
            "SELECT count(*) FROM results WHERE forfeit OR outcome = 'void'"
        ).fetchone()
    return int(count)


def draw(rows: Sequence[tuple[str, int, Figures]], file: str) -> None:
    """Draw the cost of a ply and how late engines are served, by games at a time."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name in dict.fromkeys(name for name, _, _ in rows):
        mine = [(slots, each) for each_name, slots, each in rows if each_name == name]
        at = [slots for slots, _ in mine]
        left.plot(at, [each.cpu for _, each in mine], "o-", label=name)
        right.plot(at, [each.late_median for _, each in mine], "o-", label=f"{name}, median")
        right.plot(at, [each.late_99 for _, each in mine], "o:", label=f"{name}, 99 %")
    right.axhline(2.0, color="grey", linewidth=0.8)
    left.set(ylabel="own CPU, µs a ply", ylim=(0, None))
    right.set(ylabel="from an answer to the next engine's `go`, ms", yscale="log")
    for axes in (left, right):
        axes.set(xlabel="games at a time", xscale="log")
        axes.set_xticks(sorted({slots for _, slots, _ in rows}))
        axes.get_xaxis().set_major_formatter("{x:.0f}")
        axes.minorticks_off()
        axes.legend(fontsize="small")
    figure.savefig(file, dpi=120)


HEADERS = {
    "started": "start s",
    "asked": "playing s",
    "stopped": "end s",
    "share": "of ideal",
    "late_median": "late ms",
    "late_worst": "worst",
    "late_99": "99 %",
    "cpu": "µs a ply",
    "waiting": "waiting",
    "losses": "losses",
    "main_mb": "main MB",
    "nursery_mb": "nursery",
    "worker_mb": "worker",
    "all_mb": "all MB",
    "load": "load",
}


def measured(bench: Bench, slots: Sequence[int]) -> Iterator[tuple[str, int, Figures]]:
    for number in slots:
        yield "bare C loop", number, bench.bare(number)
        yield "ringmaster", number, bench.ours(number)


def main() -> None:
    parser = argparse.ArgumentParser(description="many games at a time")
    parser.add_argument("--slots", default="1,2,4,16,64,128,256")
    parser.add_argument("--think", default="--sleep 10", help="how engines take their time")
    parser.add_argument("--seconds", type=float, default=3.0, help="of play that are watched")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short", action="store_true", help="two small runs, for CI")
    arguments = parser.parse_args()
    if arguments.short:
        arguments.slots, arguments.seconds = "1,8", 0.3
    slots = [int(word) for word in arguments.slots.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), shlex.split(arguments.think), arguments.seconds, plies=200)
        for row in measured(bench, slots):
            rows.append(row)
            if not arguments.json:
                name, number, figures = row
                values = "  ".join(f"{HEADERS[k]} {v:.4g}" for k, v in asdict(figures).items())
                print(f"{number} at a time, {name}: {values}", flush=True)
    if arguments.json:
        print(json.dumps([{"who": n, "slots": s, **asdict(f)} for n, s, f in rows], indent=2))
    if arguments.plot:
        draw(rows, arguments.plot)


if __name__ == "__main__":
    main()
