"""Let engines misbehave in every phase of every protocol, and print the verdicts.

    python benchmarks/faults.py [--only TEXT] [--rst] [--short]

The faults are those of the tests (`tests/reliability/fault_matrix.py`).  Seconds are from the
start of the game with the fault to the start of the next one; an engine that is silent is waited
for 0.4 s there, as `hang_timeout` says.  The last columns are the processes of the engine that
are left then, and the descriptors that were opened and not closed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.play.workers import one_worker  # noqa: E402
from tests.reliability.fault_matrix import PROTOCOLS, faults, open_files, strike  # noqa: E402

HEADERS = ("protocol", "phase", "fault", "verdict", "s", "processes", "descriptors")


def main() -> int:
    """Print a table; return 1 if a verdict is not the expected one or something is left."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", metavar="TEXT", default="", help="of protocol, phase and fault")
    parser.add_argument("--rst", action="store_true", help="as a table of reStructuredText")
    parser.add_argument("--short", action="store_true", help="faults at start only")
    arguments = parser.parse_args()
    only = "start" if arguments.short else arguments.only
    rows: list[tuple[str, ...]] = []
    wrong = 0
    with tempfile.TemporaryDirectory() as name, one_worker("tests/engines") as worker:
        folder = Path(name)
        before = {protocol: open_files(worker, folder, protocol) for protocol in PROTOCOLS}
        for fault in faults():
            if only not in f"{fault.protocol} {fault.phase} {fault.name}":
                continue
            struck = strike(worker, folder, fault)
            files = struck.files - before[fault.protocol]
            is_right = struck.verdict == fault.verdict and fault.message in struck.line
            wrong += not is_right or bool(struck.processes) or files != 0
            rows.append(
                (
                    *(fault.protocol, fault.phase, fault.name),
                    struck.verdict if is_right else f"{struck.verdict}, not {fault.verdict}",
                    *(f"{struck.seconds:.2f}", str(len(struck.processes)), str(files)),
                )
            )
    show(rows, rst=arguments.rst)
    print(f"{len(rows)} faults, {wrong} wrong", file=sys.stderr if arguments.rst else sys.stdout)
    return 1 if wrong else 0


def show(rows: list[tuple[str, ...]], *, rst: bool) -> None:
    """Print a table."""
    widths = [max(map(len, column)) for column in zip(HEADERS, *rows, strict=True)]
    line = "  ".join("=" * width for width in widths)
    for number, row in enumerate([HEADERS, *rows]):
        if rst and number < 2:
            print(line)
        cells = zip(row, widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
    if rst:
        print(line)


if __name__ == "__main__":
    sys.exit(main())
