"""Every benchmark that has a short form runs in it, so that none is found broken on the
day when it is wanted.  They take up to eight seconds each, so only CI does it, which says
RINGMASTER_REQUIRE_ENGINES; the referee's short form has a test that always runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events import environment

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
SHORT = sorted(
    path.name
    for path in BENCHMARKS.glob("*.py")
    if '"--short"' in path.read_text() and path.name != "referee.py"
)


@pytest.mark.slow
@pytest.mark.skipif(
    "RINGMASTER_REQUIRE_ENGINES" not in os.environ,
    reason="takes a minute (RINGMASTER_REQUIRE_ENGINES=1 runs it)",
)
@pytest.mark.parametrize("name", SHORT)
def test_short_form_of_a_benchmark_runs(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / name), "--short"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
