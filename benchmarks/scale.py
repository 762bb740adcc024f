"""What it costs to have recorded many games: going on with an event, `show`, recording
one game more, memory and disk, with 1,000 to 1,000,000 games of every competition type.

    python benchmarks/scale.py [--types playoff,spsa] [--most 1000000] [--records]
        [--folder /tmp] [--plot scale.png] [--json] [--short]

The results are invented.  Each figure is of a fresh process: `show` as a command;
`resume` from the command to the first game given out, with what the same takes in an
event of no games taken off.  Both are given by the clock and in CPU, the fastest of
three, since other programs may be at work.  Recording is CPU of ringmaster's loop a game,
as the median of five slices of 2,000 games, alternating with an event of 1,000 games; the
ratio is of these two.
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

#: Types by name, without bringing in the program: the memory of a process that is
#: started is never below that of the one which starts it.
TYPES = ("playoff", "allplayall", "gauntlet", "swiss", "mc_tuner", "ce_tuner", "spsa")
#: Games of the smallest event, that others are compared with.
FEW = 1000
#: Games that an event may have beyond those recorded.
_ROOM = 100_000


class Effort(NamedTuple):
    """How much is measured: games of the largest event, processes of which `show` and
    `resume` are the fastest, games in a slice, slices of each event."""

    most: int
    repeats: int = 3
    slice: int = 2000
    slices: int = 5


class Figures(NamedTuple):
    """Of one event: seconds, bytes, CPU seconds a game."""

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
    parser.add_argument("--folder", type=Path, help="where the events are made (~400 MB)")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--short", action="store_true", help="1,000 games of one type")
    arguments = parser.parse_args()
    effort, types = Effort(arguments.most), TYPES
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


class Ran(NamedTuple):
    """Seconds by the clock, CPU seconds, bytes at most, what it printed."""

    seconds: float
    cpu: float
    memory: int
    output: str


def fastest(rans: list[Ran]) -> Ran:
    """Return the least of each figure, but the most memory."""
    return Ran(
        min(each.seconds for each in rans),
        min(each.cpu for each in rans),
        max(each.memory for each in rans),
        "",
    )


def _command(folder: Path) -> Ran:
    return _run([sys.executable, "-m", "ringmaster", str(folder / "tune.ctl"), "show"])


def _resume(folder: Path) -> Ran:
    began = time.monotonic()
    ran = _child("resume", folder)
    moment, cpu = map(float, ran.output.split())
    return ran._replace(seconds=moment - began, cpu=cpu)


def _child(*words: object) -> Ran:
    return _run([sys.executable, str(Path(__file__).with_name("scale_parts.py")), *map(str, words)])


def _run(command: list[str]) -> Ran:
    began = time.monotonic()
    # what it warns of is the same every time
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
    return Ran(seconds, cpu, usage.ru_maxrss * 1024, output)


def show_table(rows: list[Figures]) -> None:
    """Print a line an event."""
    head = ("type", "games", "show s", "CPU", "MB", "resume s", "CPU", "MB")
    head = (*head, "us a game", "ratio", "bytes")
    form = "{:<11}{:>9}{:>8}{:>6}{:>6}{:>10}{:>6}{:>6}{:>11}{:>7}{:>7}"
    print(form.format(*head))
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
    """Draw cost against number of games: the dearest type at each number, and the
    median one of what is recorded."""
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
            "1,000 games recorded, dearest type",
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
