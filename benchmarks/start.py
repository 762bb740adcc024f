"""Measure the start of the program: `--version`, `show` and the first game of every type.

    python benchmarks/start.py [--rounds 11] [--games 40] [--short] [--json]

Machines are noisy: each round also starts an interpreter without work, and one that imports NumPy.
The table has the medians of CPU and wall time, and the CPU time as a multiple of these two.
Byte code is compiled once, like that of an installed package.

The competitions are those of the tests, with games of five to nine plies.  `run` includes the
start of two engines, and the checks of all players.
"""

from __future__ import annotations

import argparse
import compileall
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from common import measured  # noqa: E402

import ringmaster  # noqa: E402
from tests.program import environment, write_control_file  # noqa: E402
from tests.test_start import SOURCES  # noqa: E402

NOTHING = "python -c pass"


def timed(command: list[str]) -> tuple[float, float]:
    """Run a command to its end; return its CPU and wall seconds."""
    environ = environment()
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    cost = measured(command, environ)
    return cost.cpu, cost.seconds


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ringmaster", *arguments]


def first_game(folder: Path, source: str, number: list[int]) -> tuple[float, float]:
    """Play one game of a new competition."""
    number[0] += 1
    control = write_control_file(folder / str(number[0]), source, 200)
    return timed(program(str(control), "run", "-g", "1", "-j", "1"))


def measures(
    folder: Path, games: int, kinds: Collection[str]
) -> dict[str, Callable[[], tuple[float, float]]]:
    """Return the measurements by name, after the games that they need."""
    measurements: dict[str, Callable[[], tuple[float, float]]] = {
        NOTHING: partial(timed, [sys.executable, "-c", "pass"]),
        "import numpy": partial(timed, [sys.executable, "-c", "import numpy"]),
        "--version": partial(timed, program("--version")),
    }
    for kind in kinds:
        source = SOURCES[kind]
        fresh = write_control_file(folder / f"{kind}-fresh", source, 200)
        played = write_control_file(folder / f"{kind}-played", source, 200)
        timed(program(str(played), "run", "-g", str(games), "-j", "2"))
        measurements[f"{kind}: show, nothing played"] = partial(timed, program(str(fresh), "show"))
        measurements[f"{kind}: show, {games} games"] = partial(timed, program(str(played), "show"))
        measurements[f"{kind}: run, one game"] = partial(
            first_game, folder / f"{kind}-run", source, [0]
        )
    return measurements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--short", action="store_true", help="one round, few games, two types")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rounds, games, kinds = arguments.rounds, arguments.games, list(SOURCES)
    if arguments.short:
        rounds, games, kinds = 1, 4, ["playoff", "spsa"]
    compileall.compile_dir(str(Path(ringmaster.__file__).parent), quiet=1)
    with tempfile.TemporaryDirectory() as name:
        measurements = measures(Path(name), games, kinds)
        times: dict[str, list[tuple[float, float]]] = {key: [] for key in measurements}
        for number in range(rounds):
            for key in measurements if number % 2 == 0 else reversed(measurements):
                times[key].append(measurements[key]())
    medians = {
        key: tuple(statistics.median(each) for each in zip(*pairs, strict=True))
        for key, pairs in times.items()
    }
    nothing, numpy = medians[NOTHING], medians["import numpy"]
    rows = [
        {
            "what": key,
            "cpu": cpu,
            "wall": wall,
            "to nothing": cpu / nothing[0],
            "to NumPy": cpu / numpy[0],
        }
        for key, (cpu, wall) in medians.items()
    ]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'':36}   CPU ms  wall ms  × nothing  × NumPy")
    for row in rows:
        cpu, wall = (1000 * float(row[key]) for key in ("cpu", "wall"))
        print(
            f"{row['what']:36} {cpu:8.0f} {wall:8.0f} {row['to nothing']:10.1f} "
            f"{row['to NumPy']:8.1f}"
        )


if __name__ == "__main__":
    main()
