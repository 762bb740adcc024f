"""Play 1,000,000 games in one run; watch its speed, memory and open files; then read the results.

    python benchmarks/million.py [--type playoff] [--games 1000000] [--parallel 2] [--every 5]
        [--records] [--short]

The engines (`c/instant.c`, needs a C compiler) play a game of four plies at once: a `playoff` of
two players, or an `spsa` tune of twelve parameters.  The program samples the CPU time and
the resident memory of the main process, the memory of its workers and other helpers, and open
descriptors from /proc, over the number of recorded games.  They are flat if the last half of the
run has no more than 5 % and 1 MB beyond the first half's most, and the last quarter does not
always have more descriptors.  Below the curve stand the main process's CPU time a game in the
first and in the last quarter, and time, CPU and memory of `show` and `report` afterwards.
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import instant
import psutil
from common import measured

ROOT = Path(__file__).parent.parent

COMMON = """
game = "chess"
def instant():
    return Player({command!r}, nodes=1)
players = {{"a": instant(), "b": instant()}}
openings = Openings("book.epd")
record_games = {records}
skip_player_checks = True
number_of_games = {games}
"""
CONTROL_FILES = {
    "playoff": 'competition_type = "playoff"' + COMMON + 'matchups = [Matchup("a", "b")]\n',
    "spsa": 'competition_type = "spsa"'
    + COMMON
    + """player = "a"
parameters = [
    Parameter(f"Weight{{i}}", start=100, min=0, max=200, integer=True) for i in range(12)
]
""",
}
#: A start position whose game is the usual one's.
BOOK = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n"


class Sample(NamedTuple):
    """CPU seconds and bytes of resident memory, and numbers of descriptors, of a run.

    cpu, main       of the main process
    workers, other  sums over the workers, and over fork server and reaper
    """

    seconds: float
    games: int
    cpu: float
    main: int
    workers: int
    other: int
    main_files: int
    worker_files: int
    processes: int


def main() -> int:
    """Print the curve; return 1 if it is not flat or the run failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--type", choices=CONTROL_FILES, default="playoff")
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--every", type=float, default=5, help="seconds between samples")
    parser.add_argument("--records", action="store_true", help="with game records")
    parser.add_argument("--short", action="store_true", help="2,000 games")
    arguments = parser.parse_args()
    if instant.compiler() is None:
        parser.exit(0, "skipped: there is no C compiler\n")
    games, every = (2000, 0.1) if arguments.short else (arguments.games, arguments.every)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        control = write(folder, arguments.type, games, records=arguments.records)
        samples = list(watch(control, arguments.parallel, every))
        size = control.with_suffix(".status").stat().st_size
        reading = [read(control, verb) for verb in ("show", "report")]
        page = control.with_suffix(".html").stat().st_size
    show(samples)
    first, last = samples[0], samples[-1]
    # a short run has not filled its caches yet
    growing = [] if arguments.short else grown(samples)
    speed = (last.games - first.games) / (last.seconds - first.seconds)
    quarters = " and ".join(f"{cost * 1e6:.0f}" for cost in cpu_a_game(samples))
    lines = [
        f"main process: {quarters} µs of CPU a game in the first and in the last quarter",
        *reading,
        f"page: {page / 1e6:.1f} MB",
        f"{last.games:,} games in {last.seconds:.0f} s ({speed:,.0f}/s), status file "
        f"{size / 1e6:.0f} MB, {'flat' if not growing else 'growing: ' + ', '.join(growing)}",
    ]
    print("\n".join(lines))
    return 1 if growing or last.games != games else 0


def write(folder: Path, type_name: str, games: int, *, records: bool) -> Path:
    """Write the control file of instant engines."""
    engine = instant.build("instant", folder)
    command = instant.command(engine, instant.script("chess4", folder))
    (folder / "book.epd").write_text(BOOK)
    control = folder / "million.ctl"
    source = CONTROL_FILES[type_name]
    control.write_text(source.format(command=list(command), games=games, records=records))
    return control


