"""How long the program takes to start: `--version`, `show` of every competition type,
before any game and after some, and `run` until its first game is recorded.

    python benchmarks/start.py [--rounds 11] [--games 40] [--short] [--json]

Machines are noisy, so that each round starts the same interpreter with nothing to do, and
once more to import NumPy; what is told is the median of CPU time and of wall time, and the
first as a multiple of what doing nothing took.  Byte code is written once, as an installed
package has it (PYTHONDONTWRITEBYTECODE would have every start compile the program anew).

The events are those of the tests, with engines in Python whose games take five to nine
plies; `run` includes the start of two of them, and the checks of all players.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import ringmaster  # noqa: E402
from tests.events import environment, write_event  # noqa: E402
from tests.test_start import SOURCES  # noqa: E402

NOTHING = "python -c pass"


def timed(command: list[str]) -> tuple[float, float]:
    """Run a command to its end; returns its CPU and wall seconds."""
    environ = environment()
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environ
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, seconds


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ringmaster", *arguments]


def first_game(folder: Path, source: str, number: list[int]) -> tuple[float, float]:
    """Play one job of a new event."""
    number[0] += 1
    control = write_event(folder / str(number[0]), source, 200)
    return timed(program(str(control), "run", "-g", "1", "-j", "1"))


def measures(folder: Path, games: int) -> dict[str, Callable[[], tuple[float, float]]]:
    """Return what is measured, by name; plays the games that are needed for that."""
    found: dict[str, Callable[[], tuple[float, float]]] = {
        NOTHING: partial(timed, [sys.executable, "-c", "pass"]),
        "import numpy": partial(timed, [sys.executable, "-c", "import numpy"]),
        "--version": partial(timed, program("--version")),
    }
    for kind, source in SOURCES.items():
        fresh = write_event(folder / f"{kind}-fresh", source, 200)
        played = write_event(folder / f"{kind}-played", source, 200)
        timed(program(str(played), "run", "-g", str(games), "-j", "2"))
        found[f"{kind}: show, nothing played"] = partial(timed, program(str(fresh), "show"))
        found[f"{kind}: show, {games} games"] = partial(timed, program(str(played), "show"))
        found[f"{kind}: run, one game"] = partial(first_game, folder / f"{kind}-run", source, [0])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--short", action="store_true", help="three rounds")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rounds = 3 if arguments.short else arguments.rounds
    compileall.compile_dir(str(Path(ringmaster.__file__).parent), quiet=1)
    with tempfile.TemporaryDirectory() as name:
        todo = measures(Path(name), arguments.games)
        times: dict[str, list[tuple[float, float]]] = {key: [] for key in todo}
        for number in range(rounds):
            for key in todo if number % 2 == 0 else reversed(todo):
                times[key].append(todo[key]())
    medians = {
        key: tuple(statistics.median(each) for each in zip(*all_of, strict=True))
        for key, all_of in times.items()
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
