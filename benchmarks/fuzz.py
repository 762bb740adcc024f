"""Fuzz the readers of files and messages.

    python benchmarks/fuzz.py [--target NAME] [--seconds 20] [--engine hypothesis|atheris]
        [--finds DIR] [--short]

The targets and their seeds are those of the tests (`tests/fuzz/targets.py`), by default all in
turn.  A find is an error that the reader does not document, or an input that takes more than two
seconds of CPU; it is written to DIR.  The engine hypothesis changes the seeds at random; atheris
(`pip install atheris`) is guided by the coverage of ringmaster's code.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

#: Seconds of CPU for an input.
SLOW = 2.0


class Found(NamedTuple):
    """The inputs that were tried, and the finds."""

    inputs: int
    finds: list[str]


def main() -> int:
    """Print a line for each target; return 1 if there are finds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--target", default="all")
    parser.add_argument("--seconds", type=float, default=20, help="for each target")
    parser.add_argument("--engine", choices=("hypothesis", "atheris"), default="hypothesis")
    parser.add_argument("--finds", type=Path, default=Path("finds"), help="folder for the inputs")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--short", action="store_true", help="a tenth of a second for two targets")
    arguments = parser.parse_args()
    if arguments.inside:
        run_atheris(arguments.target, arguments.seconds, arguments.finds)
    from tests.fuzz.targets import TARGETS

    names = list(TARGETS) if arguments.target == "all" else arguments.target.split(",")
    seconds = arguments.seconds
    if arguments.short:
        names, seconds = ["uci", "gtp"], 0.1
    inputs = finds = 0
    for name in names:
        run = atheris_found if arguments.engine == "atheris" else hypothesis_found
        found = run(name, seconds, arguments.finds)
        inputs += found.inputs
        finds += len(found.finds)
        print(f"{name:<16}{found.inputs:>10,} inputs  {len(found.finds):>3} finds", flush=True)
        for find in found.finds:
            print(f"    {find}", flush=True)
    print(
        f"{len(names)} targets, {len(names) * seconds:.0f} s of {arguments.engine}: "
        f"{inputs:,} inputs, {finds} finds"
    )
    return 1 if finds else 0


class Recorder:
    """Reads inputs and keeps the first of each kind of find."""

    def __init__(self, name: str, finds: Path) -> None:
        from tests.fuzz.targets import TARGETS

        self._name = name
        self._target = TARGETS[name]
        self._finds = finds
        self._kinds: set[str] = set()
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-"))

    def __call__(self, data: bytes) -> None:
        """Read an input."""
        from tests.fuzz.targets import check

        begun = time.process_time()
        kind = ""
        try:
            check(self._target, data, self._folder)
        except (Exception, RecursionError) as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
            key = f"{type(error).__name__}{place.filename}{place.lineno}"
        else:
            key = "slow"
            if time.process_time() - begun > SLOW:
                kind = f"takes {time.process_time() - begun:.1f} s of CPU"
        if kind and key not in self._kinds:
            self._kinds.add(key)
            self._finds.mkdir(parents=True, exist_ok=True)
            path = self._finds / f"{self._name}-{hashlib.sha1(data).hexdigest()[:8]}"
            path.write_bytes(data)
            with self._finds.joinpath(f"{self._name}.txt").open("a") as file:
                file.write(f"{path.name}: {kind[:200]!a}\n")

    def finds(self) -> list[str]:
        """Return a line for each find of this run."""
        path = self._finds / f"{self._name}.txt"
        return path.read_text().splitlines() if path.exists() else []


def _forget(name: str, finds: Path) -> None:
    (finds / f"{name}.txt").unlink(missing_ok=True)


def hypothesis_found(name: str, seconds: float, finds: Path) -> Found:
    """Fuzz with changes that Hypothesis chooses."""
    from hypothesis import HealthCheck, given, seed, settings
    from hypothesis import strategies as st

    from tests.fuzz.targets import TARGETS, mutated

    _forget(name, finds)
    record = Recorder(name, finds)
    seeds = TARGETS[name].seeds()
    deadline = time.monotonic() + seconds
    inputs = 0
    number = 0
    while time.monotonic() < deadline:
        number += 1

        @seed(number)
        @settings(max_examples=200, database=None, deadline=None, suppress_health_check=HealthCheck)
        @given(st.randoms(use_true_random=True), st.binary(max_size=200), st.integers(0, 19))
        def read(rng: random.Random, anything: bytes, kind: int) -> None:
            nonlocal inputs
            if time.monotonic() < deadline:
                inputs += 1
                record(anything if kind == 0 else mutated(seeds, rng))

        read()
    return Found(inputs, record.finds())


def atheris_found(name: str, seconds: float, finds: Path) -> Found:
    """Fuzz with atheris in a process of its own, which libFuzzer ends."""
    _forget(name, finds)
    command = [sys.executable, __file__, "--inside", "--target", name]
    command += ["--seconds", str(seconds), "--finds", str(finds.absolute())]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    counts = re.findall(r"^Done (\d+) runs", done.stderr, re.MULTILINE)
    lines = Recorder(name, finds).finds()
    if not counts:
        lines.append(f"it ended with status {done.returncode}: {done.stderr[-300:]!a}")
    return Found(int(counts[0]) if counts else 0, lines)


def run_atheris(name: str, seconds: float, finds: Path) -> None:
    """Let atheris fuzz until the time is up; does not return."""
    import atheris

    with atheris.instrument_imports(include=["ringmaster", "chess"]):
        import ringmaster.loaded_competition  # noqa: F401
        from tests.fuzz.targets import TARGETS

        target = TARGETS[name]
        # imports all that the reader needs
        Recorder(name, finds)(target.seeds()[0])
    record = Recorder(name, finds)
    corpus = Path(tempfile.mkdtemp(prefix="fuzz-"))
    for number, data in enumerate(target.seeds()):
        (corpus / str(number)).write_bytes(data)
    words = [sys.argv[0], f"-max_total_time={max(1, round(seconds))}", "-max_len=20000"]
    # an input that never ends is written to the folder, too
    finds.mkdir(parents=True, exist_ok=True)
    words += ["-rss_limit_mb=3000", "-timeout=30", f"-artifact_prefix={finds}/{name}-"]
    atheris.Setup([*words, str(corpus)], record)
    os.environ["PYTHONWARNINGS"] = "ignore"
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
