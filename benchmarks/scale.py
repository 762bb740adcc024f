"""Measure competitions with 1,000 to 1,000,000 recorded games of every competition type.

The costs are of `show`, a resumed run, recording one more game, memory, and disk.

    python benchmarks/scale.py [--types playoff,spsa] [--most 1000000] [--records]
        [--folder /tmp] [--plot scale.png] [--json] [--short]

The results are invented (`invented.py`).  Each figure is of a fresh process.  `resume` is from
the command to the first job, minus the same for a competition without games.  Times are
by the clock and in CPU, the fastest of three, since other programs may be at work.  Recording is
CPU of ringmaster's loop a game: the median of five slices of 2,000 games, alternating with a
competition of 1,000 games.  The ratio is of these two.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

#: Names of types.  They are not imported: a child's peak memory is at least its parent's, so
#: this program must not import the package.
TYPES = ("playoff", "allplayall", "gauntlet", "swiss", "mc_tuner", "ce_tuner", "spsa")
#: Games of the smallest competition, the base of the ratios.
FEW = 1000
#: Games of a competition beyond the recorded ones.
_ROOM = 100_000


class Effort(NamedTuple):
    """The size of the measurement.

    most     games of the largest competition
    repeats  processes for `show` and for `resume`
    slice    games in a slice
    slices   of each competition
    """

    most: int
    repeats: int = 3
    slice: int = 2000
    slices: int = 5


class Figures(NamedTuple):
    """Figures of one competition: seconds, bytes, CPU seconds a game."""

    type: str
    games: int
    show: float
    show_cpu: float
    show_memory: int
    resume: float
    resume_cpu: float
    resume_memory: int
    cpu_a_game: float
    ratio: float
    bytes_a_game: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--types", metavar="NAME,NAME")
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--records", action="store_true", help="with game records")
    parser.add_argument("--folder", type=Path, help="for the competitions (~400 MB)")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short", action="store_true", help="1,000 games of one type")
    arguments = parser.parse_args()
    effort = Effort(arguments.most)
    types: tuple[str, ...] = TYPES
    if arguments.short:
        effort, types = Effort(FEW, repeats=1, slice=200, slices=1), ("playoff",)
    if arguments.types:
        types = tuple(arguments.types.split(","))
    rows: list[Figures] = []
    for type_name in types:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            rows += measure(Path(folder), type_name, effort, records=arguments.records)
    if arguments.json:
        print(json.dumps([row._asdict() for row in rows], indent=2))
    else:
        show_table(rows)
    if arguments.plot:
        plot(rows, arguments.plot)


def measure(folder: Path, type_name: str, effort: Effort, *, records: bool) -> list[Figures]:
    """Return the figures of one type at 1,000, 10,000, … games."""
    few, many, none = folder / "few", folder / "many", folder / "none"
    for each in (few, many, none):
        each.mkdir()
        _child("write", each, type_name, effort.most + _ROOM, int(records))
    _child("fill", few, FEW)
    repeats = range(effort.repeats)
    fresh = fastest([_resume(none) for _ in repeats])
    rows = []
    games = FEW
    while games <= effort.most:
        _child("fill", many, games)
        size = (many / "tune.status").stat().st_size
        show = fastest([_command(many) for _ in repeats])
        resume = fastest([_resume(many) for _ in repeats])
        cpu = json.loads(_child("slices", few, many, effort.slice, effort.slices).output)
        rows.append(
            Figures(
                type_name,
                games,
                show.seconds,
                show.cpu,
                show.memory,
                resume.seconds - fresh.seconds,
                resume.cpu - fresh.cpu,
                resume.memory,
                cpu[1],
                cpu[1] / cpu[0],
                size / games,
            )
        )
        games *= 10
    return rows


class Measured(NamedTuple):
    """Seconds by the clock, CPU seconds, peak memory in bytes, and output of a process."""

    seconds: float
    cpu: float
    memory: int
    output: str


def fastest(processes: list[Measured]) -> Measured:
    """Return the least times and the most memory."""
    return Measured(
        min(each.seconds for each in processes),
        min(each.cpu for each in processes),
        max(each.memory for each in processes),
        "",
    )


def _command(folder: Path) -> Measured:
    return _run([sys.executable, "-m", "ringmaster", str(folder / "tune.ctl"), "show"])


def _resume(folder: Path) -> Measured:
    began = time.monotonic()
    process = _child("resume", folder)
    first_job, cpu = map(float, process.output.split())
    return process._replace(seconds=first_job - began, cpu=cpu)


def _child(*words: object) -> Measured:
    return _run([sys.executable, str(Path(__file__).with_name("invented.py")), *map(str, words)])


def _run(command: list[str]) -> Measured:
    began = time.monotonic()
    # its warnings are always the same
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(seconds, cpu, usage.ru_maxrss * 1024, output)


def show_table(rows: list[Figures]) -> None:
    """Print one line a competition."""
    costs = ("show s", "CPU", "MB", "resume s", "CPU", "MB", "us a game", "ratio", "bytes")
    form = "{:<11}{:>9}{:>8}{:>6}{:>6}{:>10}{:>6}{:>6}{:>11}{:>7}{:>7}"
    print(form.format("type", "games", *costs))
    for row in rows:
        print(
            form.format(
                row.type,
                row.games,
                f"{row.show:.2f}",
                f"{row.show_cpu:.2f}",
                f"{row.show_memory / 1e6:.0f}",
                f"{row.resume:.2f}",
                f"{row.resume_cpu:.2f}",
                f"{row.resume_memory / 1e6:.0f}",
                f"{row.cpu_a_game * 1e6:.0f}",
                f"{row.ratio:.2f}",
                f"{row.bytes_a_game:.0f}",
            )
        )


def plot(rows: list[Figures], path: Path) -> None:
    """Draw the costs over the number of games: of the slowest type, and the median of recording."""
    from matplotlib.figure import Figure

    numbers = sorted({row.games for row in rows})
    by_games: dict[int, list[Figures]] = {n: [r for r in rows if r.games == n] for n in numbers}
    series: list[tuple[str, str, list[float]]] = [
        ("show, slowest type", "o-", [max(r.show_cpu for r in by_games[n]) for n in numbers]),
        (
            "resume beyond a fresh start, slowest type",
            "s--",
            [max(max(r.resume_cpu, 1e-3) for r in by_games[n]) for n in numbers],
        ),
        (
            "1,000 games recorded, slowest type",
            "^:",
            [1000 * max(r.cpu_a_game for r in by_games[n]) for n in numbers],
        ),
        (
            "1,000 games recorded, median type",
            "v-.",
            [1000 * statistics.median(r.cpu_a_game for r in by_games[n]) for n in numbers],
        ),
    ]
    figure = Figure(figsize=(7, 4.5), dpi=120)
    axes: Any = figure.add_subplot()
    for (label, style, values), grey in zip(series, ("0", "0.35", "0", "0.35"), strict=True):
        axes.loglog(numbers, values, style, label=label, color=grey)
    axes.set_xlabel("recorded games")
    axes.set_ylabel("CPU seconds")
    axes.grid(True, which="major", linewidth=0.4)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    main()