def read(control: Path, verb: str) -> str:
    """Measure a verb after the run; return a line of figures."""
    cost = measured([sys.executable, "-m", "ringmaster", str(control), verb])
    memory = cost.memory / 1e6
    return f"{verb}: {cost.seconds:.2f} s, {cost.cpu:.2f} s of CPU, {memory:.0f} MB"


def watch(control: Path, parallel: int, every: float) -> Iterator[Sample]:
    """Run a competition, and yield samples until its end.

    The last one has the final number of games and the figures of the one before.  Raises
    SystemExit if the run fails.
    """
    begun = time.monotonic()
    log = control.with_suffix(".err")
    with log.open("wb") as errors:
        run = subprocess.Popen(
            [sys.executable, "-m", "ringmaster", str(control), "run", "-q", "-j", str(parallel)],
            stdin=subprocess.DEVNULL,
            stderr=errors,
            cwd=ROOT,
        )
    latest = None
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                run.wait(every)
                break
            with suppress(psutil.Error, sqlite3.Error):
                latest = sample(control, run.pid, begun)
                if latest.games:
                    yield latest
    finally:
        if run.poll() is None:
            run.terminate()
            run.wait()
    if run.returncode or latest is None:
        raise SystemExit(f"the run ended with status {run.returncode}: {log.read_text()}")
    yield latest._replace(seconds=time.monotonic() - begun, games=count(control))


def sample(control: Path, pid: int, begun: float) -> Sample:
    """Return a sample of a run."""
    run = psutil.Process(pid)
    helpers = run.children()
    workers = [worker for helper in helpers for worker in helper.children()]
    times = run.cpu_times()
    return Sample(
        time.monotonic() - begun,
        count(control),
        times.user + times.system,
        run.memory_info().rss,
        sum(worker.memory_info().rss for worker in workers),
        sum(helper.memory_info().rss for helper in helpers),
        run.num_fds(),
        sum(worker.num_fds() for worker in workers),
        1 + len(run.children(recursive=True)),
    )


def count(control: Path) -> int:
    """Return the number of recorded games."""
    status = control.with_suffix(".status")
    with closing(sqlite3.connect(f"file:{status}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT completed FROM counts").fetchone()[0])


def cpu_a_game(samples: Sequence[Sample]) -> tuple[float, float]:
    """Return the main process's CPU seconds a game in the first and in the last quarter."""
    # the last sample has the CPU time of the one before
    sampled = samples[:-1]
    quarter = max(1, len(sampled) // 4)
    first, last = (sampled[0], sampled[quarter]), (sampled[-1 - quarter], sampled[-1])
    before, after = (
        (end.cpu - begin.cpu) / max(1, end.games - begin.games) for begin, end in (first, last)
    )
    return before, after


def grown(samples: Sequence[Sample]) -> list[str]:
    """Return the figures that grow in the second half of a run."""
    half = samples[-1].games / 2
    early = [each for each in samples if each.games <= half] or [samples[0]]
    late = [each for each in samples if each.games > half]
    # files are open for a moment, so their least number counts
    last = [each for each in samples if each.games > 1.5 * half]
    names = []
    for name in ("main", "workers", "other", "main_files", "worker_files", "processes"):
        before = max(getattr(each, name) for each in early)
        if name.endswith("files") or name == "processes":
            most, after = before, min(getattr(each, name) for each in last)
        else:
            most, after = before * 1.05 + 1e6, max(getattr(each, name) for each in late)
        if after > most:
            names.append(f"{name} from {before:,} to {after:,}")
    return names


def show(samples: Sequence[Sample]) -> None:
    """Print about thirty lines of the curve."""
    form = "{:>7}{:>11}{:>10}{:>12}{:>10}{:>7}{:>13}{:>11}"
    print(
        form.format(
            "s", "games", "main MB", "workers MB", "other MB", "files", "their files", "processes"
        )
    )
    for each in samples[:: max(1, len(samples) // 30)]:
        memory = [f"{size / 1e6:.1f}" for size in (each.main, each.workers, each.other)]
        files = (each.main_files, each.worker_files, each.processes)
        print(form.format(f"{each.seconds:.0f}", f"{each.games:,}", *memory, *files))


if __name__ == "__main__":
    sys.exit(main())
