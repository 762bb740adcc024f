"""Kill processes of competitions of every type at random moments, run again, and check the end.

    python benchmarks/kills.py [--rounds 500] [--seed 1] [--types playoff,spsa] [--folder DIR]
        [--short]

Each round sends SIGKILL to one victim: the main process, a worker, the fork server, the reaper,
an engine, or all processes at once.  A run that has ended is started again, until its
competition is complete.  Then no game is recorded twice or missing, no process is left, and
the results are those of an uninterrupted competition: with one game at a time for every type,
with two for types whose games do not depend on earlier results.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.reliability.killing import (  # noqa: E402
    TYPES,
    VICTIMS,
    Tally,
    kill_rounds,
    uninterrupted,
)


def main() -> int:
    """Print tables of the rounds; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", metavar="NAME,NAME", default=",".join(TYPES))
    parser.add_argument("--folder", type=Path, help="for the competitions, which are kept")
    parser.add_argument("--short", action="store_true", help="six rounds of one type")
    arguments = parser.parse_args()
    types, rounds = arguments.types.split(","), arguments.rounds
    if arguments.short:
        types, rounds = ["playoff"], len(VICTIMS)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.folder or Path(name)
        tally = kill_all(folder, types, rounds, arguments.seed)
    for line in report(tally, types):
        print(line)
    print(
        f"{tally.rounds.total()} rounds, {tally.competitions.total()} competitions with "
        f"{tally.games:,} games, {time.monotonic() - begun:.0f} s: {len(tally.problems)} problems"
    )
    for problem in tally.problems:
        print(problem)
    return 1 if tally.problems else 0


def kill_all(folder: Path, types: list[str], rounds: int, seed: int) -> Tally:
    """Kill at least so many times in competitions of these types, in turn."""
    rng = random.Random(seed)
    tally = Tally()
    wholes = {name: uninterrupted(folder / f"whole-{name}", name) for name in types}
    number = 0
    while tally.rounds.total() < rounds:
        type_name = types[number % len(types)]
        # one at a time in the first lap, two in the second
        parallel = 1 + number // len(types) % 2
        victims = rng.sample(VICTIMS, len(VICTIMS))
        place = folder / f"{seed}-{number}"
        kill_rounds(place, wholes[type_name], type_name, parallel, victims, tally)
        number += 1
    return tally


def report(tally: Tally, types: list[str]) -> Iterator[str]:
    """Yield the lines of two tables: rounds by type and victim, ends of runs by last victim."""
    form = "{:<13}" + "{:>12}" * (len(VICTIMS) + 1)
    yield form.format("rounds", *VICTIMS, "completed")
    for type_name in types:
        counts = [tally.rounds[type_name, victim] for victim in VICTIMS]
        yield form.format(type_name, *counts, tally.competitions[type_name])
    yield form.format("", *[sum(tally.rounds[t, v] for t in types) for v in VICTIMS], "")
    yield ""
    yield "runs by last victim and exit status (-9: killed)"
    for victim in (*VICTIMS, "nobody"):
        statuses = sorted(status for each, status in tally.endings if each == victim)
        ends = ", ".join(f"{tally.endings[victim, status]} x {status}" for status in statuses)
        yield f"{victim:<13} {ends}"
    yield ""


if __name__ == "__main__":
    sys.exit(main())
