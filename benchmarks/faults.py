"""Let engines misbehave in every phase of every protocol, and print the verdicts.

    python benchmarks/faults.py [--only TEXT] [--short]

The faults are those of the tests (`tests/reliability/fault_matrix.py`).  Seconds are from the
start of the game with the fault to the start of the next one; an engine that is silent is waited
for 0.4 s there, and 1 s until it is ready.  Processes of the engine that are left then, and
descriptors that were opened and not closed, are listed below.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.play.workers import one_worker  # noqa: E402
from tests.reliability.fault_matrix import PHASES, PROTOCOLS, faults, open_files, strike  # noqa: E402


def main() -> int:
    """Print a table; return 1 if a verdict is not the expected one or something is left."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", metavar="TEXT", default="", help="of protocol, phase and fault")
    parser.add_argument("--short", action="store_true", help="faults at start only")
    arguments = parser.parse_args()
    only = "start" if arguments.short else arguments.only
    cells: dict[tuple[str, str], dict[str, str]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name, one_worker("tests/engines") as worker:
        folder = Path(name)
        before = {protocol: open_files(worker, folder, protocol) for protocol in PROTOCOLS}
        for fault in faults():
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
            if struck.files != before[fault.protocol]:
                wrong.append(f"{title}: {struck.files - before[fault.protocol]:+} descriptors")
    show(cells)
    for line in wrong:
        print(line)
    count = sum(map(len, cells.values()))
    print(f"{count} faults; {len(wrong)} wrong verdicts, left processes and descriptors")
    return 1 if wrong else 0


def show(cells: dict[tuple[str, str], dict[str, str]]) -> None:
    """Print a row for each fault, with verdict and seconds by protocol."""
    form = "{:<11}{:<26}" + "{:<26}" * len(PROTOCOLS)
    print(form.format("phase", "fault", *(f"{protocol:<20}s" for protocol in PROTOCOLS)).rstrip())
    for (phase, name), row in sorted(cells.items(), key=lambda item: PHASES.index(item[0][0])):
        print(form.format(phase, name, *(row.get(p, "-") for p in PROTOCOLS)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
