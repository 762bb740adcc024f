"""Break engines, processes, disks and limits at every moment, and check what a run makes of it.

    python benchmarks/reliability.py faults [--only TEXT]
    python benchmarks/reliability.py kills [--rounds 500] [--seed 1] [--types playoff,spsa]
    python benchmarks/reliability.py power [--games 40] [--every 11]
    python benchmarks/reliability.py limits [--games 20] [--only "file size"]

faults  Engines misbehave in every phase of every protocol (`tests/reliability/fault_matrix.py`).
        Seconds are from the start of the game with the fault to the start of the next one; an
        engine that is silent is waited for 0.4 s there, and 1 s until it is ready.  Processes of
        the engine that are left then, and descriptors that were not closed, are listed.
kills   Each round sends SIGKILL to one victim: the main process, a worker, the fork server, the
        reaper, an engine, or all processes at once.  A run that has ended is started again, until
        its competition is complete.  Then no game is recorded twice or missing, no process is
        left, and the results are those of an uninterrupted competition: with one game at a time
        for every type, with two for types whose games do not depend on earlier results.
power   A run is killed, and its database is put back as the disk may have it after a loss of
        power: the `-wal` is cut at each boundary of a frame, cut inside the next frame, and
        followed by zeros or by garbage; a checkpoint is cut after each page.  Each state is read:
        it has the first results of the run.  Every eleventh is run on, and ends with the results
        of an uninterrupted run.
limits  A competition runs under ever tighter limits: the size of a file (each write of the run
        fails once), a disk that is full (tmpfs, needs root), open files, processes (needs root
        and setpriv), and address space.  Each limited run ends with a message and exit status 1,
        or completes.  Then the competition is completed without the limit: its results are those
        of an uninterrupted run.

The status is 1 if something was lost or left.  `--short` takes seconds; without a name all parts
are run.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from ringmaster.errors import RingmasterError  # noqa: E402
from ringmaster.storage.store import Store  # noqa: E402
from tests.play.workers import one_worker  # noqa: E402
from tests.program import PLAYOFF, ringmaster, write_control_file  # noqa: E402
from tests.reliability import killing  # noqa: E402
from tests.reliability.fault_matrix import PHASES, PROTOCOLS, strike  # noqa: E402
from tests.reliability.fault_matrix import faults as all_faults  # noqa: E402
from tests.reliability.killing import TYPES, VICTIMS, results  # noqa: E402
from tests.reliability.limits import (  # noqa: E402
    NOBODY,
    Limited,
    after,
    can_limit_processes,
    can_mount,
    counted,
    grow_disk,
    run_limited,
    small_disk,
    strain,
)
from tests.reliability.power import Crashed, Cut  # noqa: E402

#: Sizes of each limit.
SIZES: dict[str, list[int]] = {
    "file size": list(range(0, 600_000, 12_000)),
    "disk": [4096 * pages for pages in (16, *range(100, 420, 16))],
    "open files": [*range(5, 12), 16, 32, 64, 100, 137, 138, 160],
    "processes": [*range(1, 9), 10, 12],
    "memory": [mib << 20 for mib in (24, 28, 32, 36, 40, 48, 64, 128)],
}
SHORT_SIZES: dict[str, list[int]] = {"file size": [100_000]}


def faults(folder: Path, arguments: argparse.Namespace) -> list[str]:
    """Print a row for each fault, with verdict and seconds by protocol; return the problems."""
    only = "start" if arguments.short else arguments.only
    cells: dict[tuple[str, str], dict[str, str]] = {}
    wrong: list[str] = []
    with one_worker("tests/engines") as worker:
        for fault in all_faults():
            title = f"{fault.protocol} {fault.phase} {fault.name}"
            if only not in title:
                continue
            struck = strike(worker, folder, fault)
            row = cells.setdefault((fault.phase, fault.name), {})
            row[fault.protocol] = f"{struck.verdict:<18}{struck.seconds:5.2f}"
            if struck.verdict != fault.verdict or fault.message not in struck.line:
                wrong.append(f"{title}: {struck.line}; expected {fault.verdict} {fault.message}")
            if struck.processes:
                wrong.append(f"{title}: processes {struck.processes} are left")
            if struck.files:
                wrong.append(f"{title}: {struck.files:+} descriptors")
    form = "{:<11}{:<26}" + "{:<26}" * len(PROTOCOLS)
    print(form.format("phase", "fault", *(f"{protocol:<20}s" for protocol in PROTOCOLS)).rstrip())
    for (phase, name), row in sorted(cells.items(), key=lambda item: PHASES.index(item[0][0])):
        print(form.format(phase, name, *(row.get(p, "-") for p in PROTOCOLS)).rstrip())
    print(f"{sum(map(len, cells.values()))} faults")
    return wrong


def kills(folder: Path, arguments: argparse.Namespace) -> list[str]:
    """Print rounds by type and victim, and ends of runs by last victim; return the problems."""
    types = ["playoff"] if arguments.short else arguments.types.split(",")
    rounds = len(VICTIMS) if arguments.short else arguments.rounds
    rng, tally = random.Random(arguments.seed), killing.Tally()
    wholes = {name: killing.uninterrupted(folder / f"whole-{name}", name) for name in types}
    number = 0
    while tally.rounds.total() < rounds:
        type_name = types[number % len(types)]
        # one at a time in the first lap, two in the second
        parallel = 1 + number // len(types) % 2
        victims = rng.sample(VICTIMS, len(VICTIMS))
        place = folder / f"{arguments.seed}-{number}"
        killing.kill_rounds(place, wholes[type_name], type_name, parallel, victims, tally)
        number += 1
    form = "{:<13}" + "{:>12}" * (len(VICTIMS) + 1)
    print(form.format("rounds", *VICTIMS, "completed"))
    for type_name in types:
        counts = [tally.rounds[type_name, victim] for victim in VICTIMS]
        print(form.format(type_name, *counts, tally.competitions[type_name]))
    print(form.format("", *[sum(tally.rounds[t, v] for t in types) for v in VICTIMS], ""))
    print("\nruns by last victim and exit status (-9: killed)")
    for victim in (*VICTIMS, "nobody"):
        statuses = sorted(status for each, status in tally.endings if each == victim)
        ends = ", ".join(f"{tally.endings[victim, status]} x {status}" for status in statuses)
        print(f"{victim:<13} {ends}")
    print(
        f"\n{tally.rounds.total()} rounds, {tally.competitions.total()} competitions with "
        f"{tally.games:,} games"
    )
    return tally.problems


def power(folder: Path, arguments: argparse.Namespace) -> list[str]:
    """Print the numbers of states by kind; return the problems."""
    games, every = (4, 300) if arguments.short else (arguments.games or 40, arguments.every)
    crashed = Crashed(folder / "killed", games)
    expected = results(uninterrupted(folder, games))
    ids = [row[0] for row in expected]
    states, runs = Counter[str](), Counter[str]()
    problems: list[str] = []
    for number, cut in enumerate(crashed.cuts()):
        states[cut.kind] += 1
        control = crashed.copy(folder / "cut") if number == 0 else folder / "cut/event.ctl"
        problems += read_cut(cut, control.with_suffix(".status"), ids)
        if number % every == 0:
            runs[cut.kind] += 1
            problems += run_on(crashed, cut, folder / f"run{number}", expected)
    print(f"{crashed.frames} frames of {crashed.page} bytes")
    print(f"{'state':<12}{'read':>8}{'run on':>8}")
    for kind in states:
        print(f"{kind:<12}{states[kind]:>8}{runs[kind]:>8}")
    print(f"{states.total()} states, {runs.total()} runs")
    return problems


def read_cut(cut: Cut, status: Path, ids: list[str]) -> list[str]:
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


def limits(folder: Path, arguments: argparse.Namespace) -> list[str]:
    """Print a line for each limited run; return the problems."""
    games = arguments.games or 20
    folder.chmod(0o755)
    expected = counted(uninterrupted(folder, games))
    problems: list[str] = []
    count = 0
    for limit, sizes in (SHORT_SIZES if arguments.short else SIZES).items():
        if arguments.only not in limit:
            continue
        for size, done in limited_runs(folder, limit, sizes, games, expected):
            count += 1
            problems += done.problems
            lines = done.message.splitlines()
            print(
                f"{limit:<11}{size:>12,}  exit {done.status:>3}  {done.kept:>4} results  "
                f"{lines[-1] if lines else ''}".replace(str(folder), "…")
            )
    print(f"{count} limited runs")
    return problems


def limited_runs(
    folder: Path, limit: str, sizes: list[int], games: int, expected: list[tuple[object, ...]]
) -> Iterator[tuple[int, Limited]]:
    """Yield the run under each size of a limit; none if this user may not set it."""
    if limit == "disk" and not can_mount():
        return
    if limit == "processes" and not can_limit_processes():
        return
    for size in sizes:
        place = folder / f"{limit} {size}"
        if limit == "disk":
            with small_disk(place, size) as disk:
                yield size, on_disk(disk, games, expected)
            continue
        control = write_control_file(place, PLAYOFF, games)
        if limit == "processes":
            os.chown(place, NOBODY, NOBODY)
        yield size, strain(control, limit, size, expected)


def on_disk(disk: Path, games: int, expected: list[tuple[object, ...]]) -> Limited:
    """Run a competition on a small disk, then with more room."""
    try:
        control = write_control_file(disk / "event", PLAYOFF, games)
        done = run_limited(control, "", 0)
    except OSError as error:
        done = subprocess.CompletedProcess([], -1, "", f"no room for the control file: {error}")
    grow_disk(disk)
    control = write_control_file(disk / "event", PLAYOFF, games)
    return after(control, done, expected)


def uninterrupted(folder: Path, games: int) -> Path:
    """Run a competition to its end; return its control file."""
    control = write_control_file(folder / "whole", PLAYOFF, games)
    if ringmaster(control, "-q").returncode:
        raise SystemExit("the uninterrupted run failed")
    return control


PARTS = {"faults": faults, "kills": kills, "power": power, "limits": limits}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--only", metavar="TEXT", default="", help="faults or limits of this name")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", metavar="NAME,NAME", default=",".join(TYPES))
    parser.add_argument("--games", type=int, help="of each matchup")
    parser.add_argument("--every", type=int, default=11, help="run on from every N-th state")
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    count = 0
    for name in PARTS if arguments.part == "all" else [arguments.part]:
        with tempfile.TemporaryDirectory() as folder:
            problems = PARTS[name](Path(folder), arguments)
        print(*problems, f"{name}: {len(problems)} problems", "", sep="\n")
        count += len(problems)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
