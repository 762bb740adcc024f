"""Measure the cost of an SPSA iteration: two instant games on kept engines, with all records.

The comparison is a new match runner for each iteration, as in weather-factory.

    python benchmarks/spsa_iterations.py [--fastchess PATH] [--rounds 5] [--short] [--json]

The whole program, `ringmaster tune.ctl run -j 2`, tunes 2 and 12 options of an engine that
answers at once, in games of 4 plies (fool's mate) and of 40, without and with game records.
A run of few iterations is subtracted from one of many, which excludes start and end.  The
match runner gets the same engine, `-rounds 1 -games 2`, the options of both sides and two
games at a time; the score is read from its output.

The sleep of a match runner at its start or end (fastchess: about a second) counts in iterations a
second, but not in CPU.

own CPU  of ringmaster's processes without engines, µs a game; `main`: of the main process;
         `all`: including engines
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import instant
import meter
from common import Row, alternate, empty_folder, show_rows

TUNE = """
competition_type = "spsa"
game = "chess"
players = {{"engine": Player({command!r}, protocol="uci", nodes=1)}}
player = "engine"
parameters = [
    Parameter(f"Weight{{i}}", start=100, min=0, max=200, integer=True) for i in range({count})
]
number_of_games = {games}
record_games = {records}
"""

_SCORE = re.compile(rb"Games: 2, Wins: (\d+), Losses: (\d+), Draws: (\d+)")
SLOTS = 2


class Work(NamedTuple):
    """A kind of tune: `count` parameters, `plies` a game, whether games are recorded."""

    count: int
    plies: int
    records: bool

    def __str__(self) -> str:
        records = ", records" if self.records else ""
        return f"{self.count} parameters, {self.plies} plies{records}"


def ringmaster(control: Path, *words: str) -> meter.Cost:
    """Run a competition from its beginning."""
    for old in control.parent.glob(f"{control.stem}.*"):
        if old.is_file() and old != control:
            old.unlink()
    command = [sys.executable, "-m", "ringmaster", str(control), "run", "-q", *words]
    return meter.run(command, ["instant"], log=control.parent / "output")


def tune(folder: Path, engine: Path, work: Work, iterations: int) -> dict[str, float]:
    """Return iterations a second and µs of CPU a game, without start and end."""
    script = instant.script(f"chess{work.plies}", folder)
    words = " ".join(instant.command(engine, script))
    costs = []
    for number in (iterations // 10, iterations):
        control = empty_folder() / "tune.ctl"
        text = TUNE.format(command=words, count=work.count, games=2 * number, records=work.records)
        control.write_text(text)
        costs.append(ringmaster(control, "-j", str(SLOTS)))
    few, many = costs
    played = iterations - iterations // 10
    return {
        "iterations/s": played / (many.seconds - few.seconds),
        "main": (many.main - few.main) / played / 2 * 1e6,
        "own": (many.cpu - few.cpu) / played / 2 * 1e6,
        "all": (many.all_cpu - few.all_cpu) / played / 2 * 1e6,
    }


def match_runner(
    folder: Path, runner: Path, engine: Path, work: Work, iterations: int
) -> dict[str, float]:
    """Measure a new fastchess for each iteration, like weather-factory."""
    script = instant.script(f"chess{work.plies}", folder)
    program, *arguments = instant.command(engine, script)
    place = folder / "runner"
    place.mkdir(exist_ok=True)

    def iterate(number: int) -> None:
        words = [str(runner)]
        for name, step in (("plus", 1 + number % 7), ("minus", -1 - number % 7)):
            words += ["-engine", f"name={name}", f"cmd={program}", f"args={' '.join(arguments)}"]
            words += [f"option.Weight{i}={100 + step}" for i in range(work.count)]
        words += ["-each", "proto=uci", "nodes=1", "-rounds", "1", "-games", "2", "-repeat"]
        words += ["-concurrency", str(SLOTS)]
        if work.records:
            words += ["-pgnout", "file=games.pgn"]
        output = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, check=True).stdout
        score = _SCORE.search(output)
        if score is None or sum(map(int, score.groups())) != 2:
            raise RuntimeError(f"{runner.name} did not play two games: {output!r}")

    began, before = time.perf_counter(), os.times()
    for number in range(iterations):
        iterate(number)
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return {
        "iterations/s": iterations / (time.perf_counter() - began),
        "all": cpu / iterations / 2 * 1e6,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--fastchess", type=Path, metavar="PATH")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=5000)
    parser.add_argument("--peer-iterations", type=int, default=30)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    kinds = [Work(2, 4, False), Work(12, 4, False), Work(12, 4, True), Work(12, 40, False)]
    if arguments.short:
        kinds = kinds[2:3]
        arguments.rounds, arguments.iterations, arguments.peer_iterations = 1, 200, 2
    rows, notes = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = instant.build("instant", folder)
        for work in kinds:
            measures = {"ours": lambda work=work: tune(folder, engine, work, arguments.iterations)}
            if arguments.fastchess is not None:
                measures["fastchess"] = lambda work=work: match_runner(
                    folder, arguments.fastchess.resolve(), engine, work, arguments.peer_iterations
                )
            figures = alternate(measures, arguments.rounds)
            ours = figures.pop("ours")
            rows.append(Row(str(work), "iterations/s", "goal", 1000, ours["iterations/s"], ">= 1"))
            for peer, theirs in figures.items():
                for key, unit in (("iterations/s",) * 2, ("all", "µs CPU a game, all")):
                    rows.append(Row(str(work), unit, peer, theirs[key], ours[key]))
            for part in ("main", "own", "all"):
                rows.append(Row(str(work), f"µs CPU a game, {part}", "goal", 1000, ours[part]))
    if arguments.fastchess is None:
        notes.append("skipped: fastchess (no --fastchess)")
    show_rows(rows, notes, as_json=arguments.json)


if __name__ == "__main__":
    main()
