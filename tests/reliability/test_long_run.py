"""A run of 20,000 games keeps its memory and its open files.

`benchmarks/million.py` plays a million; `reports/reliability.rst` has its curve.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks import instant
from tests.program import REPOSITORY, environment
from tests.requirements import missing


@pytest.mark.perf
def test_long_run_keeps_its_memory_and_open_files() -> None:
    if instant.compiler() is None:
        missing("there is no C compiler (Debian: apt-get install gcc libc6-dev)")
    program = REPOSITORY / "benchmarks" / "million.py"
    done = subprocess.run(
        [sys.executable, str(program), "--games", "20000", "--every", "0.3"],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(", flat")
