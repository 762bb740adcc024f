"""Run a competition under ever tighter limits of the system, then without them.

    python benchmarks/limits.py [--games 20] [--only "file size"] [--short]

Limits: the size of a file (each write of the run fails once), a disk that is full (tmpfs, needs
root), open files, processes (needs root and setpriv), and address space.  Each limited run
ends with a message and exit status 1, or completes.  Then the competition is completed without
the limit: its results are those of an uninterrupted run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.program import PLAYOFF, ringmaster, write_control_file  # noqa: E402
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

#: Sizes of each limit.
SIZES: dict[str, list[int]] = {
    "file size": list(range(0, 600_000, 12_000)),
    "disk": [4096 * pages for pages in (16, *range(100, 420, 16))],
    "open files": [*range(5, 12), 16, 32, 64, 100, 137, 138, 160],
    "processes": [*range(1, 9), 10, 12],
    "memory": [mib << 20 for mib in (24, 28, 32, 36, 40, 48, 64, 128)],
}
SHORT: dict[str, list[int]] = {"file size": [100_000]}


def main() -> int:
    """Print a line for each limited run; return 1 if something was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--games", type=int, default=20, help="of each of three matchups")
    parser.add_argument("--only", metavar="LIMIT", default="")
    parser.add_argument("--short", action="store_true", help="one limit")
    arguments = parser.parse_args()
    wrong = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        whole = write_control_file(folder / "whole", PLAYOFF, arguments.games)
        if ringmaster(whole, "-q").returncode:
            raise SystemExit("the uninterrupted run failed")
        expected = counted(whole)
        for limit, sizes in (SHORT if arguments.short else SIZES).items():
            if arguments.only not in limit:
                continue
            for size, done in runs(folder, limit, sizes, arguments.games, expected):
                count += 1
                wrong += bool(done.problems)
                lines = done.message.splitlines()
                print(
                    f"{limit:<11}{size:>12,}  exit {done.status:>3}  {done.kept:>4} results  "
                    f"{lines[-1] if lines else ''}".replace(str(folder), "…")
                )
                for problem in done.problems:
                    print(f"    {problem}")
    print(f"{count} limited runs, {wrong} wrong")
    return 1 if wrong else 0


def runs(
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


if __name__ == "__main__":
    sys.exit(main())
