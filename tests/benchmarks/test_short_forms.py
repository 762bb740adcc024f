"""Every benchmark that has a short form runs in it, so that none is found broken on the
day when it is wanted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import instant
from tests.events import environment

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
#: The short form of the referee has a test of its own.
SHORT = sorted(
    path.name
    for path in BENCHMARKS.glob("*.py")
    if '"--short"' in path.read_text() and path.name != "referee.py"
)


@pytest.mark.parametrize("name", SHORT)
def test_short_form_of_a_benchmark_runs(tmp_path: Path, name: str) -> None:
    if not sys.platform.startswith("linux") or instant.compiler() is None:
        pytest.skip("benchmarks want Linux and a C compiler")
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / name), "--short"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
