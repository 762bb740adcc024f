"""Imitate a loss of power at every write of a run's store, and run on.

    python benchmarks/power_loss.py [--games 40] [--every 11] [--short]

A run is killed, and its database is put back as the disk may have it after a loss of power:
the `-wal` is cut at each boundary of a frame, cut inside the next frame, and followed by zeros
or by garbage; a checkpoint is cut after each page.  Each state is read: it has the first
results of the run.  Every eleventh is run on, and ends with the results of an uninterrupted run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from ringmaster.errors import RingmasterError  # noqa: E402
from ringmaster.storage.store import Store  # noqa: E402
from tests.program import PLAYOFF, ringmaster, write_control_file  # noqa: E402
from tests.reliability.killing import results  # noqa: E402
from tests.reliability.power import Crashed, Cut  # noqa: E402


def main() -> int:
    """Print the numbers of states by kind; return 1 if one is not as promised."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--games", type=int, default=40, help="of each matchup")
    parser.add_argument("--every", type=int, default=11, help="run on from every N-th state")
    parser.add_argument("--short", action="store_true", help="one game of each matchup")
    arguments = parser.parse_args()
    games, every = arguments.games, arguments.every
    if arguments.short:
        games, every = 1, 200
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = write_control_file(folder / "whole", PLAYOFF, games)
        if ringmaster(whole, "-q").returncode:
            raise SystemExit("the uninterrupted run failed")
        crashed = Crashed(folder / "killed", games)
        expected = results(whole)
        ids = [row[0] for row in expected]
        states, runs = Counter[str](), Counter[str]()
        problems: list[str] = []
        for number, cut in enumerate(crashed.cuts()):
            states[cut.kind] += 1
            control = crashed.copy(folder / "cut") if number == 0 else folder / "cut/event.ctl"
            problems += read(cut, control.with_suffix(".status"), ids)
            if number % every == 0:
                runs[cut.kind] += 1
                problems += run_on(crashed, cut, folder / f"run{number}", expected)
    print(f"{crashed.frames} frames of {crashed.page} bytes")
    print(f"{'state':<12}{'read':>8}{'run on':>8}")
    for kind in states:
        print(f"{kind:<12}{states[kind]:>8}{runs[kind]:>8}")
    print(f"{states.total()} states, {runs.total()} runs: {len(problems)} problems")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def read(cut: Cut, status: Path, ids: list[str]) -> list[str]:
    """Return the problems of reading a state."""
    cut.write(status)
    try:
        store = Store.open_readonly(status)
        found = [game.result.game_id for game in store.games()]
        store.close()
    except RingmasterError as error:
        return [f"{cut.kind} {cut.frames}: {error}"]
    return [] if found == ids[: len(found)] else [f"{cut.kind} {cut.frames}: other results"]


def run_on(
    crashed: Crashed, cut: Cut, folder: Path, expected: list[tuple[object, ...]]
) -> list[str]:
    """Return the problems of a run from a state."""
    control = crashed.copy(folder)
    cut.write(control.with_suffix(".status"))
    done = ringmaster(control, "-q", "-j", "1")
    if done.returncode:
        return [f"{cut.kind} {cut.frames}: exit status {done.returncode}: {done.stderr}"]
    if results(control) != expected:
        return [f"{cut.kind} {cut.frames}: other results at the end"]
    return []


if __name__ == "__main__":
    sys.exit(main())
